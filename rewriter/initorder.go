package rewriter

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
)

// numberInitializers numbers the function literals in initializers of package-level variables. The
// compiler holds all initializers in one function, in the order in which the variables are
// initialized, and numbers the literals in that order.
func (w *writer) numberInitializers(trees []*ast.File) {
	var inits []ast.Expr // initializers that hold literals, in source order
	for _, f := range trees {
		for _, d := range f.Decls {
			d, ok := d.(*ast.GenDecl)
			if !ok || d.Tok != token.VAR {
				continue
			}
			for _, s := range d.Specs {
				for _, e := range s.(*ast.ValueSpec).Values {
					if len(outermost(e)) > 0 {
						inits = append(inits, e)
					}
				}
			}
		}
	}
	if len(inits) > 1 {
		if reached, later := reach(trees, inits); later {
			inits = append(w.initOrder(trees, reached), inits...)
		}
	}
	w.initLits = map[*ast.FuncLit]int{}
	for _, e := range inits {
		for _, lit := range outermost(e) {
			if w.initLits[lit] == 0 {
				w.initLits[lit] = len(w.initLits) + 1
			}
		}
	}
}

// reach follows names from initializers. It returns the functions that the initializers may call,
// and whether an initializer may depend on a variable that is initialized further down. It does not
// look at types: a name stands for every declaration with that name.
func reach(trees []*ast.File, inits []ast.Expr) (reached map[*ast.FuncDecl]bool, later bool) {
	funcs := map[string][]*ast.FuncDecl{} // functions and methods, by name
	vars := map[string]ast.Expr{}         // initializers of variables, by name
	for _, f := range trees {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				funcs[d.Name.Name] = append(funcs[d.Name.Name], d)
			case *ast.GenDecl:
				if d.Tok != token.VAR {
					continue
				}
				for _, s := range d.Specs {
					s := s.(*ast.ValueSpec)
					for i, id := range s.Names {
						if len(s.Values) > 0 {
							vars[id.Name] = s.Values[min(i, len(s.Values)-1)]
						}
					}
				}
			}
		}
	}
	reached = map[*ast.FuncDecl]bool{}
	for _, init := range inits {
		seen := map[string]bool{}
		var follow func(n ast.Node)
		follow = func(n ast.Node) {
			ast.Inspect(n, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok || seen[id.Name] {
					return true
				}
				seen[id.Name] = true
				for _, fn := range funcs[id.Name] {
					reached[fn] = true
					if fn.Body != nil {
						follow(fn.Body)
					}
				}
				if e := vars[id.Name]; e != nil {
					later = later || e.Pos() > init.End()
					follow(e)
				}
				return true
			})
		}
		follow(init)
	}
	return reached, later
}

// initOrder returns the initializers of the package's variables in the order in which they run. It
// looks at no imported package, since none depends on this one, and at no function that
// initializers do not reach.
func (w *writer) initOrder(trees []*ast.File, reached map[*ast.FuncDecl]bool) (order []ast.Expr) {
	files := make([]*ast.File, len(trees))
	for i, f := range trees {
		files[i] = &ast.File{Package: f.Package, Name: f.Name, FileStart: f.FileStart, FileEnd: f.FileEnd, Imports: f.Imports, GoVersion: f.GoVersion}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && !reached[fn] {
				d = &ast.FuncDecl{Recv: fn.Recv, Name: fn.Name, Type: fn.Type}
			}
			files[i].Decls = append(files[i].Decls, d)
		}
	}
	info := &types.Info{}
	conf := types.Config{Importer: noImports{}, Error: func(error) {}, FakeImportC: true}
	func() {
		defer func() { recover() }() // package types can panic on code that does not compile
		conf.Check(w.path, w.fset, files, info)
	}()
	for _, init := range info.InitOrder {
		order = append(order, init.Rhs)
	}
	return order
}

// noImports imports no package but unsafe.
type noImports struct{}

func (noImports) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	return nil, errors.New("not looked at")
}

// outermost returns the function literals below a node, without literals in literals.
func outermost(n ast.Node) (list []*ast.FuncLit) {
	ast.Inspect(n, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if ok {
			list = append(list, lit)
		}
		return !ok
	})
	return list
}
