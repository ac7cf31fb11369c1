package ftrace

import "unsafe"

// Function literals leave where they return (rewriter/returns.go): a panic, and runtime.Goexit, go past that. What they left on the return
// stack is closed here: when a deferred exit further down does not find its call on top, when a panic is recovered, and when a goroutine ends.
// Their place on the goroutine's stack tells which calls have gone; it is counted from that stack's end, which stays where it is when the
// stack moves.

// The token of such a call: undeferred, a number that tells calls of one frame apart where words are long enough, and the offset.
const (
	undeferred = ^(^uintptr(0) >> 1)
	offsetBits = 31
)

// undeferredFrame marks the call on top of the return stack as one that leaves where it returns, and returns its token.
func undeferredFrame(slot *unsafe.Pointer, off uintptr) uintptr {
	g := (*goroutine)(*slot)
	f := g.top()
	g.token++
	f.Token = undeferred | g.token<<offsetBits | off&(1<<offsetBits-1)
	return f.Token
}

// unwind closes such calls at the top of the return stack whose frames lie at off from the end of the goroutine's stack, or further. A frame
// that a panic was recovered in returns at once, so what was inlined there has left, too.
func unwind(slot, proc *unsafe.Pointer, off uintptr, now uint64) {
	g := (*goroutine)(*slot)
	for g.Depth > 0 {
		tok := g.top().Token
		if tok&undeferred == 0 || tok&(1<<offsetBits-1) < off {
			return
		}
		rt.Calls.Exit(tok, slot, proc, now)
		rt.Unpin() // a callback may have moved to another P
		proc = rt.Pin()
	}
}

// exitBelow is for an exit that does not find its call on top: it is a deferred one, and such calls lie above.
func exitBelow(token uintptr, slot, proc *unsafe.Pointer, now uint64) {
	g := (*goroutine)(*slot)
	if token&undeferred == 0 && g != nil {
		unwind(slot, proc, 0, now)
		rt.Unpin()
		proc = rt.Pin()
	}
	if onTop(token, slot) == nil && !frameMismatch(g, token) {
		return
	}
	if *proc == nil {
		newStates(slot, proc)
	}
	rt.Calls.Exit(token, slot, proc, now)
}
