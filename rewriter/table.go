package rewriter

import (
	"fmt"
	"strings"

	"github.com/ftgo/ftgo/internal/hook"
)

// A tableData holds what the table of a package says.
type tableData struct {
	Package             string // the package's name
	ABI, N, Kept, Alone int
	Path                string
	Names, Left         string // Go string literals
}

// table returns the file that declares the package's masks, sites and table, and registers the
// table. That is done by the first initializer of the first file, so it runs before anything else
// in the package (Go specification, Package initialization).
func (w *writer) table() []byte {
	t := tableData{Package: w.files[0].tree.Name.Name, ABI: hook.ABI, N: len(w.names), Path: w.path, Names: w.nameList(), Left: w.leftList()}
	for _, fn := range w.funcs {
		switch fn.Form {
		case Inlined:
			t.Kept++
		case Alone:
			t.Alone++
		}
	}
	if w.redeclared() {
		return w.inferredTable(t)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport _ \"unsafe\"\n\n%s", t.Package, shapeTypes())
	fmt.Fprintf(&b, `
var (
	ftgo_mask  [%d]uint8
	ftgo_sites [%d]ftgo_Site
	ftgo_table = ftgo_Table{
		ABI:   %d,
		N:     %d,
		Kept:  %d,
		Alone: %d,
		Masks: &ftgo_mask[0],
		Sites: &ftgo_sites[0],
		Path:  %q,
		Names: %s,
		Left:  %s,
	}
	ftgo_registered = ftgo_register(&ftgo_table)
)

//go:linkname ftgo_register runtime.ftgo_register
func ftgo_register(*ftgo_Table) bool

//go:linkname ftgo_take runtime.ftgo_take
func ftgo_take(*ftgo_Site) bool

//go:linkname ftgo_enter runtime.ftgo_enter
func ftgo_enter(*ftgo_Site) uintptr

//go:linkname ftgo_enterHere runtime.ftgo_enterHere
func ftgo_enterHere(*ftgo_Site) uintptr

//go:linkname ftgo_exit runtime.ftgo_exit
func ftgo_exit(uintptr)

//go:linkname ftgo_keeps runtime.ftgo_keeps
var ftgo_keeps uint32

//go:linkname ftgo_keep runtime.ftgo_keep
func ftgo_keep(uintptr, uintptr)

//go:noescape
//go:linkname ftgo_keepPointer runtime.ftgo_keep
func ftgo_keepPointer(uintptr, *ftgo_Site)

//go:linkname ftgo_enterAt runtime.ftgo_enterAt
func ftgo_enterAt(*ftgo_Site) int

//go:linkname ftgo_exitAt runtime.ftgo_exitAt
func ftgo_exitAt(int)
`, t.N, t.N, t.ABI, t.N, t.Kept, t.Alone, t.Path, t.Names, t.Left)
	b.Write(w.tail.Bytes())
	if w.opt.Hide != "" {
		fmt.Fprintf(&b, "\nvar %s [1]struct{}\n\ntype ftgo_bool bool\n\nconst ftgo_true = 0 == 0\n\n//go:linkname ftgo_takeInlined runtime.ftgo_takeInlined\nfunc ftgo_takeInlined(*ftgo_Site) bool\n\n//go:linkname ftgo_enterInlined runtime.ftgo_enterInlined\nfunc ftgo_enterInlined(*ftgo_Site) uintptr\n", w.opt.Hide)
	}
	return []byte(b.String())
}

// leftList returns Table.Left as a Go string literal.
func (w *writer) leftList() string {
	var b strings.Builder
	for _, fn := range w.funcs {
		if fn.Form == Alone && fn.Name != "_" {
			fmt.Fprintf(&b, "%s %s\n", fn.Name, fn.Reason)
		}
	}
	return fmt.Sprintf("%q", b.String())
}

// nameList returns Table.Names as a Go string literal.
func (w *writer) nameList() string {
	var b strings.Builder
	file := ""
	for _, fn := range w.names {
		if fn.File != file {
			file = fn.File
			fmt.Fprintf(&b, "\t%s\n", baseName(file))
		}
		fmt.Fprintf(&b, "%s %d\n", fn.Name, fn.Line)
	}
	return fmt.Sprintf("%q", b.String())
}

// baseName returns the last element of a path, with slashes of either kind.
func baseName(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}
