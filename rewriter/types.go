package rewriter

import (
	"go/ast"
	"strconv"
	"strings"
)

// typ is what the estimate knows of a type without a type checker, which would take longer than all else that ftgo does: the syntax
// that states it, and the imports of the file that this stands in. The zero value is an unknown type.
type typ struct {
	expr    ast.Expr
	imports map[string]string
}

func (t typ) known() bool { return t.expr != nil }

// typeDecl is a type that the package declares.
type typeDecl struct {
	spec    *ast.TypeSpec
	imports map[string]string
	methods map[string]*ast.FuncDecl

	seen, incomplete bool // what costs.incomplete found
}

// varDecl is a variable that the package declares.
type varDecl struct {
	spec    *ast.ValueSpec
	index   int
	imports map[string]string
	busy    bool
}

// memberKind is what a selector selects.
type memberKind uint8

const (
	unknownMember memberKind = iota
	fieldMember
	methodMember    // of a type of the package: member.decl
	interfaceMember // a method of an interface
	importedMember  // of a type of another package: member.path, member.name
)

// member is what a selector selects.
type member struct {
	kind     memberKind
	decl     *ast.FuncDecl
	path     string // of the package, and
	name     string // Type.Method
	typ      typ    // of a field
	embedded int    // fields gone through that the source does not name
	first    bool   // the field is the first of its struct
	value    bool   // the last field gone through is no pointer
}

func unparen(e ast.Expr) ast.Expr {
	for {
		p, ok := e.(*ast.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}

// deref returns what a pointer type points to.
func deref(t typ) (typ, bool) {
	if s, ok := unparen(t.expr).(*ast.StarExpr); ok {
		return typ{s.X, t.imports}, true
	}
	return t, false
}

// named returns the package's declaration of a type, nil if it is none.
func (c *costs) named(t typ) *typeDecl {
	switch e := unparen(t.expr).(type) {
	case *ast.Ident:
		return c.types[e.Name]
	case *ast.IndexExpr:
		return c.named(typ{e.X, t.imports})
	case *ast.IndexListExpr:
		return c.named(typ{e.X, t.imports})
	}
	return nil
}

// imported returns path and name of a type of another package.
func imported(t typ) (path, name string) {
	switch e := unparen(t.expr).(type) {
	case *ast.SelectorExpr:
		if id, ok := e.X.(*ast.Ident); ok && t.imports[id.Name] != "" {
			return t.imports[id.Name], e.Sel.Name
		}
	case *ast.IndexExpr:
		return imported(typ{e.X, t.imports})
	case *ast.IndexListExpr:
		return imported(typ{e.X, t.imports})
	}
	return "", ""
}

// under returns the syntax of a type's underlying type.
func (c *costs) under(t typ) typ {
	for range 10 {
		d := c.named(t)
		if d == nil {
			break
		}
		t = typ{d.spec.Type, d.imports}
	}
	t.expr = unparen(t.expr)
	return t
}

// isInterface reports whether a type is an interface, as far as that is known.
func (c *costs) isInterface(t typ) bool {
	if !t.known() {
		return false
	}
	t = c.under(t)
	switch e := t.expr.(type) {
	case *ast.InterfaceType:
		return true
	case *ast.Ident:
		return e.Name == "error" || e.Name == "any"
	case *ast.SelectorExpr:
		return c.known(imported(t)).iface
	}
	return false
}

// concrete reports whether a type is known not to be an interface, so that a conversion to one is a node.
func (c *costs) concrete(t typ) bool {
	if !t.known() {
		return false
	}
	switch e := c.under(t).expr.(type) {
	case *ast.StarExpr, *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.StructType:
		return true
	case *ast.Ident:
		return basicTypes[e.Name] && e.Name != "error" && e.Name != "any"
	case *ast.SelectorExpr:
		k := c.known(imported(c.under(t)))
		return k.isType && !k.iface
	}
	return false
}

// member looks a selected name up.
func (c *costs) member(t typ, name string) member { return c.memberAt(t, name, 0) }

func (c *costs) memberAt(t typ, name string, depth int) member {
	if !t.known() || depth > 6 {
		return member{}
	}
	base, _ := deref(t)
	if path, n := imported(base); n != "" {
		if c.isInterface(base) {
			return member{kind: interfaceMember}
		}
		return member{kind: importedMember, path: path, name: n + "." + name}
	}
	for range 10 { // down the chain of declarations
		d := c.named(base)
		if d == nil {
			break
		}
		if m := d.methods[name]; m != nil {
			return member{kind: methodMember, decl: m}
		}
		base = typ{d.spec.Type, d.imports}
		base.expr = unparen(base.expr)
		if s, ok := base.expr.(*ast.StarExpr); ok {
			base.expr = s.X
		}
	}
	switch e := base.expr.(type) {
	case *ast.InterfaceType:
		return member{kind: interfaceMember}
	case *ast.Ident:
		if e.Name == "error" {
			return member{kind: interfaceMember}
		}
	case *ast.StructType:
		nth := 0
		for _, f := range e.Fields.List {
			for _, id := range f.Names {
				if id.Name == name {
					return member{kind: fieldMember, typ: typ{f.Type, base.imports}, first: nth == 0}
				}
				nth++
			}
			if len(f.Names) == 0 {
				if embeddedName(f.Type) == name {
					return member{kind: fieldMember, typ: typ{f.Type, base.imports}, first: nth == 0}
				}
				nth++
			}
		}
		var through member
		for _, f := range e.Fields.List {
			if len(f.Names) > 0 {
				continue
			}
			ft := typ{f.Type, base.imports}
			m := c.memberAt(ft, name, depth+1)
			m.embedded++
			if m.embedded == 1 && m.kind != fieldMember {
				_, isPtr := f.Type.(*ast.StarExpr)
				m.value, m.first = !isPtr, f == e.Fields.List[0]
			}
			if m.kind == importedMember { // it may have the name or not
				if through.kind == unknownMember {
					through = m
				}
				continue
			}
			if m.kind == interfaceMember && !c.hasMethod(ft, name) {
				continue
			}
			if m.kind != unknownMember {
				return m
			}
		}
		return through
	}
	return member{}
}

// hasMethod reports whether an interface of the package may have a method.
func (c *costs) hasMethod(t typ, name string) bool {
	e, ok := c.under(t).expr.(*ast.InterfaceType)
	if !ok {
		return true
	}
	for _, m := range e.Methods.List {
		if len(m.Names) == 0 {
			return true // embedded; not looked into
		}
		for _, id := range m.Names {
			if id.Name == name {
				return true
			}
		}
	}
	return false
}

// structField is a field of a struct.
type structField struct {
	name string
	typ  typ
}

// fields lists the fields of a struct type.
func (c *costs) fields(u typ) (list []structField) {
	s, ok := u.expr.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, f := range s.Fields.List {
		t := typ{f.Type, u.imports}
		if len(f.Names) == 0 {
			list = append(list, structField{embeddedName(f.Type), t})
		}
		for _, id := range f.Names {
			list = append(list, structField{id.Name, t})
		}
	}
	return list
}

// text names a type, to tell two apart.
func (c *costs) text(t typ) string {
	switch e := unparen(t.expr).(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		path, name := imported(t)
		return path + "." + name
	case *ast.InterfaceType:
		if e.Methods == nil || len(e.Methods.List) == 0 {
			return "any"
		}
	}
	return "?"
}

// embeddedName is the name of an embedded field.
func embeddedName(e ast.Expr) string {
	switch e := unparen(e).(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return embeddedName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return embeddedName(e.X)
	case *ast.IndexListExpr:
		return embeddedName(e.X)
	}
	return ""
}

// underPointer returns a type, or what it is declared as if that is a pointer.
func (c *costs) underPointer(t typ) typ {
	if c.named(t) == nil {
		return t
	}
	return c.under(t)
}

func basic(name string) typ { return typ{ast.NewIdent(name), nil} }

// resultTypes returns the types of a function's results; those of a generic one are not known.
func (c *costs) resultTypes(d *ast.FuncDecl) []typ {
	if d.Type.TypeParams != nil {
		return nil
	}
	return fieldTypes(d.Type.Results, c.imports[d])
}

func fieldTypes(fields *ast.FieldList, imports map[string]string) (list []typ) {
	if fields == nil {
		return nil
	}
	for _, f := range fields.List {
		for range max(1, len(f.Names)) {
			list = append(list, typ{f.Type, imports})
		}
	}
	return list
}

// importNames returns the paths of a file's imports by the names under which it uses them. The name of a package of which nothing is known
// is a guess, which gives way to all others.
func (c *costs) importNames(f *ast.File) map[string]string {
	m := map[string]string{"unsafe": "unsafe"}
	var guesses []string
	for _, imp := range f.Imports {
		path, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if len(name) > 1 && name[0] == 'v' && name[1] >= '0' && name[1] <= '9' && len(path) > len(name) {
			name = path[:len(path)-len(name)-1]
			name = name[strings.LastIndexByte(name, '/')+1:]
		}
		switch real := c.packageName(path); {
		case imp.Name != nil:
			name = imp.Name.Name
		case real != "":
			name = real
		case stdFacts(path) == "":
			guesses = append(guesses, name, path)
			continue
		}
		m[name] = path
	}
	for i := 0; i < len(guesses); i += 2 {
		if m[guesses[i]] == "" {
			m[guesses[i]] = guesses[i+1]
		}
	}
	return m
}
