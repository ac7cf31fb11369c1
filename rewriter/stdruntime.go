package rewriter

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/parser"
	"go/token"
	"regexp"
	"strings"

	"github.com/dave/dst"
	"github.com/dave/dst/decorator"
	"github.com/dave/dst/dstutil"
)

// SupportedReleases names the Go releases with a package runtime that PatchRuntime knows.
const SupportedReleases = "go1.26 and go1.27"

// The files that are added to package runtime: the hooks, what hides their frames, what goroutines
// are named after, and what programs do that die.
//
//go:embed _runtime.go
var runtimeHooks string

//go:embed _frames.go
var runtimeFrames string

//go:embed _started.go
var runtimeStarted string

//go:embed _dying.go
var runtimeDying string

//go:embed _dying_unix.go
var runtimeDyingUnix string

// hooksFile is the name of the file that _runtime.go becomes.
const hooksFile = "ftgo_hooks.go"

// dyingElsewhere takes the place of _dying_unix.go on systems without signals.
const dyingElsewhere = "package runtime\n\nfunc ftgo_die(uint32) {}\n"

// An anchor is a place in package runtime that a patch needs. It is found by the shape of the code
// around it, never by file name or line: so minor releases and the files that cmd/cover renames do
// not matter.
type anchor struct {
	name string // what an error about its absence calls it
	hint string // only files that contain this text are restructured
	// apply patches the file, and returns how many places it patched. restoreLines makes good for
	// places that a patch adds lines to; most patches replace an expression or a name.
	apply func(f *dst.File) int
	want  int  // in how many places the package must have it
	unix  bool // it is there on systems with signals alone
}

var anchors = []anchor{
	{"the fields of type g", "type g struct", addFields("g", "ftgo unsafe.Pointer", "ftgoSet uint64", "ftgoNote uintptr", "ftgoBusy uint32"), 1, false},
	{"the fields of type p", "type p struct", addFields("p", "ftgo unsafe.Pointer"), 1, false},
	{"func gdestroy, where goroutines end", "func gdestroy(", rename("gdestroy"), 1, false},
	{"func runExitHooks, where programs end", "func runExitHooks(", rename("runExitHooks"), 1, false},
	{"the call of func recovery in func nextDefer", "mcall(recovery)", callInstead("nextDefer", "mcall", "recovery", "ftgo_recovery"), 1, false},
	{"the call of func goexit1 in func Goexit", "func Goexit(", callInstead("Goexit", "goexit1", "", "ftgo_goexit1"), 1, false},
	{"the assignment of newg.parentGoid in func newproc1", "func newproc1(", born, 1, false},
	{"func dropg, where goroutines leave their P", "func dropg(", rename("dropg"), 1, false},
	{"func execute, where goroutines come to one", "func execute(", rename("execute"), 1, false},
	{"func coroexit, where coroutines end", "func coroexit(", rename("coroexit"), 1, false},
	{"func preprintpanics, which a fatal panic passes", "func preprintpanics(", rename("preprintpanics"), 1, false},
	{"func (funcInfo) srcFunc, which gives frames their FuncID", ") srcFunc() srcFunc", srcFuncID, 1, false},
	{"the unwinder's assignment to calleeFuncID", "calleeFuncID = f.funcID", calleeFuncID, 1, false},
	{"the note of the last frame in func tracebackPCs", "calleeFuncID = sf.funcID", lastFuncID("tracebackPCs"), 1, false},
	{"the note of the last frame in func traceback2", "calleeFuncID = sf.funcID", lastFuncID("traceback2"), 1, false},
	{"the note of the last frame in func runtime_expandFinalInlineFrame", "calleeID = funcID", lastFuncID("runtime_expandFinalInlineFrame"), 1, false},
	{"the note of the last frame in func fpunwindExpand", "lastFuncID = sf.funcID", lastFuncID("fpunwindExpand"), 1, false},
	{"the note of the last frame in func fpTracebackPartialExpand", "lastFuncID = sf.funcID", lastFuncID("fpTracebackPartialExpand"), 1, false},
	{"the frame count of gorecover", "func gorecover(", recoverCount, 2, false},
	{"the test for wrappers in func tracebackPCs", "elideWrapperCalling(", elide("tracebackPCs"), 1, false},
	{"the test for wrappers in func showfuncinfo", "elideWrapperCalling(", elide("showfuncinfo"), 1, false},
	{"the test for wrappers in (*Frames).Next", "elideWrapperCalling(", elide("Next"), 1, false},
	{"the test for wrappers in func runtime_expandFinalInlineFrame", "elideWrapperCalling(", elide("runtime_expandFinalInlineFrame"), 1, false},
	{"the test for wrappers in func fpunwindExpand", "elideWrapperCalling(", elide("fpunwindExpand"), 1, false},
	{"the test for wrappers in func fpTracebackPartialExpand", "elideWrapperCalling(", elide("fpTracebackPartialExpand"), 1, false},
	{"func fpTracebackPartialExpand, which takes the stacks of block and mutex profiles", "func fpTracebackPartialExpand(", rename("fpTracebackPartialExpand"), 1, false},
	{"the assignment of inittrace.active in func main", "func main() {", initialized, 1, false},
	{"func checkdead, which finds deadlocks", "func checkdead(", rename("checkdead"), 1, false},
	{"the call of func fatal in func sync_fatal", "func sync_fatal(", callInstead("sync_fatal", "fatal", "s", "ftgo_fatal", "s"), 1, false},
	{"the call of func fatal in func internal_sync_fatal", "func internal_sync_fatal(", callInstead("internal_sync_fatal", "fatal", "s", "ftgo_fatal", "s"), 1, false},
	{"the call of func fatal in func maps_fatal", "func maps_fatal(", callInstead("maps_fatal", "fatal", "s", "ftgo_fatal", "s"), 1, false},
	{"the largest stack in func newstack", "func newstack() {", overflow, 1, false},
	{"the call of func dieFromSignal in func sighandler", "func dieFromSignal(", callInstead("sighandler", "dieFromSignal", "sig", "ftgo_dieFromSignal", "sig"), 1, true},
	{"the condition in func sighandler under which the program goes on", "func dieFromSignal(", goesOn, 1, true},
	{"the call of func sigpipe in func os_sigpipe", "func dieFromSignal(", callInstead("os_sigpipe", "systemstack", "sigpipe", "ftgo_sigpipe"), 1, true},
}

// PatchRuntime patches the files of the standard library's package runtime. It returns the files
// that changed, and the files that are new, which have no directory. An error names the anchor that
// was not found.
func PatchRuntime(files []File, release, goarch string) (changed, added []File, err error) {
	found := make([]int, len(anchors))
	unix := false
	for _, f := range files {
		unix = unix || bytes.Contains(f.Src, []byte("func dieFromSignal("))
		if src := tellRace(f.Src); src != nil {
			changed = append(changed, File{f.Name, src})
			continue
		}
		var hits []int
		for i, a := range anchors {
			if bytes.Contains(f.Src, []byte(a.hint)) {
				hits = append(hits, i)
			}
		}
		if len(hits) == 0 {
			continue
		}
		file, err := decorator.NewDecorator(token.NewFileSet()).ParseFile(f.Name, f.Src, parser.ParseComments)
		if err != nil {
			return nil, nil, err
		}
		n := 0
		for _, i := range hits {
			patched := anchors[i].apply(file)
			found[i] += patched
			n += patched
		}
		if n == 0 {
			continue
		}
		var buf bytes.Buffer
		if err := decorator.Fprint(&buf, file); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		src, err := restoreLines(f.Name, f.Src, buf.Bytes())
		if err != nil {
			return nil, nil, err
		}
		changed = append(changed, File{f.Name, src})
	}
	for i, a := range anchors {
		if found[i] != a.want && (unix || !a.unix) {
			return nil, nil, fmt.Errorf("package runtime of %s is not one that this ftgo knows how to hook: %s: found %d times, want %d (supported releases: %s)",
				release, a.name, found[i], a.want, SupportedReleases)
		}
	}
	hooks, decls := runtimeHooks, asmDecls
	switch asm[goarch] {
	case "":
		decls = hooksInGo + clockInGo
	case clockArm64:
		decls = hooksInGo + clockDecls
	}
	if decls != asmDecls { // the slow paths are the only ones
		for _, name := range []string{"ftgo_enter", "ftgo_exit"} {
			if hooks, err = substitute(hooks, name+"Slow", name); err != nil {
				return nil, nil, err
			}
		}
	}
	dying := dyingElsewhere
	if unix {
		dying = runtimeDyingUnix
	}
	return changed, []File{{"ftgo_started.go", []byte(runtimeStarted)}, {"ftgo_dying.go", []byte(runtimeDying)}, {"ftgo_dying_unix.go", []byte(dying)}, {hooksFile, []byte(hooks + decls + "\n" + shape() + string(hostedWrappers()))}, {"ftgo_frames.go", []byte(runtimeFrames)}}, nil
}

var allocator = regexp.MustCompile(`(?m)^func mallocgc(Small|Tiny)\w+\(size uintptr, typ \*_type, needzero bool\) unsafe\.Pointer \{`)

// tellRace patches the allocators that the compiler of Go 1.27 calls by itself for small objects,
// except in packages with the race detector's instrumentation. They do not tell the race detector
// what they allocate. The library has no instrumentation, and others see what it allocates: to
// them, memory that is used again would be a race. tellRace returns nil for files without such an
// allocator.
func tellRace(src []byte) []byte {
	if !allocator.Match(src) {
		return nil
	}
	return allocator.ReplaceAll(src, []byte("$0 if raceenabled && ftgo_mallocgc != nil { return ftgo_mallocgc(size, typ, needzero) };"))
}

// PatchRuntimeAsm adds the part of the hooks that is in assembly language to one of package
// runtime's files. It returns nil if the file is not the one, or if the architecture has no such
// part.
func PatchRuntimeAsm(f File, goarch string) []byte {
	text := asm[goarch]
	if text == "" || !bytes.Contains(f.Src, []byte("·getfp<ABIInternal>")) {
		return nil
	}
	return fmt.Appendf(nil, "#line 2 %q\n%s\n%s", f.Name, f.Src, text)
}

//go:embed _hooks_amd64.s
var hooksAmd64 string

// clockArm64 reads the counter, which on arm64 runs at one rate (Arm ARM, D12.1).
const clockArm64 = `
// func ftgo_ticks() uint64
TEXT runtime·ftgo_ticks<ABIInternal>(SB),NOSPLIT,$0-0
	MRS	CNTVCT_EL0, R0
	RET

// func ftgo_invariant() bool
TEXT runtime·ftgo_invariant<ABIInternal>(SB),NOSPLIT,$0-0
	MOVD	$1, R0
	RET
`

// asm is what is added in assembly language, by architecture: the reading of the counter, and the
// hooks.
var asm = map[string]string{"amd64": hooksAmd64, "arm64": clockArm64}

const (
	clockDecls = `
func ftgo_ticks() uint64
func ftgo_invariant() bool
`
	clockInGo = `
func ftgo_ticks() uint64 { return uint64(nanotime()) }
func ftgo_invariant() bool { return false }
`
	asmDecls = clockDecls + `
//go:linkname ftgo_take
//go:noescape
func ftgo_take(site *ftgo_Site) bool

//go:linkname ftgo_enter
//go:noescape
func ftgo_enter(site *ftgo_Site) uintptr

//go:linkname ftgo_exit
func ftgo_exit(tok uintptr)

// ftgo_direct says that hooks record by themselves.
const ftgo_direct = true
`
	hooksInGo = `
//go:linkname ftgo_take
func ftgo_take(site *ftgo_Site) bool { return ftgo_takeInlined(site) }

const ftgo_direct = false
`
)

// substitute replaces a text wherever our own source holds it. It is an error if the source does
// not hold the text: the source has changed without its patch.
func substitute(src, text, with string) (string, error) {
	if !strings.Contains(src, text) {
		return "", fmt.Errorf("ftgo's own source does not hold %q, which %q is to replace: this is a fault of ftgo's", text, with)
	}
	return strings.ReplaceAll(src, text, with), nil
}

// restoreLines gives the declarations of a restructured file the lines that they had.
func restoreLines(name string, old, new []byte) ([]byte, error) {
	starts := func(src []byte) (lines, offsets []int, err error) {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range f.Decls {
			// The position is that of the token itself, not of the comment above: a directive
			// between the two would detach the comment's directives.
			p := fset.PositionFor(declStart(d), false)
			lines, offsets = append(lines, p.Line), append(offsets, p.Offset)
		}
		return lines, offsets, nil
	}
	oldLines, _, err := starts(old)
	if err != nil {
		return nil, err
	}
	newLines, offsets, err := starts(new)
	if err != nil {
		return nil, err
	}
	if len(oldLines) != len(newLines) {
		return nil, fmt.Errorf("%s: restructuring changed the number of declarations", name)
	}
	var e edits
	shift := 0
	for i := range newLines {
		if d := newLines[i] - oldLines[i]; d != shift {
			e.insert(offsets[i], fmt.Sprintf("//line %s:%d\n", name, oldLines[i]))
			shift = d
		}
	}
	return e.apply(new), nil
}

// addFields returns a patch that adds fields at the end of a struct type.
func addFields(typ string, fields ...string) func(*dst.File) int {
	return func(f *dst.File) int {
		n := 0
		dst.Inspect(f, func(node dst.Node) bool {
			spec, ok := node.(*dst.TypeSpec)
			if !ok || spec.Name.Name != typ {
				return true
			}
			st, ok := spec.Type.(*dst.StructType)
			if !ok {
				return true
			}
			for _, field := range fields {
				name, typ, _ := strings.Cut(field, " ")
				st.Fields.List = append(st.Fields.List, &dst.Field{Names: []*dst.Ident{dst.NewIdent(name)}, Type: dst.NewIdent(typ)})
			}
			n++
			return false
		})
		return n
	}
}

// rename returns a patch that gives a function the name std_ and its own.
func rename(name string) func(*dst.File) int {
	return func(f *dst.File) int {
		n := 0
		for _, d := range f.Decls {
			if fn, ok := d.(*dst.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == name {
				fn.Name.Name = "std_" + name
				n++
			}
		}
		return n
	}
}

// callInstead returns a patch that replaces callee() or callee(arg) by with(args) in a function.
func callInstead(name, callee, arg, with string, args ...string) func(*dst.File) int {
	return func(f *dst.File) int {
		n := 0
		eachFunc(f, name, func(fn *dst.FuncDecl) {
			n += replace(fn, func(e dst.Node) dst.Expr {
				c, ok := e.(*dst.CallExpr)
				if !ok || !isIdent(c.Fun, callee) || len(c.Args) > 1 || (len(c.Args) == 1) != (arg != "") || arg != "" && !isIdent(c.Args[0], arg) {
					return nil
				}
				var idents []dst.Expr
				for _, a := range args {
					idents = append(idents, dst.NewIdent(a))
				}
				return call(with, idents...)
			})
		})
		return n
	}
}

// born replaces newg.parentGoid = callergp.goid by newg.parentGoid = ftgo_born(newg, callergp).
func born(f *dst.File) int {
	n := 0
	eachFunc(f, "newproc1", func(fn *dst.FuncDecl) {
		dst.Inspect(fn, func(node dst.Node) bool {
			as, ok := node.(*dst.AssignStmt)
			if ok && len(as.Lhs) == 1 && len(as.Rhs) == 1 && isField(as.Lhs[0], "newg", "parentGoid") && isField(as.Rhs[0], "callergp", "goid") {
				as.Rhs[0] = call("ftgo_born", dst.NewIdent("newg"), dst.NewIdent("callergp"))
				n++
			}
			return true
		})
	})
	return n
}

// initialized replaces inittrace.active = false by inittrace.active = ftgo_initialized() in func
// main.
func initialized(f *dst.File) int {
	n := 0
	eachFunc(f, "main", func(fn *dst.FuncDecl) {
		dst.Inspect(fn, func(node dst.Node) bool {
			as, ok := node.(*dst.AssignStmt)
			if ok && len(as.Lhs) == 1 && len(as.Rhs) == 1 && isField(as.Lhs[0], "inittrace", "active") && isIdent(as.Rhs[0], "false") {
				as.Rhs[0] = call("ftgo_initialized")
				n++
			}
			return true
		})
	})
	return n
}

// overflow replaces newsize > maxstacksize || X by (newsize > maxstacksize || X) &&
// ftgo_overflows(gp) in func newstack.
func overflow(f *dst.File) int {
	n := 0
	eachFunc(f, "newstack", func(fn *dst.FuncDecl) {
		dst.Inspect(fn, func(node dst.Node) bool {
			st, ok := node.(*dst.IfStmt)
			if !ok {
				return true
			}
			or, ok := st.Cond.(*dst.BinaryExpr)
			if !ok || or.Op != token.LOR {
				return true
			}
			if gt, ok := or.X.(*dst.BinaryExpr); ok && gt.Op == token.GTR && isIdent(gt.X, "newsize") && isIdent(gt.Y, "maxstacksize") {
				st.Cond = &dst.BinaryExpr{X: &dst.ParenExpr{X: or}, Op: token.LAND, Y: call("ftgo_overflows", dst.NewIdent("gp"))}
				n++
			}
			return true
		})
	})
	return n
}

// goesOn replaces flags&X == 0 by flags&X == 0 || ftgo_throws(sig, c.sigFromUser()) in func
// sighandler, where X is (_SigThrow|_SigPanic).
func goesOn(f *dst.File) int {
	n := 0
	eachFunc(f, "sighandler", func(fn *dst.FuncDecl) {
		dst.Inspect(fn, func(node dst.Node) bool {
			st, ok := node.(*dst.IfStmt)
			if !ok {
				return true
			}
			eq, ok := st.Cond.(*dst.BinaryExpr)
			if !ok || eq.Op != token.EQL {
				return true
			}
			and, ok := eq.X.(*dst.BinaryExpr)
			if !ok || and.Op != token.AND || !isIdent(and.X, "flags") {
				return true
			}
			if _, ok := and.Y.(*dst.ParenExpr); ok {
				asked := &dst.CallExpr{Fun: &dst.SelectorExpr{X: dst.NewIdent("c"), Sel: dst.NewIdent("sigFromUser")}}
				st.Cond = &dst.BinaryExpr{X: eq, Op: token.LOR, Y: call("ftgo_throws", dst.NewIdent("sig"), asked)}
				n++
			}
			return true
		})
	})
	return n
}

// srcFuncID replaces f.funcID by ftgo_funcID(f) in func (f funcInfo) srcFunc.
func srcFuncID(f *dst.File) int {
	n := 0
	eachFunc(f, "srcFunc", func(fn *dst.FuncDecl) {
		if fn.Recv == nil || len(fn.Recv.List) != 1 || len(fn.Recv.List[0].Names) != 1 {
			return
		}
		if t, ok := fn.Recv.List[0].Type.(*dst.Ident); !ok || t.Name != "funcInfo" {
			return
		}
		recv := fn.Recv.List[0].Names[0].Name
		n += replace(fn, func(e dst.Node) dst.Expr {
			if isField(e, recv, "funcID") {
				return call("ftgo_funcID", dst.NewIdent(recv))
			}
			return nil
		})
	})
	return n
}

// calleeFuncID replaces u.calleeFuncID = f.funcID by u.calleeFuncID = ftgo_calleeOf(f,
// u.calleeFuncID).
func calleeFuncID(f *dst.File) int {
	n := 0
	dst.Inspect(f, func(node dst.Node) bool {
		as, ok := node.(*dst.AssignStmt)
		if !ok || len(as.Lhs) != 1 || len(as.Rhs) != 1 || !isField(as.Lhs[0], "u", "calleeFuncID") || !isField(as.Rhs[0], "f", "funcID") {
			return true
		}
		as.Rhs[0] = call("ftgo_calleeOf", dst.NewIdent("f"), dst.Clone(as.Lhs[0]).(dst.Expr))
		n++
		return true
	})
	return n
}

// lastFuncID returns a patch that replaces last = X by last = ftgo_callee(X, last) in a function,
// where X is a frame's FuncID.
func lastFuncID(name string) func(*dst.File) int {
	return func(f *dst.File) int {
		n := 0
		eachFunc(f, name, func(fn *dst.FuncDecl) {
			dst.Inspect(fn, func(node dst.Node) bool {
				as, ok := node.(*dst.AssignStmt)
				if !ok || as.Tok != token.ASSIGN || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
					return true
				}
				id, _ := as.Rhs[0].(*dst.Ident)
				if !isField(as.Rhs[0], "sf", "funcID") && (id == nil || id.Name != "funcID") {
					return true
				}
				as.Rhs[0] = call("ftgo_callee", as.Rhs[0], dst.Clone(as.Lhs[0]).(dst.Expr))
				n++
				return true
			})
		})
		return n
	}
}

// recoverCount has gorecover count frames by ftgo_recoverID, which keeps its own note of the last
// frame.
func recoverCount(f *dst.File) int {
	n := 0
	eachFunc(f, "gorecover", func(fn *dst.FuncDecl) {
		dst.Inspect(fn, func(node dst.Node) bool {
			switch node := node.(type) {
			case *dst.AssignStmt:
				if id, ok := node.Lhs[0].(*dst.Ident); ok && id.Name == "nonWrapperFrames" && node.Tok == token.DEFINE {
					node.Lhs = append(node.Lhs, dst.NewIdent("ftgo_callee"))
					node.Rhs = append(node.Rhs, &dst.SelectorExpr{X: dst.NewIdent("abi"), Sel: dst.NewIdent("FuncIDNormal")})
					n++
				}
			case *dst.SwitchStmt:
				if isField(node.Tag, "sf", "funcID") {
					node.Tag = call("ftgo_recoverID", node.Tag, &dst.UnaryExpr{Op: token.AND, X: dst.NewIdent("ftgo_callee")})
					n++
				}
			}
			return true
		})
	})
	return n
}

// elide returns a patch that replaces X == abi.FuncIDWrapper && elideWrapperCalling(Y) by
// ftgo_elide(X, Y) in a function.
func elide(name string) func(*dst.File) int {
	return func(f *dst.File) int {
		n := 0
		eachFunc(f, name, func(fn *dst.FuncDecl) {
			n += replace(fn, func(e dst.Node) dst.Expr {
				and, ok := e.(*dst.BinaryExpr)
				if !ok || and.Op != token.LAND {
					return nil
				}
				eq, ok := and.X.(*dst.BinaryExpr)
				if !ok || eq.Op != token.EQL || !isField(eq.Y, "abi", "FuncIDWrapper") {
					return nil
				}
				c, ok := and.Y.(*dst.CallExpr)
				if !ok || len(c.Args) != 1 {
					return nil
				}
				if id, ok := c.Fun.(*dst.Ident); !ok || id.Name != "elideWrapperCalling" {
					return nil
				}
				return call("ftgo_elide", eq.X, c.Args[0])
			})
		})
		return n
	}
}

// eachFunc calls do with every function of a name that has a body.
func eachFunc(f *dst.File, name string, do func(*dst.FuncDecl)) {
	for _, d := range f.Decls {
		if fn, ok := d.(*dst.FuncDecl); ok && fn.Name.Name == name && fn.Body != nil {
			do(fn)
		}
	}
}

// replace replaces every expression that with returns another one for, and returns their number.
func replace(fn *dst.FuncDecl, with func(dst.Node) dst.Expr) int {
	n := 0
	dstutil.Apply(fn, func(c *dstutil.Cursor) bool {
		if e := with(c.Node()); e != nil {
			c.Replace(e)
			n++
			return false
		}
		return true
	}, nil)
	return n
}

// call returns the expression name(args).
func call(name string, args ...dst.Expr) dst.Expr {
	return &dst.CallExpr{Fun: dst.NewIdent(name), Args: args}
}

// isIdent reports whether an expression is the identifier name.
func isIdent(e dst.Node, name string) bool {
	id, ok := e.(*dst.Ident)
	return ok && id.Name == name
}

// isField reports whether an expression is x.sel.
func isField(e dst.Node, x, sel string) bool {
	s, ok := e.(*dst.SelectorExpr)
	if !ok || s.Sel.Name != sel {
		return false
	}
	id, ok := s.X.(*dst.Ident)
	return ok && id.Name == x
}
