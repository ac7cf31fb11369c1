package selftest

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ftrace "github.com/ftgo/ftgo/runtime"
	"github.com/ftgo/ftgo/runtime/sampler"
	"github.com/ftgo/ftgo/runtime/stacktracer"
)

// counter returns an Ops that counts.
func counter(t *testing.T, name string, filter ...string) (*ftrace.Ops, *atomic.Int64) {
	t.Helper()
	n := new(atomic.Int64)
	o := &ftrace.Ops{Name: name, Func: func(*ftrace.Func, uintptr, *ftrace.Ops) { n.Add(1) }}
	check(t, o.SetFilter(filter...))
	return o, n
}

// TestStartupDynamicTracing: a filter on one function, one call, one record
// (trace_selftest_startup_dynamic_tracing).
func TestStartupDynamicTracing(t *testing.T) {
	begin(t)
	check(t, ftrace.Reset())
	check(t, ftrace.SetFilter("selftest.dynTestName"))
	check(t, ftrace.SetTracer("function"))
	dynTestName()
	outer(3)
	check(t, ftrace.SetTracer("nop"))
	expect(t, "records", ftrace.ReadStats().Entries, uint64(1))
	var b bytes.Buffer
	check(t, ftrace.WriteTrace(&b, nil))
	check(t, ftrace.SetFilter())
	expect(t, "lines", strings.Count(short(b.String()), ": selftest.dynTestName <-"), 1)
}

// TestOps: callbacks with filters of their own on two functions, while filters change and
// callbacks are unregistered in the order in which they were registered (trace_selftest_ops).
func TestOps(t *testing.T) {
	begin(t)
	probe1, n1 := counter(t, "probe1", "selftest.dynTestName")
	probe2, n2 := counter(t, "probe2", "selftest.dynTestName2")
	probe3, n3 := counter(t, "probe3", "selftest.dynTestName", "selftest.dynTestName2")
	global, n4 := counter(t, "global", "selftest.*")
	dyn, n5 := counter(t, "dyn", "selftest.dyn*")
	counts := func() []int64 { return []int64{n1.Load(), n2.Load(), n3.Load(), n4.Load(), n5.Load()} }
	step := func(what string, want ...int64) {
		t.Helper()
		for _, n := range []*atomic.Int64{n1, n2, n3, n4, n5} {
			n.Store(0)
		}
		dynTestName()
		one := counts()
		dynTestName2()
		two := counts()
		expect(t, what+": the first function", one, want[:5])
		expect(t, what+": both", two, want[5:])
	}
	for _, o := range []*ftrace.Ops{probe1, probe2, probe3} {
		check(t, o.Register())
	}
	step("three", 1, 0, 1, 0, 0, 1, 1, 2, 0, 0)
	check(t, global.Register())
	check(t, global.SetNotrace("selftest.TestOps*", "selftest.expect", "selftest.check")) // what this test itself calls
	step("four", 1, 0, 1, 1, 0, 1, 1, 2, 2, 0)
	check(t, dyn.Register())
	step("five", 1, 0, 1, 1, 1, 1, 1, 2, 2, 2)
	check(t, probe1.AddFilter("selftest.dynTestName2"))
	check(t, probe3.AddFilter("!selftest.dynTestName"))
	step("filters added to", 1, 0, 0, 1, 1, 2, 1, 1, 2, 2)
	check(t, probe1.AddFilter("!selftest.dynTestName"))
	check(t, dyn.SetNotrace("*2"))
	step("filters taken from", 0, 0, 0, 1, 1, 1, 1, 1, 2, 1)
	check(t, probe1.Unregister())
	step("one gone", 0, 0, 0, 1, 1, 0, 1, 1, 2, 1)
	check(t, probe2.Unregister())
	check(t, probe3.Unregister())
	step("three gone", 0, 0, 0, 1, 1, 0, 0, 0, 2, 1)
	check(t, global.Unregister())
	check(t, dyn.Unregister())
	step("all gone", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	check(t, probe1.Register()) // with the filter that it had
	step("one back", 0, 0, 0, 0, 0, 1, 0, 0, 0, 0)
	check(t, probe1.Unregister())
}

// TestFunctionRecursion: a callback that calls what is traced is not called for that, unless it
// says that it minds itself (trace_selftest_function_recursion).
func TestFunctionRecursion(t *testing.T) {
	begin(t)
	for _, safe := range []bool{false, true} {
		n := 0
		o := &ftrace.Ops{Name: "recursion", RecursionSafe: safe}
		o.Func = func(*ftrace.Func, uintptr, *ftrace.Ops) {
			if n++; safe && n > 1 {
				return
			}
			dynTestName()
		}
		check(t, o.SetFilter("selftest.dynTestName"))
		check(t, o.Register())
		dynTestName()
		check(t, o.Unregister())
		want := 1
		if safe {
			want = 2
		}
		expect(t, fmt.Sprint("recursion safe ", safe), n, want)
	}
}

//go:noinline
func within(f func()) { f() }

// TestUnregisterWaits: Unregister returns when no callback is under way, and is refused from one.
func TestUnregisterWaits(t *testing.T) {
	begin(t)
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
	check(t, o.SetFilter("selftest.dynTestName"))
	check(t, o.Register())
	if o.Register() == nil {
		t.Fatal("it can be registered twice")
	}
	go dynTestName()
	<-started
	done := make(chan bool)
	go func() {
		expect(t, "unregister", o.Unregister(), nil)
		if in.Load() != 0 {
			t.Error("a callback is under way")
		}
		close(done)
	}()
	select {
	case <-done:
		t.Fatal("it has not waited")
	case <-time.After(50 * time.Millisecond):
	}
	dynTestName() // which has no callback any more
	check(t, ftrace.SetTracer("function"))
	check(t, ftrace.SetTracer("nop"))
	close(release)
	<-done
	if refused == nil || !strings.Contains(refused.Error(), "from a callback") {
		t.Fatalf("from the callback: %v", refused)
	}
	expect(t, "once more", o.Unregister() != nil, true)
}

// TestCallbackPanics: the program goes on, the tracer that panicked is off, and the others are not.
func TestCallbackPanics(t *testing.T) {
	begin(t)
	ftrace.ClearErrorLog()
	bad := &ftrace.Ops{Name: "bad", Func: func(*ftrace.Func, uintptr, *ftrace.Ops) { panic("oops") }}
	worse := &ftrace.GraphOps{Name: "worse", Return: func(ftrace.Call, *ftrace.GraphOps, []byte) { panic("oh") }}
	worst := &ftrace.GraphOps{Name: "worst", Entry: func(ftrace.Call, *ftrace.GraphOps, []byte) ftrace.Verdict { panic("ah") }}
	good, n := counter(t, "good", "selftest.inner")
	best := &ftrace.GraphOps{Name: "best"}
	list := names(best)
	for _, set := range []func(...string) error{bad.SetFilter, worse.SetFilter, worst.SetFilter, best.SetFilter} {
		check(t, set("selftest.inner"))
	}
	check(t, bad.Register())
	check(t, good.Register())
	check(t, worse.Register())
	check(t, worst.Register())
	check(t, best.Register())
	inner()
	inner()
	var log []string
	for _, e := range ftrace.ErrorLog() {
		log = append(log, e.Where)
	}
	for _, u := range []interface{ Unregister() error }{bad, good, worse, worst, best} {
		check(t, u.Unregister())
	}
	expect(t, "good", n.Load(), int64(2))
	expect(t, "best", strings.Join(*list, " "), "inner /inner inner /inner")
	expect(t, "error_log", log, []string{"bad", "worst", "worse"})
}

// TestCallbackGoexit: a callback may end its goroutine.
func TestCallbackGoexit(t *testing.T) {
	begin(t)
	o := &ftrace.Ops{Name: "goexit", Func: func(*ftrace.Func, uintptr, *ftrace.Ops) { runtime.Goexit() }}
	check(t, o.SetFilter("selftest.inner"))
	check(t, o.Register())
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			defer dynTestName()
			outer(1)
			t.Error("it has not ended")
		})
	}
	wg.Wait()
	check(t, o.Unregister())
}

// TestLimits: 32 tracers, 16 of them with returns.
func TestLimits(t *testing.T) {
	begin(t)
	var all []interface{ Unregister() error }
	var counts [32]*atomic.Int64
	for i := range 33 {
		var o *ftrace.Ops
		var n *atomic.Int64
		o, n = counter(t, fmt.Sprint("ops", i), "selftest.inner")
		err := o.Register()
		if (err != nil) != (i == 32) {
			t.Fatalf("tracer %d: %v", i, err)
		}
		if err == nil {
			counts[i] = n
			all = append(all, o)
		}
	}
	if ftrace.SetTracer("function") == nil || ftrace.StartProfile() == nil || ftrace.SetTrigger("selftest.inner:traceoff") == nil {
		t.Fatal("there is room for another one")
	}
	inner()
	for i, n := range counts {
		if n.Load() != 1 {
			t.Fatalf("tracer %d: %d calls", i, n.Load())
		}
	}
	for _, o := range all {
		check(t, o.Unregister())
	}
	all = nil
	for i := range 17 {
		o := &ftrace.GraphOps{Name: fmt.Sprint("graph", i), Return: func(ftrace.Call, *ftrace.GraphOps, []byte) {}}
		check(t, o.SetFilter("selftest.inner"))
		err := o.Register()
		if (err != nil) != (i == 16) {
			t.Fatalf("graph tracer %d: %v", i, err)
		}
		if err == nil {
			all = append(all, o)
		}
	}
	if ftrace.SetTracer("function_graph") == nil {
		t.Fatal("there is room for the graph tracer")
	}
	check(t, ftrace.SetTracer("function"))
	check(t, ftrace.SetTracer("nop"))
	for _, o := range all {
		check(t, o.Unregister())
	}
	bad := []interface{ Register() error }{&ftrace.Ops{Name: "nothing"}, &ftrace.Ops{Name: "a b", Func: func(*ftrace.Func, uintptr, *ftrace.Ops) {}},
		&ftrace.Ops{Name: "trace", Func: func(*ftrace.Func, uintptr, *ftrace.Ops) {}}, &ftrace.GraphOps{Name: "nothing"},
		&ftrace.GraphOps{Name: "large", Return: func(ftrace.Call, *ftrace.GraphOps, []byte) {}, DataSize: 65}}
	for _, o := range bad {
		if o.Register() == nil {
			t.Fatalf("%+v was registered", o)
		}
	}
}

// TestFunctionTracers is the session of the multiplexing patches. It runs in a process of its own:
// a profile that was given a filter keeps it, and follows trace's no more.
func TestFunctionTracers(t *testing.T) {
	begin(t)
	if !alone(t) {
		return
	}
	list := func() string {
		var b strings.Builder
		for _, tracer := range ftrace.FunctionTracers() {
			mark := " "
			if tracer.Default {
				mark = "*"
			}
			b.WriteString(mark + tracer.Name + "\n")
		}
		return b.String()
	}
	filters := func() string {
		var b strings.Builder
		check(t, ftrace.WriteFilters(&b))
		return b.String()
	}
	check(t, ftrace.SetTracer("function"))
	defer ftrace.SetTracer("nop")
	expect(t, "one", list(), "*trace\n")
	check(t, ftrace.StartProfile())
	defer ftrace.StopProfile()
	check(t, ftrace.SelectFunctionTracer("trace_profile"))
	expect(t, "two", list(), " trace\n*trace_profile\n")
	expect(t, "filters", filters(), "[               trace] #### all functions enabled ####\n[       trace_profile] #### all functions enabled ####\n")
	check(t, ftrace.SetFilter("selftest.inner"))
	expect(t, "filters", filters(), "[               trace] #### all functions enabled ####\n[       trace_profile] selftest.inner\n")
	check(t, ftrace.SelectFunctionTracer("trace"))
	check(t, ftrace.SetFilter("selftest.middle"))
	expect(t, "filters", filters(), "[               trace] selftest.middle\n[       trace_profile] selftest.inner\n")
	expect(t, "two", list(), "*trace\n trace_profile\n")
	check(t, ftrace.Reset())
	check(t, ftrace.ResetProfile())
	outer(2)
	p := ftrace.Profile()
	if len(p) != 1 || short(p[0].Name) != "selftest.inner" || p[0].Hits != 2 {
		t.Errorf("profile: %+v", p)
	}
	expect(t, "records", ftrace.ReadStats().Entries, uint64(2))
	if err := ftrace.SelectFunctionTracer("other"); err == nil || !strings.Contains(err.Error(), "trace_profile") {
		t.Errorf("another default: %v", err)
	}
	check(t, ftrace.SelectFunctionTracer("trace_profile"))
	check(t, ftrace.SetFilter())
	check(t, ftrace.SelectFunctionTracer("trace"))
	check(t, ftrace.SetFilter())
	for _, from := range ftrace.AvailableTracers() { // every one from every other
		for _, to := range ftrace.AvailableTracers() {
			check(t, ftrace.SetTracer(from))
			check(t, ftrace.SetTracer(to))
			expect(t, "current", ftrace.CurrentTracer(), to)
		}
	}
}

// TestFuncFilterGlob: the union of all filters.
func TestFuncFilterGlob(t *testing.T) {
	begin(t)
	enabled := func() string {
		var list []string
		for _, f := range ftrace.EnabledFunctions() {
			list = append(list, strings.TrimPrefix(f.Name, path+".")+"("+strings.Join(f.Tracers, " ")+")")
		}
		return strings.Join(list, " ")
	}
	a, _ := counter(t, "a", "selftest.inner", "selftest.outer")
	b, _ := counter(t, "b", "selftest.inner")
	check(t, a.Register())
	check(t, b.Register())
	check(t, ftrace.SetFilter("selftest.middle", "selftest.inner"))
	check(t, ftrace.SetTracer("function"))
	expect(t, "three", enabled(), "inner(a b trace) middle(trace) outer(a)")
	check(t, a.Unregister())
	expect(t, "two", enabled(), "inner(b trace) middle(trace)")
	check(t, ftrace.SetTracer("nop"))
	expect(t, "one", enabled(), "inner(b)")
	check(t, a.Register())
	check(t, b.Unregister())
	expect(t, "the other", enabled(), "inner(a) outer(a)")
	check(t, a.Unregister())
	check(t, ftrace.SetFilter())
	for _, glob := range []string{"selftest.dyn*", "*Test*", "*2", "selftest.*n*e*e2", "selftest.inn?r", "selftest.[io]*r"} { // func-filter-glob
		check(t, a.SetFilter(glob))
		check(t, a.Register())
		var want, got []string
		for _, name := range ftrace.AvailableFunctions() {
			name = short(name)
			if glob == "selftest.dyn*" && strings.HasPrefix(name, "selftest.dyn") || glob == "*Test*" && strings.Contains(name, "Test") || glob == "*2" && strings.HasSuffix(name, "2") ||
				glob == "selftest.*n*e*e2" && name == "selftest.dynTestName2" || glob == "selftest.inn?r" && name == "selftest.inner" || glob == "selftest.[io]*r" && (name == "selftest.inner" || name == "selftest.outer") {
				want = append(want, name)
			}
		}
		for _, f := range ftrace.EnabledFunctions() {
			got = append(got, short(f.Name))
		}
		slices.Sort(want)
		slices.Sort(got)
		expect(t, glob, got, want)
		if len(got) == 0 {
			t.Errorf("%s matches nothing", glob)
		}
		check(t, a.Unregister())
	}
}

// TestTracingErrorLog: what is refused changes nothing, and is logged with the fault under a caret.
func TestTracingErrorLog(t *testing.T) {
	begin(t)
	ftrace.ClearErrorLog()
	check(t, ftrace.SetFilter("selftest.inner"))
	defer ftrace.SetFilter()
	if ftrace.SetFilter("selftest.outer", "selftest.wrok") == nil || ftrace.SetFilter("!selftest.inner") == nil {
		t.Fatal("it was not refused")
	}
	var filters, log bytes.Buffer
	check(t, ftrace.WriteFilters(&filters))
	check(t, ftrace.WriteErrorLog(&log))
	lines := strings.Split(log.String(), "\n")
	if len(lines) < 3 || !strings.HasSuffix(lines[2], "^") || lines[1][len(lines[2])-1:] != "selftest.wrok" {
		t.Fatalf("%s", &log)
	}
	for range 20 {
		ftrace.SetFilter("selftest.wrok")
	}
	expect(t, "filter", filters.String(), "[               trace] selftest.inner\n")
	expect(t, "errors", len(ftrace.ErrorLog()), 8)
}

// TestFuncStackTracer: the deepest stack, and what each function took of it (func_stack_tracer.tc).
func TestFuncStackTracer(t *testing.T) {
	begin(t)
	if n := ftrace.Stack(make([]ftrace.StackFrame, 64)); n == 0 && runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("stacks are walked by frame pointers, which this machine does not have")
	}
	var stacks stacktracer.Tracer
	check(t, stacks.Start("selftest.deep", "selftest.inner"))
	inner()
	shallow := stacks.MaxSize()
	deep(5)
	big := stacks.MaxSize()
	deep(3)
	check(t, stacks.Stop())
	deep(10)
	var b bytes.Buffer
	check(t, stacks.Write(&b))
	// Each line: a function's frame, and all frames below it.
	lines := strings.Split(strings.TrimSpace(short(b.String())), "\n")
	frames := 0
	below := 0
	for i := len(lines) - 1; i >= 2; i-- {
		var n, depth, size int
		var where string
		if _, err := fmt.Sscanf(lines[i], "%d) %d %d %s", &n, &depth, &size, &where); err != nil {
			t.Fatalf("%v\n%s", err, &b)
		}
		if depth != below+size || n != i-2 {
			t.Fatalf("line %d\n%s", i, &b)
		}
		below = depth
		if strings.HasPrefix(where, "selftest.deep+") {
			if frames++; size < 1024 || size > 1400 {
				t.Fatalf("selftest.deep has a frame of %d bytes\n%s", size, &b)
			}
		}
	}
	if big != below || big < shallow+6*1024 || !strings.Contains(lines[2], "selftest.deep+") || stacks.MaxSize() != big {
		t.Fatalf("%d, %d\n%s", shallow, big, &b)
	}
	expect(t, "frames of selftest.deep", frames, 6)
}

//go:noinline
func deep(n int) byte {
	var room [1024]byte
	if n > 0 {
		room[n] = deep(n - 1)
	}
	return room[n%3] + room[n]
}

// TestSampler: every third call.
func TestSampler(t *testing.T) {
	begin(t)
	n := map[string]int{}
	s := sampler.Sampler{Every: 3, Func: func(f *ftrace.Func, _ uintptr) { n[short(f.Name())]++ }}
	check(t, s.Start("sampler", "selftest.outer", "selftest.middle", "selftest.inner"))
	outer(9) // outer (middle inner outer)*9
	check(t, s.Stop())
	outer(9)
	if err := new(sampler.Sampler).Start("nothing"); err == nil {
		t.Fatal("it samples nothing")
	}
	expect(t, "calls", s.Calls(), uint64(28))
	expect(t, "samples", n, map[string]int{"selftest.inner": 9})
}

// TestRegisterAndUnregister: while 16 goroutines call, nothing is called after Unregister returned.
func TestRegisterAndUnregister(t *testing.T) {
	begin(t)
	registerOften(t, *times, runtime.Gosched)
	registerOften(t, max(5, *times/500), func() {})
}

// registerOften registers and unregisters two tracers so many times, while 16 goroutines call and
// do something between calls. Where that is nothing each keeps its P as long as it may, 10 ms, and
// Unregister waits for the goroutines that lost it in a callback.
func registerOften(t *testing.T, times int, between func()) {
	t.Helper()
	stop := callers(16, between)
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
	check(t, o.SetFilter("selftest.inner"))
	check(t, g.SetFilter("selftest.middle", "selftest.inner"))
	var before runtime.MemStats
	start := time.Now()
	for i := range times {
		if i == times/10 {
			runtime.GC()
			runtime.ReadMemStats(&before)
		}
		on.Store(true)
		check(t, o.Register())
		graphOn.Store(true)
		check(t, g.Register())
		check(t, o.Unregister())
		on.Store(false)
		check(t, g.Unregister())
		graphOn.Store(false)
	}
	took := time.Since(start)
	stop()
	var after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc+after.OtherSys) - int64(before.HeapAlloc+before.OtherSys)
	if late.Load() > 0 || grown > 1<<20 {
		t.Fatalf("%d calls came late of %d, %d bytes were left", late.Load(), calls.Load(), grown)
	}
	t.Logf("%d times: %v each", 2*times, took/time.Duration(2*times))
}
