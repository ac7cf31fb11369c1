package ftrace

import "unsafe"

// Function literals leave by a call at each return statement, not by a deferred one
// (rewriter/returns.go). A panic and runtime.Goexit go past that call. The frames that such
// literals have left on the return stack are closed here, at one of three moments: when a deferred
// exit further down does not find its call on top, when a panic is recovered, and when a goroutine
// ends.
//
// The place of a literal's frame on the goroutine's stack tells whether the call has gone. It is
// counted from the end of that stack, which stays where it is when the stack moves.

// The token of such a call is made of undeferred, of a number that tells calls of one frame apart
// where words are long enough, and of the place of the frame in offsetBits bits.
const (
	undeferred = ^(^uintptr(0) >> 1)
	offsetBits = 31
)

// undeferredFrame marks the call on top of the return stack as one that leaves where it returns,
// and returns its new token. It is hooks.Mark.
func undeferredFrame(slot *unsafe.Pointer, off uintptr) uintptr {
	g := (*goroutine)(*slot)
	f := g.top()
	g.token++
	f.Token = undeferred | g.token<<offsetBits | off&(1<<offsetBits-1)
	return f.Token
}

// unwind closes calls on top of the return stack that leave where they return, if their frames lie
// at off from the end of the goroutine's stack, or further. It is hooks.Unwind. The frame at off
// itself belongs to a function in which a panic was recovered: that function returns at once, so
// what was inlined in it has left, too.
func unwind(slot, proc *unsafe.Pointer, off uintptr, now uint64) {
	g := (*goroutine)(*slot)
	for g.Depth > 0 {
		tok := g.top().Token
		if tok&undeferred == 0 || tok&(1<<offsetBits-1) < off {
			return
		}
		rt.Calls.Exit(tok, slot, proc, now)
		rt.Unpin() // a callback may have moved the goroutine to another P
		proc = rt.Pin()
	}
}

// exitBelow is called for an exit that does not find its call on top. The exit is a deferred one,
// and calls that leave where they return lie above its call: exitBelow closes them first.
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
