// Command ftgo is ftrace for Go programs: it compiles hooks into them, and traces them.
package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ftgo/ftgo/internal/relay"
	"github.com/ftgo/ftgo/rewriter"
)

func main() {
	if os.Args[0] == relay.WitnessName {
		relay.Witness()
		return
	}
	os.Exit(run(os.Args[1:]))
}

// run does what the arguments say, and returns the exit status. The go command calls a toolexec
// program with its own flags and the absolute path of a tool; everything else is a command.
func run(args []string) int {
	if callsTool(args) {
		flags, rest, err := rewriter.ParseFlags(args)
		if err != nil {
			return fail(err)
		}
		return rewriter.Tool(flags, rest)
	}
	status := 0
	root := &cobra.Command{
		Use:   "ftgo",
		Short: "ftrace for Go programs",
		Long: `ftgo is ftrace for Go programs: it compiles hooks into them that cost next to nothing while they are
off, and traces any function at any moment.

	ftgo live ./cmd/server         build it, run it, print who called whom and how long it took
	ftgo record ./cmd/server       the same, kept in a file for ftgo replay, report and info
	ftgo test ./...                go test, with hooks, and with FTGO_TRACER=function_graph traced
	go build -toolexec ftgo ./...  the same hooks, for programs that import
	                               github.com/ftgo/ftgo/runtime`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	for _, name := range []string{"build", "install", "run", "test"} {
		root.AddCommand(goCommand(name, &status))
	}
	root.AddCommand(liveCommand(&status), recordCommand(&status), replayCommand(), reportCommand(), infoCommand())
	root.AddCommand(benchCommand(), funcsCommand(), showCommand())
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetArgs(goStyle(root, args))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		help := strings.Replace(cmd.CommandPath(), "ftgo", "ftgo help", 1)
		return fmt.Errorf("%w; %q lists the flags", err, help)
	})
	if err := root.Execute(); err != nil {
		return fail(err)
	}
	return status
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "ftgo:", err)
	return 2
}

// version says which ftgo this is, and which Go releases it knows.
func version() string {
	v, built := "(devel)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		v, built = cmp.Or(info.Main.Version, v), info.GoVersion
	}
	return fmt.Sprintf("ftgo %s, built with %s, for programs of %s", v, built, rewriter.SupportedReleases)
}

// goCommand makes a subcommand of the go command's.
func goCommand(name string, status *int) *cobra.Command {
	return &cobra.Command{
		Use:   name + " [-pkg PATTERNS] [-notrace GLOBS] [-inline keep|hook|N] [go " + name + " flags] [packages]",
		Short: "go " + name + ", with the hooks compiled in and the library linked in",
		Long: "ftgo " + name + " is go " + name + ` with the hooks compiled in and the library linked in. Your files, go.mod and
go.sum stay as they are. All flags of go ` + name + ` work; ftgo's own are

	-pkg PATTERNS     hook the packages that match, separated by commas
	                  (default: all but the standard library)
	-notrace GLOBS    leave the functions that match without hooks
	-std              hook the standard library too, except what the hooks stand on
	-inline keep      leave the functions that the compiler inlines as they are (the default)
	-inline hook      hook every function
	-inline N         hook the functions that cost the inliner more than N (0 to 80)

A flag that is not given is what FTGOFLAGS says.`,
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
			flags := rewriter.Flags{Inline: "keep"}
			if err := flags.Environment(); err != nil {
				return err
			}
			*status = rewriter.Go(name, args, flags)
			return nil
		},
	}
}
