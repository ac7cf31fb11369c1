package ftrace

import (
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// This file holds the functions of enter.go in full: they also make what may have to be made first,
// which is a state, room in a page, or room on a return stack.

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

// graphSlow is graphEnter in full. A call is pushed also when its record finds no room, so that its
// return may be recorded.
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
