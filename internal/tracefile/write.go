package tracefile

import (
	"bytes"
	"io"
	"slices"
)

// WriteFile writes what is selected of the trace as a trace file, each record anew: with the
// monotonic clock, and only the names that the records need.
func (t *Trace) WriteFile(w io.Writer) error {
	head := slices.Clone(t.Header)
	end := uint64(t.nanoseconds(le.Uint64(head[HEndCounter:])))
	le.PutUint32(head[HCounterKind:], CounterNanoseconds)
	le.PutUint64(head[HCounter:], t.mono)
	le.PutUint64(head[HMono:], t.mono)
	le.PutUint64(head[HEndCounter:], end)
	le.PutUint64(head[HEndMono:], end)
	if off := le.Uint64(head[HOff:]); off != 0 {
		le.PutUint64(head[HOff:], uint64(t.nanoseconds(off)))
	}
	for _, off := range []int{HSince, HOverwritten, HDropped} {
		le.PutUint64(head[off:], 0)
	}
	le.PutUint32(head[HPages:], ^uint32(0)) // as many as there are
	f := &fileWriter{w: w, size: t.pageSize, pages: map[int32]*pageWriter{}, seq: map[*goroutine]uint32{}, offsets: map[uint32]bool{}}
	f.write(head)
	for e := range t.Events() {
		if !e.open {
			f.record(e)
		}
	}
	for _, p := range f.pages {
		f.flush(p)
	}
	var meta []byte
	for _, tab := range t.Tables {
		meta = AppendTable(meta, tab)
	}
	for off := range f.offsets {
		if name := t.symbolName(off); name != "" {
			meta = AppendSymbol(meta, off, name)
		}
	}
	for _, line := range t.Info {
		meta = AppendInfo(meta, line)
	}
	for len(meta) > 0 {
		page := make([]byte, f.size)
		meta = meta[PutMeta(page, meta):]
		f.write(page)
	}
	return f.err
}

// A fileWriter puts records into pages, one page at a time for each P.
type fileWriter struct {
	w       io.Writer
	err     error // the first of w
	size    int
	gen     uint64
	pages   map[int32]*pageWriter
	seq     map[*goroutine]uint32 // number of the goroutine's next record
	offsets map[uint32]bool       // in the text, that the records name
}

// A pageWriter is the page that a P's records go into.
type pageWriter struct {
	b     []byte
	count uint32 // see Slots
	g     *goroutine
	next  uint32 // number of the record that g's note promises
}

func (f *fileWriter) write(b []byte) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
	}
}

// flush writes a page and empties it.
func (f *fileWriter) flush(p *pageWriter) {
	if p.count == 0 {
		return
	}
	le.PutUint32(p.b[PCommit:], p.count)
	page := append(p.b, make([]byte, f.size-len(p.b))...)
	f.write(page)
	p.b, p.count, p.g = p.b[:0], 0, nil
}

// record adds an event, and a note of the goroutine where it is another one's turn or records of it
// are missing.
func (f *fileWriter) record(e *Event) {
	p := f.pages[e.Proc]
	if p == nil {
		p = &pageWriter{}
		f.pages[e.Proc] = p
	}
	g := e.g
	seq := f.seq[g] + e.Lost
	f.seq[g] = seq + 1
	var b []byte
	word := func(w ...uint64) {
		for _, v := range w {
			b = le.AppendUint64(b, v)
		}
	}
	upper := uint64(e.Depth)<<32 | uint64(min(e.Overrun, MaxOverrun))<<48
	if e.Panicked {
		upper |= Panicked
	}
	clock := uint64(e.Time)
	switch {
	case e.Kind == KindFunction:
		word(clock<<8|KindFunction, uint64(e.Func)|uint64(e.Parent)<<32)
		f.offsets[e.Parent] = true
	case e.Kind == KindMarker:
		text := e.Text[:min(len(e.Text), MaxMarker)]
		word(clock<<8|KindMarker, uint64(len(text))|uint64(e.Depth)<<32)
		b = append(b, text...)
		b = append(b, make([]byte, -len(text)&(RecordSize-1))...)
	case e.Kind == KindReturn && e.Valued:
		word(clock<<8|KindValue, uint64(e.Func)|upper, uint64(e.Entry), e.Value)
	case e.Kind == KindReturn && e.Entry != 0:
		word(clock<<8|KindSpan, uint64(e.Func)|upper, uint64(e.Entry), 0)
	default:
		word(clock<<8|uint64(e.Kind), uint64(e.Func)|upper)
	}
	note := 2 * RecordSize
	if g.name != "" {
		note = 3 * RecordSize
	}
	if p.count > 0 && len(p.b)+note+len(b) > f.size {
		f.flush(p)
	}
	if p.count == 0 {
		p.b = append(p.b[:0], make([]byte, PageHeaderSize)...)
		f.gen++
		le.PutUint32(p.b, PageMagic)
		le.PutUint64(p.b[PGen:], f.gen)
		le.PutUint64(p.b[PCounter:], clock)
		le.PutUint64(p.b[PMono:], clock)
		le.PutUint32(p.b[PProc:], uint32(e.Proc))
	}
	if p.g != g || p.next != seq {
		kind := uint64(KindSwitch)
		if g.name != "" {
			kind = KindNamed
		}
		at := len(p.b)
		for _, v := range []uint64{clock<<8 | kind, g.id, uint64(g.start) | uint64(seq)<<32, g.parent} {
			p.b = le.AppendUint64(p.b, v)
		}
		if g.name != "" {
			p.b = append(p.b, bytes.Repeat([]byte{0}, RecordSize)...)
			copy(p.b[at+2*RecordSize:at+3*RecordSize-1], g.name)
		}
		n := uint32(note / RecordSize)
		p.count += n + n*Extra
		f.offsets[g.start] = true
	}
	p.g, p.next = g, seq+1
	size, extra := Size(le.Uint64(b), le.Uint64(b[8:]))
	p.b = append(p.b, b...)
	p.count += size + extra*Extra
}
