package rewriter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"

	"github.com/ftgo/ftgo"
)

// Library is the import path of the runtime library.
const Library = module + "/runtime"

const module = "github.com/ftgo/ftgo"

// autoFile is the file that the overlay adds to a main package.
const autoFile = "zz_ftgo_auto.go"

// An injection links the library into programs that do not import it, without touching a file of
// theirs: an overlay (go help build) adds a file that imports it to each main package, or to each
// tested package, and the library's own source below the standard library or the root of the
// module, in a directory that no pattern matches.
type injection struct {
	replace   map[string]string // the overlay
	extra     []string          // files to name beside files that the command line names
	dir       string            // where the files of the overlay really are
	temporary bool              // dir is removed after the build

	patterns []string // match the packages of the build, without the standard library

	packages []string // import paths of the packages that the command line matches
	programs []string // main packages among them
	broken   bool     // a package of them has an error, which the go command will print
	warnings []string
	noHooks  string // why the build holds no hook at all, "" if it does
}

// inject prepares the overlay for the packages that the command builds.
func inject(cmd *goCommand) (*injection, error) {
	mode := packages.NeedName | packages.NeedFiles | packages.NeedModule | packages.NeedImports | packages.NeedDeps | packages.NeedForTest
	cfg := &packages.Config{Context: cmd.ctx, Env: cmd.environment(), Mode: mode, Dir: cmd.dir, Tests: cmd.name == "test", BuildFlags: cmd.listFlags}
	patterns := cmd.packages
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	pkgs, err := packages.Load(cfg, patterns...)
	if err != nil {
		if _, why, ok := strings.Cut(err.Error(), "stderr: go: "); ok {
			return nil, errors.New(strings.TrimSpace(why)) // in the go command's own words
		}
		return nil, fmt.Errorf("the packages to build cannot be listed: %w", err)
	}
	in := &injection{replace: map[string]string{}}
	for _, p := range pkgs {
		in.packages = append(in.packages, p.PkgPath)
		in.broken = in.broken || len(p.Errors) > 0
		if p.Name == "main" {
			in.programs = append(in.programs, p.PkgPath)
		}
	}
	if err := in.cacheDir(); err != nil {
		return nil, err
	}
	in.list(cmd, pkgs)
	if !in.broken {
		in.warnings, in.noHooks = unmatched(cmd, pkgs)
		if in.noHooks != "" && cmd.program == "" {
			in.warnings = append(in.warnings, in.noHooks)
		}
	}
	seen := map[string]bool{}
	for _, p := range pkgs {
		if cmd.name == "test" {
			err = in.test(cmd, p, seen)
		} else if p.Name == "main" {
			err = in.program(cmd, p)
		}
		if err != nil {
			return nil, err
		}
	}
	return in, nil
}

// list makes patterns for the packages of the build that do not belong to the standard library: one
// for each module, as far as that goes, because the go command compiles a regular expression for
// each pattern of -gcflags and each package, and again for the packages of each test binary.
func (in *injection) list(cmd *goCommand, pkgs []*packages.Package) {
	src := cmd.std()
	var rest []string
	modules, seen := map[string]bool{}, map[string]bool{}
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		if seen[p.PkgPath] || len(p.GoFiles) == 0 || below(src, p.GoFiles[0]) {
			return
		}
		seen[p.PkgPath] = true
		mod := ""
		if p.Module != nil {
			mod = p.Module.Path
		}
		// No import path of the standard library has a dot in its first element, so such a pattern
		// matches nothing of it.
		if first, _, _ := strings.Cut(mod, "/"); strings.Contains(first, ".") && (p.PkgPath == mod || strings.HasPrefix(p.PkgPath, mod+"/")) {
			modules[mod+"/..."] = true
		} else {
			rest = append(rest, p.PkgPath)
		}
	})
	in.patterns = append(slices.Sorted(maps.Keys(modules)), rest...)
}

// cacheDir finds the directory for the overlay's files. Their content alone matters to the build
// cache, but rewriting them on every build would cost time, so they stay, unless there is no cache
// directory.
func (in *injection) cacheDir() (err error) {
	if in.dir = cacheDir(); in.dir == "" {
		in.dir, err = os.MkdirTemp("", "ftgo")
		in.temporary = true
	}
	return err
}

// cacheDir returns the directory for files that builds share, "" if there is none.
func cacheDir() string {
	base, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir := filepath.Join(base, "ftgo")
	if os.MkdirAll(dir, 0o777) != nil {
		return ""
	}
	return dir
}

// close removes what the build alone needed.
func (in *injection) close() {
	if in.temporary {
		os.RemoveAll(in.dir)
	}
}

// program links the library into a main package.
func (in *injection) program(cmd *goCommand, p *packages.Package) error {
	held, forC := holdsLibrary(p), cmd.forC()
	if held && !forC || len(p.GoFiles) == 0 {
		return nil
	}
	dir := filepath.Dir(p.GoFiles[0])
	imp := Library
	if !held {
		var err error
		if imp, err = in.library(cmd, p, dir); err != nil {
			return err
		}
	}
	file := filepath.Join(dir, autoFile)
	if cmd.files {
		// As the command line names them: the go command wants all in one directory.
		in.extra = append(in.extra, filepath.Join(filepath.Dir(cmd.packages[0]), filepath.Base(file)))
	}
	src := importFile("main", imp)
	if forC {
		src = append(src, endWithC...)
	}
	return in.add(file, src)
}

// endWithC goes into main packages that become libraries for C programs: such a program ends
// without a word to the Go runtime. Nothing of it is left to run unless the environment asks for a
// trace. It calls back as cgo's own wrappers do, since what is exported by name appears in the
// library's header.
const endWithC = `
/*
#include <stdlib.h>
#include <unistd.h>

extern void crosscall2(void (*fn)(void *), void *arg, int size, size_t ctxt);

static void (*end)(void *);
static int pid;

static void exiting(void) { if (getpid() == pid) crosscall2(end, 0, 0, 0); }

static void zz_ftgo_at_exit(void *fn) { if (getenv("FTGO_TRACER")) { end = fn; pid = getpid(); atexit(exiting); } }
*/
import "C"

import "unsafe"

func init() {
	end := func(unsafe.Pointer) { zz_ftgo_end() }
	C.zz_ftgo_at_exit(**(**unsafe.Pointer)(unsafe.Pointer(&end)))
}

//go:linkname zz_ftgo_end runtime.ftgo_ended
func zz_ftgo_end()
`

// beneathLibrary reports whether the library imports the package of this module.
func beneathLibrary(path string) bool {
	dir, ok := strings.CutPrefix(path, module+"/")
	if !ok {
		return false
	}
	info, err := fs.Stat(ftgo.Library, dir)
	return err == nil && info.IsDir()
}

// test links the library into the test binary of a package. p is one of the variants that listing
// with tests gives.
func (in *injection) test(cmd *goCommand, p *packages.Package, seen map[string]bool) error {
	if p.ForTest == "" || seen[p.ForTest] || strings.HasSuffix(p.ID, ".test") || len(p.GoFiles) == 0 {
		return nil
	}
	if holdsLibrary(p) {
		seen[p.ForTest] = true
		return nil
	}
	if p.PkgPath == Library || strings.HasPrefix(p.PkgPath, Library+"/") {
		return nil
	}
	seen[p.ForTest] = true
	dir := filepath.Dir(p.GoFiles[0])
	for _, f := range p.GoFiles {
		if strings.HasSuffix(f, "_test.go") {
			dir = filepath.Dir(f)
		}
	}
	imp, err := in.library(cmd, p, dir)
	if err != nil {
		return err
	}
	pkg := p.Name
	// The library imports much of the standard library, and packages of its own module: from inside,
	// that would be a cycle.
	if below(cmd.std(), dir) || beneathLibrary(p.ForTest) {
		pkg = strings.TrimSuffix(pkg, "_test") + "_test"
	}
	return in.add(filepath.Join(dir, "zz_ftgo_auto_test.go"), importFile(pkg, imp))
}

// holdsLibrary reports whether a package already imports the library, however far away.
func holdsLibrary(p *packages.Package) bool {
	found := false
	packages.Visit([]*packages.Package{p}, func(q *packages.Package) bool {
		found = found || q.PkgPath == Library
		return !found
	}, nil)
	return found
}

// library puts the library into the module that holds dir, and returns its import path there.
func (in *injection) library(cmd *goCommand, p *packages.Package, dir string) (string, error) {
	root, mod := "", ""
	if p.Module != nil {
		root, mod = p.Module.Dir, p.Module.Path
	} else {
		// Files that the command line names belong to the module that the go command runs in,
		// wherever they lie. The standard library is a module where it lies.
		at, err := filepath.Abs(cmd.dir)
		if err != nil {
			return "", err
		}
		if below(cmd.std(), dir) && !cmd.files {
			at = dir
		}
		if root, mod, err = cmd.mainModule(at); err != nil {
			return "", err
		}
		dir = at
	}
	if below(cmd.env("GOMODCACHE"), root) {
		if mod == "std" {
			return "", fmt.Errorf("the tests of %s cannot hold the library: this Go toolchain was downloaded as a module, and the go command lets nothing be added to it there; use an installed one", p.PkgPath)
		}
		if p.Module != nil && p.Module.Version != "" && cmd.name != "test" {
			return "", fmt.Errorf("%s lies in the module cache, where nothing can be added to it: name it with its version, %[1]s@%s, for ftgo install, run, live or record", p.PkgPath, p.Module.Version)
		}
		return "", fmt.Errorf("%s lies in the module cache, where nothing can be added to it: copy the module from %s, and build it there", p.PkgPath, root)
	}
	if mod == module {
		return Library, nil
	}
	// Below the standard library it is compiled once for all modules. A toolchain that was
	// downloaded as a module has it there no more than any other module in the cache.
	if src := cmd.std(); !below(cmd.env("GOMODCACHE"), src) {
		return "_ftgo/runtime", in.addLibrary(src, "")
	}
	if root == "" { // outside of any module: make the directory one
		root, mod = dir, "ftgo.local"
		release := strings.TrimPrefix(cmd.env("GOVERSION"), "go")
		if err := in.add(filepath.Join(root, "go.mod"), []byte("module ftgo.local\n\ngo "+release+"\n")); err != nil {
			return "", err
		}
	}
	return mod + "/_ftgo/runtime", in.addLibrary(root, mod+"/")
}

// addLibrary adds the library's source below root/_ftgo, with its imports of itself renamed: prefix
// begins the import paths of packages below root.
func (in *injection) addLibrary(root, prefix string) error {
	return fs.WalkDir(ftgo.Library, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") {
			return err
		}
		src, err := ftgo.Library.ReadFile(name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".go" {
			src = bytes.ReplaceAll(src, []byte(`"`+module+`/`), []byte(`"`+prefix+`_ftgo/`))
		}
		return in.add(filepath.Join(root, "_ftgo", filepath.FromSlash(name)), src)
	})
}

// importFile returns the source of a file that imports the library for its side effect.
func importFile(pkg, imp string) []byte {
	fset := token.NewFileSet()
	f := &ast.File{Name: ast.NewIdent(pkg)}
	astutil.AddNamedImport(fset, f, "_", imp)
	var b bytes.Buffer
	if err := format.Node(&b, fset, f); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// add adds a file to the overlay.
func (in *injection) add(name string, src []byte) error {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s is in the way: ftgo adds a file of that name while it builds", name)
	}
	real := filepath.Join(in.dir, digest(src)+"-"+filepath.Base(name))
	if old, err := os.ReadFile(real); err != nil || !bytes.Equal(old, src) {
		tmp, err := os.CreateTemp(in.dir, "tmp")
		if err != nil {
			return err
		}
		_, err = tmp.Write(src)
		err = errors.Join(err, tmp.Close(), os.Rename(tmp.Name(), real))
		if err != nil {
			return err
		}
	}
	in.replace[name] = real
	return nil
}

// write writes the overlay, with what is in the user's own added, and returns its path.
func (in *injection) write(user string) (string, error) {
	if user != "" {
		replace, err := readOverlay(user)
		if err != nil {
			return "", err
		}
		for k, v := range replace {
			if _, ok := in.replace[k]; !ok {
				in.replace[k] = v
			}
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": in.replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(in.dir, digest(data)+".overlay.json")
	if _, err := os.Stat(name); err == nil && runtime.GOOS != "windows" {
		return name, nil
	}
	return name, os.WriteFile(name, data, 0o666)
}

// readOverlay reads an overlay.
func readOverlay(name string) (map[string]string, error) {
	var o struct{ Replace map[string]string }
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		return nil, fmt.Errorf("-overlay: %w", err)
	}
	return o.Replace, nil
}
