// Tracers checks what the kernel checks of its function tracer: the boot self-tests (kernel/trace/trace_selftest.c), the tests of ftrace
// that are scripts there (selftests.go), and what is promised beyond them. Each check is a function; its name is printed when it holds.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	ftrace "github.com/ftgo/ftgo/runtime"
	"github.com/ftgo/ftgo/runtime/sampler"
	"github.com/ftgo/ftgo/runtime/stacktracer"
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
		{"graph filters", graphFilters},
		{"open calls", openCalls},
		{"unregister waits", waits},
		{"panics", panics},
		{"goexit", goexit},
		{"limits", limits},
		{"function_tracers", functionTracers},
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

// frameTest: a return that does not match its entry stops tracing with a report, or is passed over.
func frameTest() error {
	if n := ftrace.ReadStats().Mismatches; n != 0 {
		return fmt.Errorf("%d mismatches", n)
	}
	f := ftrace.NewFunc("main.byHand")
	only("function_graph", "main.byHand", "main.inner")
	defer off()
	within := func(mistake bool) {
		t := ftrace.Enter(f)
		u := ftrace.Enter(f)
		inner()
		if !mistake {
			ftrace.Exit(u)
		}
		ftrace.Exit(t) // without u's
	}
	within(false)
	ftrace.ClearErrorLog()
	must(ftrace.SetOption("noframe-test"))
	within(true)
	errs := []error{expect("without the test", seen(ftrace.WriteTrace), "byHand:4 inner:2"), expect("errors", len(ftrace.ErrorLog()), 0), expect("mismatches", ftrace.ReadStats().Mismatches, uint64(1))}
	must(ftrace.SetOption("frame-test"))
	must(ftrace.Reset())
	within(true)
	inner()
	log := ftrace.ErrorLog()
	if len(log) != 1 || log[0].Where != "frame test" || !strings.Contains(log[0].Text, "does not match its entry") {
		errs = append(errs, fmt.Errorf("error_log: %+v", log))
	}
	errs = append(errs, expect("with the test", seen(ftrace.WriteTrace), "byHand:2 inner:1"))
	ftrace.Exit(1 << 20) // of no call at all
	ftrace.Start()
	must(ftrace.Reset())
	inner()
	return errors.Join(append(errs, expect("again", seen(ftrace.WriteTrace), "inner:1"), expect("depth", ftrace.Depth(), 0))...)
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

// counter returns an Ops that counts.
func counter(name string, filter ...string) (*ftrace.Ops, *atomic.Int64) {
	n := new(atomic.Int64)
	o := &ftrace.Ops{Name: name, Func: func(*ftrace.Func, uintptr, *ftrace.Ops) { n.Add(1) }}
	must(o.SetFilter(filter...))
	return o, n
}

// oneCall: a filter on one function, one call, one record (trace_selftest_startup_dynamic_tracing).
func oneCall() error {
	must(ftrace.Reset())
	must(ftrace.SetFilter("main.dynTestName"))
	must(ftrace.SetTracer("function"))
	dynTestName()
	outer(3)
	must(ftrace.SetTracer("nop"))
	if err := expect("records", ftrace.ReadStats().Entries, uint64(1)); err != nil {
		return err
	}
	var b bytes.Buffer
	must(ftrace.WriteTrace(&b))
	must(ftrace.SetFilter())
	return expect("lines", strings.Count(b.String(), ": main.dynTestName <-"), 1)
}

// ops: callbacks with filters of their own on two functions, while filters change and callbacks are unregistered in the order in which they were
// registered (trace_selftest_ops).
func ops() error {
	probe1, n1 := counter("probe1", "main.dynTestName")
	probe2, n2 := counter("probe2", "main.dynTestName2")
	probe3, n3 := counter("probe3", "main.dynTestName", "main.dynTestName2")
	global, n4 := counter("global", "main.*")
	dyn, n5 := counter("dyn", "main.dyn*")
	counts := func() []int64 { return []int64{n1.Load(), n2.Load(), n3.Load(), n4.Load(), n5.Load()} }
	step := func(what string, want ...int64) error {
		for _, n := range []*atomic.Int64{n1, n2, n3, n4, n5} {
			n.Store(0)
		}
		dynTestName()
		one := counts()
		dynTestName2()
		two := counts()
		if err := expect(what+": the first function", one, want[:5]); err != nil {
			return err
		}
		return expect(what+": both", two, want[5:])
	}
	var errs []error
	for _, o := range []*ftrace.Ops{probe1, probe2, probe3} {
		must(o.Register())
	}
	errs = append(errs, step("three", 1, 0, 1, 0, 0, 1, 1, 2, 0, 0))
	must(global.Register())
	must(global.SetNotrace("main.ops*", "main.expect")) // what this check itself calls
	errs = append(errs, step("four", 1, 0, 1, 1, 0, 1, 1, 2, 2, 0))
	must(dyn.Register())
	errs = append(errs, step("five", 1, 0, 1, 1, 1, 1, 1, 2, 2, 2))
	must(probe1.AddFilter("main.dynTestName2"))
	must(probe3.AddFilter("!main.dynTestName"))
	errs = append(errs, step("filters added to", 1, 0, 0, 1, 1, 2, 1, 1, 2, 2))
	must(probe1.AddFilter("!main.dynTestName"))
	must(dyn.SetNotrace("*2"))
	errs = append(errs, step("filters taken from", 0, 0, 0, 1, 1, 1, 1, 1, 2, 1))
	must(probe1.Unregister())
	errs = append(errs, step("one gone", 0, 0, 0, 1, 1, 0, 1, 1, 2, 1))
	must(probe2.Unregister())
	must(probe3.Unregister())
	errs = append(errs, step("three gone", 0, 0, 0, 1, 1, 0, 0, 0, 2, 1))
	must(global.Unregister())
	must(dyn.Unregister())
	errs = append(errs, step("all gone", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
	must(probe1.Register()) // with the filter that it had
	errs = append(errs, step("one back", 0, 0, 0, 0, 0, 1, 0, 0, 0, 0))
	must(probe1.Unregister())
	return errors.Join(errs...)
}

// recursion: a callback that calls what is traced is not called for that, unless it says that it minds itself (trace_selftest_function_recursion).
func recursion() error {
	for _, safe := range []bool{false, true} {
		n := 0
		o := &ftrace.Ops{Name: "recursion", RecursionSafe: safe}
		o.Func = func(*ftrace.Func, uintptr, *ftrace.Ops) {
			if n++; safe && n > 1 {
				return
			}
			dynTestName()
		}
		must(o.SetFilter("main.dynTestName"))
		must(o.Register())
		dynTestName()
		must(o.Unregister())
		want := 1
		if safe {
			want = 2
		}
		if err := expect(fmt.Sprint("recursion safe ", safe), n, want); err != nil {
			return err
		}
	}
	return nil
}

// data: what a user stores on entry is what its return gets (test_graph_storage_single and _multi).
func data() error {
	type result struct{ entries, returns, wrong int }
	user := func(i, size int) (*ftrace.GraphOps, *result) {
		r := new(result)
		next := uint64(i+1) << 40
		var expected []uint64
		mask := ^uint64(0)
		if size < 8 {
			mask = 1<<(8*size) - 1
			next = uint64(i+1) * 17
		}
		o := &ftrace.GraphOps{Name: fmt.Sprint("storage", i), DataSize: size}
		o.Entry = func(c ftrace.Call, _ *ftrace.GraphOps, data []byte) ftrace.Verdict {
			r.entries++
			for _, b := range data {
				if b != 0 {
					r.wrong++
				}
			}
			if i == 2 && c.Func.Name() == "main.middle" { // some do not want all
				return ftrace.Ignore
			}
			next++
			expected = append(expected, next&mask)
			var w [8]byte
			binary.LittleEndian.PutUint64(w[:], next&mask)
			copy(data, w[:])
			if len(data) == ftrace.MaxDataSize {
				data[63] = byte(next)
			}
			return ftrace.Want
		}
		o.Return = func(_ ftrace.Call, _ *ftrace.GraphOps, data []byte) {
			r.returns++
			var w [8]byte
			copy(w[:], data)
			want := expected[len(expected)-1]
			expected = expected[:len(expected)-1]
			if binary.LittleEndian.Uint64(w[:]) != want || len(data) != size || size == 64 && data[63] != byte(want) {
				r.wrong++
			}
		}
		must(o.SetFilter("main.outer", "main.middle", "main.inner"))
		return o, r
	}
	for _, sizes := range [][]int{{1}, {2}, {4}, {8}, {64}, {1, 2, 4, 8}, {64, 8, 64, 1}} {
		var list []*ftrace.GraphOps
		var results []*result
		for i, size := range sizes {
			o, r := user(i, size)
			must(o.Register())
			list, results = append(list, o), append(results, r)
		}
		outer(3) // 4 outer, 3 middle, 3 inner
		for i, o := range list {
			must(o.Unregister())
			want := result{10, 10, 0}
			if i == 2 {
				want.returns = 7
			}
			if err := expect(fmt.Sprintf("%v bytes, user %d", sizes, i), *results[i], want); err != nil {
				return err
			}
		}
	}
	return nil
}

// names collects what a graph user sees.
func names(o *ftrace.GraphOps) *[]string {
	list := new([]string)
	short := func(c ftrace.Call) string { return strings.TrimPrefix(c.Func.Name(), "main.") }
	o.Entry = func(c ftrace.Call, _ *ftrace.GraphOps, _ []byte) ftrace.Verdict {
		*list = append(*list, short(c))
		if o.Name == "skips" && strings.HasSuffix(c.Func.Name(), "middle") {
			return ftrace.Skip
		}
		return ftrace.Want
	}
	o.Return = func(c ftrace.Call, _ *ftrace.GraphOps, _ []byte) { *list = append(*list, "/"+short(c)) }
	return list
}

// graphFilters: each user has its own filter, depth, set_graph_function and subtrees that it skips.
func graphFilters() error {
	all := []string{"main.outer", "main.middle", "main.inner"}
	var list []*ftrace.GraphOps
	var got []*[]string
	add := func(name string, depth int, set func(*ftrace.GraphOps) error) {
		o := &ftrace.GraphOps{Name: name, MaxDepth: depth}
		got = append(got, names(o))
		must(o.SetFilter(all...))
		must(set(o))
		must(o.Register())
		list = append(list, o)
	}
	nothing := func(*ftrace.GraphOps) error { return nil }
	add("all", 0, nothing)
	add("one", 0, func(o *ftrace.GraphOps) error { return o.SetFilter("main.inner") })
	add("not", 0, func(o *ftrace.GraphOps) error { return o.SetNotrace("main.middle") })
	add("depth", 2, nothing)
	add("function", 0, func(o *ftrace.GraphOps) error { return o.SetGraphFunction("main.middle") })
	add("notrace", 0, func(o *ftrace.GraphOps) error { return o.SetGraphNotrace("main.middle") })
	add("skips", 0, nothing)
	want := []string{
		"outer middle inner /inner outer /outer /middle /outer",
		"inner /inner",
		"outer inner /inner outer /outer /outer",
		"outer middle /middle /outer",
		"middle inner /inner outer /outer /middle",
		"outer /outer",
		"outer middle /outer",
	}
	for range 2 {
		for i := range got {
			*got[i] = nil
		}
		outer(1)
		for i, o := range list {
			if err := expect(o.Name, strings.Join(*got[i], " "), want[i]); err != nil {
				return err
			}
		}
	}
	// Limits may be set while calls are seen.
	must(list[0].SetGraphFunction("main.inner"))
	must(list[4].SetGraphFunction())
	for i := range got {
		*got[i] = nil
	}
	outer(1)
	want[0], want[4] = "inner /inner", want[0]
	for i, o := range list {
		must(o.Unregister())
		if err := expect(o.Name, strings.Join(*got[i], " "), want[i]); err != nil {
			return err
		}
	}
	return nil
}

// beside: the graph tracer and the profile see all, whatever is on beside them.
func beside() error {
	must(ftrace.SetFilter("main.outer", "main.middle", "main.inner"))
	defer ftrace.SetFilter()
	for _, tracer := range []string{"function_graph", "function", "nop"} {
		for _, profile := range []bool{false, true} {
			must(ftrace.Reset())
			must(ftrace.SetTracer(tracer))
			must(ftrace.ResetProfile())
			if profile {
				must(ftrace.StartProfile())
			}
			o := &ftrace.GraphOps{Name: "names"}
			list := names(o)
			must(o.SetFilter("main.inner", "main.dynTestName"))
			c, n := counter("counter", "main.middle")
			outer(1) // alone
			must(o.Register())
			outer(1)
			must(c.Register())
			outer(1)
			must(o.Unregister())
			outer(1)
			must(c.Unregister())
			outer(1)
			must(ftrace.SetTracer("nop"))
			must(ftrace.StopProfile())
			what := fmt.Sprint(tracer, " ", profile)
			entries := map[string]uint64{"function_graph": 40, "function": 20}[tracer]
			if err := errors.Join(
				expect(what+": records", ftrace.ReadStats().Entries, entries),
				expect(what+": seen", strings.Join(*list, " "), "inner /inner inner /inner"),
				expect(what+": counted", n.Load(), int64(2))); err != nil {
				return err
			}
			hits := map[string]uint64{}
			for _, f := range ftrace.Profile() {
				hits[f.Name] = f.Hits
				if f.Self > f.Total {
					return fmt.Errorf("%s: %+v", what, f)
				}
			}
			want := map[string]uint64{}
			if profile {
				want = map[string]uint64{"main.outer": 10, "main.middle": 5, "main.inner": 5}
			}
			if err := expect(what+": profile", hits, want); err != nil {
				return err
			}
		}
	}
	return nil
}

// openCalls: calls that began before a user came, or return after it went, are not its; those of users that stay are.
func openCalls() error {
	stays := &ftrace.GraphOps{Name: "stays"}
	comes := &ftrace.GraphOps{Name: "comes"}
	all, some := names(stays), names(comes)
	must(stays.SetFilter("main.within", "main.inner"))
	must(comes.SetFilter("main.within", "main.inner"))
	must(stays.Register())
	within(func() {
		must(comes.Register())
		inner()
	})
	within(func() {
		must(comes.Unregister())
		inner()
	})
	within(func() {
		must(comes.Register())
		inner()
		must(comes.Unregister())
		must(comes.Register())
	})
	must(comes.Unregister())
	must(stays.Unregister())
	return errors.Join(
		expect("stays", strings.Join(*all, " "), "within inner /inner /within within inner /inner /within within inner /inner /within"),
		expect("comes", strings.Join(*some, " "), "inner /inner within inner /inner"))
}

//go:noinline
func within(f func()) { f() }

// waits: Unregister returns when no callback is under way, and is refused from one.
func waits() error {
	started, release := make(chan bool), make(chan bool)
	var in atomic.Int32
	var refused error
	o := &ftrace.Ops{Name: "slow"}
	o.Func = func(*ftrace.Func, uintptr, *ftrace.Ops) {
		in.Add(1)
		refused = o.Unregister()
		started <- true
		<-release
		time.Sleep(20 * time.Millisecond)
		in.Add(-1)
	}
	must(o.SetFilter("main.dynTestName"))
	must(o.Register())
	if o.Register() == nil {
		return errors.New("it can be registered twice")
	}
	go dynTestName()
	<-started
	done := make(chan bool)
	go func() {
		must(o.Unregister())
		if in.Load() != 0 {
			panic("a callback is under way")
		}
		close(done)
	}()
	select {
	case <-done:
		return errors.New("it has not waited")
	case <-time.After(50 * time.Millisecond):
	}
	dynTestName() // which calls nobody any more
	must(ftrace.SetTracer("function"))
	must(ftrace.SetTracer("nop"))
	close(release)
	<-done
	if refused == nil || !strings.Contains(refused.Error(), "from a callback") {
		return fmt.Errorf("from the callback: %v", refused)
	}
	return expect("once more", o.Unregister() != nil, true)
}

// panics: the program goes on, the tracer that panicked is off, and the others are not.
func panics() error {
	ftrace.ClearErrorLog()
	bad := &ftrace.Ops{Name: "bad", Func: func(*ftrace.Func, uintptr, *ftrace.Ops) { panic("oops") }}
	worse := &ftrace.GraphOps{Name: "worse", Return: func(ftrace.Call, *ftrace.GraphOps, []byte) { panic("oh") }}
	worst := &ftrace.GraphOps{Name: "worst", Entry: func(ftrace.Call, *ftrace.GraphOps, []byte) ftrace.Verdict { panic("ah") }}
	good, n := counter("good", "main.inner")
	best := &ftrace.GraphOps{Name: "best"}
	list := names(best)
	for _, set := range []func(...string) error{bad.SetFilter, worse.SetFilter, worst.SetFilter, best.SetFilter} {
		must(set("main.inner"))
	}
	must(bad.Register())
	must(good.Register())
	must(worse.Register())
	must(worst.Register())
	must(best.Register())
	inner()
	inner()
	var log []string
	for _, e := range ftrace.ErrorLog() {
		log = append(log, e.Where)
	}
	for _, u := range []interface{ Unregister() error }{bad, good, worse, worst, best} {
		must(u.Unregister())
	}
	return errors.Join(
		expect("good", n.Load(), int64(2)),
		expect("best", strings.Join(*list, " "), "inner /inner inner /inner"),
		expect("error_log", log, []string{"bad", "worst", "worse"}))
}

// goexit: a callback may end its goroutine.
func goexit() error {
	o := &ftrace.Ops{Name: "goexit", Func: func(*ftrace.Func, uintptr, *ftrace.Ops) { runtime.Goexit() }}
	must(o.SetFilter("main.inner"))
	must(o.Register())
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			defer dynTestName()
			outer(1)
			panic("it has not ended")
		})
	}
	wg.Wait()
	return o.Unregister()
}

// limits: 32 tracers, 16 of them with returns.
func limits() error {
	var all []interface{ Unregister() error }
	var counts [32]*atomic.Int64
	for i := range 33 {
		var o *ftrace.Ops
		var n *atomic.Int64
		o, n = counter(fmt.Sprint("ops", i), "main.inner")
		err := o.Register()
		if (err != nil) != (i == 32) {
			return fmt.Errorf("tracer %d: %v", i, err)
		}
		if err == nil {
			counts[i] = n
			all = append(all, o)
		}
	}
	if ftrace.SetTracer("function") == nil || ftrace.StartProfile() == nil || ftrace.SetTrigger("main.inner:traceoff") == nil {
		return errors.New("there is room for another one")
	}
	inner()
	for i, n := range counts {
		if n.Load() != 1 {
			return fmt.Errorf("tracer %d: %d calls", i, n.Load())
		}
	}
	for _, o := range all {
		must(o.Unregister())
	}
	all = nil
	for i := range 17 {
		o := &ftrace.GraphOps{Name: fmt.Sprint("graph", i), Return: func(ftrace.Call, *ftrace.GraphOps, []byte) {}}
		must(o.SetFilter("main.inner"))
		err := o.Register()
		if (err != nil) != (i == 16) {
			return fmt.Errorf("graph tracer %d: %v", i, err)
		}
		if err == nil {
			all = append(all, o)
		}
	}
	if ftrace.SetTracer("function_graph") == nil {
		return errors.New("there is room for the graph tracer")
	}
	must(ftrace.SetTracer("function"))
	must(ftrace.SetTracer("nop"))
	for _, o := range all {
		must(o.Unregister())
	}
	bad := []interface{ Register() error }{&ftrace.Ops{Name: "nothing"}, &ftrace.Ops{Name: "a b", Func: func(*ftrace.Func, uintptr, *ftrace.Ops) {}},
		&ftrace.Ops{Name: "trace", Func: func(*ftrace.Func, uintptr, *ftrace.Ops) {}}, &ftrace.GraphOps{Name: "nothing"},
		&ftrace.GraphOps{Name: "large", Return: func(ftrace.Call, *ftrace.GraphOps, []byte) {}, DataSize: 65}}
	for _, o := range bad {
		if o.Register() == nil {
			return fmt.Errorf("%+v was registered", o)
		}
	}
	return nil
}

// functionTracers is the session of the multiplexing patches.
func functionTracers() error {
	list := func() string {
		var b strings.Builder
		for _, t := range ftrace.FunctionTracers() {
			mark := " "
			if t.Default {
				mark = "*"
			}
			b.WriteString(mark + t.Name + "\n")
		}
		return b.String()
	}
	filters := func() string {
		var b strings.Builder
		must(ftrace.WriteFilters(&b))
		return b.String()
	}
	must(ftrace.SetTracer("function"))
	defer ftrace.SetTracer("nop")
	errs := []error{expect("one", list(), "*trace\n")}
	must(ftrace.StartProfile())
	defer ftrace.StopProfile()
	must(ftrace.SetDefaultTracer("trace_profile"))
	errs = append(errs, expect("two", list(), " trace\n*trace_profile\n"),
		expect("filters", filters(), "[               trace] #### all functions enabled ####\n[       trace_profile] #### all functions enabled ####\n"))
	must(ftrace.SetFilter("main.inner"))
	errs = append(errs, expect("filters", filters(), "[               trace] #### all functions enabled ####\n[       trace_profile] main.inner\n"))
	must(ftrace.SetDefaultTracer("trace"))
	must(ftrace.SetFilter("main.middle"))
	errs = append(errs, expect("filters", filters(), "[               trace] main.middle\n[       trace_profile] main.inner\n"), expect("two", list(), "*trace\n trace_profile\n"))
	must(ftrace.Reset())
	must(ftrace.ResetProfile())
	outer(2)
	p := ftrace.Profile()
	if len(p) != 1 || p[0].Name != "main.inner" || p[0].Hits != 2 {
		errs = append(errs, fmt.Errorf("profile: %+v", p))
	}
	errs = append(errs, expect("records", ftrace.ReadStats().Entries, uint64(2)))
	if err := ftrace.SetDefaultTracer("other"); err == nil || !strings.Contains(err.Error(), "trace_profile") {
		errs = append(errs, fmt.Errorf("another default: %v", err))
	}
	must(ftrace.SetDefaultTracer("trace_profile"))
	must(ftrace.SetFilter())
	must(ftrace.SetDefaultTracer("trace"))
	must(ftrace.SetFilter())
	for _, t := range ftrace.AvailableTracers() { // every one from every other
		for _, u := range ftrace.AvailableTracers() {
			must(ftrace.SetTracer(t))
			must(ftrace.SetTracer(u))
			errs = append(errs, expect("current", ftrace.CurrentTracer(), u))
		}
	}
	return errors.Join(errs...)
}

// enabledFunctions: the union of all filters.
func enabledFunctions() error {
	enabled := func() string {
		var list []string
		for _, f := range ftrace.EnabledFunctions() {
			list = append(list, strings.TrimPrefix(f.Name, "main.")+"("+strings.Join(f.Tracers, " ")+")")
		}
		return strings.Join(list, " ")
	}
	a, _ := counter("a", "main.inner", "main.outer")
	b, _ := counter("b", "main.inner")
	must(a.Register())
	must(b.Register())
	must(ftrace.SetFilter("main.middle", "main.inner"))
	must(ftrace.SetTracer("function"))
	errs := []error{expect("three", enabled(), "inner(a b trace) middle(trace) outer(a)")}
	must(a.Unregister())
	errs = append(errs, expect("two", enabled(), "inner(b trace) middle(trace)"))
	must(ftrace.SetTracer("nop"))
	errs = append(errs, expect("one", enabled(), "inner(b)"))
	must(a.Register())
	must(b.Unregister())
	errs = append(errs, expect("the other", enabled(), "inner(a) outer(a)"))
	must(a.Unregister())
	must(ftrace.SetFilter())
	for _, glob := range []string{"main.dyn*", "*Test*", "*2", "main.*n*e*e2", "main.inn?r", "main.[io]*r"} { // func-filter-glob
		must(a.SetFilter(glob))
		must(a.Register())
		var want, got []string
		for _, name := range ftrace.AvailableFunctions() {
			if glob == "main.dyn*" && strings.HasPrefix(name, "main.dyn") || glob == "*Test*" && strings.Contains(name, "Test") || glob == "*2" && strings.HasSuffix(name, "2") ||
				glob == "main.*n*e*e2" && name == "main.dynTestName2" || glob == "main.inn?r" && name == "main.inner" || glob == "main.[io]*r" && (name == "main.inner" || name == "main.outer") {
				want = append(want, name)
			}
		}
		for _, f := range ftrace.EnabledFunctions() {
			got = append(got, f.Name)
		}
		slices.Sort(want)
		if errs = append(errs, expect(glob, got, want)); len(got) == 0 {
			errs = append(errs, fmt.Errorf("%s matches nothing", glob))
		}
		must(a.Unregister())
	}
	return errors.Join(errs...)
}

// errorLog: what is refused changes nothing, and is logged with the fault under a caret.
func errorLog() error {
	ftrace.ClearErrorLog()
	must(ftrace.SetFilter("main.inner"))
	defer ftrace.SetFilter()
	if ftrace.SetFilter("main.outer", "main.wrok") == nil || ftrace.SetFilter("!main.inner") == nil {
		return errors.New("it was not refused")
	}
	var filters, log bytes.Buffer
	must(ftrace.WriteFilters(&filters))
	must(ftrace.WriteErrorLog(&log))
	lines := strings.Split(log.String(), "\n")
	if len(lines) < 3 || !strings.HasSuffix(lines[2], "^") || lines[1][len(lines[2])-1:] != "main.wrok" {
		return fmt.Errorf("%s", &log)
	}
	for range 20 {
		ftrace.SetFilter("main.wrok")
	}
	return errors.Join(
		expect("filter", filters.String(), "[               trace] main.inner\n"),
		expect("errors", len(ftrace.ErrorLog()), 8))
}

// triggers: what functions do besides being traced, with and without a number of times (func_traceonoff_triggers.tc, func_set_ftrace_file.tc).
func triggers() error {
	must(ftrace.SetFilter("main.outer", "main.middle", "main.inner"))
	defer ftrace.SetFilter()
	defer ftrace.SetTracingOn(true)
	lines := func(tracer string, calls func()) string {
		must(ftrace.Reset())
		must(ftrace.SetTracer(tracer))
		calls()
		must(ftrace.SetTracer("nop"))
		var b bytes.Buffer
		must(ftrace.WriteTrace(&b))
		var list []string
		for _, l := range strings.Split(b.String(), "\n") {
			if i := strings.Index(l, "main."); i >= 0 && !strings.HasPrefix(l, " =>") {
				list = append(list, strings.TrimRight(strings.FieldsFunc(l[i+5:], func(r rune) bool { return strings.ContainsRune(" ();", r) })[0], "\n"))
			}
		}
		return strings.Join(list, " ")
	}
	set := func(specs ...string) {
		for _, s := range specs {
			must(ftrace.SetTrigger(s))
		}
	}
	list := func() string { return strings.Join(ftrace.Triggers(), " ") }
	var errs []error
	twice := func() { outer(1); outer(1) }
	for _, tracer := range []string{"function", "function_graph"} {
		errs = append(errs, expect(tracer, lines(tracer, twice), "outer middle inner outer outer middle inner outer"))
		set("main.middle:traceoff")
		errs = append(errs, expect(tracer+": traceoff", lines(tracer, twice), "outer"), expect("on", ftrace.TracingOn(), false))
		errs = append(errs, expect(tracer+": off", lines(tracer, twice), ""))
		set("main.outer:traceon:1") // the first of them
		errs = append(errs, expect("list", list(), "main.middle:traceoff:unlimited main.outer:traceon:count=1"))
		errs = append(errs, expect(tracer+": traceon once", lines(tracer, twice), "outer"))
		errs = append(errs, expect("list", list(), "main.middle:traceoff:unlimited main.outer:traceon:count=0"))
		set("!main.*:traceon:0", "main.inner:traceon")
		want := "inner outer outer inner outer"
		if tracer == "function_graph" { // middle's return is recorded, its entry is not
			want = "inner outer middle outer outer inner outer middle"
		}
		errs = append(errs, expect(tracer+": on and off", lines(tracer, twice), want))
		set("!main.inner:traceon")
		must(ftrace.SetFilter("main.outer", "main.middle", "main.inner")) // triggers survive it
		errs = append(errs, expect("list", list(), "main.middle:traceoff:unlimited"))
		set("!main.middle:traceoff")
		must(ftrace.SetTracingOn(true))
		errs = append(errs, expect(tracer+": none", lines(tracer, twice), "outer middle inner outer outer middle inner outer"), expect("list", list(), ""))
		must(ftrace.SetTracingOn(false))
		errs = append(errs, expect(tracer+": tracing_on 0", lines(tracer, twice), ""))
		must(ftrace.SetTracingOn(true))
	}
	// A stack, twice.
	set("main.inner:stacktrace:2")
	must(ftrace.Reset())
	must(ftrace.SetTracer("function"))
	outer(3)
	must(ftrace.SetTracer("nop"))
	var b bytes.Buffer
	must(ftrace.WriteTrace(&b))
	errs = append(errs, expect("stacks", strings.Count(b.String(), "<stack trace>"), 2),
		expect("callers", strings.Contains(b.String(), " => main.inner\n => main.middle\n => main.outer\n"), true))
	set("!main.inner:stacktrace")
	// A snapshot leaves tracing as it was.
	set("main.inner:snapshot:1")
	errs = append(errs, expect("while a snapshot is taken", lines("function", twice), "outer middle inner outer outer middle inner outer"))
	b.Reset()
	must(ftrace.WriteSnapshot(&b))
	errs = append(errs, expect("snapshot", strings.Count(b.String(), "main.middle <-"), 1), expect("snapshot", strings.Count(b.String(), "main.inner <-"), 0))
	set("!main.inner:snapshot")
	// The program's own, without a tracer.
	n := 0
	must(ftrace.SetTriggerFunc("main.inner", "mine", 3, func(f *ftrace.Func, _ uintptr) {
		if f.Name() == "main.inner" {
			n++
		}
	}))
	outer(5)
	errs = append(errs, expect("own", n, 3))
	set("!main.*:mine")
	outer(5)
	errs = append(errs, expect("own", n, 3))
	for _, bad := range []string{"main.inner", "main.inner:", "main.inner:wrok", "main.inner:traceoff:0", "main.wrok:traceoff", "!main.inner:traceoff", ":", ""} {
		if ftrace.SetTrigger(bad) == nil {
			errs = append(errs, fmt.Errorf("%q was not refused", bad))
		}
	}
	return errors.Join(errs...)
}

// stackTracer: the deepest stack, and what each function took of it (func_stack_tracer.tc).
func stackTracer() error {
	if n := ftrace.Stack(make([]ftrace.StackFrame, 64)); n == 0 && runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return nil
	}
	var t stacktracer.Tracer
	must(t.Start("main.deep", "main.inner"))
	inner()
	shallow := t.MaxSize()
	deep(5)
	big := t.MaxSize()
	deep(3)
	must(t.Stop())
	deep(10)
	var b bytes.Buffer
	must(t.Write(&b))
	// Each line: a function's frame, and all of those below it.
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	frames := 0
	below := 0
	for i := len(lines) - 1; i >= 2; i-- {
		var n, depth, size int
		var where string
		if _, err := fmt.Sscanf(lines[i], "%d) %d %d %s", &n, &depth, &size, &where); err != nil {
			return fmt.Errorf("%w\n%s", err, &b)
		}
		if depth != below+size || n != i-2 {
			return fmt.Errorf("line %d\n%s", i, &b)
		}
		below = depth
		if strings.HasPrefix(where, "main.deep+") {
			if frames++; size < 1024 || size > 1400 {
				return fmt.Errorf("main.deep has a frame of %d bytes\n%s", size, &b)
			}
		}
	}
	if big != below || big < shallow+6*1024 || !strings.Contains(lines[2], "main.deep+") || t.MaxSize() != big {
		return fmt.Errorf("%d, %d\n%s", shallow, big, &b)
	}
	return expect("frames of main.deep", frames, 6)
}

//go:noinline
func deep(n int) byte {
	var room [1024]byte
	if n > 0 {
		room[n] = deep(n - 1)
	}
	return room[n%3] + room[n]
}

// samples: every third call.
func samples() error {
	n := map[string]int{}
	s := sampler.Sampler{Every: 3, Func: func(f *ftrace.Func, _ uintptr) { n[f.Name()]++ }}
	must(s.Start("sampler", "main.outer", "main.middle", "main.inner"))
	outer(9) // outer (middle inner outer)*9
	must(s.Stop())
	outer(9)
	if err := new(sampler.Sampler).Start("nothing"); err == nil {
		return errors.New("it samples nothing")
	}
	return errors.Join(expect("calls", s.Calls(), uint64(28)), expect("samples", n, map[string]int{"main.inner": 9}))
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

func newInstance(name, tracer string, filter ...string) *ftrace.Instance {
	in, err := ftrace.NewInstance(name)
	must(err)
	must(in.SetFilter(filter...))
	must(in.SetTracer(tracer))
	return in
}

// instances: the top one and three instances trace at once, each into its own buffer (fgraph-multi.tc).
func instances() error {
	all := []string{"main.outer", "main.middle", "main.inner"}
	must(ftrace.Reset())
	must(ftrace.SetFilter(all...))
	defer ftrace.SetFilter()
	must(ftrace.SetTracer("function_graph"))
	graph := newInstance("graph", "function_graph", all...)
	one := newInstance("one", "function_graph", "main.inner")
	calls := newInstance("calls", "function", "main.m*", "main.outer")
	must(calls.SetNotrace("main.main"))
	outer(1)
	one.Marker("a note")
	outer(2)
	errs := []error{
		expect("instances", ftrace.Instances(), []string{"graph", "one", "calls"}),
		expect("found", ftrace.FindInstance("one") == one && ftrace.FindInstance("two") == nil, true),
		expect("current", one.CurrentTracer(), "function_graph"),
		expect("top", seen(ftrace.WriteTrace), "inner:3 middle:3 outer:5"),
		expect("graph", seen(graph.WriteTrace), "inner:3 middle:3 outer:5"),
		expect("one", seen(one.WriteTrace), "inner:3"),
		expect("calls", seen(calls.WriteTrace), "middle:3 outer:5"),
	}
	var b bytes.Buffer
	must(one.WriteTrace(&b))
	errs = append(errs, expect("marker", strings.Count(b.String(), "a note"), 1))
	for _, in := range []*ftrace.Instance{graph, one, calls} { // what was written is what is there
		s := in.ReadStats()
		errs = append(errs, expect(in.Name()+": written", s.Written, s.Entries))
	}
	// A limit of one is nobody else's.
	must(graph.SetMaxGraphDepth(1))
	must(calls.SetTracingOn(false))
	must(one.SetTracer("nop"))
	must(graph.Reset())
	must(ftrace.Reset())
	outer(1)
	errs = append(errs,
		expect("top", seen(ftrace.WriteTrace), "inner:1 middle:1 outer:2"),
		expect("graph", seen(graph.WriteTrace), "outer:1"),
		expect("one", seen(one.WriteTrace), "inner:3"),
		expect("calls", seen(calls.WriteTrace), "middle:3 outer:5"))
	// Records are taken out of one alone.
	pipe, err := calls.NewPipe()
	must(err)
	errs = append(errs, expect("pipe", seen(pipe.WriteNow), "middle:3 outer:5"), expect("calls", seen(calls.WriteTrace), ""))
	b.Reset()
	must(graph.Snapshot(&b, ftrace.SnapshotOptions{}))
	errs = append(errs, expect("snapshot", b.Len() > 4096, true))
	// Goroutines, for one.
	must(calls.SetTracingOn(true))
	must(calls.Reset())
	id := make(chan uint64)
	do := make(chan bool)
	go func() {
		id <- ftrace.Goid()
		<-do
		outer(1)
		do <- true
	}()
	must(calls.SetGoroutines(<-id))
	outer(3)
	do <- true
	<-do
	errs = append(errs, expect("one goroutine", seen(calls.WriteTrace), "middle:1 outer:2"))
	must(calls.SetGoroutines())
	// Triggers, for one.
	must(calls.Reset())
	must(ftrace.Reset())
	must(calls.SetTrigger("main.inner:traceoff:1"))
	outer(2)
	errs = append(errs, expect("a trigger", seen(calls.WriteTrace), "middle:1 outer:1"), expect("top", seen(ftrace.WriteTrace), "inner:2 middle:2 outer:3"),
		expect("triggers", strings.Join(calls.Triggers(), " "), "main.inner:traceoff:count=0"), expect("triggers of the top one", len(ftrace.Triggers()), 0))
	must(ftrace.SetTracer("nop"))
	for _, in := range []*ftrace.Instance{graph, one, calls} {
		must(in.Remove())
		if in.Remove() == nil || in.SetTracer("function") == nil || in.WriteTrace(io.Discard) == nil {
			errs = append(errs, fmt.Errorf("%s is there still", in.Name()))
		}
	}
	if pipe.WriteNow(io.Discard) == nil {
		errs = append(errs, errors.New("the pipe of an instance that was removed"))
	}
	// Another one that gets the first one's place knows nothing of it.
	again := newInstance("again", "function", "main.inner")
	outer(1)
	errs = append(errs, expect("again", seen(again.WriteTrace), "inner:1"), expect("stats", again.ReadStats().Written, uint64(1)))
	must(again.Remove())
	var list []*ftrace.Instance
	for i := 0; ; i++ {
		in, err := ftrace.NewInstance(fmt.Sprint("i", i))
		if err != nil {
			errs = append(errs, expect("how many", i, 15))
			break
		}
		list = append(list, in)
	}
	if _, err := ftrace.NewInstance("i3"); err == nil {
		errs = append(errs, errors.New("two of a name"))
	}
	for _, in := range list {
		must(in.Remove())
	}
	return errors.Join(errs...)
}

// instanceFilters: filter and notrace of each; what is enabled is the union, and exactly what it was when an instance goes, in any order
// (fgraph-multi-filter.tc).
func instanceFilters() error {
	enabled := func() int { return len(ftrace.EnabledFunctions()) }
	filters := [][2]string{{"main.dyn*", "*2"}, {"main.*ner", ""}, {"main.*e*", "main.m*"}, {"*Test*", ""}}
	var errs []error
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}} {
		list := map[int]*ftrace.Instance{}
		counts := []int{enabled()}
		for i, f := range filters {
			in, err := ftrace.NewInstance(fmt.Sprint("i", i))
			must(err)
			must(in.SetFilter(f[0]))
			if f[1] != "" {
				must(in.SetNotrace(f[1]))
			}
			list[i] = in
		}
		union := func() int {
			set := map[string]bool{}
			for i := range list {
				if list[i].CurrentTracer() == "nop" {
					continue
				}
				for _, f := range ftrace.EnabledFunctions() {
					if slices.Contains(f.Tracers, list[i].Name()) {
						set[f.Name] = true
					}
				}
			}
			return len(set)
		}
		for _, i := range order {
			must(list[i].SetTracer("function_graph"))
			errs = append(errs, expect("union", enabled(), union()))
			counts = append(counts, enabled())
		}
		dynTestName()
		dynTestName2()
		errs = append(errs, expect("not 2", seen(list[0].WriteTrace), "dynTestName:1"), expect("both", seen(list[3].WriteTrace), "dynTestName2:1 dynTestName:1"))
		for k := len(order) - 1; k >= 0; k-- {
			errs = append(errs, expect("enabled", enabled(), counts[k+1]))
			if k%2 == 0 {
				must(list[order[k]].SetTracer("nop"))
			} else {
				must(list[order[k]].Remove())
			}
		}
		errs = append(errs, expect("enabled", enabled(), counts[0]))
		for k, i := range order {
			if k%2 == 0 {
				must(list[i].Remove())
			}
		}
	}
	return errors.Join(errs...)
}

// instanceRace: many make, use and remove instances at once, while others call: nothing breaks, and nothing is left (instance.tc).
func instanceRace() error {
	stop := make(chan bool)
	var callers, makers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					outer(2)
					runtime.Gosched()
				}
			}
		})
	}
	must(ftrace.SetFilter("main.outer", "main.middle", "main.inner"))
	defer ftrace.SetFilter()
	size := ftrace.BufferSize()
	must(ftrace.SetBufferSize(256)) // so that it is full soon
	defer ftrace.SetBufferSize(size)
	must(ftrace.SetTracer("function_graph"))
	var made, refused atomic.Int64
	turn := func(rounds int) {
		for k := range 5 {
			makers.Go(func() {
				for i := range rounds {
					in, err := ftrace.NewInstance([]string{"foo", "bar", "zot"}[(k+i)%3]) // some are there already
					if err != nil {
						refused.Add(1)
						runtime.Gosched()
						continue
					}
					made.Add(1)
					in.SetFilter("main.inner", "main.middle")
					in.SetTracer([]string{"function", "function_graph", "nop"}[i%3])
					in.SetTrigger("main.middle:traceoff:2")
					if other := ftrace.FindInstance("foo"); other != nil {
						other.SetTracer("function")
						other.Marker("from another")
						other.WriteTrace(io.Discard)
					}
					if i%2 == 0 {
						in.SetTracer("function_graph")
					}
					must(in.Remove())
				}
			})
		}
		makers.Wait()
	}
	memory := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.OtherSys)
	}
	turn(*times / 20)
	before := memory()
	turn(*times / 5)
	grown := memory() - before
	close(stop)
	callers.Wait()
	must(ftrace.SetTracer("nop"))
	s := ftrace.ReadStats()
	return errors.Join(
		expect("made and refused", made.Load() > 0 && refused.Load() >= 0, true),
		expect("grown", max(0, grown>>20), int64(0)),
		expect("left", len(ftrace.Instances()), 0),
		expect("accounted for", s.Written, s.Entries+s.Overwritten+s.Dropped+s.Read))
}

// churn: while 16 goroutines call, nothing is called after Unregister returned.
func churn() error {
	return errors.Join(registerOften(*times, runtime.Gosched), registerOften(max(5, *times/500), func() {}))
}

// registerOften registers and unregisters two tracers so many times, while 16 goroutines call and do something between calls. Where that is nothing each keeps its P
// as long as it may, 10 ms, and Unregister waits for those that lost it in a callback.
func registerOften(times int, between func()) error {
	stop := make(chan bool)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					outer(2)
					between()
				}
			}
		})
	}
	var late, calls atomic.Int64
	var on, graphOn atomic.Bool
	o := &ftrace.Ops{Name: "ops", Func: func(*ftrace.Func, uintptr, *ftrace.Ops) {
		calls.Add(1)
		if !on.Load() {
			late.Add(1)
		}
	}}
	g := &ftrace.GraphOps{Name: "graph", DataSize: 8,
		Entry: func(_ ftrace.Call, _ *ftrace.GraphOps, data []byte) ftrace.Verdict {
			if !graphOn.Load() {
				late.Add(1)
			}
			data[0] = 42
			return ftrace.Want
		},
		Return: func(_ ftrace.Call, _ *ftrace.GraphOps, data []byte) {
			if !graphOn.Load() || data[0] != 42 {
				late.Add(1)
			}
		}}
	must(o.SetFilter("main.inner"))
	must(g.SetFilter("main.middle", "main.inner"))
	var before runtime.MemStats
	start := time.Now()
	for i := range times {
		if i == times/10 {
			runtime.GC()
			runtime.ReadMemStats(&before)
		}
		on.Store(true)
		must(o.Register())
		graphOn.Store(true)
		must(g.Register())
		must(o.Unregister())
		on.Store(false)
		must(g.Unregister())
		graphOn.Store(false)
	}
	took := time.Since(start)
	close(stop)
	wg.Wait()
	var after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc+after.OtherSys) - int64(before.HeapAlloc+before.OtherSys)
	if late.Load() > 0 || grown > 1<<20 {
		return fmt.Errorf("%d calls came late of %d, %d bytes were left", late.Load(), calls.Load(), grown)
	}
	fmt.Printf("%d times: %v each\n", 2*times, took/time.Duration(2*times))
	return nil
}
