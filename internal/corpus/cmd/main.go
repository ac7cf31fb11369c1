// Cmd runs the tests of real modules, of the standard library and of GOROOT/test without and with
// hooks, off and on. It reports whether the same tests pass, and what the hooks cost to build.
//
//	go run ./internal/corpus/cmd [-short] [-resume] [-nocost | -notest] [SUITE ...]
//	go run ./internal/corpus/cmd -bench [-instructions] [-count N] [modules | NAME ...]
//
// A SUITE is modules, std, goroot, the NAME of a listed module or package, or PATH@VERSION.
//
// With -bench it runs the modules' benchmarks instead of their tests, with no tracer on.
//
// After each run of a suite, the results are kept in the user's cache directory. -resume continues
// from them, with the same ftgo.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/ftgo/ftgo/internal/bench"
	"github.com/ftgo/ftgo/internal/corpus"
	"github.com/ftgo/ftgo/rewriter"
)

func main() {
	log.SetFlags(0)
	if done, err := helper(os.Args[1:]); done {
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			os.Exit(exit.ExitCode())
		} else if err != nil {
			log.Fatal(err)
		}
		return
	}
	short := flag.Bool("short", false, "the first module alone, without its costs")
	resume := flag.Bool("resume", false, "go on where the last run stopped")
	nocost := flag.Bool("nocost", false, "do not build from scratch to see what it costs")
	notest := flag.Bool("notest", false, "build from scratch to see what it costs, and run no tests")
	timeout := flag.Duration("timeout", 30*time.Minute, "of each test binary")
	benchmarks := flag.Bool("bench", false, "run the modules' benchmarks instead")
	instructions := flag.Bool("instructions", false, "with -bench: count instructions instead of time")
	count := flag.Int("count", 6, "with -bench: rounds")
	flag.Parse()
	if *nocost && *notest {
		log.Fatal("-nocost and -notest together leave nothing to do")
	}
	var suites []corpus.Suite
	names := flag.Args()
	if len(names) == 0 {
		names = []string{"modules"}
		if *short {
			names[0] = corpus.Modules[0].Name
		}
	}
	for _, name := range names {
		list, err := corpus.Find(name)
		if err != nil {
			log.Fatal(err)
		}
		suites = append(suites, list...)
	}
	if *benchmarks {
		if err := runBenchmarks(suites, bench.Options{Instructions: *instructions, Count: *count}); err != nil {
			log.Fatal(err)
		}
		return
	}
	bad, err := run(suites, *resume, !*short && !*nocost, !*notest, *timeout)
	if err != nil {
		log.Fatal(err)
	}
	if bad > 0 {
		log.Fatalf("%d runs were not as the plain one", bad)
	}
}

// helper serves the go command, which runs this program while builds are measured.
func helper(args []string) (done bool, err error) {
	switch ftgo := os.Getenv(corpus.EnvFtgo); {
	case len(args) > 2 && args[0] == "-measure":
		return true, corpus.Measure(args[1], args[2:])
	case len(args) > 2 && args[0] == "-size":
		return true, corpus.Size(args[1], args[2])
	case ftgo == "":
		return false, nil
	default:
		_, rest, err := rewriter.ParseFlags(args)
		if err != nil {
			return true, err
		}
		if len(rest) > 0 && filepath.IsAbs(rest[0]) { // run by -toolexec
			return true, corpus.Measure(os.Getenv(corpus.EnvReport), append([]string{ftgo}, args...))
		}
		os.Exit(rewriter.Go(args[0], args[1:], rewriter.Flags{}))
		return true, nil
	}
}

// run prints a row for each run of each suite, and returns how many runs differ from the plain one.
func run(suites []corpus.Suite, resume, cost, test bool, timeout time.Duration) (bad int, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return 0, err
	}
	state := filepath.Join(cache, "ftgo", "corpus")
	if !resume {
		if err := os.RemoveAll(state); err != nil {
			return 0, err
		}
	}
	if err := os.MkdirAll(state, 0o777); err != nil {
		return 0, err
	}
	tmp, err := os.MkdirTemp("", "ftgo")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(tmp)
	r := corpus.Runner{Timeout: timeout.String()}
	if r.Ftgo, err = buildFtgo(tmp); err != nil {
		return 0, err
	}
	build, err := version(r.Ftgo)
	if err != nil {
		return 0, err
	}
	if cost {
		r.State = filepath.Join(state, build)
		if r.Self, err = os.Executable(); err != nil {
			return 0, err
		}
	}
	store, err := corpus.OpenStore(filepath.Join(state, "results.json"), build, resume)
	if err != nil {
		return 0, err
	}
	t := corpus.Table{W: os.Stdout}
	t.Head()
	for i, s := range suites {
		if err := runSuite(&r, store, &t, s, test, fmt.Sprintf("%d/%d", i+1, len(suites))); err != nil {
			fmt.Printf("%-20s %v\n", s.Name, err)
			t.Bad++
		}
	}
	t.Foot()
	t.Total(store)
	return t.Bad, nil
}

func runSuite(r *corpus.Runner, store *corpus.Store, t *corpus.Table, s corpus.Suite, test bool, nth string) error {
	progress := func(what string) {
		fmt.Fprintf(os.Stderr, "%s %s: %s (%s)\n", time.Now().Format(time.TimeOnly), nth, s.Name, what)
	}
	var costs []corpus.Cost
	if r.State != "" && s.Module != "std" && s.Module != "goroot" {
		var err error
		if costs, err = store.Costs(s.Name, func() ([]corpus.Cost, error) {
			progress("build from scratch")
			return r.Costs(s)
		}); err != nil {
			return err
		}
	}
	var plain corpus.Result
	for i, c := range s.Columns() {
		if !test {
			t.CostRow(s, c, costs)
			continue
		}
		res, err := store.Result(s.Name, c.Name, func() (corpus.Result, error) {
			progress(c.Name)
			return r.Run(s, c)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		if i == 0 {
			plain = res
		}
		t.Row(s, c, plain, res, costs)
	}
	return nil
}

// buildFtgo builds the ftgo command.
func buildFtgo(dir string) (string, error) {
	name := filepath.Join(dir, "ftgo")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", name, "github.com/ftgo/ftgo/cmd/ftgo").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return name, nil
}

// runBenchmarks prints a table for each package, and the means of all.
func runBenchmarks(suites []corpus.Suite, o bench.Options) error {
	tmp, err := os.MkdirTemp("", "ftgo")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if o.Ftgo, err = buildFtgo(tmp); err != nil {
		return err
	}
	if err := os.Setenv("GOWORK", "off"); err != nil {
		return err
	}
	o.Inline, o.Benchtime, o.Out, o.Progress = []string{"keep", "20", "hook"}, "200ms", os.Stdout, os.Stderr
	all := map[string][]float64{}
	for _, s := range suites {
		for _, b := range s.Bench {
			if o.Dir, err = corpus.Fetch(s.Module); err != nil {
				return err
			}
			o.Packages, o.Bench = []string{b.Package}, b.Regexp
			ratios, err := bench.Run(o)
			if err != nil {
				fmt.Printf("%s: %v\n", s.Name, err)
				continue
			}
			for name, list := range ratios {
				all[name] = append(all[name], list...)
			}
		}
	}
	fmt.Println("all benchmarks: geometric mean, and the worst")
	for _, inline := range o.Inline {
		if list := all["off, "+inline]; len(list) > 0 {
			fmt.Printf("  -inline=%-5s %.3f  %.3f  (%d)\n", inline, bench.Geomean(list), slices.Max(list), len(list))
		}
	}
	return nil
}

// version returns a name for a build of ftgo and the Go release.
func version(ftgo string) (string, error) {
	b, err := os.ReadFile(ftgo)
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "env", "GOVERSION").Output()
	return fmt.Sprintf("%x-%s", sha256.Sum256(b), out[:max(0, len(out)-1)])[64-16:], err
}
