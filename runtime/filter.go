package ftrace

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ftgo/ftgo/internal/hook"
)

// This file applies filters: from the patterns of a tracer to the masks of functions. What a
// pattern is and what it matches is in filter_pattern.go, names are in funcname.go, and what is
// said of patterns that match nothing is in filter_errors.go and filter_unhooked.go.

// A filterList is set_ftrace_filter and set_ftrace_notrace of a tracer. filter names what is
// traced; without patterns it names everything. except names what is not traced, and wins.
type filterList struct {
	filter, except patterns
	only           *funcSet // instead of the patterns, if it is not nil
	applied        bool     // to all functions, with the bit that the tracer has
}

// apply puts the user's bit into the sets of the functions of a package that the user wants, and
// takes it out of the others.
func (u *user) apply(t *hook.Table) {
	l := u.filters()
	if l.only != nil {
		for i := range t.N {
			setMask(t, i, u.bit, l.only.has(t.Base+i))
		}
		return
	}
	in, some := l.filter.of(t)
	in = in || len(l.filter) == 0
	out, except := l.except.of(t)
	none := !in && len(some) == 0 || out && len(except) == 0
	if none || len(some)+len(except) == 0 {
		for i := range t.N {
			setMask(t, i, u.bit, !none)
		}
		return
	}
	eachNameOf(t, func(n *funcName) {
		if n.i < t.N {
			setMask(t, n.i, u.bit, some.match(in, n) && !except.match(out, n))
		}
	})
}

// filters returns the user's filters. The profile has the filters of the top array's tracer until
// it gets its own.
func (u *user) filters() *filterList {
	if u == &profile.user && !profile.own {
		return &top.filterList
	}
	return &u.filterList
}

// applyAll applies the filters to all packages, if the user is on and they are not applied yet.
func (u *user) applyAll() {
	if !u.applied && u.on() {
		u.applied = true
		eachTable(u.apply)
	}
}

// clear takes the user's bit away from every function.
func (u *user) clear() {
	u.applied = false
	if u.bit != 0 {
		eachTable(func(t *hook.Table) {
			for i := range t.N {
				setMask(t, i, u.bit, false)
			}
		})
	}
}

// setMask writes a bit into a function's set, and the function's mask, which is 0 while the set is
// empty. Functions run meanwhile. The patched runtime writes the mask, which is one byte, so a call
// sees the old mask or the new one. A hook reads the set once a call, so it sees the old set or the
// new one.
func setMask(t *hook.Table, i uint32, bit uint32, on bool) {
	s := siteOf(t, i)
	set := s.Tracers &^ bit
	if on {
		set |= bit
	}
	if set == s.Tracers {
		return
	}
	atomic.StoreUint32(&s.Tracers, set)
	var m uint8
	if set != 0 {
		m = 1
	}
	rt.Mask(maskOf(t, i), m)
}

// setFilter sets the filter, or what it excludes, or adds patterns to one of them.
func (u *user) setFilter(texts []string, except, add bool) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	l := parsePatterns(texts)
	ctl.Lock()
	defer ctl.Unlock()
	return u.change(texts, l, except, add)
}

// change is setFilter with the patterns parsed and ctl held.
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
	// The last pattern that matches decides. So a pattern takes the place of one with the same text
	// that was there before.
	if add {
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

// reapply applies filters that have changed. They are applied to a tracer that is off when it is
// switched on.
func (u *user) reapply() {
	if u.on() {
		u.applied = false
		u.applyAll()
	}
}
