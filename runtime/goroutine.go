package ftrace

import (
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// goroutine is the library's state of a goroutine, behind the word that the patched runtime keeps for it in g. It lies outside the Go
// heap: tests that count allocations do not see it, and the garbage collector need not. A new goroutine starts without one, so
// with an empty return stack.
type goroutine struct {
	hook.Goroutine // Next is of the dead or the free list

	stack unsafe.Pointer // [Room]hook.Frame
	id    uint64
	token uintptr // last unique value given out

	parent  uint64
	start   uint32                      // offset in the text of the function that the go statement was given
	unnamed bool                        // start is of a function that has not called that one yet
	name    [tracefile.MaxName + 1]byte // that the program gave it; ends in a zero

	// See dispatch.go.
	seen    uint32 // generation of what follows
	ignored uint32 // tracers that the goroutine is not for
	calling uint32 // tracers whose callbacks are under way
	skip    uint16 // graph tracers that do not see what is called now …
	inside  uint16 // … and that do because of a function that they follow
	data    unsafe.Pointer
	room    uint16 // blocks of data that there are …
	used    uint16 // … and in use

	sequences *[maxArrays]sequence // for arrays other than the top one
}

const (
	goroutineSize = 192
	slabSize      = 64 << 10
	stateSlab     = slabSize / goroutineSize * goroutineSize
	minStack      = 384 // bytes of the smallest return stack
	stackClasses  = 16
)

var _ [goroutineSize - unsafe.Sizeof(goroutine{})]byte

// goroutines is where states come from and go to. Guarded by the runtime lock.
var goroutines struct {
	free   unsafe.Pointer
	slab   unsafe.Pointer // the last of those that states are cut from; each begins with a pointer to the one before
	left   uintptr        // bytes of it that are not in use
	live   int            // states in use
	ended  uint64         // states taken back
	broken uint64         // goroutines that ended with calls on their return stack
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
		s.free = g.Next
	} else {
		if s.left == 0 {
			slab := rt.Alloc(stateSlab)
			*(*unsafe.Pointer)(slab) = s.slab
			s.slab, s.left = slab, stateSlab-goroutineSize
		}
		g = (*goroutine)(unsafe.Add(s.slab, stateSlab-s.left))
		s.left -= goroutineSize
	}
	s.live++
	rt.Unlock()
	old := *g // a state that was used before keeps its stack
	*g = goroutine{stack: old.stack, data: old.data, room: old.room, sequences: old.sequences}
	g.Top, g.Room = old.stack, old.Room
	g.id, g.parent = rt.Who()
	g.findStart()
	*slot = unsafe.Pointer(g)
	return g
}

// findStart finds out which function the goroutine is named after.
func (g *goroutine) findStart() {
	pc, found := rt.Started()
	g.start, g.unnamed = textOffset(pc), !found
}

// drainDead takes back the states of goroutines that have ended. Their records stay. Called with the runtime lock held.
func drainDead() {
	for p := rt.Dead(); p != nil; {
		g := (*goroutine)(p)
		p = g.Next
		g.Next = goroutines.free
		goroutines.free = unsafe.Pointer(g)
		goroutines.live--
		goroutines.ended++
		if g.Depth != 0 {
			goroutines.broken++
		}
		top.ended += g.Seq
		g.Seq = 0
		for i := 1; g.sequences != nil && i < maxArrays; i++ {
			if t := &g.sequences[i]; t.seq > 0 {
				arrays[i].Load().ended += t.seq
				*t = sequence{}
			}
		}
		atomic.StoreUint32(&g.calling, 0)
	}
}

// eachGoroutine calls do with the state of every goroutine, and with those on the free list. Called with the runtime lock held.
func eachGoroutine(do func(*goroutine)) {
	end := uintptr(stateSlab) - goroutines.left
	for slab := goroutines.slab; slab != nil; slab = *(*unsafe.Pointer)(slab) {
		for off := uintptr(goroutineSize); off < end; off += goroutineSize {
			do((*goroutine)(unsafe.Add(slab, off)))
		}
		end = stateSlab
	}
}

// written counts the records of all goroutines, those that have ended included. Called with the runtime lock held.
func (a *traceArray) written() uint64 {
	drainDead()
	n := a.ended
	eachGoroutine(func(g *goroutine) {
		switch {
		case a.index == 0:
			n += g.Seq
		case g.sequences != nil:
			n += g.sequences[a.index].seq
		}
	})
	return n
}

const frameSize = unsafe.Sizeof(hook.Frame{})

// frame returns the i'th call on the return stack, counted from the bottom.
func (g *goroutine) frame(i int32) *hook.Frame {
	return (*hook.Frame)(unsafe.Add(g.stack, uintptr(i)*frameSize))
}

// top returns the call on top of the return stack, which is not empty.
func (g *goroutine) top() *hook.Frame { return (*hook.Frame)(unsafe.Add(g.Top, -int(frameSize))) }

// onTop returns the goroutine if the call that a token belongs to is on top of its return stack, otherwise nil.
func onTop(token uintptr, slot *unsafe.Pointer) *goroutine {
	if g := (*goroutine)(*slot); g != nil && g.Depth > 0 && g.top().Token == token {
		return g
	}
	return nil
}

// pop takes it off the stack. What found no room below it found none below its caller either.
func (g *goroutine) pop() *hook.Frame {
	f := g.top()
	g.Depth--
	g.Top = unsafe.Pointer(f)
	if f.Over != 0 && g.Depth > 0 {
		g.top().Over += f.Over
	}
	return f
}

// cut makes the return stack so deep.
func (g *goroutine) cut(depth int32) {
	g.Depth = depth
	g.Top = unsafe.Pointer(g.frame(depth))
}

// roomFor makes room for a call at a depth. If there is none, the call is an overrun (trace_overrun).
func (g *goroutine) roomFor(d int32) bool {
	if d >= maxStack.Load() || d >= g.Room && !g.growStack() {
		g.overrun()
		return false
	}
	g.End = uintptr(g.stack) + uintptr(min(g.Room, graphLimit.Load()))*frameSize
	return true
}

// overrun counts a call that there is no room for.
func (g *goroutine) overrun() {
	if g.Depth > 0 {
		g.top().Over++
	}
	atomic.AddUint64((*uint64)(unsafe.Add(top.header, tracefile.HOverrun)), 1)
}

// growStack doubles the return stack.
func (g *goroutine) growStack() bool {
	class, size := 0, uintptr(minStack)
	for g.Room > 0 && size/frameSize <= uintptr(g.Room) {
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
	old, n := g.stack, uintptr(g.Room)*frameSize
	if old != nil {
		copy(unsafe.Slice((*byte)(p), n), unsafe.Slice((*byte)(old), n))
	}
	g.stack, g.Room = p, int32(size/frameSize)
	g.cut(g.Depth)
	if old != nil {
		rt.Lock()
		*(*unsafe.Pointer)(old) = s.stacks[class-1]
		s.stacks[class-1] = old
		rt.Unlock()
	}
	return true
}

// noFrameTest switches the frame test off.
var noFrameTest atomic.Bool

// frameMismatch is the frame test's failure: the value that went in on entry is not the one that comes out. The trace would be wrong
// from here on, so tracing stops, and the goroutine's stack is cut back to where it fits. Without the test it goes on from there, if that is anywhere: then the
// call is on top of the return stack again.
func frameMismatch(g *goroutine, token uintptr) (fits bool) {
	mismatches.Add(1)
	if g != nil {
		for d := g.Depth - 1; d >= 0; d-- {
			if g.frame(d).Token == token {
				g.cut(d + 1)
				fits = true
				break
			}
		}
	}
	if noFrameTest.Load() {
		return fits
	}
	StopHooks()
	if fits {
		g.cut(g.Depth - 1)
	}
	const text = "a call's return does not match its entry; tracing has stopped"
	rt.Unpin() // the log may have to be waited for
	logError("frame test", text, "", 0)
	rt.Pin()
	rt.Fatal(text + " (unless the program calls Exit by hand, this is a fault of ftgo's)")
	return false
}
