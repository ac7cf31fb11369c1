package ftrace

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// Stats counts what the library did since the buffer was last emptied, or since the program began where that is said. While nothing is traced
// Written is the sum of Entries, Overwritten, Dropped and Read: the goroutines count the one, the buffer the others.
type Stats struct {
	Written     uint64 // records that were made
	Entries     uint64 // records in the buffer
	Overwritten uint64 // records that newer ones took the place of
	Dropped     uint64 // records that found no room
	Read        uint64 // records that were consumed
	Overruns    uint64 // calls that lay below the maximum depth of a return stack
	Goroutines  int    // goroutines that made a traced call and have not ended
	Ended       uint64 // goroutines that made a traced call and have ended, since the program began
	Unbalanced  uint64 // of these, how many ended with calls on their return stack: always 0 unless ftgo is broken
	Mismatches  uint64 // returns that did not match their entry, since the program began: always 0 unless ftgo is broken
}

// CPUStats are the counts of one P (per_cpu/cpuN/stats).
type CPUStats struct {
	CPU         int
	Entries     uint64 // records in the buffer
	Overwritten uint64 // records that newer ones took the place of (overrun)
	Bytes       uint64 // that the entries take, with the notes between them
	Oldest, Now int64  // monotonic time of the oldest entry, 0 if there is none, and of this moment, ns
	Dropped     uint64 // records that found no room (dropped events)
	Read        uint64 // records that were consumed (read events)
}

var mismatches atomic.Uint64

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
	now := rt.Nanotime() // after the last record that was seen, but for what its conversion is off by
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
