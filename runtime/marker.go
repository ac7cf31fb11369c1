package ftrace

import (
	"fmt"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// This file writes the notes of the program itself: markers, and the names of goroutines.

// marker writes a note of the program's own into the array's buffer (trace_marker).
func (a *traceArray) marker(format string, args []any) {
	if rt == nil || !tracing.Load() || a.header == nil || stopped() || a.paused.Load() {
		return
	}
	text := fmt.Sprintf(format, args...)
	slot, proc := rt.Begin()
	if slot == nil {
		return
	}
	if a.writable() {
		g, p := newStates(slot, proc)
		p.in(a).markText(g, text)
	}
	rt.Done()
}

// markText writes a text as one marker, or as several if it is longer than tracefile.MaxMarker.
func (p *processor) markText(g *goroutine, text string) {
	for {
		part := text[:min(len(text), tracefile.MaxMarker)]
		p.mark(g, part)
		if text = text[len(part):]; text == "" {
			break
		}
	}
}

// mark writes one marker.
func (p *processor) mark(g *goroutine, text string) {
	now := rt.Clock()
	w0, w1 := now<<hook.ClockShift|tracefile.KindMarker, uint64(len(text))|uint64(g.Depth)<<32
	size, extra := tracefile.Size(w0, w1)
	if !p.reserve(g, now, size) {
		return
	}
	r := p.At
	*(*[2]uint64)(r) = [2]uint64{w0, w1}
	b := unsafe.Slice((*byte)(unsafe.Add(r, tracefile.RecordSize)), extra*tracefile.RecordSize)
	clear(b[copy(b, text):])
	g.sequence(p.array).seq++
	p.commit(size, extra)
}

// SetGoroutineName gives the calling goroutine a name, which traces show in place of its
// function's. Only the first 15 bytes count, as in the kernel (PR_SET_NAME). An empty name takes
// the name away. It does nothing in a program without hooks, nor in a callback.
func SetGoroutineName(name string) {
	if rt == nil {
		return
	}
	slot, proc := rt.Begin()
	if slot == nil {
		return
	}
	g, _ := newStates(slot, proc)
	g.name = [len(g.name)]byte{}
	copy(g.name[:tracefile.MaxName], name)
	g.Turn = 0 // the next record repeats the note, with the name
	for i := 1; g.sequences != nil && i < maxArrays; i++ {
		g.sequences[i].turn = 0
	}
	rt.Done()
}
