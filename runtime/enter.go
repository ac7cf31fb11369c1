package ftrace

import (
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// This file is the path of traced calls while one tracer is on alone, without limits, and the hooks
// do not record by themselves. dispatch.go is the path while several tracers are on, or one with
// limits. On amd64 the hooks do record by themselves (rewriter/_hooks_amd64.s), and come here for
// calls that need something made first.
//
// The functions here run on the traced goroutine, which is pinned to its P and has its busy flag
// set. So they never run inside one another on one goroutine or on one P, and nothing else writes
// what they touch of the state of a goroutine or a P. A hook calls them only while the mask of its
// function is not zero. What is not needed on every call is in other files.
//
// The functions make calls as their last act, and only where something has to be made or is wrong.
// So the compiler keeps everything in registers.

// enterFn and exitFn are the types of hooks.Enter and hooks.Exit, the two pointers that the hooks
// call (the kernel's ftrace_trace_function and the graph pointers). While no tracer is on the
// pointers point to enterStub and exitStub.
type (
	enterFn = func(site *hook.Site, slot, proc *unsafe.Pointer, parent uintptr, now uint64) uintptr
	exitFn  = func(token uintptr, slot, proc *unsafe.Pointer, now uint64)
)

var (
	maxStack   atomic.Int32 // maximum depth of the return stacks
	graphLimit atomic.Int32 // the lower one of maxStack and max_graph_depth
)

// function returns the site of a frame's function.
func function(f *hook.Frame) *hook.Site { return *(**hook.Site)(unsafe.Pointer(&f.Func)) }

// enterStub is hooks.Enter while no tracer is on (ftrace_stub).
func enterStub(*hook.Site, *unsafe.Pointer, *unsafe.Pointer, uintptr, uint64) uintptr { return 0 }

// functionEnter is hooks.Enter for the function tracer.
func functionEnter(site *hook.Site, slot, proc *unsafe.Pointer, parent uintptr, now uint64) uintptr {
	g, p := (*goroutine)(*slot), (*processor)(*proc)
	if g == nil || p == nil || stopped() || g.Turn != p.Turn || p.full() {
		return functionSlow(site, slot, proc, parent, now)
	}
	p.put(g, now<<hook.ClockShift|tracefile.KindFunction, uint64(site.ID)|uint64(textOffset(parent))<<32)
	return 0
}

// graphEnter is hooks.Enter for the graph tracer.
func graphEnter(site *hook.Site, slot, proc *unsafe.Pointer, _ uintptr, now uint64) uintptr {
	g, p := (*goroutine)(*slot), (*processor)(*proc)
	if g == nil || p == nil || stopped() || g.Turn != p.Turn || p.full() || uintptr(g.Top) >= g.End {
		return graphSlow(site, slot, proc, now)
	}
	p.put(g, now<<hook.ClockShift|tracefile.KindEntry, uint64(site.ID)|uint64(g.Depth)<<32)
	return g.push(site, now, rt.Mode, top.graph)
}

// push puts a call on the return stack, which has room for it (ftrace_push_return_trace). It
// returns the call's token.
func (g *goroutine) push(site *hook.Site, now uint64, mode uint32, users uint16) uintptr {
	f := (*hook.Frame)(g.Top)
	g.Top = unsafe.Add(g.Top, frameSize)
	g.Depth++
	// A token of 4 bytes must not reach the bit that marks the tokens of unwind.go.
	if g.token++; unsafe.Sizeof(g.token) == 4 && g.token == undeferred {
		g.token = 1
	}
	f.Func, f.Start, f.Token, f.Mode, f.Over = uintptr(unsafe.Pointer(site)), now, g.token, mode, 0
	f.Users, f.Skip, f.Inside, f.Data = users, 0, 0, 0
	return g.token
}

// graphExit is hooks.Exit for the graph tracer (ftrace_return_to_handler). It always pops. It
// records nothing while tracing is stopped, nor for a call that began under another tracer.
func graphExit(token uintptr, slot, proc *unsafe.Pointer, now uint64) {
	g, p := (*goroutine)(*slot), (*processor)(*proc)
	if g == nil || p == nil || g.Depth == 0 || g.Turn != p.Turn || p.full() {
		listExit(token, slot, proc, now)
		return
	}
	f := g.top()
	if f.Token != token || f.Mode != rt.Mode || f.Over != 0 || g.Panics != 0 || stopped() {
		listExit(token, slot, proc, now)
		return
	}
	g.Depth--
	g.Top = unsafe.Pointer(f)
	p.put(g, now<<hook.ClockShift|tracefile.KindReturn, uint64(function(f).ID)|uint64(g.Depth)<<32)
}

// exitStub is hooks.Exit while no tracer wants returns. It pops calls that began while one did.
func exitStub(token uintptr, slot, proc *unsafe.Pointer, now uint64) {
	g := onTop(token, slot)
	if g == nil {
		exitBelow(token, slot, proc, now)
		return
	}
	if f := g.pop(); f.Mode&modeDirect == 0 && f.Data != 0 {
		g.used = f.Data - 1
	}
}

// put writes a record into the P's page of the top array, which has room for it, and commits it.
// The record is of the goroutine that has the P's Turn (hook.Processor).
func (p *processor) put(g *goroutine, w0, w1 uint64) {
	g.Seq++
	r := (*[2]uint64)(p.At)
	r[0], r[1] = w0, w1
	p.commit(1, 0)
}

// add is put for any array.
func (p *processor) add(g *goroutine, w0, w1 uint64) {
	g.sequence(p.array).seq++
	r := (*[2]uint64)(p.At)
	r[0], r[1] = w0, w1
	p.commit(1, 0)
}
