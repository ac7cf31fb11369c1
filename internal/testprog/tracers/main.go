// Tracers checks what the kernel checks of its function tracer: the boot self-tests (kernel/trace/trace_selftest.c), the tests of ftrace
// that are scripts there (selftests.go), and what is promised beyond them. Each check is a function; its name is printed when it holds.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	ftrace "github.com/ftgo/ftgo/runtime"
)

//go:noinline
func dynTestName() { sink.Add(1) }

//go:noinline
func dynTestName2() { sink.Add(1) }

//go:noinline
func outer(n int) {
	if n > 0 {
		middle(n)
	}
}

//go:noinline
func middle(n int) {
	inner()
	outer(n - 1)
}

//go:noinline
func inner() { sink.Add(1) }

var (
	sink  atomic.Int64
	times = flag.Int("times", 300, "register and unregister so many times")
)

func main() {
	flag.Parse()
	checks := []struct {
		name string
		do   func() error
	}{
		// trace_selftest.c
		{"boot: a filter on one function", oneCall},
		{"boot: ops", ops},
		{"boot: recursion", recursion},
		{"boot: graph storage", data},
		{"boot: graph beside others", beside},
		// selftests/ftrace/test.d
		{"basic/tracers", basicTracers},
		{"basic/trace_pipe", tracePipe},
		{"basic/ringbuffer resize", resize},
		{"basic/trace_marker", traceMarker},
		{"basic/snapshot", basicSnapshot},
		{"fgraph-filter", fgraphFilter},
		{"fgraph-filter-stack", fgraphFilterStack},
		{"fgraph-multi", instances},
		{"fgraph-multi-filter", instanceFilters},
		{"fgraph-profiler", fgraphProfiler},
		{"fgraph-retval", fgraphRetval},
		{"func_profiler", funcProfiler},
		{"func_profile_stat", funcProfileStat},
		{"func-filter-glob", enabledFunctions},
		{"func-filter-pid", funcFilterPid},
		{"func_set_ftrace_file", funcSetFtraceFile},
		{"func_traceonoff_triggers", triggers},
		{"func-filter-stacktrace", funcFilterStacktrace},
		{"func_mod_trace", funcModTrace},
		{"func_cpumask", funcCpumask},
		{"func_stack_tracer", stackTracer},
		{"tracing-error-log", errorLog},
		{"instances", instanceRace},
		// the rest of what is promised
		{"g0", g0},
		{"graph filters", graphFilters},
		{"open calls", openCalls},
		{"unregister waits", waits},
		{"panics", panics},
		{"goexit", goexit},
		{"limits", limits},
		{"function_tracers", functionTracers},
		{"data keeps", dataKeeps},
		{"callbacks end their goroutine", endsItsGoroutine},
		{"open for others", openForOthers},
		{"slow readers", slowReaders},
		{"fails for itself", failsFor},
		{"trigger rules", triggerRules},
		{"filters stay", filtersStay},
		{"late functions", lateFunctions},
		{"long on", longOn},
		{"sampler", samples},
		{"register and unregister", churn},
	}
	failed := false
	for _, c := range checks {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), c.name) {
			continue
		}
		if err := c.do(); err != nil {
			fmt.Printf("%s: %v\n", c.name, err)
			failed = true
			continue
		}
		if left := ftrace.EnabledFunctions(); len(left) > 0 {
			fmt.Printf("%s leaves %v\n", c.name, left)
			failed = true
		}
		fmt.Println(c.name)
	}
	if err := frameTest(); err != nil {
		fmt.Println("frame test:", err)
		failed = true
	}
	s := ftrace.ReadStats()
	if s.Mismatches != 3 || s.Unbalanced > 0 || ftrace.Depth() != 0 {
		fmt.Printf("%+v, depth %d\n", s, ftrace.Depth())
		failed = true
	}
	if failed {
		os.Exit(1)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// expect reports the first number that is not what it should be.
func expect(what string, got, want any) error {
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s: %v, want %v", what, got, want)
	}
	return nil
}

// whole makes of WriteTrace what writes everything.
func whole(write func(io.Writer, *ftrace.Selection) error) func(io.Writer) error {
	return func(w io.Writer) error { return write(w, nil) }
}

// seen returns the names in a trace, without package main, each with the number of times that it is entered.
func seen(write func(io.Writer) error) string {
	var b bytes.Buffer
	must(write(&b))
	n := map[string]int{}
	for _, l := range strings.Split(b.String(), "\n") {
		if i := strings.Index(l, "main."); i >= 0 && !strings.Contains(l, "} /*") && !strings.HasPrefix(l, " =>") {
			n[strings.FieldsFunc(l[i+5:], func(r rune) bool { return strings.ContainsRune(" ();<", r) })[0]]++
		}
	}
	var list []string
	for name, n := range n {
		list = append(list, fmt.Sprint(name, ":", n))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// callers lets so many goroutines call, and do something between calls, until stop is called.
func callers(n int, between func()) (stop func()) {
	done := make(chan bool)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					outer(2)
					between()
				}
			}
		})
	}
	return func() {
		close(done)
		wg.Wait()
	}
}
