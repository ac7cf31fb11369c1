package rewriter

import (
	_ "embed"
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"sync"
)

// costs estimates what the compiler charges for inlining a function (hairyVisitor in cmd/compile/internal/inline), on the syntax
// tree and without types: a node costs 1, a call 57 more, a call of an inlinable function of the package what that function costs.
type costs struct {
	funcs   map[string]*ast.FuncDecl // functions of the package
	methods map[string]*ast.FuncDecl // its methods whose name only one type has; nil for the other names
	types   map[string]bool          // its types, to tell conversions from calls
	imports map[*ast.FuncDecl]map[string]string
	memo    map[*ast.FuncDecl]int
	busy    map[*ast.FuncDecl]bool
}

const (
	callCost      = 57 // inlineExtraCallCost
	paramCallCost = 17 // inlineParamCallCost
	literalCost   = 15
	hairy         = 1 << 20 // what forbids inlining
)

func newCosts(files []*file) *costs {
	c := &costs{
		funcs: map[string]*ast.FuncDecl{}, methods: map[string]*ast.FuncDecl{}, types: map[string]bool{},
		imports: map[*ast.FuncDecl]map[string]string{}, memo: map[*ast.FuncDecl]int{}, busy: map[*ast.FuncDecl]bool{},
	}
	for _, f := range files {
		imports := importNames(f.tree)
		for _, d := range f.tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				c.imports[d] = imports
				if d.Recv == nil {
					c.funcs[d.Name.Name] = d
				} else if _, taken := c.methods[d.Name.Name]; taken || common[d.Name.Name] {
					c.methods[d.Name.Name] = nil
				} else {
					c.methods[d.Name.Name] = d
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						c.types[s.Name.Name] = true
					}
				}
			}
		}
	}
	return c
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
		v := costVisitor{c: c, params: map[string]bool{}, imports: c.imports[d]}
		for _, p := range d.Type.Params.List {
			for _, id := range p.Names {
				v.params[id.Name] = true
			}
		}
		v.self = d
		cost = v.total(d.Body)
	}
	c.busy[d] = false
	c.memo[d] = cost
	return cost
}

// body returns the cost of a function literal's body, -1 if it cannot be inlined.
func (c *costs) body(b *ast.BlockStmt) int {
	v := costVisitor{c: c}
	return v.total(b)
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
	c       *costs
	self    *ast.FuncDecl
	params  map[string]bool
	imports map[string]string // path of an import, by its name in the file
	sum     int
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
	case *ast.AssignStmt:
		v.assign(s)
	case *ast.IncDecStmt:
		v.sum += 2
		v.expr(s.X)
	case *ast.IfStmt:
		v.stmt(s.Init)
		if id, ok := s.Cond.(*ast.Ident); ok && id.Name == "false" {
			v.stmt(s.Else)
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
		v.sum++
		v.expr(s.X)
		for _, e := range []ast.Expr{s.Key, s.Value} {
			if e != nil {
				v.expr(e)
				if s.Tok == token.DEFINE {
					v.sum += 2
				}
			}
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
		v.sum += 2
		v.stmt(s.Init)
		switch a := s.Assign.(type) {
		case *ast.ExprStmt:
			v.expr(a.X)
		case *ast.AssignStmt:
			v.expr(a.Rhs[0])
		}
		v.stmt(s.Body)
	case *ast.CaseClause:
		v.sum++
		v.exprs(s.List)
		v.stmts(s.Body)
	case *ast.SelectStmt:
		v.sum++
		v.stmt(s.Body)
	case *ast.CommClause:
		v.sum++
		v.stmt(s.Comm)
		v.stmts(s.Body)
	case *ast.SendStmt:
		v.sum++
		v.expr(s.Chan)
		v.expr(s.Value)
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
				v.exprs(vs.Values)
			}
		}
	case *ast.GoStmt, *ast.DeferStmt:
		v.sum += hairy
	}
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
		v.sum++
		v.expr(e.X)
	case *ast.StarExpr:
		v.sum++
		v.expr(e.X)
	case *ast.UnaryExpr:
		if lit, ok := e.X.(*ast.BasicLit); ok && e.Op != token.AND {
			v.expr(lit)
			return
		}
		v.sum++
		if lit, ok := e.X.(*ast.CompositeLit); ok && e.Op == token.AND {
			v.expr(lit)
			return
		}
		v.expr(e.X)
	case *ast.BinaryExpr:
		if constant(e) {
			v.sum++
			return
		}
		if e.Op != token.ADD || !isConcat(e) {
			v.sum++
		}
		v.expr(e.X)
		v.expr(e.Y)
	case *ast.IndexExpr:
		v.sum++
		v.expr(e.X)
		v.expr(e.Index)
	case *ast.IndexListExpr:
		v.expr(e.X)
	case *ast.SliceExpr:
		v.sum++
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
		v.sum++
		for _, el := range e.Elts {
			if kv, ok := el.(*ast.KeyValueExpr); ok {
				v.sum++
				if _, ok := kv.Key.(*ast.Ident); !ok {
					v.expr(kv.Key)
				}
				v.expr(kv.Value)
				continue
			}
			v.sum++
			v.expr(el)
		}
	case *ast.FuncLit:
		v.sum += literalCost + 1
	case *ast.CallExpr:
		v.call(e)
	}
}

// isConcat reports whether e is part of a longer sum, which the compiler holds as one node when it is of strings.
func isConcat(e *ast.BinaryExpr) bool {
	lit, ok := e.Y.(*ast.BasicLit)
	_, more := e.X.(*ast.BinaryExpr)
	return more && ok && lit.Kind == token.STRING
}

func constant(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.ParenExpr:
		return constant(e.X)
	case *ast.BinaryExpr:
		return constant(e.X) && constant(e.Y)
	}
	return false
}

func (v *costVisitor) call(e *ast.CallExpr) {
	fun := e.Fun
	for {
		p, ok := fun.(*ast.ParenExpr)
		if !ok {
			break
		}
		fun = p.X
	}
	switch f := fun.(type) {
	case *ast.Ident:
		switch f.Name {
		case "recover":
			v.sum += hairy
			return
		case "panic":
			v.sum += 2
			v.exprs(e.Args)
			return
		case "len", "cap", "append", "copy", "delete", "clear", "close", "complex", "real", "imag", "min", "max", "print", "println":
			v.sum++
			v.exprs(e.Args)
			return
		case "make", "new":
			v.sum++
			v.exprs(e.Args[min(1, len(e.Args)):])
			return
		}
		if v.c.types[f.Name] || basicTypes[f.Name] {
			v.sum++
			v.exprs(e.Args)
			return
		}
		if v.params[f.Name] {
			v.sum += 2 + paramCallCost
			v.exprs(e.Args)
			return
		}
		if d := v.c.funcs[f.Name]; d != nil {
			if cost := v.c.decl(d); cost >= 0 && cost <= InlineKeep {
				v.sum += 2 + cost
				v.exprs(e.Args)
				return
			}
		}
		v.sum += 2 + callCost
	case *ast.SelectorExpr:
		v.selectorCall(f)
	case *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.InterfaceType, *ast.StructType, *ast.StarExpr:
		v.sum++ // a conversion
	case *ast.IndexExpr:
		if id, ok := f.X.(*ast.Ident); ok {
			if v.c.types[id.Name] {
				v.sum++
				break
			}
			if d := v.c.funcs[id.Name]; d != nil && d != v.self {
				if cost := v.c.decl(d); cost >= 0 && cost <= InlineKeep {
					v.sum += 2 + cost
					break
				}
			}
		}
		v.sum += 2 + callCost
	case *ast.FuncLit:
		v.sum += 1 + literalCost + v.c.body(f.Body)
	default:
		v.sum += 1 + callCost
		v.expr(fun)
	}
	v.exprs(e.Args)
}

// selectorCall adds the cost of a call of f but for its arguments.
func (v *costVisitor) selectorCall(f *ast.SelectorExpr) {
	if id, ok := f.X.(*ast.Ident); ok {
		path := v.imports[id.Name]
		if cost, ok := stdCosts()[path+"."+f.Sel.Name]; ok {
			v.sum += 2 + cost
			return
		}
		if path != "" || id.Name == "unsafe" {
			v.sum += 2
			if !cheapCall(path, f.Sel.Name) {
				v.sum += callCost
			}
			return
		}
	}
	if x, ok := f.X.(*ast.SelectorExpr); ok && byteOrder(v.imports, x) {
		v.sum += 2
		return
	}
	if d := v.c.methods[f.Sel.Name]; d != nil && d != v.self {
		if cost := v.c.decl(d); cost >= 0 && cost <= InlineKeep {
			v.sum += 2 + cost
			v.expr(f.X)
			return
		}
	}
	v.sum += 2 + callCost
	v.expr(f.X)
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

// stdCosts returns the costs of the standard library's inlined functions by path and name.
var stdCosts = sync.OnceValue(func() map[string]int {
	m := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(stdCostList), "\n") {
		path, list, _ := strings.Cut(line, ": ")
		for _, entry := range strings.Split(list, ", ") {
			name, cost, _ := strings.Cut(entry, " ")
			if n, err := strconv.Atoi(cost); err == nil {
				m[path+"."+name] = n
			}
		}
	}
	return m
})

// The list is the compiler's own: go run ./internal/estimate -std > rewriter/stdcosts.txt.
//
//go:embed stdcosts.txt
var stdCostList string

// cheapCall reports calls that the compiler replaces by an instruction or two (ssagen's intrinsics), or charges as a node.
func cheapCall(path, name string) bool {
	switch path {
	case "unsafe":
		return true
	case "math/bits":
		switch name {
		case "LeadingZeros", "LeadingZeros8", "LeadingZeros16", "LeadingZeros32", "LeadingZeros64",
			"TrailingZeros", "TrailingZeros8", "TrailingZeros16", "TrailingZeros32", "TrailingZeros64",
			"Len", "Len8", "Len16", "Len32", "Len64", "OnesCount", "OnesCount8", "OnesCount16", "OnesCount32", "OnesCount64",
			"ReverseBytes", "ReverseBytes16", "ReverseBytes32", "ReverseBytes64", "Add", "Add64", "Sub", "Sub64", "Mul", "Mul64",
			"RotateLeft", "RotateLeft8", "RotateLeft16", "RotateLeft32", "RotateLeft64":
			return true
		}
	case "math":
		switch name {
		case "Float64bits", "Float64frombits", "Float32bits", "Float32frombits", "Sqrt", "Abs", "Floor", "Ceil", "Trunc", "Copysign", "FMA":
			return true
		}
	case "sync/atomic":
		return true
	case "time":
		return name == "Duration" || name == "Month" || name == "Weekday" // conversions
	case "reflect":
		return name == "Kind"
	}
	return false
}

var basicTypes = map[string]bool{
	"bool": true, "byte": true, "rune": true, "string": true, "error": true, "any": true, "uintptr": true,
	"int": true, "int8": true, "int16": true, "int32": true, "int64": true,
	"uint": true, "uint8": true, "uint16": true, "uint32": true, "uint64": true,
	"float32": true, "float64": true, "complex64": true, "complex128": true,
}
