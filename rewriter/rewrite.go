// Package rewriter puts the hooks into programs while they are built: which functions, in which form, the edits of their source,
// the table of each package, and the patches to package runtime of the standard library. Bytes go in and bytes come out; the
// conversation with the go command is internal/toolexec's. Of the runtime library it knows the shape of the hook alone
// (internal/hook).
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

// A File is a source file. Name is what the compiler is told, and what positions say.
type File struct {
	Name string
	Src  []byte
}

// Options say what to hook.
type Options struct {
	// Inline is the cost up to which the compiler inlines a function and ftgo leaves it so: 80, the compiler's own limit, keeps
	// everything inlined that is; -1 hooks every function.
	Inline int
	// Hot are the functions that a profile of the program calls hot, by symbol name: the others are hooked whatever Inline says, and these may
	// be inlined with their hooks. nil without a profile.
	Hot map[string]bool
	// Inlines says that the compiler inlines beyond its usual budget (-l=4), functions with hooks too.
	Inlines bool
	// Hide names an array of no size to which assignments cost the inliner nothing, so that small functions can be hooked and
	// inlined all the same; see hidden.go. Without a name they lose one or the other.
	Hide string
	// Notrace reports whether a function, by its full name, is to be left alone. It may be nil.
	Notrace func(name string) bool
	// Assembly holds the symbols that assembly of the package defines or refers to: the compiler knows of two calling conventions for
	// them, and does not bear a second declaration.
	Assembly map[string]bool
	// Arch is the processor, as GOARCH has it.
	Arch string
	// Facts returns what Result.Facts was for an imported package that is not of the standard library, "" if that is not known. It
	// may be nil.
	Facts func(path string) string
	// JoinLines makes the names in line directives absolute. To the compilers of Go 1.27 on they are relative to the file's directory, which
	// is another one after rewriting.
	JoinLines bool
	// NoPositions leaves out the comments that keep positions: for people to read.
	NoPositions bool
}

// hooksSmall reports whether functions that the compiler inlines may be hooked.
func (o *Options) hooksSmall() bool { return o.Inline < InlineKeep || o.Hot != nil }

// InlineKeep is the compiler's own limit (inlineMaxBudget in cmd/compile/internal/inline).
const InlineKeep = 80

// Form is how a function is hooked, or that it is not.
type Form uint8

// The forms, see docs/design.md.
const (
	ReEntry   Form = iota // a check in front of the body; while on, the function is entered a second time by way of a wrapper
	InPlace               // a conditional deferred exit in front of the body
	AtReturns             // an entry in front of the body and an exit at each return, for function literals
	Hidden                // as ReEntry, and the check is hidden from the inliner's accounts, so that the function is still inlined
	Inlined               // not hooked: the compiler dissolves the function into its callers
	Alone                 // not hooked, for the reason given
)

func (f Form) String() string {
	return [...]string{"re-entry", "in place", "at returns", "re-entry and inlined", "inlined", "alone"}[f]
}

// Hooked reports whether the form has a hook.
func (f Form) Hooked() bool { return f == ReEntry || f == InPlace || f == AtReturns || f == Hidden }

// A Func says what became of a function.
type Func struct {
	Name   string // within the package, as it stands in stack traces: F, T.M, (*T).M, (*T[...]).M, F.func1
	File   string
	Line   int
	Form   Form
	Reason string // for Inlined and Alone
	Cost   int    // estimate of what the compiler would charge for inlining it; negative: it cannot
}

// A Result is a rewritten package.
type Result struct {
	Files  []File // the files that changed, under their names
	Table  []byte // a file that must come before all others, nil if nothing is hooked
	Funcs  []Func
	Hidden bool   // a function is hooked in that form, so the compiler is to be told of the array
	Facts  string // what the estimate of inlining wants to know where this package is imported

	Wrappers map[string]int // how many functions share which wrapper; without those that only this package could have

	aliases map[string]ast.Expr // the package's
	sources map[string]string   // of shared wrappers, by name
}

// A Package is what one run of the compiler is given.
type Package struct {
	Path  string // as in symbol names: the import path, "main" for main packages
	Files []File
}

// Rewrite hooks the functions of a package. It returns an error if a file does not parse; what the error says is not for users,
// who should be shown the compiler's own.
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
		w.opt.Hide = "" // the main package would need what cmd/cover adds to it
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

// usesPrefix reports whether a file holds an identifier that could be one of ours.
func usesPrefix(f *ast.File) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && strings.HasPrefix(id.Name, hook.Prefix)
		return !found
	})
	return found
}

// writer rewrites one package.
type writer struct {
	opt      Options
	path     string
	fset     *token.FileSet
	files    []*file
	costs    *costs
	aliases  map[string]ast.Expr
	initLits map[*ast.FuncLit]int // numbers of the function literals outside of functions
	funcs    []Func
	names    []Func          // of the hooked functions, by number
	wrappers map[string]bool // names taken by wrappers
	decls    map[*ast.FuncDecl]declInfo

	linknames map[string]string // of functions, by the name in the package

	share    bool           // wrappers are shared
	declared int            // see declare
	exact    map[string]int // numbers of signatures with types of no class
	tail     bytes.Buffer   // shared wrappers, to be appended to the table

	common  map[string]int    // see Result.Wrappers
	sources map[string]string // see Result
}

// file is a file that is being rewritten.
type file struct {
	File
	tree  *ast.File
	tok   *token.File
	edits edits
	tail  bytes.Buffer // wrappers, to be appended
	lines []lineDirective

	imports  map[string]string // paths of the imports, by their names in the file
	hooked   bool
	unsafe   bool              // the import of that package is written
	declared map[string]string // names of declarations, by what they declare; see declare

	noPositions bool
}

func (f *file) text(n ast.Node) string { return string(f.Src[f.off(n.Pos()):f.off(n.End())]) }

func (f *file) off(p token.Pos) int { return f.tok.Offset(p) }

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

// generated reports whether a file is cgo's, go test's or ftgo's own.
func (f *file) generated() bool {
	return strings.Contains(f.Name, "_cgo_gotypes.go") || strings.HasSuffix(f.Name, "_testmain.go") || strings.Contains(f.Name, "zz_ftgo_auto.")
}

// file decides on every function of a file and makes its edits.
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

func (w *writer) add(f *file, pos token.Pos, name string, form Form, reason string, cost int) Func {
	p := w.fset.Position(pos)
	fn := Func{Name: name, File: p.Filename, Line: p.Line, Form: form, Reason: reason, Cost: cost}
	w.funcs = append(w.funcs, fn)
	return fn
}
