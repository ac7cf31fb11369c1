package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
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
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(args) == 0:
		return nil, fmt.Errorf("there is no %s here: ftgo record makes one, as in \"ftgo record ./cmd/server\"; "+
			"a trace of another name is given as an argument", defaultTrace)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s: \"ftgo record -o %[1]s ./cmd/server\" would make one", name)
	case err != nil:
		return nil, err
	}
	return t, nil
}

// oneFile is an argument check: the command reads one trace.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("ftgo %s reads one trace: got %s", cmd.Name(), strings.Join(args, " and "))
	}
	return nil
}

// replayCommand makes "ftgo replay".
func replayCommand() *cobra.Command {
	var options, goids []string
	var goroutine bool
	cmd := &cobra.Command{
		Use:   "replay [-O OPTIONS] [-g GOROUTINES] [--by-goroutine] [FILE]",
		Short: "print a recorded trace",
		Long: `ftgo replay prints what ftgo record has recorded (in ` + defaultTrace + `, unless FILE says
otherwise) as the kernel's trace file does: the graph of all Ps in order of time, or one goroutine
after the other.

A call that was open when the trace ended is closed by a line that says "unfinished", with its time
up to there. One that ended by a panic says "panicked".

Options are ` + strings.Join(tracefile.TextOptions, ", ") + `,
each with "no" in front of it to switch it off. With noimport-path functions have their package's
name in front instead of its import path.`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := replayOptions(options)
			if err != nil {
				return err
			}
			ids, err := goroutineNumbers(goids)
			if err != nil {
				return err
			}
			t, err := traceFile(args)
			if err != nil {
				return err
			}
			defer t.Close()
			t.Symbol = record.Symbols(t)
			if err := checkGoroutines(t, ids); err != nil {
				return err
			}
			t.Select.Goroutines = ids
			if goroutine {
				return t.WriteByGoroutine(os.Stdout, text)
			}
			return t.WriteText(os.Stdout, text)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&options, "option", "O", nil, "trace `options` such as funcgraph-proc, separated by commas; may be given several times")
	f.BoolVar(&goroutine, "by-goroutine", false, "one goroutine after the other")
	f.StringArrayVarP(&goids, "goroutine", "g", nil, "print only these `goroutines`, separated by commas; may be given several times")
	return cmd
}

// replayOptions are the options of text that lists name.
func replayOptions(lists []string) (text tracefile.Options, err error) {
	for _, o := range strings.Split(strings.Join(lists, ","), ",") {
		if o = strings.TrimSpace(o); o == "" {
			continue
		}
		var unknown *tracefile.OptionError
		switch err := text.Set(o); {
		case !errors.As(err, &unknown):
			continue
		case unknown.Recording:
			return text, fmt.Errorf("-O %s: this option changes what is recorded, and so it is one of ftgo record; options of a replay are %s",
				o, strings.Join(tracefile.TextOptions, ", "))
		default:
			return text, fmt.Errorf("-O %s: there is no such option; there are %s, each with \"no\" in front of it to switch it off",
				o, strings.Join(tracefile.TextOptions, ", "))
		}
	}
	return text, nil
}

// goroutineNumbers are the goroutines that lists name.
func goroutineNumbers(lists []string) (ids []uint64, err error) {
	for _, list := range lists {
		for _, s := range strings.Split(list, ",") {
			id, err := strconv.ParseUint(strings.TrimSpace(s), 10, 64)
			if err != nil || id == 0 {
				return nil, fmt.Errorf("-g %s: %q is no number of a goroutine; -g 1,18 are two", list, s)
			}
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// checkGoroutines reports the goroutines that a trace has no records of.
func checkGoroutines(t *tracefile.Trace, ids []uint64) error {
	if len(ids) == 0 {
		return nil
	}
	missing := func(found map[uint64]bool) []uint64 {
		return slices.DeleteFunc(slices.Clone(ids), func(id uint64) bool { return found[id] })
	}
	found := t.Goroutines(func(found map[uint64]bool) bool { return len(missing(found)) == 0 })
	lacks := missing(found)
	if len(lacks) == 0 {
		return nil
	}
	if len(found) == 0 {
		return fmt.Errorf("-g %s: not in this trace, which has no records", numbers(lacks, ""))
	}
	const some = 10
	has, more := slices.Sorted(maps.Keys(found)), ""
	if len(has) > some {
		more = fmt.Sprintf(" and %d others up to %d", len(has)-some, has[len(has)-1])
		has = has[:some]
	}
	return fmt.Errorf("-g %s: not in this trace, which has records of goroutine %s", numbers(lacks, ""), numbers(has, more))
}

// numbers writes numbers in a row.
func numbers(ids []uint64, more string) string {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.FormatUint(id, 10))
	}
	return b.String() + more
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
		Long: `ftgo report prints how often each function was called in what ftgo record has recorded (in
` + defaultTrace + `, unless FILE says otherwise), and how long that took: in all and without the calls
below; on average, at the least and at the most; and what half and 99 % of the calls did not exceed,
to an eighth of it. Where a function calls itself its total is that of the outermost call.

Calls that were open when the trace ended count up to there, and lines below the table name them.
What the function tracer has recorded has no times: the table has calls alone.`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if reportKeys[by] == nil && by != "name" {
				return fmt.Errorf("-s %s: a report is sorted by total, self, calls, avg, min, max, p50, p99 or name", by)
			}
			t, err := traceFile(args)
			if err != nil {
				return err
			}
			defer t.Close()
			write := tracefile.WriteTable
			if !t.Timed() {
				write = tracefile.WriteCounts
				switch by {
				case "calls", "name":
				default:
					if cmd.Flags().Changed("sort") {
						return fmt.Errorf("-s %s: the function tracer made this trace, and records no times; sort by calls or name", by)
					}
					by = "calls"
				}
			}
			list := t.Report()
			sortReport(list, by)
			return write(os.Stdout, func(yield func(tracefile.Row) bool) {
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

// sortReport sorts a report by name, or by another key from the most to the least.
func sortReport(list []*tracefile.FuncReport, by string) {
	key := reportKeys[by]
	slices.SortFunc(list, func(a, b *tracefile.FuncReport) int {
		byCalls, byName := cmp.Compare(b.Calls, a.Calls), strings.Compare(a.Name, b.Name)
		if key == nil {
			return cmp.Or(byName, byCalls)
		}
		return cmp.Or(cmp.Compare(key(b), key(a)), byCalls, byName)
	})
}

// infoCommand makes "ftgo info".
func infoCommand() *cobra.Command {
	var full bool
	cmd := &cobra.Command{
		Use:   "info [--full] [FILE]",
		Short: "print what is known of a recorded trace",
		Long: `ftgo info prints what is known of a recording (in ` + defaultTrace + `, unless FILE says otherwise). It
reads the heads of the file's pages alone. With --full it reads all records, and counts goroutines.`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := traceFile(args)
			if err != nil {
				return err
			}
			defer t.Close()
			return t.WriteInfo(os.Stdout, full)
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "read all records, and count goroutines")
	return cmd
}
