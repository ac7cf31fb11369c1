package rewriter

import (
	"bytes"
	"fmt"
	"go/ast"

	"golang.org/x/tools/go/ast/astutil"
)

// The compiler inlines a function literal up to these costs: inlineLiteral where it is called
// directly, and inlineLiteralOnce where that is its only call (inlineClosureCalledOnceCost and the
// doubled budget in cmd/compile/internal/inline).
const (
	inlineLiteral     = 2 * InlineKeep
	inlineLiteralOnce = 10 * InlineKeep
)

// tinyLiteral is the cost up to which a literal that is not inlined, such as a comparison for a
// sort, gets no hook while inlined functions get none: the hook would be most of its cost.
const tinyLiteral = 40

// A litScope is the place of a function literal.
type litScope struct {
	name    string // the literal's name without its number
	gen     *int   // number of the last literal
	initial bool   // in the initializer of a variable: writer.initLits has the number
	inlined bool   // in a function that stays inlined, with its literals
	alone   bool   // in a function that a directive rules a hook out for
}

// A use is what a program does with a function literal, as far as inlining depends on it.
type use uint8

const (
	usedAsValue use = iota // the literal remains a function
	calledOnce             // func() { … }()
	calledByVar            // f := func() { … }, where f is used in calls alone
)

// literals decides on the function literals below a node, and hooks them. Their numbers are the
// compiler's (closureName in cmd/compile/internal/ir): in source order, within the function that
// holds them.
func (w *writer) literals(f *file, root ast.Node, scope litScope) {
	if !bytes.Contains(f.Src[f.off(root.Pos()):f.off(root.End())], []byte("func")) {
		return // most functions hold no literal, and the walk below is slow
	}
	astutil.Apply(root, func(c *astutil.Cursor) bool {
		lit, ok := c.Node().(*ast.FuncLit)
		if !ok || c.Node() == root {
			return true
		}
		n := w.initLits[lit]
		if !scope.initial {
			*scope.gen++
			n = *scope.gen
		}
		name := fmt.Sprintf("%s%d", scope.name, n)
		form, reason, cost := w.decideLiteral(f, lit, literalUse(c, root), name, scope)
		var e *exits
		if form == InPlace {
			if e = w.findExits(lit); e != nil {
				form = AtReturns
			}
		}
		fn := w.add(f, lit.Pos(), name, form, reason, cost)
		switch form {
		case InPlace:
			w.inPlace(f, lit.Body, w.number(f, fn))
		case AtReturns:
			w.atReturns(f, lit, w.number(f, fn), e)
		}
		w.literals(f, lit.Body, litScope{name: name + ".", gen: new(int), inlined: form == Inlined, alone: scope.alone})
		return false
	}, nil)
}

// decideLiteral decides on a function literal. It returns InPlace for every literal that gets a
// hook.
func (w *writer) decideLiteral(f *file, lit *ast.FuncLit, u use, name string, scope litScope) (Form, string, int) {
	if w.opt.Notrace != nil && w.opt.Notrace(w.path+"."+name) {
		return Alone, "-notrace", -1
	}
	if scope.alone {
		return Alone, "it is part of a function that is left alone", -1
	}
	cost := w.costs.body(lit, f.imports)
	if cost < 0 || w.opt.Inline < 0 {
		return InPlace, "", cost
	}
	// A hook may keep the compiler from inlining the literal, so a limit below the compiler's own
	// changes nothing here.
	switch {
	case u == calledOnce && cost <= inlineLiteralOnce, u == calledByVar && cost <= inlineLiteral:
		return Inlined, fmt.Sprintf("the compiler inlines it where it is called (cost %d)", cost), cost
	case scope.inlined && cost <= inlineLiteral:
		return Inlined, fmt.Sprintf("it goes where the function around it is inlined (cost %d)", cost), cost
	case u == usedAsValue && cost <= tinyLiteral:
		if limit, why := w.limit(name); limit >= 0 {
			return Inlined, fmt.Sprintf("it is too small to carry a check (cost %d%s)", cost, why), cost
		}
	}
	return InPlace, "", cost
}

// literalUse returns how the literal at the cursor is used.
func literalUse(c *astutil.Cursor, root ast.Node) use {
	lit := c.Node()
	switch p := c.Parent().(type) {
	case *ast.CallExpr:
		// A literal that is called at once is inlined, except in a go or defer statement.
		if p.Fun == lit && !deferred(root, p) {
			return calledOnce
		}
	case *ast.AssignStmt:
		if len(p.Lhs) == 1 && len(p.Rhs) == 1 {
			if id, ok := p.Lhs[0].(*ast.Ident); ok && onlyCalled(root, id) {
				return calledByVar
			}
		}
	}
	return usedAsValue
}

// deferred reports whether a call is that of a go or defer statement.
func deferred(root ast.Node, call *ast.CallExpr) bool {
	found := false
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.DeferStmt:
			found = found || n.Call == call
		case *ast.GoStmt:
			found = found || n.Call == call
		}
		return !found && n != nil && n.Pos() <= call.Pos() && call.End() <= n.End()
	})
	return found
}

// onlyCalled reports whether all uses of a variable's name below root, except v itself, are calls
// of it.
func onlyCalled(root ast.Node, v *ast.Ident) bool {
	calls := map[*ast.Ident]bool{}
	only := true
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok {
				calls[id] = true
			}
		case *ast.GoStmt:
			if id, ok := n.Call.Fun.(*ast.Ident); ok && id.Name == v.Name {
				only = false
			}
		case *ast.DeferStmt:
			if id, ok := n.Call.Fun.(*ast.Ident); ok && id.Name == v.Name {
				only = false
			}
		case *ast.Ident:
			if n.Name == v.Name && n != v && !calls[n] {
				only = false
			}
		}
		return only
	})
	return only
}
