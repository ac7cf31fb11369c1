package rewriter

import (
	"go/ast"
	"go/token"
	"slices"
)

// edits collects insertions and replacements at byte offsets of a source text. The rest of the text
// stays as it is, to the byte. That keeps lines, columns and comments, and takes a twentieth of the
// time of printing a tree.
type edits struct {
	list []edit
}

// An edit replaces the text from off to end.
type edit struct {
	off, end int
	text     string
}

func (e *edits) insert(off int, text string) { e.list = append(e.list, edit{off, off, text}) }

func (e *edits) replace(off, end int, text string) { e.list = append(e.list, edit{off, end, text}) }

// apply returns src with the edits made. Edits at one offset are made in the order in which they
// were added.
func (e *edits) apply(src []byte) []byte {
	slices.SortStableFunc(e.list, func(a, b edit) int { return a.off - b.off })
	n := len(src)
	for _, ed := range e.list {
		n += len(ed.text)
	}
	out := make([]byte, 0, n)
	last := 0
	for _, ed := range e.list {
		out = append(out, src[last:ed.off]...)
		out = append(out, ed.text...)
		last = ed.end
	}
	return append(out, src[last:]...)
}

// declStart returns the position of a declaration's keyword.
func declStart(d ast.Decl) token.Pos {
	switch d := d.(type) {
	case *ast.GenDecl:
		return d.TokPos
	case *ast.FuncDecl:
		return d.Type.Func
	}
	return d.Pos()
}
