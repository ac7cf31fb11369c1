package rewriter

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
)

// numberInitializers numbers the function literals of package-level variables as the compiler does, which holds all initializers in one
// function: in the order in which the variables are initialized.
func (w *writer) numberInitializers(trees []*ast.File) {
	var inits []ast.Expr // that hold literals, in the order of the source
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
		inits = append(w.initOrder(trees), inits...)
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

// initOrder returns the initializers of the package's variables in the order in which they run. Imported packages are not looked at: nothing in
// them depends on this one.
func (w *writer) initOrder(trees []*ast.File) (order []ast.Expr) {
	info := &types.Info{}
	conf := types.Config{Importer: noImports{}, Error: func(error) {}, FakeImportC: true}
	conf.Check(w.path, w.fset, trees, info)
	for _, init := range info.InitOrder {
		order = append(order, init.Rhs)
	}
	return order
}

type noImports struct{}

func (noImports) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	return nil, errors.New("not looked at")
}

// outermost returns the function literals below a node that no other literal holds.
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

// aliases maps the package's alias declarations to what they stand for: stack traces name a method after the type itself.
func aliases(files []*ast.File) map[string]ast.Expr {
	m := map[string]ast.Expr{}
	for _, f := range files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.TYPE {
				for _, s := range d.Specs {
					if s := s.(*ast.TypeSpec); s.Assign.IsValid() {
						m[s.Name.Name] = s.Type
					}
				}
			}
		}
	}
	return m
}
