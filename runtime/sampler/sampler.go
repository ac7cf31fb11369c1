// Package sampler calls a function on every Nth traced call. The cost of a call then hardly depends
// on what that function does. The package is built on the public functions of package ftrace, as
// any program could build it.
package sampler

import (
	"fmt"
	"sync/atomic"

	ftrace "github.com/ftgo/ftgo/runtime"
)

// A Sampler samples calls. Its fields may be set while it is not on.
type Sampler struct {
	// Every says which calls are sampled: one in so many, of all functions and goroutines together.
	// It is 1 or more.
	Every int
	// Func is called for a sampled call. It may do what a ftrace.TraceFunc may.
	Func func(f *ftrace.Func, parentIP uintptr)

	ops   ftrace.Ops
	calls atomic.Uint64
}

// Start begins to sample the functions that the patterns name, as Instance.SetFilter describes
// them; without patterns it samples all hooked functions. name is the name of the tracer. Start
// returns the errors of Ops.SetFilter and Ops.Register, or says which field must be set.
// Start must not be called from a callback.
func (s *Sampler) Start(name string, patterns ...string) error {
	if s.Every < 1 || s.Func == nil {
		return fmt.Errorf("sampler %q: Func must be set, and Every must be 1 or more, not %d", name, s.Every)
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

// Stop ends the sampling. When it returns, Func is not called any more. Stop returns the errors
// of Ops.Unregister.
func (s *Sampler) Stop() error { return s.ops.Unregister() }

// Calls returns how many calls were seen, since the Sampler was first started.
func (s *Sampler) Calls() uint64 { return s.calls.Load() }
