package ftrace

import (
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// This file is the path that every traced call takes. enter and exit run on the traced goroutine, with its busy flag set, so never
// inside one another on one goroutine; what they touch of a goroutine's state nobody else writes. A function reaches them only
// while its own mask is not zero. Everything that is not needed on every call lives elsewhere.

// traceFn, graphEntryFn and graphReturnFn are what the three pointers below point to.
type (
	traceFn       func(g *goroutine, site *hook.Site, parent uintptr, p int32)
	graphEntryFn  func(g *goroutine, site *hook.Site, now uint64, p int32) bool
	graphReturnFn func(g *goroutine, f *frame, p int32)
)

// The global pointers (ftrace_trace_function, ftrace_graph_entry and ftrace_graph_return in the kernel). They point to the stubs
// while no tracer is on, and are only used through sync/atomic.
var (
	traceFunction = unsafe.Pointer(&stub)
	graphEntry    = unsafe.Pointer(&entryStub)
	graphReturn   = unsafe.Pointer(&returnStub)
)

var (
	stub       traceFn       = func(*goroutine, *hook.Site, uintptr, int32) {}
	entryStub  graphEntryFn  = func(*goroutine, *hook.Site, uint64, int32) bool { return false }
	returnStub graphReturnFn = func(*goroutine, *frame, int32) {}
)

var (
	stopped    atomic.Uint32 // function_trace_stop: not zero while tracing is stopped
	generation atomic.Uint32 // counts changes of the graph pointers; a return whose call began under another goes to the stub
	maxStack   atomic.Int32  // maximum depth of the return stacks
	graphDepth atomic.Int32  // max_graph_depth; 0 is no limit
)

// frame is a call on a goroutine's return stack.
type frame struct {
	site  *hook.Site
	start uint64  // counter on entry
	token uintptr // unique value that goes in on entry and is compared on exit
	gen   uint32  // generation on entry
	over  uint32  // overruns of the goroutine on entry
}

// enter is the fentry hook's body. The order is the kernel's: stop flag, trace function, graph (Documentation/trace/ftrace-design).
func enter(site *hook.Site, slot *unsafe.Pointer, parent uintptr, p int32) uintptr {
	if stopped.Load() != 0 {
		return 0
	}
	g := (*goroutine)(*slot)
	if g == nil {
		g = newGoroutine(slot)
	}
	if f := atomic.LoadPointer(&traceFunction); f != unsafe.Pointer(&stub) {
		(*(*traceFn)(f))(g, site, parent, p)
	}
	if atomic.LoadPointer(&graphReturn) != unsafe.Pointer(&returnStub) || atomic.LoadPointer(&graphEntry) != unsafe.Pointer(&entryStub) {
		return prepareReturn(g, site, p)
	}
	return 0
}

// prepareReturn pushes a call on the return stack (prepare_ftrace_return). 0 says that nothing was pushed: the stack is at its
// maximum depth, or the graph entry function does not want the return.
func prepareReturn(g *goroutine, site *hook.Site, p int32) uintptr {
	d := g.depth
	if d >= maxStack.Load() {
		g.overruns()
		return 0
	}
	if d == g.room && !g.growStack() {
		g.overruns()
		return 0
	}
	// A switch sets the stubs, counts the generation up, and sets the new pointers, in this order. So an entry function between two equal
	// readings of the generation is of that generation, or the stub.
	gen := generation.Load()
	entry := atomic.LoadPointer(&graphEntry)
	if generation.Load() != gen {
		return 0
	}
	f := g.frame(d)
	f.site = site
	f.gen = gen
	f.over = g.overrun
	// A token of 4 bytes does not run into the mark of those that unwind.go makes.
	if g.token++; unsafe.Sizeof(g.token) == 4 && g.token == undeferred {
		g.token = 1
	}
	f.token = g.token
	f.start = counter()
	if !(*(*graphEntryFn)(entry))(g, site, f.start, p) {
		return 0
	}
	g.depth = d + 1
	return f.token
}

// exit pops what enter pushed (ftrace_return_to_handler). It always pops, and records nothing while stopped, or for a call that began
// under another tracer.
func exit(token uintptr, slot *unsafe.Pointer, p int32) {
	g := (*goroutine)(*slot)
	if g == nil || g.depth == 0 {
		frameMismatch(g, token)
		return
	}
	f := g.frame(g.depth - 1)
	if f.token != token {
		g.exitBelow(token, slot, p)
		return
	}
	g.depth--
	ret := atomic.LoadPointer(&graphReturn) // before the generation, see prepareReturn
	if stopped.Load() != 0 || f.gen != generation.Load() {
		return
	}
	(*(*graphReturnFn)(ret))(g, f, p)
}

// functionTrace is the function tracer's trace function.
func functionTrace(g *goroutine, site *hook.Site, parent uintptr, p int32) {
	now := counter()
	if p != g.proc {
		g.setProc(now, p)
	}
	off := parent - rt.Text
	if parent == 0 || off > 1<<32-1 {
		off = 0
	}
	g.put(now<<8|tracefile.KindFunction, uint64(site.ID)|uint64(off)<<32)
}

// graphTraceEntry and graphTraceReturn are the graph tracer's.
func graphTraceEntry(g *goroutine, site *hook.Site, now uint64, p int32) bool {
	if m := graphDepth.Load(); m != 0 && g.depth >= m {
		return false
	}
	if p != g.proc {
		g.setProc(now, p)
	}
	g.put(now<<8|tracefile.KindEntry, uint64(site.ID)|uint64(g.depth)<<32)
	return true
}

func graphTraceReturn(g *goroutine, f *frame, p int32) {
	now := counter()
	if p != g.proc {
		g.setProc(now, p)
	}
	over := min(g.overrun-f.over, 1<<16-1)
	g.put(now<<8|tracefile.KindReturn, uint64(f.site.ID)|uint64(g.depth)<<32|uint64(over)<<48)
}

// put writes a record into the goroutine's chunk, and commits it: the reader takes what lies below the commit count, so the record is
// stored first. Plain stores keep their order on amd64, and the compiler keeps it too; an exchange would cost 5 ns.
func (g *goroutine) put(w0, w1 uint64) {
	if g.pos == g.end && !g.nextChunk() {
		return
	}
	r := (*[2]uint64)(unsafe.Add(g.chunk, g.pos))
	r[0], r[1] = w0, w1
	g.pos += tracefile.RecordSize
	storeCommit((*uint32)(unsafe.Add(g.chunk, tracefile.CCommit)), g.pos-tracefile.ChunkHeaderSize)
}
