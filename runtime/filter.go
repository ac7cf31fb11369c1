package ftrace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// filterList is set_ftrace_filter and set_ftrace_notrace: globs of functions that are traced, and of functions that are not, which wins.
type filterList struct {
	filter, notrace []string
	matched         bool // since the filter was set it has matched a function
}

// filters are those of the current tracer.
var filters filterList

// traceBit is the current tracer's bit in Site.Tracers.
const traceBit = 1

// wants reports whether a function is to be traced.
func (l *filterList) wants(full string) bool {
	if len(l.filter) > 0 {
		if !matchAny(l.filter, full) {
			return false
		}
		l.matched = true
	}
	return !matchAny(l.notrace, full)
}

// matchAny reports whether one of the globs matches a function's full name, or its name with the last element of the import path
// alone, as stack traces show it.
func matchAny(globs []string, full string) bool {
	if len(globs) == 0 {
		return false
	}
	short := full[strings.LastIndexByte(full, '/')+1:]
	for _, g := range globs {
		if hook.Match(g, full) || short != full && hook.Match(g, short) {
			return true
		}
	}
	return false
}

// apply sets the masks of a package's functions. Masks are written by the patched runtime, one byte each, while functions run: a call
// sees the old byte or the new one.
func (l *filterList) apply(t *hook.Table) {
	if len(l.filter) == 0 && len(l.notrace) == 0 {
		for i := range t.N {
			setMask(t, i, true)
		}
		return
	}
	prefix := t.Path + "."
	tracefile.EachName(t.Names, func(i int, name, _ string, _ int) {
		if uint32(i) < t.N {
			setMask(t, uint32(i), l.wants(prefix+name))
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

// noMatch is the error for globs that match nothing.
func noMatch(what string, globs []string) error {
	for _, g := range globs {
		found := false
		eachName(func(full string) bool {
			found = matchAny([]string{g}, full)
			return !found
		})
		if found {
			continue
		}
		near := nearest(g)
		if len(near) == 0 {
			return fmt.Errorf("%s: no function of this program matches %q", what, g)
		}
		return fmt.Errorf("%s: no function of this program matches %q; near it are %s", what, g, strings.Join(near, ", "))
	}
	return nil
}

// eachName calls do with the full name of every hooked function, until it returns false.
func eachName(do func(full string) bool) {
	more := true
	eachTable(func(t *hook.Table) {
		if more {
			tracefile.EachName(t.Names, func(_ int, name, _ string, _ int) {
				more = more && do(t.Path+"."+name)
			})
		}
	})
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
			list = append(list, candidate{full, d})
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
