package selftest

import (
	"testing"

	ftrace "github.com/ftgo/ftgo/runtime"
)

// systemstack is runtime.systemstack, which calls a function on the stack of the thread, on its g0. From
// Go 1.27 on the linker refuses it without -checklinkname=0, so a build tag adds it.
var systemstack func(fn func())

// TestG0: hooks do nothing on a thread's own stack, whatever is on; the goroutine, which is in the
// middle of a call then, is none the worse for it.
func TestG0(t *testing.T) {
	begin(t)
	if race {
		t.Skip("the race detector knows goroutines alone: nothing that is instrumented for it can run on a g0")
	}
	if systemstack == nil {
		t.Skip("it needs runtime.systemstack: -tags=g0 -ldflags=-checklinkname=0")
	}
	defer off(t)
	calls, entries := 0, 0
	o := &ftrace.Ops{Name: "g0", Func: func(*ftrace.Func, uintptr, *ftrace.Ops) { calls++ }}
	graph := &ftrace.GraphOps{Name: "g0graph", Entry: func(ftrace.Call, *ftrace.GraphOps, []byte) ftrace.Verdict { entries++; return ftrace.Want }}
	for _, tracer := range []string{"function_graph", "function", "nop"} {
		only(t, tracer, "selftest.outer", "selftest.middle", "selftest.inner")
		systemstack(func() { outer(2) })
		outer(1)
		want := "inner:1 middle:1 outer:2"
		if tracer == "nop" {
			want = ""
		}
		expect(t, tracer, seen(t, whole(ftrace.WriteTrace)), want)
	}
	off(t)
	check(t, o.SetFilter("selftest.inner"))
	check(t, graph.SetFilter("selftest.inner"))
	check(t, o.Register())
	check(t, graph.Register())
	systemstack(func() { outer(2) })
	outer(1)
	check(t, o.Unregister())
	check(t, graph.Unregister())
	expect(t, "Ops", calls, 1)
	expect(t, "GraphOps", entries, 1)
}
