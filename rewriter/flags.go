package rewriter

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/ftgo/ftgo/internal/pattern"
)

// Flags are the flags of the build side: of "go build -toolexec 'ftgo FLAGS'", and of the environment variable FTGOFLAGS. Every one
// of them changes what is compiled, so all are part of the build cache's keys.
type Flags struct {
	Pkg     string // comma-separated package patterns; empty: every package outside the standard library
	Notrace string // comma-separated globs of functions to leave alone
	Inline  string // keep, hook or a number
	Std     bool   // hook the standard library too
}

// Register defines the flags in a flag set.
func (f *Flags) Register(fs *flag.FlagSet) {
	fs.StringVar(&f.Pkg, "pkg", f.Pkg, "hook the packages that match these comma-separated `patterns` (default: all but the standard library)")
	fs.StringVar(&f.Notrace, "notrace", f.Notrace, "leave the functions that match these comma-separated `globs` without hooks")
	fs.BoolVar(&f.Std, "std", f.Std, "hook the standard library too, but for the packages that the hooks stand on")
	fs.StringVar(&f.Inline, "inline", f.Inline, "keep: leave inlined functions inlined; hook: hook every function; `N`: those that cost the inliner more than N")
}

// ParseFlags parses FTGOFLAGS and then args, and returns what follows the flags in args.
func ParseFlags(args []string) (Flags, []string, error) {
	f := Flags{Inline: "keep"}
	fs := flag.NewFlagSet("ftgo", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	f.Register(fs)
	if env := strings.Fields(os.Getenv("FTGOFLAGS")); len(env) > 0 {
		if err := fs.Parse(env); err != nil {
			return f, nil, fmt.Errorf("FTGOFLAGS: %w", err)
		}
		if fs.NArg() > 0 {
			return f, nil, fmt.Errorf("FTGOFLAGS: %q is not a flag", fs.Arg(0))
		}
	}
	if err := fs.Parse(args); err != nil {
		return f, nil, err
	}
	_, err := f.options()
	return f, fs.Args(), err
}

// String returns the flags in a form that is the same for the same meaning.
func (f Flags) String() string {
	return fmt.Sprintf("-pkg=%s -notrace=%s -inline=%s -std=%v", f.Pkg, f.Notrace, f.Inline, f.Std)
}

// Args returns the flags that are not at their defaults, as arguments whose names begin with prefix.
func (f Flags) Args(prefix string) (args []string) {
	for _, kv := range [][3]string{{"pkg", f.Pkg, ""}, {"notrace", f.Notrace, ""}, {"inline", f.Inline, "keep"}} {
		if kv[1] != kv[2] && kv[1] != "" {
			args = append(args, prefix+kv[0]+"="+kv[1])
		}
	}
	if f.Std {
		args = append(args, prefix+"std")
	}
	return args
}

// gcPrefix begins our flags among the compiler's: the go command hashes those per package, so that another -inline builds the packages
// again that it concerns, and not the standard library.
const gcPrefix = "-ftgo."

// takeFrom takes our flags out of the compiler's.
func (f *Flags) takeFrom(compiler []string) (rest []string) {
	for _, a := range compiler {
		kv, ok := strings.CutPrefix(a, gcPrefix)
		if !ok {
			rest = append(rest, a)
			continue
		}
		switch key, val, _ := strings.Cut(kv, "="); key {
		case "pkg":
			f.Pkg = val
		case "notrace":
			f.Notrace = val
		case "inline":
			f.Inline = val
		}
	}
	return rest
}

func (f Flags) options() (Options, error) {
	var opt Options
	switch f.Inline {
	case "keep", "":
		opt.Inline = InlineKeep
	case "hook":
		opt.Inline = -1
	default:
		n, err := strconv.Atoi(f.Inline)
		if err != nil || n < 0 || n > InlineKeep {
			return opt, fmt.Errorf("-inline=%s: want keep, hook or a number from 0 to %d", f.Inline, InlineKeep)
		}
		opt.Inline = n
	}
	if f.Notrace != "" {
		globs := strings.Split(f.Notrace, ",")
		opt.Notrace = func(name string) bool {
			for _, g := range globs {
				if pattern.Match(g, name) {
					return true
				}
			}
			return false
		}
	}
	opt.Arch = cmp.Or(os.Getenv("GOARCH"), runtime.GOARCH)
	return opt, nil
}

// hooksPackage reports whether -pkg lets a package be hooked.
func (f Flags) hooksPackage(path string) bool {
	return f.Pkg == "" || pattern.AnyPackage(f.Pkg, path)
}
