package ftrace

import (
	"errors"
	"fmt"
)

// A TraceFunc is called on entry of every function that its tracer wants, on the goroutine that
// calls the function (ftrace_func_t in the kernel's include/linux/ftrace.h). ip is the function,
// parentIP a return address in its caller, for runtime.CallersFrames. ops is the Ops that the
// TraceFunc belongs to; nil for that of SetTriggerFunc.
//
// It may do what any function may. The functions that it calls itself are traced for no tracer,
// unless the Ops is RecursionSafe. If it panics, the program goes on and its tracer is switched off;
// ErrorLog says why.
type TraceFunc func(ip *Func, parentIP uintptr, ops *Ops)

// Ops is a tracer of entries with a filter of its own (struct ftrace_ops). Any number may be on beside the current tracer, up to 32 together with
// it, the GraphOps, the profile, the triggers (one for all) and the tracers of instances. A function calls those that want it, and costs nothing for those that do not.
//
// The exported fields may be set while it is not registered. An Ops must not be copied after its first use.
type Ops struct {
	Name string // of letters, digits, - and _
	Func TraceFunc

	// RecursionSafe says that Func minds itself that functions which it calls may be traced, and call it again (FTRACE_OPS_FL_RECURSION says the
	// opposite in the kernel).
	RecursionSafe bool

	user user
}

// Most data that a GraphOps may keep for a call, in bytes (FGRAPH_MAX_DATA_SIZE in the kernel's kernel/trace/fgraph.c).
const MaxDataSize = 64

// A Verdict is what a GraphOps says on a function's entry.
type Verdict uint8

// The verdicts. Whatever it is, calls of other functions from this one are asked about, unless it is Skip.
const (
	Ignore Verdict = iota // the return is not wanted
	Want                  // it is
	Skip                  // it is not, and the calls below are not seen at all
)

// A GraphEntryFunc is called on entry of every function that its GraphOps wants
// (trace_func_graph_ent_t in the kernel's include/linux/ftrace.h). data is DataSize bytes of zeros,
// which come back to the return of the same call. Where there is no room for them, on return stacks
// of tens of thousands of calls, the function is not called, and the call counts as an overrun.
//
// It may do what a TraceFunc may. It must not keep data, nor put pointers in it.
type GraphEntryFunc func(c Call, ops *GraphOps, data []byte) Verdict

// A GraphReturnFunc is called on return of every call that the GraphEntryFunc wanted, also when the
// call panics or ends its goroutine (trace_func_graph_ret_t).
type GraphReturnFunc func(c Call, ops *GraphOps, data []byte)

// GraphOps is a tracer of entries and returns with a filter of its own (struct fgraph_ops). Up to 16 may be on at once, the graph tracer and the
// profile among them. They share the goroutines' return stacks: a call's depth counts the calls below it that any of them wanted.
//
// The exported fields may be set while it is not registered. A GraphOps must not be copied after its first use.
type GraphOps struct {
	Name     string          // of letters, digits, - and _
	Entry    GraphEntryFunc  // nil wants every return
	Return   GraphReturnFunc // may be nil
	DataSize int             // bytes of data for a call, 0 to MaxDataSize
	MaxDepth int             // calls at this depth and below are not seen; 0 is no limit
	Retval   bool            // Return is told what functions return: see Call.Retval

	user user
}

// Errors of Register and Unregister, to be wrapped.
var (
	errRegistered    = errors.New("it is registered already")
	errNotRegistered = errors.New("it is not registered")
	errInCallback    = errors.New("a tracer cannot be registered or unregistered from a callback")
)

// Register switches the tracer on (register_ftrace_function). Calls that begin from now on are seen. It may be called at any time, but from callbacks.
func (o *Ops) Register() error {
	if o.Func == nil {
		return fmt.Errorf("tracer %q has no function to call", o.Name)
	}
	return o.user.register(o.Name, "tracer", func(u *user) { u.ops = o }, false)
}

// Unregister switches it off. When it returns no goroutine is in Func any more, and none will call it: it waits for callbacks that are under way
// (synchronize_rcu_tasks in the kernel), without keeping anybody from anything. From a callback it is an error.
func (o *Ops) Unregister() error { return o.user.unregister(o.Name) }

// Register switches the tracer on (register_ftrace_graph). Calls that begin from now on are seen. It may be called at any time, but from callbacks.
func (o *GraphOps) Register() error {
	switch {
	case o.Entry == nil && o.Return == nil:
		return fmt.Errorf("graph tracer %q has no function to call", o.Name)
	case o.DataSize < 0 || o.DataSize > MaxDataSize:
		return fmt.Errorf("graph tracer %q: the data of a call is 0 to %d bytes, not %d", o.Name, MaxDataSize, o.DataSize)
	case o.MaxDepth < 0 || o.MaxDepth > 65535:
		return fmt.Errorf("graph tracer %q: the maximum depth is 0, for no limit, to 65535, not %d", o.Name, o.MaxDepth)
	}
	return o.user.register(o.Name, "graph tracer", func(u *user) {
		u.graphOps, u.maxDepth, u.dataSize, u.values = o, int32(o.MaxDepth), o.DataSize, o.Retval
		if u.dataSize > 0 {
			users.data.Add(1)
		}
	}, true)
}

// Unregister switches it off. When it returns no goroutine is in its callbacks any more, and none will call them, also not for calls that are still
// open: they return to no one. From a callback it is an error.
func (o *GraphOps) Unregister() error { return o.user.unregister(o.Name) }

// SetFilter limits the tracer to the functions that the patterns name; without patterns it sees all. The patterns are those of the function
// SetFilter. It may be called at any time, also before Register.
func (o *Ops) SetFilter(patterns ...string) error { return o.user.setFilter(patterns, false, false) }

// AddFilter adds patterns to the filter. !glob takes functions out of it; when nothing is left the tracer sees all.
func (o *Ops) AddFilter(patterns ...string) error { return o.user.setFilter(patterns, false, true) }

// SetNotrace excludes functions, also from what the filter names.
func (o *Ops) SetNotrace(patterns ...string) error { return o.user.setFilter(patterns, true, false) }

// AddNotrace adds to what SetNotrace set.
func (o *Ops) AddNotrace(patterns ...string) error { return o.user.setFilter(patterns, true, true) }

// SetFilter limits the tracer to the functions that the patterns name; without patterns it sees all. The patterns are those of the function
// SetFilter. It may be called at any time, also before Register.
func (o *GraphOps) SetFilter(patterns ...string) error {
	return o.user.setFilter(patterns, false, false)
}

// AddFilter adds patterns to the filter. !glob takes functions out of it; when nothing is left the tracer sees all.
func (o *GraphOps) AddFilter(patterns ...string) error {
	return o.user.setFilter(patterns, false, true)
}

// SetNotrace excludes functions, also from what the filter names.
func (o *GraphOps) SetNotrace(patterns ...string) error {
	return o.user.setFilter(patterns, true, false)
}

// AddNotrace adds to what SetNotrace set.
func (o *GraphOps) AddNotrace(patterns ...string) error {
	return o.user.setFilter(patterns, true, true)
}

// SetGraphFunction limits the tracer to calls of the functions that the patterns name, and what they call; without patterns it sees all.
func (o *GraphOps) SetGraphFunction(patterns ...string) error {
	return o.user.setGraphPatterns("set_graph_function", patterns, &o.user.graphFunction)
}

// SetGraphNotrace excludes calls of functions, and what they call.
func (o *GraphOps) SetGraphNotrace(patterns ...string) error {
	return o.user.setGraphPatterns("set_graph_notrace", patterns, &o.user.graphNotrace)
}

// register gives the user its bits, and switches it on.
func (u *user) register(name, what string, set func(*user), returns bool) error {
	fail := func(err error) error { return fmt.Errorf("%s %q: %w", what, name, err) }
	switch {
	case rt == nil:
		return ErrNotInstrumented
	case inCallback():
		return fail(errInCallback)
	}
	if err := validName(name); err != nil {
		return err
	}
	ctl.Lock()
	defer ctl.Unlock()
	if u.bit != 0 {
		return fail(errRegistered)
	}
	if nameTaken(name) {
		return fmt.Errorf("there is a tracer or an instance %q already", name)
	}
	u.name, u.kind = name, calling
	if err := u.lend(returns); err != nil {
		return err
	}
	startBuffer() // it keeps the clock, too
	set(u)
	u.failed.Store(false)
	u.applied = false
	u.since = nextGeneration()
	raceAcquire()
	sortUsers()
	u.setOn(true)
	usePointers()
	return nil
}

func (u *user) unregister(name string) error {
	fail := func(err error) error { return fmt.Errorf("tracer %q: %w", name, err) }
	switch {
	case rt == nil:
		return ErrNotInstrumented
	case inCallback():
		return fail(errInCallback)
	}
	ctl.Lock()
	if u.bit == 0 || u.leaving {
		ctl.Unlock()
		return fail(errNotRegistered)
	}
	u.leaving = true
	u.setOn(false)
	usePointers()
	if defaultUser == u {
		defaultUser = &top.user
	}
	ctl.Unlock()
	u.await() // without the lock: a callback may want it
	ctl.Lock()
	u.giveBack()
	if u.dataSize > 0 {
		users.data.Add(^uint32(0))
	}
	u.leaving = false
	ctl.Unlock()
	return nil
}

// inCallback reports whether the caller was called from a callback.
func inCallback() bool {
	if slot, _ := rt.Begin(); slot != nil {
		g := (*goroutine)(*slot)
		in := g != nil && g.calling != 0 // a RecursionSafe one
		rt.Done()
		return in
	}
	return true
}
