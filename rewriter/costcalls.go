package rewriter

import (
	"go/ast"
	"strings"
)

// This file estimates what the inliner charges for calls.

// call adds the cost of a call.
func (v *costVisitor) call(e *ast.CallExpr) {
	fun := unparen(e.Fun)
	if v.constant(e) {
		v.sum++
		v.c.light[e] = true
		return
	}
	if id, ok := fun.(*ast.Ident); ok && v.builtin(id.Name, e) {
		v.c.light[e] = true
		return
	}
	if len(e.Args) == 1 && v.isConversion(fun) {
		v.c.light[e] = true
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
					v.c.light[e] = true
				}
			}
			v.packing(v.typeOf(f), e)
			break
		}
		v.sum += 2 + v.callee(e, v.c.funcs[f.Name])
		if d := v.c.funcs[f.Name]; d != nil {
			if d.Type.TypeParams != nil {
				v.sum += dictionary
			}
			v.arguments(d.Type.Params, v.c.imports[d], e)
		}
	case *ast.SelectorExpr:
		v.selectorCall(f, e)
	case *ast.FuncLit:
		v.sum += 1 + literalCost
		if cost := v.c.body(f, v.imports); cost >= 0 {
			v.sum += cost
			v.c.light[e] = true
		} else {
			v.sum += callCost
		}
	default:
		if d := v.c.genericCallee(fun); d != nil {
			v.sum += 2 + v.callee(e, d) + dictionary
			break
		}
		v.sum += 1 + callCost
		v.dynamic(fun)
		v.expr(fun)
	}
	v.exprs(e.Args)
}

// genericCallee returns the function of the package that F[T] or F[T, U] instantiates, or nil.
func (c *costs) genericCallee(fun ast.Expr) *ast.FuncDecl {
	switch f := fun.(type) {
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	if id, ok := fun.(*ast.Ident); ok {
		return c.funcs[id.Name]
	}
	return nil
}

// dictionary is the cost of the argument that tells a generic function its types.
const dictionary = 2

// builtin adds the cost of a call of a predeclared function, and reports whether name is one.
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
		if len(e.Args) == 1 && name == "make" { // without a size
			v.sum++
		}
		v.exprs(e.Args[min(1, len(e.Args)):])
	default:
		return false
	}
	return true
}

// callee returns the cost of calling a function of the package: the cost of its body if it is
// inlined.
func (v *costVisitor) callee(e *ast.CallExpr, d *ast.FuncDecl) int {
	if d != nil && d != v.self {
		if cost := v.c.asBuilt(d); cost >= 0 {
			v.c.light[e] = true
			return cost
		}
	}
	return callCost
}

// imported returns the cost of calling a function of another package.
func (v *costVisitor) imported(e *ast.CallExpr, k fact) int {
	if k.known && k.cost >= 0 {
		v.c.light[e] = true
		return k.cost
	}
	return callCost
}

// arguments adds the cost of passing arguments to a function: conversions to interfaces, and the
// slice of a variadic parameter. The arguments themselves are not in it.
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

// packing adds the cost of passing arguments to a function value of type t.
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

// selectorCall adds the cost of calling f, without its arguments.
func (v *costVisitor) selectorCall(f *ast.SelectorExpr, e *ast.CallExpr) {
	if id, ok := f.X.(*ast.Ident); ok && v.isPackage(id) {
		path := v.imports[id.Name]
		k := v.c.known(path, f.Sel.Name)
		switch {
		case path == "unsafe":
			v.sum++
			v.c.light[e] = true
		case cheapCall(path, f.Sel.Name):
			v.sum += 2
			v.c.light[e] = true
		default:
			v.sum += 2 + v.imported(e, k)
		}
		v.external(k, e)
		return
	}
	if x, ok := f.X.(*ast.SelectorExpr); ok && byteOrder(v.imports, x) {
		v.sum += 2
		v.c.light[e] = true
		return
	}
	recv := v.typeOf(f.X)
	m := v.c.member(recv, f.Sel.Name)
	v.sum += 1 + m.embedded
	switch m.kind {
	case methodMember:
		v.sum += v.callee(e, m.decl)
		_, ptr, generic := receiver(m.decl)
		if generic {
			v.sum += dictionary
		}
		v.receive(f.X, recv, m, ptr)
		v.arguments(m.decl.Type.Params, v.c.imports[m.decl], e)
	case importedMember:
		k := v.c.known(m.path, m.name)
		v.sum += v.imported(e, k)
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
			v.sum += v.callee(e, d)
		} else {
			v.sum += 1 + callCost
		}
	}
	v.expr(f.X)
}

// receive adds the cost of making a method's receiver from x: taking its address, or following a
// pointer.
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

// external adds the cost of passing arguments to a function of another package.
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

// byteOrder reports whether x is binary.LittleEndian or binary.BigEndian. The compiler charges a
// node for a call of their methods.
func byteOrder(imports map[string]string, x *ast.SelectorExpr) bool {
	id, ok := x.X.(*ast.Ident)
	return ok && imports[id.Name] == "encoding/binary" && strings.HasSuffix(x.Sel.Name, "Endian")
}

// cheapCall reports whether the compiler replaces a call by one or two instructions (intrinsics.go
// in cmd/compile/internal/ssagen).
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
