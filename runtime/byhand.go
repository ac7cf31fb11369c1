package ftrace

import (
	"strings"
	"sync/atomic"

	"github.com/ftgo/ftgo/internal/hook"
)

// This file is for hooks made by hand, or by another generator than ftgo. The entry and exit that
// the ftgo command compiles into every function are these calls, in the form that the compiler
// makes the most of.

// Stub is the TraceFunc that does nothing. The trace function pointer, which every hook calls,
// points to such a stub while no tracer is on (ftrace_stub).
func Stub(*Func, uintptr, *Ops) {}

// GraphEntryStub is a GraphEntryFunc that wants no return (ftrace_graph_entry_stub).
func GraphEntryStub(Call, *GraphOps, []byte) Verdict { return Ignore }

// GraphReturnStub is a GraphReturnFunc that does nothing.
func GraphReturnStub(Call, *GraphOps, []byte) {}

// A Token is what Enter returns, for Exit.
type Token uintptr

// NewFunc makes a function known that carries its hook by hand. Its name has the form
// import/path.Function:
//
//	var site = ftrace.NewFunc("example.com/p.Work")
//
//	func Work() {
//		if site.Enabled() {
//			defer ftrace.Exit(ftrace.Enter(site))
//		}
//		…
//	}
//
// In a program without hooks NewFunc returns a Func that is never enabled. It may be called at any
// time; a function that is made known cannot be taken back.
func NewFunc(name string) *Func {
	i := strings.LastIndexByte(name, '/') + 1
	if j := strings.IndexByte(name[i:], '.'); j >= 0 {
		i += j
	} else {
		i, name = len("main"), "main."+name
	}
	site := new(hook.Site)
	register(&hook.Table{ABI: hook.ABI, N: 1, Masks: new(uint8), Sites: site, Path: name[:i], Names: strings.ReplaceAll(name[i+1:], " ", "_") + " 0\n"})
	return funcOf(site)
}

// Enabled reports whether a tracer wants the function. It is one load, and may be called from
// anywhere.
func (f *Func) Enabled() bool { return atomic.LoadUint32(&f.site.Tracers) != 0 }

// Enter is the hook's entry, for functions that carry it by hand. Its result must go to Exit on the
// same goroutine when the function ends, in a defer statement. Inside a callback, and in a program
// without hooks, Enter does nothing.
//
//go:noinline
func Enter(f *Func) Token {
	if rt == nil {
		return 0
	}
	return Token(rt.Enter(&f.site))
}

// Exit is the hook's exit. t is the result of the Enter of the same call.
func Exit(t Token) {
	if t != 0 {
		rt.Exit(uintptr(t))
	}
}
