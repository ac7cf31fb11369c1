package tracefile

import (
	"bytes"
	"container/heap"
	"slices"
)

// An Event is a record with what its place in the trace tells.
type Event struct {
	Time    int64 // monotonic clock, ns
	Kind    uint8
	Proc    int32
	Func    uint32
	Depth   int
	Parent  uint32 // KindFunction: offset of the caller in the text
	Overrun int    // KindReturn: overruns below the call
	Entry   int64  // KindReturn: when the call began, if no record says it; otherwise 0
	Value   uint64 // KindReturn: the first word of the results …
	Valued  bool   // … if it is known
	Text    string // KindMarker
	Lost    uint32 // records of the goroutine that were lost just before this one
	g       *goroutine
}

// Goid returns the goroutine that made the record.
func (e *Event) Goid() uint64 { return e.g.id }

// cursor reads the records of one P.
type cursor struct {
	t    *Trace
	s    *stream
	next int // page
	buf  []byte
	data []byte
	skip int    // records of data that were read in the program
	base uint64 // clock of the page, for the upper bits of records
	g    *goroutine
	seq  uint32 // of the goroutine's record that is next
	ev   Event
	evN  uint32 // seq of ev
}

// advance reads the next record into c.ev, and reports whether there was one.
func (c *cursor) advance() bool {
	for {
		for len(c.data) == 0 {
			if c.next == len(c.s.pages) {
				return false
			}
			b := c.t.load(c.s.pages[c.next].index, c.buf)
			c.next++
			if len(b) < PageHeaderSize || le.Uint32(b) != PageMagic {
				continue
			}
			slots, _ := Slots(le.Uint32(b[PCommit:]))
			slots = min(slots, (len(b)-PageHeaderSize)/RecordSize)
			c.data = b[PageHeaderSize : PageHeaderSize+slots*RecordSize]
			c.base = le.Uint64(b[PCounter:])
			c.skip, _ = Slots(le.Uint32(b[PRead:]))
			c.g = nil
		}
		w0, w1 := le.Uint64(c.data), le.Uint64(c.data[8:])
		kind := uint8(w0)
		size, _ := Size(w0, w1)
		if len(c.data) < int(size)*RecordSize {
			c.data = nil
			continue
		}
		more := c.data[RecordSize : int(size)*RecordSize]
		c.data = c.data[int(size)*RecordSize:]
		c.skip -= int(size)
		if kind == KindSwitch || kind == KindNamed {
			w2, w3 := le.Uint64(more), le.Uint64(more[8:])
			c.g = c.t.goroutine(w1, uint32(w2), w3)
			c.seq = uint32(w2 >> 32)
			if kind == KindNamed {
				name, _, _ := bytes.Cut(more[RecordSize:], []byte{0})
				c.g.name = string(name)
			}
			continue
		}
		if c.g == nil {
			continue // no page begins so
		}
		n := c.seq
		c.seq++
		clock := Clock(w0, c.base)
		if c.skip >= 0 || clock < c.t.since {
			continue
		}
		c.ev = Event{Time: c.t.nanoseconds(clock), Kind: kind, Proc: c.s.proc, Func: uint32(w1), g: c.g}
		c.evN = n
		upper := uint32(w1 >> 32)
		switch kind {
		case KindFunction:
			c.ev.Parent = upper
		case KindEntry:
			c.ev.Depth = int(upper & 0xffff)
		case KindSpan, KindValue:
			if start := le.Uint64(more); start != 0 {
				c.ev.Entry = c.t.nanoseconds(start)
			}
			if kind == KindValue {
				c.ev.Value, c.ev.Valued = le.Uint64(more[8:]), true
			}
			fallthrough
		case KindReturn:
			c.ev.Kind = KindReturn
			c.ev.Depth = int(upper & 0xffff)
			c.ev.Overrun = int(upper >> 16)
		case KindMarker:
			c.ev.Func = 0
			c.ev.Depth = int(upper & 0xffff)
			c.ev.Text = string(more[:min(int(uint16(w1)), len(more))])
		default:
			continue
		}
		return true
	}
}

// Clock returns the clock of a record that begins with w, which holds 56 bits of it, near a reading.
func Clock(w, near uint64) uint64 { return near + uint64(int64((w>>8-near)<<8)>>8) }

// goroutine returns the goroutine of a number.
func (t *Trace) goroutine(id uint64, start uint32, parent uint64) *goroutine {
	g := t.goroutines[id]
	if g == nil {
		g = &goroutine{id: id, start: start, parent: parent}
		t.goroutines[id] = g
	}
	return g
}

// cursors is a heap of cursors by the time of their next record.
type cursors []*cursor

func (h cursors) Len() int { return len(h) }
func (h cursors) Less(i, j int) bool {
	if h[i].ev.Time != h[j].ev.Time {
		return h[i].ev.Time < h[j].ev.Time
	}
	return h[i].s.proc < h[j].s.proc
}
func (h cursors) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *cursors) Push(x any)   { *h = append(*h, x.(*cursor)) }
func (h *cursors) Pop() any {
	old := *h
	c := old[len(old)-1]
	*h = old[:len(old)-1]
	return c
}

// Events returns the records of all Ps in order of time.
func (t *Trace) Events() func(yield func(*Event) bool) {
	return func(yield func(*Event) bool) {
		if t.goroutines = t.carried; t.goroutines == nil {
			t.goroutines = map[uint64]*goroutine{}
		}
		var h cursors
		for _, s := range t.streams {
			c := &cursor{t: t, s: s, buf: make([]byte, t.pageSize)}
			if c.advance() {
				h = append(h, c)
			}
		}
		heap.Init(&h)
		for len(h) > 0 {
			c := h[0]
			ev := c.ev
			if ev.g.seen && c.evN != ev.g.seq {
				ev.Lost = c.evN - ev.g.seq
			}
			ev.g.seen, ev.g.seq = true, c.evN+1
			if (len(t.Only) == 0 || slices.Contains(t.Only, ev.g.id)) && !yield(&ev) {
				return
			}
			if c.advance() {
				heap.Fix(&h, 0)
			} else {
				heap.Pop(&h)
			}
		}
	}
}
