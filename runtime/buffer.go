package ftrace

import (
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// header is the trace's header, see package tracefile.
var header unsafe.Pointer

// buffer is where pages come from: a bounded number. Pages that are full wait in the order in which they were retired; when there is no other
// the oldest is overwritten. Guarded by the runtime lock.
var buffer pagePool

type pagePool struct {
	pageSize uint32         // bytes
	limit    int            // pages for records at the most
	used     int            // pages for records
	procs    int            // Ps that write
	n        int            // pages, those of metadata included
	max      int            // pages that the list has room for
	pages    unsafe.Pointer // [max]unsafe.Pointer
	gen      uint64         // assignments so far

	free           unsafe.Pointer
	oldest, newest unsafe.Pointer // retired
	retired        int

	meta     unsafe.Pointer // page of metadata that is being filled
	metaUsed uint32
}

const (
	metaPages = 1024 // how many pages there may be for names, on top of the limit
	maxProcs  = 1024 // and for Ps beyond the limit, each of which holds a page
)

// minPages is how many pages there are for each P at the least, as in the kernel.
const minPages = 2

func link(c unsafe.Pointer) *unsafe.Pointer { return (*unsafe.Pointer)(unsafe.Add(c, tracefile.PLink)) }

// get returns a page for records; nil if every page belongs to a P.
func (b *pagePool) get() unsafe.Pointer {
	if c := b.free; c != nil {
		b.free = *link(c)
		return c
	}
	if b.used < max(b.limit, minPages*b.procs) {
		if c := b.page(); c != nil {
			b.used++
			return c
		}
		b.limit = b.used // no more
	}
	c := b.oldest
	if c == nil {
		return nil
	}
	b.oldest = *link(c)
	if b.oldest == nil {
		b.newest = nil
	}
	b.retired--
	*(*uint64)(unsafe.Add(header, tracefile.HOverwritten)) += records(c)
	return c
}

// page returns another page of zeros, nil if there is none.
func (b *pagePool) page() unsafe.Pointer {
	if b.n >= b.max {
		return nil
	}
	p := filePage(b.n)
	if p == nil && !mapped() {
		p = rt.Alloc(uintptr(b.pageSize))
	}
	if p == nil {
		return nil
	}
	*(*unsafe.Pointer)(unsafe.Add(b.pages, uintptr(b.n)*unsafe.Sizeof(p))) = p
	b.n++
	atomic.StoreUint32((*uint32)(unsafe.Add(header, tracefile.HPages)), uint32(b.n))
	return p
}

func (b *pagePool) at(i int) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Add(b.pages, uintptr(i)*unsafe.Sizeof(b.pages)))
}

// retire puts a page that nobody will write to any more at the end of the list.
func (b *pagePool) retire(c unsafe.Pointer) {
	*link(c) = nil
	if b.newest != nil {
		*link(b.newest) = c
	} else {
		b.oldest = c
	}
	b.newest = c
	b.retired++
}

// records counts the records of a page that were not read yet.
func records(c unsafe.Pointer) uint64 {
	_, n := tracefile.Slots(atomic.LoadUint32((*uint32)(unsafe.Add(c, tracefile.PCommit))))
	_, read := tracefile.Slots(*(*uint32)(unsafe.Add(c, tracefile.PRead)))
	return uint64(n - read)
}

// start makes the header and the list of pages. Called once, before the first tracer is switched on.
func (b *pagePool) start(kilobytes int) {
	b.pageSize = tracefile.MaxPage
	for b.pageSize > tracefile.MinPage && kilobytes*1024/int(b.pageSize) < 64 {
		b.pageSize /= 2
	}
	b.limit = max(minPages, kilobytes*1024/int(b.pageSize))
	b.max = b.limit + metaPages + minPages*maxProcs
	header = fileHeader(b.max)
	if header == nil {
		header = rt.Alloc(tracefile.HeaderSize)
	}
	b.pages = rt.Alloc(uintptr(b.max) * unsafe.Sizeof(b.pages))
	copy(unsafe.Slice((*byte)(header), len(tracefile.Magic)), tracefile.Magic)
	u32 := func(off uintptr) *uint32 { return (*uint32)(unsafe.Add(header, off)) }
	u64 := func(off uintptr) *uint64 { return (*uint64)(unsafe.Add(header, off)) }
	*u64(tracefile.HCounter) = rt.Clock()
	*u64(tracefile.HMono) = uint64(rt.Nanotime())
	*u64(tracefile.HText) = uint64(rt.Text)
	if rt.Mono == 0 {
		*u32(tracefile.HCounterKind) = tracefile.CounterTicks
	}
	*u32(tracefile.HPageSize) = b.pageSize
	*u32(tracefile.HMaxStack) = uint32(maxStack.Load())
}

// reset empties the buffer: what is in it now counts as read, and is not read again.
func (b *pagePool) reset() {
	u64 := func(off uintptr) *uint64 { return (*uint64)(unsafe.Add(header, off)) }
	rt.Lock()
	for b.oldest != nil {
		c := b.oldest
		b.oldest = *link(c)
		b.retired--
		b.drop(c)
	}
	b.newest = nil
	for p := processors; p != nil; p = p.next {
		if c := p.page; c != nil { // what the P adds meanwhile is left
			*(*uint32)(unsafe.Add(c, tracefile.PRead)) = atomic.LoadUint32((*uint32)(unsafe.Add(c, tracefile.PCommit)))
		}
	}
	*u64(tracefile.HOverwritten) = 0
	atomic.StoreUint64(u64(tracefile.HDropped), 0)
	atomic.StoreUint64(u64(tracefile.HOverrun), 0)
	rt.Unlock()
}

// drop frees a page that nobody writes to.
func (b *pagePool) drop(c unsafe.Pointer) {
	atomic.StoreUint32((*uint32)(unsafe.Add(c, tracefile.PMagic)), 0)
	*link(c) = b.free
	b.free = c
}

// addMeta appends to the metadata. It does nothing unless the trace is a file: in memory the tables themselves are at hand.
func (b *pagePool) addMeta(data []byte) {
	if !mapped() {
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
