package ftrace

import (
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// This file is the path that every traced call takes. Its functions run on the traced goroutine, pinned to its P and with its busy flag
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
	stopped    atomic.Uint32 // function_trace_stop: not zero while tracing is stopped
	generation atomic.Uint32 // counts changes of the pointers; a return whose call began under another goes to the stub
	maxStack   atomic.Int32  // maximum depth of the return stacks
	graphLimit atomic.Int32  // the lower one of that and max_graph_depth
)

// frame is a call on a goroutine's return stack.
type frame struct {
	site  uintptr // address of the function's Site, which is static data
	start uint64  // clock on entry
	token uintptr // unique value that goes in on entry and is compared on exit
	gen   uint32  // generation on entry
	over  uint32  // overruns of the goroutine on entry
	child uint64  // time in calls below it, for the profile
	slept uint64  // how long the goroutine was off its P before, for the profile
}

func (f *frame) function() *hook.Site { return *(**hook.Site)(unsafe.Pointer(&f.site)) }

// enterStub is the stub.
func enterStub(*hook.Site, *unsafe.Pointer, *unsafe.Pointer, uintptr, uint64) uintptr { return 0 }

// functionEnter is the function tracer.
func functionEnter(site *hook.Site, slot, proc *unsafe.Pointer, parent uintptr, now uint64) uintptr {
	g, p := (*goroutine)(*slot), (*processor)(*proc)
	if g == nil || p == nil || stopped.Load() != 0 || g.turn != p.turn || p.full() {
		return functionSlow(site, slot, proc, parent, now)
	}
	off := parent - rt.Text
	if parent == 0 || off > 1<<32-1 {
		off = 0
	}
	p.put(g, now<<8|tracefile.KindFunction, uint64(site.ID)|uint64(off)<<32)
	return 0
}

// graphEnter is the graph tracer.
func graphEnter(site *hook.Site, slot, proc *unsafe.Pointer, _ uintptr, now uint64) uintptr {
	g, p := (*goroutine)(*slot), (*processor)(*proc)
	if g == nil || p == nil || stopped.Load() != 0 || g.turn != p.turn || p.full() || g.depth >= graphLimit.Load() || g.depth == g.room {
		return graphSlow(site, slot, proc, now)
	}
	p.put(g, now<<8|tracefile.KindEntry, uint64(site.ID)|uint64(g.depth)<<32)
	return g.push(site, now)
}

// push puts a call on the return stack, for which there is room (ftrace_push_return_trace).
func (g *goroutine) push(site *hook.Site, now uint64) uintptr {
	d := g.depth
	f := g.frame(d)
	g.depth = d + 1
	f.site = uintptr(unsafe.Pointer(site))
	f.start = now
	f.gen = generation.Load()
	f.over = g.overrun
	// A token of 4 bytes does not run into the mark of those that unwind.go makes.
	if g.token++; unsafe.Sizeof(g.token) == 4 && g.token == undeferred {
		g.token = 1
	}
	f.token = g.token
	return f.token
}

// graphExit is the graph tracer's return (ftrace_return_to_handler). It always pops, and records nothing while stopped, or for a call that
// began under another tracer.
func graphExit(token uintptr, slot, proc *unsafe.Pointer, now uint64) {
	g, p := (*goroutine)(*slot), (*processor)(*proc)
	if g == nil || p == nil || g.depth == 0 || g.turn != p.turn || p.full() {
		graphExitSlow(token, slot, proc, now)
		return
	}
	f := g.frame(g.depth - 1)
	if f.token != token || f.gen != generation.Load() || stopped.Load() != 0 {
		graphExitSlow(token, slot, proc, now)
		return
	}
	g.depth--
	p.put(g, now<<8|tracefile.KindReturn, uint64(f.function().ID)|uint64(g.depth)<<32|uint64(min(g.overrun-f.over, 1<<16-1))<<48)
}

// exitStub pops, and does nothing else.
func exitStub(token uintptr, slot, proc *unsafe.Pointer, now uint64) {
	g := (*goroutine)(*slot)
	if g == nil || g.depth == 0 || g.frame(g.depth-1).token != token {
		exitBelow(token, slot, proc, now)
		return
	}
	g.depth--
}

// put writes a record of the goroutine whose turn it is into the P's page, where there is room for it, and commits it: the reader takes what
// lies below the commit word, so the record is stored first. Plain stores keep their order on amd64, and the compiler keeps it too; an
// exchange would cost 5 ns.
func (p *processor) put(g *goroutine, w0, w1 uint64) {
	g.seq++
	page, n := p.page, p.count
	r := (*[2]uint64)(unsafe.Add(page, tracefile.PageHeaderSize+uintptr(uint16(n))*tracefile.RecordSize))
	r[0], r[1] = w0, w1
	p.count = n + 1
	storeCommit((*uint32)(unsafe.Add(page, tracefile.PCommit)), n+1)
}
