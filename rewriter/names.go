package rewriter

import (
	"go/ast"
	"go/token"
)

// funcName returns the name of a declared function as in stack traces, without the package.
func funcName(d *ast.FuncDecl, aliases map[string]ast.Expr) string {
	name := d.Name.Name
	if d.Type.TypeParams != nil {
		name += "[...]"
	}
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return name
	}
	base, ptr, generic := namedType(d.Recv.List[0].Type, aliases)
	if generic {
		base += "[...]"
	}
	if ptr {
		base = "(*" + base + ")"
	}
	return base + "." + name
}

// receiver returns the name of a method's receiver type, whether the receiver is a pointer, and
// whether the type is generic.
func receiver(d *ast.FuncDecl) (base string, ptr, generic bool) {
	return namedType(d.Recv.List[0].Type, nil)
}

// namedType returns the name of a receiver's type, whether it is a pointer, and whether it is
// generic. It follows aliases.
func namedType(t ast.Expr, aliases map[string]ast.Expr) (base string, ptr, generic bool) {
	for seen := 0; ; {
		switch x := t.(type) {
		case *ast.ParenExpr:
			t = x.X
		case *ast.StarExpr:
			ptr = true
			t = x.X
		case *ast.IndexExpr:
			generic = true
			t = x.X
		case *ast.IndexListExpr:
			generic = true
			t = x.X
		case *ast.Ident:
			t = aliases[x.Name]
			if seen++; t == nil || seen > len(aliases) {
				return x.Name, ptr, generic
			}
		default:
			return "?", ptr, generic
		}
	}
}

// aliases maps the alias declarations of a package to the types that they stand for: stack traces
// name methods after the type itself.
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
