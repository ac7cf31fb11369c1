// Package stacktracer keeps the deepest stack that a goroutine had, and how much of it each function took (kernel/trace/trace_stack.c). It is built on
// the public functions of package ftrace, as a program could build it.
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

// A Tracer watches the stacks of all goroutines, by looking at how much is in use on every call of a hooked function. The zero value is ready.
type Tracer struct {
	ops  ftrace.Ops
	used atomic.Int64 // at the deepest, with what hooks take
	mu   sync.Mutex
	max  [64]ftrace.StackFrame
	n    int
}

// Start begins, with the functions that the patterns name; without patterns all hooked functions. It may be called at any time, but from callbacks. The
// errors are those of Ops.SetFilter and Ops.Register.
func (t *Tracer) Start(patterns ...string) error {
	t.ops.Name, t.ops.Func = "stack", t.look
	if err := t.ops.SetFilter(patterns...); err != nil {
		return err
	}
	return t.ops.Register()
}

// Stop ends it. What was found stays.
func (t *Tracer) Stop() error { return t.ops.Unregister() }

// Reset forgets what was found (echo 0 > stack_max_size).
func (t *Tracer) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n = 0
	t.used.Store(0)
}

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

// own reports whether a frame is the tracer's.
func own(pc uintptr) bool {
	f := runtime.FuncForPC(pc - 1)
	return f == nil || strings.HasPrefix(f.Name(), "github.com/ftgo/ftgo/runtime")
}

// MaxSize returns how many bytes the deepest stack had in use (stack_max_size).
func (t *Tracer) MaxSize() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		return 0
	}
	return t.max[0].Depth
}

// Write writes the deepest stack as the kernel's file stack_trace has it: bytes in use, bytes of the function's frame, and where it called the one above.
// Of more than 64 frames the innermost are kept.
func (t *Tracer) Write(w io.Writer) error {
	t.mu.Lock()
	frames := append([]ftrace.StackFrame(nil), t.max[:t.n]...)
	t.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "        Depth    Size   Location    (%d entries)\n        -----    ----   --------\n", len(frames))
	for i, f := range frames {
		size := f.Size
		if i+1 == len(frames) {
			size = f.Depth // with those that found no room
		}
		fn := runtime.FuncForPC(f.PC - 1)
		fmt.Fprintf(&b, "%3d) %8d   %5d   %s+%#x\n", i, f.Depth, size, fn.Name(), f.PC-fn.Entry())
	}
	_, err := io.WriteString(w, b.String())
	return err
}
