package ftrace

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// DefaultMaxStack is the maximum depth of a goroutine's return stack unless SetMaxStack or
// FTGO_MAX_STACK sets another.
const DefaultMaxStack = 1024

// SetMaxStack sets how many calls a goroutine's return stack holds, 1 to 65535
// (FTRACE_RETFUNC_DEPTH). Calls beyond that are counted as overruns, and their returns are not
// traced. The error is ErrNotInstrumented, or says that depth is out of its range.
func SetMaxStack(depth int) error {
	if depth < 1 || depth > 65535 {
		return fmt.Errorf("the maximum depth of a return stack is 1 to 65535, not %d", depth)
	}
	if rt == nil {
		return ErrNotInstrumented
	}
	setDepth(func() { maxStack.Store(int32(depth)) })
	return nil
}

// MaxStack returns how many calls a goroutine's return stack holds; 0 in a program without hooks.
func MaxStack() int { return int(maxStack.Load()) }

// Overruns returns how many calls, of all tracers with returns, found no room on their goroutine's
// return stack since Default's buffer was last emptied (trace_overrun).
func Overruns() uint64 {
	if top.header == nil {
		return 0
	}
	return atomic.LoadUint64((*uint64)(unsafe.Add(top.header, tracefile.HOverrun)))
}

// setDepth sets a limit of the depth by calling set. Goroutines learn of it when they next find no
// room.
func setDepth(set func()) {
	ctl.Lock()
	defer ctl.Unlock()
	if top.header == nil {
		set()
		setGraphLimit()
		return
	}
	quiesceAll()
	set()
	setGraphLimit()
	atomic.StoreUint32((*uint32)(unsafe.Add(top.header, tracefile.HMaxStack)), uint32(maxStack.Load()))
	rt.Lock()
	eachGoroutine(func(g *goroutine) { g.End = 0 })
	rt.Unlock()
	usePointers()
}

// setGraphLimit computes graphLimit anew.
func setGraphLimit() {
	limit := maxStack.Load()
	if d := top.maxDepth; d > 0 {
		limit = min(limit, d)
	}
	graphLimit.Store(limit)
}

// Depth returns the number of calls on the calling goroutine's return stack. It is 0 in a program
// without hooks, and in callbacks, which have Call.Depth.
func Depth() int {
	if rt == nil {
		return 0
	}
	slot, _ := rt.Begin()
	if slot == nil {
		return 0
	}
	d := 0
	if g := (*goroutine)(*slot); g != nil {
		d = int(g.Depth)
	}
	rt.Done()
	return d
}
