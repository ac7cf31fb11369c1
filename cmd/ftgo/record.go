package main

import (
	"github.com/spf13/cobra"

	"github.com/ftgo/ftgo/internal/record"
)

// runFlags defines the flags of the commands that run a program.
func runFlags(cmd *cobra.Command, o *record.Options, buffer string) {
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVarP(&o.Tracer, "tracer", "t", "function_graph", "the `tracer`: function_graph, function, nop, or one that the program registers")
	f.StringArrayVarP(&o.Filter, "filter", "F", nil, "trace only functions that match the `glob`; may be given several times")
	f.StringArrayVarP(&o.Notrace, "no-trace", "N", nil, "do not trace functions that match the `glob`; may be given several times")
	f.IntVarP(&o.Depth, "depth", "D", 0, "trace calls to this `depth` (max_graph_depth)")
	f.DurationVarP(&o.Threshold, "threshold", "T", 0, "trace only calls that take this `duration` or longer (tracing_thresh)")
	f.IntVar(&o.MaxStack, "max-stack", 0, "`depth` of a goroutine's return stack (default 1024)")
	f.StringVarP(&o.Buffer, "buffer", "b", buffer, "`size` of the buffer; the oldest records are overwritten when it is full")
	f.StringVar(&o.Clock, "clock", "", "the `clock`: mono, or the processor's counter (default that, if its rate is constant)")
	f.StringArrayVarP(&o.Text, "option", "O", nil, "kernel trace `option` such as funcgraph-proc; may be given several times")
	o.Flags.Inline = "hook"
	buildFlags(cmd, &o.Flags)
	tags := f.String("tags", "", "build `tags`")
	race := f.Bool("race", false, "build with the race detector")
	cmd.PreRun = func(*cobra.Command, []string) {
		if *tags != "" {
			o.Build = append(o.Build, "-tags="+*tags)
		}
		if *race {
			o.Build = append(o.Build, "-race")
		}
	}
}

// liveCommand makes "ftgo live".
func liveCommand(status *int) *cobra.Command {
	var o record.Options
	cmd := &cobra.Command{
		Use:   "live [-t TRACER] [-F GLOB] [-N GLOB] [-D DEPTH] [-T DURATION] [-o FILE] TARGET [args]",
		Short: "build a program with hooks, run it, and print its trace when it ends",
		Long: `ftgo live builds TARGET with a hook in every function, runs it, and prints its trace when it ends, however it ends. TARGET is a package, a
.go file, or a program that was built with hooks; what follows it is the program's. Its input, output, signals and exit status are its
own; the trace goes to standard error, or to the file that -o names.

	ftgo live ./cmd/server -addr :8080
	ftgo live -t function -F 'main.*' -o trace.txt ./prog.go`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if *status, err = record.Live(o, args[0], args[1:]); err != nil {
				fail(err)
			}
			return nil
		},
	}
	runFlags(cmd, &o, "256M")
	cmd.Flags().StringVarP(&o.Out, "output", "o", "", "`file` for the trace (default standard error)")
	return cmd
}

// recordCommand makes "ftgo record".
func recordCommand(status *int) *cobra.Command {
	var o record.Options
	cmd := &cobra.Command{
		Use:   "record [-t TRACER] [-F GLOB] [-N GLOB] [-D DEPTH] [-T DURATION] [-b SIZE] [-o FILE] TARGET [args]",
		Short: "build a program with hooks, run it, and keep its trace in a file",
		Long: `ftgo record builds TARGET as ftgo live does, runs it, and keeps its trace in a file, for ftgo replay, report and info. What was recorded is in
the file however the program ends, and whatever becomes of ftgo record meanwhile. With -b the file is a buffer of that size, of which the
oldest records are overwritten; otherwise it grows to 64 GiB, or until the disk is full, when recording stops and the program goes on. A file
that is there already is kept under its name with .old behind it.

	ftgo record ./cmd/server -addr :8080
	ftgo report
	ftgo replay | less`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if *status, err = record.Record(o, args[0], args[1:]); err != nil {
				fail(err)
			}
			return nil
		},
	}
	runFlags(cmd, &o, "64G")
	cmd.Flags().StringVarP(&o.Out, "output", "o", defaultTrace, "`file` for the trace")
	return cmd
}
