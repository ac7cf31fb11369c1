// Estimate compares the rewriter's estimate of what the compiler inlines with the compiler's own decisions, function by function.
//
//	cd some/module && go run github.com/ftgo/ftgo/internal/estimate [-v] ./...
//
// Precision is the share of the functions that the estimate takes for inlined which are; recall the share of the inlined ones that it
// takes for inlined. Function literals are left out: the compiler's decision on them depends on where they are called.
package main

import (
	"flag"
	"fmt"
	"go/token"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/ftgo/ftgo/rewriter"
)

var decision = regexp.MustCompile(`^(.*\.go):(\d+):\d+: (can|cannot) inline (\S+?)(?: with cost (\d+) as:|: (.*))`)

type verdict struct {
	inlined bool
	cost    int
	reason  string
}

func main() {
	log.SetFlags(0)
	verbose := flag.Bool("v", false, "print every difference")
	std := flag.Bool("std", false, "print the costs of the standard library's inlined functions, as rewriter/stdcosts.txt lists them")
	flag.Parse()
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
	pkgs, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles}, patterns...)
	if err != nil {
		log.Fatal(err)
	}
	var both, wrong, missed, total int
	for _, p := range pkgs {
		var files []rewriter.File
		for _, name := range p.CompiledGoFiles {
			src, err := os.ReadFile(name)
			if err != nil {
				log.Fatal(err)
			}
			files = append(files, rewriter.File{Name: name, Src: src})
		}
		if len(files) == 0 {
			continue
		}
		res, err := rewriter.Rewrite(rewriter.Package{Path: p.PkgPath, Files: files}, rewriter.Options{Inline: rewriter.InlineKeep})
		if err != nil {
			log.Print(err)
			continue
		}
		for _, f := range res.Funcs {
			v, ok := compiler[f.File+":"+strconv.Itoa(f.Line)]
			if !ok || f.Form == rewriter.Alone {
				continue
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

// printStd lists the exported functions of the standard library that the compiler inlines, with their costs.
func printStd() error {
	out, err := exec.Command("go", "build", "-gcflags=-m=2", "std").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	list := map[string][]string{}
	path := ""
	for _, line := range strings.Split(string(out), "\n") {
		if rest, ok := strings.CutPrefix(line, "# "); ok {
			path = rest
		}
		d := decision.FindStringSubmatch(line)
		if d == nil || d[3] != "can" || !token.IsExported(d[4]) || !token.IsIdentifier(d[4]) || strings.Contains("/"+path+"/", "/internal/") ||
			strings.HasPrefix(path, "vendor/") || strings.HasPrefix(path, "runtime") {
			continue
		}
		list[path] = append(list[path], d[4]+" "+d[5])
	}
	for _, p := range slices.Sorted(maps.Keys(list)) {
		slices.Sort(list[p])
		fmt.Printf("%s: %s\n", p, strings.Join(list[p], ", "))
	}
	return nil
}

// decisions runs the compiler and reads what it says about each function. Of several instances of a generic function one is enough.
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
