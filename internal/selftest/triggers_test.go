package selftest

import (
	"bytes"
	"strings"
	"testing"

	ftrace "github.com/ftgo/ftgo/runtime"
)

// TestFuncTraceonoffTriggers: what functions do besides being traced, with and without a number of
// times (func_traceonoff_triggers.tc, func_set_ftrace_file.tc).
func TestFuncTraceonoffTriggers(t *testing.T) {
	begin(t)
	check(t, ftrace.SetFilter("selftest.outer", "selftest.middle", "selftest.inner"))
	defer ftrace.SetFilter()
	defer ftrace.SetTracingOn(true)
	lines := func(tracer string, calls func()) string {
		check(t, ftrace.Reset())
		check(t, ftrace.SetTracer(tracer))
		calls()
		check(t, ftrace.SetTracer("nop"))
		var b bytes.Buffer
		check(t, ftrace.WriteTrace(&b, nil))
		var list []string
		for _, l := range strings.Split(b.String(), "\n") {
			if i := strings.Index(l, "selftest."); i >= 0 && !strings.HasPrefix(l, " =>") && !strings.Contains(l, "unfinished") {
				list = append(list, strings.TrimRight(strings.FieldsFunc(l[i+len("selftest."):], func(r rune) bool { return strings.ContainsRune(" ();", r) })[0], "\n"))
			}
		}
		return strings.Join(list, " ")
	}
	set := func(specs ...string) {
		for _, s := range specs {
			check(t, ftrace.SetTrigger(s))
		}
	}
	list := func() string { return short(strings.Join(ftrace.Triggers(), " ")) }
	twice := func() { outer(1); outer(1) }
	for _, tracer := range []string{"function", "function_graph"} {
		expect(t, tracer, lines(tracer, twice), "outer middle inner outer outer middle inner outer")
		set("selftest.middle:traceoff")
		expect(t, tracer+": traceoff", lines(tracer, twice), "outer")
		expect(t, "on", ftrace.TracingOn(), false)
		expect(t, tracer+": off", lines(tracer, twice), "")
		set("selftest.outer:traceon:1") // the first of them
		expect(t, "list", list(), "selftest.middle:traceoff:unlimited selftest.outer:traceon:count=1")
		expect(t, tracer+": traceon once", lines(tracer, twice), "outer")
		expect(t, "list", list(), "selftest.middle:traceoff:unlimited selftest.outer:traceon:count=0")
		set("!selftest.*:traceon:0", "selftest.inner:traceon")
		want := "inner outer outer inner outer"
		if tracer == "function_graph" { // middle's return is recorded, its entry is not
			want = "inner outer middle outer outer inner outer middle"
		}
		expect(t, tracer+": on and off", lines(tracer, twice), want)
		set("!selftest.inner:traceon")
		check(t, ftrace.SetFilter("selftest.outer", "selftest.middle", "selftest.inner")) // triggers survive it
		expect(t, "list", list(), "selftest.middle:traceoff:unlimited")
		set("!selftest.middle:traceoff")
		check(t, ftrace.SetTracingOn(true))
		expect(t, tracer+": none", lines(tracer, twice), "outer middle inner outer outer middle inner outer")
		expect(t, "list", list(), "")
		check(t, ftrace.SetTracingOn(false))
		expect(t, tracer+": tracing_on 0", lines(tracer, twice), "")
		check(t, ftrace.SetTracingOn(true))
	}
	// A stack, twice.
	set("selftest.inner:stacktrace:2")
	check(t, ftrace.Reset())
	check(t, ftrace.SetTracer("function"))
	outer(3)
	check(t, ftrace.SetTracer("nop"))
	var b bytes.Buffer
	check(t, ftrace.WriteTrace(&b, nil))
	expect(t, "stacks", strings.Count(b.String(), "<stack trace>"), 2)
	expect(t, "callers", strings.Contains(short(b.String()), " => selftest.inner\n => selftest.middle\n => selftest.outer\n"), true)
	set("!selftest.inner:stacktrace")
	// A snapshot leaves tracing as it was.
	set("selftest.inner:snapshot:1")
	expect(t, "while a snapshot is taken", lines("function", twice), "outer middle inner outer outer middle inner outer")
	b.Reset()
	check(t, ftrace.WriteSnapshot(&b))
	expect(t, "snapshot", strings.Count(b.String(), "selftest.middle <-"), 1)
	expect(t, "snapshot", strings.Count(b.String(), "selftest.inner <-"), 0)
	set("!selftest.inner:snapshot")
	// The program's own, without a tracer.
	n := 0
	check(t, ftrace.SetTriggerFunc("selftest.inner", "mine", 3, func(f *ftrace.Func, _ uintptr, _ *ftrace.Ops) {
		if short(f.Name()) == "selftest.inner" {
			n++
		}
	}))
	outer(5)
	expect(t, "own", n, 3)
	set("!selftest.*:mine")
	outer(5)
	expect(t, "own", n, 3)
	for _, bad := range []string{"selftest.inner", "selftest.inner:", "selftest.inner:wrok", "selftest.inner:traceoff:0", "selftest.wrok:traceoff", "!selftest.inner:traceoff", ":", ""} {
		if ftrace.SetTrigger(bad) == nil {
			t.Errorf("%q was not refused", bad)
		}
	}
}
