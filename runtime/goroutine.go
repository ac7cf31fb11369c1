package ftrace

import (
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// goroutine is the library's state of a goroutine, behind the word that the patched runtime keeps for it in g. It lies outside the Go
// heap: tests that count allocations do not see it, and the garbage collector need not. A new goroutine starts without one, so
// with an empty return stack.
type goroutine struct {
	next  unsafe.Pointer // of the dead or the free list; the patched runtime knows that it comes first
	chunk unsafe.Pointer // where records go; nil before the first
	pos   uint32         // offset in chunk of the next record …
	end   uint32         // … and of its end
	proc  int32          // P of the last record
	depth int32          // calls on the return stack
	room  int32          // frames that stack has room for
	class uint8          // size class of the last chunk
	stack unsafe.Pointer // [room]frame
	token uintptr        // last unique value given out

	overrun uint32 // calls that lay below the maximum depth
	seq     uint32 // chunks so far
	lost    uint32 // records lost since the last chunk
	start   uint32 // offset in the text of the goroutine's function
	id      uint64
	parent  uint64
}

const (
	goroutineSize = 128
	slabSize      = 64 << 10
	minStack      = 512 // bytes of the smallest return stack
	stackClasses  = 16
)

var _ [goroutineSize - unsafe.Sizeof(goroutine{})]byte

// goroutines is where states come from and go to. Guarded by the runtime lock.
var goroutines struct {
	free   unsafe.Pointer
	slab   unsafe.Pointer
	left   uintptr
	live   int    // states in use
	ended  uint64 // states taken back
	broken uint64 // goroutines that ended with calls on their return stack
	stacks [stackClasses]unsafe.Pointer
	bytes  unsafe.Pointer // for small stacks
	room   uintptr
}

// newGoroutine gives the calling goroutine its state.
func newGoroutine(slot *unsafe.Pointer) *goroutine {
	rt.Lock()
	drainDead()
	s := &goroutines
	g := (*goroutine)(s.free)
	if g != nil {
		s.free = g.next
	} else {
		if s.left == 0 {
			s.slab, s.left = rt.Alloc(slabSize), slabSize
		}
		g = (*goroutine)(s.slab)
		s.slab = unsafe.Add(s.slab, goroutineSize)
		s.left -= goroutineSize
	}
	s.live++
	rt.Unlock()
	stack, room := g.stack, g.room // a state that was used before keeps its stack
	*g = goroutine{stack: stack, room: room, proc: -1}
	var start uintptr
	g.id, g.parent, start = rt.Who()
	if off := start - rt.Text; off <= 1<<32-1 {
		g.start = uint32(off)
	}
	*slot = unsafe.Pointer(g)
	return g
}

// drainDead takes back the states of goroutines that have ended. Their records stay. Called with the runtime lock held.
func drainDead() {
	for p := rt.Dead(); p != nil; {
		g := (*goroutine)(p)
		p = g.next
		if g.chunk != nil {
			buffer.retire(g.chunk)
			g.chunk = nil
		}
		g.next = goroutines.free
		goroutines.free = unsafe.Pointer(g)
		goroutines.live--
		goroutines.ended++
		if g.depth != 0 {
			goroutines.broken++
		}
	}
}

func (g *goroutine) frame(i int32) *frame {
	return (*frame)(unsafe.Add(g.stack, uintptr(i)*unsafe.Sizeof(frame{})))
}

// growStack doubles the return stack.
func (g *goroutine) growStack() bool {
	class, size := 0, uintptr(minStack)
	for g.room > 0 && size/unsafe.Sizeof(frame{}) <= uintptr(g.room) {
		class++
		size *= 2
	}
	if class >= stackClasses {
		return false
	}
	rt.Lock()
	s := &goroutines
	p := s.stacks[class]
	switch {
	case p != nil:
		s.stacks[class] = *(*unsafe.Pointer)(p)
	case size >= slabSize/4:
		p = rt.Alloc(size)
	default:
		if s.room < size {
			s.bytes, s.room = rt.Alloc(slabSize), slabSize
		}
		p = s.bytes
		s.bytes = unsafe.Add(p, size)
		s.room -= size
	}
	rt.Unlock()
	old, n := g.stack, uintptr(g.room)*unsafe.Sizeof(frame{})
	if old != nil {
		copy(unsafe.Slice((*byte)(p), n), unsafe.Slice((*byte)(old), n))
	}
	g.stack, g.room = p, int32(size/unsafe.Sizeof(frame{}))
	if old != nil {
		rt.Lock()
		*(*unsafe.Pointer)(old) = s.stacks[class-1]
		s.stacks[class-1] = old
		rt.Unlock()
	}
	return true
}

// overruns counts a call below the maximum depth (trace_overrun).
func (g *goroutine) overruns() {
	g.overrun++
	atomic.AddUint64((*uint64)(unsafe.Add(header, tracefile.HOverrun)), 1)
}

// setProc records that the goroutine runs on another P than before.
func (g *goroutine) setProc(now uint64, p int32) {
	g.proc = p
	if g.pos != tracefile.ChunkHeaderSize && g.pos != g.end { // a chunk's header says it for the first record
		*(*uint32)(unsafe.Add(g.chunk, tracefile.CNotes))++
		g.put(now<<8|tracefile.KindProc, uint64(uint32(p)))
	}
}

// nextChunk gives the goroutine another chunk. Without one the record is dropped.
func (g *goroutine) nextChunk() bool {
	now := counter()
	rt.Lock()
	if g.chunk != nil {
		buffer.retire(g.chunk)
		g.chunk, g.pos, g.end = nil, 0, 0
	}
	c, size := buffer.get(g.class)
	if c == nil {
		rt.Unlock()
		g.lost++
		atomic.AddUint64((*uint64)(unsafe.Add(header, tracefile.HDropped)), 1)
		return false
	}
	u32 := func(off uintptr) *uint32 { return (*uint32)(unsafe.Add(c, off)) }
	u64 := func(off uintptr) *uint64 { return (*uint64)(unsafe.Add(c, off)) }
	// Readers look at magic, commit and the assignment's number before and after they copy.
	atomic.StoreUint32(u32(tracefile.CMagic), 0)
	atomic.StoreUint32(u32(tracefile.CCommit), 0)
	buffer.gen++
	atomic.StoreUint64(u64(tracefile.CGen), buffer.gen)
	*u32(tracefile.CSize) = size
	*u64(tracefile.CGoid) = g.id
	*u64(tracefile.CCounter) = now
	*u64(tracefile.CMono) = uint64(rt.Nanotime())
	*u32(tracefile.CProc) = uint32(g.proc)
	*u64(tracefile.CParent) = g.parent
	*u32(tracefile.CStart) = g.start
	*u32(tracefile.CLost) = g.lost
	*u32(tracefile.CSeq) = g.seq
	*u32(tracefile.CNotes) = 0
	atomic.StoreUint32(u32(tracefile.CMagic), tracefile.ChunkMagic)
	rt.Unlock()
	g.chunk, g.pos, g.end = c, tracefile.ChunkHeaderSize, tracefile.ChunkHeaderSize+(size-tracefile.ChunkHeaderSize)/tracefile.RecordSize*tracefile.RecordSize
	g.seq++
	g.lost = 0
	if g.class < uint8(len(chunkSizes)-1) {
		g.class++
	}
	return true
}

// frameMismatch is the frame test's failure: the value that went in on entry is not the one that comes out. The trace would be wrong
// from here on, so tracing stops, and the goroutine's stack is cut back to where it fits.
func frameMismatch(g *goroutine, token uintptr) {
	stopped.Store(1)
	mismatches.Add(1)
	if g != nil {
		for d := g.depth - 1; d >= 0; d-- {
			if g.frame(d).token == token {
				g.depth = d
				break
			}
		}
	}
	rt.Fatal("a call's return does not match its entry; tracing has stopped (this is a fault of ftgo's)")
}
