package rewriter

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// costs estimates what the compiler charges for inlining a function (hairyVisitor in cmd/compile/internal/inline), on the syntax
// tree: a node costs 1, a call 57 more, a call of an inlinable function what that function costs.
type costs struct {
	funcs   map[string]*ast.FuncDecl // functions of the package
	types   map[string]*typeDecl
	vars    map[string]*varDecl
	consts  map[string]string        // its value if that is written as true or false
	methods map[string]*ast.FuncDecl // methods whose name only one type has; nil for the other names
	imports map[*ast.FuncDecl]map[string]string
	memo    map[*ast.FuncDecl]int
	busy    map[*ast.FuncDecl]bool
	built   func(d *ast.FuncDecl, cost int) int // see (*writer).built
	extern  func(path string) string            // facts of a package that is not of the standard library; may be nil
	facts   map[string]map[string]fact
}

const (
	callCost      = 57 // inlineExtraCallCost
	paramCallCost = 17 // inlineParamCallCost
	literalCost   = 15
	hairy         = 1 << 20 // what forbids inlining
)

func newCosts(files []*file, extern func(path string) string) *costs {
	c := &costs{
		funcs: map[string]*ast.FuncDecl{}, types: map[string]*typeDecl{}, vars: map[string]*varDecl{}, consts: map[string]string{},
		methods: map[string]*ast.FuncDecl{}, imports: map[*ast.FuncDecl]map[string]string{}, memo: map[*ast.FuncDecl]int{},
		busy: map[*ast.FuncDecl]bool{}, extern: extern, facts: map[string]map[string]fact{},
	}
	var methods []*ast.FuncDecl
	for _, f := range files {
		imports := importNames(f.tree)
		f.imports = imports
		for _, d := range f.tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				c.imports[d] = imports
				if d.Recv == nil {
					c.funcs[d.Name.Name] = d
				} else if len(d.Recv.List) == 1 {
					methods = append(methods, d)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						c.types[s.Name.Name] = &typeDecl{s, imports, map[string]*ast.FuncDecl{}}
					case *ast.ValueSpec:
						for i, id := range s.Names {
							if d.Tok == token.CONST {
								c.consts[id.Name] = truth(s, i)
							} else {
								c.vars[id.Name] = &varDecl{spec: s, index: i, imports: imports}
							}
						}
					}
				}
			}
		}
	}
	for _, d := range methods {
		name := d.Name.Name
		if base, _, _ := receiver(d); c.types[base] != nil {
			c.types[base].methods[name] = d
		}
		if _, taken := c.methods[name]; taken || common[name] {
			c.methods[name] = nil
		} else {
			c.methods[name] = d
		}
	}
	return c
}

// truth returns the value of a constant that is declared as true or false.
func truth(s *ast.ValueSpec, i int) string {
	if i < len(s.Values) {
		if id, ok := s.Values[i].(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") {
			return id.Name
		}
	}
	return ""
}

// decl returns the cost of a declared function, -1 if it cannot be inlined at any.
func (c *costs) decl(d *ast.FuncDecl) int {
	if cost, ok := c.memo[d]; ok {
		return cost
	}
	if c.busy[d] {
		return -1 // recursion
	}
	c.busy[d] = true
	cost := -1
	if d.Body != nil && !noinline(d) {
		v := costVisitor{c: c, params: map[string]bool{}, imports: c.imports[d], locals: map[string]typ{}, closures: map[string]*ast.FuncLit{}, outs: d.Type.Results, self: d}
		v.enter(d.Recv, d.Type)
		cost = v.total(d.Body)
	}
	c.busy[d] = false
	c.memo[d] = cost
	return cost
}

// asBuilt returns what a call of a function costs that is inlined; -1 if it is not.
func (c *costs) asBuilt(d *ast.FuncDecl) int {
	cost := c.decl(d)
	if c.built != nil {
		cost = c.built(d, cost)
	}
	if cost > InlineKeep {
		return -1
	}
	return cost
}

// body returns the cost of a function literal's body, -1 if it cannot be inlined.
func (c *costs) body(lit *ast.FuncLit, imports map[string]string) int {
	v := costVisitor{c: c, params: map[string]bool{}, imports: imports, locals: map[string]typ{}, closures: map[string]*ast.FuncLit{}, outs: lit.Type.Results}
	v.enter(nil, lit.Type)
	return v.total(lit.Body)
}

func noinline(d *ast.FuncDecl) bool {
	if d.Doc == nil {
		return false
	}
	for _, cm := range d.Doc.List {
		if cm.Text == "//go:noinline" {
			return true
		}
	}
	return false
}

type costVisitor struct {
	c        *costs
	self     *ast.FuncDecl
	params   map[string]bool
	locals   map[string]typ          // what is declared in the function, with its type where it is known
	imports  map[string]string       // path of an import, by its name in the file
	closures map[string]*ast.FuncLit // local functions
	outs     *ast.FieldList
	sum      int
}

// enter declares receiver, parameters and results.
func (v *costVisitor) enter(recv *ast.FieldList, t *ast.FuncType) {
	for _, fields := range []*ast.FieldList{recv, t.Params, t.Results} {
		v.declare(fields)
	}
	for _, p := range t.Params.List {
		for _, id := range p.Names {
			v.params[id.Name] = true
		}
	}
}

func (v *costVisitor) total(b *ast.BlockStmt) int {
	v.stmts(b.List)
	if v.sum >= hairy {
		return -1
	}
	return v.sum
}

func (v *costVisitor) stmts(list []ast.Stmt) {
	for _, s := range list {
		v.stmt(s)
	}
}

func (v *costVisitor) stmt(s ast.Stmt) {
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
		} else if len(s.Results) == 1 { // return f(): by way of temporary variables
			v.sum += 4*len(outs) + 1
		}
	case *ast.AssignStmt:
		v.assign(s)
	case *ast.IncDecStmt:
		v.sum += 2
		v.expr(s.X)
	case *ast.IfStmt:
		v.stmt(s.Init)
		switch v.condition(s.Cond) { // what a constant excludes costs nothing, and nor does the condition
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
		if _, ok := v.c.under(v.typeOf(s.X)).expr.(*ast.FuncType); ok {
			v.rangeFunc(s)
			return
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
			v.rangeTypes(s)
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

// condition returns "true" or "false" for a condition that is known to be so, otherwise "".
func (v *costVisitor) condition(e ast.Expr) string {
	switch e := unparen(e).(type) {
	case *ast.Ident:
		if _, local := v.locals[e.Name]; local {
			return ""
		}
		if value, ok := v.c.consts[e.Name]; ok {
			return value
		}
		if e.Name == "true" || e.Name == "false" {
			return e.Name
		}
	case *ast.SelectorExpr:
		if id, ok := e.X.(*ast.Ident); ok && v.isPackage(id) {
			return v.c.known(v.imports[id.Name], e.Sel.Name).value
		}
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return map[string]string{"true": "false", "false": "true"}[v.condition(e.X)]
		}
	case *ast.BinaryExpr:
		x, y := v.condition(e.X), v.condition(e.Y)
		switch {
		case e.Op == token.LAND && (x == "false" || y == "false" && x == "true"):
			return "false"
		case e.Op == token.LOR && (x == "true" || y == "true" && x == "false"):
			return "true"
		case (e.Op == token.LAND || e.Op == token.LOR) && x != "" && y != "":
			return x
		}
	}
	return ""
}

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
			v.sum += 2 // its declaration
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

// rangeFunc adds the cost of a loop over a function, whose body becomes a function.
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

// dynamic adds the temporary variable that holds what is to be called, if evaluating that takes a call.
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

// typeSwitch adds the cost of a type switch; the types cost nothing.
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

// rangeTypes declares the variables of a range statement.
func (v *costVisitor) rangeTypes(s *ast.RangeStmt) {
	var key, value typ
	u := v.c.under(v.typeOf(s.X))
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

// convert adds the node of an implicit conversion to an interface.
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

func (v *costVisitor) expr(e ast.Expr) {
	switch e := e.(type) {
	case nil:
	case *ast.ParenExpr:
		v.expr(e.X)
	case *ast.Ident:
		v.sum++
	case *ast.BasicLit:
		v.sum++
	case *ast.SelectorExpr:
		if id, ok := e.X.(*ast.Ident); ok && id.Name == "unsafe" {
			v.sum++
			return
		}
		if id, ok := e.X.(*ast.Ident); ok && v.isPackage(id) {
			v.sum++
			return
		}
		if v.isConversion(e.X) { // a method expression
			return
		}
		t := v.typeOf(e.X)
		m := v.c.member(t, e.Sel.Name)
		v.sum += 1 + m.embedded
		switch m.kind { // a method value
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
		if _, ok := deref(v.c.under(v.typeOf(e.X))); ok { // of a pointer to an array
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

// concatenation reports whether the compiler holds e and a sum within it as one node, since it is of strings.
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

// composite adds the cost of a composite literal of a type.
func (v *costVisitor) composite(e *ast.CompositeLit, t typ) {
	v.sum++
	u := v.c.under(t)
	var key, elem typ
	switch x := u.expr.(type) {
	case *ast.StarExpr: // &T{} without the &T
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

// constant reports whether an expression is known to be one.
func (v *costVisitor) constant(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		_, local := v.locals[e.Name]
		_, is := v.c.consts[e.Name]
		return !local && (is || e.Name == "true" || e.Name == "false")
	case *ast.ParenExpr:
		return v.constant(e.X)
	case *ast.UnaryExpr:
		return e.Op != token.AND && e.Op != token.ARROW && v.constant(e.X)
	case *ast.BinaryExpr:
		return v.constant(e.X) && v.constant(e.Y)
	case *ast.SelectorExpr:
		id, ok := e.X.(*ast.Ident)
		return ok && v.isPackage(id) && v.c.known(v.imports[id.Name], e.Sel.Name).constant
	case *ast.CallExpr:
		if id, ok := e.Fun.(*ast.Ident); ok && len(e.Args) == 1 && (id.Name == "len" || id.Name == "cap") {
			a, ok := v.c.under(v.typeOf(e.Args[0])).expr.(*ast.ArrayType)
			return v.constant(e.Args[0]) || ok && a.Len != nil
		}
		if len(e.Args) != 1 || !v.isConversion(e.Fun) {
			return false
		}
		id, _ := v.c.under(typ{unparen(e.Fun), v.imports}).expr.(*ast.Ident)
		return id != nil && v.constant(e.Args[0])
	}
	return false
}

// isConversion reports whether what is called is a type.
func (v *costVisitor) isConversion(fun ast.Expr) bool {
	switch f := unparen(fun).(type) {
	case *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.InterfaceType, *ast.StructType, *ast.StarExpr:
		return true
	case *ast.Ident:
		if _, local := v.locals[f.Name]; local {
			return false
		}
		return v.c.types[f.Name] != nil || basicTypes[f.Name] && v.c.funcs[f.Name] == nil
	case *ast.IndexExpr:
		return v.isConversion(f.X)
	case *ast.SelectorExpr:
		id, ok := f.X.(*ast.Ident)
		return ok && v.isPackage(id) && (v.c.known(v.imports[id.Name], f.Sel.Name).isType || v.imports[id.Name] == "unsafe" && f.Sel.Name == "Pointer")
	}
	return false
}

// conversion adds the cost of T(x): none where both are the same to the machine.
func (v *costVisitor) conversion(e *ast.CallExpr) {
	if v.constant(e) {
		v.sum++
		return
	}
	to := typ{unparen(e.Fun), v.imports}
	if k := v.kind(to); k == "" || k != "pointer" && k != v.kind(v.typeOf(e.Args[0])) {
		v.sum++
	}
	v.exprs(e.Args)
}

// kind names what a type is to the machine, "" if that is not known.
func (v *costVisitor) kind(t typ) string {
	if !t.known() {
		return ""
	}
	u := v.c.under(t)
	switch e := u.expr.(type) {
	case *ast.StarExpr, *ast.FuncType, *ast.ChanType, *ast.MapType:
		return "pointer"
	case *ast.Ident:
		if basicTypes[e.Name] {
			return machineKind(e.Name)
		}
	case *ast.ArrayType:
		if id, ok := e.Elt.(*ast.Ident); ok && e.Len == nil {
			return "[]" + id.Name
		}
	case *ast.SelectorExpr:
		path, name := imported(u)
		if path == "unsafe" {
			return "pointer"
		}
		if k := v.c.known(path, name); k.basic != "" {
			return machineKind(k.basic)
		}
		return path + "." + name
	}
	if d := v.c.named(t); d != nil {
		return d.spec.Name.Name
	}
	return ""
}

// machineKind gives basic types that are the same to the machine one name; integers are taken for those of a 64-bit machine.
func machineKind(name string) string {
	switch name {
	case "byte":
		return "uint8"
	case "rune":
		return "int32"
	case "int":
		return "int64"
	case "uint", "uintptr":
		return "uint64"
	}
	return name
}

// addressBelow reports whether conversions of pointers hold an address, which the compiler then charges half.
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

// firstField reports whether e is x.f, with a variable x and the first field of its struct: its address costs nothing.
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

func (v *costVisitor) call(e *ast.CallExpr) {
	fun := unparen(e.Fun)
	if v.constant(e) {
		v.sum++
		return
	}
	if id, ok := fun.(*ast.Ident); ok && v.builtin(id.Name, e) {
		return
	}
	if len(e.Args) == 1 && v.isConversion(fun) {
		v.conversion(e)
		return
	}
	switch f := fun.(type) {
	case *ast.Ident:
		if _, local := v.locals[f.Name]; local {
			v.sum += 2 + callCost
			if v.params[f.Name] {
				v.sum += paramCallCost - callCost
			}
			if lit := v.closures[f.Name]; lit != nil {
				if cost := v.c.body(lit, v.imports); cost >= 0 && cost <= 2*InlineKeep {
					v.sum += cost - callCost
				}
			}
			v.packing(v.typeOf(f), e)
			break
		}
		v.sum += 2 + v.callee(v.c.funcs[f.Name])
		if d := v.c.funcs[f.Name]; d != nil {
			if d.Type.TypeParams != nil {
				v.sum += dictionary
			}
			v.arguments(d.Type.Params, v.c.imports[d], e)
		}
	case *ast.SelectorExpr:
		v.selectorCall(f, e)
	case *ast.IndexExpr, *ast.IndexListExpr:
		var d *ast.FuncDecl
		if x, ok := fun.(*ast.IndexExpr); ok {
			d = v.c.genericCallee(x.X)
		} else {
			d = v.c.genericCallee(f.(*ast.IndexListExpr).X)
		}
		if d == nil {
			v.sum += 1 + callCost
			v.dynamic(fun)
			v.expr(fun)
			break
		}
		v.sum += 2 + v.callee(d) + dictionary
	case *ast.FuncLit:
		v.sum += 1 + literalCost + v.c.body(f, v.imports)
	default:
		v.sum += 1 + callCost
		v.dynamic(fun)
		v.expr(fun)
	}
	v.exprs(e.Args)
}

// genericCallee returns the function of the package that is instantiated explicitly.
func (c *costs) genericCallee(e ast.Expr) *ast.FuncDecl {
	if id, ok := e.(*ast.Ident); ok {
		return c.funcs[id.Name]
	}
	return nil
}

// dictionary is the cost of the argument that says for which types a generic function is called.
const dictionary = 2

// builtin adds the cost of a call of a predeclared function.
func (v *costVisitor) builtin(name string, e *ast.CallExpr) bool {
	if _, local := v.locals[name]; local || v.c.funcs[name] != nil {
		return false
	}
	switch name {
	case "recover":
		v.sum += hairy
	case "panic":
		v.sum += 2
		v.exprs(e.Args)
	case "len", "cap", "append", "copy", "delete", "clear", "close", "complex", "real", "imag", "min", "max", "print", "println":
		v.sum++
		v.exprs(e.Args)
		if name == "append" && len(e.Args) > 1 && !e.Ellipsis.IsValid() {
			u := v.c.under(v.typeOf(e.Args[0]))
			if a, ok := u.expr.(*ast.ArrayType); ok {
				for _, arg := range e.Args[1:] {
					v.convert(typ{a.Elt, u.imports}, arg)
				}
			}
		}
	case "make", "new":
		v.sum++
		if len(e.Args) == 1 && name == "make" { // of no size
			v.sum++
		}
		v.exprs(e.Args[min(1, len(e.Args)):])
	default:
		return false
	}
	return true
}

// callee returns what a call of a function of the package costs: its own cost if it is inlined.
func (v *costVisitor) callee(d *ast.FuncDecl) int {
	if d != nil && d != v.self {
		if cost := v.c.asBuilt(d); cost >= 0 {
			return cost
		}
	}
	return callCost
}

// arguments adds what passing a call's arguments costs beyond them: conversions to interfaces, and the slice of a variadic function.
func (v *costVisitor) arguments(params *ast.FieldList, imports map[string]string, e *ast.CallExpr) {
	list := fieldTypes(params, imports)
	for i, arg := range e.Args {
		if i >= len(list) {
			break
		}
		if _, dots := list[i].expr.(*ast.Ellipsis); !dots {
			v.convert(list[i], arg)
		}
	}
	if n := len(list); n > 0 && !e.Ellipsis.IsValid() {
		if dots, ok := list[n-1].expr.(*ast.Ellipsis); ok {
			v.slice(typ{dots.Elt, imports}, e.Args[min(n-1, len(e.Args)):])
		}
	}
}

// packing does the same for a function value.
func (v *costVisitor) packing(t typ, e *ast.CallExpr) {
	u := v.c.under(t)
	if ft, ok := u.expr.(*ast.FuncType); ok {
		v.arguments(ft.Params, u.imports, e)
	}
}

// slice adds the cost of the slice that holds variadic arguments.
func (v *costVisitor) slice(elem typ, args []ast.Expr) {
	v.sum++
	if len(args) > 0 {
		v.sum++
	}
	for _, arg := range args {
		v.convert(elem, arg)
	}
}

// selectorCall adds the cost of a call of f but for its arguments.
func (v *costVisitor) selectorCall(f *ast.SelectorExpr, e *ast.CallExpr) {
	if id, ok := f.X.(*ast.Ident); ok && v.isPackage(id) {
		path := v.imports[id.Name]
		k := v.c.known(path, f.Sel.Name)
		switch {
		case path == "unsafe":
			v.sum++
		case cheapCall(path, f.Sel.Name):
			v.sum += 2
		default:
			v.sum += 2 + k.call()
		}
		v.external(k, e)
		return
	}
	if x, ok := f.X.(*ast.SelectorExpr); ok && byteOrder(v.imports, x) {
		v.sum += 2
		return
	}
	recv := v.typeOf(f.X)
	m := v.c.member(recv, f.Sel.Name)
	v.sum += 1 + m.embedded
	switch m.kind {
	case methodMember:
		v.sum += v.callee(m.decl)
		_, ptr, generic := receiver(m.decl)
		if generic {
			v.sum += dictionary
		}
		v.receive(f.X, recv, m, ptr)
		v.arguments(m.decl.Type.Params, v.c.imports[m.decl], e)
	case importedMember:
		k := v.c.known(m.path, m.name)
		v.sum += k.call()
		if k.known {
			v.receive(f.X, recv, m, k.pointer)
		}
		v.external(k, e)
	case fieldMember:
		v.sum += 1 + callCost
		v.dynamic(f.X)
		v.packing(m.typ, e)
	case interfaceMember:
		v.sum += 1 + callCost
		v.dynamic(f.X)
	default:
		if d := v.c.methods[f.Sel.Name]; d != nil && !recv.known() {
			v.sum += v.callee(d)
		} else {
			v.sum += 1 + callCost
		}
	}
	v.expr(f.X)
}

// receive adds the cost of taking a receiver's address, or of what it points to, where the method wants that.
func (v *costVisitor) receive(x ast.Expr, recv typ, m member, pointer bool) {
	if !recv.known() {
		return
	}
	if m.embedded > 0 {
		if m.embedded == 1 && pointer && m.value {
			v.sum++
			if _, ok := x.(*ast.Ident); ok && m.first {
				v.sum -= 2
			}
		}
		return
	}
	_, is := deref(v.c.underPointer(recv))
	switch {
	case pointer && !is:
		v.sum++
		if v.firstField(x) {
			v.sum -= 2
		}
	case !pointer && is:
		v.sum++
	}
}

// external adds what passing arguments to a function of another package costs beyond them.
func (v *costVisitor) external(k fact, e *ast.CallExpr) {
	for _, digit := range k.params {
		if i := int(digit - '0'); i < len(e.Args) {
			v.convert(basic("any"), e.Args[i])
		}
	}
	if k.variadic && !e.Ellipsis.IsValid() {
		elem := typ{}
		if k.ifaces {
			elem = basic("any")
		}
		v.slice(elem, e.Args[min(k.fixed, len(e.Args)):])
	}
}

// byteOrder reports whether x is binary.LittleEndian or BigEndian, whose methods are charged as a node.
func byteOrder(imports map[string]string, x *ast.SelectorExpr) bool {
	id, ok := x.X.(*ast.Ident)
	return ok && imports[id.Name] == "encoding/binary" && strings.HasSuffix(x.Sel.Name, "Endian")
}

// importNames returns the paths of a file's imports by the names under which it uses them.
func importNames(f *ast.File) map[string]string {
	m := map[string]string{"unsafe": "unsafe"}
	for _, imp := range f.Imports {
		path, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if imp.Name != nil {
			name = imp.Name.Name
		} else if len(name) > 1 && name[0] == 'v' && name[1] >= '0' && name[1] <= '9' {
			name = path[:len(path)-len(name)-1]
			name = name[strings.LastIndexByte(name, '/')+1:]
		}
		m[name] = path
	}
	return m
}

// common are names of methods that tell nothing about their type.
var common = map[string]bool{
	"String": true, "Error": true, "Len": true, "Less": true, "Swap": true, "Read": true, "Write": true, "Close": true, "Reset": true,
	"Get": true, "Set": true, "Add": true, "Lock": true, "Unlock": true, "Done": true, "Next": true, "Name": true, "Size": true,
	"Unwrap": true, "Format": true, "Load": true, "Store": true, "Err": true, "Value": true, "Type": true, "Bytes": true, "Push": true,
	"Pop": true, "WriteString": true, "WriteByte": true, "Equal": true,
}

// cheapCall reports calls that the compiler replaces by an instruction or two (intrinsics.go in cmd/compile/internal/ssagen).
func cheapCall(path, name string) bool {
	switch path {
	case "math/bits":
		switch name {
		case "TrailingZeros8", "TrailingZeros16", "TrailingZeros32", "TrailingZeros64", "TrailingZeros",
			"Len", "Len8", "Len16", "Len32", "Len64", "OnesCount", "OnesCount8", "OnesCount16", "OnesCount32", "OnesCount64",
			"ReverseBytes", "ReverseBytes16", "ReverseBytes32", "ReverseBytes64", "Add", "Add64", "Sub", "Sub64", "Mul", "Mul64", "Div64",
			"RotateLeft", "RotateLeft8", "RotateLeft16", "RotateLeft32", "RotateLeft64":
			return true
		}
	case "math":
		switch name {
		case "Sqrt", "Abs", "Floor", "Ceil", "Trunc", "RoundToEven", "Copysign", "FMA":
			return true
		}
	case "sync/atomic":
		return true
	case "runtime":
		return name == "KeepAlive"
	}
	return false
}

var basicTypes = map[string]bool{
	"bool": true, "byte": true, "rune": true, "string": true, "error": true, "any": true, "uintptr": true,
	"int": true, "int8": true, "int16": true, "int32": true, "int64": true,
	"uint": true, "uint8": true, "uint16": true, "uint32": true, "uint64": true,
	"float32": true, "float64": true, "complex64": true, "complex128": true,
}
