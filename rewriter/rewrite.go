// Package rewriter puts the hooks into programs while they are built. It decides which functions
// get a hook, and in which form; it edits their source, writes the table of each package, and
// patches package runtime of the standard library. Bytes go in and bytes come out: the conversation
// with the go command is in internal/toolexec. Of the runtime library the package knows the shape
// of the hook alone (internal/hook).
package rewriter

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/ftgo/ftgo/internal/hook"
)

// A File is a source file. Name is the name that the compiler is given, and that positions have.
type File struct {
	Name string
	Src  []byte
}

// Options say which functions to hook, and how the package is compiled.
type Options struct {
	// Inline is the cost of inlining up to which a function gets no hook and stays inlined.
	// InlineKeep leaves every inlined function so; -1 hooks every function.
	Inline int
	// Hot holds the symbol names of the functions that a profile of the program calls hot; it is
	// nil without a profile. Hot functions may be inlined with their hooks. All others are hooked
	// whatever Inline says.
	Hot map[string]bool
	// Inlines says that the compiler inlines beyond its usual budget (-l=4), and so inlines
	// functions with hooks too.
	Inlines bool
	// Hide names an array of no size. Assignments to it cost the inliner nothing, so that a small
	// function can have a hook and be inlined; see hidden.go. If Hide is empty, a small function
	// has one of the two.
	Hide string
	// Notrace reports whether a function gets no hook because of -notrace. Its argument is the
	// function's full name. Notrace may be nil.
	Notrace func(name string) bool
	// Assembly holds the symbols that assembly files of the package define or refer to. The
	// compiler has two calling conventions for such a symbol, and accepts no second declaration of
	// it.
	Assembly map[string]bool
	// Arch is the processor, as a value of GOARCH.
	Arch string
	// Facts returns Result.Facts of an imported package outside the standard library, or "" if they
	// are not known. Facts may be nil.
	Facts func(path string) string
	// JoinLines makes the file names in line directives absolute. Compilers from Go 1.27 on take
	// them as relative to the file's directory, which is another directory after rewriting.
	JoinLines bool
	// NoPositions leaves out the comments that keep positions, for readers of the output.
	NoPositions bool
}

// hooksSmall reports whether functions that the compiler inlines may get hooks.
func (o *Options) hooksSmall() bool { return o.Inline < InlineKeep || o.Hot != nil }

// InlineKeep is the compiler's own limit on the cost of an inlined function (inlineMaxBudget in
// cmd/compile/internal/inline).
const InlineKeep = 80

// A Form is a way to hook a function, or to leave it without a hook.
type Form uint8

// The forms are described in docs/design.md.
const (
	// ReEntry puts a check in front of the body. While the function is traced, the check calls a
	// wrapper, which enters the function a second time.
	ReEntry   Form = iota
	InPlace        // conditional deferred exit in front of the body
	AtReturns      // for function literals: entry in front of the body, exit at each return
	Hidden         // ReEntry in a form that leaves the function inlined
	Inlined        // no hook: the compiler inlines the function into its callers
	Alone          // no hook, for the reason given
)

func (f Form) String() string {
	return [...]string{"re-entry", "in place", "at returns", "re-entry and inlined", "inlined", "alone"}[f]
}

// Hooked reports whether functions of the form have a hook.
func (f Form) Hooked() bool { return f == ReEntry || f == InPlace || f == AtReturns || f == Hidden }

// A Func is a function of the package, and what was decided on it.
type Func struct {
	Name   string // in the package, as in stack traces: F, T.M, (*T).M, (*T[...]).M, F.func1
	File   string
	Line   int
	Form   Form
	Reason string // of Inlined and Alone
	Cost   int    // estimate of what inlining it costs; negative if it cannot be inlined
}

// A Result is a rewritten package.
type Result struct {
	Files  []File // the files that changed
	Table  []byte // a file that must come before all others; nil if nothing is hooked
	Funcs  []Func
	Hidden bool   // a function is of form Hidden, so the compiler must be told of the array
	Facts  string // what estimates of inlining in packages that import this one need to know

	// Wrappers counts the functions that use each shared wrapper. Wrappers that only this package
	// can have are left out.
	Wrappers map[string]int

	aliases map[string]ast.Expr // of the package; see aliases
	sources map[string]string   // source of shared wrappers, by name
}

// A Package is the input of one run of the compiler.
type Package struct {
	Path  string // import path as in symbol names; "main" for main packages
	Files []File
}

// Rewrite hooks the functions of a package. It returns an error if a file does not parse. The error
// is not for users: the compiler's own, for the original file, tells them more.
func Rewrite(p Package, opt Options) (*Result, error) {
	var trees []*ast.File
	w := &writer{opt: opt, path: p.Path, fset: token.NewFileSet(), wrappers: map[string]bool{}, common: map[string]int{}, sources: map[string]string{}, exact: map[string]int{}}
	for _, f := range p.Files {
		tree, err := parser.ParseFile(w.fset, f.Name, f.Src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(f.Src, []byte(hook.Prefix)) && usesPrefix(tree) {
			return nil, fmt.Errorf("%s: identifiers that begin with %s are ftgo's own", f.Name, hook.Prefix)
		}
		fl := &file{File: f, noPositions: opt.NoPositions, tree: tree, tok: w.fset.File(tree.FileStart)}
		if fl.lines, err = lineDirectives(fl, opt.JoinLines); err != nil {
			return nil, err
		}
		w.files = append(w.files, fl)
		trees = append(trees, tree)
	}
	if w.opt.Hide != "" && (w.path == "main" || w.redeclared()) {
		w.opt.Hide = "" // of a main package the compiler wants what cmd/cover adds to it
	}
	w.aliases = aliases(trees)
	w.linknames = linknames(trees)
	w.describe()
	w.costs = newCosts(w.files, opt.Facts)
	w.costs.built = w.built
	w.share = w.shares()
	w.numberInitializers(trees)
	res := &Result{aliases: w.aliases, sources: w.sources}
	for _, f := range w.files {
		w.file(f)
		if f.hooked {
			res.Files = append(res.Files, File{f.Name, f.finish()})
		}
	}
	res.Funcs = w.funcs
	res.Hidden = slices.ContainsFunc(w.funcs, func(f Func) bool { return f.Form == Hidden })
	res.Facts = w.costs.own()
	res.Wrappers = w.common
	if len(w.names) > 0 {
		res.Table = w.table()
	}
	return res, nil
}

// usesPrefix reports whether a file holds an identifier that begins with hook.Prefix.
func usesPrefix(f *ast.File) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && strings.HasPrefix(id.Name, hook.Prefix)
		return !found
	})
	return found
}

// A writer rewrites one package.
type writer struct {
	opt      Options
	path     string
	fset     *token.FileSet
	files    []*file
	costs    *costs
	aliases  map[string]ast.Expr
	initLits map[*ast.FuncLit]int // numbers of the literals in initializers of variables
	funcs    []Func
	names    []Func          // the hooked functions, by number
	wrappers map[string]bool // names of wrappers that are taken
	decls    map[*ast.FuncDecl]declInfo

	linknames map[string]string // symbols that //go:linkname gives to functions

	share    bool           // functions may share wrappers
	declared int            // functions declared so far by declare
	exact    map[string]int // numbers of signatures that only this package can have
	tail     bytes.Buffer   // shared wrappers, which go into the table's file

	common  map[string]int    // becomes Result.Wrappers
	sources map[string]string // becomes Result.sources
}

// A file is a source file that is being rewritten.
type file struct {
	File
	tree  *ast.File
	tok   *token.File
	edits edits
	tail  bytes.Buffer // wrappers and declarations, which go to the end of the file
	lines []lineDirective

	imports  map[string]string // paths of imports, by their names in the file
	hooked   bool
	unsafe   bool              // an import of package unsafe has been written
	declared map[string]string // names that declare has given, by symbol and type

	noPositions bool
}

func (f *file) text(n ast.Node) string { return string(f.Src[f.off(n.Pos()):f.off(n.End())]) }

func (f *file) off(p token.Pos) int { return f.tok.Offset(p) }

// declared returns the names that a declaration declares in the package block.
func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}

// generated reports whether cgo, go test or ftgo has generated the file.
func (f *file) generated() bool {
	return strings.Contains(f.Name, "_cgo_gotypes.go") || strings.HasSuffix(f.Name, "_testmain.go") || strings.Contains(f.Name, "zz_ftgo_auto.")
}

// file decides on every function of a file, and edits the hooked ones.
func (w *writer) file(f *file) {
	if f.generated() {
		return
	}
	for _, d := range f.tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			w.funcDecl(f, d)
		case *ast.GenDecl:
			w.literals(f, d, litScope{name: "init.func", initial: true})
		}
	}
}

// number gives a hooked function its number in the package.
func (w *writer) number(f *file, fn Func) site {
	f.hooked = true
	w.names = append(w.names, fn)
	return site{fn, len(w.names) - 1}
}

// add adds a function to the result.
func (w *writer) add(f *file, pos token.Pos, name string, form Form, reason string, cost int) Func {
	p := w.fset.Position(pos)
	fn := Func{Name: name, File: p.Filename, Line: p.Line, Form: form, Reason: reason, Cost: cost}
	w.funcs = append(w.funcs, fn)
	return fn
}
