package tracefile

import "container/heap"

// An Event is a record with what its place in the trace tells.
type Event struct {
	Time    int64 // monotonic clock, ns
	Kind    uint8
	Proc    int32
	Func    uint32
	Depth   int
	Parent  uint32 // KindFunction: offset of the caller in the text
	Overrun int    // KindReturn: overruns below the call
	Lost    uint32 // records of the goroutine that were lost just before this one
	g       *goroutine
}

// Goid returns the goroutine that made the record.
func (e *Event) Goid() uint64 { return e.g.id }

// cursor reads the records of one goroutine.
type cursor struct {
	t       *Trace
	g       *goroutine
	next    int // chunk
	data    []byte
	base    uint64 // counter of the chunk, for the upper bits of records
	proc    int32
	lost    uint32
	lastSeq uint32
	started bool
	since   uint64
	ev      Event
}

// advance reads the next record into c.ev, and reports whether there was one.
func (c *cursor) advance() bool {
	for {
		for len(c.data) == 0 {
			if c.next == len(c.g.chunks) {
				return false
			}
			ch := c.g.chunks[c.next]
			c.next++
			c.data = ch.data
			c.base = le.Uint64(ch.head[CCounter:])
			c.proc = int32(le.Uint32(ch.head[CProc:]))
			c.lost += le.Uint32(ch.head[CLost:])
			seq := le.Uint32(ch.head[CSeq:])
			if c.started && seq > c.lastSeq+1 && c.lost == 0 {
				c.lost = 1 // chunks in between were overwritten; their records are not known one by one
			}
			c.started = true
			c.lastSeq = seq
		}
		w0, w1 := le.Uint64(c.data), le.Uint64(c.data[8:])
		c.data = c.data[RecordSize:]
		kind := uint8(w0)
		if kind == KindProc {
			c.proc = int32(uint32(w1))
			continue
		}
		if !after(w0, c.since) {
			continue
		}
		counter := c.base + uint64(int64((w0>>8-c.base)<<8)>>8)
		c.ev = Event{Time: c.t.nanoseconds(counter), Kind: kind, Proc: c.proc, Func: uint32(w1), Lost: c.lost, g: c.g}
		c.lost = 0
		upper := uint32(w1 >> 32)
		switch kind {
		case KindFunction:
			c.ev.Parent = upper
		case KindEntry:
			c.ev.Depth = int(upper & 0xffff)
		case KindReturn:
			c.ev.Depth = int(upper & 0xffff)
			c.ev.Overrun = int(upper >> 16)
		default:
			continue
		}
		return true
	}
}

// cursors is a heap of cursors by the time of their next record.
type cursors []*cursor

func (h cursors) Len() int { return len(h) }
func (h cursors) Less(i, j int) bool {
	if h[i].ev.Time != h[j].ev.Time {
		return h[i].ev.Time < h[j].ev.Time
	}
	return h[i].g.id < h[j].g.id
}
func (h cursors) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *cursors) Push(x any)   { *h = append(*h, x.(*cursor)) }
func (h *cursors) Pop() any {
	old := *h
	c := old[len(old)-1]
	*h = old[:len(old)-1]
	return c
}

// Events returns the records of all goroutines in order of time.
func (t *Trace) Events() func(yield func(*Event) bool) {
	return func(yield func(*Event) bool) {
		var h cursors
		since := le.Uint64(t.Header[HSince:])
		for _, g := range t.goroutines {
			c := &cursor{t: t, g: g, since: since}
			if c.advance() {
				h = append(h, c)
			}
		}
		heap.Init(&h)
		for len(h) > 0 {
			c := h[0]
			ev := c.ev
			if !yield(&ev) {
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
