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
			t.Select.Goroutines = goids
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
			return t.WriteInfo(os.Stdout, false)
		},
	}
}
