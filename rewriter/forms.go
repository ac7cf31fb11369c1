package rewriter

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"unicode"
)

// reEntry hooks a function that a wrapper enters a second time. The function shares its wrapper
// (dispatchShared), or, where that cannot be, has one of its own:
//
//	func (s *S) Foo(a int) error {
//		if ftgo_mask[7] != 0 && ftgo_take(&ftgo_sites[7]) { return ftgo_S_Foo(s, a) }
//		…the body, as it was…
//	}
//	func ftgo_S_Foo(ftgo_r *S, ftgo_p0 int) (ftgo_r0 error) {
//		ftgo_t := ftgo_enter(&ftgo_sites[7]); defer ftgo_exit(ftgo_t)
//		ftgo_r0 = ftgo_1S_Foo(ftgo_r, ftgo_p0)
//		if ftgo_keeps != 0 { ftgo_2S_Foo(ftgo_t, ftgo_r0) }
//		return
//	}
//
//	//go:noescape
//	//go:linkname ftgo_1S_Foo example.com/p.(*S).Foo
//	func ftgo_1S_Foo(ftgo_r *S, ftgo_p0 int) error
//
// ftgo_1S_Foo is the function itself, under a name that the compiler knows nothing of. Under its
// own name, the function and its wrapper would be recursive to escape analysis, which takes
// everything that flows from a parameter to a result of a recursive function for lost to the heap.
// What the body does with its parameters, escape analysis sees in the body.
//
// The wrapper of a method is a function, so that it stays out of method sets, type descriptors and
// the wrappers that embedding makes. On a generic receiver the wrapper is a method, since a
// function would have to repeat the constraints of the type.
func (w *writer) reEntry(f *file, d *ast.FuncDecl, at site) {
	var recvArg, recvParam string
	var generic bool
	wrapper := d.Name.Name
	if d.Recv != nil {
		var base string
		base, _, generic = receiver(d)
		recv := d.Recv.List[0]
		recvArg = w.nameParam(f, recv, 0, generated(localReceiver, ""))
		recvParam = generated(localReceiver, "") + " " + f.text(recv.Type)
		if !generic {
			wrapper = base + "_" + wrapper
		}
	}
	kind := ""
	if at.Form == Hidden {
		kind = kindHidden
	}
	wrapper = w.unique(generated(kind, wrapper), at.num)

	// The check passes the function's own parameters. The wrapper has names of its own for them, so
	// that none hides what it calls.
	var params, args, freshArgs []string
	n := 0
	for _, p := range d.Type.Params.List {
		dots, typ := "", f.text(p.Type)
		if e, ok := p.Type.(*ast.Ellipsis); ok {
			dots, typ = "...", "..."+f.text(e.Elt) // on one line: a line break may not follow []
		}
		for i := range max(1, len(p.Names)) {
			fresh := local(localParam, n)
			n++
			args = append(args, w.nameParam(f, p, i, fresh)+dots)
			freshArgs = append(freshArgs, fresh+dots)
			params = append(params, fresh+" "+typ)
		}
	}
	bySymbol := !isGeneric(d) && !w.opt.Assembly[w.symbol(d)] && !(w.mayInline(at.Func) && w.holdsPointers(d))
	if bySymbol && w.share {
		for i, a := range args {
			if variadic, ok := strings.CutSuffix(a, "..."); ok {
				args[i] = variadic
				params[i] = strings.Replace(params[i], " ...", " []", 1)
			}
		}
		if d.Recv != nil {
			args, params = append([]string{recvArg}, args...), append([]string{recvParam}, params...)
		}
		w.dispatchShared(f, d, at, wrapper, args, params)
		return
	}
	var tparams, targs []string
	if d.Type.TypeParams != nil {
		for _, p := range d.Type.TypeParams.List {
			for i, id := range p.Names {
				name := id.Name
				if name == "_" {
					name = local(localTypeParam, len(targs))
					f.edits.replace(f.off(id.Pos()), f.off(id.End()), name+f.directive(w.fset, id.End(), true))
				}
				targs = append(targs, name)
				if i == len(p.Names)-1 {
					name += " " + f.text(p.Type)
				}
				tparams = append(tparams, name)
			}
		}
	}
	targList, tparamList := "", ""
	if len(targs) > 0 {
		targList = "[" + strings.Join(targs, ", ") + "]"
		tparamList = "[" + strings.Join(tparams, ", ") + "]"
	}
	results := f.results(d.Type) // before nameResults edits them

	// The check calls the wrapper.
	call := wrapper + targList + "(" + strings.Join(args, ", ") + ")"
	switch {
	case generic:
		call = recvArg + "." + call
	case d.Recv != nil:
		call = wrapper + targList + "(" + strings.Join(append([]string{recvArg}, args...), ", ") + ")"
	}
	w.dispatch(f, d, at, call, len(results) > 0, "")

	// The wrapper calls the function.
	callee := d.Name.Name + targList
	head := "func "
	switch {
	case generic:
		head += "(" + recvParam + ") " + wrapper + tparamList
		callee = generated(localReceiver, "") + "." + callee
	case d.Recv != nil:
		head += wrapper + tparamList
		params = append([]string{recvParam}, params...)
		callee = generated(localReceiver, "") + "." + callee
	default:
		head += wrapper + tparamList
	}
	alias := ""
	if bySymbol && at.Form != Hidden {
		callee = ofWrapper(kindSelf, wrapper)
		if d.Recv != nil {
			freshArgs = append([]string{generated(localReceiver, "")}, freshArgs...)
		}
		alias = fmt.Sprintf("\n//go:noescape\n//go:linkname %s %s\nfunc %[1]s(%[3]s)%[4]s\n", callee, w.symbol(d), strings.Join(params, ", "), inParentheses(results))
		f.importUnsafe(w.fset)
	}
	enter := "ftgo_enter"
	if at.Form == Hidden {
		enter = "ftgo_enterInlined"
	}
	keep, decl := w.keep(f, d, wrapper, tparams)
	fmt.Fprintf(&f.tail, "\n%s\n", f.directive(w.fset, d.Type.Func, false))
	writeWrapper(&f.tail, fmt.Sprintf("%s(%s)", head, strings.Join(params, ", ")), fmt.Sprintf("%s(%s)", enter, at.addr()),
		fmt.Sprintf("%s(%s)", callee, strings.Join(freshArgs, ", ")), f.results(d.Type), keep)
	f.tail.WriteString(alias + decl)
}

// keep returns the statement by which a function's own wrapper keeps the first result, and the
// declaration that the statement needs: runtime.ftgo_keep with the result's type. Both are "" where
// the type is not known to be one of words, or is not known outside of the function.
func (w *writer) keep(f *file, d *ast.FuncDecl, wrapper string, tparams []string) (keep, decl string) {
	if !w.share || d.Type.Results == nil || len(d.Type.Results.List) == 0 {
		return "", ""
	}
	t := d.Type.Results.List[0].Type
	letters := w.costs.letters(typ{t, w.costs.imports[d]})
	if isGeneric(d) {
		id, ok := t.(*ast.Ident)
		if !ok || slices.ContainsFunc(tparams, func(p string) bool { p, _, _ = strings.Cut(p, " "); return p == id.Name }) {
			return "", ""
		}
		letters = BasicLetters[id.Name]
	}
	if letters == "" || strings.Contains("FDCZ", letters[:1]) {
		return "", ""
	}
	name, to := ofWrapper(kindKeep, wrapper), "ftgo_keep"
	if small(letters[0]) && len(letters) == 1 {
		to += letters
	}
	f.importUnsafe(w.fset)
	return name + "(ftgo_t, ftgo_r0)", fmt.Sprintf("\n//go:noescape\n//go:linkname %s runtime.%s\nfunc %[1]s(uintptr, %[3]s)\n", name, to, f.text(t))
}

// mayInline reports whether the compiler may inline a function with its hook. Then escape analysis
// judges the copy of the body in the caller, and may leave arguments on the stack that the function
// itself stores in the heap. While the function is traced, the function itself runs. So the caller
// must see what it does with its arguments: the wrapper calls it by its name.
func (w *writer) mayInline(fn Func) bool {
	return fn.Form == Hidden || w.opt.Inlines || w.hot(fn.Name)
}

// holdsPointers reports whether the receiver or a parameter of a function may hold pointers.
func (w *writer) holdsPointers(d *ast.FuncDecl) bool {
	for _, fields := range []*ast.FieldList{d.Recv, d.Type.Params} {
		if fields == nil {
			continue
		}
		for _, p := range fields.List {
			if l := w.costs.letters(typ{p.Type, w.costs.imports[d]}); l == "" || strings.ContainsAny(l, "PSEL") {
				return true
			}
		}
	}
	return false
}

// dispatch puts the check in front of a function's body. call is the call of the wrapper; returns
// reports whether that has results; refresh is the statement for the second entry, or "".
func (w *writer) dispatch(f *file, d *ast.FuncDecl, at site, call string, returns bool, refresh string) {
	if at.Form == Hidden {
		if names := w.nameResults(f, d.Type); len(names) > 0 {
			call = strings.Join(names, ", ") + " = " + call
		}
		hidden := func(check string) string {
			return fmt.Sprintf(" var ftgo_d ftgo_bool; %s[0] = func() (_ struct{}) { if %s { %s; ftgo_d = ftgo_true }; return }(); if ftgo_d { return }", w.opt.Hide, check, call)
		}
		take := "ftgo_takeInlined(" + at.addr() + ")"
		text := " if " + at.on() + " {" + hidden(take) + " }"
		if costHidden(at.Cost) == tightCost {
			text = hidden(at.on() + " && " + take)
		}
		f.insertAtBody(w.fset, d.Body, text)
		return
	}
	if returns {
		call = "return " + call
	} else {
		call += "; return"
	}
	if refresh != "" {
		f.insertAtBody(w.fset, d.Body, fmt.Sprintf(" if %s { if ftgo_take(%s) { %s }; %s }", at.on(), at.addr(), call, refresh))
		return
	}
	f.insertAtBody(w.fset, d.Body, fmt.Sprintf(" if %s && ftgo_take(%s) { %s }", at.on(), at.addr(), call))
}

// symbol returns the linker's name of a function.
func (w *writer) symbol(d *ast.FuncDecl) string {
	if d.Recv == nil && w.linknames[d.Name.Name] != "" {
		return w.linknames[d.Name.Name]
	}
	return pathPrefix(w.path) + "." + funcName(d, w.aliases)
}

// pathPrefix escapes an import path as in symbol names (PathToPrefix in cmd/internal/objabi).
func pathPrefix(path string) string {
	slash := strings.LastIndexByte(path, '/')
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c == '.' && i > slash || c == '%' || c == '"' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02x", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// linknames maps functions of the package to the symbols that //go:linkname gives them.
func linknames(files []*ast.File) map[string]string {
	m := map[string]string{}
	for _, f := range files {
		for _, g := range f.Comments {
			for _, c := range g.List {
				if words := strings.Fields(c.Text); len(words) == 3 && words[0] == "//go:linkname" {
					m[words[1]] = words[2]
				}
			}
		}
	}
	return m
}

// importUnsafe imports package unsafe, which a file with //go:linkname must import.
func (f *file) importUnsafe(fset *token.FileSet) {
	if f.unsafe {
		return
	}
	f.unsafe = true
	end := f.tree.Name.End()
	off := f.off(end)
	text := `; import _ "unsafe"`
	rest := strings.TrimLeft(string(f.Src[off:]), " \t\r")
	if rest != "" && rest[0] != '\n' && !strings.HasPrefix(rest, "//") {
		text += f.directive(fset, end, true)
	}
	f.edits.insert(off, text)
}

// inPlace writes the conditional deferred exit, for functions that have no name to be entered again
// by.
func (w *writer) inPlace(f *file, body *ast.BlockStmt, at site) {
	f.insertAtBody(w.fset, body, fmt.Sprintf(" if %s { defer ftgo_exit(ftgo_enterHere(%s)) }", at.on(), at.addr()))
}

// unique returns the name for a wrapper, with a number if another wrapper has the name.
func (w *writer) unique(name string, num int) string {
	if w.wrappers[name] {
		name = fmt.Sprintf("%s_%d", name, num)
	}
	w.wrappers[name] = true
	return name
}

// nameParam returns the name of the i'th parameter of a field. A parameter without a name, or with
// a blank one, is named fresh.
func (w *writer) nameParam(f *file, p *ast.Field, i int, fresh string) string {
	if len(p.Names) == 0 {
		f.edits.insert(f.off(p.Type.Pos()), fresh+" "+f.directive(w.fset, p.Type.Pos(), true))
		return fresh
	}
	id := p.Names[i]
	if id.Name == "_" {
		f.edits.replace(f.off(id.Pos()), f.off(id.End()), fresh+f.directive(w.fset, id.End(), true))
		return fresh
	}
	return id.Name
}

// results returns the types of a result list, one for each result.
func (f *file) results(t *ast.FuncType) (types []string) {
	if t.Results == nil {
		return nil
	}
	for _, r := range t.Results.List {
		for range max(1, len(r.Names)) {
			types = append(types, f.text(r.Type))
		}
	}
	return types
}

// inParentheses returns a result list with a blank in front, or "" if there are no results.
func inParentheses(types []string) string {
	if len(types) == 0 {
		return ""
	}
	return " (" + strings.Join(types, ", ") + ")"
}

// endsLine reports whether nothing but blanks and a comment follows an offset on its line. Then
// text that is inserted there moves nothing.
func (f *file) endsLine(off int) bool {
	rest := f.Src[off:]
	for i, c := range rest {
		if c == '\n' || c == '/' && i+1 < len(rest) && rest[i+1] == '/' {
			return true
		}
		if !unicode.IsSpace(rune(c)) {
			break
		}
	}
	return false
}

// columnBack returns the directive that restores the column of the text behind pos, or "" if the
// line ends there.
func (f *file) columnBack(fset *token.FileSet, pos token.Pos) string {
	if f.endsLine(f.off(pos)) {
		return ""
	}
	return f.directive(fset, pos, true)
}

// insertAtBody inserts a statement at the start of a body. If text follows the brace on its line, a
// directive restores that text's column.
func (f *file) insertAtBody(fset *token.FileSet, body *ast.BlockStmt, stmt string) {
	off := f.off(body.Lbrace) + 1
	if !f.endsLine(off) {
		stmt += "; " + f.directive(fset, body.Lbrace+1, true)
	}
	f.edits.insert(off, stmt)
}

// finish returns the rewritten file: the edited original, with positions of the original from line
// 1 on, and then the wrappers.
func (f *file) finish() []byte {
	src := f.edits.apply(f.Src)
	src = []byte(strings.TrimPrefix(string(src), "\uFEFF"))
	var b strings.Builder
	if !f.noPositions {
		fmt.Fprintf(&b, "//line %s:1:1\n", f.Name)
	}
	b.Write(src)
	if len(src) > 0 && src[len(src)-1] != '\n' {
		b.WriteByte('\n')
	}
	b.WriteString(f.tail.String())
	return []byte(b.String())
}
