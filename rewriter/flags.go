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

// Flags are the flags of the build side: of "go build -toolexec 'ftgo FLAGS'", and of the
// environment variable FTGOFLAGS. Each of them changes what is compiled, so all are part of the
// build cache's keys.
type Flags struct {
	Pkg     string // comma-separated package patterns; empty: all but the standard library
	Notrace string // comma-separated globs of functions to leave alone
	Inline  string // keep, hook or a number
	Std     bool   // hook the standard library too
}

// Register defines the flags in a flag set.
func (f *Flags) Register(fs *flag.FlagSet) {
	fs.StringVar(&f.Pkg, "pkg", f.Pkg, PkgUsage)
	fs.StringVar(&f.Notrace, "notrace", f.Notrace, NotraceUsage)
	fs.BoolVar(&f.Std, "std", f.Std, StdUsage)
	fs.StringVar(&f.Inline, "inline", f.Inline, InlineUsage)
}

// What the flags are for, as help texts say it.
const (
	PkgUsage     = "hook the packages that match these comma-separated `patterns` (default: all but the standard library)"
	NotraceUsage = "leave the functions that match these comma-separated `globs` without hooks"
	StdUsage     = "hook the standard library too, except the packages that the hooks stand on"
	InlineUsage  = "keep: leave inlined functions inlined; hook: hook every function; `N`: hook what costs the inliner more than N"
)

// flagSet returns a flag set that parses into f.
func (f *Flags) flagSet() *flag.FlagSet {
	fs := flag.NewFlagSet("ftgo", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	f.Register(fs)
	return fs
}

// Environment sets the flags that FTGOFLAGS holds.
func (f *Flags) Environment() error {
	fs := f.flagSet()
	err := fs.Parse(strings.Fields(os.Getenv("FTGOFLAGS")))
	switch {
	case err != nil:
		err = fmt.Errorf("%w: want -pkg=PATTERNS, -notrace=GLOBS, -inline=keep|hook|N or -std", err)
	case fs.NArg() > 0:
		err = fmt.Errorf("%q is not a flag", fs.Arg(0))
	default:
		_, err = f.options()
	}
	if err != nil {
		return fmt.Errorf("FTGOFLAGS: %w", err)
	}
	return nil
}

// Check reports what is wrong with the flags.
func (f Flags) Check() error {
	_, err := f.options()
	return err
}

// ParseFlags parses FTGOFLAGS and then args, and returns what follows the flags in args.
func ParseFlags(args []string) (Flags, []string, error) {
	f := Flags{Inline: "keep"}
	if err := f.Environment(); err != nil {
		return f, nil, err
	}
	fs := f.flagSet()
	if err := fs.Parse(args); err != nil {
		return f, nil, fmt.Errorf("-toolexec: %w: want -pkg=PATTERNS, -notrace=GLOBS, -inline=keep|hook|N or -std", err)
	}
	return f, fs.Args(), f.Check()
}

// String returns the flags in a form that is the same for the same meaning.
func (f Flags) String() string {
	return fmt.Sprintf("-pkg=%s -notrace=%s -inline=%s -std=%v", f.Pkg, f.Notrace, f.Inline, f.Std)
}

// Args returns the flags that are not at their defaults, as arguments with names that begin with
// prefix.
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

// gcPrefix begins our flags among the compiler's. The go command hashes the compiler's flags per
// package, so another -inline rebuilds the packages that it concerns, and not the standard library.
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
