package ftrace

import (
	"context"
	"io"
	"time"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// A Pipe takes records out of the buffer and writes them as text (trace_pipe). No other reader gets
// the records that a Pipe has taken. A Pipe may be used by one goroutine at a time. There may be
// several Pipes, and each record goes to one of them.
type Pipe struct {
	array *traceArray
	in    *Instance // the instance that the pipe belongs to; nil for Default
	text  *tracefile.Pipe
}

// newPipe makes a pipe for the array.
func (a *traceArray) newPipe() (*Pipe, error) {
	if rt == nil {
		return nil, ErrNotInstrumented
	}
	return &Pipe{array: a, text: tracefile.NewPipe()}, nil
}

// WriteNow takes the records out of the buffer that are in it now, and writes them in order of
// time. It writes nothing if there are none. It may be called while tracing goes on. If one call of
// WriteNow takes the entry of a call, and a later one its return, the call is two lines.
//
// The error is w's, or says that the instance was removed. If w fails, the records that were taken
// are gone.
func (p *Pipe) WriteNow(w io.Writer) error {
	if p.in != nil {
		return p.in.write(w, func(_ *traceArray, w io.Writer) error { return p.write(w) })
	}
	return p.write(w)
}

// write is WriteNow for an array that is there.
func (p *Pipe) write(w io.Writer) error {
	a := p.array
	a.ensureBuffer()
	t, o, err := a.traceOf(a.consume())
	if err != nil {
		return err
	}
	return p.text.Write(w, t, o)
}

// Follow writes what comes into the buffer, at the latest a tenth of a second after it came, until
// ctx is done. It then writes what is left, and returns. The error is that of WriteNow; nil if
// there was none.
func (p *Pipe) Follow(ctx context.Context, w io.Writer) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := p.WriteNow(w); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return p.WriteNow(w)
		case <-tick.C:
		}
	}
}

// consume copies the records that were not read yet, and takes them out of the buffer.
func (a *traceArray) consume() (head []byte, pages [][]byte, tabs []tracefile.Table) {
	a.consuming.Lock()
	defer a.consuming.Unlock()
	a.readers.RLock()
	defer a.readers.RUnlock()
	awaitClock()
	size := int(a.pageSize)
	rt.Lock()
	n := a.used
	rt.Unlock()
	for range n { // pages that are retired from now on come next time
		dst := make([]byte, size)
		rt.Lock()
		if a.oldest == nil {
			rt.Unlock()
			break
		}
		c := a.unretire()
		rt.Unlock()
		copyPage(dst, unsafe.Slice((*byte)(c), size))
		rt.Lock()
		ownerOf(c).read += records(c)
		a.drop(c)
		rt.Unlock()
		pages = append(pages, dst)
	}
	rt.Lock()
	p := a.processors
	rt.Unlock()
	for ; p != nil; p = p.next {
		dst := make([]byte, size)
		rt.Lock()
		if c := p.Page; c != nil {
			copyPage(dst, unsafe.Slice((*byte)(c), size))
			count := (*uint32)(unsafe.Pointer(&dst[tracefile.PCommit]))
			_, n := tracefile.Slots(*count)
			_, before := tracefile.Slots(*(*uint32)(unsafe.Add(c, tracefile.PRead)))
			*(*uint32)(unsafe.Add(c, tracefile.PRead)) = *count
			p.read += uint64(n - before)
		}
		rt.Unlock()
		pages = append(pages, dst)
	}
	head, tabs = a.headAndTables()
	return head, pages, tabs
}
