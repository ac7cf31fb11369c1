package rewriter

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"

	"github.com/ftgo/ftgo/internal/hook"
)

// If every function had its own wrapper, the wrappers would be half of the compiler's work on
// hooks, and half of the hooks' code: each has a deferred call, which makes a second function. But
// to the calling convention a value is a few words in registers, and the garbage collector needs to
// know of each word whether it is a pointer. So functions of one shape share a wrapper. It gets the
// site and the function as arguments, and each function declares it under a name of its own, with
// its own types:
//
//	func ftgo_wPPW_WP(p0, p1 *ftgo_Site, p2 uintptr, s *ftgo_Site,
//		f func(*ftgo_Site, *ftgo_Site, uintptr) (uintptr, *ftgo_Site)) (uintptr, *ftgo_Site) { … }
//
// is the wrapper of func (*T, string) error. This works while either everything or nothing is
// passed in registers (src/cmd/compile/abi-internal.md). The letters are:
//
//	P        a word that is a pointer to the garbage collector
//	W        a word that is not
//	B H I J  integers of 1, 2, 4 and 8 bytes, where they are not words
//	F D C Z  float32, float64, complex64, complex128
//	S E L    strings, interfaces and slices, where registers may not suffice
const (
	ifaceWords  = "WP" // the first word points to static data
	sliceWords  = "PWW"
	stringWords = "PW"

	// maxWords and maxFloats are the fewest registers that a processor passes values in, if it uses
	// registers at all (internal/abi); s390x is left out. Floats and complex numbers count as two
	// each.
	maxWords  = 9
	maxFloats = 8
)

// letterTypes maps letters to the types that wrappers use for them.
var letterTypes = map[byte]string{
	'P': "*ftgo_Site", 'W': "uintptr", 'B': "uint8", 'H': "uint16", 'I': "uint32", 'J': "uint64", 'F': "float32", 'D': "float64",
	'C': "complex64", 'Z': "complex128", 'S': "string", 'E': "interface{}", 'L': "[]uint8",
}

// BasicLetters maps predeclared types to letters. Signedness does not count: registers and frames
// do not know it, and leave the bits that a value does not use undefined.
var BasicLetters = map[string]string{
	"bool": "B", "int8": "B", "uint8": "B", "byte": "B", "int16": "H", "uint16": "H", "int32": "I", "uint32": "I", "rune": "I",
	"int64": "J", "uint64": "J", "int": "W", "uint": "W", "uintptr": "W", "float32": "F", "float64": "D", "complex64": "C", "complex128": "Z",
	"string": "S", "error": "E", "any": "E",
}

// shares reports whether functions of the package can share wrappers. A package that redeclares
// predeclared types cannot.
func (w *writer) shares() bool {
	for name := range BasicLetters {
		if w.costs.types[name] != nil {
			return false
		}
	}
	return !w.redeclared()
}

// letters returns the letters of a type, or "" if a wrapper must name the type itself.
func (c *costs) letters(t typ) string {
	generic := c.generic(t)
	t = c.under(t)
	switch t.expr.(type) {
	case *ast.StarExpr, *ast.StructType, *ast.Ident, *ast.SelectorExpr:
		if generic {
			return "" // a name in it may be that of a type parameter
		}
	}
	switch e := t.expr.(type) {
	case *ast.StarExpr:
		if !c.incomplete(typ{e.X, t.imports}) {
			return "P"
		}
	case *ast.MapType, *ast.ChanType, *ast.FuncType:
		return "P"
	case *ast.InterfaceType:
		return "E"
	case *ast.Ellipsis:
		return "L"
	case *ast.ArrayType:
		if e.Len == nil {
			return "L"
		}
	case *ast.StructType:
		return c.structLetters(t)
	case *ast.Ident:
		return BasicLetters[e.Name]
	case *ast.SelectorExpr:
		path, name := imported(t)
		if path == "unsafe" {
			return "P"
		}
		switch k := c.known(path, name); {
		case k.iface:
			return "E"
		case k.basic != "":
			return BasicLetters[k.basic]
		default:
			return k.letters
		}
	}
	return ""
}

// generic reports whether a type is an instance of a generic type of the package.
func (c *costs) generic(t typ) bool {
	for range 10 {
		d := c.named(t)
		if d == nil {
			return false
		}
		if d.spec.TypeParams != nil {
			return true
		}
		t = typ{d.spec.Type, d.imports}
	}
	return true
}

// structLetters returns the letters of a struct of words, or "".
func (c *costs) structLetters(t typ) string {
	all := ""
	for _, f := range t.expr.(*ast.StructType).Fields.List {
		s := ""
		blank := slices.ContainsFunc(f.Names, func(id *ast.Ident) bool { return id.Name == "_" })
		if c.depth < 5 && !blank {
			c.depth++
			s = c.letters(typ{f.Type, t.imports})
			c.depth--
		}
		if s == "" {
			return ""
		}
		all += strings.Repeat(s, max(1, len(f.Names)))
		if len(all) > maxWords {
			return ""
		}
	}
	return StructLetters(all)
}

// StructLetters combines the letters of a struct's fields, with the padding between them. An
// integer that is alone in a word counts as a word. The result is "" if the struct holds anything
// else than words.
func StructLetters(letters string) string {
	b := []byte(letters)
	words := false
	for i, l := range b {
		switch {
		case !small(l):
			words = words || l != 'F' && l != 'C'
			if l == 'F' || l == 'C' {
				return ""
			}
		case i > 0 && small(b[i-1]) || i+1 < len(b) && small(b[i+1]):
			return ""
		}
	}
	if !words {
		return "" // the size is not a multiple of a word
	}
	for i, l := range b {
		if small(l) {
			b[i] = 'W'
		}
	}
	return string(b)
}

// small reports whether a letter is that of an integer that may be smaller than a word.
func small(l byte) bool { return l == 'B' || l == 'H' || l == 'I' }

// inWords replaces the letters of parameters or results by letters of words, where words registers
// suffice for all. ok reports whether the registers suffice.
func (w *writer) inWords(list []string, words int) ([]string, bool) {
	var all []byte
	floats := 0
	for _, s := range list {
		if s[0] == '{' {
			return nil, false
		}
		for i := range len(s) {
			switch l := s[i]; l {
			case 'S':
				all = append(all, stringWords...)
			case 'E':
				all = append(all, ifaceWords...)
			case 'L':
				all = append(all, sliceWords...)
			case 'J':
				switch w.opt.Arch {
				case "386", "arm", "mips", "mipsle": // words have 4 bytes
					return nil, false
				}
				all = append(all, 'W')
			case 'F', 'D', 'C', 'Z':
				floats, words = floats+2, words+1
				all = append(all, l)
			default:
				all = append(all, l)
			}
		}
	}
	if len(all) > words || floats > maxFloats {
		return nil, false
	}
	alone := func(i int) bool { return i < 0 || i >= len(all) || !small(all[i]) && all[i] != 'F' && all[i] != 'C' }
	out := make([]string, len(all))
	for i, l := range all {
		if small(l) && alone(i-1) && alone(i+1) {
			l = 'W'
		}
		out[i] = string(l)
	}
	return out, true
}

// incomplete reports whether a type is, or holds, an incomplete type of C (runtime/cgo.Incomplete),
// as far as that is known. Pointers to such a type are not pointers to the garbage collector, since
// C libraries store anything in them. The compiler does not let a type parameter stand for one.
func (c *costs) incomplete(t typ) bool {
	if path, name := imported(t); path != "" {
		return path == "runtime/cgo" && name == "Incomplete" || !c.known(path, name).isType
	}
	if d := c.named(t); d != nil {
		if !d.seen {
			d.seen, d.incomplete = true, true // in case that it holds itself
			d.incomplete = c.incomplete(typ{d.spec.Type, d.imports})
		}
		return d.incomplete
	}
	switch e := unparen(t.expr).(type) {
	case *ast.Ident:
		return strings.HasPrefix(e.Name, "_C") || t.imports["."] != "" && BasicLetters[e.Name] == ""
	case *ast.ArrayType:
		return e.Len != nil && c.incomplete(typ{e.Elt, t.imports})
	case *ast.StructType:
		return slices.ContainsFunc(e.Fields.List, func(f *ast.Field) bool { return c.incomplete(typ{f.Type, t.imports}) })
	}
	return false
}

// typeKey returns a string that is the same for the same type, for a type without letters. ok is
// false if that takes more than the type's syntax.
func (w *writer) typeKey(t typ) (key string, ok bool) {
	switch e := unparen(t.expr).(type) {
	case *ast.Ident:
		return e.Name, w.costs.types[e.Name] != nil
	case *ast.SelectorExpr:
		path, name := imported(t)
		return path + "." + name, stdFacts(path) != "" || w.costs.packageName(path) != ""
	}
	return "", false
}

// A signature identifies a shared wrapper.
type signature struct {
	name            string // of the wrapper, without its prefix and kind
	params, results []string
	common          bool // all types have letters, so any file can hold the wrapper
}

// signature returns the signature of a function; the receiver is its first parameter.
func (w *writer) signature(f *file, d *ast.FuncDecl) signature {
	imports := w.costs.imports[d]
	exact := map[string]string{}
	itself := func(p *ast.Field) string {
		text := f.text(p.Type)
		key, ok := w.typeKey(typ{p.Type, imports})
		if !ok {
			key = f.Name + " " + text
		}
		key = "{" + key + "}"
		exact[key] = text
		return key
	}
	list := func(fields *ast.FieldList) (list []string) {
		if fields == nil {
			return nil
		}
		for _, p := range fields.List {
			s := w.costs.letters(typ{p.Type, imports})
			if s == "" {
				s = itself(p)
			}
			for range max(1, len(p.Names)) {
				list = append(list, s)
			}
		}
		return list
	}
	params, results := append(list(d.Recv), list(d.Type.Params)...), list(d.Type.Results)
	most := maxWords
	if w.opt.Arch == "s390x" {
		most = 8
	}
	p, ok1 := w.inWords(params, most-2) // the other two are the site and the function
	r, ok2 := w.inWords(results, most)
	if ok1 && ok2 {
		if len(r) > 0 && small(results[0][0]) {
			r[0] = results[0] // for keepWord: the upper bits of its register are undefined
		}
		params, results = p, r
	} else {
		// The letters of a struct stand for its words, which is right in registers alone.
		full := func(list []string, fields ...*ast.FieldList) {
			i := 0
			for _, l := range fields {
				if l == nil {
					continue
				}
				for _, p := range l.List {
					for range max(1, len(p.Names)) {
						if len(list[i]) > 1 && list[i][0] != '{' {
							list[i] = itself(p)
						}
						i++
					}
				}
			}
		}
		full(params, d.Recv, d.Type.Params)
		full(results, d.Type.Results)
	}
	s := signature{name: strings.Join(params, "") + "_" + strings.Join(results, ""), common: len(exact) == 0}
	types := func(list []string) (types []string) {
		for _, s := range list {
			if text, ok := exact[s]; ok {
				types = append(types, text)
			} else {
				types = append(types, letterTypes[s[0]])
			}
		}
		return types
	}
	s.params, s.results = types(params), types(results)
	if !s.common {
		n, ok := w.exact[s.name]
		if !ok {
			n = len(w.exact)
			w.exact[s.name] = n
		}
		s.name = strconv.Itoa(n)
	}
	return s
}

// dispatchShared hooks a function that shares its wrapper:
//
//	func (s *S) Foo(a int) error {
//		if ftgo_mask[7] != 0 && ftgo_take(&ftgo_sites[7]) {
//			return ftgo_4_0(s, a, &ftgo_sites[7], ftgo_1S_Foo)
//		}
//		…the body, as it was…
//	}
//
//	//go:noescape
//	//go:linkname ftgo_4_0 runtime.ftgo_wPW_WP
//	func ftgo_4_0(ftgo_r *S, ftgo_p0 int, _ *ftgo_Site, _ func()) error
//
//	//go:linkname ftgo_1S_Foo example.com/p.(*S).Foo
//	func ftgo_1S_Foo()
//
// The compiler knows nothing of either name. If the function named itself, it and its wrapper would
// be recursive to the inliner, and to escape analysis, which takes everything that flows from a
// parameter to a result of a recursive function for lost to the heap. What the body does with its
// parameters, the compiler sees in the body. Functions of a file with the same types share the
// declaration of ftgo_4_0.
func (w *writer) dispatchShared(f *file, d *ast.FuncDecl, at site, own string, args, params []string) {
	results := f.results(d.Type) // before nameResults edits them
	wrapper := w.declare(f, kindCall, w.shared(f, d, at.Form), strings.Join(append(params, "_ *ftgo_Site", "_ func()"), ", "), inParentheses(results),
		f.directive(w.fset, d.Type.Func, false))
	self := ofWrapper(kindSelf, own)
	call := fmt.Sprintf("%s(%s)", wrapper, strings.Join(append(args, at.addr(), self), ", "))
	refresh := ""
	if at.Form == ReEntry {
		refresh = w.refresh(f, d, args, params)
	}
	w.dispatch(f, d, at, call, len(results) > 0, refresh)
	fmt.Fprintf(&f.tail, "\n//go:linkname %s %s\nfunc %[1]s()\n", self, w.symbol(d))
	f.importUnsafe(w.fset)
}

// declare declares a function with these types and the linker's name symbol, once in the file, and
// returns its name there. at is a line directive for the declaration, or "".
func (w *writer) declare(f *file, kind, symbol, params, results, at string) string {
	key := symbol + "(" + params + ")" + results
	name, ok := f.declared[key]
	if !ok {
		if f.declared == nil {
			f.declared = map[string]string{}
		}
		name = generated(kind, strconv.Itoa(w.declared))
		w.declared++
		f.declared[key] = name
		if at != "" {
			at += "\n"
		}
		fmt.Fprintf(&f.tail, "\n//go:noescape\n//go:linkname %s %s\n%sfunc %[1]s(%[4]s)%s\n", name, symbol, at, params, results)
	}
	return name
}

// variable returns the name of the variable that the operand of & is, or is a part of. It returns
// "" if there is no variable.
func variable(x ast.Expr) string {
	for {
		switch e := x.(type) {
		case *ast.ParenExpr:
			x = e.X
		case *ast.SelectorExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

// shared returns the symbol of the wrapper for a function of the given form. If package runtime
// does not have the wrapper, the first function of the package that needs it gets it written.
func (w *writer) shared(f *file, d *ast.FuncDecl, form Form) string {
	s := w.signature(f, d)
	name := generated(kindShared, s.name)
	if form == Hidden {
		name = generated(kindHidden+kindShared, s.name)
	}
	if w.sources[name] == "" {
		var b bytes.Buffer
		s.write(&b, name)
		w.sources[name] = b.String()
	}
	if s.common {
		w.common[name]++
		if hosted[name] {
			return "runtime." + name
		}
	}
	symbol := pathPrefix(w.path) + "." + name
	if !w.wrappers[name] {
		w.wrappers[name] = true
		out := &w.tail
		if !s.common {
			out = &f.tail
		}
		out.WriteString(w.sources[name])
	}
	return symbol
}

// write writes the wrapper of a signature under a name.
func (s signature) write(b *bytes.Buffer, name string) {
	enter := "ftgo_enter"
	if strings.HasPrefix(name, hook.HiddenPrefix) {
		enter = "ftgo_enterInlined"
	}
	var params, args []string
	for i, t := range s.params {
		args = append(args, local(localParam, i))
		params = append(params, args[i]+" "+t)
	}
	params = append(params, "ftgo_s *ftgo_Site", fmt.Sprintf("ftgo_f func(%s)%s", strings.Join(s.params, ", "), inParentheses(s.results)))
	head := fmt.Sprintf("\nfunc %s(%s)", name, strings.Join(params, ", "))
	keep := ""
	if len(s.results) > 0 {
		keep = keepWord[s.results[0]]
	}
	writeWrapper(b, head, enter+"(ftgo_s)", fmt.Sprintf("ftgo_f(%s)", strings.Join(args, ", ")), s.results, keep)
}

// keepWord maps the type of a first result, as in letterTypes, to the statement by which a wrapper
// keeps it for the library: ftgo_r0 is the result. Floats have no statement, since they are in
// registers of another kind.
var keepWord = map[string]string{
	"*ftgo_Site": "ftgo_keepPointer(ftgo_t, ftgo_r0)", "uintptr": "ftgo_keep(ftgo_t, ftgo_r0)", "uint8": "ftgo_keep(ftgo_t, uintptr(ftgo_r0))",
	"uint16": "ftgo_keep(ftgo_t, uintptr(ftgo_r0))", "uint32": "ftgo_keep(ftgo_t, uintptr(ftgo_r0))", "uint64": "ftgo_keep(ftgo_t, uintptr(ftgo_r0))",
}

// writeWrapper writes a wrapper. The wrapper enters, defers the exit, and calls the function. If
// keep is not "", it is the statement that keeps the first result.
func writeWrapper(b *bytes.Buffer, head, enter, call string, results []string, keep string) {
	if keep == "" {
		if len(results) > 0 {
			call = "return " + call
		}
		fmt.Fprintf(b, "%s%s { defer ftgo_exit(%s); %s }\n", head, inParentheses(results), enter, call)
		return
	}
	var names, typed []string
	for i, t := range results {
		names = append(names, local(localResult, i))
		typed = append(typed, names[i]+" "+t)
	}
	fmt.Fprintf(b, "%s (%s) { ftgo_t := %s; defer ftgo_exit(ftgo_t); %s = %s; if ftgo_keeps != 0 { %s }; return }\n",
		head, strings.Join(typed, ", "), enter, strings.Join(names, ", "), call, keep)
}

// wrapperList names the wrappers that many packages share. Package runtime has them, so that they
// are compiled once. The list is made by go run ./internal/estimate -wrappers DIR... >
// rewriter/wrappers.txt, from the standard library and the modules of the corpus.
//
//go:embed wrappers.txt
var wrapperList string

var hosted = func() map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(wrapperList) {
		m[generated("", name)] = true
	}
	return m
}()

// hostedWrappers returns the source of the wrappers in wrapperList.
func hostedWrappers() []byte {
	var b bytes.Buffer
	for name := range strings.FieldsSeq(wrapperList) {
		var s signature
		_, letters, _ := strings.Cut(name, kindShared)
		params, results, _ := strings.Cut(letters, "_")
		for i := range len(params) {
			s.params = append(s.params, letterTypes[params[i]])
		}
		for i := range len(results) {
			s.results = append(s.results, letterTypes[results[i]])
		}
		fmt.Fprintf(&b, "\n//go:linkname %s", generated("", name))
		s.write(&b, generated("", name))
	}
	return b.Bytes()
}
