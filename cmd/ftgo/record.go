package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ftgo/ftgo/internal/record"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// defaultTrace is the file that record writes and the others read.
const defaultTrace = "trace.ftgo"

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

// traceFile opens the trace that a command is to read.
func traceFile(args []string) (*tracefile.Trace, error) {
	name := defaultTrace
	if len(args) > 0 {
		name = args[0]
	}
	t, err := tracefile.ReadFile(name)
	if err != nil {
		return nil, err
	}
	t.Symbol = record.Symbols(t)
	return t, nil
}

// replayCommand makes "ftgo replay".
func replayCommand() *cobra.Command {
	var options []string
	var goroutine bool
	var goids []uint64
	cmd := &cobra.Command{
		Use:   "replay [-O OPTION] [-g GOROUTINE] [--by-goroutine] [FILE]",
		Short: "print a recorded trace",
		Long: `ftgo replay prints what ftgo record has recorded (in ` + defaultTrace + `, unless FILE says otherwise) as the kernel's trace file does: the graph
of all Ps in order of time, or one goroutine after the other.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var text tracefile.Options
			for _, o := range options {
				if err := text.Set(o); err != nil {
					return err
				}
			}
			t, err := traceFile(args)
			if err != nil {
				return err
			}
			defer t.Close()
			t.Only = goids
			if goroutine {
				return t.WriteByGoroutine(os.Stdout, text)
			}
			return t.WriteText(os.Stdout, text)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&options, "option", "O", nil, "kernel trace `option` such as funcgraph-proc; may be given several times")
	f.BoolVar(&goroutine, "by-goroutine", false, "one goroutine after the other")
	f.VarP((*goidList)(&goids), "goroutine", "g", "print only this `goroutine`; may be given several times")
	return cmd
}

// goidList is a flag of goroutines' numbers.
type goidList []uint64

func (l *goidList) String() string { return strings.Trim(fmt.Sprint(*l), "[]") }
func (l *goidList) Type() string   { return "goroutine" }
func (l *goidList) Set(s string) error {
	var id uint64
	if _, err := fmt.Sscan(s, &id); err != nil || id == 0 {
		return fmt.Errorf("%q is no number of a goroutine", s)
	}
	*l = append(*l, id)
	return nil
}

// reportKeys are what a report can be sorted by.
var reportKeys = map[string]func(f *tracefile.FuncReport) int64{
	"total": func(f *tracefile.FuncReport) int64 { return f.Total },
	"self":  func(f *tracefile.FuncReport) int64 { return f.Self },
	"calls": func(f *tracefile.FuncReport) int64 { return int64(f.Calls) },
	"avg":   func(f *tracefile.FuncReport) int64 { return f.Avg },
	"min":   func(f *tracefile.FuncReport) int64 { return f.Min },
	"max":   func(f *tracefile.FuncReport) int64 { return f.Max },
	"p50":   func(f *tracefile.FuncReport) int64 { return f.Percentile(50) },
	"p99":   func(f *tracefile.FuncReport) int64 { return f.Percentile(99) },
}

// reportCommand makes "ftgo report".
func reportCommand() *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use:   "report [-s KEY] [FILE]",
		Short: "print calls and times of each function of a recorded trace",
		Long: `ftgo report prints how often each function was called in what ftgo record has recorded (in ` + defaultTrace + `, unless FILE says otherwise), and how
long that took: in all and without the calls below; on average, at the least and at the most; and what half and 99 % of the calls did not
exceed, to an eighth of it. Where a function calls itself its total is that of the outermost call.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key := reportKeys[by]
			if key == nil && by != "name" {
				return fmt.Errorf("-s %s: a report is sorted by total, self, calls, avg, min, max, p50, p99 or name", by)
			}
			t, err := traceFile(args)
			if err != nil {
				return err
			}
			defer t.Close()
			list := t.Report()
			slices.SortFunc(list, func(a, b *tracefile.FuncReport) int {
				byKey := 0
				if key != nil {
					byKey = cmp.Compare(key(b), key(a))
				}
				return cmp.Or(byKey, cmp.Compare(b.Calls, a.Calls), strings.Compare(a.Name, b.Name))
			})
			if by == "name" {
				slices.SortStableFunc(list, func(a, b *tracefile.FuncReport) int { return strings.Compare(a.Name, b.Name) })
			}
			return tracefile.WriteTable(os.Stdout, func(yield func(tracefile.Row) bool) {
				for _, f := range list {
					if !yield(f.Row()) {
						return
					}
				}
			})
		},
	}
	cmd.Flags().StringVarP(&by, "sort", "s", "total", "sort by `key`: total, self, calls, avg, min, max, p50, p99 or name")
	return cmd
}

// infoCommand makes "ftgo info".
func infoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "info [FILE]",
		Short: "print what is known of a recorded trace",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := traceFile(args)
			if err != nil {
				return err
			}
			defer t.Close()
			return t.WriteInfo(os.Stdout)
		},
	}
}
