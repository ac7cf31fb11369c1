package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ftgo/ftgo/rewriter"
)

// buildFlags adds the flags of the build side. One that is not given is what FTGOFLAGS says.
func buildFlags(cmd *cobra.Command, flags *rewriter.Flags) {
	f := cmd.Flags()
	f.StringVar(&flags.Inline, "inline", flags.Inline, rewriter.InlineUsage)
	f.BoolVar(&flags.Std, "std", flags.Std, rewriter.StdUsage)
	f.StringVar(&flags.Pkg, "pkg", flags.Pkg, rewriter.PkgUsage)
	f.StringVar(&flags.Notrace, "notrace", flags.Notrace, rewriter.NotraceUsage)
	env := *flags
	prepare(cmd, func() error {
		if err := env.Environment(); err != nil {
			return err
		}
		for name, inherit := range map[string]func(){
			"inline":  func() { flags.Inline = env.Inline },
			"std":     func() { flags.Std = env.Std },
			"pkg":     func() { flags.Pkg = env.Pkg },
			"notrace": func() { flags.Notrace = env.Notrace },
		} {
			if !f.Changed(name) {
				inherit()
			}
		}
		return nil
	})
}

// prepare adds something to do before a command runs.
func prepare(cmd *cobra.Command, do func() error) {
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if before != nil {
			if err := before(cmd, args); err != nil {
				return err
			}
		}
		return do()
	}
}

// oneTarget wants a program to run.
func oneTarget(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || args[0] == "" {
		return fmt.Errorf("%s: want a package, a .go file or a program to run, such as %[1]s ./cmd/server", cmd.CommandPath())
	}
	return nil
}

func wantArgs(cmd *cobra.Command, args []string, n int, want string) error {
	if len(args) != n {
		return fmt.Errorf("%s: want %s", cmd.CommandPath(), want)
	}
	return nil
}

// callsTool reports whether the go command calls this program for -toolexec: the arguments are
// flags, and the path of a tool. It finds the tool also behind flags that ftgo does not have.
func callsTool(args []string) bool {
	afterFlag := true
	for _, a := range args {
		switch {
		case filepath.IsAbs(a):
			return true
		case strings.HasPrefix(a, "-"):
			afterFlag = true
		case afterFlag && a != args[0]:
			afterFlag = false // a flag's value
		default:
			return false
		}
	}
	return false
}

// goStyle gives flags that are written with one dash, as the go command's are, the second one that
// cobra wants. Which words are flags, and which are values of flags or arguments, the command's own
// flags say.
func goStyle(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil || cmd.DisableFlagParsing {
		return args
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	flags := cmd.Flags()
	out := append([]string(nil), args...)
	for i := 0; i < len(out); i++ {
		a := out[i]
		if i == 0 && cmd != root {
			continue // its name
		}
		if a == "--" {
			break
		}
		if len(a) < 2 || a[0] != '-' {
			if !interspersed(cmd) {
				break
			}
			continue
		}
		name, _, has := strings.Cut(strings.TrimLeft(a, "-"), "=")
		long := flags.Lookup(name)
		if !strings.HasPrefix(a, "--") {
			if long == nil || len(name) == 1 {
				if first := flags.ShorthandLookup(a[1:2]); first != nil || len(name) == 1 {
					if takesNext(flags, a[1:]) {
						i++
					}
					continue
				}
			}
			out[i] = "-" + a
		}
		if long != nil && !has && long.NoOptDefVal == "" {
			i++ // its value
		}
	}
	return out
}

// interspersed reports whether a command's flags may follow its arguments. What follows the target
// of live and record is the program's own.
func interspersed(cmd *cobra.Command) bool { return cmd.Name() != "live" && cmd.Name() != "record" }

// takesNext reports whether the last one of some shorthands has the next argument for its value.
func takesNext(flags *pflag.FlagSet, shorthands string) bool {
	for i := range len(shorthands) {
		f := flags.ShorthandLookup(shorthands[i : i+1])
		if f == nil {
			return false
		}
		if f.NoOptDefVal == "" {
			return i+1 == len(shorthands)
		}
	}
	return false
}
