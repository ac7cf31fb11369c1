package main

import (
	"bytes"
	"errors"
	"fmt"
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
	must(ftrace.WriteTrace(&b, nil))
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
	must(ftrace.SelectFunctionTracer("trace_profile"))
	errs = append(errs, expect("two", list(), " trace\n*trace_profile\n"),
		expect("filters", filters(), "[               trace] #### all functions enabled ####\n[       trace_profile] #### all functions enabled ####\n"))
	must(ftrace.SetFilter("main.inner"))
	errs = append(errs, expect("filters", filters(), "[               trace] #### all functions enabled ####\n[       trace_profile] main.inner\n"))
	must(ftrace.SelectFunctionTracer("trace"))
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
	if err := ftrace.SelectFunctionTracer("other"); err == nil || !strings.Contains(err.Error(), "trace_profile") {
		errs = append(errs, fmt.Errorf("another default: %v", err))
	}
	must(ftrace.SelectFunctionTracer("trace_profile"))
	must(ftrace.SetFilter())
	must(ftrace.SelectFunctionTracer("trace"))
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

// churn: while 16 goroutines call, nothing is called after Unregister returned.
func churn() error {
	return errors.Join(registerOften(*times, runtime.Gosched), registerOften(max(5, *times/500), func() {}))
}

// registerOften registers and unregisters two tracers so many times, while 16 goroutines call and do something between calls. Where that is nothing each keeps its P
// as long as it may, 10 ms, and Unregister waits for those that lost it in a callback.
func registerOften(times int, between func()) error {
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
	stop()
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
