package rewriter

import (
	"go/ast"
	"strconv"
	"strings"
)

// A typ is a type without type checking, which would take longer than everything else that ftgo
// does: the expression that states the type, and the imports of the expression's file. The zero
// value is an unknown type.
type typ struct {
	expr    ast.Expr
	imports map[string]string
}

func (t typ) known() bool { return t.expr != nil }

// A typeDecl is a type that the package declares.
type typeDecl struct {
	spec    *ast.TypeSpec
	imports map[string]string
	methods map[string]*ast.FuncDecl

	seen, incomplete bool // seen: costs.incomplete has been here; incomplete: its result
}

// A varDecl is a variable that the package declares.
type varDecl struct {
	spec    *ast.ValueSpec
	index   int
	imports map[string]string
	busy    bool
}

// A memberKind is the kind of what a selector selects.
type memberKind uint8

const (
	unknownMember memberKind = iota
	fieldMember
	methodMember    // method of a type of the package: member.decl
	interfaceMember // method of an interface
	importedMember  // method of a type of another package: member.path, member.name
)

// A member is what a selector selects.
type member struct {
	kind     memberKind
	decl     *ast.FuncDecl
	path     string // import path
	name     string // Type.Method
	typ      typ    // of a field
	embedded int    // number of embedded fields on the way to it
	first    bool   // the field is the first of its struct
	value    bool   // the last embedded field on the way is not a pointer
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

// deref returns the type that a pointer type points to, and whether t is a pointer type.
func deref(t typ) (typ, bool) {
	if s, ok := unparen(t.expr).(*ast.StarExpr); ok {
		return typ{s.X, t.imports}, true
	}
	return t, false
}

// named returns the package's declaration of a type, or nil.
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

// imported returns the import path and the name of a type of another package.
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

// under returns the underlying type.
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

// isInterface reports whether a type is known to be an interface.
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

// concrete reports whether a type is known not to be an interface. Then converting a value of it to
// an interface costs a node.
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

// member looks up a field or method.
func (c *costs) member(t typ, name string) member { return c.memberAt(t, name, 0) }

// memberAt is member, below depth embedded fields.
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
	for range 10 { // a chain of declarations, which could be endless
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
			if m.kind == importedMember { // it may have a member of the name or not
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
			return true // an embedded interface, which is not looked into
		}
		for _, id := range m.Names {
			if id.Name == name {
				return true
			}
		}
	}
	return false
}

// A structField is a field of a struct.
type structField struct {
	name string
	typ  typ
}

// fields returns the fields of a struct type.
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

// text returns a string that is the same for the same type.
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

// embeddedName returns the name of an embedded field.
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

// underPointer returns the underlying type of a type that the package declares, and any other type
// as it is: a pointer type that has a name is seen as a pointer.
func (c *costs) underPointer(t typ) typ {
	if c.named(t) == nil {
		return t
	}
	return c.under(t)
}

func basic(name string) typ { return typ{ast.NewIdent(name), nil} }

// resultTypes returns the types of a function's results. The results of a generic function are
// unknown.
func (c *costs) resultTypes(d *ast.FuncDecl) []typ {
	if d.Type.TypeParams != nil {
		return nil
	}
	return fieldTypes(d.Type.Results, c.imports[d])
}

// fieldTypes returns the types of parameters or results, one for each.
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

// importNames returns the paths of a file's imports, by the names that the file uses for them. The
// name of a package without facts is guessed from its path. A guess gives way to a name that is
// known, and to one that the file states.
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
