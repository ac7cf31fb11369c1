package ftrace

import (
	"sync/atomic"

	"github.com/ftgo/ftgo/internal/hook"
)

// rt.Mode is one word, which the hooks read at every call: whether they record by themselves, whether tracing is stopped, and the generation, a
// number that changes with the pointers. A frame keeps the word of its entry; where it is another on exit, the call began under other conditions.
const (
	modeDirect  = hook.ModeGraph | hook.ModeFunction | hook.ModeProfile | hook.ModeEntries
	modeWanted  = 4      // the bits of modeDirect, so far to the left, as they are to be while nothing is stopped
	modeStopped = 1 << 8 // function_trace_stop
	modeNext    = 1 << 9 // one generation
	modeNumber  = ^uint32(modeNext - 1)
)

// setMode changes the word.
func setMode(change func(uint32) uint32) {
	for {
		old := atomic.LoadUint32(&rt.Mode)
		m := change(old) &^ modeDirect
		if m&modeStopped == 0 {
			m |= m >> modeWanted & modeDirect
		}
		if atomic.CompareAndSwapUint32(&rt.Mode, old, m) {
			return
		}
	}
}

// generation returns the generation of a mode.
func generation(mode uint32) uint32 { return mode & modeNumber }

// stopped reports whether tracing is stopped.
func stopped() bool { return atomic.LoadUint32(&rt.Mode)&modeStopped != 0 }

// stale reports whether a call began under other pointers.
func stale(f *hook.Frame) bool { return generation(f.Mode) != generation(atomic.LoadUint32(&rt.Mode)) }

// since reports whether a generation is not before another one. That is true of those that are 4 million apart at most; they come round after 8 million.
func since(mode, gen uint32) bool { return int32(generation(mode)-gen) >= 0 }

// nextGeneration makes every call that is in progress stale, and returns the generation of those to come. Whoever has been on for 2 million of them takes the
// returns of the last 2 million: what is older could not be told from what is to come.
func nextGeneration() uint32 {
	setMode(func(m uint32) uint32 { return m + modeNext })
	now := generation(atomic.LoadUint32(&rt.Mode))
	const most = modeNext << 21
	eachUser(func(u *user) {
		if now-u.since > most {
			u.since = now - most
		}
	})
	return now
}

// setDirect says what the hooks record by themselves: one of the bits of modeDirect, or nothing.
func setDirect(bit uint32) {
	setMode(func(m uint32) uint32 { return m&^(modeDirect<<modeWanted) | bit<<modeWanted })
}

// StopHooks makes every hook return at once until StartHooks is called, whatever the tracers and the
// instances (function_trace_stop). Calls that are in progress leave their return stacks all the
// same. It is one atomic store, and may be called from anywhere. SetTracingOn, for comparison, stops
// the records of one instance.
func StopHooks() {
	if rt != nil {
		setMode(func(m uint32) uint32 { return m | modeStopped })
	}
}

// HooksStopped reports whether StopHooks was called last, not StartHooks.
func HooksStopped() bool { return rt != nil && stopped() }

// StartHooks undoes StopHooks.
func StartHooks() {
	if rt != nil {
		setMode(func(m uint32) uint32 { return m &^ modeStopped })
	}
}
