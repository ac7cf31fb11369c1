package ftrace

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// limits narrow what the tracers record: to calls that take long, to what some functions call, to some goroutines. While one of them is set the
// tracers have other functions, which ask. What is written here is written by calls that hold ctl, while no tracer's function is under way.
var limits struct {
	threshold uint64 // ticks of the clock
	ns        int64  // the same as it was set

	graphFunction, graphNotrace patterns

	goroutines, notrace []uint64 // sorted numbers; of goroutines none means all
	generation          uint32   // counts changes
}

// Flags of a frame, in its mode: its generation is not touched by them.
const (
	frameInside = 1 << 30 // the call of a function of set_graph_function
	frameSilent = 1 << 31 // the call of a function of set_graph_notrace
)

// Bits of Site.Tracers, beside those of tracers.
const (
	graphFunctionBit = 1 << 30
	graphNotraceBit  = 1 << 31
)

// Bits of Slot.Set, beside the generation in the others.
const (
	setWanted = 1 << iota
	setUnwanted
	setShift = 2
)

// limited reports whether a limit is set.
func limited() bool {
	l := &limits
	return l.threshold > 0 || len(l.graphFunction)+len(l.graphNotrace) > 0 || limitedGoroutines()
}

func limitedGoroutines() bool { return len(limits.goroutines)+len(limits.notrace) > 0 }

// functionEnterLimited is functionEnter where a limit is set.
func functionEnterLimited(site *hook.Site, slot, proc *unsafe.Pointer, parent uintptr, now uint64) uintptr {
	if g, _ := newStates(slot, proc); !g.wanted(slot) {
		return 0
	}
	return functionEnter(site, slot, proc, parent, now)
}

// graphEnterLimited is graphEnter where a limit is set.
func graphEnterLimited(site *hook.Site, slot, proc *unsafe.Pointer, _ uintptr, now uint64) uintptr {
	if stopped() {
		return 0
	}
	g, p := newStates(slot, proc)
	if !g.wanted(slot) {
		return 0
	}
	l := &limits
	var flags uint32
	switch {
	case site.Tracers&graphNotraceBit != 0:
		flags = frameSilent
	case g.silent > 0:
		return 0
	case site.Tracers&graphFunctionBit != 0:
		flags = frameInside
	case len(l.graphFunction) > 0 && g.inside == 0:
		return 0
	}
	if !g.roomFor(g.Depth) || g.Depth >= graphLimit.Load() {
		return 0
	}
	switch flags {
	case frameSilent:
		g.silent++
	case frameInside:
		g.inside++
	}
	if g.silent == 0 && l.threshold == 0 && p.ready(g, now) {
		p.put(g, now<<8|tracefile.KindEntry, uint64(site.ID)|uint64(g.Depth)<<32)
	}
	token := g.push(site, now)
	g.top().Mode |= flags
	return token
}

// graphExitLimited is graphExit where a limit is set.
func graphExitLimited(token uintptr, slot, proc *unsafe.Pointer, now uint64) {
	g := onTop(token, slot)
	if g == nil {
		exitBelow(token, slot, proc, now)
		return
	}
	f := g.pop()
	if stale(f) {
		return
	}
	silent := g.silent > 0
	if f.Mode&frameSilent != 0 {
		g.silent--
	}
	if f.Mode&frameInside != 0 {
		g.inside--
	}
	if silent || stopped() || now-f.Start < limits.threshold {
		return
	}
	_, p := newStates(slot, proc)
	switch {
	case limits.threshold == 0:
		if p.ready(g, now) {
			p.put(g, now<<8|tracefile.KindReturn, returned(g, f))
		}
	case p.reserve(g, now, 2):
		*(*[4]uint64)(p.At) = [4]uint64{now<<8 | tracefile.KindSpan, returned(g, f), f.Start}
		g.Seq++
		p.commit(2, 1)
	}
}

// wanted reports whether the goroutine is to be traced. What was found out holds until a limit or a pointer is set.
func (g *goroutine) wanted(slot *unsafe.Pointer) bool {
	if gen := generation(atomic.LoadUint32(&rt.Mode)); g.limits != gen {
		g.limits, g.inside, g.silent = gen, 0, 0
		g.ignored = false
		if limitedGoroutines() {
			g.ignored = !g.chosen((*hook.Slot)(unsafe.Pointer(slot)))
		}
	}
	return !g.ignored
}

// chosen reports whether a goroutine is one of those that SetGoroutines and SetNotraceGoroutines name, or was started by one with
// function-fork, and leaves that with it for those that it starts.
func (g *goroutine) chosen(slot *hook.Slot) bool {
	l := &limits
	var set uintptr
	if slot.Set>>setShift == uintptr(l.generation) {
		set = slot.Set & (setWanted | setUnwanted)
	}
	is := func(list []uint64) bool {
		_, ok := slices.BinarySearch(list, g.id)
		if !ok && rt.Fork != 0 {
			_, ok = slices.BinarySearch(list, g.parent)
		}
		return ok
	}
	if is(l.goroutines) {
		set |= setWanted
	}
	if is(l.notrace) {
		set |= setUnwanted
	}
	slot.Set = uintptr(l.generation)<<setShift | set
	return set&setUnwanted == 0 && (len(l.goroutines) == 0 || set&setWanted != 0)
}

// SetThreshold limits the graph tracer to calls that take as long or longer (tracing_thresh); 0 is no limit. Their returns are recorded, with
// their duration, and no entries.
func SetThreshold(d time.Duration) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	if d < 0 {
		return fmt.Errorf("tracing_thresh is 0, for no limit, or more, not %v", d)
	}
	return setLimit(func() {
		limits.ns = int64(d)
		limits.threshold = ticksOf(limits.ns)
	})
}

// SetGraphFunction limits the graph tracer to calls of the functions that match one of the globs, and what they call (set_graph_function);
// without globs it traces all. A glob that matches no function is an error, and changes nothing.
func SetGraphFunction(globs ...string) error {
	return setGraphGlobs("set_graph_function", globs, &limits.graphFunction)
}

// SetGraphNotrace excludes calls of the functions that match one of the globs, and what they call, also from what SetGraphFunction names
// (set_graph_notrace).
func SetGraphNotrace(globs ...string) error {
	return setGraphGlobs("set_graph_notrace", globs, &limits.graphNotrace)
}

func setGraphGlobs(what string, texts []string, list *patterns) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	globs := parsePatterns(texts)
	if err := noMatch(what, globs); err != nil {
		return err
	}
	return setLimit(func() {
		*list = globs
		eachTable(markGraphFunctions)
	})
}

// markGraphFunctions notes in the sites of a package which of its functions the graph limits name.
func markGraphFunctions(t *hook.Table) {
	inside, some := limits.graphFunction.of(t)
	silent, except := limits.graphNotrace.of(t)
	eachNameOf(t, func(n *funcName) {
		s := siteOf(t, n.i)
		s.Tracers &^= graphFunctionBit | graphNotraceBit
		if some.match(inside, n) {
			s.Tracers |= graphFunctionBit
		}
		if except.match(silent, n) {
			s.Tracers |= graphNotraceBit
		}
	})
}

// SetGoroutines limits tracing to some goroutines (set_ftrace_pid), without numbers to none; with the option function-fork those that they start
// are traced too, if they are started after this call. Goid returns the number of a goroutine.
func SetGoroutines(ids ...uint64) error { return setGoroutines(&limits.goroutines, ids) }

// SetNotraceGoroutines excludes goroutines from tracing, also those that SetGoroutines names (set_ftrace_notrace_pid).
func SetNotraceGoroutines(ids ...uint64) error { return setGoroutines(&limits.notrace, ids) }

func setGoroutines(list *[]uint64, ids []uint64) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return setLimit(func() {
		*list = ids
		limits.generation++
	})
}

// Goid returns the number of the calling goroutine, as stack traces show it; 0 in a program without hooks.
func Goid() uint64 {
	if rt == nil {
		return 0
	}
	id, _, _ := rt.Who()
	return id
}

// setLimit changes a limit while no tracer's function is under way.
func setLimit(change func()) error {
	ctl.Lock()
	defer ctl.Unlock()
	startBuffer()
	quiesce()
	change()
	usePointers()
	return nil
}

// ticksOf converts a duration to the clock of records.
func ticksOf(ns int64) uint64 {
	if ns == 0 || rt.Mono != 0 {
		return uint64(ns)
	}
	awaitClock()
	ticks := rt.Clock() - *(*uint64)(unsafe.Add(header, tracefile.HCounter))
	mono := uint64(rt.Nanotime()) - *(*uint64)(unsafe.Add(header, tracefile.HMono))
	return max(1, uint64(float64(ns)*float64(ticks)/float64(mono)))
}
