package rewriter

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"sync"

	"github.com/ftgo/ftgo"
	"github.com/ftgo/ftgo/internal/hook"
)

// This file makes the declarations of internal/hook fit for other packages: for package runtime,
// and for the packages that are hooked.

// shape returns the declarations of internal/hook, each name with hook.Prefix in front. It panics
// if the embedded source, which is also compiled into this program, is not as readShape expects.
var shape = sync.OnceValue(func() string {
	src, err := readShape(ftgo.Library)
	if err != nil {
		panic(err)
	}
	return src
})

// readShape reads the package from the library's source. Names of fields stay as they are.
func readShape(library fs.FS) (string, error) {
	names, err := fs.Glob(library, "internal/hook/*.go")
	if err != nil {
		return "", err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	var sources [][]byte
	ours := map[string]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := fs.ReadFile(library, name)
		if err != nil {
			return "", err
		}
		f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		for _, imp := range f.Imports {
			if imp.Path.Value != `"unsafe"` {
				return "", fmt.Errorf("%s imports %s: package runtime, which gets a copy of the file, imports unsafe alone for it", name, imp.Path.Value)
			}
		}
		for _, d := range f.Decls {
			for _, name := range declared(d) {
				ours[name] = true
			}
		}
		files, sources = append(files, f), append(sources, src)
	}
	var b strings.Builder
	for i, f := range files {
		off := func(p token.Pos) int { return fset.PositionFor(p, false).Offset }
		var e edits
		head := f.Name.End()
		var prefix func(n ast.Node) bool
		prefix = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				ast.Inspect(n.Type, prefix)
				return false
			case *ast.SelectorExpr:
				ast.Inspect(n.X, prefix)
				return false
			case *ast.Ident:
				if ours[n.Name] {
					e.insert(off(n.Pos()), hook.Prefix)
				}
			}
			return true
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.IMPORT {
				head = d.End()
				continue
			}
			ast.Inspect(d, prefix)
		}
		e.replace(0, off(head), "")
		b.Write(e.apply(sources[i]))
	}
	return b.String(), nil
}

// shapeTypes returns the two types that a hooked package needs, without comments.
var shapeTypes = sync.OnceValue(func() string {
	var b strings.Builder
	for _, name := range []string{"Site", "Table"} {
		_, body, found := strings.Cut(shape(), "\ntype "+hook.Prefix+name+" struct {\n")
		body, _, closed := strings.Cut(body, "\n}\n")
		if !found || !closed {
			panic("internal/hook declares no struct type " + name)
		}
		fmt.Fprintf(&b, "type %s%s struct {\n", hook.Prefix, name)
		for line := range strings.SplitSeq(body, "\n") {
			line, _, _ = strings.Cut(line, " //")
			b.WriteString(strings.TrimRight(line, " \t") + "\n")
		}
		b.WriteString("}\n\n")
	}
	return b.String()
})
