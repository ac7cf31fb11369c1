package ftrace

import (
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// setTracingOn says whether the array's records are made (tracing_on).
func (a *traceArray) setTracingOn(on bool) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	ctl.Lock()
	defer ctl.Unlock()
	a.paused.Store(!on)
	usePointers()
	a.noteOff()
	return nil
}

// writable reports whether a goroutine that is pinned may write a note into the buffer. The
// functions that switch tracers wait for goroutines that have passed here.
func (a *traceArray) writable() bool {
	return tracing.Load() && !quiet.Load() && !a.paused.Load() && a.header != nil
}

// noteOff notes in the header since when no records are made, or that they are made. Calls that are
// open in a trace last until that moment, as far as the trace can tell.
func (a *traceArray) noteOff() {
	if a.header == nil {
		return
	}
	at := (*uint64)(unsafe.Add(a.header, tracefile.HOff))
	switch on := a.current != &nop && !a.paused.Load(); {
	case on:
		atomic.StoreUint64(at, 0)
	case atomic.LoadUint64(at) == 0:
		atomic.StoreUint64(at, rt.Clock())
	}
}
