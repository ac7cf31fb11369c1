// Estimate compares the rewriter's estimate of what the compiler inlines with the compiler's
// decisions, function by function.
//
//	cd some/module && go run github.com/ftgo/ftgo/internal/estimate [-v] ./...
//
// Precision is the share of functions that are inlined among the functions that the estimate takes
// for inlined. Recall is the share of functions that the estimate takes for inlined among the
// functions that are inlined. Function literals are left out: the compiler's decision on them
// depends on where they are called.
package main

import (
	"flag"
	"fmt"
	"go/build"
	"go/constant"
	"go/token"
	"go/types"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/rewriter"
)

var decision = regexp.MustCompile(`^(.*\.go):(\d+):\d+: (can|cannot) inline (\S+?)(?: with cost (\d+) as:|: (.*))`)

// A verdict is what the compiler says about a function.
type verdict struct {
	inlined bool
	cost    int
	reason  string
}

func main() {
	log.SetFlags(0)
	verbose := flag.Bool("v", false, "print every difference")
	all := flag.Bool("all", false, "print every function with both costs")
	std := flag.Bool("std", false, "print what the estimate knows of the standard library, as rewriter/stdfacts.txt lists them")
	wrappers := flag.Bool("wrappers", false, "print what wrappers the packages below the given directories would share, as rewriter/wrappers.txt lists them")
	flag.Parse()
	if *wrappers {
		if err := printWrappers(flag.Args()); err != nil {
			log.Fatal(err)
		}
		return
	}
	if *std {
		if err := printStd(); err != nil {
			log.Fatal(err)
		}
		return
	}
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	compiler, err := decisions(patterns)
	if err != nil {
		log.Fatal(err)
	}
	pkgs, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule}, patterns...)
	if err != nil {
		log.Fatal(err)
	}
	// In a build, the rewriter knows the facts of the packages that a package imports.
	known := map[string]string{}
	results := map[*packages.Package]*rewriter.Result{}
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		if p.Module == nil && !slices.Contains(pkgs, p) { // the rewriter has its facts
			return
		}
		var files []rewriter.File
		for _, name := range p.CompiledGoFiles {
			src, err := os.ReadFile(name)
			if err != nil {
				log.Fatal(err)
			}
			files = append(files, rewriter.File{Name: name, Src: src})
		}
		if len(files) == 0 {
			return
		}
		res, err := rewriter.Rewrite(rewriter.Package{Path: p.PkgPath, Files: files}, rewriter.Options{
			Inline: rewriter.InlineKeep,
			Facts:  func(path string) string { return known[path] },
		})
		if err != nil {
			log.Print(err)
			return
		}
		known[p.PkgPath] = res.Facts
		results[p] = res
	})
	var both, wrong, missed, total int
	for _, p := range pkgs {
		res := results[p]
		if res == nil {
			continue
		}
		for _, f := range res.Funcs {
			v, ok := compiler[f.File+":"+strconv.Itoa(f.Line)]
			if !ok || f.Form == rewriter.Alone {
				continue
			}
			if *all {
				fmt.Printf("%d %s:%d %s: estimate %d, compiler %d\n", f.Cost-v.cost, f.File, f.Line, f.Name, f.Cost, v.cost)
			}
			total++
			mine := f.Form == rewriter.Inlined
			switch {
			case mine && v.inlined:
				both++
			case mine:
				wrong++
			case v.inlined:
				missed++
			}
			if *verbose && mine != v.inlined {
				fmt.Printf("%s:%d %s: estimate %d, compiler %d %s\n", f.File, f.Line, f.Name, f.Cost, v.cost, v.reason)
			}
		}
	}
	fmt.Printf("%d functions, %d inlined: precision %.3f, recall %.3f\n", total, both+missed,
		float64(both)/float64(max(1, both+wrong)), float64(both)/float64(max(1, both+missed)))
}

// printStd prints the facts of the standard library that the estimate uses; see rewriter/facts.go.
func printStd() error {
	out, err := exec.Command("go", "build", "-gcflags=-m=2", "std").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	costs := map[string]map[string]string{}
	path := ""
	for _, line := range strings.Split(string(out), "\n") {
		if rest, ok := strings.CutPrefix(line, "# "); ok {
			path = rest
			costs[path] = map[string]string{}
		}
		if d := decision.FindStringSubmatch(line); d != nil && d[3] == "can" {
			costs[path][d[4]] = d[5]
		}
	}
	pkgs, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes}, "std")
	if err != nil {
		return err
	}
	fmt.Println("# Facts of the standard library, see facts.go.")
	slices.SortFunc(pkgs, func(a, b *packages.Package) int { return strings.Compare(a.PkgPath, b.PkgPath) })
	for _, p := range pkgs {
		if strings.HasPrefix(p.PkgPath, "vendor/") || p.PkgPath == "unsafe" {
			continue
		}
		if list := facts(p.Types, costs[p.PkgPath]); len(list) > 0 {
			slices.Sort(list)
			fmt.Printf("%s: %s\n", p.PkgPath, strings.Join(list, " "))
		}
	}
	return nil
}

// common is the number of packages that must need a wrapper for package runtime to have it, by
// whether the wrapper is for a hidden form. That is needed with -inline=hook alone.
var common = map[bool]int{false: 3, true: 6}

// printWrappers prints the wrappers that package runtime should have; see rewriter/wrappers.go.
func printWrappers(dirs []string) error {
	packages := map[string]int{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(dir string, d os.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if d.Name() == "testdata" || strings.HasPrefix(d.Name(), "_") {
				return filepath.SkipDir
			}
			pkg, err := build.ImportDir(dir, 0)
			if err != nil || len(pkg.GoFiles) == 0 {
				return nil // of another system
			}
			var files []rewriter.File
			for _, name := range pkg.GoFiles {
				name = filepath.Join(dir, name)
				src, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				files = append(files, rewriter.File{Name: name, Src: src})
			}
			for _, opt := range []rewriter.Options{{Inline: rewriter.InlineKeep}, {Inline: -1, Hide: "a"}} {
				res, err := rewriter.Rewrite(rewriter.Package{Path: dir, Files: files}, opt)
				if err != nil {
					return err
				}
				for name := range res.Wrappers {
					hidden := strings.HasPrefix(name, hook.HiddenPrefix)
					if hidden == (opt.Hide != "") {
						packages[strings.TrimPrefix(name, hook.Prefix)]++
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	var list []string
	for name, n := range packages {
		if n >= common[name[0] == '0'] {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	fmt.Println(strings.Join(list, "\n"))
	return nil
}

// facts returns the facts of a package. costs are the costs of its inlined functions, by the
// compiler's names for them.
func facts(p *types.Package, costs map[string]string) (list []string) {
	add := func(name string, cost string, sig *types.Signature) {
		var what []string
		if cost != "" {
			what = append(what, cost)
		}
		ifaces := ""
		for i := range sig.Params().Len() {
			t := sig.Params().At(i).Type()
			if sig.Variadic() && i == sig.Params().Len()-1 {
				v := fmt.Sprintf("v%d", i)
				if s, ok := t.(*types.Slice); ok && types.IsInterface(s.Elem()) {
					v += "a"
				}
				what = append(what, v)
			} else if i < 10 && types.IsInterface(t) {
				ifaces += strconv.Itoa(i)
			}
		}
		if ifaces != "" {
			what = append(what, "p"+ifaces)
		}
		if sig.Results().Len() == 1 {
			what = append(what, result(p, sig.Results().At(0).Type()))
		}
		what = slices.DeleteFunc(what, func(s string) bool { return s == "" })
		if len(what) > 0 {
			list = append(list, name+"="+strings.Join(what, ","))
		}
	}
	for _, name := range p.Scope().Names() {
		if !token.IsExported(name) {
			continue
		}
		switch obj := p.Scope().Lookup(name).(type) {
		case *types.Const:
			if obj.Val().Kind() == constant.Bool {
				list = append(list, name+"=c"+obj.Val().String())
			} else if path := p.Path(); path != "syscall" && !strings.HasPrefix(path, "debug/") && !strings.Contains(path, "internal/") {
				// Other packages have thousands, of the system and of file formats.
				list = append(list, name+"=c")
			}
		case *types.Var:
			list = append(list, name+"="+result(p, obj.Type()))
		case *types.Func:
			add(name, costs[name], obj.Signature())
		case *types.TypeName:
			kind := "t"
			switch u := obj.Type().Underlying().(type) {
			case *types.Interface:
				kind = "i"
			case *types.Basic:
				kind = u.Name()
			}
			if l := letters(obj.Type()); kind == "t" && l != "" {
				kind += ",w" + l
			}
			list = append(list, name+"="+kind)
			named, ok := obj.Type().(*types.Named)
			if !ok || kind == "i" {
				continue
			}
			for m := range named.Methods() {
				if !m.Exported() {
					continue
				}
				if _, ptr := m.Signature().Recv().Type().(*types.Pointer); ptr {
					add(name+".*"+m.Name(), costs["(*"+name+")."+m.Name()], m.Signature())
				} else {
					add(name+"."+m.Name(), costs[name+"."+m.Name()], m.Signature())
				}
			}
		}
	}
	return list
}

// letters returns the letters of a type; see rewriter/wrappers.go.
func letters(t types.Type) string {
	if named, ok := t.(*types.Named); ok && named.TypeParams().Len() > 0 {
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Chan, *types.Signature:
		return "P"
	case *types.Interface:
		return "E"
	case *types.Slice:
		return "L"
	case *types.Basic:
		if u.Kind() == types.UnsafePointer {
			return "P"
		}
		return rewriter.BasicLetters[u.Name()]
	case *types.Struct:
		all := ""
		for f := range u.Fields() {
			l := letters(f.Type())
			if l == "" || f.Name() == "_" {
				return ""
			}
			all += l
		}
		return rewriter.StructLetters(all)
	}
	return ""
}

// result returns the fact of a result's type; see rewriter/facts.go.
func result(p *types.Package, t types.Type) string {
	ptr, base := "", t
	if e, ok := t.(*types.Pointer); ok {
		ptr, base = "*", e.Elem()
	}
	switch base := base.(type) {
	case *types.Named:
		if base.Obj().Pkg() == p && base.Obj().Exported() {
			return "r" + ptr + base.Obj().Name()
		}
	case *types.Basic:
		return "r" + ptr + base.Name()
	}
	if _, ok := t.(*types.TypeParam); ok {
		return ""
	}
	if types.IsInterface(t) {
		if t.String() == "error" || t.String() == "any" {
			return "r" + t.String()
		}
		return "r^"
	}
	return "r~"
}

// decisions runs the compiler, and returns what it says about each function. Of the instances of a
// generic function it keeps one.
func decisions(patterns []string) (map[string]verdict, error) {
	cmd := exec.Command("go", append([]string{"build", "-gcflags=-m=2"}, patterns...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	m := map[string]verdict{}
	for _, line := range strings.Split(string(out), "\n") {
		d := decision.FindStringSubmatch(line)
		if d == nil || strings.Contains(d[4], ".func") {
			continue
		}
		v := verdict{inlined: d[3] == "can", reason: d[6]}
		v.cost, _ = strconv.Atoi(d[5])
		if _, after, ok := strings.Cut(d[6], "cost "); ok {
			fmt.Sscan(after, &v.cost)
		}
		file := d[1]
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		key := file + ":" + d[2]
		if _, ok := m[key]; !ok {
			m[key] = v
		}
	}
	return m, nil
}
