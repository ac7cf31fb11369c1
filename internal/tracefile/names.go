package tracefile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// names are the names of functions as a writer's options want them.
type names struct {
	t         *Trace
	short     bool // the package's name for the import path
	functions []string
	callers   map[uint32]string // by offset in the text
}

// function returns the name of a function.
func (n *names) function(id uint32) string {
	if int64(id) < int64(len(n.functions)) && n.functions[id] != "" {
		return n.functions[id]
	}
	name := n.t.Name(id)
	if n.short {
		name = shortPath(name)
	}
	const most = 1 << 20 // no program has so many functions: the file is damaged
	if id < most && !strings.HasPrefix(name, "func#") {
		if more := int(id) + 1 - len(n.functions); more > 0 {
			n.functions = append(n.functions, make([]string, more)...)
		}
		n.functions[id] = name
	}
	return name
}

// caller returns the name of the function that holds an offset in the text.
func (n *names) caller(off uint32) string {
	name, ok := n.callers[off]
	if !ok {
		name = n.t.symbol(off)
		if n.short {
			name = shortPath(name)
		}
		if n.callers == nil {
			n.callers = map[uint32]string{}
		}
		n.callers[off] = name
	}
	return name
}

// shortPath takes the directories off the import path in a function's name. The last element stays,
// and is the package's name but for a major version: example.com/mod/v2.F is mod.F.
func shortPath(name string) string {
	path := name
	if i := strings.IndexByte(name, '['); i >= 0 {
		path = name[:i] // type arguments have paths, too
	}
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 {
		return name
	}
	if dot := strings.IndexByte(path[slash:], '.'); dot > 2 && path[slash+1] == 'v' {
		if _, err := strconv.Atoi(path[slash+2 : slash+dot]); err == nil {
			return path[strings.LastIndexByte(path[:slash], '/')+1:slash] + name[slash+dot:]
		}
	}
	return name[slash+1:]
}

// fullName returns a goroutine's name: what the program called it, or the function that it was
// started with.
func (t *Trace) fullName(g *goroutine) string {
	switch {
	case g.name != "":
		return g.name
	case g.id == 1:
		return "main"
	}
	if s := t.symbolName(g.start); s != "" {
		return s
	}
	return "go"
}

// taskName returns a goroutine's name in so many bytes, for columns of that width. The name of a
// function is shortened step by step until there is room for it. It loses
//
//  1. the directories of the import path, and the package main: http.(*conn).serve.func2
//  2. the package: (*conn).serve.func2
//  3. what marks the receiver as a pointer: conn.serve.func2
//  4. type parameters, which are all "[...]"
//  5. the receiver: serve.func2
//  6. the beginning, since the end tells TestReadFile from TestReadDir and serve.func1 from
//     serve.func2, up to the next word if that is near
//
// A name that the program gave a goroutine loses its end, as it does where it has more than MaxName
// bytes.
func taskName(name string, function bool, room int) string {
	if !function {
		for room = min(room, len(name)); room > 0 && room < len(name) && !utf8.RuneStart(name[room]); {
			room--
		}
		return name[:room]
	}
	name = strings.TrimSuffix(shortPath(name), "-fm") // of a method value
	pkg, rest, ok := strings.Cut(name, ".")
	switch {
	case !ok:
		return tail(name, room)
	case pkg != "main" && len(name) <= room:
		return name
	case len(rest) <= room:
		return rest
	}
	if strings.HasPrefix(rest, "(*") {
		if rest = strings.Replace(rest[2:], ")", "", 1); len(rest) <= room {
			return rest
		}
	}
	if rest = strings.ReplaceAll(rest, "[...]", ""); len(rest) <= room {
		return rest
	}
	if _, method, ok := strings.Cut(rest, "."); ok && !generated(method) {
		rest = method
	}
	return tail(rest, room)
}

// generated reports whether a part of a function's name is the compiler's, for what stands in the
// function that is named before it: func2, gowrap1, .func1 behind glob, 0.func1 behind init.
func generated(part string) bool {
	for _, s := range []string{"func", "gowrap", "deferwrap", ".", ""} {
		if n, ok := strings.CutPrefix(part, s); ok && n != "" && (s == "." || '0' <= n[0] && n[0] <= '9') {
			return true
		}
	}
	return false
}

// tail returns the end of a name, from a word's beginning if that costs no more than a third.
func tail(s string, room int) string {
	if len(s) <= room {
		return s
	}
	s = s[len(s)-room:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	for i := 1; i <= room/3 && i < len(s); i++ {
		if c, before := s[i], s[i-1]; 'A' <= c && c <= 'Z' && 'a' <= before && before <= 'z' || before == '_' || before == '.' {
			return s[i:]
		}
	}
	return s
}

// task returns a goroutine's name and number in 14 columns, centred.
func (t *Trace) task(g *goroutine) string {
	if g.task == "" {
		id := "-" + strconv.FormatUint(g.id, 10)
		s := taskName(t.fullName(g), g.name == "", max(3, 14-len(id))) + id
		pad := max(0, 14-len(s))
		g.task = strings.Repeat(" ", pad/2) + s + strings.Repeat(" ", pad-pad/2)
	}
	return g.task
}

// row returns a goroutine's name in 16 columns, right-aligned, and its number in 7.
func (t *Trace) row(g *goroutine) string {
	if g.row == "" {
		g.row = fmt.Sprintf("%16s-%-7d", taskName(t.fullName(g), g.name == "", 16), g.id)
	}
	return g.row
}
