package ftrace

import (
	"fmt"
	"io"
	"strings"
)

// The control files of the multiplexing patches: which tracers have a filter of their own, and
// whose filter the function SetFilter sets.

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

// SelectFunctionTracer chooses whose filter SetFilter, AddFilter, SetNotrace and AddNotrace set. It is "trace" at first, and again when the one that was chosen is
// unregistered. The profile has trace's filter until it is given its own in this way.
func SelectFunctionTracer(name string) error {
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
