package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ftgo/ftgo/internal/record"
)

// settings are the flags that stand for a variable of the traced program's environment.
var settings = []struct{ flag, variable string }{
	{"tracer", "FTGO_TRACER"}, {"filter", "FTGO_FILTER"}, {"no-trace", "FTGO_NOTRACE"}, {"depth", "FTGO_DEPTH"},
	{"threshold", "FTGO_THRESHOLD"}, {"max-stack", "FTGO_MAX_STACK"}, {"buffer", "FTGO_BUFFER"}, {"clock", "FTGO_CLOCK"},
	{"option", "FTGO_OPTIONS"},
}

// runFlags defines the flags of the commands that run a program.
func runFlags(cmd *cobra.Command, o *record.Options, buffer string) {
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringP("tracer", "t", "function_graph", "the `tracer`: function_graph, function, nop, or one that the program registers")
	f.StringArrayP("filter", "F", nil, "trace only functions that match the `glob`; may be given several times")
	f.StringArrayP("no-trace", "N", nil, "do not trace functions that match the `glob`; may be given several times")
	f.StringP("depth", "D", "", "trace calls to this `depth` (max_graph_depth); 0 is no limit")
	f.StringP("threshold", "T", "", "trace only calls that take this `duration` or longer, such as 10us (tracing_thresh)")
	f.String("max-stack", "", "`depth` of a goroutine's return stack (default 1024)")
	f.StringP("buffer", "b", buffer, "`size` of the buffer; the oldest records are overwritten when it is full")
	f.String("clock", "", "the `clock`: mono, or the processor's counter (default that, if its rate is constant)")
	f.StringArrayP("option", "O", nil, "kernel trace `options` such as funcgraph-proc, separated by commas; may be given several times")
	o.Flags.Inline = "hook"
	buildFlags(cmd, &o.Flags)
	tags := f.String("tags", "", "build `tags`")
	race := f.Bool("race", false, "build with the race detector")
	prepare(cmd, func() error {
		if *tags != "" {
			o.Build = append(o.Build, "-tags="+*tags)
		}
		if *race {
			o.Build = append(o.Build, "-race")
		}
		for _, s := range settings {
			o.Settings = append(o.Settings, setting(f.Lookup(s.flag), s.variable))
		}
		f.Visit(func(f *pflag.Flag) {
			if slices.Contains([]string{"inline", "std", "pkg", "notrace", "tags", "race"}, f.Name) {
				o.Given = append(o.Given, "-"+f.Name)
			}
		})
		return nil
	})
}

// setting returns what a flag says or, unless it was given, its variable, or else the flag's
// default.
func setting(f *pflag.Flag, variable string) record.Setting {
	s := record.Setting{Variable: variable}
	if !f.Changed {
		if s.Value = record.Inherited(variable); s.Value != "" {
			return s
		}
	} else if s.Flag = "--" + f.Name; f.Shorthand != "" {
		s.Flag = "-" + f.Shorthand
	}
	s.Value = f.Value.String()
	if list, ok := f.Value.(pflag.SliceValue); ok {
		s.Value = strings.Join(list.GetSlice(), ",")
	}
	if s.Value == "0" && (variable == "FTGO_THRESHOLD" || variable == "FTGO_DEPTH") {
		s.Value = "" // no limit, whatever the variable says
	}
	return s
}

// liveCommand makes "ftgo live".
func liveCommand(status *int) *cobra.Command {
	var o record.Options
	cmd := &cobra.Command{
		Use:   "live [-t TRACER] [-F GLOB] [-N GLOB] [-D DEPTH] [-T DURATION] [-o FILE] TARGET [args]",
		Short: "build a program with hooks, run it, and print its trace when it ends",
		Long: `ftgo live builds TARGET with a hook in every function, runs it, and prints its trace when it ends,
however it ends. TARGET is a package, a package with a version (example.com/m/cmd@v1.2.3), a .go file,
or a program that was built with hooks; what follows it is the program's. Its input, output, signals
and exit status are its own; the trace goes to standard error, or to the file that -o names.

	ftgo live ./cmd/server -addr :8080
	ftgo live -t function -F 'main.*' -o trace.txt ./prog.go
` + runHelp + `, and FTGO_OUT
for -o, in which %p stands for the program's process number.`,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.Out = cmp.Or(o.Out, record.Inherited("FTGO_OUT"))
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

// runHelp ends the help of the commands that run a program.
const runHelp = `
A signal that is sent to ftgo alone, as "kill -INT" does, is handed on to the program. One that is sent
to the process group, as a terminal's Ctrl-C is, has reached the program already.

A flag that is not given is what its variable says: FTGO_TRACER, FTGO_FILTER, FTGO_NOTRACE, FTGO_DEPTH,
FTGO_THRESHOLD, FTGO_MAX_STACK, FTGO_BUFFER, FTGO_CLOCK, FTGO_OPTIONS; FTGOFLAGS for the flags of the
build (-inline, -pkg, -notrace, -std)`

// recordCommand makes "ftgo record".
func recordCommand(status *int) *cobra.Command {
	var o record.Options
	cmd := &cobra.Command{
		Use:   "record [-t TRACER] [-F GLOB] [-N GLOB] [-D DEPTH] [-T DURATION] [-b SIZE] [-o FILE] TARGET [args]",
		Short: "build a program with hooks, run it, and keep its trace in a file",
		Long: `ftgo record builds TARGET as ftgo live does, runs it, and keeps its trace in a file, for ftgo replay,
report and info. What was recorded is in the file however the program ends, and whatever becomes of
ftgo record meanwhile. With -b the file is a buffer of that size, of which the oldest records are
overwritten; otherwise the file grows to 64 GiB, or until the disk is full, when recording stops and
the program goes on. A file that is there already keeps its name with .old behind it.

	ftgo record ./cmd/server -addr :8080
	ftgo report
	ftgo replay | less
` + runHelp + `.`,
		Args: oneTarget,
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
