package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ftgo/ftgo/internal/bench"
	"github.com/ftgo/ftgo/internal/record"
	"github.com/ftgo/ftgo/rewriter"
)

// benchCommand makes "ftgo bench".
func benchCommand() *cobra.Command {
	var o bench.Options
	var flags rewriter.Flags
	var tags string
	cmd := &cobra.Command{
		Use:   "bench [-count N] [-bench REGEXP] [-inline keep,hook,N] [-instructions] [packages]",
		Short: "run a module's own benchmarks plain and hooked, and print what the hooks cost",
		Long: `ftgo bench builds the benchmarks of packages plain and hooked, runs the builds in turn, with the tracer
off and on, and prints the ratios to the plain build with their confidence, and their geometric mean.
-instructions counts instructions instead of time, with "perf stat" where the machine has the counter
and with valgrind elsewhere: that is the same in each run, however busy the machine. A flag of the
build that is not given is what FTGOFLAGS says, and -t what FTGO_TRACER says.

	ftgo bench ./...
	ftgo bench -count 10 -bench 'Parse$' -inline keep,20,hook .
	ftgo bench -instructions -t '' ./internal/parser`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Packages = args
			if len(args) == 0 {
				o.Packages = []string{"."}
			}
			o.Inline = strings.Split(flags.Inline, ",")
			for _, inline := range o.Inline {
				if err := (rewriter.Flags{Inline: inline}).Check(); err != nil || inline == "" {
					return fmt.Errorf("-inline=%s: want keep, hook, numbers from 0 to 80, or several of them, separated by commas", flags.Inline)
				}
			}
			if tracer := record.Inherited("FTGO_TRACER"); tracer != "" && !cmd.Flags().Changed("tracer") {
				o.Tracer = tracer
			}
			if tags != "" {
				o.Build = append(o.Build, "-tags="+tags)
			}
			o.Hook = append(o.Hook, "-pkg="+flags.Pkg, "-notrace="+flags.Notrace)
			o.Hook = append(o.Hook, fmt.Sprintf("-std=%v", flags.Std))
			if o.Instructions && !cmd.Flags().Changed("count") {
				o.Count = 1 // they hardly differ
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			o.Ftgo, o.Out, o.Progress = self, os.Stdout, os.Stderr
			_, err = bench.Run(o)
			return err
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Count, "count", 6, "`rounds`: in each, every build runs once")
	f.StringVar(&o.Bench, "bench", ".", "`regexp` of the benchmarks to run")
	f.StringVar(&o.Benchtime, "benchtime", "200ms", "`time` that each run of a benchmark takes, or Nx")
	f.IntVar(&o.CPU, "cpu", 1, "`GOMAXPROCS`")
	f.StringVarP(&o.Tracer, "tracer", "t", "function_graph", "the `tracer` for the column that says what tracing costs; empty for none")
	f.BoolVar(&o.Instructions, "instructions", false, "count instructions instead of time")
	flags.Inline = "keep"
	buildFlags(cmd, &flags)
	f.StringVar(&tags, "tags", "", "build `tags`")
	return cmd
}
