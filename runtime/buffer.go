package ftrace

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// This file holds an array's buffer: its header, where its pages come from, and its size. Which
// page is on which list is the matter of pagepool.go.

// start makes the header and the array of pages. It is called once, before the first tracer is
// switched on.
func (a *traceArray) start(kilobytes int) {
	a.pageSize = tracefile.MaxPage
	if a.index == 0 { // pages of instances are mapped one by one, and given back
		a.pageSize = pageSizeFor(kilobytes)
	}
	a.limit = a.pagesOf(kilobytes)
	n := listLength(a.limit)
	if a.index == 0 {
		a.header = fileHeader(n)
	}
	if a.header == nil {
		a.header, a.spareHeader = a.spareHeader, nil
	}
	if a.header == nil {
		a.header = rt.Alloc(tracefile.HeaderSize)
	}
	if n > a.max {
		a.makeList(n)
	}
	copy(unsafe.Slice((*byte)(a.header), len(tracefile.Magic)), tracefile.Magic)
	u32 := func(off uintptr) *uint32 { return (*uint32)(unsafe.Add(a.header, off)) }
	u64 := func(off uintptr) *uint64 { return (*uint64)(unsafe.Add(a.header, off)) }
	a.startClock()
	*u64(tracefile.HText) = uint64(rt.Text)
	*u32(tracefile.HPageSize) = a.pageSize
	*u32(tracefile.HMaxStack) = uint32(maxStack.Load())
}

// mapped reports whether the array's buffer is a file.
func (a *traceArray) mapped() bool { return a.index == 0 && mapped() }

// get returns a page for records, and nil if there is none. It is called with the runtime lock
// held.
func (a *traceArray) get() unsafe.Pointer {
	for a.used > a.cap() && a.shed() {
	}
	if c := a.takeFree(); c != nil {
		return c
	}
	if a.used < a.cap() {
		if c := a.page(); c != nil {
			a.used++
			return c
		}
		a.limit = a.used // there will be no more
		if *(*uint32)(unsafe.Add(a.header, tracefile.HState))&tracefile.StateNoSpace != 0 {
			a.keep = true // the disk is full: what is recorded stays
		}
	}
	if a.keep || a.oldest == nil {
		a.stuck.Store(a.keep)
		return nil
	}
	return a.overwrite()
}

// page returns a page that is in no use, and nil if there is none.
func (a *traceArray) page() unsafe.Pointer {
	if c := a.takeSpare(); c != nil {
		return c
	}
	if a.n >= a.max {
		return nil
	}
	var c unsafe.Pointer
	if a.index == 0 {
		c = filePage(a.n)
	}
	if c == nil && !a.mapped() {
		c = a.alloc()
	}
	if c == nil {
		return nil
	}
	a.add(c)
	atomic.StoreUint32((*uint32)(unsafe.Add(a.header, tracefile.HPages)), uint32(a.n))
	return c
}

// overwrite takes the oldest retired page, and counts the records in it as overwritten.
func (a *traceArray) overwrite() unsafe.Pointer {
	c := a.unretire()
	n := records(c)
	*(*uint64)(unsafe.Add(a.header, tracefile.HOverwritten)) += n
	ownerOf(c).overwritten += n
	return c
}

// shed sets a page aside that is beyond the limit: a free one, otherwise the oldest retired one. It
// reports whether there was one.
func (a *traceArray) shed() bool {
	c := a.takeFree()
	if c == nil {
		if a.oldest == nil {
			return false
		}
		c = a.overwrite()
	}
	a.setAside(c)
	return true
}

// ownerOf returns the P that fills a page, or has filled it.
func ownerOf(c unsafe.Pointer) *processor {
	return *(**processor)(unsafe.Add(c, tracefile.POwner))
}

// setBufferSize sets the size of the buffer. A buffer that becomes smaller gives its memory back,
// if its pages were mapped one by one.
func (a *traceArray) setBufferSize(kilobytes int) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	if kilobytes < 1 || kilobytes > 1<<30 {
		return fmt.Errorf("the size of the buffer is 1 to 1073741824 kB, not %d", kilobytes)
	}
	ctl.Lock()
	defer ctl.Unlock()
	if a.header == nil {
		a.size = kilobytes
		return nil
	}
	a.readers.Lock()
	defer a.readers.Unlock()
	a.taken++
	n := a.pagesOf(kilobytes)
	if want := listLength(n); want > a.max && !a.mapped() {
		a.makeList(want)
	}
	rt.Lock()
	a.limit = n
	for a.used > a.cap() && a.shed() {
	}
	a.stuck.Store(false)
	var gone unsafe.Pointer
	if !a.mapped() && a.pageSize == tracefile.MaxPage {
		gone = a.takeSpares()
	}
	rt.Unlock()
	for gone != nil {
		c := gone
		gone = *link(c)
		rt.Unmap(c, tracefile.MaxPage)
	}
	return nil
}

// bufferSize returns the size of the buffer in kilobytes.
func (a *traceArray) bufferSize() int {
	ctl.Lock()
	defer ctl.Unlock()
	if a.header == nil {
		return a.size
	}
	rt.Lock()
	defer rt.Unlock()
	return a.cap() * int(a.pageSize) / 1024
}

// reset empties the buffer. The records in it count neither as written nor as read from then on,
// and no reader gets them. It is called while no function of a tracer is under way.
func (a *traceArray) reset() {
	u64 := func(off uintptr) *uint64 { return (*uint64)(unsafe.Add(a.header, off)) }
	a.consuming.Lock() // a page that is being consumed is on no list
	defer a.consuming.Unlock()
	rt.Lock()
	for a.oldest != nil {
		a.drop(a.unretire())
	}
	for p := a.processors; p != nil; p = p.next {
		if c := p.Page; c != nil {
			*(*uint32)(unsafe.Add(c, tracefile.PRead)) = atomic.LoadUint32((*uint32)(unsafe.Add(c, tracefile.PCommit)))
		}
		p.overwritten, p.read = 0, 0
		atomic.StoreUint64(&p.dropped, 0)
	}
	*u64(tracefile.HOverwritten) = 0
	a.before = a.written()
	atomic.StoreUint64(u64(tracefile.HDropped), 0)
	atomic.StoreUint64(u64(tracefile.HOverrun), 0)
	a.stuck.Store(false)
	rt.Unlock()
}

// addMeta appends to the metadata of a trace that is a file, and does nothing for one in memory:
// there, readers have the tables themselves. It is called with the runtime lock held.
func (a *traceArray) addMeta(data []byte) {
	if !a.mapped() {
		return
	}
	for len(data) > 0 {
		if a.meta == nil || a.metaUsed == a.pageSize-8 {
			if a.meta = a.page(); a.meta == nil {
				return
			}
			a.metaUsed = 0
			*(*uint32)(a.meta) = tracefile.MetaMagic
		}
		n := copy(unsafe.Slice((*byte)(unsafe.Add(a.meta, 8)), a.pageSize-8)[a.metaUsed:], data)
		data = data[n:]
		a.metaUsed += uint32(n)
		atomic.StoreUint32((*uint32)(unsafe.Add(a.meta, 4)), a.metaUsed)
	}
}
