package rewriter

import (
	"fmt"
	"strings"
)

// predeclared lists the predeclared types that a package's table names.
var predeclared = []string{"uint8", "uint32", "uintptr", "string", "bool", "int"}

// redeclared reports whether the package declares a name of predeclared.
func (w *writer) redeclared() bool {
	for _, f := range w.files {
		for _, d := range f.tree.Decls {
			for _, name := range declared(d) {
				for _, p := range predeclared {
					if name == p {
						return true
					}
				}
			}
		}
	}
	return false
}

// inferredTable returns the table's file for a package that redeclares types which the usual form
// names (table). Only type parameters hide the declarations of a package. So the table's types are
// generic, over parameters with the names of the predeclared types, and their type arguments are
// inferred from constants; a rune stands for uint32. The hooks are variables, and the table is
// filled in when the package is initialized.
func (w *writer) inferredTable(t tableData) []byte {
	list := "[" + strings.Join(predeclared, ", ") + "]"
	params := "[" + strings.Join(predeclared, ", ") + " interface{}]"
	types := shapeTypes()
	for _, c := range [][2]string{{"ftgo_Site", "ftgo_Site" + list}, {"ftgo_Table", "ftgo_Table" + list}, {list + " struct", params + " struct"}} {
		var err error
		if types, err = substitute(types, c[0], c[1]); err != nil {
			panic(err) // a fault in our own source
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "//go:build go1.21\n\npackage %s\n\nimport ftgo_unsafe \"unsafe\"\n\n%s", t.Package, types)
	fmt.Fprintf(&b, `
var ftgo_mask, ftgo_sites, ftgo_table, ftgo_register, ftgo_take, ftgo_enter, ftgo_enterHere, ftgo_exit, ftgo_enterAt, ftgo_exitAt = ftgo_infer("0"[0], '0', ftgo_unsafe.Sizeof(0), "", 0 == 0, 0)

var ftgo_registered = ftgo_fill()

func ftgo_infer%[1]s(uint8, uint32, uintptr, string, bool, int) (
	mask [%[3]d]uint8,
	sites [%[3]d]ftgo_Site%[2]s,
	table ftgo_Table%[2]s,
	register func(*ftgo_Table%[2]s) bool,
	take func(*ftgo_Site%[2]s) bool,
	enter, enterHere func(*ftgo_Site%[2]s) uintptr,
	exit func(uintptr),
	enterAt func(*ftgo_Site%[2]s) int,
	exitAt func(int),
) {
`, params, list, t.N)
	for _, name := range hookNames {
		fmt.Fprintf(&b, "\t*(*func())(ftgo_unsafe.Pointer(&%[1]s)) = ftgo_%[1]sCode\n", name)
	}
	fmt.Fprintf(&b, `	return
}

func ftgo_fill() struct{} {
	ftgo_table.ABI = %d
	ftgo_table.N = %d
	ftgo_table.Kept = %d
	ftgo_table.Alone = %d
	ftgo_table.Masks = &ftgo_mask[0]
	ftgo_table.Sites = &ftgo_sites[0]
	ftgo_table.Path = %q
	ftgo_table.Names = %s
	ftgo_table.Left = %s
	ftgo_register(&ftgo_table)
	return struct{}{}
}
`, t.ABI, t.N, t.Kept, t.Alone, t.Path, t.Names, t.Left)
	for _, name := range hookNames {
		fmt.Fprintf(&b, "\n//go:linkname ftgo_%[1]sCode runtime.ftgo_%[1]s\nfunc ftgo_%[1]sCode()\n", name)
	}
	return []byte(b.String())
}

var hookNames = []string{"register", "take", "enter", "enterHere", "exit", "enterAt", "exitAt"}
