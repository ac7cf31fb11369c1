package ftrace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ftgo/ftgo/internal/hook"
)

// This file says what is wrong with the patterns of a filter, and what would be near them.

// noMatch returns an error for the first pattern that matches no function, and the pattern's index.
// A pattern that waits for a package (:mod:) is no error.
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

// nearest returns up to three names that resemble a glob, in the form in which the glob names a
// function: with the import path, with its last element, or within the package. Function literals
// are left out: their names are not what a person would type.
func nearest(glob string) []string {
	type candidate struct {
		name string
		d    int
	}
	want := strings.ToLower(strings.Trim(glob, "*?"))
	var list []candidate
	eachTable(func(t *hook.Table) {
		eachNameOf(t, func(n *funcName) {
			if isLiteral(n.full[n.bare:]) {
				return
			}
			best := candidate{d: 1 + len(want)/3}
			for _, from := range []int{0, n.short, n.bare} {
				if d := distance(want, strings.ToLower(n.full[from:])); d < best.d {
					best = candidate{n.full, d}
				}
			}
			if best.name != "" {
				list = append(list, candidate{strings.Clone(best.name), best.d})
			}
		})
	})
	slices.SortStableFunc(list, func(a, b candidate) int { return a.d - b.d })
	var names []string
	for _, c := range list[:min(3, len(list))] {
		names = append(names, c.name)
	}
	return names
}

// distance returns the number of characters to insert, delete or replace to make a of b.
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

// refuse logs err, which says what is wrong with texts[i], and returns it.
func refuse(what string, texts []string, i int, err error) error {
	pos := 0
	for _, s := range texts[:i] {
		pos += len(s) + 1
	}
	logError(what, strings.TrimPrefix(err.Error(), what+": "), strings.Join(texts, " "), pos)
	return err
}
