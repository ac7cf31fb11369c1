package rewriter

import (
	"go/ast"
	"go/token"
)

// costs estimates on the syntax tree what the compiler charges for inlining a function
// (hairyVisitor in cmd/compile/internal/inline). A node costs 1. A call costs 57 more, except that
// the call of a function that is inlined costs what that function costs.
type costs struct {
	funcs   map[string]*ast.FuncDecl // functions of the package
	types   map[string]*typeDecl
	vars    map[string]*varDecl
	consts  map[string]string        // true, false, or "" for any other value
	methods map[string]*ast.FuncDecl // nil for a name that methods of several types have
	imports map[*ast.FuncDecl]map[string]string
	name    string // of the package
	depth   int    // nesting of the struct that letters is looking at
	memo    map[*ast.FuncDecl]int
	busy    map[*ast.FuncDecl]bool
	built   func(d *ast.FuncDecl, cost int) int // see writer.built
	// extern returns the facts of a package outside the standard library. It may be nil.
	extern func(path string) string
	facts  map[string]map[string]fact
	// light holds the calls that cost less than callCost: conversions, calls of predeclared
	// functions, and calls of functions that are inlined.
	light map[*ast.CallExpr]bool
	// noFunc holds the range statements that do not range over a function, as far as types are
	// known.
	noFunc map[*ast.RangeStmt]bool
}

const (
	callCost      = 57 // inlineExtraCallCost
	paramCallCost = 17 // inlineParamCallCost
	literalCost   = 15
	hairy         = 1 << 20 // forbids inlining

	// enough is a cost beyond every limit. A visitor stops there: most lines of a program are in
	// functions that cost more.
	enough = 2 * inlineLiteralOnce
)

// newCosts collects the declarations of a package. extern becomes costs.extern.
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

// truth returns "true" or "false" if the i'th constant of a declaration is declared as that,
// otherwise "".
func truth(s *ast.ValueSpec, i int) string {
	if i < len(s.Values) {
		if id, ok := s.Values[i].(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") {
			return id.Name
		}
	}
	return ""
}

// decl returns the cost of a declared function's body, or -1 if the function cannot be inlined.
func (c *costs) decl(d *ast.FuncDecl) int {
	if cost, ok := c.memo[d]; ok {
		return cost
	}
	if c.busy[d] {
		return -1 // it is recursive
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

// asBuilt returns the cost of a call of a function that is inlined, or -1 if it is not inlined.
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

// body returns the cost of a function literal's body, or -1 if the literal cannot be inlined.
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

// A costVisitor adds up the cost of one function.
type costVisitor struct {
	c        *costs
	self     *ast.FuncDecl
	params   map[string]bool
	locals   map[string]typ          // types of names that the function declares
	imports  map[string]string       // paths of imports, by their names in the file
	closures map[string]*ast.FuncLit // literals, by the local variable that holds them
	outs     *ast.FieldList
	sum      int
}

// visitor returns a visitor that knows the types of a function's receiver, parameters and results.
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

// total returns the cost of a body.
func (v *costVisitor) total(b *ast.BlockStmt) int {
	v.stmts(b.List)
	if v.sum >= hairy {
		return -1
	}
	return v.sum
}

// common holds names of methods that many types have, so that a name does not tell the type.
var common = map[string]bool{
	"String": true, "Error": true, "Len": true, "Less": true, "Swap": true, "Read": true, "Write": true, "Close": true, "Reset": true,
	"Get": true, "Set": true, "Add": true, "Lock": true, "Unlock": true, "Done": true, "Next": true, "Name": true, "Size": true,
	"Unwrap": true, "Format": true, "Load": true, "Store": true, "Err": true, "Value": true, "Type": true, "Bytes": true, "Push": true,
	"Pop": true, "WriteString": true, "WriteByte": true, "Equal": true,
}
