package ftrace

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ftgo/ftgo/internal/hook"
)

// This file says why a function that a filter names has no hook.

// whyUnhooked explains why a pattern that matches no hooked function matches another function of
// the program; "" if it does not. The functions that the build left alone stand in the tables with
// their reasons. The others stand among the names that the program carries for its stack traces,
// which include the names of inlined functions.
func whyUnhooked(p pattern) (why string) {
	if p.line > 0 || p.mod != "" {
		return ""
	}
	eachTable(func(t *hook.Table) {
		for line := range strings.Lines(t.Left) {
			name, reason, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if n := nameIn(t.Path, name); why == "" && p.match(&n) {
				why = fmt.Sprintf("%s has no hook: %s", n.full, reason)
			}
		}
	})
	if why != "" {
		return why
	}
	for names := rt.Symbols(); len(names) > 0; {
		var name []byte
		if name, names, _ = bytes.Cut(names, []byte{0}); len(name) == 0 {
			continue
		}
		path, rest := splitName(string(name))
		if n := nameIn(path, rest); rest != "" && rest != "init" && !strings.HasPrefix(rest, hook.Prefix) && p.match(&n) {
			return n.full + " has no hook: " + whyNone(path)
		}
	}
	return ""
}

// whyNone explains why a function of a package has no hook, if no table says it.
func whyNone(path string) string {
	hooked := false
	eachTable(func(t *hook.Table) { hooked = hooked || t.Path == path })
	first, _, _ := strings.Cut(path, "/")
	switch {
	case hooked:
		return "the compiler inlines it; built with -inline=hook it has one"
	case path == "runtime" || strings.HasPrefix(path, "internal/") || strings.HasPrefix(path, "runtime/"):
		return "its package lies beneath the hooks, or belongs to the standard library, which is hooked with -std"
	case strings.HasPrefix(path, "_ftgo/") || strings.Contains(path, "ftgo/ftgo/"):
		return "it belongs to the hooks themselves"
	case path == "main" || strings.Contains(first, "."):
		return "its package was built without hooks; look at the flag -pkg of the build"
	}
	return "it belongs to the standard library, which is hooked with -std, or to a package that was built without hooks"
}
