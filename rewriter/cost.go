package rewriter

import (
	"go/ast"
	"go/token"
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
	name    string // of the package
	depth   int    // of structs in one another, while letters looks at them
	memo    map[*ast.FuncDecl]int
	busy    map[*ast.FuncDecl]bool
	built   func(d *ast.FuncDecl, cost int) int // see (*writer).built
	extern  func(path string) string            // facts of a package that is not of the standard library; may be nil
	facts   map[string]map[string]fact
	light   map[*ast.CallExpr]bool  // calls that cost less than one: conversions, calls of predeclared functions and of what is inlined
	noFunc  map[*ast.RangeStmt]bool // loops that are no calls of a function, as far as types are known
}

const (
	callCost      = 57 // inlineExtraCallCost
	paramCallCost = 17 // inlineParamCallCost
	literalCost   = 15
	hairy         = 1 << 20 // what forbids inlining

	// enough is a cost beyond every limit: what lies beyond it is not looked at. Most of a program's lines are in such functions.
	enough = 2 * inlineLiteralOnce
)

func newCosts(files []*file, extern func(path string) string) *costs {
	c := &costs{
		funcs: map[string]*ast.FuncDecl{}, types: map[string]*typeDecl{}, vars: map[string]*varDecl{}, consts: map[string]string{},
		methods: map[string]*ast.FuncDecl{}, imports: map[*ast.FuncDecl]map[string]string{}, memo: map[*ast.FuncDecl]int{},
		busy: map[*ast.FuncDecl]bool{}, extern: extern, facts: map[string]map[string]fact{}, noFunc: map[*ast.RangeStmt]bool{},
		light: map[*ast.CallExpr]bool{},
	}
	var methods []*ast.FuncDecl
	for _, f := range files {
		c.name = f.tree.Name.Name
		imports := c.importNames(f.tree)
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
						c.types[s.Name.Name] = &typeDecl{spec: s, imports: imports, methods: map[string]*ast.FuncDecl{}}
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
	if d.Body != nil {
		v := c.visitor(d.Recv, d.Type, c.imports[d])
		v.self = d
		if sum := v.total(d.Body); !noinline(d) {
			cost = sum
		}
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
	return c.visitor(nil, lit.Type, imports).total(lit.Body)
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

// visitor returns a visitor for a function, with its receiver, parameters and results declared.
func (c *costs) visitor(recv *ast.FieldList, t *ast.FuncType, imports map[string]string) *costVisitor {
	v := &costVisitor{c: c, params: map[string]bool{}, imports: imports, locals: map[string]typ{}, closures: map[string]*ast.FuncLit{}, outs: t.Results}
	for _, fields := range []*ast.FieldList{recv, t.Params, t.Results} {
		v.declare(fields)
	}
	for _, p := range t.Params.List {
		for _, id := range p.Names {
			v.params[id.Name] = true
		}
	}
	return v
}

func (v *costVisitor) total(b *ast.BlockStmt) int {
	v.stmts(b.List)
	if v.sum >= hairy {
		return -1
	}
	return v.sum
}

// common are names of methods that tell nothing about their type.
var common = map[string]bool{
	"String": true, "Error": true, "Len": true, "Less": true, "Swap": true, "Read": true, "Write": true, "Close": true, "Reset": true,
	"Get": true, "Set": true, "Add": true, "Lock": true, "Unlock": true, "Done": true, "Next": true, "Name": true, "Size": true,
	"Unwrap": true, "Format": true, "Load": true, "Store": true, "Err": true, "Value": true, "Type": true, "Bytes": true, "Push": true,
	"Pop": true, "WriteString": true, "WriteByte": true, "Equal": true,
}
