package ftrace

import (
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// This file holds the pages of an array's buffer: how many there are, and on which list each of
// them is. The buffer itself, with its header, its file and its counts, is in buffer.go.

// A pagePool holds the pages of one array. Their number is bounded, however many goroutines record.
//
// A page for records belongs to a P that fills it, or to a reader that consumes it, or it is on one
// of three lists. The list of retired pages, from oldest to newest, holds full pages in the order
// in which their Ps gave them up. The list free holds pages that may be filled again. The list
// spare holds pages beyond the limit, which count as used no more. Guarded by the runtime lock.
type pagePool struct {
	size     int            // kB, as set before first use
	pageSize uint32         // bytes
	limit    int            // most pages for records, unless minPages for each P are more (see cap)
	used     int            // pages for records
	procs    int            // Ps that write
	n        int            // all pages, also of metadata, and spare ones
	max      int            // length of the array pages
	pages    unsafe.Pointer // [max]unsafe.Pointer, of which n are in use
	gen      uint64         // how often a page was given to a P
	keep     bool           // nooverwrite: when all pages are full, new records are dropped

	stuck          atomic.Bool // all pages are full, and keep is set
	free           unsafe.Pointer
	spare          unsafe.Pointer
	oldest, newest unsafe.Pointer // of the retired pages
}

const (
	minPages  = 2    // least number of pages for each P, as in the kernel
	metaPages = 1024 // most pages of metadata, beyond the limit
	maxProcs  = 1024 // most Ps that may have pages of their own beyond the limit
)

// link returns the place in a page that holds the next page of its list.
func link(c unsafe.Pointer) *unsafe.Pointer { return (*unsafe.Pointer)(unsafe.Add(c, tracefile.PLink)) }

// pageSizeFor returns the size of a page in a buffer of so many kilobytes that may have small ones:
// a small buffer has at least 64 pages, if they are not smaller than tracefile.MinPage.
func pageSizeFor(kilobytes int) uint32 {
	size := uint32(tracefile.MaxPage)
	for size > tracefile.MinPage && kilobytes*1024/int(size) < 64 {
		size /= 2
	}
	return size
}

// pagesOf returns how many pages so many kilobytes are.
func (b *pagePool) pagesOf(kilobytes int) int {
	return max(minPages, kilobytes*1024/int(b.pageSize))
}

// listLength returns the length of the array pages that serves a limit.
func listLength(limit int) int { return limit + metaPages + minPages*maxProcs }

// makeList makes the array pages anew, with room for n.
func (b *pagePool) makeList(n int) {
	list := rt.Alloc(uintptr(n) * unsafe.Sizeof(b.pages))
	rt.Lock()
	if b.pages != nil {
		copy(unsafe.Slice((*unsafe.Pointer)(list), n), unsafe.Slice((*unsafe.Pointer)(b.pages), b.n))
	}
	b.pages, b.max = list, n
	rt.Unlock()
}

// cap returns how many pages there may be for records.
func (b *pagePool) cap() int { return max(b.limit, minPages*b.procs) }

// at returns the place of the i'th page in the array pages.
func (b *pagePool) at(i int) *unsafe.Pointer {
	return (*unsafe.Pointer)(unsafe.Add(b.pages, uintptr(i)*unsafe.Sizeof(b.pages)))
}

// alloc returns memory for a page.
func (b *pagePool) alloc() unsafe.Pointer {
	if b.pageSize == tracefile.MaxPage {
		return rt.Map(tracefile.MaxPage)
	}
	return rt.Alloc(uintptr(b.pageSize))
}

// add appends a page to the array pages, which has room for it.
func (b *pagePool) add(c unsafe.Pointer) {
	*b.at(b.n) = c
	b.n++
}

// takeFree takes a page from the list free, and returns nil if that is empty.
func (b *pagePool) takeFree() unsafe.Pointer {
	c := b.free
	if c != nil {
		b.free = *link(c)
	}
	return c
}

// drop puts a page that no P writes to on the list free.
func (b *pagePool) drop(c unsafe.Pointer) {
	atomic.StoreUint32((*uint32)(c), 0)
	*link(c) = b.free
	b.free = c
	b.stuck.Store(false)
}

// retire appends a page that no P writes to any more to the list of retired pages.
func (b *pagePool) retire(c unsafe.Pointer) {
	*link(c) = nil
	if b.newest != nil {
		*link(b.newest) = c
	} else {
		b.oldest = c
	}
	b.newest = c
}

// unretire takes the oldest page from the list of retired pages, which is not empty.
func (b *pagePool) unretire() unsafe.Pointer {
	c := b.oldest
	if b.oldest = *link(c); b.oldest == nil {
		b.newest = nil
	}
	return c
}

// setAside puts a page for records that is on no list on the list spare.
func (b *pagePool) setAside(c unsafe.Pointer) {
	atomic.StoreUint32((*uint32)(c), 0)
	*link(c) = b.spare
	b.spare = c
	b.used--
}

// takeSpare takes a page from the list spare, and returns nil if that is empty.
func (b *pagePool) takeSpare() unsafe.Pointer {
	c := b.spare
	if c != nil {
		b.spare = *link(c)
	}
	return c
}

// takeSpares takes all spare pages out of the pool, and returns the first of them. Their links
// stay.
func (b *pagePool) takeSpares() unsafe.Pointer {
	gone := b.spare
	if gone == nil {
		return nil
	}
	b.spare = nil
	owner := func(c unsafe.Pointer) *unsafe.Pointer { return (*unsafe.Pointer)(unsafe.Add(c, tracefile.POwner)) }
	for c := gone; c != nil; c = *link(c) {
		*owner(c) = c // marks it
	}
	kept := 0
	for i := range b.n {
		c := *b.at(i)
		if *owner(c) == c {
			continue
		}
		*b.at(kept) = c
		kept++
	}
	b.n = kept
	return gone
}

// records counts the records of a page that were not read yet.
func records(c unsafe.Pointer) uint64 {
	_, n := tracefile.Slots(atomic.LoadUint32((*uint32)(unsafe.Add(c, tracefile.PCommit))))
	_, read := tracefile.Slots(*(*uint32)(unsafe.Add(c, tracefile.PRead)))
	return uint64(n - read)
}
