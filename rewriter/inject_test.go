package rewriter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/packages"
)

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
	// A pattern for each module, and the packages that none can stand for.
	want := []string{"example.com/m/...", "example.org/dep/v2/...", "example.com/m_test", "go/tool/sub", "go/tool", "command-line-arguments"}
	if diff := cmp.Diff(want, in.patterns); diff != "" {
		t.Error(diff)
	}
}
