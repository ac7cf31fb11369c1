package main

import (
	"errors"
	"runtime/debug"
	"slices"
	"unsafe"

	ftrace "github.com/ftgo/ftgo/runtime"
)

// systemstack calls a function on the stack of the thread, on its g0. From Go 1.27 on it takes -ldflags=-checklinkname=0 to link it.
//
//go:linkname systemstack runtime.systemstack
func systemstack(fn func())

var _ unsafe.Pointer // linknames want package unsafe

// g0: hooks do nothing on a thread's own stack, whatever is on; the goroutine, which is in the middle of a call then, is none the worse for it.
func g0() error {
	if info, _ := debug.ReadBuildInfo(); info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return nil // the race detector knows goroutines alone: nothing that is instrumented for it can run on a g0
	}
	defer off()
	calls, entries := 0, 0
	o := &ftrace.Ops{Name: "g0", Func: func(*ftrace.Func, uintptr, *ftrace.Ops) { calls++ }}
	graph := &ftrace.GraphOps{Name: "g0graph", Entry: func(ftrace.Call, *ftrace.GraphOps, []byte) ftrace.Verdict { entries++; return ftrace.Want }}
	var errs []error
	for _, tracer := range ftrace.AvailableTracers() {
		only(tracer, "main.outer", "main.middle", "main.inner")
		systemstack(func() { outer(2) })
		outer(1)
		want := "inner:1 middle:1 outer:2"
		if tracer == "nop" {
			want = ""
		}
		errs = append(errs, expect(tracer, seen(whole(ftrace.WriteTrace)), want))
	}
	off()
	must(o.SetFilter("main.inner"))
	must(graph.SetFilter("main.inner"))
	must(o.Register())
	must(graph.Register())
	systemstack(func() { outer(2) })
	outer(1)
	must(o.Unregister())
	must(graph.Unregister())
	return errors.Join(append(errs, expect("Ops", calls, 1), expect("GraphOps", entries, 1))...)
}
