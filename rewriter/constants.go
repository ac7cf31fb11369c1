package rewriter

import (
	"go/ast"
	"go/token"
)

// This file finds what the compiler knows of an expression before it inlines: constants, conditions
// that are constant, and conversions that do nothing.

// condition returns "true" or "false" for a condition that is a constant, otherwise "".
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

// constant reports whether an expression is known to be a constant.
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

// isConversion reports whether the called expression is a type.
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

// conversion adds the cost of T(x). It is 0 if the processor sees no difference between the two
// types.
func (v *costVisitor) conversion(e *ast.CallExpr) {
	if v.constant(e) {
		v.sum++
		return
	}
	to := typ{unparen(e.Fun), v.imports}
	arg := unparen(e.Args[0])
	from := v.kind(v.typeOf(arg))
	if c, ok := arg.(*ast.CallExpr); ok && from == "" && len(c.Args) == 1 && v.isConversion(c.Fun) {
		from = v.kind(typ{unparen(c.Fun), v.imports})
	}
	switch k := v.kind(to); {
	case k == "pointer", k != "" && k == from:
	case k == machineKind("uintptr") && from == "pointer": // from unsafe.Pointer
	default:
		v.sum++
	}
	v.exprs(e.Args)
}

// kind returns a name for what the processor sees of a type, or "" if that is not known.
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

// machineKind returns the same name for basic types that are the same to the processor. Integers
// have the sizes of a 64-bit processor.
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

var basicTypes = map[string]bool{
	"bool": true, "byte": true, "rune": true, "string": true, "error": true, "any": true, "uintptr": true,
	"int": true, "int8": true, "int16": true, "int32": true, "int64": true,
	"uint": true, "uint8": true, "uint16": true, "uint32": true, "uint64": true,
	"float32": true, "float64": true, "complex64": true, "complex128": true,
}
