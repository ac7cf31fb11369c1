package ftrace

import (
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// This file holds the library's state of goroutines and their return stacks.

// A goroutine is the library's state of a goroutine, behind the word Slot.State that the patched
// runtime keeps for it in g. The state lies outside the Go heap: tests that count allocations do
// not see it, and the garbage collector does not scan it. A new goroutine has no state, and so an
// empty return stack.
type goroutine struct {
	hook.Goroutine // Next is the link of the list of the dead, or of the free list

	stack unsafe.Pointer // [Room]hook.Frame
	id    uint64
	token uintptr // the number that the last token was made of

	parent  uint64
	start   uint32                      // function of the go statement, its offset in the text
	unnamed bool                        // start is a function that is yet to call that one
	name    [tracefile.MaxName + 1]byte // name that the program gave the goroutine, up to a zero

	// What follows belongs to dispatch.go.
	seen    uint32 // generation that ignored, skip and inside are of
	ignored uint32 // tracers that leave the goroutine out
	calling uint32 // tracers with a callback under way
	skip    uint16 // graph tracers that do not see the calls from here on …
	inside  uint16 // … and graph tracers that see them because of a function of SetGraphFunction
	data    unsafe.Pointer
	room    uint16 // blocks that data has room for …
	used    uint16 // … and blocks in use

	sequences *[maxArrays]sequence // in arrays other than the top one; nil at first
}

const (
	goroutineSize = 192
	slabSize      = 64 << 10
	stateSlab     = slabSize / goroutineSize * goroutineSize
	minStack      = 384 // bytes of the smallest return stack
	stackClasses  = 16
)

var _ [goroutineSize - unsafe.Sizeof(goroutine{})]byte

// goroutines holds the memory of states and return stacks. Guarded by the runtime lock.
var goroutines struct {
	free   unsafe.Pointer
	slab   unsafe.Pointer // memory for states; begins with a pointer to the slab before
	left   uintptr        // bytes of slab that are not in use
	live   int            // states in use
	ended  uint64         // states taken back
	broken uint64         // states taken back with calls on their return stack
	stacks [stackClasses]unsafe.Pointer
	bytes  unsafe.Pointer // memory that small return stacks are cut from …
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
	old := *g // a state that was used before keeps its memory
	*g = goroutine{stack: old.stack, data: old.data, room: old.room, sequences: old.sequences}
	g.Top, g.Room = old.stack, old.Room
	g.id, g.parent = rt.Who()
	g.findStart()
	*slot = unsafe.Pointer(g)
	return g
}

// findStart finds the function that the goroutine is named after.
func (g *goroutine) findStart() {
	pc, found := rt.Started()
	g.start, g.unnamed = textOffset(pc), !found
}

// drainDead takes back the states of goroutines that have ended. Their records stay. It is called
// with the runtime lock held.
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

// eachGoroutine calls do with the state of every goroutine, and with the states on the free list.
// It is called with the runtime lock held.
func eachGoroutine(do func(*goroutine)) {
	end := uintptr(stateSlab) - goroutines.left
	for slab := goroutines.slab; slab != nil; slab = *(*unsafe.Pointer)(slab) {
		for off := uintptr(goroutineSize); off < end; off += goroutineSize {
			do((*goroutine)(unsafe.Add(slab, off)))
		}
		end = stateSlab
	}
}

// written counts the records of all goroutines in the array, also of goroutines that have ended. It
// is called with the runtime lock held.
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

// frameSize is the size of a call on the return stack, in bytes.
const frameSize = unsafe.Sizeof(hook.Frame{})

// frame returns the i'th call on the return stack, counted from the bottom.
func (g *goroutine) frame(i int32) *hook.Frame {
	return (*hook.Frame)(unsafe.Add(g.stack, uintptr(i)*frameSize))
}

// top returns the call on top of the return stack, which is not empty.
func (g *goroutine) top() *hook.Frame { return (*hook.Frame)(unsafe.Add(g.Top, -int(frameSize))) }

// onTop returns the goroutine if the call that a token belongs to is on top of its return stack,
// otherwise nil.
func onTop(token uintptr, slot *unsafe.Pointer) *goroutine {
	if g := (*goroutine)(*slot); g != nil && g.Depth > 0 && g.top().Token == token {
		return g
	}
	return nil
}

// pop takes the top call off the return stack. Calls that found no room below it found none below
// its caller either, and count there, too.
func (g *goroutine) pop() *hook.Frame {
	f := g.top()
	g.Depth--
	g.Top = unsafe.Pointer(f)
	if f.Over != 0 && g.Depth > 0 {
		g.top().Over += f.Over
	}
	return f
}

// cut sets the depth of the return stack.
func (g *goroutine) cut(depth int32) {
	g.Depth = depth
	g.Top = unsafe.Pointer(g.frame(depth))
}

// roomFor makes room for a call at a depth. It returns false if there is none, and counts the call
// as an overrun (trace_overrun).
func (g *goroutine) roomFor(d int32) bool {
	if d >= maxStack.Load() || d >= g.Room && !g.growStack() {
		g.overrun()
		return false
	}
	g.End = uintptr(g.stack) + uintptr(min(g.Room, graphLimit.Load()))*frameSize
	return true
}

// overrun counts a call that has no room on the return stack.
func (g *goroutine) overrun() {
	if g.Depth > 0 {
		g.top().Over++
	}
	atomic.AddUint64((*uint64)(unsafe.Add(top.header, tracefile.HOverrun)), 1)
}

// growStack doubles the return stack. It returns false if the stack has its largest size.
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

// noFrameTest switches the frame test off (the option noframe-test).
var noFrameTest atomic.Bool

// frameMismatch is called when the frame test fails: the token of an exit is not the token of the
// call on top of the return stack. The trace would be wrong from here on, so tracing stops, and the
// stack is cut back to below the token's call. With the test off, the stack is cut back to that
// call, if it is there; frameMismatch then returns true, with the call on top.
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
	rt.Unpin() // logError may wait for a lock
	logError("frame test", text, "", 0)
	rt.Pin()
	rt.Fatal(text + " (unless the program calls Exit by hand, this is a fault of ftgo's)")
	return false
}
