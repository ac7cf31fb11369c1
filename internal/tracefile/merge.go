package tracefile

import (
	"bytes"
	"iter"
)

// An Event is a record with what its place in the trace tells.
type Event struct {
	Time     int64  // monotonic clock, ns
	Entry    int64  // KindReturn: when the call began, if its entry is no record; otherwise 0
	Start    int64  // KindReturn: when the call began, 0 if the trace does not tell
	Value    uint64 // KindReturn: the first word of the results …
	Text     string // KindMarker
	g        *goroutine
	Depth    int
	Overrun  int // KindReturn: overruns below the call
	Proc     int32
	Func     uint32
	Parent   uint32 // KindFunction: offset of the caller in the text
	Lost     uint32 // records of the goroutine that were lost just before this one
	Kind     uint8
	Valued   bool // … if it is known
	Panicked bool // KindReturn: the call ended by a panic
	open     bool // KindReturn: made up at the end of the trace, for a call that has not returned
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

func (t *Trace) cursor(s *stream) *cursor {
	return &cursor{t: t, s: s, buf: make([]byte, t.pageSize)}
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
		size := RecordSize
		if kind > KindReturn {
			slots, _ := Size(w0, w1)
			if size = int(slots) * RecordSize; len(c.data) < size {
				c.data = nil
				continue
			}
		}
		slot, more := c.data[:size], c.data[RecordSize:size]
		c.data = c.data[size:]
		c.skip -= size / RecordSize
		if kind == KindSwitch || kind == KindNamed {
			note := readNote(kind, slot)
			if c.g == nil || c.g.id != note.id {
				c.g = c.t.goroutine(note.id, note.parent)
			}
			c.seq = note.seq
			c.g.learn(note)
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
		e := &c.ev
		*e = Event{Time: c.t.nanoseconds(clock), Kind: kind, Proc: c.s.proc, Func: uint32(w1), g: c.g}
		c.evN = n
		upper := uint32(w1 >> 32)
		switch kind {
		case KindFunction:
			e.Parent = upper
		case KindEntry:
			e.Depth = int(upper & 0xffff)
		case KindSpan, KindValue:
			if start := le.Uint64(more); start != 0 {
				e.Entry = c.t.nanoseconds(start)
			}
			if kind == KindValue {
				e.Value, e.Valued = le.Uint64(more[8:]), true
			}
			fallthrough
		case KindReturn:
			e.Kind = KindReturn
			e.Depth = int(upper & 0xffff)
			e.Overrun = int(w1 >> OverrunShift & MaxOverrun)
			e.Panicked = w1&Panicked != 0
		case KindMarker:
			e.Func = 0
			e.Depth = int(upper & 0xffff)
			e.Text = string(more[:min(int(uint16(w1)), len(more))])
		default:
			continue
		}
		return true
	}
}

// Clock returns the clock of a record that begins with w, which holds 56 bits of it, near a
// reading.
func Clock(w, near uint64) uint64 { return near + uint64(int64((w>>8-near)<<8)>>8) }

// note is what a KindSwitch or KindNamed says of a goroutine.
type note struct {
	id, parent uint64
	start, seq uint32
	name       []byte // nil if it has none
}

func readNote(kind uint8, b []byte) note {
	n := note{id: le.Uint64(b[8:]), start: le.Uint32(b[16:]), seq: le.Uint32(b[20:]), parent: le.Uint64(b[24:])}
	if kind == KindNamed {
		n.name, _, _ = bytes.Cut(b[32:48], []byte{0})
	}
	return n
}

// learn takes over what a note says. A later one may know better which function the go statement
// was given, and a goroutine keeps the name that it had once.
func (g *goroutine) learn(n note) {
	renamed := n.name != nil && string(n.name) != g.name
	if n.start == g.start && !renamed {
		return
	}
	if g.start = n.start; renamed {
		g.name = string(n.name)
	}
	g.task, g.row = "", "" // made of them
}

// goroutine returns the goroutine of a number.
func (t *Trace) goroutine(id, parent uint64) *goroutine {
	g := t.goroutines[id]
	if g == nil {
		g = &goroutine{id: id, parent: parent}
		t.goroutines[id] = g
	}
	return g
}

// cursors is a heap of cursors by the time of their next record, and by P where that is the same.
type cursors []*cursor

func (h cursors) less(i, j int) bool {
	a, b := h[i], h[j]
	return a.ev.Time < b.ev.Time || a.ev.Time == b.ev.Time && a.s.proc < b.s.proc
}

// down moves the cursor at i to where it belongs below.
func (h cursors) down(i int) {
	for {
		first := 2*i + 1
		if first >= len(h) {
			return
		}
		if first+1 < len(h) && h.less(first+1, first) {
			first++
		}
		if !h.less(first, i) {
			return
		}
		h[i], h[first] = h[first], h[i]
		i = first
	}
}

// merge calls yield with the records of all Ps in order of time. A record is there until yield
// returns.
func (t *Trace) merge(yield func(e *Event) bool) {
	if t.goroutines = t.carried; t.goroutines == nil {
		t.goroutines = map[uint64]*goroutine{}
	}
	var h cursors
	for _, s := range t.streams {
		if c := t.cursor(s); c.advance() {
			h = append(h, c)
		}
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
	for len(h) > 0 {
		c := h[0]
		g := c.ev.g
		if g.seen && c.evN != g.seq {
			c.ev.Lost = c.evN - g.seq
		}
		g.seen, g.seq, g.proc = true, c.evN+1, c.ev.Proc
		if !yield(&c.ev) {
			return
		}
		if !c.advance() {
			h[0] = h[len(h)-1]
			h = h[:len(h)-1]
		}
		h.down(0)
	}
}

// Events returns the selected records of all Ps in order of time. An event is there until the next
// one is asked for.
func (t *Trace) Events() iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		to := t.Select.To
		t.follow(func(e *Event, _ *call, shown bool) bool {
			if shown {
				return yield(e)
			}
			return to == 0 || e.Time <= to
		})
	}
}

// Goroutines returns the numbers of the goroutines that made the trace's records, in no order. It
// ends early when enough says so of what was found.
func (t *Trace) Goroutines(enough func(found map[uint64]bool) bool) map[uint64]bool {
	t.goroutines = map[uint64]*goroutine{}
	found := map[uint64]bool{}
	for _, s := range t.streams {
		c := t.cursor(s)
		for last := (*goroutine)(nil); c.advance(); {
			if c.g == last {
				continue
			}
			last = c.g
			if found[c.g.id] = true; enough != nil && enough(found) {
				return found
			}
		}
	}
	return found
}
