package rewriter

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ftgo/ftgo/internal/hook"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestForms(t *testing.T) {
	src, err := os.ReadFile("testdata/forms.go.in")
	if err != nil {
		t.Fatal(err)
	}
	for name, opt := range map[string]Options{"keep": {Inline: InlineKeep}, "hook": {Inline: -1}, "hidden": {Inline: -1, Hide: hiddenArray}} {
		opt.Arch = "amd64"
		res, err := Rewrite(Package{Path: "example.com/p", Files: []File{{"/src/p.go", src}}}, opt)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for _, f := range res.Funcs {
			fmt.Fprintf(&b, "// %s:%d %s: %s", filepath.Base(f.File), f.Line, f.Name, f.Form)
			if f.Reason != "" {
				fmt.Fprintf(&b, " (%s)", f.Reason)
			}
			b.WriteByte('\n')
		}
		b.Write(res.Files[0].Src)
		b.WriteString("\n")
		b.Write(res.Table)
		file := "testdata/forms." + name + ".golden"
		if *update {
			if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%s differs from %s; see what changed with -update", name, file)
		}
	}
}

// Each name of the original keeps its position, in the sense of the input's own //line directives.
func TestPositions(t *testing.T) {
	forms, err := os.ReadFile("testdata/forms.go.in")
	if err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string]string{
		"forms":         string(forms),
		"crlf":          strings.ReplaceAll(string(forms), "\n", "\r\n"),
		"no newline":    strings.TrimSpace(string(forms)),
		"bom":           "\uFEFF" + string(forms),
		"one line":      "package p; func a(_ int) { b(); }; func b() { a(1) }; type c int",
		"line":          "package p\n\n//line x.y:7\nfunc a(_ int, _ string) { b() }\nfunc b() {\n\ta(1, \"\")\n}\n",
		"line column":   "package p\n\n//line x.y:7:9\nfunc a(_ int, _ string) { b() }\nfunc b() {\n\ta(1, \"\")\n}\n",
		"inline":        "package p\n\nfunc a(_ int) { /*line q.y:3:4*/ b() /*line :9:1*/; c() }\nfunc b() { a(1) }\nfunc c() { b() }\n",
		"two files":     "package p\n\n//line x.y:7\nfunc a() {}\n//line /abs/z.y:100\nfunc b(int) { a() }\nfunc c(int) { a() }\n",
		"brace comment": "package p\n\nfunc a() { // why\n\tb()\n}\nfunc b() { /* one\n two */ a() }\n",
	} {
		for _, limit := range []int{InlineKeep, 0, -1} {
			checkPositions(t, name, src, limit)
		}
	}
}

// A package that type-checks does so after rewriting too, with its table.
func TestTypes(t *testing.T) {
	for _, name := range []string{"typed", "shadow"} {
		src, err := os.ReadFile("testdata/" + name + ".go.in")
		if err != nil {
			t.Fatal(err)
		}
		if err := typeCheck(string(src)); err != nil {
			t.Fatal(err)
		}
		checkTypes(t, string(src))
		for _, limit := range []int{InlineKeep, 0, -1} {
			checkPositions(t, name, string(src), limit)
		}
	}
}

// FuzzRewrite checks that source which parses does so after rewriting, with the same positions, and
// that it type-checks after rewriting if and only if it did before.
func FuzzRewrite(f *testing.F) {
	for _, name := range []string{"forms", "typed", "shadow"} {
		src, err := os.ReadFile("testdata/" + name + ".go.in")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
		for _, decl := range declarations(f, string(src)) {
			f.Add("package p\n" + decl)
		}
	}
	script, err := txtar.ParseFile("../cmd/ftgo/testdata/script/every_construct.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range script.Files {
		if strings.HasSuffix(file.Name, ".go") {
			f.Add(string(file.Data))
		}
	}
	f.Add("package p\n//line x:1\nfunc (T) f(_ int) { func() {}() }")
	f.Fuzz(func(t *testing.T, src string) {
		if _, err := parser.ParseFile(token.NewFileSet(), "/src/p.go", src, parser.SkipObjectResolution); err == nil {
			checkPositions(t, "fuzz", src, -1)
			if typeCheck(src) == nil {
				checkTypes(t, src)
			} else {
				checkErrorsStay(t, src)
			}
		}
	})
}

// declarations returns the text of each declaration, from which the fuzzer builds new packages.
func declarations(tb testing.TB, src string) (list []string) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		tb.Fatal(err)
	}
	for _, d := range f.Decls {
		list = append(list, src[fset.Position(d.Pos()).Offset:fset.Position(d.End()).Offset])
	}
	return list
}

// typeCheck type-checks a package of the given files. They may import package unsafe alone.
func typeCheck(srcs ...string) (err error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for i, src := range srcs {
		f, err := parser.ParseFile(fset, fmt.Sprintf("/src/%d.go", i), src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: noImports{}, GoVersion: "go1.26"}
	defer func() {
		if r := recover(); r != nil { // package types can panic on code that does not compile
			err = fmt.Errorf("%v", r)
		}
	}()
	_, err = conf.Check("p", fset, files, nil)
	return err
}

// eachRewritten calls do with the table and the source of a package of one file, for several limits
// on inlining.
func eachRewritten(src string, do func(limit int, table, out string)) {
	for _, limit := range []int{InlineKeep, 0, -1} {
		res, err := Rewrite(Package{Path: "p", Files: []File{{"/src/p.go", []byte(src)}}}, options(limit))
		if err == nil && len(res.Files) > 0 {
			do(limit, string(res.Table), string(res.Files[0].Src))
		}
	}
}

func checkTypes(t *testing.T, src string) {
	t.Helper()
	eachRewritten(src, func(limit int, table, out string) {
		if err := typeCheck(table, out); err != nil {
			t.Fatalf("-inline=%d: %v\n%s\n%s", limit, err, out, table)
		}
	})
}

// checkErrorsStay checks that source which does not type-check does not type-check with hooks
// either. Otherwise its user would not be told of the error.
func checkErrorsStay(t *testing.T, src string) {
	t.Helper()
	eachRewritten(src, func(limit int, table, out string) {
		if typeCheck(table, out) == nil {
			t.Fatalf("-inline=%d: this does not compile:\n%s\nbut this does:\n%s", limit, src, out)
		}
	})
}

func TestErrorsStay(t *testing.T) {
	for _, body := range []string{
		"func f(n int) int { if n > 0 { return }; return 1 }",
		"func f() { return 1 }",
		"func f() (int, int) { return 1 }",
		"var f = func(n int) int { if n > 0 { return }; g(); return 1 }\nfunc g() { g() }",
		"var f = func(n int) (int, error) { return }",
		"var f = func(n int) { return n }",
		"var f = func(n int) int { if n > 0 { return 1 } }",
		"var f = func(n int) (r int) { for range n { return 1 } }",
		"var f = func(n int) (r int) { { r := 1; _ = r; return } }",
		"var f = func(n int) (r int) { for { break }; return 1; L: }",
		"var f = func(n int) { break }",
		"var f = func(m map[int]bool) (bool, bool) { g(); return m[1] }\nfunc g() { g() }",
		"var f = func(c chan bool) (a, b bool) { g(); return (<-c) }\nfunc g() { g() }",
		"var f = func(x any) (int, bool) { g(); return x.(int) }\nfunc g() { g() }",
		"var f = func(s []int) int { g(); L: for range s { return 1 }; return 0 }\nfunc g() { g() }",
		"var f = func(n int) int { for range n { break L }; return 1 }",
		"var f = func(n int) int { goto L; n := 1; L: return n }",
	} {
		src := "package p\n" + body
		if typeCheck(src) == nil {
			t.Errorf("this compiles: %s", src)
		}
		checkErrorsStay(t, src)
	}
}

// options returns the options for a limit on inlining. They also hook small functions as well as
// the compiler allows.
func options(limit int) Options {
	if limit == 0 {
		return Options{Inline: limit, Hide: hiddenArray}
	}
	return Options{Inline: limit}
}

func checkPositions(t *testing.T, name, src string, limit int) {
	t.Helper()
	const file = "/src/p.go"
	res, err := Rewrite(Package{Path: "p", Files: []File{{file, []byte(src)}}}, options(limit))
	if err != nil || len(res.Files) == 0 {
		return // without a hook
	}
	out := string(res.Files[0].Src)
	want, err := namesOf(file, src)
	if err != nil {
		t.Fatal(err)
	}
	got, err := namesOf(file, out)
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	for i, w := range want {
		if i >= len(got) || got[i] != w {
			t.Fatalf("%s: name %d was %s, is %s:\n%s", name, i, w, append(got, "missing")[min(i, len(got))], out)
		}
	}
}

// namesOf returns the names in a file with their positions. It leaves out names that ftgo adds, and
// the declarations that hold them.
func namesOf(file, src string) (list []string, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	added := map[ast.Expr]bool{}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, hook.Prefix) {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt: // the check
				if b, ok := n.Cond.(*ast.BinaryExpr); ok {
					return !mentions(b, "ftgo_mask")
				}
			case *ast.BlockStmt: // { r0, r1 = …; if ftgo_t … } in place of a return
				for i, s := range n.List {
					as, ok := s.(*ast.AssignStmt)
					if ok && i == 0 && len(n.List) == 3 && (mentions(n.List[1], "ftgo_t") || mentions(n.List[1], "ftgo_out")) {
						for _, e := range as.Lhs {
							added[e] = true
						}
					}
					if b, ok := s.(*ast.BranchStmt); ok && b.Label != nil && i > 0 {
						if as, ok := n.List[i-1].(*ast.AssignStmt); ok && mentions(as.Lhs[0], "ftgo_out") {
							added[b.Label] = true
						}
					}
				}
			case *ast.FuncDecl:
				if n.Recv != nil && len(n.Recv.List) == 0 {
					return false
				}
			case *ast.Ident:
				if !strings.HasPrefix(n.Name, hook.Prefix) && n.Name != "_" && !added[n] {
					list = append(list, fmt.Sprintf("%s at %s", n.Name, fset.Position(n.Pos())))
				}
			}
			return true
		})
	}
	return list, nil
}

func mentions(n ast.Node, name string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// hook.Prefix in a comment or a string is no name.
func TestPrefixInText(t *testing.T) {
	src := "package p\n// ftgo_mask\nvar s = \"ftgo_mask\"\nfunc f() { f() }"
	res, err := Rewrite(Package{Path: "p", Files: []File{{"p.go", []byte(src)}}}, Options{Inline: -1})
	if err != nil || len(res.Files) != 1 {
		t.Errorf("%v, %v", res, err)
	}
}

// A package that uses names with hook.Prefix is refused.
func TestRefusals(t *testing.T) {
	for _, src := range []string{
		"package p\nvar ftgo_mask int\nfunc f() { f() }",
		"package p\nfunc f( {}",
	} {
		if _, err := Rewrite(Package{Path: "p", Files: []File{{"p.go", []byte(src)}}}, Options{Inline: -1}); err == nil {
			t.Errorf("%q was rewritten", src)
		}
	}
}
