package main

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	ftrace "github.com/ftgo/ftgo/runtime"
	"github.com/ftgo/ftgo/runtime/stacktracer"
)

// The kernel's tests of ftrace (tools/testing/selftests/ftrace/test.d) that main.go does not hold, each under its name, asked of a Go program.

// only traces three functions, or those that are given.
func only(tracer string, filter ...string) {
	if len(filter) == 0 {
		filter = []string{"main.outer", "main.middle", "main.inner"}
	}
	must(ftrace.SetTracer("nop"))
	must(ftrace.Reset())
	must(ftrace.SetFilter(filter...))
	must(ftrace.SetTracer(tracer))
}

func off() {
	must(ftrace.SetTracer("nop"))
	must(ftrace.SetFilter())
	must(ftrace.SetNotrace())
}

// basicTracers: every tracer can be selected from any other, with nop between or not.
func basicTracers() error {
	defer off()
	must(ftrace.SetFilter("main.inner"))
	for _, between := range []bool{false, true} {
		for _, t := range ftrace.AvailableTracers() {
			for _, u := range ftrace.AvailableTracers() {
				must(ftrace.SetTracer(t))
				if between {
					must(ftrace.SetTracer("nop"))
				}
				must(ftrace.SetTracer(u))
				if err := expect("current_tracer", ftrace.CurrentTracer(), u); err != nil {
					return err
				}
				inner()
			}
		}
	}
	err := ftrace.SetTracer("functoin")
	return expect("an unknown one", err != nil && strings.Contains(err.Error(), "function_graph, function, nop"), true)
}

// tracePipe: trace_pipe consumes what it prints, trace does not.
func tracePipe() error {
	defer off()
	only("function")
	outer(1)
	pipe, err := ftrace.NewPipe()
	must(err)
	const all = "inner:1 middle:1 outer:2"
	return errors.Join(
		expect("trace", seen(whole(ftrace.WriteTrace)), all), expect("trace again", seen(whole(ftrace.WriteTrace)), all),
		expect("trace_pipe", seen(pipe.WriteNow), all), expect("trace_pipe again", seen(pipe.WriteNow), ""), expect("trace", seen(whole(ftrace.WriteTrace)), ""))
}

// resize: the buffer's size can be changed while tracing, and is read back.
func resize() error {
	defer off()
	size := ftrace.BufferSize()
	defer ftrace.SetBufferSize(size)
	only("function")
	for _, kb := range []int{4096, 1024, 8192} {
		must(ftrace.SetBufferSize(kb))
		outer(100)
		if err := expect("buffer_size_kb", ftrace.BufferSize(), kb); err != nil {
			return err
		}
	}
	s := ftrace.ReadStats()
	return expect("accounted for", s.Written, s.Entries+s.Overwritten+s.Dropped+s.Read)
}

// traceMarker: a marker stands in its place among the functions; a long one is split, and nothing of it is lost.
func traceMarker() error {
	defer off()
	only("function")
	inner()
	ftrace.Marker("here %d", 42)
	middle(0)
	text := strings.Repeat("0123456789", 1000)
	ftrace.Marker("%s", text)
	must(ftrace.SetTracer("nop"))
	var b bytes.Buffer
	must(ftrace.WriteTrace(&b, nil))
	s := b.String()
	first, note, second := strings.Index(s, "main.inner <-"), strings.Index(s, "here 42"), strings.Index(s, "main.middle <-")
	digits := 0
	for line := range strings.Lines(s[second:]) {
		if i := strings.LastIndex(line, ": "); i >= 0 && !strings.Contains(line, "<-") {
			digits += len(strings.TrimSpace(line[i+2:]))
		}
	}
	return errors.Join(expect("order", first >= 0 && first < note && note < second, true), expect("the long one", digits, len(text)))
}

// basicSnapshot: a snapshot leaves tracing as it was, and recording goes on.
func basicSnapshot() error {
	defer off()
	for _, on := range []bool{true, false} {
		only("function")
		must(ftrace.SetTracingOn(on))
		outer(1)
		var b bytes.Buffer
		must(ftrace.WriteRecording(&b, &ftrace.Selection{}))
		outer(1)
		want := "inner:2 middle:2 outer:4"
		if !on {
			want = ""
		}
		errs := errors.Join(expect("tracing_on", ftrace.TracingOn(), on), expect("trace", seen(whole(ftrace.WriteTrace)), want))
		must(ftrace.SetTracingOn(true))
		if errs != nil {
			return errs
		}
	}
	return nil
}

// fgraphFilter: with a filter on graph only that function appears.
func fgraphFilter() error {
	defer off()
	only("function_graph", "main.inner")
	outer(3)
	return expect("trace", seen(whole(ftrace.WriteTrace)), "inner:3")
}

// fgraphFilterStack: that is still true while stacks are traced, and after.
func fgraphFilterStack() error {
	defer off()
	only("function_graph", "main.inner")
	var t stacktracer.Tracer
	must(t.Start())
	outer(3)
	one := seen(whole(ftrace.WriteTrace))
	must(t.Stop())
	outer(2)
	return errors.Join(expect("while", one, "inner:3"), expect("after", seen(whole(ftrace.WriteTrace)), "inner:5"))
}

// profileOf returns how often functions were called.
func profileOf() string {
	var list []string
	for _, f := range ftrace.Profile() {
		list = append(list, fmt.Sprint(strings.TrimPrefix(f.Name, "main."), ":", f.Hits))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// fgraphProfiler: graph and profiler together.
func fgraphProfiler() error {
	defer off()
	only("function_graph")
	must(ftrace.ResetProfile())
	must(ftrace.StartProfile())
	outer(2)
	must(ftrace.StopProfile())
	outer(1)
	return errors.Join(expect("trace", seen(whole(ftrace.WriteTrace)), "inner:3 middle:3 outer:5"), expect("profile", profileOf(), "inner:2 middle:2 outer:3"))
}

// funcProfiler: a filter set while function tracer and profiler run still holds after the profiler stops; clearing it restores all functions.
func funcProfiler() error {
	defer off()
	only("function")
	must(ftrace.ResetProfile())
	must(ftrace.StartProfile())
	must(ftrace.SetFilter("main.inner"))
	outer(2)
	must(ftrace.StopProfile())
	outer(1)
	errs := errors.Join(expect("trace", seen(whole(ftrace.WriteTrace)), "inner:3"), expect("profile", profileOf(), "inner:2"))
	must(ftrace.SetFilter())
	all := len(ftrace.EnabledFunctions())
	must(ftrace.SetTracer("nop"))
	return errors.Join(errs, expect("all functions", all, len(ftrace.AvailableFunctions())))
}

// funcProfileStat: counts grow while the profile is on, and are frozen when it is off.
func funcProfileStat() error {
	defer off()
	only("nop", "main.inner")
	must(ftrace.ResetProfile())
	must(ftrace.StartProfile())
	outer(2)
	one := profileOf()
	outer(2)
	two := profileOf()
	must(ftrace.StopProfile())
	outer(2)
	return errors.Join(expect("on", one, "inner:2"), expect("on", two, "inner:4"), expect("off", profileOf(), "inner:4"))
}

// funcFilterPid: only one goroutine, or never that one; function-fork follows its children; notrace wins; for an instance, too.
func funcFilterPid() error {
	defer off()
	in := newInstance("pid", "function", "main.inner")
	defer in.Remove()
	only("function", "main.inner")
	type ids struct{ set, not []uint64 }
	apply := func(i ids) {
		must(ftrace.SetGoroutines(i.set...))
		must(ftrace.SetNotraceGoroutines(i.not...))
		must(in.SetGoroutines(i.set...))
		must(in.SetNotraceGoroutines(i.not...))
	}
	defer apply(ids{})
	me := ftrace.Goid()
	var errs []error
	for _, fork := range []bool{false, true} {
		if fork {
			must(ftrace.SetOption("function-fork"))
		}
		for name, c := range map[string]struct {
			ids
			mine, child int
		}{
			"all":         {ids{}, 1, 1},
			"only this":   {ids{set: []uint64{me}}, 1, 0},
			"not this":    {ids{not: []uint64{me}}, 0, 1},
			"notrace":     {ids{[]uint64{me}, []uint64{me}}, 0, 0},
			"another one": {ids{set: []uint64{1 << 40}}, 0, 0},
		} {
			if fork { // a child is as its parent
				c.child = c.mine
			}
			apply(c.ids)
			must(ftrace.Reset())
			must(in.Reset())
			inner()
			var wg sync.WaitGroup
			wg.Go(func() {
				wg.Go(inner) // the first of its family whom somebody asks about
				inner()
				wg.Go(inner)
			})
			wg.Wait()
			want := ""
			if n := c.mine + 3*c.child; n > 0 {
				want = fmt.Sprint("inner:", n)
			}
			what := fmt.Sprint(name, ", function-fork ", fork)
			errs = append(errs, expect(what, seen(whole(ftrace.WriteTrace)), want), expect(what+", instance", seen(whole(in.WriteTrace)), want))
		}
	}
	must(ftrace.SetOption("nofunction-fork"))
	return errors.Join(errs...)
}

// funcSetFtraceFile: what is read back is what was set; triggers survive a rewrite of the filter; !glob removes sets of triggers.
func funcSetFtraceFile() error {
	defer off()
	read := func() string {
		var b strings.Builder
		must(ftrace.WriteFilters(&b))
		var list []string
		for line := range strings.Lines(b.String()) {
			list = append(list, strings.TrimSpace(line[strings.Index(line, "] ")+2:]))
		}
		return strings.Join(append(list, ftrace.Triggers()...), " ")
	}
	must(ftrace.SetFilter("main.inner"))
	errs := []error{expect("one", read(), "main.inner")}
	must(ftrace.AddFilter("main.dyn*", "main.outer"))
	errs = append(errs, expect("three", read(), "main.inner main.dyn* main.outer"))
	must(ftrace.SetTrigger("main.inner:traceoff"))
	must(ftrace.SetTrigger("main.dyn*:traceon:3"))
	const triggers = " main.dynTestName2:traceon:count=3 main.dynTestName:traceon:count=3 main.inner:traceoff:unlimited"
	errs = append(errs, expect("triggers", read(), "main.inner main.dyn* main.outer"+triggers))
	must(ftrace.SetFilter("main.middle"))
	errs = append(errs, expect("a rewrite", read(), "main.middle"+triggers))
	must(ftrace.AddFilter("!main.m*"))
	errs = append(errs, expect("nothing left", read(), "#### all functions enabled ####"+triggers))
	must(ftrace.SetTrigger("!*:traceon"))
	errs = append(errs, expect("a set removed", read(), "#### all functions enabled #### main.inner:traceoff:unlimited"))
	must(ftrace.SetTrigger("!main.inner:traceoff"))
	return errors.Join(append(errs, expect("all removed", read(), "#### all functions enabled ####"))...)
}

// funcFilterStacktrace: a stack trace at a function; a number of times is honoured.
func funcFilterStacktrace() error {
	defer off()
	stacks := func() int {
		var b bytes.Buffer
		must(ftrace.WriteTrace(&b, nil))
		return strings.Count(b.String(), "<stack trace>")
	}
	only("function_graph", "main.outer")
	must(ftrace.SetTrigger("main.inner:stacktrace"))
	outer(5)
	unlimited := stacks()
	must(ftrace.SetTrigger("!main.inner:stacktrace"))
	must(ftrace.SetTrigger("main.inner:stacktrace:2"))
	must(ftrace.Reset())
	outer(5)
	twice := stacks()
	must(ftrace.SetTrigger("!main.inner:stacktrace:0"))
	must(ftrace.Reset())
	outer(5)
	return errors.Join(expect("unlimited", unlimited, 5), expect("two times", twice, 2), expect("removed", stacks(), 0))
}

// funcModTrace: a filter for a package that is not there yet takes effect when it comes.
func funcModTrace() error {
	defer off()
	later := fmt.Sprint("example.com/later", time.Now().UnixNano()) // functions stay: another run needs another package
	in := newInstance("mod", "function", "*:mod:"+later)
	defer in.Remove()
	must(ftrace.SetFilter("main.inner", "Work:mod:"+later+"..."))
	must(ftrace.SetTracer("function"))
	errs := []error{expect("before", len(ftrace.EnabledFunctions()), 1)}
	work, rest := ftrace.NewFunc(later+".Work"), ftrace.NewFunc(later+".Rest")
	call := func(f *ftrace.Func) {
		if f.Enabled() {
			defer ftrace.Exit(ftrace.Enter(f))
		}
	}
	call(work)
	call(rest)
	inner()
	return errors.Join(append(errs,
		expect("enabled", len(ftrace.EnabledFunctions()), 3),
		expect("records", ftrace.ReadStats().Entries >= 2, true),
		expect("the instance's", in.ReadStats().Entries, uint64(2)))...)
}

// funcCpumask: only some Ps record.
func funcCpumask() error {
	defer off()
	defer ftrace.SetCPUs()
	in := newInstance("cpumask", "function", "main.inner")
	defer in.Remove()
	only("function", "main.inner")
	must(ftrace.SetCPUs(0))
	must(in.SetCPUs(4000))
	var wg sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for range 2000 {
				inner()
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	must(ftrace.SetTracer("nop"))
	for _, c := range ftrace.ReadCPUStats() {
		if c.CPU != 0 && c.Entries > 0 {
			return fmt.Errorf("number %d recorded %d calls", c.CPU, c.Entries)
		}
	}
	return errors.Join(expect("a P that is not there", in.ReadStats().Written, uint64(0)), expect("refused", ftrace.SetCPUs(-1) != nil, true))
}
