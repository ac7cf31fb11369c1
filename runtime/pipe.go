package ftrace

import (
	"context"
	"io"
	"time"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// A Pipe takes records out of the buffer and writes them as text (trace_pipe): what it has written no other reader gets. A Pipe may be used by
// one goroutine at a time, and there may be several; each gets a part.
type Pipe struct {
	array *traceArray
	in    *Instance // whose it is, if it is not the top one
	text  *tracefile.Pipe
}

func (a *traceArray) newPipe() (*Pipe, error) {
	if rt == nil {
		return nil, ErrNotInstrumented
	}
	return &Pipe{array: a, text: tracefile.NewPipe()}, nil
}

// WriteNow writes what is in the buffer now, in order of time, and takes it out. It may be called at any time, also while tracing goes on, and
// writes nothing if there is nothing. A call that began before and returned after two calls of WriteNow is two lines.
//
// If w fails, what was taken out is gone.
func (p *Pipe) WriteNow(w io.Writer) error {
	if p.in != nil {
		return p.in.write(w, func(_ *traceArray, w io.Writer) error { return p.write(w) })
	}
	return p.write(w)
}

func (p *Pipe) write(w io.Writer) error {
	a := p.array
	a.ensureBuffer()
	t, o, err := a.traceOf(a.consume())
	if err != nil {
		return err
	}
	return p.text.Write(w, t, o)
}

// Follow writes what comes into the buffer until ctx is done, a tenth of a second after it came at the latest. It returns nil then, or w's error.
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

// consume copies what has not been read, and takes it out.
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
