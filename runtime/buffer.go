package ftrace

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// pagePool is where an array's pages come from: a bounded number of them, whatever the number of goroutines. Pages that are full wait in the order in
// which they were retired; when there is no other the oldest is overwritten. Guarded by the runtime lock.
type pagePool struct {
	size     int            // kB, as it was set before first use
	pageSize uint32         // bytes
	limit    int            // pages for records at the most
	used     int            // pages for records
	procs    int            // Ps that write
	n        int            // pages, those of metadata and spare ones included
	max      int            // pages that the list has room for
	pages    unsafe.Pointer // [max]unsafe.Pointer
	gen      uint64         // assignments so far
	keep     bool           // nooverwrite: when all pages are full, new records are dropped

	stuck          atomic.Bool // so it is
	free           unsafe.Pointer
	spare          unsafe.Pointer // beyond the limit
	oldest, newest unsafe.Pointer // retired

	meta     unsafe.Pointer // page of metadata that is being filled
	metaUsed uint32
}

const (
	minPages  = 2    // how many pages there are for each P at the least, as in the kernel
	metaPages = 1024 // how many pages there may be for names, on top of the limit
	maxProcs  = 1024 // how many Ps may have pages of their own beyond the limit
)

func link(c unsafe.Pointer) *unsafe.Pointer { return (*unsafe.Pointer)(unsafe.Add(c, tracefile.PLink)) }

// cap is how many pages there may be for records.
func (b *traceArray) cap() int { return max(b.limit, minPages*b.procs) }

// get returns a page for records; nil if there is none.
func (b *traceArray) get() unsafe.Pointer {
	for b.used > b.cap() && b.shed() {
	}
	if c := b.free; c != nil {
		b.free = *link(c)
		return c
	}
	if b.used < b.cap() {
		if c := b.page(); c != nil {
			b.used++
			return c
		}
		b.limit = b.used // no more
		if *(*uint32)(unsafe.Add(b.header, tracefile.HState))&tracefile.StateNoSpace != 0 {
			b.keep = true // the disk is full: what is recorded stays
		}
	}
	if b.keep || b.oldest == nil {
		b.stuck.Store(b.keep)
		return nil
	}
	return b.overwrite()
}

// overwrite takes the oldest page from the list, and counts what was in it as overwritten.
func (b *traceArray) overwrite() unsafe.Pointer {
	c := b.unretire()
	n := records(c)
	*(*uint64)(unsafe.Add(b.header, tracefile.HOverwritten)) += n
	ownerOf(c).overwritten += n
	return c
}

// shed puts a page beyond the limit aside, the oldest if none is free.
func (b *traceArray) shed() bool {
	c := b.free
	switch {
	case c != nil:
		b.free = *link(c)
	case b.oldest != nil:
		c = b.overwrite()
	default:
		return false
	}
	atomic.StoreUint32((*uint32)(c), 0)
	*link(c) = b.spare
	b.spare = c
	b.used--
	return true
}

// page returns another page, nil if there is none.
func (b *traceArray) page() unsafe.Pointer {
	if c := b.spare; c != nil {
		b.spare = *link(c)
		return c
	}
	if b.n >= b.max {
		return nil
	}
	var p unsafe.Pointer
	if b.index == 0 {
		p = filePage(b.n)
	}
	if p == nil && !b.mapped() {
		if b.pageSize == tracefile.MaxPage {
			p = rt.Map(tracefile.MaxPage)
		} else {
			p = rt.Alloc(uintptr(b.pageSize))
		}
	}
	if p == nil {
		return nil
	}
	*b.at(b.n) = p
	b.n++
	atomic.StoreUint32((*uint32)(unsafe.Add(b.header, tracefile.HPages)), uint32(b.n))
	return p
}

func (b *traceArray) at(i int) *unsafe.Pointer {
	return (*unsafe.Pointer)(unsafe.Add(b.pages, uintptr(i)*unsafe.Sizeof(b.pages)))
}

// retire puts a page that nobody will write to any more at the end of the list.
func (b *traceArray) retire(c unsafe.Pointer) {
	*link(c) = nil
	if b.newest != nil {
		*link(b.newest) = c
	} else {
		b.oldest = c
	}
	b.newest = c
}

// unretire takes the oldest page from the list.
func (b *traceArray) unretire() unsafe.Pointer {
	c := b.oldest
	if b.oldest = *link(c); b.oldest == nil {
		b.newest = nil
	}
	return c
}

// drop frees a page that nobody writes to.
func (b *traceArray) drop(c unsafe.Pointer) {
	atomic.StoreUint32((*uint32)(c), 0)
	*link(c) = b.free
	b.free = c
	b.stuck.Store(false)
}

// records counts the records of a page that were not read yet.
func records(c unsafe.Pointer) uint64 {
	_, n := tracefile.Slots(atomic.LoadUint32((*uint32)(unsafe.Add(c, tracefile.PCommit))))
	_, read := tracefile.Slots(*(*uint32)(unsafe.Add(c, tracefile.PRead)))
	return uint64(n - read)
}

func ownerOf(c unsafe.Pointer) *processor {
	return *(**processor)(unsafe.Add(c, tracefile.POwner))
}

// start makes the header and the list of pages. Called once, before the first tracer is switched on.
func (b *traceArray) start(kilobytes int) {
	b.pageSize = tracefile.MaxPage
	for b.index == 0 && b.pageSize > tracefile.MinPage && kilobytes*1024/int(b.pageSize) < 64 {
		b.pageSize /= 2
	}
	b.limit = b.pagesOf(kilobytes)
	n := b.limit + metaPages + minPages*maxProcs
	if b.index == 0 {
		b.header = fileHeader(n)
	}
	if b.header == nil {
		b.header, b.spareHeader = b.spareHeader, nil
	}
	if b.header == nil {
		b.header = rt.Alloc(tracefile.HeaderSize)
	}
	if n > b.max {
		b.makeList(n)
	}
	copy(unsafe.Slice((*byte)(b.header), len(tracefile.Magic)), tracefile.Magic)
	u32 := func(off uintptr) *uint32 { return (*uint32)(unsafe.Add(b.header, off)) }
	u64 := func(off uintptr) *uint64 { return (*uint64)(unsafe.Add(b.header, off)) }
	b.startClock()
	*u64(tracefile.HText) = uint64(rt.Text)
	*u32(tracefile.HPageSize) = b.pageSize
	*u32(tracefile.HMaxStack) = uint32(maxStack.Load())
}

func (b *traceArray) pagesOf(kilobytes int) int { return max(minPages, kilobytes*1024/int(b.pageSize)) }

// makeList makes a list of pages with room for n.
func (b *traceArray) makeList(n int) {
	list := rt.Alloc(uintptr(n) * unsafe.Sizeof(b.pages))
	rt.Lock()
	if b.pages != nil {
		copy(unsafe.Slice((*unsafe.Pointer)(list), n), unsafe.Slice((*unsafe.Pointer)(b.pages), b.n))
	}
	b.pages, b.max = list, n
	rt.Unlock()
}

func (b *traceArray) setBufferSize(kilobytes int) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	if kilobytes < 1 || kilobytes > 1<<30 {
		return fmt.Errorf("the size of the buffer is 1 to 1073741824 kB, not %d", kilobytes)
	}
	ctl.Lock()
	defer ctl.Unlock()
	if b.header == nil {
		b.size = kilobytes
		return nil
	}
	b.readers.Lock()
	defer b.readers.Unlock()
	b.taken++
	n := b.pagesOf(kilobytes)
	if want := n + metaPages + minPages*maxProcs; want > b.max && !b.mapped() {
		b.makeList(want)
	}
	rt.Lock()
	b.limit = n
	for b.used > b.cap() && b.shed() {
	}
	b.stuck.Store(false)
	gone := unsafe.Pointer(nil)
	if !b.mapped() && b.pageSize == tracefile.MaxPage {
		gone, b.spare = b.spare, nil
	}
	for c := gone; c != nil; c = *link(c) {
		*(*unsafe.Pointer)(unsafe.Add(c, tracefile.POwner)) = c // marks it
	}
	kept := 0
	for i := range b.n {
		c := *b.at(i)
		if gone != nil && *(*unsafe.Pointer)(unsafe.Add(c, tracefile.POwner)) == c {
			continue
		}
		*b.at(kept) = c
		kept++
	}
	b.n = kept
	rt.Unlock()
	for gone != nil {
		c := gone
		gone = *link(c)
		rt.Unmap(c, tracefile.MaxPage)
	}
	return nil
}

func (b *traceArray) bufferSize() int {
	ctl.Lock()
	defer ctl.Unlock()
	if b.header == nil {
		return b.size
	}
	rt.Lock()
	defer rt.Unlock()
	return b.cap() * int(b.pageSize) / 1024
}

// reset empties the buffer: what is in it counts neither as written nor as read any more, and does not come. Called while no tracer's function is
// under way.
func (b *traceArray) reset() {
	u64 := func(off uintptr) *uint64 { return (*uint64)(unsafe.Add(b.header, off)) }
	b.consuming.Lock() // a page that is being consumed is in no list
	defer b.consuming.Unlock()
	rt.Lock()
	for b.oldest != nil {
		b.drop(b.unretire())
	}
	for p := b.processors; p != nil; p = p.next {
		if c := p.Page; c != nil {
			*(*uint32)(unsafe.Add(c, tracefile.PRead)) = atomic.LoadUint32((*uint32)(unsafe.Add(c, tracefile.PCommit)))
		}
		p.overwritten, p.read = 0, 0
		atomic.StoreUint64(&p.dropped, 0)
	}
	*u64(tracefile.HOverwritten) = 0
	b.before = b.written()
	atomic.StoreUint64(u64(tracefile.HDropped), 0)
	atomic.StoreUint64(u64(tracefile.HOverrun), 0)
	b.stuck.Store(false)
	rt.Unlock()
}

// mapped reports whether the array is a file.
func (b *traceArray) mapped() bool { return b.index == 0 && mapped() }

// addMeta appends to the metadata. It does nothing unless the trace is a file: in memory the tables themselves are at hand.
func (b *traceArray) addMeta(data []byte) {
	if !b.mapped() {
		return
	}
	for len(data) > 0 {
		if b.meta == nil || b.metaUsed == b.pageSize-8 {
			if b.meta = b.page(); b.meta == nil {
				return
			}
			b.metaUsed = 0
			*(*uint32)(b.meta) = tracefile.MetaMagic
		}
		n := copy(unsafe.Slice((*byte)(unsafe.Add(b.meta, 8)), b.pageSize-8)[b.metaUsed:], data)
		data = data[n:]
		b.metaUsed += uint32(n)
		atomic.StoreUint32((*uint32)(unsafe.Add(b.meta, 4)), b.metaUsed)
	}
}
