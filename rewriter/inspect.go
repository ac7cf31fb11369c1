package rewriter

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/ftgo/ftgo/internal/hook"
)

// load lists packages with the files that the compiler would be given, and gives opt the profile
// and the facts of what they import.
func load(patterns []string, deps bool, pgo string, opt *Options) ([]*packages.Package, error) {
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedModule | packages.NeedImports | packages.NeedDeps
	pkgs, err := packages.Load(&packages.Config{Mode: mode}, patterns...)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, p := range pkgs {
		for _, e := range p.Errors {
			errs = append(errs, e)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	var all []*packages.Package
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		if p.Module != nil { // not the standard library
			all = append(all, p)
		}
	})
	if opt.Hot, err = profileOf(pkgs, pgo); err != nil {
		return nil, err
	}
	if opt.hooksSmall() {
		if out, err := exec.Command("go", "env", "GOTOOLDIR").Output(); err == nil && hides(filepath.Join(strings.TrimSpace(string(out)), "compile")) {
			opt.Hide = hiddenArray
		}
	}
	opt.Facts = factsOf(all, *opt)
	if deps {
		return all, nil
	}
	slices.SortFunc(pkgs, func(a, b *packages.Package) int { return strings.Compare(a.ID, b.ID) })
	return pkgs, nil
}

// profileOf reads the profile that packages are built with, if there is one: pgo is a file, off, or
// auto for the default.pgo of the main package.
func profileOf(pkgs []*packages.Package, pgo string) (map[string]bool, error) {
	switch pgo {
	case "off":
		return nil, nil
	case "auto":
		pgo = ""
		for _, p := range pkgs {
			file := filepath.Join(p.Dir, "default.pgo")
			if _, err := os.Stat(file); err != nil || p.Name != "main" {
				continue
			}
			if pgo != "" {
				return nil, fmt.Errorf("%s and %s: each main package has a build of its own; list one, or name a profile with -pgo", pgo, file)
			}
			pgo = file
		}
		if pgo == "" {
			return nil, nil
		}
	}
	cmd := exec.Command("go", "tool", "preprofile", "-i", pgo)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("-pgo=%s: %w\n%s", pgo, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return hotNames(bytes.NewReader(out))
}

// factsOf returns the facts of packages, as a build would find them in their export data.
func factsOf(pkgs []*packages.Package, opt Options) func(path string) string {
	byPath := map[string]*packages.Package{}
	for _, p := range pkgs {
		byPath[p.PkgPath] = p
	}
	known := map[string]string{}
	opt.Facts = func(path string) string {
		facts, ok := known[path]
		if p := byPath[path]; !ok && p != nil {
			if in, err := read(p); err == nil {
				if res, err := Rewrite(in, opt); err == nil {
					facts = res.Facts
				}
			}
			known[path] = facts
		}
		return facts
	}
	return opt.Facts
}

// read reads a package for Rewrite.
func read(p *packages.Package) (Package, error) {
	files, err := readFiles(p.CompiledGoFiles)
	path := p.PkgPath
	if p.Name == "main" {
		path = "main"
	}
	return Package{Path: path, Files: files}, err
}

// whyNot says why a package as a whole is left without hooks, "" if it is not.
func whyNot(p *packages.Package, flags Flags) string {
	switch {
	case p.Module == nil && underHooks(p.PkgPath) != "":
		return underHooks(p.PkgPath)
	case isLibrary(p.PkgPath):
		return "it is the library that the hooks call"
	case !flags.hooksPackage(p.PkgPath):
		return "-pkg"
	}
	return ""
}

// PrintFuncs lists every function of the packages: how it is hooked, or why it is not. pgo is -pgo
// as the go command has it.
func PrintFuncs(w io.Writer, patterns []string, deps bool, pgo string, flags Flags) error {
	opt, err := flags.options()
	if err != nil {
		return err
	}
	pkgs, err := load(patterns, deps, pgo, &opt)
	if err != nil {
		return err
	}
	cwd, _ := os.Getwd()
	warnUnmatched(pkgs, flags)
	for _, p := range pkgs {
		if len(p.CompiledGoFiles) == 0 {
			continue
		}
		if why := whyNot(p, flags); why != "" {
			fmt.Fprintf(w, "%s: alone: %s\n", p.PkgPath, why)
			continue
		}
		in, err := read(p)
		if err != nil {
			return err
		}
		res, err := Rewrite(in, opt)
		if err != nil {
			fmt.Fprintf(w, "%s: alone: %v\n", p.PkgPath, err)
			continue
		}
		for _, f := range res.Funcs {
			file := f.File
			if rel, err := filepath.Rel(cwd, file); err == nil && !strings.HasPrefix(rel, "..") {
				file = rel
			}
			fmt.Fprintf(w, "%s.%s\t%s:%d\t%s", in.Path, f.Name, file, f.Line, f.Form)
			if f.Reason != "" {
				fmt.Fprintf(w, ": %s", f.Reason)
			}
			fmt.Fprintln(w)
		}
	}
	return nil
}

// Show prints rewritten source as the compiler gets it, formatted, and without the comments that
// keep positions: of a file, or of a function named as in stack traces, "example.com/p.F" or
// "p.(*T).M". pgo is -pgo as the go command has it.
func Show(w io.Writer, what, pgo string, flags Flags) error {
	opt, err := flags.options()
	if err != nil {
		return err
	}
	opt.NoPositions = true
	if fi, err := os.Stat(what); err == nil && fi.IsDir() {
		return fmt.Errorf("%s is a directory: want a .go file, or a function such as example.com/p.F", what)
	}
	if strings.HasSuffix(what, ".go") {
		return showFile(w, what, pgo, opt)
	}
	slash := strings.LastIndexByte(what, '/') + 1
	dot := strings.IndexByte(what[slash:], '.')
	if dot < 0 || strings.HasPrefix(what, ".") {
		return fmt.Errorf("%s is neither a .go file nor a function such as example.com/p.F or example.com/p.(*T).M", what)
	}
	path, name := what[:slash+dot], what[slash+dot+1:]
	if path == "main" {
		path = "."
	}
	results, err := rewriteAll(path, pgo, opt)
	if err != nil {
		return err
	}
	for _, res := range results {
		for _, f := range res.Funcs {
			if f.Name == name {
				return showFunc(w, res, f)
			}
		}
	}
	return fmt.Errorf("package %s has no function %s; ftgo funcs lists its functions", path, name)
}

// rewriteAll rewrites the packages that match a pattern.
func rewriteAll(pattern, pgo string, opt Options) ([]*Result, error) {
	pkgs, err := load([]string{pattern}, false, pgo, &opt)
	if err != nil {
		return nil, err
	}
	var results []*Result
	for _, p := range pkgs {
		in, err := read(p)
		if err != nil {
			return nil, err
		}
		res, err := Rewrite(in, opt)
		if err != nil {
			return nil, err
		}
		results = append(results, res)
	}
	return results, nil
}

func showFile(w io.Writer, name, pgo string, opt Options) error {
	if _, err := os.Stat(name); err != nil {
		return err
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	results, err := rewriteAll("file="+abs, pgo, opt)
	if err != nil {
		return err
	}
	for _, res := range results {
		for _, f := range res.Files {
			if f.Name == abs {
				src, err := format.Source(f.Src)
				if err != nil {
					return err
				}
				_, err = w.Write(src)
				return err
			}
		}
	}
	return fmt.Errorf("nothing in %s is hooked; ftgo funcs says why", name)
}

// showFunc prints a function and its wrapper.
func showFunc(w io.Writer, res *Result, fn Func) error {
	if !fn.Form.Hooked() {
		_, err := fmt.Fprintf(w, "// %s: %s: %s\n", fn.Name, fn.Form, fn.Reason)
		return err
	}
	// A function literal is shown with the function around it.
	outer, _, _ := strings.Cut(fn.Name, ".func")
	for _, f := range res.Files {
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, f.Name, f.Src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		wrapper, named := "", map[string]bool{}
		for _, d := range tree.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && funcName(d, res.aliases) == outer {
				wrapper = wrapperOf(d)
				names(tree, d, named)
			}
		}
		for _, d := range tree.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || funcName(d, res.aliases) != outer && !named[d.Name.Name] {
				continue
			}
			var b bytes.Buffer
			cfg := printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}
			if err := cfg.Fprint(&b, fset, &printer.CommentedNode{Node: d, Comments: tree.Comments}); err != nil {
				return err
			}
			if err := showSource(w, b.Bytes()); err != nil {
				return err
			}
		}
		symbol := linknames([]*ast.File{tree})[wrapper]
		shared := res.sources[symbol[strings.LastIndexByte(symbol, '.')+1:]]
		if wrapper == "" || shared == "" {
			continue
		}
		if err := showSource(w, []byte(shared)); err != nil {
			return err
		}
	}
	return nil
}

// names adds the functions of ours in a file that a function names, and the functions that they
// name in turn.
func names(tree *ast.File, d *ast.FuncDecl, named map[string]bool) {
	if d.Body == nil {
		return
	}
	ast.Inspect(d.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || !strings.HasPrefix(id.Name, hook.Prefix) || named[id.Name] {
			return true
		}
		named[id.Name] = true
		for _, other := range tree.Decls {
			if other, ok := other.(*ast.FuncDecl); ok && other.Name.Name == id.Name {
				names(tree, other, named)
			}
		}
		return true
	})
}

// showSource prints a declaration, with a blank line in front of what ftgo adds.
func showSource(w io.Writer, src []byte) error {
	src, err := format.Source(bytes.TrimSpace(src))
	if err != nil {
		return err
	}
	if bytes.Contains(src, []byte("\nfunc "+hook.Prefix)) || bytes.HasPrefix(src, []byte("func "+hook.Prefix)) {
		fmt.Fprintln(w)
	}
	_, err = fmt.Fprintf(w, "%s\n", src)
	return err
}

// wrapperOf returns the name of the wrapper that a function's dispatch calls.
func wrapperOf(d *ast.FuncDecl) (name string) {
	ast.Inspect(d.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || name != "" {
			return name == ""
		}
		fun := call.Fun
		switch f := fun.(type) {
		case *ast.IndexExpr:
			fun = f.X
		case *ast.IndexListExpr:
			fun = f.X
		}
		id, _ := fun.(*ast.Ident)
		if sel, ok := fun.(*ast.SelectorExpr); ok {
			id = sel.Sel
		}
		if id != nil && strings.HasPrefix(id.Name, hook.Prefix) && !ours[id.Name] {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// ours are the names that every hooked package declares.
var ours = map[string]bool{
	"ftgo_take": true, "ftgo_takeInlined": true, "ftgo_enter": true, "ftgo_enterHere": true, "ftgo_enterInlined": true, "ftgo_exit": true,
	"ftgo_keep": true, "ftgo_keepPointer": true,
}
