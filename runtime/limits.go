package ftrace

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ftgo/ftgo/internal/hook"
)

// This file holds the limits of tracers other than their filters.

// limits narrow what a tracer sees: to calls that take long, to what some functions call, to some
// goroutines. They are written with ctl held, while the tracer is off or not on yet.
type limits struct {
	threshold uint64   // ticks of the clock
	ns        int64    // threshold as it was set, ns
	maxDepth  int32    // max_graph_depth; 0 is no limit
	cpus      *funcSet // Ps that record (tracing_cpumask); nil for all
	// values says that the tracer wants what functions return (funcgraph-retval). It is no limit,
	// but the tracer's own function does not know it either.
	values bool

	graphFunction, graphNotrace patterns
	function, notrace           *funcSet // what the two match; nil without patterns

	goroutines, notGoroutines []uint64 // sorted numbers; no goroutines means all
	listed                    uint32   // lists after these two were changed last
}

// Slot.Set of a goroutine holds what function-fork has made of it. The lower half has two bits for
// each array. The upper half is the value of lists that the bits were computed for.
const (
	setWanted = 1 << iota
	setUnwanted
	setBits = iota
)

// lists grows with every SetGoroutines and SetNotraceGoroutines, of any array. limits.listed holds
// its value after that array's last change. lists is guarded by ctl. listed is stored first: a hook
// that loads the new value of lists must see the new listed.
var lists atomic.Uint32

// inherited returns the bits of a goroutine's Set that still hold: the bits of the arrays with
// lists that did not change since Set was written.
func inherited(set uint64) uint64 {
	now := lists.Load()
	if uint32(set>>32) == now {
		return set
	}
	eachArray(func(a *traceArray) {
		if int32(uint32(set>>32)-a.listed) < 0 {
			set &^= (setWanted | setUnwanted) << (setBits * a.index)
		}
	})
	return uint64(now)<<32 | set&(1<<32-1)
}

var _ [32 - setBits*maxArrays]byte

// limited reports whether a limit is set that the tracer's own function does not know.
func (l *limits) limited() bool {
	return l.values || l.threshold > 0 || l.function != nil || l.notrace != nil || l.onSome()
}

// ofSome reports whether only some goroutines are traced.
func (l *limits) ofSome() bool { return len(l.goroutines)+len(l.notGoroutines) > 0 }

// onSome reports whether only some goroutines are traced, or only some Ps record.
func (l *limits) onSome() bool { return l.ofSome() || l.cpus != nil }

// findFunctions computes the sets of functions anew, after patterns or packages have come.
func (l *limits) findFunctions() {
	l.function, l.notrace = setOf(l.graphFunction), setOf(l.graphNotrace)
}

// chosen reports whether SetGoroutines and SetNotraceGoroutines let the user trace a goroutine.
// With function-fork a goroutine is treated as the one that started it, so chosen leaves its
// findings in slot, which a new goroutine copies.
func (u *user) chosen(g *goroutine, slot *hook.Slot) bool {
	is := func(list []uint64) bool {
		_, ok := slices.BinarySearch(list, g.id)
		if !ok && rt.Fork != 0 {
			_, ok = slices.BinarySearch(list, g.parent)
		}
		return ok
	}
	wanted, unwanted := is(u.goroutines), is(u.notGoroutines)
	if u.array != nil {
		shift := setBits * u.array.index
		set := inherited(slot.Set)
		if wanted {
			set |= setWanted << shift
		}
		if unwanted {
			set |= setUnwanted << shift
		}
		slot.Set = set
		wanted, unwanted = set>>shift&setWanted != 0, set>>shift&setUnwanted != 0
	}
	return !unwanted && (len(u.goroutines) == 0 || wanted)
}

// setThreshold sets tracing_thresh.
func (u *user) setThreshold(d time.Duration) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	if d < 0 {
		return fmt.Errorf("tracing_thresh is 0, for no limit, or more, not %v", d)
	}
	return u.setLimit(func() {
		u.ns = int64(d)
		u.threshold = ticksOf(u.ns)
	})
}

// setGraphPatterns sets one of set_graph_function and set_graph_notrace. what is its name.
func (u *user) setGraphPatterns(what string, texts []string, list *patterns) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	globs := parsePatterns(texts)
	if len(globs) > 0 && globs[0].not {
		return refuse(what, texts, 0, fmt.Errorf("%s: there is nothing that %q could take functions out of: want a pattern before it", what, texts[0]))
	}
	if i, err := noMatch(what, globs); err != nil {
		return refuse(what, texts, i, err)
	}
	return u.setLimit(func() {
		*list = globs
		u.findFunctions()
	})
}

// setGoroutines sets set_ftrace_pid or set_ftrace_notrace_pid.
func (u *user) setGoroutines(list *[]uint64, ids []uint64) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return u.setLimit(func() {
		*list = ids
		u.listed = lists.Load() + 1
		lists.Add(1)
	})
}

// setCPUs sets tracing_cpumask.
func (u *user) setCPUs(cpus []int) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	var set *funcSet
	for _, n := range cpus {
		if n < 0 || n >= 1<<16 {
			return fmt.Errorf("tracing_cpumask: the number of a P is 0 or more, not %d", n)
		}
		if set == nil {
			set = new(funcSet)
		}
		set.insert(uint32(n))
	}
	return u.setLimit(func() { u.cpus = set })
}

// Goid returns the number of the calling goroutine, as stack traces show it; 0 in a program without
// hooks. It may be called from anywhere.
func Goid() uint64 {
	if rt == nil {
		return 0
	}
	id, _ := rt.Who()
	return id
}

// setLimit changes a limit: of an array's user while nothing that records is under way, of an Ops
// or a GraphOps while no hook that is under way will call it.
func (u *user) setLimit(change func()) error {
	ctl.Lock()
	defer ctl.Unlock()
	startBuffer()
	if u.array != nil {
		quiesce(u)
		change()
		usePointers()
		return nil
	}
	on := u.on()
	u.setOn(false)
	rt.Barrier()
	change()
	u.since = nextGeneration()
	u.setOn(on)
	usePointers()
	return nil
}

// setMaxDepth sets max_graph_depth.
func (a *traceArray) setMaxDepth(depth int) error {
	if a.index == 0 { // the hooks know the limit of the top array by themselves
		setDepth(func() { a.maxDepth = int32(depth) })
		return nil
	}
	return a.setLimit(func() { a.maxDepth = int32(depth) })
}
