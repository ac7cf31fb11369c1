package ftrace

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
)

// filterList is set_ftrace_filter and set_ftrace_notrace: globs of functions that are traced, and of functions that are not, which wins.
type filterList struct {
	filter, notrace []string
}

// filters are those of the current tracer.
var filters filterList

// traceBit is the current tracer's bit in Site.Tracers.
const traceBit = 1

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
	filter, all := globsFor(l.filter, t.Path)
	notrace, none := globsFor(l.notrace, t.Path)
	all = all || len(l.filter) == 0
	none = none || !all && len(filter) == 0
	if none || all && len(notrace) == 0 {
		for i := range t.N {
			setMask(t, i, !none)
		}
		return
	}
	eachNameOf(t, func(i uint32, full string) {
		if i < t.N {
			setMask(t, i, (all || matchAny(filter, full)) && !matchAny(notrace, full))
		}
	})
}

// globsFor returns those of the globs that may match a function of a package, by what they have in front of the first special character. If one of
// them matches every function, all is true.
func globsFor(globs []string, path string) (list []string, all bool) {
	full := path + "."
	short := full[strings.LastIndexByte(path, '/')+1:]
	for _, g := range globs {
		literal, rest := g, ""
		if i := strings.IndexAny(g, `*?[\`); i >= 0 {
			literal, rest = g[:i], g[i:]
		}
		for _, base := range []string{full, short} {
			switch {
			case strings.HasPrefix(base, literal):
				if rest == "*" {
					return nil, true
				}
				list = append(list, g)
			case strings.HasPrefix(literal, base):
				list = append(list, g)
			default:
				continue
			}
			break
		}
	}
	return list, false
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
		eachTable(func(t *hook.Table) {
			if found || t.N == 0 {
				return
			}
			list, all := globsFor([]string{g}, t.Path)
			if found = all; found || len(list) == 0 {
				return
			}
			eachNameOf(t, func(_ uint32, full string) { found = found || matchAny(list, full) })
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

// eachName calls do with the full name of every hooked function, until it returns false. The name is good until do returns.
func eachName(do func(full string) bool) {
	more := true
	eachTable(func(t *hook.Table) {
		if more {
			eachNameOf(t, func(_ uint32, full string) { more = more && do(full) })
		}
	})
}

// eachNameOf calls do with the number within the package, and the full name, of every hooked function of a package. The name is good until do
// returns: a filter on a hundred thousand functions is to take no longer than the scheduler lets a goroutine run, and leave no garbage.
func eachNameOf(t *hook.Table, do func(i uint32, full string)) {
	full := append(append(make([]byte, 0, 256), t.Path...), '.')
	prefix := len(full)
	i := uint32(0)
	for names := t.Names; names != ""; {
		var row string
		row, names, _ = strings.Cut(names, "\n")
		if end := strings.LastIndexByte(row, ' '); end >= 0 && row[0] != '\t' {
			full = append(full[:prefix], row[:end]...)
			do(i, unsafe.String(&full[0], len(full)))
			i++
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
