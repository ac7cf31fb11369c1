package rewriter

import (
	"go/ast"
	"go/token"
)

// typeOf infers the type of an expression.
func (v *costVisitor) typeOf(e ast.Expr) typ {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return v.typeOf(e.X)
	case *ast.Ident:
		if t, ok := v.locals[e.Name]; ok {
			return t
		}
		if d := v.c.vars[e.Name]; d != nil {
			return v.c.varType(d)
		}
		switch e.Name {
		case "true", "false":
			return basic("bool")
		}
	case *ast.BasicLit:
		switch e.Kind {
		case token.STRING:
			return basic("string")
		case token.INT:
			return basic("int")
		case token.FLOAT:
			return basic("float64")
		}
	case *ast.StarExpr:
		t, _ := deref(v.c.underPointer(v.typeOf(e.X)))
		return t
	case *ast.UnaryExpr:
		t := v.typeOf(e.X)
		switch {
		case !t.known():
		case e.Op == token.AND:
			return typ{&ast.StarExpr{X: t.expr}, t.imports}
		case e.Op == token.ARROW:
			if ch, ok := v.c.under(t).expr.(*ast.ChanType); ok {
				return typ{ch.Value, v.c.under(t).imports}
			}
			return typ{}
		}
		return t
	case *ast.BinaryExpr:
		switch e.Op {
		case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ, token.LAND, token.LOR:
			return basic("bool")
		}
		if _, lit := unparen(e.X).(*ast.BasicLit); lit && e.Op != token.SHL && e.Op != token.SHR {
			return v.typeOf(e.Y)
		}
		return v.typeOf(e.X)
	case *ast.SelectorExpr:
		if id, ok := e.X.(*ast.Ident); ok && v.isPackage(id) {
			path := v.imports[id.Name]
			return resultType(path, v.c.known(path, e.Sel.Name))
		}
		if m := v.c.member(v.typeOf(e.X), e.Sel.Name); m.kind == fieldMember {
			return m.typ
		}
	case *ast.IndexExpr:
		u := v.c.under(v.typeOf(e.X))
		if p, ok := deref(u); ok {
			u = v.c.under(p)
		}
		switch x := u.expr.(type) {
		case *ast.ArrayType:
			return typ{x.Elt, u.imports}
		case *ast.MapType:
			return typ{x.Value, u.imports}
		case *ast.Ident:
			if x.Name == "string" {
				return basic("byte")
			}
		}
	case *ast.SliceExpr:
		t := v.typeOf(e.X)
		u := v.c.under(t)
		if p, ok := deref(u); ok {
			u = v.c.under(p)
		}
		if a, ok := u.expr.(*ast.ArrayType); ok && a.Len != nil {
			return typ{&ast.ArrayType{Elt: a.Elt}, u.imports}
		}
		return t
	case *ast.TypeAssertExpr:
		if e.Type != nil {
			return typ{e.Type, v.imports}
		}
	case *ast.CompositeLit:
		if e.Type != nil {
			return typ{e.Type, v.imports}
		}
	case *ast.FuncLit:
		return typ{e.Type, v.imports}
	case *ast.CallExpr:
		if list := v.results(e); len(list) == 1 {
			return list[0]
		}
	}
	return typ{}
}

// isPackage reports whether an identifier names an import.
func (v *costVisitor) isPackage(id *ast.Ident) bool {
	if _, local := v.locals[id.Name]; local {
		return false
	}
	return v.imports[id.Name] != ""
}

// varType infers the type of a variable of the package.
func (c *costs) varType(d *varDecl) typ {
	if d.spec.Type != nil {
		return typ{d.spec.Type, d.imports}
	}
	if d.busy || len(d.spec.Values) == 0 {
		return typ{}
	}
	d.busy = true
	defer func() { d.busy = false }()
	v := costVisitor{c: c, imports: d.imports, locals: map[string]typ{}}
	return v.valueType(d.spec.Values, d.index, len(d.spec.Names))
}

// valueType infers the type of the i'th of n variables that values are assigned to.
func (v *costVisitor) valueType(values []ast.Expr, i, n int) typ {
	if len(values) == n {
		return v.typeOf(values[i])
	}
	if len(values) != 1 {
		return typ{}
	}
	switch e := unparen(values[0]).(type) {
	case *ast.CallExpr:
		if list := v.results(e); len(list) == n {
			return list[i]
		}
	case *ast.IndexExpr, *ast.TypeAssertExpr, *ast.UnaryExpr:
		if i == 1 {
			return basic("bool")
		}
		return v.typeOf(e)
	}
	return typ{}
}

// results infers the types of a call's results.
func (v *costVisitor) results(call *ast.CallExpr) []typ {
	fun := unparen(call.Fun)
	switch f := fun.(type) {
	case *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.InterfaceType, *ast.StructType, *ast.StarExpr:
		return []typ{{fun, v.imports}}
	case *ast.Ident:
		if _, local := v.locals[f.Name]; !local {
			switch f.Name {
			case "new":
				if len(call.Args) == 1 {
					return []typ{{&ast.StarExpr{X: call.Args[0]}, v.imports}}
				}
			case "make":
				if len(call.Args) > 0 {
					return []typ{{call.Args[0], v.imports}}
				}
			case "append", "min", "max":
				if len(call.Args) > 0 {
					return []typ{v.typeOf(call.Args[0])}
				}
			case "len", "cap", "copy":
				return []typ{basic("int")}
			}
			if v.c.types[f.Name] != nil || basicTypes[f.Name] {
				return []typ{{f, v.imports}}
			}
			if d := v.c.funcs[f.Name]; d != nil {
				return v.c.resultTypes(d)
			}
		}
	case *ast.IndexExpr:
		if id, ok := f.X.(*ast.Ident); ok && v.c.types[id.Name] != nil {
			return []typ{{f, v.imports}}
		}
	case *ast.SelectorExpr:
		path, k := "", fact{}
		if id, ok := f.X.(*ast.Ident); ok && v.isPackage(id) {
			path = v.imports[id.Name]
			if k = v.c.known(path, f.Sel.Name); k.isType {
				return []typ{{f, v.imports}}
			}
		} else {
			m := v.c.member(v.typeOf(f.X), f.Sel.Name)
			if m.kind == methodMember {
				return v.c.resultTypes(m.decl)
			}
			if m.kind == importedMember {
				path, k = m.path, v.c.known(m.path, m.name)
			}
		}
		if t := resultType(path, k); t.known() {
			return []typ{t}
		}
	}
	// The called expression is a function value.
	t := v.c.under(v.typeOf(fun))
	if ft, ok := t.expr.(*ast.FuncType); ok {
		return fieldTypes(ft.Results, t.imports)
	}
	return nil
}

// declare records the types of parameters or results.
func (v *costVisitor) declare(fields *ast.FieldList) {
	if fields == nil {
		return
	}
	for _, f := range fields.List {
		t := f.Type
		if e, ok := t.(*ast.Ellipsis); ok {
			t = &ast.ArrayType{Elt: e.Elt}
		}
		for _, id := range f.Names {
			v.locals[id.Name] = typ{t, v.imports}
		}
	}
}

// noFuncs reports whether a loop over an underlying type is known not to range over a function.
func (c *costs) noFuncs(u typ) bool {
	if p, ok := deref(u); ok {
		u = c.under(p)
	}
	switch x := u.expr.(type) {
	case *ast.ArrayType, *ast.MapType, *ast.ChanType:
		return true
	case *ast.Ident:
		return basicTypes[x.Name]
	}
	return false
}

// rangeTypes records the types of a range statement's variables. u is the underlying type of what
// it ranges over.
func (v *costVisitor) rangeTypes(s *ast.RangeStmt, u typ) {
	var key, value typ
	switch x := u.expr.(type) {
	case *ast.ArrayType:
		key, value = basic("int"), typ{x.Elt, u.imports}
	case *ast.MapType:
		key, value = typ{x.Key, u.imports}, typ{x.Value, u.imports}
	case *ast.ChanType:
		key = typ{x.Value, u.imports}
	case *ast.Ident:
		key = basic("int")
		if x.Name == "string" {
			value = basic("rune")
		}
	}
	for e, t := range map[ast.Expr]typ{s.Key: key, s.Value: value} {
		if id, ok := e.(*ast.Ident); ok {
			v.locals[id.Name] = t
		}
	}
}
