package rewriter

import (
	"go/ast"
	"go/token"
)

// This file estimates what the inliner charges for statements, and for expressions other than
// calls. TestCosts compares each with the compiler.

func (v *costVisitor) stmts(list []ast.Stmt) {
	for _, s := range list {
		v.stmt(s)
	}
}

// stmt adds the cost of a statement.
func (v *costVisitor) stmt(s ast.Stmt) {
	if v.sum > enough {
		return
	}
	switch s := s.(type) {
	case nil:
	case *ast.BlockStmt:
		v.stmts(s.List)
	case *ast.ExprStmt:
		v.expr(s.X)
	case *ast.ReturnStmt:
		v.sum++
		v.exprs(s.Results)
		if outs := fieldTypes(v.outs, v.imports); len(outs) == len(s.Results) {
			for i, e := range s.Results {
				v.convert(outs[i], e)
			}
		} else if len(s.Results) == 1 { // return f() goes through temporary variables
			v.sum += 4*len(outs) + 1
		}
	case *ast.AssignStmt:
		v.assign(s)
	case *ast.IncDecStmt:
		v.sum += 2
		v.expr(s.X)
	case *ast.IfStmt:
		v.stmt(s.Init)
		switch v.condition(s.Cond) { // a constant condition, and what it excludes, cost nothing
		case "false":
			v.stmt(s.Else)
			return
		case "true":
			v.stmt(s.Body)
			return
		}
		v.sum++
		v.expr(s.Cond)
		v.stmt(s.Body)
		v.stmt(s.Else)
	case *ast.ForStmt:
		v.sum++
		v.stmt(s.Init)
		if s.Cond != nil {
			v.expr(s.Cond)
		}
		v.stmt(s.Post)
		v.stmt(s.Body)
	case *ast.RangeStmt:
		over := v.c.under(v.typeOf(s.X))
		if _, ok := over.expr.(*ast.FuncType); ok {
			v.rangeFunc(s)
			return
		}
		if v.c.noFuncs(over) {
			v.c.noFunc[s] = true
		}
		v.sum++
		v.expr(s.X)
		for _, e := range []ast.Expr{s.Key, s.Value} {
			if e != nil {
				v.expr(e)
				if id, ok := e.(*ast.Ident); s.Tok == token.DEFINE && !(ok && id.Name == "_") {
					v.sum += 2
				}
			}
		}
		if s.Tok == token.DEFINE {
			v.rangeTypes(s, over)
		}
		v.stmt(s.Body)
	case *ast.SwitchStmt:
		v.sum++
		v.stmt(s.Init)
		if s.Tag != nil {
			v.expr(s.Tag)
		}
		v.stmt(s.Body)
	case *ast.TypeSwitchStmt:
		v.typeSwitch(s)
	case *ast.CaseClause:
		v.sum++
		v.exprs(s.List)
		v.stmts(s.Body)
	case *ast.SelectStmt:
		v.sum++
		v.stmt(s.Body)
	case *ast.CommClause:
		v.sum++
		if _, ok := s.Comm.(*ast.AssignStmt); ok {
			v.sum++
		}
		v.stmt(s.Comm)
		v.stmts(s.Body)
	case *ast.SendStmt:
		v.sum++
		v.expr(s.Chan)
		v.expr(s.Value)
		u := v.c.under(v.typeOf(s.Chan))
		if ch, ok := u.expr.(*ast.ChanType); ok {
			v.convert(typ{ch.Value, u.imports}, s.Value)
		}
	case *ast.LabeledStmt:
		v.sum++
		v.stmt(s.Stmt)
	case *ast.BranchStmt:
		if s.Tok != token.FALLTHROUGH {
			v.sum++
		}
	case *ast.DeclStmt:
		if d, ok := s.Decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
			for _, spec := range d.Specs {
				vs := spec.(*ast.ValueSpec)
				v.sum += 4 * len(vs.Names)
				if len(vs.Values) > 1 {
					v.sum--
				}
				v.exprs(vs.Values)
				for i, id := range vs.Names {
					if vs.Type != nil {
						v.locals[id.Name] = typ{vs.Type, v.imports}
					} else {
						v.locals[id.Name] = v.valueType(vs.Values, i, len(vs.Names))
					}
				}
			}
		}
	case *ast.GoStmt, *ast.DeferStmt:
		v.sum += hairy
	}
}

// assign adds the cost of an assignment, or of a short declaration of variables.
func (v *costVisitor) assign(s *ast.AssignStmt) {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		v.sum++
		v.expr(s.Lhs[0])
		v.expr(s.Rhs[0])
		return
	}
	v.sum++
	for _, e := range s.Lhs {
		v.expr(e)
		if id, ok := e.(*ast.Ident); ok && s.Tok == token.DEFINE && id.Name != "_" {
			v.sum += 2 // the declaration of the variable
		}
	}
	v.exprs(s.Rhs)
	if s.Tok == token.DEFINE {
		var types []typ
		for i := range s.Lhs {
			types = append(types, v.valueType(s.Rhs, i, len(s.Lhs)))
		}
		for i, e := range s.Lhs {
			if id, ok := e.(*ast.Ident); ok {
				v.locals[id.Name] = types[i]
				delete(v.closures, id.Name)
				if lit, ok := s.Rhs[min(i, len(s.Rhs)-1)].(*ast.FuncLit); ok && len(s.Lhs) == len(s.Rhs) {
					v.closures[id.Name] = lit
				}
			}
		}
	} else if len(s.Lhs) == len(s.Rhs) {
		for i, e := range s.Rhs {
			v.convert(v.typeOf(s.Lhs[i]), e)
		}
	}
}

// rangeFunc adds the cost of a loop over a function. The loop's body becomes a function literal.
func (v *costVisitor) rangeFunc(s *ast.RangeStmt) {
	v.sum += 37 + callCost
	if id, ok := s.X.(*ast.Ident); ok && v.params[id.Name] {
		v.sum += paramCallCost - callCost
	}
	v.dynamic(s.X)
	v.expr(s.X)
	returns := false
	ast.Inspect(s.Body, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			returns = true
		case *ast.DeferStmt:
			v.sum += hairy
		}
		return true
	})
	if returns {
		v.sum += 9
	}
}

// dynamic adds the cost of the temporary variable that holds the called function, if a call gives
// that.
func (v *costVisitor) dynamic(fun ast.Expr) {
	ast.Inspect(fun, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if !v.isConversion(n.Fun) && !v.constant(n) {
				v.sum += 5
				return false
			}
		}
		return true
	})
}

// typeSwitch adds the cost of a type switch. Its types cost nothing.
func (v *costVisitor) typeSwitch(s *ast.TypeSwitchStmt) {
	v.sum += 2
	v.stmt(s.Init)
	name := ""
	var x ast.Expr
	switch a := s.Assign.(type) {
	case *ast.ExprStmt:
		x = a.X
	case *ast.AssignStmt:
		x = a.Rhs[0]
		if id, ok := a.Lhs[0].(*ast.Ident); ok {
			name = id.Name
		}
	}
	if t, ok := x.(*ast.TypeAssertExpr); ok {
		v.expr(t.X)
	}
	for _, clause := range s.Body.List {
		cc, ok := clause.(*ast.CaseClause)
		if !ok {
			continue
		}
		v.sum++
		if name != "" {
			v.sum += 2
			v.locals[name] = typ{}
			if len(cc.List) == 1 {
				v.locals[name] = typ{cc.List[0], v.imports}
			}
		}
		v.stmts(cc.Body)
	}
}

// convert adds the cost of an implicit conversion to an interface.
func (v *costVisitor) convert(to typ, e ast.Expr) {
	if !v.c.isInterface(to) {
		return
	}
	t := v.typeOf(e)
	if v.constant(e) || v.c.concrete(t) || v.c.isInterface(t) && v.c.text(t) != v.c.text(to) {
		v.sum++
	}
}

func (v *costVisitor) exprs(list []ast.Expr) {
	for _, e := range list {
		v.expr(e)
	}
}

// expr adds the cost of an expression.
func (v *costVisitor) expr(e ast.Expr) {
	if v.sum > enough {
		return
	}
	switch e := e.(type) {
	case nil:
	case *ast.ParenExpr:
		v.expr(e.X)
	case *ast.Ident:
		v.sum++
	case *ast.BasicLit:
		v.sum++
	case *ast.SelectorExpr:
		if id, ok := e.X.(*ast.Ident); ok && v.isPackage(id) {
			v.sum++
			return
		}
		if v.isConversion(e.X) { // method expression
			return
		}
		t := v.typeOf(e.X)
		m := v.c.member(t, e.Sel.Name)
		v.sum += 1 + m.embedded
		switch m.kind { // method value
		case methodMember:
			v.sum++
			_, ptr, _ := receiver(m.decl)
			v.receive(e.X, t, m, ptr)
		case interfaceMember:
			v.sum++
		case importedMember:
			if v.c.known(m.path, m.name).known {
				v.sum++
			}
		}
		v.expr(e.X)
	case *ast.StarExpr:
		v.sum++
		if c, ok := unparen(e.X).(*ast.CallExpr); ok { // *(*T)(unsafe.Pointer(&x))
			if v.addressBelow(c) {
				v.sum--
			}
		}
		v.expr(e.X)
	case *ast.UnaryExpr:
		if lit, ok := e.X.(*ast.BasicLit); ok && e.Op != token.AND {
			v.expr(lit)
			return
		}
		if v.constant(e.X) {
			v.sum++
			return
		}
		v.sum++
		if e.Op == token.AND && v.firstField(e.X) {
			v.sum -= 2
		}
		if lit, ok := e.X.(*ast.CompositeLit); ok && e.Op == token.AND {
			v.expr(lit)
			return
		}
		v.expr(e.X)
	case *ast.BinaryExpr:
		if v.constant(e) {
			v.sum++
			return
		}
		if !v.concatenation(e) {
			v.sum++
		}
		if e.Op == token.EQL || e.Op == token.NEQ {
			x, y := v.typeOf(e.X), v.typeOf(e.Y)
			if v.c.isInterface(x) && v.c.concrete(y) || v.c.isInterface(y) && v.c.concrete(x) {
				v.sum++
			}
		}
		v.expr(e.X)
		v.expr(e.Y)
	case *ast.IndexExpr:
		v.sum++
		if _, ok := deref(v.c.under(v.typeOf(e.X))); ok { // pointer to an array
			v.sum++
		}
		v.expr(e.X)
		v.expr(e.Index)
	case *ast.IndexListExpr:
		v.expr(e.X)
	case *ast.SliceExpr:
		v.sum++
		if lit, ok := e.Low.(*ast.BasicLit); ok && lit.Value == "0" {
			v.sum--
		}
		if v.isLenOf(e.High, e.X) {
			v.sum -= 2
		}
		v.expr(e.X)
		for _, i := range []ast.Expr{e.Low, e.High, e.Max} {
			if i != nil {
				v.expr(i)
			}
		}
	case *ast.TypeAssertExpr:
		v.sum++
		v.expr(e.X)
	case *ast.CompositeLit:
		v.composite(e, typ{e.Type, v.imports})
	case *ast.FuncLit:
		v.sum += literalCost + 1
	case *ast.CallExpr:
		v.call(e)
	}
}

// concatenation reports whether the left operand of e is a sum of strings too: the compiler holds
// both sums in one node.
func (v *costVisitor) concatenation(e *ast.BinaryExpr) bool {
	x, ok := unparen(e.X).(*ast.BinaryExpr)
	if !ok || e.Op != token.ADD || x.Op != token.ADD {
		return false
	}
	for _, side := range []ast.Expr{e.X, e.Y} {
		if id, ok := v.c.under(v.typeOf(side)).expr.(*ast.Ident); ok && id.Name == "string" {
			return true
		}
	}
	return false
}

// isLenOf reports whether e is len(x).
func (v *costVisitor) isLenOf(e, x ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return false
	}
	id, ok := call.Fun.(*ast.Ident)
	a, okA := call.Args[0].(*ast.Ident)
	b, okB := x.(*ast.Ident)
	return ok && okA && okB && id.Name == "len" && a.Name == b.Name
}

// composite adds the cost of a composite literal of type t.
func (v *costVisitor) composite(e *ast.CompositeLit, t typ) {
	v.sum++
	u := v.c.under(t)
	var key, elem typ
	switch x := u.expr.(type) {
	case *ast.StarExpr: // &T{} that is written as {}
		v.composite(e, typ{x.X, u.imports})
		return
	case *ast.ArrayType:
		if x.Len == nil {
			v.sum++
		}
		elem = typ{x.Elt, u.imports}
		for _, el := range e.Elts {
			if kv, ok := el.(*ast.KeyValueExpr); ok {
				v.sum++
				v.expr(kv.Key)
				el = kv.Value
			}
			v.element(elem, el)
		}
		return
	case *ast.MapType:
		key, elem = typ{x.Key, u.imports}, typ{x.Value, u.imports}
	}
	fields := v.c.fields(u)
	for i, el := range e.Elts {
		v.sum++
		kv, ok := el.(*ast.KeyValueExpr)
		switch {
		case !ok:
			ft := typ{}
			if i < len(fields) {
				ft = fields[i].typ
			}
			v.element(ft, el)
		case key.known():
			v.element(key, kv.Key)
			v.element(elem, kv.Value)
		default:
			ft := typ{}
			if id, ok := kv.Key.(*ast.Ident); ok {
				for _, f := range fields {
					if f.name == id.Name {
						ft = f.typ
					}
				}
			} else {
				v.expr(kv.Key)
			}
			v.element(ft, kv.Value)
		}
	}
}

// element adds the cost of an element of a composite literal.
func (v *costVisitor) element(t typ, e ast.Expr) {
	if lit, ok := e.(*ast.CompositeLit); ok && lit.Type == nil {
		v.composite(lit, t)
		return
	}
	v.expr(e)
	v.convert(t, e)
}

// addressBelow reports whether c is a chain of conversions of pointers around an address. The
// compiler charges half for such an address.
func (v *costVisitor) addressBelow(c *ast.CallExpr) bool {
	for len(c.Args) == 1 && v.isConversion(c.Fun) {
		switch x := unparen(c.Args[0]).(type) {
		case *ast.CallExpr:
			c = x
		case *ast.UnaryExpr:
			return x.Op == token.AND
		default:
			return false
		}
	}
	return false
}

// firstField reports whether e is x.f, where x is a variable and f is the first field of its
// struct. Taking its address costs nothing.
func (v *costVisitor) firstField(e ast.Expr) bool {
	s, ok := unparen(e).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := s.X.(*ast.Ident)
	if !ok || v.isPackage(id) {
		return false
	}
	m := v.c.member(v.typeOf(id), s.Sel.Name)
	return m.kind == fieldMember && m.first && m.embedded == 0
}
