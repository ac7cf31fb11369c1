package ftrace

import (
	"sync/atomic"

	"github.com/ftgo/ftgo/internal/hook"
)

// rt.Mode is one word that the hooks read at every call. It says whether they record by themselves,
// whether tracing is stopped, and the generation, a number that changes with the pointers. A frame
// keeps the word of its entry. If the word is another one on exit, the call began under other
// conditions.
const (
	modeDirect  = hook.ModeGraph | hook.ModeFunction | hook.ModeProfile | hook.ModeEntries
	modeWanted  = 4      // shift to a copy of modeDirect, which holds unless stopped
	modeStopped = 1 << 8 // function_trace_stop
	modeNext    = 1 << 9 // one generation
	modeNumber  = ^uint32(modeNext - 1)
)

// setMode changes rt.Mode, and then sets the bits of modeDirect to their copy, or to 0 while
// tracing is stopped.
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

// stale reports whether a call began in another generation.
func stale(f *hook.Frame) bool { return generation(f.Mode) != generation(atomic.LoadUint32(&rt.Mode)) }

// since reports whether a mode's generation is gen or a later one. The two may be 4 million
// generations apart at most. The numbers come round after 8 million.
func since(mode, gen uint32) bool { return int32(generation(mode)-gen) >= 0 }

// nextGeneration makes every call that is in progress stale, and returns the generation of the
// calls to come. A user that has been on for more than 2 million generations takes the returns of
// the last 2 million: what is older could not be told from what is to come.
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

// setDirect sets what the hooks record by themselves: one of the bits of modeDirect, or nothing.
func setDirect(bit uint32) {
	setMode(func(m uint32) uint32 { return m&^(modeDirect<<modeWanted) | bit<<modeWanted })
}

// StopHooks makes every hook return at once until StartHooks is called, whatever tracers and
// instances there are (function_trace_stop). Calls that are in progress are still taken off their
// return stacks. StopHooks is one atomic operation, waits for nothing, and may be called from
// anywhere, also from callbacks. Instance.SetTracingOn stops the records of one instance instead.
func StopHooks() {
	if rt != nil {
		setMode(func(m uint32) uint32 { return m | modeStopped })
	}
}

// HooksStopped reports whether hooks are stopped: StopHooks was called, and StartHooks was not
// called since. It is false in a program without hooks.
func HooksStopped() bool { return rt != nil && stopped() }

// StartHooks lets hooks work again after StopHooks. It may be called from anywhere.
func StartHooks() {
	if rt != nil {
		setMode(func(m uint32) uint32 { return m &^ modeStopped })
	}
}
