package rewriter

import (
	"fmt"
	"go/ast"
	"strings"
)

// A declInfo holds what form needs to know of a declared function, except its cost.
type declInfo struct {
	file   *file
	name   string
	pragma string
}

// describe fills w.decls with a declInfo for each declared function.
func (w *writer) describe() {
	w.decls = map[*ast.FuncDecl]declInfo{}
	inits := 0
	for _, f := range w.files {
		if f.generated() {
			continue
		}
		directives := pragmas(f.tree)
		for _, d := range f.tree.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := funcName(d, w.aliases)
			if name == "init" && d.Recv == nil {
				name = fmt.Sprintf("init.%d", inits)
				inits++
			}
			w.decls[d] = declInfo{f, name, directives[d]}
		}
	}
}

// built returns the cost of inlining a function in the form in which it will be compiled, and -1 if
// that cannot be inlined. cost is what the body costs without a hook.
func (w *writer) built(d *ast.FuncDecl, cost int) int {
	info, ok := w.decls[d]
	if !ok {
		return cost
	}
	switch form, _ := w.form(info, d, cost); form {
	case Hidden:
		return cost + costHidden(cost)
	case ReEntry, InPlace:
		return -1
	}
	return cost
}

// funcDecl decides on a declared function and on the literals in it, and hooks them.
func (w *writer) funcDecl(f *file, d *ast.FuncDecl) {
	info := w.decls[d]
	name, cost := info.name, w.costs.decl(d)
	form, reason := w.form(info, d, cost)
	fn := w.add(f, d.Pos(), name, form, reason, cost)
	switch form {
	case ReEntry:
		w.reEntry(f, d, w.number(f, fn))
	case InPlace:
		w.inPlace(f, d.Body, w.number(f, fn))
	case Hidden:
		w.reEntry(f, d, w.number(f, fn))
	}
	if d.Body != nil {
		w.literals(f, d.Body, litScope{name: name + ".func", gen: new(int), inlined: form == Inlined, alone: form == Alone && (info.pragma != "" || name == "_")})
	}
}

// form returns the form of a declared function, with the reason for Inlined and Alone. cost is what
// inlining the body costs.
func (w *writer) form(info declInfo, d *ast.FuncDecl, cost int) (Form, string) {
	f, name := info.file, info.name
	if d.Body == nil {
		return Alone, "it has no body"
	}
	if d.Name.Name == "_" {
		return Alone, "it cannot be called"
	}
	if d.Recv != nil {
		if len(d.Recv.List) != 1 || len(d.Recv.List[0].Names) > 1 {
			return Alone, "it does not compile"
		}
		if base, _, _ := receiver(d); base == "?" {
			return Alone, "it does not compile"
		}
	}
	if info.pragma != "" {
		return Alone, info.pragma
	}
	if strings.HasPrefix(d.Name.Name, "_Cfunc_") || strings.HasPrefix(d.Name.Name, "_cgo") || strings.HasPrefix(d.Name.Name, "_Cgo") {
		return Alone, "cgo generated it"
	}
	if w.opt.Notrace != nil && w.opt.Notrace(w.path+"."+name) {
		return Alone, "-notrace"
	}
	if d.Recv == nil && d.Name.Name == "init" {
		return InPlace, ""
	}
	if d.Recv == nil && d.Name.Name == "main" && w.path == "main" {
		return ReEntry, ""
	}
	if strings.HasSuffix(f.Name, "_test.go") && calledByTesting(d) {
		return ReEntry, ""
	}
	limit, why := w.opt.Inline, ""
	if !isGeneric(d) {
		limit, why = w.limit(name)
	}
	if cost >= 0 && cost <= limit {
		return Inlined, fmt.Sprintf("the compiler inlines it (cost %d%s)", cost, why)
	}
	if shadowsItself(d) {
		return InPlace, ""
	}
	if w.opt.Hide != "" && cost >= 0 && cost+tightCost <= InlineKeep && !isGeneric(d) && !returnsWrong(d.Type, d.Body) {
		return Hidden, ""
	}
	return ReEntry, ""
}

// calledByTesting reports whether package testing calls a function. The compiler does not inline
// such a call, however small the function is.
func calledByTesting(d *ast.FuncDecl) bool {
	if d.Recv != nil {
		return false
	}
	for _, prefix := range []string{"Test", "Benchmark", "Fuzz", "Example"} {
		if strings.HasPrefix(d.Name.Name, prefix) {
			return true
		}
	}
	return false
}

// shadowsItself reports whether a type parameter of a function has the function's name, so that the
// name is not that of the function in its body and its wrapper.
func shadowsItself(d *ast.FuncDecl) bool {
	if d.Recv != nil || d.Type.TypeParams == nil {
		return false
	}
	for _, p := range d.Type.TypeParams.List {
		for _, id := range p.Names {
			if id.Name == d.Name.Name {
				return true
			}
		}
	}
	return false
}

// forbids maps the directives that rule a hook out to the reason for that.
var forbids = map[string]string{
	"go:nosplit":            "//go:nosplit: its stack frame must not grow",
	"go:norace":             "//go:norace: it runs where neither the race detector nor hooks may be called",
	"go:nowritebarrier":     "//go:nowritebarrier",
	"go:nowritebarrierrec":  "//go:nowritebarrierrec",
	"go:yeswritebarrierrec": "//go:yeswritebarrierrec",
	"go:systemstack":        "//go:systemstack: it runs on g0",
	"go:cgo_unsafe_args":    "//go:cgo_unsafe_args: it takes the address of its argument frame",
	"go:uintptrkeepalive":   "//go:uintptrkeepalive: the compiler keeps its arguments alive for this call alone",
	"go:uintptrescapes":     "//go:uintptrescapes: the compiler keeps its arguments alive for this call alone",
	"go:nocheckptr":         "//go:nocheckptr",
	"go:wasmimport":         "//go:wasmimport",
	"go:wasmexport":         "//go:wasmexport: the host calls it",
	"go:cgo_export_dynamic": "cgo generated it",
	"go:cgo_export_static":  "cgo generated it",
	"go:cgo_import_dynamic": "cgo generated it",
}

// pragmas maps functions to the reason why a directive rules a hook out. As in the compiler, a
// directive belongs to the next declaration, whatever lies between the two.
func pragmas(f *ast.File) map[*ast.FuncDecl]string {
	var list []*ast.Comment
	for _, g := range f.Comments {
		for _, c := range g.List {
			if strings.HasPrefix(c.Text, "//go:") {
				list = append(list, c)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	m := map[*ast.FuncDecl]string{}
	i := 0
	for _, d := range f.Decls {
		start := declStart(d)
		for ; i < len(list) && list[i].Pos() < start; i++ {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			word, _, _ := strings.Cut(strings.TrimPrefix(list[i].Text, "//"), " ")
			if reason := forbids[strings.TrimSpace(word)]; reason != "" {
				m[fn] = reason
			}
		}
		for ; i < len(list) && list[i].Pos() < d.End(); i++ {
		}
	}
	return m
}
