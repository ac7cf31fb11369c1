package main

import (
	"github.com/spf13/cobra"

	"github.com/ftgo/ftgo/internal/live"
)

// liveCommand makes "ftgo live".
func liveCommand(status *int) *cobra.Command {
	var o live.Options
	var tags string
	var race bool
	cmd := &cobra.Command{
		Use:   "live [-t TRACER] [-F GLOB] [-N GLOB] [-D DEPTH] [-o FILE] TARGET [args]",
		Short: "build a program with hooks, run it, and print its trace when it ends",
		Long: `ftgo live builds TARGET with a hook in every function, runs it, and prints its trace when it ends, however it ends. TARGET is a package, a
.go file, or a program that was built with hooks; what follows it is the program's. Its input, output, signals and exit status are its
own; the trace goes to standard error, or to the file that -o names.

	ftgo live ./cmd/server -addr :8080
	ftgo live -t function -F 'main.*' -o trace.txt ./prog.go`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if tags != "" {
				o.Build = append(o.Build, "-tags="+tags)
			}
			if race {
				o.Build = append(o.Build, "-race")
			}
			var err error
			*status, err = live.Run(o, args[0], args[1:])
			if err != nil {
				fail(err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVarP(&o.Tracer, "tracer", "t", "function_graph", "the `tracer`: function_graph, function, nop, or one that the program registers")
	f.StringArrayVarP(&o.Filter, "filter", "F", nil, "trace only functions that match the `glob`; may be given several times")
	f.StringArrayVarP(&o.Notrace, "no-trace", "N", nil, "do not trace functions that match the `glob`; may be given several times")
	f.IntVarP(&o.Depth, "depth", "D", 0, "trace calls to this `depth` (max_graph_depth)")
	f.IntVar(&o.MaxStack, "max-stack", 0, "`depth` of a goroutine's return stack (default 1024)")
	f.StringVarP(&o.Buffer, "buffer", "b", "256M", "`size` of the buffer; the oldest records are overwritten when it is full")
	f.StringVarP(&o.Out, "output", "o", "", "`file` for the trace (default standard error)")
	f.StringArrayVarP(&o.Text, "option", "O", nil, "kernel trace `option` such as funcgraph-proc; may be given several times")
	o.Flags.Inline = "hook"
	buildFlags(cmd, &o.Flags)
	f.StringVar(&tags, "tags", "", "build `tags`")
	f.BoolVar(&race, "race", false, "build with the race detector")
	return cmd
}
