package ftrace

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// Stats are the counts of one instance since its buffer was last emptied, and counts of the library
// as a whole. While nothing is traced Written is the sum of Entries, Overwritten, Dropped and Read:
// the goroutines count Written, and the buffer counts the others.
type Stats struct {
	Written     uint64 // records that were made
	Entries     uint64 // records in the buffer
	Overwritten uint64 // records that newer ones took the place of
	Dropped     uint64 // records that found no room
	Read        uint64 // records that were consumed
	// Overruns is what the function Overruns returns.
	Overruns uint64
	// Goroutines and Ended count the goroutines that made a traced call since the program began:
	// Goroutines the ones that have not ended, Ended the ones that have.
	Goroutines int
	Ended      uint64
	// Unbalanced counts the goroutines in Ended that had calls left on their return stack. It is 0
	// unless ftgo is broken.
	Unbalanced uint64
	// Mismatches counts returns that did not match their entry since the program began. It is 0
	// unless ftgo is broken.
	Mismatches uint64
}

// CPUStats are the counts of one P since the buffer was last emptied (per_cpu/cpuN/stats).
type CPUStats struct {
	CPU         int
	Entries     uint64 // records in the buffer
	Overwritten uint64 // records that newer ones took the place of (overrun)
	Bytes       uint64 // bytes of the records in the buffer, with the notes between them
	// Oldest is when the oldest record in the buffer was made, 0 if there is none, and Now is when
	// the counts were read. Both are nanoseconds of the monotonic clock.
	Oldest, Now int64
	Dropped     uint64 // records that found no room (dropped events)
	Read        uint64 // records that were consumed (read events)
}

// mismatches counts failures of the frame test.
var mismatches atomic.Uint64

// readStats returns the counts of the array and of the library.
func (a *traceArray) readStats() (s Stats) {
	if rt == nil {
		return s
	}
	for _, c := range a.readCPUStats() {
		s.Entries += c.Entries
		s.Overwritten += c.Overwritten
		s.Dropped += c.Dropped
		s.Read += c.Read
	}
	rt.Lock()
	s.Written = a.written() - a.before
	s.Goroutines, s.Ended, s.Unbalanced = goroutines.live, goroutines.ended, goroutines.broken
	rt.Unlock()
	s.Overruns = Overruns()
	s.Mismatches = mismatches.Load()
	return s
}

// readCPUStats returns the counts of every P that made a record in the array, in order of the Ps.
func (a *traceArray) readCPUStats() (list []CPUStats) {
	if rt == nil {
		return nil
	}
	a.ensureBuffer()
	a.readers.RLock()
	defer a.readers.RUnlock()
	rt.Lock()
	n := a.procs
	rt.Unlock()
	list = make([]CPUStats, 0, n+8)
	rt.Lock()
	defer rt.Unlock()
	for p := a.processors; p != nil && len(list) < cap(list); p = p.next {
		list = append(list, CPUStats{CPU: int(p.id), Overwritten: p.overwritten, Dropped: atomic.LoadUint64(&p.dropped), Read: p.read})
	}
	slices.SortFunc(list, func(a, b CPUStats) int { return a.CPU - b.CPU })
	for i := range a.n {
		c := *a.at(i)
		if atomic.LoadUint32((*uint32)(c)) != tracefile.PageMagic {
			continue
		}
		k := slices.IndexFunc(list, func(s CPUStats) bool { return int32(s.CPU) == ownerOf(c).id })
		if entries := records(c); k >= 0 && entries > 0 {
			slots, _ := tracefile.Slots(atomic.LoadUint32((*uint32)(unsafe.Add(c, tracefile.PCommit))))
			read, _ := tracefile.Slots(*(*uint32)(unsafe.Add(c, tracefile.PRead)))
			s := &list[k]
			s.Entries += entries
			s.Bytes += uint64(slots-read) * tracefile.RecordSize
			if t := nanoseconds(oldest(c, read)); s.Oldest == 0 || t < s.Oldest {
				s.Oldest = t
			}
		}
	}
	now := rt.Nanotime() // its conversion aside, later than the records that were seen
	for i := range list {
		list[i].Now = max(now, list[i].Oldest)
	}
	return list
}

// oldest returns the clock of the n'th record of a page.
func oldest(c unsafe.Pointer, n int) uint64 {
	base := *(*uint64)(unsafe.Add(c, tracefile.PCounter))
	w := *(*uint64)(unsafe.Add(c, tracefile.PageHeaderSize+uintptr(n)*tracefile.RecordSize))
	return tracefile.Clock(w, base)
}
