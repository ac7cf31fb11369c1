// Package stacktracer keeps the deepest stack that a goroutine had, and how much of it each
// function took (kernel/trace/trace_stack.c). It is built on the public functions of package
// ftrace, as any program could build it.
package stacktracer

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	ftrace "github.com/ftgo/ftgo/runtime"
)

// A Tracer watches the stacks of all goroutines: every call of a hooked function looks at how much
// of its stack is in use. The zero value is ready. Its methods may be called from any goroutine.
type Tracer struct {
	ops  ftrace.Ops
	used atomic.Int64 // bytes in use at the deepest, with what hooks take
	mu   sync.Mutex
	max  [64]ftrace.StackFrame
	n    int
}

// Start begins to watch the functions that the patterns name, as Instance.SetFilter describes them;
// without patterns it watches all hooked functions. Start returns the errors of Ops.SetFilter and
// Ops.Register. It must not be called from a callback.
func (t *Tracer) Start(patterns ...string) error {
	t.ops.Name, t.ops.Func = "stack", t.look
	if err := t.ops.SetFilter(patterns...); err != nil {
		return err
	}
	return t.ops.Register()
}

// Stop ends the watch. The deepest stack is kept. Stop returns the errors of Ops.Unregister.
func (t *Tracer) Stop() error { return t.ops.Unregister() }

// Reset forgets the deepest stack (echo 0 > stack_max_size).
func (t *Tracer) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n = 0
	t.used.Store(0)
}

// look is the Tracer's ftrace.TraceFunc.
func (t *Tracer) look(*ftrace.Func, uintptr, *ftrace.Ops) {
	used := int64(ftrace.StackUsed())
	if used <= t.used.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var frames [64]ftrace.StackFrame
	n := ftrace.Stack(frames[:])
	first := 0
	for first < n && own(frames[first].PC) {
		first++
	}
	if used > t.used.Load() {
		t.used.Store(used)
		t.n = copy(t.max[:], frames[first:n])
	}
}

// own reports whether a frame belongs to ftgo.
func own(pc uintptr) bool {
	f := runtime.FuncForPC(pc - 1)
	return f == nil || strings.HasPrefix(f.Name(), "github.com/ftgo/ftgo/runtime")
}

// MaxSize returns how many bytes of its stack the deepest goroutine had in use, without what hooks
// take (stack_max_size). It is 0 if there was none.
func (t *Tracer) MaxSize() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		return 0
	}
	return t.max[0].Depth
}

// Write writes the deepest stack as the kernel's file stack_trace shows it: for each frame the
// bytes in use down to it, the bytes of the frame, and the address in its function. Of more than 64
// frames it writes the innermost. The error is w's.
func (t *Tracer) Write(w io.Writer) error {
	t.mu.Lock()
	frames := append([]ftrace.StackFrame(nil), t.max[:t.n]...)
	t.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "        Depth    Size   Location    (%d entries)\n        -----    ----   --------\n", len(frames))
	for i, f := range frames {
		size := f.Size
		if i+1 == len(frames) {
			size = f.Depth // with the frames that found no room
		}
		fn := runtime.FuncForPC(f.PC - 1)
		fmt.Fprintf(&b, "%3d) %8d   %5d   %s+%#x\n", i, f.Depth, size, fn.Name(), f.PC-fn.Entry())
	}
	_, err := io.WriteString(w, b.String())
	return err
}
