// Package sampler calls a function on every Nth call of the functions that are traced: what a call costs then hardly depends on what is done. It is built
// on the public functions of package ftrace, as a program could build it.
package sampler

import (
	"fmt"
	"sync/atomic"

	ftrace "github.com/ftgo/ftgo/runtime"
)

// A Sampler samples calls. Fields may be set while it is not on.
type Sampler struct {
	Every int // of so many calls, of all functions and goroutines together, one is sampled: 1 or more
	// Func is called for it, as an ftrace.OpsFunc is.
	Func func(f *ftrace.Func, parentIP uintptr)

	ops   ftrace.Ops
	calls atomic.Uint64
}

// Start begins, with the functions that the patterns name; without patterns all hooked functions. Name is the tracer's. It may be called at any time,
// but from callbacks. The errors are those of Ops.SetFilter and Ops.Register.
func (s *Sampler) Start(name string, patterns ...string) error {
	if s.Every < 1 || s.Func == nil {
		return fmt.Errorf("sampler %q: it needs a function, and samples every call of 1 or more, not %d", name, s.Every)
	}
	every := uint64(s.Every)
	s.ops.Name = name
	s.ops.Func = func(f *ftrace.Func, parentIP uintptr, _ *ftrace.Ops) {
		if s.calls.Add(1)%every == 0 {
			s.Func(f, parentIP)
		}
	}
	if err := s.ops.SetFilter(patterns...); err != nil {
		return err
	}
	return s.ops.Register()
}

// Stop ends it. When it returns Func is called no more.
func (s *Sampler) Stop() error { return s.ops.Unregister() }

// Calls returns how many calls were seen.
func (s *Sampler) Calls() uint64 { return s.calls.Load() }
