package rewriter

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/packages"

	"github.com/ftgo/ftgo"
)

// Each package of this module that the library imports goes with it into programs, and has no hooks
// there.
func TestLibraryIsWhole(t *testing.T) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps}, Library)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		dir, ours := strings.CutPrefix(p.PkgPath, module+"/")
		if !ours {
			return
		}
		n++
		for _, prefix := range []string{module + "/", "_ftgo/", "example.com/m/_ftgo/"} {
			if !isLibrary(prefix + dir) {
				t.Errorf("isLibrary(%q) = false: the package would be hooked", prefix+dir)
			}
		}
		for _, file := range p.GoFiles {
			if name := path.Join(dir, path.Base(file)); !embedded(name) {
				t.Errorf("/embed.go does not embed %s", name)
			}
		}
	})
	if n < 2 {
		t.Errorf("%d packages of this module were listed", n)
	}
}

func embedded(name string) bool {
	_, err := fs.Stat(ftgo.Library, name)
	return err == nil
}

func TestPatternsOfABuild(t *testing.T) {
	pkg := func(path, module string, imports ...*packages.Package) *packages.Package {
		p := &packages.Package{ID: path, PkgPath: path, GoFiles: []string{"/src/" + path + "/a.go"}, Imports: map[string]*packages.Package{}}
		if module != "" {
			p.Module = &packages.Module{Path: module}
		}
		for _, q := range imports {
			p.Imports[q.PkgPath] = q
		}
		return p
	}
	std := pkg("fmt", "")
	std.GoFiles = []string{"/goroot/src/fmt/print.go"}
	program := pkg("command-line-arguments", "")
	program.GoFiles = []string{"/goroot/test/fib.go"}
	in := &injection{}
	in.list(&goCommand{goEnv: map[string]string{"GOROOT": "/goroot"}}, []*packages.Package{
		pkg("example.com/m", "example.com/m", std, pkg("example.com/m/sub", "example.com/m"), pkg("example.org/dep/v2/p", "example.org/dep/v2")),
		pkg("example.com/m_test", "example.com/m"), // the external tests of the module's root
		pkg("go/tool", "go", pkg("go/tool/sub", "go")),
		program,
	})
	// Each module has a pattern. A package that no module's pattern matches has one of its own.
	want := []string{"example.com/m/...", "example.org/dep/v2/...", "example.com/m_test", "go/tool/sub", "go/tool", "command-line-arguments"}
	if diff := cmp.Diff(want, in.patterns); diff != "" {
		t.Error(diff)
	}
}
