package ftrace

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// counterName names the counter that the patched runtime reads: RDTSC where CPUID says that it is
// invariant (Intel SDM, volume 3, 17.17.1), as the kernel does, or CNTVCT_EL0. It is a function,
// since the environment is read before there are initialized variables.
func counterName() string {
	if runtime.GOARCH == "amd64" {
		return "x86-tsc"
	}
	return "cntvct"
}

// monoClock is the name of the monotonic clock.
const monoClock = "mono"

// Clocks returns the names that SetClock takes (trace_clock): the processor's counter, if it has
// one of constant rate, and "mono", the monotonic clock. A reading of the counter takes 9 ns, and
// one of the monotonic clock 22 ns.
//
// Readings of the counter are converted to monotonic time when a trace is read, by pairs of
// readings of both clocks. Two Ps are as far apart as the counters of their cores, which processors
// with an invariant counter keep equal to within some ten nanoseconds.
func Clocks() []string {
	if rt == nil || !rt.Ticking {
		return []string{monoClock}
	}
	return []string{counterName(), monoClock}
}

// Clock returns the name of the clock that records are stamped with. It is the first name of Clocks
// unless SetClock or FTGO_CLOCK chose another. In a program without hooks it is "mono".
func Clock() string {
	if rt == nil || rt.Mono != 0 {
		return monoClock
	}
	return counterName()
}

// SetClock chooses the clock that records are stamped with, by a name of Clocks. It empties the
// buffers of all instances, as the kernel does, unless the clock stays the same. Calls that are in
// progress lose their returns. The error is ErrNotInstrumented, or says which clocks there are.
func SetClock(name string) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	ctl.Lock()
	defer ctl.Unlock()
	if name == Clock() {
		return nil
	}
	mono, err := clockNamed(name)
	if err != nil {
		return err
	}
	quiesceAll()
	rt.Mono = mono
	eachArray(func(a *traceArray) {
		if a.header != nil {
			a.startClock()
			a.reset()
			// HOff was a reading of the other clock.
			atomic.StoreUint64((*uint64)(unsafe.Add(a.header, tracefile.HOff)), 0)
			a.noteOff()
		}
	})
	since := nextGeneration()
	eachUser(func(u *user) { u.since = since }) // calls in progress began by the other clock
	eachArray(func(a *traceArray) { a.threshold = ticksOf(a.ns) })
	usePointers()
	return nil
}

// clockNamed returns the Runtime.Mono that makes the clock of a name the clock of records.
func clockNamed(name string) (mono uint32, err error) {
	switch {
	case name == monoClock:
		return 1, nil
	case rt.Ticking && name == counterName():
		return 0, nil
	}
	return 0, fmt.Errorf("there is no clock %q: available are %s", name, strings.Join(Clocks(), ", "))
}

// startClock writes the clock's kind and first reading into the header.
func (a *traceArray) startClock() {
	kind := uint32(tracefile.CounterTicks)
	if rt.Mono != 0 {
		kind = tracefile.CounterNanoseconds
	}
	atomic.StoreUint32((*uint32)(unsafe.Add(a.header, tracefile.HCounterKind)), kind)
	*(*uint64)(unsafe.Add(a.header, tracefile.HCounter)) = rt.Clock()
	*(*uint64)(unsafe.Add(a.header, tracefile.HMono)) = uint64(rt.Nanotime())
}

// nanoseconds converts a reading of the clock of records to monotonic time.
func nanoseconds(c uint64) int64 {
	if rt.Mono != 0 {
		return int64(c)
	}
	now, mono := rt.Clock(), rt.Nanotime()
	first := *(*uint64)(unsafe.Add(top.header, tracefile.HCounter))
	firstMono := *(*uint64)(unsafe.Add(top.header, tracefile.HMono))
	return mono - int64(float64(now-c)*float64(uint64(mono)-firstMono)/float64(now-first))
}

// ticksOf converts a duration in nanoseconds to the clock of records.
func ticksOf(ns int64) uint64 {
	if ns == 0 || rt.Mono != 0 {
		return uint64(ns)
	}
	awaitClock()
	ticks := rt.Clock() - *(*uint64)(unsafe.Add(top.header, tracefile.HCounter))
	mono := uint64(rt.Nanotime()) - *(*uint64)(unsafe.Add(top.header, tracefile.HMono))
	return max(1, uint64(float64(ns)*float64(ticks)/float64(mono)))
}

// awaitClock waits until the rate of the clock is known, for 2 ms at most. The two clocks are read
// 50 ns apart at worst, so the rate is as precise as the time is long since the first reading.
func awaitClock() {
	for since := *(*uint64)(unsafe.Add(top.header, tracefile.HMono)); uint64(rt.Nanotime())-since < 2e6; {
	}
}
