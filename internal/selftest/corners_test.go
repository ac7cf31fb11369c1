package selftest

import (
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ftrace "github.com/ftgo/ftgo/runtime"
)

// What happens where tracers meet: each check is of something that once went wrong.

//go:noinline
func waitFor(c chan bool) { <-c; sink.Add(1) }

// pair is a graph tracer that writes down what it gave to calls and what came back.
type pair struct {
	ftrace.GraphOps
	next        uint64
	given, back []uint64
}

func newPair(t *testing.T, name string, first uint64, filter ...string) *pair {
	t.Helper()
	p := &pair{next: first}
	p.Name, p.DataSize = name, 8
	p.Entry = func(_ ftrace.Call, _ *ftrace.GraphOps, data []byte) ftrace.Verdict {
		binary.LittleEndian.PutUint64(data, p.next)
		p.given = append(p.given, p.next)
		p.next++
		return ftrace.Want
	}
	p.Return = func(_ ftrace.Call, _ *ftrace.GraphOps, data []byte) {
		p.back = append(p.back, binary.LittleEndian.Uint64(data))
	}
	check(t, p.SetFilter(filter...))
	return p
}

// same compares what came back, the calls that returned last first.
func (p *pair) same(t *testing.T) {
	t.Helper()
	slices.Sort(p.back)
	expect(t, p.Name+": data", fmt.Sprint(p.back), fmt.Sprint(p.given))
}

func nothing(*ftrace.Func, uintptr, *ftrace.Ops) {}

// TestDataKeeps: data comes back whatever the order in which tracers have come, and whatever
// callbacks do.
func TestDataKeeps(t *testing.T) {
	begin(t)
	// The order of registration is not that of the bits for returns.
	first := &ftrace.Ops{Name: "first", Func: nothing}
	check(t, first.SetFilter("selftest.inner"))
	a, b := newPair(t, "a", 100, "selftest.inner"), newPair(t, "b", 200, "selftest.inner")
	check(t, first.Register())
	check(t, a.Register())
	check(t, first.Unregister())
	check(t, b.Register())
	inner()
	check(t, a.Unregister())
	check(t, b.Unregister())
	a.same(t)
	b.same(t)

	// A limit of one tracer changes in another's callback.
	limited := &ftrace.GraphOps{Name: "limited", Return: func(ftrace.Call, *ftrace.GraphOps, []byte) {}}
	check(t, limited.SetFilter("selftest.inner"))
	c := newPair(t, "c", 300, "selftest.inner")
	entry := c.Entry
	c.Entry = func(call ftrace.Call, o *ftrace.GraphOps, data []byte) ftrace.Verdict {
		expect(t, "set_graph_function", limited.SetGraphFunction(), nil)
		return entry(call, o, data)
	}
	check(t, limited.Register())
	check(t, c.Register())
	inner()
	check(t, limited.Unregister())
	check(t, c.Unregister())
	c.same(t)

	// A callback calls a function of the same tracer before its own call is on the return stack.
	nested := &ftrace.Ops{Name: "nested", RecursionSafe: true, Func: func(*ftrace.Func, uintptr, *ftrace.Ops) { dynTestName() }}
	check(t, nested.SetFilter("selftest.inner"))
	d := newPair(t, "d", 400, "selftest.inner", "selftest.dynTestName")
	check(t, d.Register())
	check(t, nested.Register())
	inner()
	check(t, nested.Unregister())
	check(t, d.Unregister())
	d.same(t)

	// Calls that were open when their tracer left give their data back, also while no tracer is on.
	check(t, ftrace.SetMaxStack(65535))
	stay := &ftrace.GraphOps{Name: "stay", Return: func(ftrace.Call, *ftrace.GraphOps, []byte) {}}
	check(t, stay.SetFilter("selftest.calls"))
	check(t, stay.Register())
	calls(0, func() {
		check(t, stay.Unregister())
		for range 40 {
			leaves := newPair(t, "leaves", 1, "selftest.calls")
			leaves.Return = nil
			check(t, leaves.Register())
			calls(2000, func() { check(t, leaves.Unregister()) })
			expect(t, "leaves: calls", len(leaves.given), 2001)
		}
	})

	// As deep as the return stack goes.
	deep := newPair(t, "deep", 1, "selftest.outer", "selftest.middle")
	check(t, deep.Register())
	outer(20_000)
	check(t, deep.Unregister())
	check(t, ftrace.SetMaxStack(ftrace.DefaultMaxStack))
	deep.same(t)
	expect(t, "deep: calls", len(deep.given), 40_001)
}

// calls calls do so many calls further down.
//
//go:noinline
func calls(n int, do func()) {
	if n == 0 {
		do()
		return
	}
	calls(n-1, do)
}

// TestCallbacksEndTheirGoroutine: a callback may end its goroutine, one that was called from a
// callback, too; its deferred functions are not in a callback.
func TestCallbacksEndTheirGoroutine(t *testing.T) {
	begin(t)
	for _, safe := range []bool{false, true} {
		depth := 0
		o := &ftrace.Ops{Name: "ends", RecursionSafe: safe}
		o.Func = func(*ftrace.Func, uintptr, *ftrace.Ops) {
			if depth++; safe && depth == 1 {
				inner()
				return
			}
			runtime.Goexit()
		}
		check(t, o.SetFilter("selftest.inner"))
		check(t, o.Register())
		check(t, endedBy(o.Unregister))
	}
	g := &ftrace.GraphOps{Name: "returns", Return: func(ftrace.Call, *ftrace.GraphOps, []byte) { runtime.Goexit() }}
	check(t, g.SetFilter("selftest.inner"))
	check(t, g.Register())
	check(t, endedBy(g.Unregister))
}

// endedBy calls a function with a tracer that ends its goroutine, and unregisters the tracer in a
// deferred function there.
func endedBy(unregister func() error) (err error) {
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() { err = unregister() }()
		inner()
	})
	wg.Wait()
	return err
}

// TestOpenForOthers: a call that was open when its tracer left returns to no tracer, not to the
// one that has its bit by then. What one tracer skips, others see.
func TestOpenForOthers(t *testing.T) {
	begin(t)
	defer off(t)
	leave := func() (done func()) {
		o := &ftrace.GraphOps{Name: "leaves", Entry: func(ftrace.Call, *ftrace.GraphOps, []byte) ftrace.Verdict { return ftrace.Want }}
		check(t, o.SetFilter("selftest.waitFor"))
		check(t, o.Register())
		c := make(chan bool)
		var wg sync.WaitGroup
		n := sink.Load()
		wg.Go(func() { sink.Add(1); waitFor(c) })
		for sink.Load() == n {
			runtime.Gosched()
		}
		time.Sleep(time.Millisecond)
		check(t, o.Unregister())
		return func() { c <- true; wg.Wait() }
	}
	done := leave()
	only(t, "function_graph", "selftest.inner")
	done()
	inner()
	expect(t, "graph", seen(t, whole(ftrace.WriteTrace)), "inner:1")
	expect(t, "no return", strings.Contains(text(t, whole(ftrace.WriteTrace)), "waitFor"), false)
	off(t)

	done = leave()
	check(t, ftrace.StartProfile())
	check(t, ftrace.ResetProfile())
	done()
	check(t, ftrace.StopProfile())
	expect(t, "the profile", slices.ContainsFunc(ftrace.Profile(), func(s ftrace.FuncStats) bool { return short(s.Name) == "selftest.waitFor" }), false)

	skips := &ftrace.GraphOps{Name: "skips", Entry: func(ftrace.Call, *ftrace.GraphOps, []byte) ftrace.Verdict { return ftrace.Skip }}
	beside := &ftrace.Ops{Name: "beside", Func: nothing}
	check(t, skips.SetFilter("selftest.calls"))
	check(t, skips.Register())
	calls(0, func() {
		check(t, skips.Unregister())
		check(t, beside.SetFilter("selftest.inner"))
		check(t, beside.Register())
		only(t, "function_graph", "selftest.inner")
		inner()
	})
	inner()
	check(t, beside.Unregister())
	expect(t, "skipped", seen(t, whole(ftrace.WriteTrace)), "inner:2")
}

// TestLongOn: a tracer that has been on for millions of changes still gets returns.
func TestLongOn(t *testing.T) {
	begin(t)
	n := 0
	o := &ftrace.GraphOps{Name: "old", Return: func(ftrace.Call, *ftrace.GraphOps, []byte) { n++ }}
	check(t, o.SetFilter("selftest.inner"))
	check(t, o.Register())
	for range 4_300_000 {
		check(t, ftrace.SetTracingOn(true))
	}
	for range 10 {
		inner()
	}
	check(t, o.Unregister())
	expect(t, "returns", n, 10)
}

// slow is a writer that is not ready until it is told.
type slow struct {
	once        sync.Once
	began, wait chan bool
}

func (s *slow) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.began) })
	<-s.wait
	return len(b), nil
}

// TestSlowReaders: a slow reader of a trace holds up nothing else, and may use the instance that
// it reads.
func TestSlowReaders(t *testing.T) {
	begin(t)
	defer off(t)
	only(t, "function", "selftest.inner")
	inner()
	in := newInstance(t, "slow", "function", "selftest.inner")
	inner()
	check(t, ftrace.SetTrigger("selftest.outer:snapshot"))
	var wg sync.WaitGroup
	var writers []*slow
	for _, read := range []func(io.Writer) error{
		func(w io.Writer) error { return ftrace.WriteRecording(w, &ftrace.Selection{}) },
		func(w io.Writer) error { return in.WriteRecording(w, &ftrace.Selection{}) },
		whole(in.WriteTrace), whole(ftrace.WriteTrace),
	} {
		s := &slow{began: make(chan bool), wait: make(chan bool)}
		writers = append(writers, s)
		wg.Go(func() { expect(t, "a slow reader", read(s), nil) })
		<-s.began
	}
	size := ftrace.BufferSize()
	check(t, ftrace.SetBufferSize(size/2))
	outer(1)
	check(t, ftrace.SetBufferSize(size))
	check(t, in.SetBufferSize(1024))
	in.Marker("here")
	check(t, in.Remove())
	for _, s := range writers {
		close(s.wait)
	}
	wg.Wait()
	check(t, ftrace.SetTrigger("!selftest.outer:snapshot"))
}

// TestFailsForItself: a callback that panics when its tracer has gone switches no other tracer off.
func TestFailsForItself(t *testing.T) {
	begin(t)
	defer off(t)
	c, in := make(chan bool), make(chan bool)
	var lingers atomic.Bool // tracers stay, and another test may select this one
	lingers.Store(true)
	name := fmt.Sprint("lingers", time.Now().UnixNano()) // which another run must not find
	check(t, ftrace.RegisterTracer(ftrace.Tracer{Name: name, Func: func(*ftrace.Func, uintptr, *ftrace.Ops) {
		if lingers.Swap(false) {
			in <- true
			<-c
			panic("late")
		}
	}}))
	only(t, name, "selftest.dynTestName")
	beside := &ftrace.Ops{Name: "beside", Func: nothing}
	check(t, beside.SetFilter("selftest.inner"))
	check(t, beside.Register())
	var wg sync.WaitGroup
	wg.Go(dynTestName)
	<-in
	only(t, "function", "selftest.inner")
	inner()
	close(c)
	wg.Wait()
	inner()
	check(t, beside.Unregister())
	log := ftrace.ErrorLog()
	expect(t, "trace", seen(t, whole(ftrace.WriteTrace)), "inner:2")
	expect(t, "log", log[len(log)-1].Text, "tracer "+name+" panicked: late")
}

// TestTriggerRules: triggers are what is listed, and nothing else.
func TestTriggerRules(t *testing.T) {
	begin(t)
	var n atomic.Int64
	count := func(*ftrace.Func, uintptr, *ftrace.Ops) { n.Add(1) }
	check(t, ftrace.SetTriggerFunc("selftest.inner", "mine", 0, count))
	expect(t, "an unknown command", ftrace.SetTrigger("selftest.outer:mine") != nil, true)
	expect(t, "a number for a name", ftrace.SetTriggerFunc("selftest.inner", "12", 0, count) != nil, true)
	expect(t, "a pattern that takes back", ftrace.SetTriggerFunc("!selftest.inner", "other", 0, count) != nil, true)
	expect(t, "a large count", ftrace.SetTriggerFunc("selftest.dynTestName", "many", 1<<30, count), nil)
	expect(t, "a count beyond 64 bits", ftrace.SetTrigger("selftest.inner:traceoff:99999999999999999999") != nil, true)
	inner()
	outer(0)
	expect(t, "calls", n.Load(), int64(1))
	check(t, ftrace.SetTrigger("!selftest.inner:mine"))
	check(t, ftrace.SetTrigger("!selftest.dynTestName:many"))

	// One that waits for a package can be taken back, and one with functions that have all been taken
	// back does not come again.
	check(t, ftrace.SetTrigger("*:mod:not/there/yet:traceoff"))
	check(t, ftrace.SetTrigger("!*:mod:not/there/yet:traceoff"))
	check(t, ftrace.SetTrigger("selftest.dyn*:traceon"))
	for _, name := range ftrace.AvailableFunctions() {
		if strings.HasPrefix(name, path+".dyn") {
			check(t, ftrace.SetTrigger("!"+name+":traceon"))
		}
	}
	now := time.Now().UnixNano() // functions stay: another run needs others
	for i, f := range []string{fmt.Sprint("late/package.F", now), fmt.Sprint(path, ".dynLate", now)} {
		late := ftrace.NewFunc(f)
		expect(t, fmt.Sprint("a late function ", i), late.Enabled(), false)
		expect(t, "triggers", len(ftrace.Triggers()), 0)
	}
	for _, wrong := range []string{"*:mod:mai*", "*:mod:!main"} {
		expect(t, wrong, ftrace.SetTrigger(wrong+":traceon") != nil && ftrace.SetFilter(wrong) != nil, true)
	}

	// An instance's triggers end with it, also triggers that are under way.
	stop := callers(4, runtime.Gosched)
	for range 100 {
		in := newInstance(t, "short", "nop")
		check(t, in.SetTrigger("selftest.inner:traceoff"))
		check(t, in.SetTrigger("selftest.middle:stacktrace"))
		runtime.Gosched()
		check(t, in.Remove())
		next := newInstance(t, "next", "nop")
		runtime.Gosched()
		if !next.TracingOn() {
			t.Error("the next instance is off")
		}
		check(t, next.Remove())
	}
	stop()
}

// TestFiltersStay: a filter does not grow with what is added and taken out again.
func TestFiltersStay(t *testing.T) {
	begin(t)
	defer off(t)
	check(t, ftrace.SetFilter("selftest.outer"))
	for range 100 {
		check(t, ftrace.AddFilter("selftest.inner"))
		check(t, ftrace.AddFilter("!selftest.inner"))
	}
	lines := strings.Count(text(t, ftrace.WriteFilters), "[               trace]")
	expect(t, "lines", lines, 2)
	expect(t, "only what is taken out", ftrace.SetGraphFunction("!selftest.inner") != nil, true)

	// The profile's filter is not the default one any more when it is off.
	check(t, ftrace.StartProfile())
	check(t, ftrace.SelectFunctionTracer("trace_profile"))
	check(t, ftrace.StopProfile())
	expect(t, "function_tracers", ftrace.FunctionTracers()[0].Default, true)
}

// TestLateFunctions: functions may come while triggers and filters change.
func TestLateFunctions(t *testing.T) {
	begin(t)
	defer off(t)
	var wg sync.WaitGroup
	var step, last atomic.Int32
	wg.Go(func() {
		for i := range 3000 { // each is a package of its own
			for step.Load() < int32(i/3) && last.Load() == 0 {
				runtime.Gosched()
			}
			ftrace.NewFunc(fmt.Sprint("late.F", i))
		}
	})
	for range 200 {
		for _, spec := range []string{"selftest.*:traceon", "selftest.inner:stacktrace", "!selftest.*:traceon", "!selftest.inner:stacktrace"} {
			check(t, ftrace.SetTrigger(spec))
			step.Add(1)
		}
		check(t, ftrace.SetFilter("selftest.*"))
		step.Add(1)
	}
	last.Store(1)
	wg.Wait()
	expect(t, "triggers", len(ftrace.Triggers()), 0)
}
