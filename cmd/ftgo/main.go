// Command ftgo is ftrace for Go programs: it compiles hooks into them, and traces them.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ftgo/ftgo/rewriter"
)

func main() { os.Exit(run(os.Args[1:])) }

// run does what the arguments say, and returns the exit status. The go command calls a toolexec program with its own flags and the
// absolute path of a tool; whatever else comes is a command.
func run(args []string) int {
	flags, rest, err := rewriter.ParseFlags(args)
	if len(rest) > 0 && filepath.IsAbs(rest[0]) {
		if err != nil {
			return fail(err)
		}
		return rewriter.Tool(flags, rest)
	}
	if err != nil && os.Getenv("FTGOFLAGS") != "" {
		if _, _, err := rewriter.ParseFlags(nil); err != nil {
			return fail(err)
		}
	}
	status := 0
	root := &cobra.Command{
		Use:   "ftgo",
		Short: "ftrace for Go programs",
		Long: `ftgo is ftrace for Go programs: it compiles hooks into them that cost next to nothing while they are off, and traces
any function at any moment.

	ftgo live ./cmd/server              build it, run it, print who called whom and how long it took
	ftgo record ./cmd/server            the same, kept in a file for ftgo replay, report and info
	ftgo test ./...                     go test, with hooks: FTGO_TRACER=function_graph FTGO_OUT=/tmp/trace.%p ftgo test ./...
	go build -toolexec ftgo ./...       the same hooks, for programs that import github.com/ftgo/ftgo/runtime`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	for _, name := range []string{"build", "install", "run", "test"} {
		root.AddCommand(goCommand(name, &status))
	}
	root.AddCommand(liveCommand(&status), recordCommand(&status), replayCommand(), reportCommand(), infoCommand(), benchCommand(), funcsCommand(), showCommand())
	root.SetArgs(goStyle(args))
	if err := root.Execute(); err != nil {
		return fail(err)
	}
	return status
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "ftgo:", err)
	return 2
}

// goFlags are the flags that may be written as the go command's are, with one dash, and whether they take a value.
var goFlags = map[string]bool{
	"inline": true, "pkg": true, "notrace": true, "tags": true, "count": true, "bench": true, "benchtime": true, "cpu": true,
	"pgo": true, "race": false, "deps": false, "std": false, "instructions": false,
}

// goStyle gives those flags the second dash that cobra wants. What follows the target of live and record is the program's own.
func goStyle(args []string) []string {
	if len(args) == 0 || !slices.Contains([]string{"live", "record", "bench", "funcs", "show"}, args[0]) {
		return args
	}
	out := slices.Clone(args)
	for i := 1; i < len(out); i++ {
		a := out[i]
		if a == "--" || (args[0] == "live" || args[0] == "record") && !strings.HasPrefix(a, "-") {
			break
		}
		name, _, has := strings.Cut(strings.TrimLeft(a, "-"), "=")
		value, known := goFlags[name]
		if known && !strings.HasPrefix(a, "--") {
			out[i] = "-" + a
		}
		if !has && (value || !known && len(a) == 2 || name == "max-stack") {
			i++ // its value
		}
	}
	return out
}

// goCommand makes a subcommand of the go command's.
func goCommand(name string, status *int) *cobra.Command {
	return &cobra.Command{
		Use:   name + " [-pkg PATTERNS] [-notrace GLOBS] [-inline keep|hook|N] [go " + name + " flags] [packages]",
		Short: "go " + name + ", with the hooks compiled in and the library linked in",
		Long: "ftgo " + name + " is go " + name + " with the hooks compiled in and the library linked in. Your files, go.mod and go.sum stay as they are.\n" +
			"All flags of go " + name + " work; ftgo's own are\n\n" +
			"	-pkg PATTERNS     hook the packages that match, separated by commas (default: all but the standard library)\n" +
			"	-notrace GLOBS    leave the functions that match without hooks\n" +
			"	-std              hook the standard library too, but for what the hooks stand on\n" +
			"	-inline keep      leave the functions that the compiler inlines as they are (the default)\n" +
			"	-inline hook      hook every function\n" +
			"	-inline N         hook the functions that cost the inliner more than N (0 to 80)",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, a := range args {
				if a == "-h" || a == "-help" || a == "--help" {
					return cmd.Help()
				}
				if !strings.HasPrefix(a, "-") {
					break
				}
			}
			flags, _, err := rewriter.ParseFlags(nil)
			if err != nil {
				return err
			}
			*status = rewriter.Go(name, args, flags)
			return nil
		},
	}
}
