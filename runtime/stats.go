package ftrace

import (
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// Stats counts what the library did since the buffer was last emptied, or since the program began where that is said.
type Stats struct {
	Entries     uint64 // records in the buffer
	Overwritten uint64 // records that newer ones took the place of
	Dropped     uint64 // records that found no room
	Overruns    uint64 // calls that lay below the maximum depth of a return stack
	Goroutines  int    // goroutines that made a traced call and have not ended
	Ended       uint64 // goroutines that made a traced call and have ended, since the program began
	Unbalanced  uint64 // of these, how many ended with calls on their return stack: always 0 unless ftgo is broken
	Mismatches  uint64 // returns that did not match their entry, since the program began: always 0 unless ftgo is broken
}

var mismatches atomic.Uint64

// ReadStats returns the counts. It is zero in a program without hooks.
func ReadStats() (s Stats) {
	if rt == nil {
		return s
	}
	ctl.Lock()
	startBuffer()
	ctl.Unlock()
	rt.Lock()
	drainDead()
	s.Goroutines, s.Ended, s.Unbalanced = goroutines.live, goroutines.ended, goroutines.broken
	for i := range buffer.n {
		if c := buffer.at(i); atomic.LoadUint32((*uint32)(c)) == tracefile.PageMagic {
			s.Entries += records(c)
		}
	}
	u64 := func(off uintptr) *uint64 { return (*uint64)(unsafe.Add(header, off)) }
	s.Overwritten = *u64(tracefile.HOverwritten)
	rt.Unlock()
	s.Dropped = atomic.LoadUint64(u64(tracefile.HDropped))
	s.Overruns = Overruns()
	s.Mismatches = mismatches.Load()
	return s
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
		d = int(g.depth)
	}
	rt.Done()
	return d
}
