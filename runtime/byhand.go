package ftrace

import (
	"strings"
	"sync/atomic"

	"github.com/ftgo/ftgo/internal/hook"
)

// Hooks made by hand, or by another generator than ftgo: the entry and exit that the ftgo command
// compiles into every function are these calls, in the form that the compiler makes the most of.

// Stub is the TraceFunc that does nothing: the trace function pointer's value while no tracer is on.
func Stub(*Func, uintptr, *Ops) {}

// GraphEntryStub and GraphReturnStub are the values of the graph pointers while no tracer is on.
func GraphEntryStub(Call, *GraphOps, []byte) Verdict { return Ignore }

// GraphReturnStub does nothing.
func GraphReturnStub(Call, *GraphOps, []byte) {}

// A Token is what Enter hands to Exit.
type Token uintptr

// NewFunc makes a function known that carries its hook by hand, under a name of the form import/path.Function:
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
// In a program without hooks it returns a Func that is never enabled.
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

// Enabled reports whether a tracer wants the function.
func (f *Func) Enabled() bool { return atomic.LoadUint32(&f.site.Tracers) != 0 }

// Enter is the hook's entry, for functions that carry it by hand, or by another generator's. What it returns must go to Exit when the
// function ends, in a defer statement.
//
//go:noinline
func Enter(f *Func) Token {
	if rt == nil {
		return 0
	}
	return Token(rt.Enter(&f.site))
}

// Exit is the hook's exit.
func Exit(t Token) {
	if t != 0 {
		rt.Exit(uintptr(t))
	}
}
