package ftrace

import (
	"errors"
	"fmt"
)

// A TraceFunc is called on entry of every function that its tracer wants, on the goroutine that
// calls the function (ftrace_func_t in the kernel's include/linux/ftrace.h). ip is the function.
// parentIP is a return address in its caller, for runtime.CallersFrames; 0 if it is not known. ops
// is the Ops that the TraceFunc belongs to; nil for a TraceFunc of SetTriggerFunc.
//
// A TraceFunc may do what any function may. The functions that it calls are traced for no tracer,
// unless the Ops is RecursionSafe. If it panics, the program goes on and the tracer is switched
// off; ErrorLog says why.
type TraceFunc func(ip *Func, parentIP uintptr, ops *Ops)

// Ops is a tracer of entries with a filter of its own (struct ftrace_ops). A function calls the
// tracers that want it, and costs nothing for the others. Up to 32 tracers may be on at once: each
// Ops, each GraphOps, each instance with a tracer, the profile, and the triggers, which count as
// one.
//
// The exported fields may be set while the Ops is not registered. An Ops must not be copied after
// its first use.
type Ops struct {
	Name string // letters, digits, - and _
	Func TraceFunc

	// RecursionSafe says that functions which Func calls may be traced, and may call Func again:
	// Func guards itself against endless recursion (the opposite of FTRACE_OPS_FL_RECURSION in the
	// kernel).
	RecursionSafe bool

	user user
}

// MaxDataSize is the largest GraphOps.DataSize, in bytes (FGRAPH_MAX_DATA_SIZE in the kernel's
// kernel/trace/fgraph.c).
const MaxDataSize = 64

// A Verdict is what a GraphOps answers on entry of a function.
type Verdict uint8

// The verdicts. After Ignore and Want the GraphOps is asked about the calls below this one, too.
const (
	Ignore Verdict = iota // the return of this call is not wanted
	Want                  // the return of this call is wanted
	Skip                  // the return is not wanted, and the calls below this one are not seen
)

// A GraphEntryFunc is called on entry of every function that its GraphOps wants
// (trace_func_graph_ent_t in the kernel's include/linux/ftrace.h). data is GraphOps.DataSize bytes
// of zeros, which the GraphReturnFunc gets for the same call. If there is no room for data, on
// return stacks of tens of thousands of calls, the function is not called, and the call counts as
// an overrun.
//
// A GraphEntryFunc may do what a TraceFunc may. It must not keep data after it returns, nor put
// pointers in it.
type GraphEntryFunc func(c Call, ops *GraphOps, data []byte) Verdict

// A GraphReturnFunc is called on return of every call that the GraphEntryFunc wanted, also when the
// call panics or ends its goroutine (trace_func_graph_ret_t). It may do what a GraphEntryFunc may.
type GraphReturnFunc func(c Call, ops *GraphOps, data []byte)

// GraphOps is a tracer of entries and returns with a filter of its own (struct fgraph_ops). Up to
// 16 tracers of returns may be on at once: each GraphOps, each instance with such a tracer, and the
// profile. They share the return stacks of the goroutines: the depth of a call counts the calls
// below it on the stack, which are the calls that any of the tracers wanted.
//
// The exported fields may be set while the GraphOps is not registered. A GraphOps must not be
// copied after its first use.
type GraphOps struct {
	Name     string          // letters, digits, - and _
	Entry    GraphEntryFunc  // nil wants every return
	Return   GraphReturnFunc // may be nil if Entry is not
	DataSize int             // bytes of data for a call, 0 to MaxDataSize
	MaxDepth int             // calls at this depth or deeper are not seen; 0 is no limit
	Retval   bool            // Return is told what functions return: see Call.Retval

	user user
}

// Errors that Register and Unregister wrap.
var (
	errRegistered    = errors.New("it is registered already")
	errNotRegistered = errors.New("it is not registered")
	errInCallback    = errors.New("a tracer cannot be registered or unregistered from a callback")
)

// Register switches the Ops on (register_ftrace_function). Calls that begin from then on are seen.
// The error is ErrNotInstrumented, or says that the Ops has no Func, that its Name is not valid or
// taken, that it is registered already, or that 32 tracers are on. Register may be called at any
// time from any goroutine, but not from a callback.
func (o *Ops) Register() error {
	if o.Func == nil {
		return fmt.Errorf("tracer %q has no function to call", o.Name)
	}
	return o.user.register(o.Name, "tracer", func(u *user) { u.ops = o }, false)
}

// Unregister switches the Ops off. When it returns, no goroutine is in Func any more, and none will
// call it: Unregister waits for callbacks that are under way, and holds up no others meanwhile
// (synchronize_rcu_tasks in the kernel). The error is ErrNotInstrumented, or says that the Ops is
// not registered. Unregister must not be called from a callback, and returns an error there.
func (o *Ops) Unregister() error { return o.user.unregister(o.Name) }

// Register switches the GraphOps on (register_ftrace_graph). Calls that begin from then on are
// seen. The error is ErrNotInstrumented, or says that the GraphOps has neither Entry nor Return,
// that a field is out of its range, that its Name is not valid or taken, that it is registered
// already, or that too many tracers are on. Register may be called at any time from any goroutine,
// but not from a callback.
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

// Unregister switches the GraphOps off. When it returns, no goroutine is in Entry or Return any
// more, and none will call them, also not for the returns of calls that are open. The error is
// ErrNotInstrumented, or says that the GraphOps is not registered. Unregister must not be called
// from a callback, and returns an error there.
func (o *GraphOps) Unregister() error { return o.user.unregister(o.Name) }

// SetFilter limits the Ops to the functions that the patterns name, as Instance.SetFilter describes
// them. Without patterns the Ops sees all functions. SetFilter may be called at any time, also
// before Register.
func (o *Ops) SetFilter(patterns ...string) error { return o.user.setFilter(patterns, false, false) }

// AddFilter adds patterns to the filter. When !glob has taken the last function out of it, the Ops
// sees all functions.
func (o *Ops) AddFilter(patterns ...string) error { return o.user.setFilter(patterns, false, true) }

// SetNotrace excludes the functions that the patterns name, also from what SetFilter names.
func (o *Ops) SetNotrace(patterns ...string) error { return o.user.setFilter(patterns, true, false) }

// AddNotrace adds patterns to the ones that SetNotrace has set.
func (o *Ops) AddNotrace(patterns ...string) error { return o.user.setFilter(patterns, true, true) }

// SetFilter limits the GraphOps to the functions that the patterns name, as Instance.SetFilter
// describes them. Without patterns the GraphOps sees all functions. SetFilter may be called at any
// time, also before Register.
func (o *GraphOps) SetFilter(patterns ...string) error {
	return o.user.setFilter(patterns, false, false)
}

// AddFilter adds patterns to the filter. When !glob has taken the last function out of it, the
// GraphOps sees all functions.
func (o *GraphOps) AddFilter(patterns ...string) error {
	return o.user.setFilter(patterns, false, true)
}

// SetNotrace excludes the functions that the patterns name, also from what SetFilter names.
func (o *GraphOps) SetNotrace(patterns ...string) error {
	return o.user.setFilter(patterns, true, false)
}

// AddNotrace adds patterns to the ones that SetNotrace has set.
func (o *GraphOps) AddNotrace(patterns ...string) error {
	return o.user.setFilter(patterns, true, true)
}

// SetGraphFunction limits the GraphOps to calls of the functions that the patterns name, and what
// these call. Without patterns it sees all calls.
func (o *GraphOps) SetGraphFunction(patterns ...string) error {
	return o.user.setGraphPatterns("set_graph_function", patterns, &o.user.graphFunction)
}

// SetGraphNotrace excludes calls of the functions that the patterns name, and what these call, also
// from what SetGraphFunction names. Without patterns it excludes none.
func (o *GraphOps) SetGraphNotrace(patterns ...string) error {
	return o.user.setGraphPatterns("set_graph_notrace", patterns, &o.user.graphNotrace)
}

// register gives the user its bits, and switches it on. what names the kind of tracer in errors.
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
	startBuffer() // the top array's header also keeps the clock
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

// unregister switches the user off, waits for its callbacks, and takes its bits back.
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
	u.await() // without ctl, since a callback may want it
	ctl.Lock()
	u.giveBack()
	if u.dataSize > 0 {
		users.data.Add(^uint32(0))
	}
	u.leaving = false
	ctl.Unlock()
	return nil
}

// inCallback reports whether the caller was called from a callback, or is on g0.
func inCallback() bool {
	if slot, _ := rt.Begin(); slot != nil {
		g := (*goroutine)(*slot)
		in := g != nil && g.calling != 0 // the callback is of an Ops that is RecursionSafe
		rt.Done()
		return in
	}
	return true
}
