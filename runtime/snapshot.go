package ftrace

import (
	"io"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// The snapshot of an array: a copy of its buffer that a trigger, or TakeSnapshot, keeps
// (CONFIG_TRACER_SNAPSHOT in the kernel).

// bufferCopy is a copy of an array's buffer.
type bufferCopy struct {
	head  []byte
	pages [][]byte
	tabs  []tracefile.Table
}

// copy copies the buffer.
func (a *traceArray) copy() *bufferCopy {
	c := new(bufferCopy)
	c.head, c.pages, c.tabs = a.snapshot()
	return c
}

func (a *traceArray) writeKept(w io.Writer) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	c := a.kept.Load()
	if c == nil {
		return nil
	}
	return c.write(a, w)
}

func (c *bufferCopy) write(a *traceArray, w io.Writer) error {
	t, o, err := a.traceOf(c.head, c.pages, c.tabs)
	if err != nil {
		return err
	}
	return t.WriteText(w, o)
}

// take keeps a copy of the buffer.
func (a *traceArray) take() error {
	if rt == nil {
		return ErrNotInstrumented
	}
	a.ensureBuffer()
	a.kept.Store(a.copy())
	return nil
}
