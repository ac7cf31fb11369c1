package ftrace

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// writeRecording writes what is in the buffer as a file.
func (a *traceArray) writeRecording(w io.Writer, sel *Selection) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	a.ensureBuffer()
	o := Selection{}
	if sel != nil {
		o = *sel
	}
	if len(o.Goroutines)+len(o.Functions) > 0 || !o.Until.IsZero() {
		return a.writeSelected(w, sel)
	}
	awaitClock()
	now, size := rt.Clock(), int(a.pageSize)
	since := uint64(0)
	if !o.Since.IsZero() {
		if d := max(1, time.Since(o.Since)); o.Last <= 0 || d < o.Last {
			o.Last = d
		}
	}
	if o.Last > 0 {
		since = now - min(now, ticksOf(int64(o.Last)))
	}
	// The metadata comes last, since it names what the pages hold, so the header cannot say how
	// many pages there are.
	head, tabs := a.headAndTables()
	le := binary.LittleEndian
	le.PutUint64(head[tracefile.HSince:], since)
	le.PutUint32(head[tracefile.HPages:], ^uint32(0)) // as many as there are
	if _, err := w.Write(head); err != nil {
		return err
	}
	offsets := map[uint32]bool{}
	page := make([]byte, size)
	for range 100 { // all of a small buffer may be overwritten while this goroutine waits for a processor
		pages, taken := a.recentPages(since)
		if o.MaxBytes > 0 {
			pages = pages[:min(len(pages), max(1, int(o.MaxBytes/int64(size))))]
		}
		wrote, late := false, false
		for _, c := range pages {
			if !a.copyRecent(page, c, taken) {
				late = true
				continue
			}
			wrote = wrote || binary.NativeEndian.Uint32(page[tracefile.PCommit:]) != 0
			tracefile.PageOffsets(page, offsets)
			if _, err := w.Write(page); err != nil {
				return err
			}
		}
		if wrote || !late {
			break
		}
	}
	var meta []byte
	for _, t := range tabs {
		meta = tracefile.AppendTable(meta, t)
	}
	for off := range offsets {
		if name := symbol(off); name != "" {
			meta = tracefile.AppendSymbol(meta, off, name)
		}
	}
	for len(meta) > 0 {
		clear(page)
		meta = meta[tracefile.PutMeta(page, meta):]
		if _, err := w.Write(page); err != nil {
			return err
		}
	}
	return nil
}

type recentPage struct {
	page unsafe.Pointer
	gen  uint64
}

// copyRecent copies a page that was found when the array had given memory back so many times, if it
// is still there and the same. The array is locked for that alone, not while w takes its time: a
// writer that waits for readers may have others wait for it. It reports whether the page was the
// same.
func (a *traceArray) copyRecent(dst []byte, c recentPage, taken int) bool {
	a.readers.RLock()
	defer a.readers.RUnlock()
	clear(dst)
	if a.taken != taken && !a.has(c.page) {
		return false
	}
	copyPage(dst, unsafe.Slice((*byte)(c.page), len(dst)))
	return binary.NativeEndian.Uint64(dst[tracefile.PGen:]) == c.gen
}

// has reports whether a page is one of the array's.
func (a *traceArray) has(page unsafe.Pointer) bool {
	rt.Lock()
	n := a.n
	rt.Unlock()
	for i := range n {
		if *a.at(i) == page {
			return true
		}
	}
	return false
}

// recentPages returns the pages that hold records since a reading of the clock, the newest first,
// and how often the array has given memory back.
func (a *traceArray) recentPages(since uint64) (list []recentPage, taken int) {
	a.readers.RLock()
	defer a.readers.RUnlock()
	rt.Lock()
	n := a.n
	rt.Unlock()
	list = make([]recentPage, 0, n)
	for i := range n {
		c := *a.at(i)
		u64 := func(off uintptr) *uint64 { return (*uint64)(unsafe.Add(c, off)) }
		if atomic.LoadUint32((*uint32)(c)) != tracefile.PageMagic {
			continue
		}
		if end := atomic.LoadUint64(u64(tracefile.PEnd)); end == 0 || end >= since {
			list = append(list, recentPage{c, atomic.LoadUint64(u64(tracefile.PGen))})
		}
	}
	slices.SortFunc(list, func(a, b recentPage) int { return cmp.Compare(b.gen, a.gen) })
	return list, a.taken
}

// writeSelected writes what a selection takes of the records as a file, each record anew.
func (a *traceArray) writeSelected(w io.Writer, s *Selection) error {
	sel, err := s.of()
	if err != nil {
		return err
	}
	t, _, err := a.traceOf(a.snapshot())
	if err != nil {
		return err
	}
	t.Select = sel
	return t.WriteFile(w)
}
