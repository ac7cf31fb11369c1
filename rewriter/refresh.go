package rewriter

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// This file gives a function's parameters values of their own behind its check.

// refresh returns the statement by which a function refreshes its parameters on its second entry:
//
//	s, a = ftgo_3_0(s, a)
//
// ftgo_3_0 is runtime.ftgo_same, an empty function: its results occupy its arguments' registers.
// Without it, a parameter that is needed after both the call of ftgo_take and a call of the body is
// one value. The register allocator spills that where the two ways part: on entry, also while
// tracing is off (placeSpills in cmd/compile/internal/ssa/regalloc.go). With it, the body is
// compiled as it would be without a hook.
//
// refresh returns "" where the statement would save nothing, and where it could change what the
// program does: a parameter that a literal captures must stay one variable.
func (w *writer) refresh(f *file, d *ast.FuncDecl, args, params []string) string {
	if !inRegisters[w.opt.Arch] {
		return ""
	}
	if !w.costs.quick(d.Body) {
		return ""
	}
	kept := keeps(d.Body)
	var names, types, letters []string
	i := 0
	for _, fields := range []*ast.FieldList{d.Recv, d.Type.Params} {
		if fields == nil {
			continue
		}
		for _, p := range fields.List {
			l := w.costs.letters(typ{p.Type, w.costs.imports[d]})
			for range max(1, len(p.Names)) {
				if name := args[i]; l != "" && len(l) <= 4 && kept[name] {
					_, t, _ := strings.Cut(params[i], " ")
					names, types, letters = append(names, name), append(types, t), append(letters, l)
				}
				i++
			}
		}
	}
	if _, ok := w.inWords(letters, maxWords); !ok || len(names) == 0 {
		return ""
	}
	all := strings.Join(types, ", ")
	same := w.declare(f, kindSame, "runtime.ftgo_same", all, " ("+all+")", "")
	list := strings.Join(names, ", ")
	return fmt.Sprintf("%s = %s(%[1]s)", list, same)
}

// inRegisters lists the processors where results are returned in the registers that arguments are
// passed in.
var inRegisters = map[string]bool{"amd64": true, "arm64": true, "loong64": true, "ppc64": true, "ppc64le": true, "riscv64": true}

// keeps returns the names that a body uses after a call, except names that a literal captures or
// that & is applied to. A use in a loop counts as one at the loop's end.
func keeps(body *ast.BlockStmt) map[string]bool {
	last, taken := map[string]token.Pos{}, map[string]bool{}
	first := body.End() // where the first call ends
	var walk func(n ast.Node, loop token.Pos)
	walk = func(n ast.Node, loop token.Pos) {
		ast.Inspect(n, func(m ast.Node) bool {
			switch m := m.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				if loop == 0 {
					walk(m, m.End())
					return false
				}
			case *ast.CallExpr:
				id, ok := unparen(m.Fun).(*ast.Ident)
				if !ok || id.Name != "len" && id.Name != "cap" && BasicLetters[id.Name] == "" {
					first = min(first, m.End())
				}
			case *ast.UnaryExpr:
				if m.Op == token.AND {
					taken[variable(m.X)] = true
				}
			case *ast.FuncLit:
				ast.Inspect(m, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						taken[id.Name] = true
					}
					return true
				})
			case *ast.Ident:
				last[m.Name] = max(last[m.Name], m.Pos(), loop)
			}
			return true
		})
	}
	walk(body, 0)
	kept := map[string]bool{}
	for name, pos := range last {
		if pos > first && !taken[name] {
			kept[name] = true
		}
	}
	return kept
}

// quick reports whether a function may return without calling anything, as far as its source shows.
// A function that calls something on every way stores what it needs later on every way, and loses
// nothing by storing it on entry.
func (c *costs) quick(body *ast.BlockStmt) bool {
	p := paths{c: c}
	through, out := p.stmts(body.List)
	return through || out || p.jumps
}

// paths follows the ways through a function up to the first call. Its methods report, for a
// statement, whether a way leads through it without a call, and whether one leads out of the
// function without a call.
type paths struct {
	c      *costs
	breaks bool // a break leaves a loop or switch without a call before it
	jumps  bool // a goto, a break or continue with a label, or a fallthrough was reached
}

func (p *paths) stmts(list []ast.Stmt) (through, out bool) {
	for _, s := range list {
		t, o := p.stmt(s)
		if out = out || o; !t {
			return false, out
		}
	}
	return true, out
}

func (p *paths) stmt(s ast.Stmt) (through, out bool) {
	switch s := s.(type) {
	case *ast.BlockStmt:
		return p.stmts(s.List)
	case *ast.LabeledStmt:
		return p.stmt(s.Stmt)
	case *ast.GoStmt, *ast.SendStmt, *ast.SelectStmt:
		return false, false
	case *ast.ExprStmt:
		return !p.calls(s) && !isPanic(s.X), false
	case *ast.BranchStmt:
		switch {
		case s.Label != nil || s.Tok == token.FALLTHROUGH:
			p.jumps = true
		case s.Tok == token.BREAK:
			p.breaks = true
		}
		return false, false
	case *ast.ReturnStmt:
		return false, !p.calls(s)
	case *ast.IfStmt:
		if p.calls(s.Init) || p.calls(s.Cond) {
			return false, false
		}
		through, out = p.stmts(s.Body.List)
		if s.Else == nil {
			return true, out
		}
		t, o := p.stmt(s.Else)
		return through || t, out || o
	case *ast.ForStmt:
		if p.calls(s.Init) || p.calls(s.Cond) {
			return false, false
		}
		left, out := p.around(s.Body)
		return left || s.Cond != nil, out
	case *ast.RangeStmt:
		if p.calls(s.X) {
			return false, false
		}
		_, out := p.around(s.Body)
		return true, out
	case *ast.SwitchStmt:
		if p.calls(s.Init) || p.calls(s.Tag) {
			return false, false
		}
		return p.around(s.Body)
	case *ast.TypeSwitchStmt:
		if p.calls(s.Init) || p.calls(s.Assign) {
			return false, false
		}
		return p.around(s.Body)
	}
	return !p.calls(s), false
}

// around follows the ways through the body of a loop or of a switch. through reports whether one
// leads behind it; from a loop, only a break does.
func (p *paths) around(body *ast.BlockStmt) (through, out bool) {
	outer := p.breaks
	p.breaks = false
	defer func() { p.breaks = outer }()
	cases, all := 0, false
	for _, s := range body.List {
		if clause, ok := s.(*ast.CaseClause); ok {
			t, o := p.stmts(clause.Body)
			through, out = through || t, out || o
			all = all || clause.List == nil
			cases++
		}
	}
	if cases > 0 {
		return through || !all || p.breaks, out
	}
	_, out = p.stmts(body.List)
	return p.breaks, out
}

// calls reports whether a statement or an expression, once reached, always calls a function.
func (p *paths) calls(n ast.Node) (found bool) {
	if n == nil {
		return false
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				found = found || p.calls(n.X)
				return false
			}
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		case *ast.DeferStmt:
			for _, e := range n.Call.Args {
				found = found || p.calls(e)
			}
			return false
		case *ast.CallExpr:
			found = found || !p.c.light[n]
		}
		return !found
	})
	return found
}

// isPanic reports whether an expression is a call of panic.
func isPanic(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	id, ok := call.Fun.(*ast.Ident)
	return ok && id.Name == "panic"
}
