package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	ftrace "github.com/ftgo/ftgo/runtime"
)

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
		must(ftrace.WriteTrace(&b, nil))
		var list []string
		for _, l := range strings.Split(b.String(), "\n") {
			if i := strings.Index(l, "main."); i >= 0 && !strings.HasPrefix(l, " =>") && !strings.Contains(l, "unfinished") {
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
	must(ftrace.WriteTrace(&b, nil))
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
	must(ftrace.SetTriggerFunc("main.inner", "mine", 3, func(f *ftrace.Func, _ uintptr, _ *ftrace.Ops) {
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
