package ftrace

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
)

// filterList is set_ftrace_filter and set_ftrace_notrace: what is traced, everything if there are no patterns, and what is not, which wins.
type filterList struct {
	filter, except patterns
	only           *funcSet // instead of the patterns, if it is not nil
	applied        bool     // to all functions, with the bit that the tracer has
}

// apply puts a tracer's bit into those of a package's functions that it wants, and takes it out of the others.
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

// filters returns the tracer's filters. The profile has the current tracer's until it gets its own.
func (u *user) filters() *filterList {
	if u == &profile.user && !profile.own {
		return &top.filterList
	}
	return &u.filterList
}

// applyAll does so with all packages, if the tracer is on and it was not done.
func (u *user) applyAll() {
	if !u.applied && u.on() {
		u.applied = true
		eachTable(u.apply)
	}
}

// clear takes the tracer's bit away from every function.
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

// setMask writes a tracer's bit into a function's set, and its mask, which is not zero while the set is not empty. Masks are written by the patched
// runtime, one byte each, while functions run: a call sees the old byte or the new one. So with the set, which hooks read once a call.
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

// noMatch is the error for patterns that match nothing, and which of them it is. One that waits for a package (:mod:) is none.
func noMatch(what string, list patterns) (at int, err error) {
	for i, p := range list {
		found, waits := false, p.mod != "" && strings.Contains(p.text, ":mod:")
		p.not = false
		eachTable(func(t *hook.Table) {
			if found || t.N == 0 {
				return
			}
			in, rest := patterns{p}.of(t)
			if found = in; found || len(rest) == 0 {
				return
			}
			waits = false
			eachNameOf(t, func(n *funcName) { found = found || rest.match(false, n) })
		})
		if !found && waits && strings.ContainsAny(p.mod, "*?[!") {
			return i, fmt.Errorf("%s: %q: behind :mod: stands a package, or a pattern of packages as net/..., and %q can be neither", what, p.text, p.mod)
		}
		if found || waits {
			continue
		}
		text := strings.TrimPrefix(p.text, "!")
		if why := whyUnhooked(p); why != "" {
			return i, fmt.Errorf("%s: %s", what, why)
		}
		near := nearest(text)
		if len(near) == 0 {
			return i, fmt.Errorf("%s: no function of this program matches %q", what, text)
		}
		return i, fmt.Errorf("%s: no function of this program matches %q; near it are %s", what, text, strings.Join(near, ", "))
	}
	return 0, nil
}

// eachName calls do with the full name of every hooked function, until it returns false. The name is good until do returns.
func eachName(do func(full string) bool) {
	more := true
	eachTable(func(t *hook.Table) {
		if more {
			eachNameOf(t, func(n *funcName) { more = more && do(n.full) })
		}
	})
}

// eachNameOf calls do with the name of every hooked function of a package. The name is good until do returns: a filter on a hundred thousand
// functions is to take no longer than the scheduler lets a goroutine run, and leave no garbage.
func eachNameOf(t *hook.Table, do func(n *funcName)) {
	full := append(append(make([]byte, 0, 256), t.Path...), '.')
	n := funcName{short: strings.LastIndexByte(t.Path, '/') + 1, bare: len(full)}
	for names := t.Names; names != ""; {
		row := names
		if end := strings.IndexByte(names, '\n'); end >= 0 {
			row, names = names[:end], names[end+1:]
		} else {
			names = ""
		}
		end := len(row) - 1 // the line's number is short
		for end >= 0 && row[end] != ' ' {
			end--
		}
		if end >= 0 && row[0] != '\t' {
			full = append(full[:n.bare], row[:end]...)
			n.full = unsafe.String(&full[0], len(full))
			do(&n)
			n.i++
		}
	}
}

// nearest returns up to three function names that resemble a glob.
func nearest(glob string) []string {
	type candidate struct {
		name string
		d    int
	}
	want := lastName(strings.Trim(glob, "*?"))
	var list []candidate
	eachName(func(full string) bool {
		if d := distance(strings.ToLower(want), strings.ToLower(lastName(full))); d <= max(1, len(want)/2) {
			list = append(list, candidate{strings.Clone(full), d})
		}
		return true
	})
	slices.SortStableFunc(list, func(a, b candidate) int { return a.d - b.d })
	var names []string
	for _, c := range list[:min(3, len(list))] {
		names = append(names, c.name)
	}
	return names
}

func lastName(s string) string { return s[strings.LastIndexByte(s, '.')+1:] }

// distance is the number of characters to insert, delete or replace to make a of b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diag
			if a[i] != b[j] {
				d++
			}
			diag = row[j+1]
			row[j+1] = min(d, row[j]+1, diag+1)
		}
	}
	return row[len(b)]
}
