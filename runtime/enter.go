package ftrace

import (
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// This file is the path that traced calls take while one tracer is on alone, without limits, where the hooks themselves do not know it; dispatch.go is that
// of all others. On amd64 they do (rewriter/_hooks_amd64.s): there what follows is for calls that need something made first. Its functions run on the traced goroutine, pinned to its P and with its busy flag
// set, so never inside one another on one goroutine or P: what they touch of a goroutine's or a P's state nobody else writes. A function
// reaches them only while its own mask is not zero. Everything that is not needed on every call lives elsewhere.
//
// What they call they call last, and only where something has to be made or is wrong: so the compiler keeps everything in registers.

// enterFn and exitFn are what the two pointers point to that the hooks call: hooks.Enter and hooks.Exit, the kernel's
// ftrace_trace_function and the graph pointers. While no tracer is on they point to the stubs.
type (
	enterFn = func(site *hook.Site, slot, proc *unsafe.Pointer, parent uintptr, now uint64) uintptr
	exitFn  = func(token uintptr, slot, proc *unsafe.Pointer, now uint64)
)

var (
	maxStack   atomic.Int32 // maximum depth of the return stacks
	graphLimit atomic.Int32 // the lower one of that and max_graph_depth
)

// function returns a frame's function.
func function(f *hook.Frame) *hook.Site { return *(**hook.Site)(unsafe.Pointer(&f.Func)) }

// enterStub is the stub.
func enterStub(*hook.Site, *unsafe.Pointer, *unsafe.Pointer, uintptr, uint64) uintptr { return 0 }

// functionEnter is the function tracer.
func functionEnter(site *hook.Site, slot, proc *unsafe.Pointer, parent uintptr, now uint64) uintptr {
	g, p := (*goroutine)(*slot), (*processor)(*proc)
	if g == nil || p == nil || stopped() || g.Turn != p.Turn || p.full() {
		return functionSlow(site, slot, proc, parent, now)
	}
	p.put(g, now<<hook.ClockShift|tracefile.KindFunction, uint64(site.ID)|uint64(textOffset(parent))<<32)
	return 0
}

// graphEnter is the graph tracer.
func graphEnter(site *hook.Site, slot, proc *unsafe.Pointer, _ uintptr, now uint64) uintptr {
	g, p := (*goroutine)(*slot), (*processor)(*proc)
	if g == nil || p == nil || stopped() || g.Turn != p.Turn || p.full() || uintptr(g.Top) >= g.End {
		return graphSlow(site, slot, proc, now)
	}
	p.put(g, now<<hook.ClockShift|tracefile.KindEntry, uint64(site.ID)|uint64(g.Depth)<<32)
	return g.push(site, now, rt.Mode, top.graph)
}

// push puts a call on the return stack, for which there is room (ftrace_push_return_trace).
func (g *goroutine) push(site *hook.Site, now uint64, mode uint32, users uint16) uintptr {
	f := (*hook.Frame)(g.Top)
	g.Top = unsafe.Add(g.Top, frameSize)
	g.Depth++
	// A token of 4 bytes does not run into the mark of those that unwind.go makes.
	if g.token++; unsafe.Sizeof(g.token) == 4 && g.token == undeferred {
		g.token = 1
	}
	f.Func, f.Start, f.Token, f.Mode, f.Over = uintptr(unsafe.Pointer(site)), now, g.token, mode, 0
	f.Users, f.Skip, f.Inside, f.Data = users, 0, 0, 0
	return g.token
}

// graphExit is the graph tracer's return (ftrace_return_to_handler). It always pops, and records nothing while stopped, or for a call that
// began under another tracer.
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

// exitStub pops, and does nothing else.
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

// put writes a record of the goroutine whose turn it is into the P's page of the top array, where there is room for it, and commits it.
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
