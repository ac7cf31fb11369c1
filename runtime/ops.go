package ftrace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ftgo/ftgo/internal/hook"
)

// An OpsFunc is called on entry of every function that its Ops wants, on the goroutine that calls it (ftrace_func_t in the kernel's
// include/linux/ftrace.h). ip is the function, parentIP a return address in its caller, for runtime.CallersFrames.
//
// It may do what any function may. The functions that it calls itself are traced for nobody, unless the Ops is RecursionSafe. If it panics, the program
// goes on and the Ops is called no more; ErrorLog says why.
type OpsFunc func(ip *Func, parentIP uintptr, ops *Ops)

// Ops is a tracer of entries with a filter of its own (struct ftrace_ops). Any number may be on beside the current tracer, up to 32 together with
// it, the GraphOps, the profile, the triggers (one for all) and the tracers of instances. A function calls those that want it, and costs nothing for those that do not.
//
// The exported fields may be set while it is not registered. An Ops must not be copied after its first use.
type Ops struct {
	Name string // of letters, digits, - and _
	Func OpsFunc

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

// A GraphEntry is called on entry of every function that its GraphOps wants (trace_func_graph_ent_t in the kernel's include/linux/ftrace.h). data is
// DataSize bytes of zeros, which come back to the return of the same call. Where there is no room for them, on return stacks of tens of thousands of calls, it is
// not called, and the call counts as an overrun.
//
// It may do what an OpsFunc may. data must not be kept, and no pointers in it.
type GraphEntry func(c Call, ops *GraphOps, data []byte) Verdict

// A GraphReturn is called on return of every call that the GraphEntry wanted, also when the function panics or ends its goroutine
// (trace_func_graph_ret_t).
type GraphReturn func(c Call, ops *GraphOps, data []byte)

// GraphOps is a tracer of entries and returns with a filter of its own (struct fgraph_ops). Up to 16 may be on at once, the graph tracer and the
// profile among them. They share the goroutines' return stacks: a call's depth counts the calls below it that any of them wanted.
//
// The exported fields may be set while it is not registered. A GraphOps must not be copied after its first use.
type GraphOps struct {
	Name     string      // of letters, digits, - and _
	Entry    GraphEntry  // nil wants every return
	Return   GraphReturn // may be nil
	DataSize int         // bytes of data for a call, 0 to MaxDataSize
	MaxDepth int         // calls at this depth and below are not seen; 0 is no limit
	Retval   bool        // Return is told what functions return: see Call.Retval

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

// pause lets others run: longer, the oftener it was in vain.
func pause(times int) {
	if times < 10 {
		runtime.Gosched()
		return
	}
	time.Sleep(min(time.Millisecond, time.Microsecond<<min(times-10, 20)))
}

// setFilter sets a filter, or adds to it.
func (u *user) setFilter(texts []string, except, add bool) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	l := parsePatterns(texts)
	ctl.Lock()
	defer ctl.Unlock()
	return u.change(texts, l, except, add)
}

// change is setFilter with the patterns parsed, and ctl held.
func (u *user) change(texts []string, l patterns, except, add bool) error {
	what, list := "filter", &u.filter
	if except {
		what, list = "notrace", &u.except
	}
	if !add && len(l) > 0 && l[0].not {
		return refuse(what, texts, 0, fmt.Errorf("%s: there is nothing yet that %q could take functions out of: what adds to a filter can (AddFilter, AddNotrace)", what, texts[0]))
	}
	if i, err := noMatch(what, l); err != nil {
		return refuse(what, texts, i, err)
	}
	if add { // the last pattern that matches decides, so what stood there before with the same text does not any more
		l = append(slices.DeleteFunc(slices.Clone(*list), func(p pattern) bool {
			return slices.ContainsFunc(l, func(q pattern) bool { return strings.TrimPrefix(p.text, "!") == strings.TrimPrefix(q.text, "!") })
		}), l...)
	}
	if l.empty() {
		l = nil
	}
	*list = l
	if u == &profile.user {
		profile.own = true
	}
	u.reapply()
	if u == &top.user && !profile.own {
		profile.reapply()
	}
	return nil
}

// reapply applies filters that have changed. A tracer that is off gets them when it is switched on.
func (u *user) reapply() {
	if u.on() {
		u.applied = false
		u.applyAll()
	}
}

// refuse logs what was wrong with a list of patterns.
func refuse(what string, texts []string, i int, err error) error {
	pos := 0
	for _, s := range texts[:i] {
		pos += len(s) + 1
	}
	logError(what, strings.TrimPrefix(err.Error(), what+": "), strings.Join(texts, " "), pos)
	return err
}

// empty reports whether the patterns, taken together, match nothing, and wait for nothing.
func (l patterns) empty() bool {
	if !slices.ContainsFunc(l, func(p pattern) bool { return p.not }) {
		return len(l) == 0
	}
	for _, p := range l {
		if !p.not && p.mod != "" && strings.Contains(p.text, ":mod:") {
			return false
		}
	}
	some := false
	eachTable(func(t *hook.Table) {
		if some || t.N == 0 {
			return
		}
		in, rest := l.of(t)
		if len(rest) == 0 {
			some = in
			return
		}
		eachNameOf(t, func(n *funcName) { some = some || rest.match(in, n) })
	})
	return !some
}

// defaultUser is whose filter the function SetFilter sets. Guarded by ctl.
var defaultUser = &top.user

// A FunctionTracer is a line of FunctionTracers.
type FunctionTracer struct {
	Name    string
	Default bool // its filter is what SetFilter, AddFilter, SetNotrace and AddNotrace set
}

// FunctionTracers returns the tracers that have a filter of their own (function_tracers of the multiplexing patches): "trace", which is the current
// tracer, "trace_profile" while the profile is on, and every Ops and GraphOps that is registered.
func FunctionTracers() []FunctionTracer {
	ctl.Lock()
	defer ctl.Unlock()
	var list []FunctionTracer
	for _, u := range functionTracers() {
		list = append(list, FunctionTracer{u.name, u == defaultUser})
	}
	return list
}

func functionTracers() []*user {
	list := []*user{&top.user}
	if profile.wanted {
		list = append(list, &profile.user)
	}
	for _, in := range instances {
		list = append(list, &in.home.user)
	}
	for _, u := range users.slot {
		if u != nil && u.array == nil && u != &profile.user && u != &triggers.user && !u.leaving {
			list = append(list, u)
		}
	}
	return list
}

// SetDefaultTracer chooses whose filter SetFilter, AddFilter, SetNotrace and AddNotrace set. It is "trace" at first, and again when the one that was chosen is
// unregistered. The profile has trace's filter until it is given its own in this way.
func SetDefaultTracer(name string) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	ctl.Lock()
	defer ctl.Unlock()
	var names []string
	for _, u := range functionTracers() {
		if u.name == name {
			defaultUser = u
			return nil
		}
		names = append(names, u.name)
	}
	return fmt.Errorf("there is no function tracer %q: there are %s", name, strings.Join(names, ", "))
}

// WriteFilters writes the filter of each function tracer (set_ftrace_filter of the multiplexing patches).
func WriteFilters(w io.Writer) error {
	return writeFilters(w, "#### all functions enabled ####", func(l *filterList) patterns { return l.filter })
}

// WriteNotraces writes what each of them excludes (set_ftrace_notrace).
func WriteNotraces(w io.Writer) error {
	return writeFilters(w, "#### no functions disabled ####", func(l *filterList) patterns { return l.except })
}

func writeFilters(w io.Writer, none string, of func(*filterList) patterns) error {
	var b strings.Builder
	ctl.Lock()
	for _, u := range functionTracers() {
		l := of(u.filters())
		for _, p := range l {
			fmt.Fprintf(&b, "[%20s] %s\n", u.name, p.text)
		}
		if len(l) == 0 {
			fmt.Fprintf(&b, "[%20s] %s\n", u.name, none)
		}
	}
	ctl.Unlock()
	_, err := io.WriteString(w, b.String())
	return err
}

// AvailableFunctions returns the names of all functions that carry a hook, with their import paths (available_filter_functions).
func AvailableFunctions() []string {
	var list []string
	eachName(func(full string) bool {
		list = append(list, strings.Clone(full))
		return true
	})
	return list
}

// An EnabledFunction is a function that some tracer wants.
type EnabledFunction struct {
	Name    string
	Tracers []string // their names
}

// EnabledFunctions returns the functions that at least one tracer wants, in the order of their names (enabled_functions).
func EnabledFunctions() []EnabledFunction {
	ctl.Lock()
	defer ctl.Unlock()
	var list []EnabledFunction
	eachTable(func(t *hook.Table) {
		eachNameOf(t, func(n *funcName) {
			set := atomic.LoadUint32(&siteOf(t, n.i).Tracers) & users.on.Load()
			if set == 0 {
				return
			}
			f := EnabledFunction{Name: strings.Clone(n.full)}
			eachUser(func(u *user) {
				if set&u.bit != 0 {
					f.Tracers = append(f.Tracers, u.name)
				}
			})
			list = append(list, f)
		})
	})
	slices.SortFunc(list, func(a, b EnabledFunction) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
