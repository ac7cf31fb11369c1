package ftrace

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// DefaultMaxStack is the maximum depth of a goroutine's return stack unless SetMaxStack or FTGO_MAX_STACK says otherwise.
const DefaultMaxStack = 1024

// SetMaxStack sets how many calls a goroutine's return stack holds (FTRACE_RETFUNC_DEPTH): 1 to
// 65535. Calls below are counted as overruns, and not traced.
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

// Overruns returns how many calls since the buffer was last emptied lay below the maximum depth of their return stack (trace_overrun).
func Overruns() uint64 {
	if top.header == nil {
		return 0
	}
	return atomic.LoadUint64((*uint64)(unsafe.Add(top.header, tracefile.HOverrun)))
}

// setDepth sets a limit of the depth. Goroutines learn of it when they next find no room.
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

func setGraphLimit() {
	limit := maxStack.Load()
	if d := top.maxDepth; d > 0 {
		limit = min(limit, d)
	}
	graphLimit.Store(limit)
}

// Depth returns the number of calls on the calling goroutine's return stack.
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
