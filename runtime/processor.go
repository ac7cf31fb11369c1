package ftrace

import (
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// A processor is the library's state of a P, behind the word that the patched runtime keeps for it
// in p. Hooks are pinned to their P, so the records of a P go into a page that only this P writes,
// as the records of a CPU do in the kernel (struct ring_buffer_per_cpu). A goroutine that is parked
// holds no page. The state lies outside the Go heap and is never freed, as a P is not.
type processor struct {
	hook.Processor // Turn changes with the goroutine that records; a Turn belongs to one P

	// Counts of records since the buffer was last emptied. They are aligned also where words have 4
	// bytes.
	overwritten, read, dropped uint64

	id   int32
	lost uint32     // records dropped since the last page
	next *processor // the array's next processor

	array  *traceArray
	others *[maxArrays]*processor // of the top array's processor, by index of the array
}

// processorSize keeps the states of two Ps on different cache lines, and on different pairs of
// lines that are fetched together. Bytes.
const processorSize = 256

// turnShift is the number of bits in a Turn that hold the number of the P. They keep the Turns of
// two Ps apart.
const turnShift = 20

var _ [processorSize - unsafe.Sizeof(processor{})]byte

// newStates makes the states that the calling goroutine and its P lack, and returns both.
func newStates(slot, proc *unsafe.Pointer) (*goroutine, *processor) {
	p := (*processor)(*proc)
	if p == nil {
		p = newProcessor(&top, rt.Proc())
		*proc = unsafe.Pointer(p)
	}
	g := (*goroutine)(*slot)
	if g == nil {
		g = newGoroutine(slot)
	}
	return g, p
}

// newProcessor makes the state of a P for an array.
func newProcessor(a *traceArray, id int32) *processor {
	rt.Lock()
	p := (*processor)(rt.Alloc(processorSize))
	p.array, p.id = a, id
	p.Turn = uint64(id) & (1<<turnShift - 1)
	p.next = a.processors
	a.processors = p
	a.procs++
	rt.Unlock()
	return p
}

// ready makes sure that a record of the goroutine may follow. It takes another page when this one
// is full, and writes a note when the goroutine differs from the one that recorded last. It returns
// false, and counts the record as dropped, if there is no page.
func (p *processor) ready(g *goroutine, now uint64) bool { return p.reserve(g, now, 1) }

// reserve is ready for a record of size pairs of words. A page has room for the longest record.
func (p *processor) reserve(g *goroutine, now uint64, size uint32) bool {
	t := g.sequence(p.array)
	if t.turn == p.Turn && size <= p.room() && !g.unnamed {
		return true
	}
	if g.unnamed {
		g.findStart()
	}
	kind, note := uint64(tracefile.KindSwitch), uint32(2)
	if g.name[0] != 0 {
		kind, note = tracefile.KindNamed, 3
	}
	if note+size > p.room() && !p.nextPage(now) {
		t.seq++
		return false
	}
	r := (*[6]uint64)(p.At)
	r[0], r[1] = now<<hook.ClockShift|kind, g.id
	r[2], r[3] = uint64(g.start)|t.seq<<32, g.parent
	if kind == tracefile.KindNamed {
		*(*[len(g.name)]byte)(unsafe.Pointer(&r[4])) = g.name
	}
	p.commit(note, note)
	p.Turn += 1 << turnShift
	if t.turn = p.Turn; g.unnamed {
		t.turn = 0 // the next record repeats the note
	}
	return true
}

// room returns how many pairs of words fit into the page; 0 without a page.
func (p *processor) room() uint32 { return uint32((p.End - uintptr(p.At)) / tracefile.RecordSize) }

// full reports whether the page has no room, or there is no page.
func (p *processor) full() bool { return uintptr(p.At) == p.End }

// commit makes size pairs of words at p.At part of the page. extra of them do not count as records.
// A reader takes what lies below the commit word, so the commit word is stored last.
func (p *processor) commit(size, extra uint32) {
	c := (*uint32)(unsafe.Add(p.Page, tracefile.PCommit))
	p.At = unsafe.Add(p.At, size*tracefile.RecordSize)
	storeCommit(c, *c+size+extra*tracefile.Extra)
}

// nextPage gives the P another page. It returns false, and counts a record as dropped, if there is
// none.
func (p *processor) nextPage(now uint64) bool {
	b := p.array
	if b.stuck.Load() {
		p.drop()
		return false
	}
	rt.Lock()
	if p.Page != nil {
		*(*uint64)(unsafe.Add(p.Page, tracefile.PEnd)) = now
		b.retire(p.Page)
		p.Page, p.At, p.End = nil, nil, 0
	}
	c := b.get()
	if c == nil {
		rt.Unlock()
		p.drop()
		return false
	}
	u32 := func(off uintptr) *uint32 { return (*uint32)(unsafe.Add(c, off)) }
	u64 := func(off uintptr) *uint64 { return (*uint64)(unsafe.Add(c, off)) }
	// Readers look at the magic number, the commit word and gen before and after they copy.
	atomic.StoreUint32(u32(tracefile.PMagic), 0)
	atomic.StoreUint32(u32(tracefile.PCommit), 0)
	b.gen++
	atomic.StoreUint64(u64(tracefile.PGen), b.gen)
	*u64(tracefile.PCounter) = now
	*u64(tracefile.PMono) = uint64(rt.Nanotime())
	*u32(tracefile.PProc) = uint32(p.id)
	*u32(tracefile.PLost) = p.lost
	*u32(tracefile.PRead) = 0
	*u64(tracefile.PEnd) = 0
	*(**processor)(unsafe.Add(c, tracefile.POwner)) = p
	atomic.StoreUint32(u32(tracefile.PMagic), tracefile.PageMagic)
	rt.Unlock()
	p.Page, p.At = c, unsafe.Add(c, tracefile.PageHeaderSize)
	p.End = uintptr(p.At) + uintptr(b.pageSize-tracefile.PageHeaderSize)/tracefile.RecordSize*tracefile.RecordSize
	p.lost = 0
	return true
}

// drop counts a record that finds no room.
func (p *processor) drop() {
	p.lost++
	atomic.AddUint64(&p.dropped, 1)
	atomic.AddUint64((*uint64)(unsafe.Add(p.array.header, tracefile.HDropped)), 1)
}
