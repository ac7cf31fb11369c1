package selftest

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ftrace "github.com/ftgo/ftgo/runtime"
	"github.com/ftgo/ftgo/runtime/stacktracer"
)

// The kernel's tests of ftrace (tools/testing/selftests/ftrace/test.d), each under its name, asked
// of a Go program. Others of them are in the files of what they test: ops, instances, triggers,
// values.

// only traces the functions that match, or three of them without a filter.
func only(t *testing.T, tracer string, filter ...string) {
	t.Helper()
	if len(filter) == 0 {
		filter = []string{"selftest.outer", "selftest.middle", "selftest.inner"}
	}
	check(t, ftrace.SetTracer("nop"))
	check(t, ftrace.Reset())
	check(t, ftrace.SetFilter(filter...))
	check(t, ftrace.SetTracer(tracer))
}

func off(t *testing.T) {
	t.Helper()
	check(t, ftrace.SetTracer("nop"))
	check(t, ftrace.SetFilter())
	check(t, ftrace.SetNotrace())
}

// TestBasicTracers: every tracer can be selected from any other, with nop between or not.
func TestBasicTracers(t *testing.T) {
	begin(t)
	defer off(t)
	check(t, ftrace.SetFilter("selftest.inner"))
	for _, between := range []bool{false, true} {
		for _, from := range ftrace.AvailableTracers() {
			for _, to := range ftrace.AvailableTracers() {
				check(t, ftrace.SetTracer(from))
				if between {
					check(t, ftrace.SetTracer("nop"))
				}
				check(t, ftrace.SetTracer(to))
				expect(t, "current_tracer", ftrace.CurrentTracer(), to)
				inner()
			}
		}
	}
	err := ftrace.SetTracer("functoin")
	expect(t, "an unknown one", err != nil && strings.Contains(err.Error(), strings.Join(ftrace.AvailableTracers(), ", ")), true)
}

// TestBasicTracePipe: trace_pipe consumes what it prints, trace does not.
func TestBasicTracePipe(t *testing.T) {
	begin(t)
	defer off(t)
	only(t, "function")
	outer(1)
	pipe, err := ftrace.NewPipe()
	check(t, err)
	const all = "inner:1 middle:1 outer:2"
	expect(t, "trace", seen(t, whole(ftrace.WriteTrace)), all)
	expect(t, "trace again", seen(t, whole(ftrace.WriteTrace)), all)
	expect(t, "trace_pipe", seen(t, pipe.WriteNow), all)
	expect(t, "trace_pipe again", seen(t, pipe.WriteNow), "")
	expect(t, "trace", seen(t, whole(ftrace.WriteTrace)), "")
}

// TestBasicRingbufferResize: the buffer's size can be changed while tracing, and is read back.
func TestBasicRingbufferResize(t *testing.T) {
	begin(t)
	defer off(t)
	size := ftrace.BufferSize()
	defer ftrace.SetBufferSize(size)
	only(t, "function")
	for _, kb := range []int{4096, 1024, 8192} {
		check(t, ftrace.SetBufferSize(kb))
		outer(100)
		expect(t, "buffer_size_kb", ftrace.BufferSize(), kb)
	}
	s := ftrace.ReadStats()
	expect(t, "accounted for", s.Written, s.Entries+s.Overwritten+s.Dropped+s.Read)
}

// TestBasicTraceMarker: a marker stands in its place among the functions; a long one is split, and
// nothing of it is lost.
func TestBasicTraceMarker(t *testing.T) {
	begin(t)
	defer off(t)
	only(t, "function")
	inner()
	ftrace.Marker("here %d", 42)
	middle(0)
	text := strings.Repeat("0123456789", 1000)
	ftrace.Marker("%s", text)
	check(t, ftrace.SetTracer("nop"))
	var b bytes.Buffer
	check(t, ftrace.WriteTrace(&b, nil))
	s := b.String()
	first, note, second := strings.Index(s, "selftest.inner <-"), strings.Index(s, "here 42"), strings.Index(s, "selftest.middle <-")
	digits := 0
	for line := range strings.Lines(s[second:]) {
		if i := strings.LastIndex(line, ": "); i >= 0 && !strings.Contains(line, "<-") {
			digits += len(strings.TrimSpace(line[i+2:]))
		}
	}
	expect(t, "order", first >= 0 && first < note && note < second, true)
	expect(t, "the long one", digits, len(text))
}

// TestBasicSnapshot: a snapshot leaves tracing as it was, and recording goes on.
func TestBasicSnapshot(t *testing.T) {
	begin(t)
	defer off(t)
	for _, on := range []bool{true, false} {
		only(t, "function")
		check(t, ftrace.SetTracingOn(on))
		outer(1)
		var b bytes.Buffer
		check(t, ftrace.WriteRecording(&b, &ftrace.Selection{}))
		outer(1)
		want := "inner:2 middle:2 outer:4"
		if !on {
			want = ""
		}
		expect(t, "tracing_on", ftrace.TracingOn(), on)
		expect(t, "trace", seen(t, whole(ftrace.WriteTrace)), want)
		check(t, ftrace.SetTracingOn(true))
	}
}

// TestFgraphFilter: with a filter on graph only that function appears.
func TestFgraphFilter(t *testing.T) {
	begin(t)
	defer off(t)
	only(t, "function_graph", "selftest.inner")
	outer(3)
	expect(t, "trace", seen(t, whole(ftrace.WriteTrace)), "inner:3")
}

// TestFgraphFilterStack: that is still true while stacks are traced, and after.
func TestFgraphFilterStack(t *testing.T) {
	begin(t)
	defer off(t)
	only(t, "function_graph", "selftest.inner")
	var stacks stacktracer.Tracer
	check(t, stacks.Start())
	outer(3)
	one := seen(t, whole(ftrace.WriteTrace))
	check(t, stacks.Stop())
	outer(2)
	expect(t, "while", one, "inner:3")
	expect(t, "after", seen(t, whole(ftrace.WriteTrace)), "inner:5")
}

// profileOf returns how often functions were called.
func profileOf() string {
	var list []string
	for _, f := range ftrace.Profile() {
		list = append(list, fmt.Sprint(strings.TrimPrefix(f.Name, path+"."), ":", f.Hits))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestFgraphProfiler: graph and profiler together.
func TestFgraphProfiler(t *testing.T) {
	begin(t)
	defer off(t)
	only(t, "function_graph")
	check(t, ftrace.ResetProfile())
	check(t, ftrace.StartProfile())
	outer(2)
	check(t, ftrace.StopProfile())
	outer(1)
	expect(t, "trace", seen(t, whole(ftrace.WriteTrace)), "inner:3 middle:3 outer:5")
	expect(t, "profile", profileOf(), "inner:2 middle:2 outer:3")
}

// TestFuncProfiler: a filter set while function tracer and profiler run still holds after the
// profiler stops; clearing it restores all functions.
func TestFuncProfiler(t *testing.T) {
	begin(t)
	defer off(t)
	only(t, "function")
	check(t, ftrace.ResetProfile())
	check(t, ftrace.StartProfile())
	check(t, ftrace.SetFilter("selftest.inner"))
	outer(2)
	check(t, ftrace.StopProfile())
	outer(1)
	expect(t, "trace", seen(t, whole(ftrace.WriteTrace)), "inner:3")
	expect(t, "profile", profileOf(), "inner:2")
	check(t, ftrace.SetFilter())
	all := len(ftrace.EnabledFunctions())
	check(t, ftrace.SetTracer("nop"))
	expect(t, "all functions", all, len(ftrace.AvailableFunctions()))
}

// TestFuncProfileStat: counts grow while the profile is on, and are frozen when it is off.
func TestFuncProfileStat(t *testing.T) {
	begin(t)
	defer off(t)
	only(t, "nop", "selftest.inner")
	check(t, ftrace.ResetProfile())
	check(t, ftrace.StartProfile())
	outer(2)
	one := profileOf()
	outer(2)
	two := profileOf()
	check(t, ftrace.StopProfile())
	outer(2)
	expect(t, "on", one, "inner:2")
	expect(t, "on", two, "inner:4")
	expect(t, "off", profileOf(), "inner:4")
}

// TestFuncFilterPid: only one goroutine, or never that one; function-fork follows its children;
// notrace wins; for an instance, too.
func TestFuncFilterPid(t *testing.T) {
	begin(t)
	defer off(t)
	in := newInstance(t, "pid", "function", "selftest.inner")
	defer in.Remove()
	only(t, "function", "selftest.inner")
	type ids struct{ set, not []uint64 }
	apply := func(i ids) {
		check(t, ftrace.SetGoroutines(i.set...))
		check(t, ftrace.SetNotraceGoroutines(i.not...))
		check(t, in.SetGoroutines(i.set...))
		check(t, in.SetNotraceGoroutines(i.not...))
	}
	defer apply(ids{})
	me := ftrace.Goid()
	for _, fork := range []bool{false, true} {
		if fork {
			check(t, ftrace.SetOption("function-fork"))
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
			check(t, ftrace.Reset())
			check(t, in.Reset())
			inner()
			var wg sync.WaitGroup
			wg.Go(func() {
				wg.Go(inner) // the first of its family that a tracer asks about
				inner()
				wg.Go(inner)
			})
			wg.Wait()
			want := ""
			if n := c.mine + 3*c.child; n > 0 {
				want = fmt.Sprint("inner:", n)
			}
			what := fmt.Sprint(name, ", function-fork ", fork)
			expect(t, what, seen(t, whole(ftrace.WriteTrace)), want)
			expect(t, what+", instance", seen(t, whole(in.WriteTrace)), want)
		}
	}
	check(t, ftrace.SetOption("nofunction-fork"))
}

// TestFuncSetFtraceFile: what is read back is what was set; triggers survive a rewrite of the
// filter; !glob removes sets of triggers.
func TestFuncSetFtraceFile(t *testing.T) {
	begin(t)
	defer off(t)
	read := func() string {
		var b strings.Builder
		check(t, ftrace.WriteFilters(&b))
		var list []string
		for line := range strings.Lines(b.String()) {
			list = append(list, strings.TrimSpace(line[strings.Index(line, "] ")+2:]))
		}
		return short(strings.Join(append(list, ftrace.Triggers()...), " "))
	}
	check(t, ftrace.SetFilter("selftest.inner"))
	expect(t, "one", read(), "selftest.inner")
	check(t, ftrace.AddFilter("selftest.dynTest*", "selftest.outer"))
	expect(t, "three", read(), "selftest.inner selftest.dynTest* selftest.outer")
	check(t, ftrace.SetTrigger("selftest.inner:traceoff"))
	check(t, ftrace.SetTrigger("selftest.dynTest*:traceon:3"))
	const triggers = " selftest.dynTestName2:traceon:count=3 selftest.dynTestName:traceon:count=3 selftest.inner:traceoff:unlimited"
	expect(t, "triggers", read(), "selftest.inner selftest.dynTest* selftest.outer"+triggers)
	check(t, ftrace.SetFilter("selftest.middle"))
	expect(t, "a rewrite", read(), "selftest.middle"+triggers)
	check(t, ftrace.AddFilter("!selftest.m*"))
	expect(t, "nothing left", read(), "#### all functions enabled ####"+triggers)
	check(t, ftrace.SetTrigger("!*:traceon"))
	expect(t, "a set removed", read(), "#### all functions enabled #### selftest.inner:traceoff:unlimited")
	check(t, ftrace.SetTrigger("!selftest.inner:traceoff"))
	expect(t, "all removed", read(), "#### all functions enabled ####")
}

// TestFuncFilterStacktrace: a stack trace at a function; a number of times is honoured.
func TestFuncFilterStacktrace(t *testing.T) {
	begin(t)
	defer off(t)
	stacks := func() int {
		var b bytes.Buffer
		check(t, ftrace.WriteTrace(&b, nil))
		return strings.Count(b.String(), "<stack trace>")
	}
	only(t, "function_graph", "selftest.outer")
	check(t, ftrace.SetTrigger("selftest.inner:stacktrace"))
	outer(5)
	unlimited := stacks()
	check(t, ftrace.SetTrigger("!selftest.inner:stacktrace"))
	check(t, ftrace.SetTrigger("selftest.inner:stacktrace:2"))
	check(t, ftrace.Reset())
	outer(5)
	twice := stacks()
	check(t, ftrace.SetTrigger("!selftest.inner:stacktrace:0"))
	check(t, ftrace.Reset())
	outer(5)
	expect(t, "unlimited", unlimited, 5)
	expect(t, "two times", twice, 2)
	expect(t, "removed", stacks(), 0)
}

// TestFuncModTrace: a filter for a package that is not there yet takes effect when it comes.
func TestFuncModTrace(t *testing.T) {
	begin(t)
	defer off(t)
	later := fmt.Sprint("example.com/later", time.Now().UnixNano()) // functions stay: another run needs another package
	in := newInstance(t, "mod", "function", "*:mod:"+later)
	defer in.Remove()
	check(t, ftrace.SetFilter("selftest.inner", "Work:mod:"+later+"..."))
	check(t, ftrace.SetTracer("function"))
	expect(t, "before", len(ftrace.EnabledFunctions()), 1)
	work, rest := ftrace.NewFunc(later+".Work"), ftrace.NewFunc(later+".Rest")
	call := func(f *ftrace.Func) {
		if f.Enabled() {
			defer ftrace.Exit(ftrace.Enter(f))
		}
	}
	call(work)
	call(rest)
	inner()
	expect(t, "enabled", len(ftrace.EnabledFunctions()), 3)
	expect(t, "records", ftrace.ReadStats().Entries >= 2, true)
	expect(t, "the instance's", in.ReadStats().Entries, uint64(2))
}

// TestFuncCpumask: only some Ps record.
func TestFuncCpumask(t *testing.T) {
	begin(t)
	defer off(t)
	defer ftrace.SetCPUs()
	in := newInstance(t, "cpumask", "function", "selftest.inner")
	defer in.Remove()
	only(t, "function", "selftest.inner")
	check(t, ftrace.SetCPUs(0))
	check(t, in.SetCPUs(4000))
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
	check(t, ftrace.SetTracer("nop"))
	for _, c := range ftrace.ReadCPUStats() {
		if c.CPU != 0 && c.Entries > 0 {
			t.Fatalf("number %d recorded %d calls", c.CPU, c.Entries)
		}
	}
	expect(t, "a P that is not there", in.ReadStats().Written, uint64(0))
	expect(t, "refused", ftrace.SetCPUs(-1) != nil, true)
}
