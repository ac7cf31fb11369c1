package rewriter

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// A function literal cannot be entered a second time, since it has no name. A deferred exit would
// cost it some 18 instructions while off, because every result must be in memory then. So, if every
// place where the literal returns can be found, its hook has an exit at each:
//
//	func(a int) (ftgo_o0 int) {
//		ftgo_t := 0; if ftgo_mask[7] != 0 { ftgo_t = ftgo_enterAt(&ftgo_sites[7]) }
//		…
//		{ ftgo_o0 = a + 1; if ftgo_t != 0 { ftgo_exitAt(ftgo_t) }; return }
//
// A panic or runtime.Goexit passes such an exit by. The patched runtime tells the library when that
// happens, and how much of the stack is gone (runtime/unwind.go).
//
// The hook names no predeclared type and no predeclared constant, since a package or a function may
// declare others under the same names.

// exits holds the places where a literal returns.
type exits struct {
	returns []exitPoint
	loops   []*exitLoop
	end     bool // the literal also returns at its closing brace
}

// An exitPoint is a return statement and the outermost range statement around it. The literal
// leaves the range statement before its exit: if the statement calls a function, that call ends
// later. Types say that it calls none, but they are inferred by name, and a name can stand for two
// variables.
type exitPoint struct {
	stmt *ast.ReturnStmt
	loop *exitLoop
}

// An exitLoop is a range statement that return statements are in.
type exitLoop struct {
	stmt  *ast.RangeStmt
	label string // of the statement; "" if it has none, or none that is used
}

// returnsWrong reports whether a function has a return statement that the compiler refuses, and
// would accept once the results have names or are assigned to. Such statements are a return without
// values where results have no names, one with values where there are no results, and one with a
// single expression that gives two values in assignments alone (m[k], <-c, x.(T)).
func returnsWrong(t *ast.FuncType, body *ast.BlockStmt) (wrong bool) {
	results := t.Results.NumFields()
	named := results > 0 && len(t.Results.List[0].Names) > 0
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			switch len(n.Results) {
			case 0:
				wrong = wrong || results > 0 && !named
			case 1:
				_, call := unparen(n.Results[0]).(*ast.CallExpr)
				wrong = wrong || results == 0 || results > 1 && !call
			default:
				wrong = wrong || results == 0
			}
		}
		return !wrong
	})
	return wrong
}

// findExits returns the places where a literal returns, or nil if its hook cannot have an exit at
// each. Literals without such exits are:
//
//   - a literal with a deferred call, which runs after the return
//   - a literal that returns from a loop over a function: the compiler might allocate on the heap
//     what the loop's body sets
//   - a literal with a named result that another declaration hides
//   - a literal that never returns, so that nothing would use the token
//   - a literal with a return statement that the compiler must see as it is, to refuse it
//   - a literal that holds literals: the compiler could inline it, and would give the inner ones
//     new names, while in a trace they have their own
func (w *writer) findExits(lit *ast.FuncLit) *exits {
	e, ok := &exits{}, true
	names := map[string]bool{}
	if lit.Type.Results != nil {
		for _, r := range lit.Type.Results.List {
			for _, id := range r.Names {
				names[id.Name] = id.Name != "_"
			}
		}
	}
	hides := func(list ...ast.Expr) bool {
		return slices.ContainsFunc(list, func(x ast.Expr) bool {
			id, is := x.(*ast.Ident)
			return is && names[id.Name]
		})
	}
	labels, used := map[ast.Stmt]string{}, map[string]bool{}
	var loops []*exitLoop
	var path []ast.Node
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		if n == nil {
			if _, is := path[len(path)-1].(*ast.RangeStmt); is {
				loops = loops[:len(loops)-1]
			}
			path = path[:len(path)-1]
			return false
		}
		if !ok {
			return false
		}
		switch n := n.(type) {
		case *ast.DeferStmt, *ast.FuncLit:
			ok = false
		case *ast.LabeledStmt:
			labels[n.Stmt] = n.Label.Name
		case *ast.BranchStmt:
			if n.Label != nil {
				used[n.Label.Name] = true
			}
		case *ast.AssignStmt:
			ok = n.Tok != token.DEFINE || !hides(n.Lhs...)
		case *ast.ValueSpec:
			ok = !slices.ContainsFunc(n.Names, func(id *ast.Ident) bool { return names[id.Name] })
		case *ast.TypeSpec:
			ok = !names[n.Name.Name]
		case *ast.RangeStmt:
			ok = n.Tok != token.DEFINE || !hides(n.Key, n.Value)
			loops = append(loops, &exitLoop{n, labels[n]})
		case *ast.ReturnStmt:
			p := exitPoint{stmt: n}
			for _, l := range loops {
				ok = ok && w.costs.noFunc[l.stmt]
			}
			if len(loops) > 0 {
				p.loop = loops[0]
				if !slices.Contains(e.loops, p.loop) {
					e.loops = append(e.loops, p.loop)
				}
			}
			e.returns = append(e.returns, p)
		}
		path = append(path, n)
		return true
	})
	for _, l := range e.loops {
		if !used[l.label] {
			l.label = "" // the compiler reports a label that is not used
		}
	}
	if lit.Type.Results.NumFields() == 0 {
		list := lit.Body.List
		e.end = true
		if len(list) > 0 {
			_, returns := list[len(list)-1].(*ast.ReturnStmt)
			e.end = !returns
		}
	}
	if !ok || len(e.returns) == 0 && !e.end || returnsWrong(lit.Type, lit.Body) {
		return nil
	}
	return e
}

// atReturns hooks a literal with an exit at each return.
func (w *writer) atReturns(f *file, lit *ast.FuncLit, at site, e *exits) {
	names := strings.Join(w.nameResults(f, lit.Type), ", ")
	entry := fmt.Sprintf(" ftgo_t := 0; if %s { ftgo_t = ftgo_enterAt(%s) }", at.on(), at.addr())
	if len(e.loops) > 0 {
		entry = " ftgo_out := 0 != 0;" + entry
	}
	f.insertAtBody(w.fset, lit.Body, entry)
	const leave = "if ftgo_t != 0 { ftgo_exitAt(ftgo_t) }"
	for i, l := range e.loops {
		if l.label == "" {
			l.label = local(localLoop, i)
			f.edits.insert(f.off(l.stmt.Pos()), l.label+": "+f.directive(w.fset, l.stmt.Pos(), true))
		}
	}
	for _, p := range e.returns {
		s := p.stmt
		end := leave + "; return }"
		if p.loop != nil {
			end = "ftgo_out = 0 == 0; break " + p.loop.label + " }"
		}
		if len(s.Results) == 0 {
			f.edits.replace(f.off(s.Pos()), f.off(s.End()), "{ "+end+f.columnBack(w.fset, s.End()))
			continue
		}
		from := s.Pos() + token.Pos(len("return"))
		f.edits.replace(f.off(s.Pos()), f.off(from), "{ "+names+" ="+f.directive(w.fset, from, true))
		f.edits.insert(f.off(s.End()), "; "+end+f.columnBack(w.fset, s.End()))
	}
	for _, l := range e.loops {
		f.edits.insert(f.off(l.stmt.End()), "; if ftgo_out { "+leave+"; return }"+f.columnBack(w.fset, l.stmt.End()))
	}
	if e.end {
		f.edits.insert(f.off(lit.Body.Rbrace), "; "+leave+" "+f.directive(w.fset, lit.Body.Rbrace, true))
	}
}
