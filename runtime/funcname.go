package ftrace

import (
	"strings"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
)

// This file holds the names of hooked functions: how they are read from the tables, and which forms
// a pattern may name them by.

// A funcName is a function's name, and where shorter forms of it begin: with the last element of
// the import path alone, as stack traces show it, and without the package.
type funcName struct {
	i           uint32 // number within the package
	full        string
	short, bare int
}

// eachName calls do with the full name of every hooked function, until do returns false. The name
// is valid until do returns.
func eachName(do func(full string) bool) {
	more := true
	eachTable(func(t *hook.Table) {
		if more {
			eachNameOf(t, func(n *funcName) { more = more && do(n.full) })
		}
	})
}

// eachNameOf calls do with the name of every hooked function of a package. The name is valid until
// do returns: so a filter on a hundred thousand functions leaves no garbage, and takes no longer
// than the scheduler lets a goroutine run.
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

// splitName splits a function's full name into import path and name within the package.
func splitName(full string) (path, name string) {
	slash := strings.LastIndexByte(full, '/') + 1
	if i := strings.IndexByte(full, '['); i >= 0 && i < slash { // paths of type arguments
		slash = strings.LastIndexByte(full[:i], '/') + 1
	}
	dot := strings.IndexByte(full[slash:], '.')
	if dot < 0 {
		return full, ""
	}
	return full[:slash+dot], full[slash+dot+1:]
}

// nameIn returns the name of a function of a package.
func nameIn(path, name string) funcName {
	return funcName{full: path + "." + name, short: strings.LastIndexByte(path, '/') + 1, bare: len(path) + 1}
}
