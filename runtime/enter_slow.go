package ftrace

import (
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// What the functions of enter.go do when something has to be made first: a state, room in a page or on a return stack.

// functionSlow is functionEnter in full.
func functionSlow(site *hook.Site, slot, proc *unsafe.Pointer, parent uintptr, now uint64) uintptr {
	if stopped() {
		return 0
	}
	g, p := newStates(slot, proc)
	if !p.ready(g, now) {
		return 0
	}
	p.put(g, now<<hook.ClockShift|tracefile.KindFunction, uint64(site.ID)|uint64(textOffset(parent))<<32)
	return 0
}

// graphSlow is graphEnter in full. A call whose record finds no room is pushed all the same, so that its return may.
func graphSlow(site *hook.Site, slot, proc *unsafe.Pointer, now uint64) uintptr {
	if stopped() {
		return 0
	}
	g, p := newStates(slot, proc)
	if !g.roomFor(g.Depth) || g.Depth >= graphLimit.Load() {
		return 0
	}
	if p.ready(g, now) {
		p.put(g, now<<hook.ClockShift|tracefile.KindEntry, uint64(site.ID)|uint64(g.Depth)<<32)
	}
	return g.push(site, now, rt.Mode, top.graph)
}
