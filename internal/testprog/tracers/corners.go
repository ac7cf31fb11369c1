package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

func newPair(name string, first uint64, filter ...string) *pair {
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
	must(p.SetFilter(filter...))
	return p
}

// same compares what came back, the calls that returned last first.
func (p *pair) same() error {
	slices.Sort(p.back)
	return expect(p.Name+": data", fmt.Sprint(p.back), fmt.Sprint(p.given))
}

func nothing(*ftrace.Func, uintptr, *ftrace.Ops) {}

// dataKeeps: data comes back whatever the order in which tracers have come, and whatever callbacks do.
func dataKeeps() error {
	var errs []error
	// The order of registration is not that of the bits for returns.
	first := &ftrace.Ops{Name: "first", Func: nothing}
	must(first.SetFilter("main.inner"))
	a, b := newPair("a", 100, "main.inner"), newPair("b", 200, "main.inner")
	must(first.Register())
	must(a.Register())
	must(first.Unregister())
	must(b.Register())
	inner()
	must(a.Unregister())
	must(b.Unregister())
	errs = append(errs, a.same(), b.same())

	// A limit of one tracer changes in another's callback.
	limited := &ftrace.GraphOps{Name: "limited", Return: func(ftrace.Call, *ftrace.GraphOps, []byte) {}}
	must(limited.SetFilter("main.inner"))
	c := newPair("c", 300, "main.inner")
	entry := c.Entry
	c.Entry = func(call ftrace.Call, o *ftrace.GraphOps, data []byte) ftrace.Verdict {
		must(limited.SetGraphFunction())
		return entry(call, o, data)
	}
	must(limited.Register())
	must(c.Register())
	inner()
	must(limited.Unregister())
	must(c.Unregister())
	errs = append(errs, c.same())

	// A callback calls a function of the same tracer before its own call is on the return stack.
	nested := &ftrace.Ops{Name: "nested", RecursionSafe: true, Func: func(*ftrace.Func, uintptr, *ftrace.Ops) { dynTestName() }}
	must(nested.SetFilter("main.inner"))
	d := newPair("d", 400, "main.inner", "main.dynTestName")
	must(d.Register())
	must(nested.Register())
	inner()
	must(nested.Unregister())
	must(d.Unregister())
	errs = append(errs, d.same())

	// Calls that were open when their tracer left give their data back, also while nobody is on.
	must(ftrace.SetMaxStack(65535))
	stay := &ftrace.GraphOps{Name: "stay", Return: func(ftrace.Call, *ftrace.GraphOps, []byte) {}}
	must(stay.SetFilter("main.calls"))
	must(stay.Register())
	calls(0, func() {
		must(stay.Unregister())
		for range 40 {
			leaves := newPair("leaves", 1, "main.calls")
			leaves.Return = nil
			must(leaves.Register())
			calls(2000, func() { must(leaves.Unregister()) })
			errs = append(errs, expect("leaves: calls", len(leaves.given), 2001))
		}
	})

	// As deep as the return stack goes.
	deep := newPair("deep", 1, "main.outer", "main.middle")
	must(deep.Register())
	outer(20_000)
	must(deep.Unregister())
	must(ftrace.SetMaxStack(ftrace.DefaultMaxStack))
	return errors.Join(append(errs, deep.same(), expect("deep: calls", len(deep.given), 40_001))...)
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

// endsItsGoroutine: a callback may end its goroutine, one that was called from a callback, too; its deferred functions are not in a callback.
func endsItsGoroutine() error {
	var errs []error
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
		must(o.SetFilter("main.inner"))
		must(o.Register())
		errs = append(errs, endedBy(o.Unregister))
	}
	g := &ftrace.GraphOps{Name: "returns", Return: func(ftrace.Call, *ftrace.GraphOps, []byte) { runtime.Goexit() }}
	must(g.SetFilter("main.inner"))
	must(g.Register())
	return errors.Join(append(errs, endedBy(g.Unregister))...)
}

// endedBy calls a function whose tracer ends its goroutine, and unregisters the tracer in a deferred function there.
func endedBy(unregister func() error) (err error) {
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() { err = unregister() }()
		inner()
	})
	wg.Wait()
	return err
}

// openForOthers: a call that was open when its tracer left returns to no one, whoever has the bit by then; and what a tracer skipped others do not.
func openForOthers() error {
	defer off()
	leave := func() (done func()) {
		o := &ftrace.GraphOps{Name: "leaves", Entry: func(ftrace.Call, *ftrace.GraphOps, []byte) ftrace.Verdict { return ftrace.Want }}
		must(o.SetFilter("main.waitFor"))
		must(o.Register())
		c := make(chan bool)
		var wg sync.WaitGroup
		n := sink.Load()
		wg.Go(func() { sink.Add(1); waitFor(c) })
		for sink.Load() == n {
			runtime.Gosched()
		}
		time.Sleep(time.Millisecond)
		must(o.Unregister())
		return func() { c <- true; wg.Wait() }
	}
	done := leave()
	only("function_graph", "main.inner")
	done()
	inner()
	errs := []error{expect("graph", seen(whole(ftrace.WriteTrace)), "inner:1"), expect("no return", strings.Contains(text(whole(ftrace.WriteTrace)), "waitFor"), false)}
	off()

	done = leave()
	must(ftrace.StartProfile())
	must(ftrace.ResetProfile())
	done()
	must(ftrace.StopProfile())
	errs = append(errs, expect("the profile", slices.ContainsFunc(ftrace.Profile(), func(s ftrace.FuncStats) bool { return s.Name == "main.waitFor" }), false))

	skips := &ftrace.GraphOps{Name: "skips", Entry: func(ftrace.Call, *ftrace.GraphOps, []byte) ftrace.Verdict { return ftrace.Skip }}
	beside := &ftrace.Ops{Name: "beside", Func: nothing}
	must(skips.SetFilter("main.calls"))
	must(skips.Register())
	calls(0, func() {
		must(skips.Unregister())
		must(beside.SetFilter("main.inner"))
		must(beside.Register())
		only("function_graph", "main.inner")
		inner()
	})
	inner()
	must(beside.Unregister())
	return errors.Join(append(errs, expect("skipped", seen(whole(ftrace.WriteTrace)), "inner:2"))...)
}

func text(write func(io.Writer) error) string {
	var b strings.Builder
	must(write(&b))
	return b.String()
}

// longOn: a tracer that has been on for millions of changes still gets returns.
func longOn() error {
	n := 0
	o := &ftrace.GraphOps{Name: "old", Return: func(ftrace.Call, *ftrace.GraphOps, []byte) { n++ }}
	must(o.SetFilter("main.inner"))
	must(o.Register())
	for range 4_300_000 {
		must(ftrace.SetTracingOn(true))
	}
	for range 10 {
		inner()
	}
	must(o.Unregister())
	return expect("returns", n, 10)
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

// slowReaders: whoever reads a trace slowly keeps nobody from anything, and may use the instance that it reads.
func slowReaders() error {
	defer off()
	only("function", "main.inner")
	inner()
	in := newInstance("slow", "function", "main.inner")
	inner()
	must(ftrace.SetTrigger("main.outer:snapshot"))
	var wg sync.WaitGroup
	var writers []*slow
	for _, read := range []func(io.Writer) error{
		func(w io.Writer) error { return ftrace.WriteRecording(w, &ftrace.Selection{}) },
		func(w io.Writer) error { return in.WriteRecording(w, &ftrace.Selection{}) },
		whole(in.WriteTrace), whole(ftrace.WriteTrace),
	} {
		s := &slow{began: make(chan bool), wait: make(chan bool)}
		writers = append(writers, s)
		wg.Go(func() { must(read(s)) })
		<-s.began
	}
	size := ftrace.BufferSize()
	must(ftrace.SetBufferSize(size / 2))
	outer(1)
	must(ftrace.SetBufferSize(size))
	must(in.SetBufferSize(1024))
	in.Marker("here")
	must(in.Remove())
	for _, s := range writers {
		close(s.wait)
	}
	wg.Wait()
	return ftrace.SetTrigger("!main.outer:snapshot")
}

// failsFor: a callback that panics when its tracer has gone switches nobody else off.
func failsFor() error {
	defer off()
	c, in := make(chan bool), make(chan bool)
	must(ftrace.RegisterTracer(ftrace.Tracer{Name: "lingers", Func: func(*ftrace.Func, uintptr, *ftrace.Ops) {
		in <- true
		<-c
		panic("late")
	}}))
	only("lingers", "main.dynTestName")
	beside := &ftrace.Ops{Name: "beside", Func: nothing}
	must(beside.SetFilter("main.inner"))
	must(beside.Register())
	var wg sync.WaitGroup
	wg.Go(dynTestName)
	<-in
	only("function", "main.inner")
	inner()
	close(c)
	wg.Wait()
	inner()
	must(beside.Unregister())
	log := ftrace.ErrorLog()
	return errors.Join(expect("trace", seen(whole(ftrace.WriteTrace)), "inner:2"), expect("log", log[len(log)-1].Text, "tracer lingers panicked: late"))
}

// triggerRules: triggers are what is listed, and nothing else.
func triggerRules() error {
	var n atomic.Int64
	count := func(*ftrace.Func, uintptr, *ftrace.Ops) { n.Add(1) }
	must(ftrace.SetTriggerFunc("main.inner", "mine", 0, count))
	errs := []error{
		expect("an unknown command", ftrace.SetTrigger("main.outer:mine") != nil, true),
		expect("a number for a name", ftrace.SetTriggerFunc("main.inner", "12", 0, count) != nil, true),
		expect("a pattern that takes back", ftrace.SetTriggerFunc("!main.inner", "other", 0, count) != nil, true),
		expect("a large count", ftrace.SetTriggerFunc("main.dynTestName", "many", 1<<30, count), nil),
		expect("a count beyond 64 bits", ftrace.SetTrigger("main.inner:traceoff:99999999999999999999") != nil, true),
	}
	inner()
	outer(0)
	errs = append(errs, expect("calls", n.Load(), int64(1)), ftrace.SetTrigger("!main.inner:mine"), ftrace.SetTrigger("!main.dynTestName:many"))

	// One that waits for a package can be taken back, and one whose functions have all been taken back does not come again.
	must(ftrace.SetTrigger("*:mod:not/there/yet:traceoff"))
	errs = append(errs, ftrace.SetTrigger("!*:mod:not/there/yet:traceoff"))
	must(ftrace.SetTrigger("main.dyn*:traceon"))
	must(ftrace.SetTrigger("!main.dynTestName:traceon"))
	must(ftrace.SetTrigger("!main.dynTestName2:traceon"))
	for i, f := range []string{"late/package.F", "main.dynLate"} {
		late := ftrace.NewFunc(f)
		errs = append(errs, expect(fmt.Sprint("a late function ", i), late.Enabled(), false), expect("triggers", len(ftrace.Triggers()), 0))
	}
	for _, wrong := range []string{"*:mod:mai*", "*:mod:!main"} {
		errs = append(errs, expect(wrong, ftrace.SetTrigger(wrong+":traceon") != nil && ftrace.SetFilter(wrong) != nil, true))
	}

	// An instance's triggers end with it, also those that are under way.
	stop := callers(4, runtime.Gosched)
	for range 100 {
		in := newInstance("short", "nop")
		must(in.SetTrigger("main.inner:traceoff"))
		must(in.SetTrigger("main.middle:stacktrace"))
		runtime.Gosched()
		must(in.Remove())
		next := newInstance("next", "nop")
		runtime.Gosched()
		if !next.TracingOn() {
			errs = append(errs, errors.New("the next instance is off"))
		}
		must(next.Remove())
	}
	stop()
	return errors.Join(errs...)
}

// filtersStay: a filter does not grow with what is added and taken out again.
func filtersStay() error {
	defer off()
	must(ftrace.SetFilter("main.outer"))
	for range 100 {
		must(ftrace.AddFilter("main.inner"))
		must(ftrace.AddFilter("!main.inner"))
	}
	lines := strings.Count(text(ftrace.WriteFilters), "[               trace]")
	err := errors.Join(expect("lines", lines, 2), expect("only what is taken out", ftrace.SetGraphFunction("!main.inner") != nil, true))

	// The profile's filter is not the default one any more when it is off.
	must(ftrace.StartProfile())
	must(ftrace.SelectFunctionTracer("trace_profile"))
	must(ftrace.StopProfile())
	return errors.Join(err, expect("function_tracers", ftrace.FunctionTracers()[0].Default, true))
}

// lateFunctions: functions may come while triggers and filters change.
func lateFunctions() error {
	defer off()
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
		for _, spec := range []string{"main.*:traceon", "main.inner:stacktrace", "!main.*:traceon", "!main.inner:stacktrace"} {
			must(ftrace.SetTrigger(spec))
			step.Add(1)
		}
		must(ftrace.SetFilter("main.*"))
		step.Add(1)
	}
	last.Store(1)
	wg.Wait()
	return expect("triggers", len(ftrace.Triggers()), 0)
}
