package ftrace

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ftgo/ftgo/internal/hook"
	namepattern "github.com/ftgo/ftgo/internal/pattern"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// This file holds patterns: how they are parsed, and which functions they match.

// A pattern is one element of a filter. It is taken apart once, since a hundred thousand names are
// compared with it (struct regex in the kernel's kernel/trace/trace.h, with MATCH_FRONT_ONLY and
// its kin).
type pattern struct {
	text string   // the pattern as it was given
	not  bool     // the text begins with !: what the pattern matches is taken out of the filter
	glob string   // of functions
	run  []string // parts of glob between its stars; nil if it has another special character
	mod  string   // pattern of Go packages that limits the pattern; "" is any
	file string   // of file.go:120: the end of the file's name …
	line int      // … and the line; 0 in other patterns
	bare bool     // glob may match a name without its package
	// at is what holds the line in the package that resolve was called for: a declared function and
	// a literal, as their numbers plus one; 0 for none.
	at [2]uint32
}

// patterns are the patterns of a filter, in the order in which they came. The last that matches a
// function decides.
type patterns []pattern

// parsePatterns parses the patterns of a filter.
func parsePatterns(texts []string) patterns {
	list := make(patterns, 0, len(texts))
	for _, text := range texts {
		list = append(list, parsePattern(text))
	}
	return list
}

// parsePattern parses one pattern.
func parsePattern(text string) pattern {
	p := pattern{text: text}
	s, not := strings.CutPrefix(text, "!")
	p.not = not
	if i := strings.LastIndex(s, ":mod:"); i >= 0 {
		s, p.mod = s[:i], s[i+len(":mod:"):]
		if s == "" {
			s = "*"
		}
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 && strings.HasSuffix(s[:i], ".go") {
		if n, err := strconv.Atoi(s[i+1:]); err == nil && n > 0 {
			p.file, p.line = s[:i], n
			s = "*"
		}
	}
	if p.mod == "" && strings.HasSuffix(s, "...") {
		s, p.mod = "*", s
	}
	p.glob = s
	if !strings.ContainsAny(s, `?[\`) {
		p.run = strings.Split(s, "*")
	}
	p.bare = strings.HasPrefix(s, "(") || !strings.Contains(s, ".")
	return p
}

// matchName reports whether the glob matches a name.
func (p *pattern) matchName(name string) bool {
	if p.run == nil {
		return namepattern.Match(p.glob, name)
	}
	first, last := p.run[0], p.run[len(p.run)-1]
	if len(p.run) == 1 {
		return name == first
	}
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, s := range p.run[1 : len(p.run)-1] {
		i := strings.Index(name, s)
		if i < 0 {
			return false
		}
		name = name[i+len(s):]
	}
	return true
}

// match reports whether the pattern matches a function. mayMatch must have said that it may match
// some functions of the package.
func (p *pattern) match(n *funcName) bool {
	if p.line > 0 {
		return p.at[0] == n.i+1 || p.at[1] == n.i+1
	}
	if p.glob == "*" || p.matchName(n.full) {
		return true
	}
	if p.glob[:min(1, len(p.glob))] == "*" { // what it does not match has no end that it matches
		return false
	}
	return n.short > 0 && p.matchName(n.full[n.short:]) || p.bare && p.matchName(n.full[n.bare:])
}

// resolve finds the functions of a package that the line is in: the last one that is declared at or
// above the line, and the last literal in that one.
func (p *pattern) resolve(t *hook.Table) {
	p.at = [2]uint32{}
	var last [2]int
	tracefile.EachName(t.Names, func(i int, name, file string, line int) {
		if line > p.line || !isEnd(file, p.file) {
			return
		}
		kind := 0
		if isLiteral(name) {
			kind = 1
		}
		if line >= last[kind] {
			last[kind], p.at[kind] = line, uint32(i)+1
		}
	})
	if last[1] < last[0] {
		p.at[1] = 0
	}
}

// isEnd reports whether the last elements of a path are the elements of end.
func isEnd(path, end string) bool {
	rest, ok := strings.CutSuffix(path, end)
	return ok && (rest == "" || strings.HasSuffix(rest, "/") || strings.HasPrefix(end, "/"))
}

// isLiteral reports whether a name within a package is the name of a function literal: work.func1,
// (*T).m.func2.1, init.func1.
func isLiteral(name string) bool {
	i := strings.LastIndex(name, ".func")
	return i >= 0 && i+len(".func") < len(name) && name[i+len(".func")]-'0' <= 9
}

// mayMatch reports whether the pattern may match a function of a package, and whether it matches
// all of them. It looks at what the glob has before its first special character.
func (p *pattern) mayMatch(path string) (some, all bool) {
	if p.mod != "" && !namepattern.Package(p.mod, path) {
		return false, false
	}
	if p.glob == "*" {
		return true, p.line == 0
	}
	literal, rest := p.glob, ""
	if i := strings.IndexAny(literal, `*?[\`); i >= 0 {
		literal, rest = literal[:i], literal[i:]
	}
	some = p.bare
	full := path + "."
	for _, base := range []string{full, full[strings.LastIndexByte(path, '/')+1:]} {
		switch {
		case strings.HasPrefix(base, literal):
			if rest == "*" {
				return true, true
			}
			some = true
		case strings.HasPrefix(literal, base):
			some = true
		}
	}
	return some, false
}

// of returns what the patterns say of a package: whether its functions are in the filter to begin
// with, and the patterns that their names must be compared with.
func (l patterns) of(t *hook.Table) (in bool, rest patterns) {
	for _, p := range l {
		switch some, all := p.mayMatch(t.Path); {
		case all:
			in, rest = !p.not, nil
		case some:
			if p.line > 0 {
				p.resolve(t)
			}
			rest = append(rest, p)
		}
	}
	return in, rest
}

// each calls do with the number of every function of a package that the patterns match.
func (l patterns) each(t *hook.Table, do func(id uint32)) {
	in, rest := l.of(t)
	if !in && len(rest) == 0 {
		return
	}
	eachNameOf(t, func(n *funcName) {
		if rest.match(in, n) {
			do(t.Base + n.i)
		}
	})
}

// texts returns the patterns as they were given.
func (l patterns) texts() []string {
	list := make([]string, 0, len(l))
	for _, p := range l {
		list = append(list, p.text)
	}
	return list
}

// match reports whether a function is in the filter, given whether it was in it to begin with.
func (l patterns) match(in bool, n *funcName) bool {
	for i := range l {
		if p := &l[i]; in == p.not && p.match(n) {
			in = !p.not
		}
	}
	return in
}

// empty reports whether the patterns, taken together, match nothing and wait for nothing.
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
