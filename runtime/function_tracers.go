package ftrace

import (
	"fmt"
	"io"
	"strings"
)

// This file holds the control files of the multiplexing patches: which tracers have a filter of
// their own, and which filter the function SetFilter sets.

// defaultUser is the user with the filter that the function SetFilter sets. Guarded by ctl.
var defaultUser = &top.user

// A FunctionTracer is a tracer with a filter of its own, as FunctionTracers lists it.
type FunctionTracer struct {
	Name    string
	Default bool // SetFilter, AddFilter, SetNotrace and AddNotrace set its filter
}

// FunctionTracers returns the tracers that have a filter of their own (function_tracers of the
// multiplexing patches): "trace", which is the tracer of Default, "trace_profile" while the profile
// is on, every other instance, and every Ops and GraphOps that is registered.
func FunctionTracers() []FunctionTracer {
	ctl.Lock()
	defer ctl.Unlock()
	var list []FunctionTracer
	for _, u := range functionTracers() {
		list = append(list, FunctionTracer{u.name, u == defaultUser})
	}
	return list
}

// functionTracers returns the users that FunctionTracers lists. It is called with ctl held.
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

// SelectFunctionTracer chooses the tracer with the filter that the functions SetFilter, AddFilter,
// SetNotrace and AddNotrace set. It is "trace" at first, and again when the chosen tracer goes. The
// profile has the filter of "trace" until it is given its own in this way. The error is
// ErrNotInstrumented, or says which names there are.
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

// WriteFilters writes the filter of every function tracer (set_ftrace_filter of the multiplexing
// patches). The error is w's.
func WriteFilters(w io.Writer) error {
	return writeFilters(w, "#### all functions enabled ####", func(l *filterList) patterns { return l.filter })
}

// WriteNotraces writes what every function tracer excludes (set_ftrace_notrace of the multiplexing
// patches). The error is w's.
func WriteNotraces(w io.Writer) error {
	return writeFilters(w, "#### no functions disabled ####", func(l *filterList) patterns { return l.except })
}

// writeFilters writes a list of patterns of every function tracer, and none for an empty one.
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
