package ftrace

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
)

// filterList is set_ftrace_filter and set_ftrace_notrace: what is traced, everything if there are no patterns, and what is not, which wins.
type filterList struct {
	filter, notrace patterns
}

// filters are those of the current tracer.
var filters filterList

// traceBit is the current tracer's bit in Site.Tracers.
const traceBit = 1

// apply sets the masks of a package's functions. Masks are written by the patched runtime, one byte each, while functions run: a call
// sees the old byte or the new one.
func (l *filterList) apply(t *hook.Table) {
	in, some := l.filter.of(t)
	in = in || len(l.filter) == 0
	out, except := l.notrace.of(t)
	none := !in && len(some) == 0 || out && len(except) == 0
	if none || len(some)+len(except) == 0 {
		for i := range t.N {
			setMask(t, i, !none)
		}
		return
	}
	eachNameOf(t, func(n *funcName) {
		if n.i < t.N {
			setMask(t, n.i, some.match(in, n) && !except.match(out, n))
		}
	})
}

func setMask(t *hook.Table, i uint32, on bool) {
	s := siteOf(t, i)
	if on {
		s.Tracers |= traceBit
	} else {
		s.Tracers &^= traceBit
	}
	var m uint8
	if s.Tracers&traceBit != 0 {
		m = 1
	}
	rt.Mask(maskOf(t, i), m)
}

// clear takes every function's mask away.
func (l *filterList) clear() {
	eachTable(func(t *hook.Table) {
		for i := range t.N {
			setMask(t, i, false)
		}
	})
}

// noMatch is the error for patterns that match nothing. One that waits for a package (:mod:) is none.
func noMatch(what string, list patterns) error {
	for _, p := range list {
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
		if found || waits {
			continue
		}
		text := strings.TrimPrefix(p.text, "!")
		near := nearest(text)
		if len(near) == 0 {
			return fmt.Errorf("%s: no function of this program matches %q", what, text)
		}
		return fmt.Errorf("%s: no function of this program matches %q; near it are %s", what, text, strings.Join(near, ", "))
	}
	return nil
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
