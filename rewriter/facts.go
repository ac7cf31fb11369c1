package rewriter

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// A fact is what the estimate needs to know of another package's function, method, type or
// constant. Facts are written as
//
//	Name=33       a function that is inlined at that cost
//	Name=33,v1a   … with a variadic parameter after 1 other, of interface type
//	T.*M=5        a method with a pointer receiver that is inlined at that cost
//	T=t  T=int64  a type that is no interface; its kind if that is a basic one
//	T=i           an interface
//	T=t,wPWW      a type of these letters (wrappers.go)
//	C=c  C=cfalse a constant; its value if that is a truth value
//	F=r*T         the type of the single result, or of a variable: T of the package,
//	              a basic one, ~ for another that is no interface, ^ for another interface
//	F=p02         a function with interfaces as parameters 0 and 2
//	@=name        the package's name
//
// A package's own facts leave out constants without a truth value, since some packages have
// thousands. A name without a fact is such a constant.
type fact struct {
	known    bool
	cost     int // -1 if it is not inlined
	pointer  bool
	variadic bool
	ifaces   bool
	fixed    int
	isType   bool
	iface    bool
	constant bool
	value    string
	basic    string
	result   string
	params   string
	name     string
	letters  string
}

// parseFacts parses facts that are separated by blanks.
func parseFacts(list string) map[string]fact {
	m := map[string]fact{}
	for word := range strings.FieldsSeq(list) {
		name, what, _ := strings.Cut(word, "=")
		k := fact{known: true, cost: -1}
		if name == "@" {
			m[name] = fact{name: what}
			continue
		}
		if t, method, ok := strings.Cut(name, ".*"); ok {
			k.pointer = true
			name = t + "." + method
		}
		for part := range strings.SplitSeq(what, ",") {
			switch {
			case part == "":
			case part == "t":
				k.isType = true
			case part[0] == 'w':
				k.letters = part[1:]
			case part == "i":
				k.isType, k.iface = true, true
			case part == "c", part == "ctrue", part == "cfalse":
				k.constant, k.value = true, part[1:]
			case part[0] == 'r' && !basicTypes[part]:
				k.result = part[1:]
			case part[0] == 'p':
				k.params = part[1:]
			case basicTypes[part]:
				k.isType, k.basic = true, part
			case strings.HasPrefix(part, "v"):
				k.variadic = true
				part, k.ifaces = strings.CutSuffix(part[1:], "a")
				k.fixed, _ = strconv.Atoi(part)
			default:
				if n, err := strconv.Atoi(part); err == nil {
					k.cost = n
				}
			}
		}
		m[name] = k
	}
	return m
}

// packageName returns the name of a package, or "" if it is not known.
func (c *costs) packageName(path string) string { return c.known(path, "@").name }

// known returns the fact of a name, F or Type.Method, in a package.
func (c *costs) known(path, name string) fact {
	m, ok := c.facts[path]
	if !ok {
		list := stdFacts(path)
		if list == "" && c.extern != nil {
			list = c.extern(path)
		}
		m = parseFacts(list)
		c.facts[path] = m
	}
	k, ok := m[name]
	if !ok && m["@"].name != "" && !strings.Contains(name, ".") {
		k = fact{known: true, cost: -1, constant: true}
	}
	return k
}

// stdFacts returns the facts of a package of the standard library.
func stdFacts(path string) string {
	_, rest, _ := strings.Cut(stdFactList, "\n"+path+": ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// stdFactList is what the compiler says of the standard library. It is made by go run
// ./internal/estimate -std > rewriter/stdfacts.txt.
//
//go:embed stdfacts.txt
var stdFactList string

// factsStart and factsEnd enclose a package's facts in the value of an exported constant. So the
// facts are in the export data that the compiler has of each import; the build cache keeps them
// with the rest, and no binary holds them.
const (
	factsStart = "ftgo:facts "
	factsEnd   = " ftgo:end"
)

// addFacts adds a package's facts to its table. The constant's name differs between packages, so
// that dot imports of two do not clash.
func (r *Result) addFacts(first File, path string) {
	if r.Facts == "" {
		return
	}
	if r.Table == nil {
		f, err := parser.ParseFile(token.NewFileSet(), first.Name, first.Src, parser.PackageClauseOnly)
		if err != nil {
			return
		}
		r.Table = []byte("package " + f.Name.Name + "\n")
	}
	h := fnv.New64a()
	h.Write([]byte(path))
	r.Table = fmt.Appendf(r.Table, "\nconst Ftgo_%016x = %q\n", h.Sum64(), factsStart+r.Facts+factsEnd)
}

// resultType returns the type of a result or a variable of a package, from its fact.
func resultType(path string, k fact) typ {
	name, ptr := strings.CutPrefix(k.result, "*")
	var t typ
	switch {
	case name == "":
		return typ{}
	case name == "~":
		t = typ{&ast.StructType{Fields: &ast.FieldList{}}, nil}
	case name == "^":
		t = typ{&ast.InterfaceType{Methods: &ast.FieldList{List: []*ast.Field{{Type: ast.NewIdent("any")}}}}, nil}
	case basicTypes[name]:
		t = basic(name)
	default:
		t = typ{&ast.SelectorExpr{X: ast.NewIdent("p"), Sel: ast.NewIdent(name)}, map[string]string{"p": path}}
	}
	if ptr {
		t.expr = &ast.StarExpr{X: t.expr}
	}
	return t
}

// own returns the facts of the package itself, for packages that import it.
func (c *costs) own() string {
	list := []string{"@=" + c.name}
	add := func(name string, what ...string) {
		what = slices.DeleteFunc(what, func(s string) bool { return s == "" })
		list = append(list, name+"="+strings.Join(what, ","))
	}
	for name, d := range c.funcs {
		if ast.IsExported(name) {
			add(name, c.funcFacts(d)...)
		}
	}
	for name, t := range c.types {
		if !ast.IsExported(name) {
			continue
		}
		if c.incomplete(typ{t.spec.Name, t.imports}) {
			add(name)
			continue
		}
		what := "t"
		u := c.under(typ{t.spec.Name, t.imports})
		if c.isInterface(u) {
			what = "i"
		} else if id, ok := u.expr.(*ast.Ident); ok && basicTypes[id.Name] {
			what = id.Name
		} else if l := c.letters(u); l != "" {
			what += ",w" + l
		}
		add(name, what)
		for m, d := range t.methods {
			if !ast.IsExported(m) {
				continue
			}
			if _, ptr, _ := receiver(d); ptr {
				m = "*" + m
			}
			add(name+"."+m, c.funcFacts(d)...)
		}
	}
	for name, value := range c.consts {
		if ast.IsExported(name) && value != "" {
			add(name, "c"+value)
		}
	}
	for name, d := range c.vars {
		if ast.IsExported(name) {
			add(name, c.resultFact(c.varType(d)))
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// funcFacts returns the facts of a function.
func (c *costs) funcFacts(d *ast.FuncDecl) (what []string) {
	if cost := c.asBuilt(d); cost >= 0 {
		what = append(what, strconv.Itoa(cost))
	}
	params, ifaces := fieldTypes(d.Type.Params, c.imports[d]), ""
	for i, p := range params {
		if dots, ok := p.expr.(*ast.Ellipsis); ok {
			v := fmt.Sprintf("v%d", i)
			if c.isInterface(typ{dots.Elt, p.imports}) {
				v += "a"
			}
			what = append(what, v)
		} else if i < 10 && c.isInterface(p) {
			ifaces += strconv.Itoa(i)
		}
	}
	if ifaces != "" {
		what = append(what, "p"+ifaces)
	}
	if results := c.resultTypes(d); len(results) == 1 {
		what = append(what, c.resultFact(results[0]))
	}
	return what
}

// resultFact returns the fact of the type of a result or a variable.
func (c *costs) resultFact(t typ) string {
	if !t.known() {
		return ""
	}
	ptr := ""
	base, is := deref(t)
	if is {
		ptr = "*"
	}
	if id, ok := unparen(base.expr).(*ast.Ident); ok {
		if d := c.types[id.Name]; d != nil && ast.IsExported(id.Name) || d == nil && basicTypes[id.Name] {
			return "r" + ptr + id.Name
		}
	}
	switch {
	case c.isInterface(t):
		return "r^"
	case c.concrete(t):
		return "r~"
	}
	return ""
}
