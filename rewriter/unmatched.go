package rewriter

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/ftgo/ftgo/internal/pattern"
)

// unmatched says which patterns of -pkg and globs of -notrace match nothing in a build, and why a
// build holds no hook at all.
func unmatched(cmd *goCommand, pkgs []*packages.Package) (warnings []string, noHooks string) {
	src := cmd.std()
	var outside, inside []*packages.Package // the standard library
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		switch {
		case len(p.GoFiles) == 0 || isLibrary(p.PkgPath):
		case below(src, p.GoFiles[0]):
			inside = append(inside, p)
		default:
			outside = append(outside, p)
		}
	})
	hookable := outside
	if cmd.flags.Std {
		hookable = append(slices.Clone(outside), inside...)
	}
	if len(hookable) == 0 && len(inside) > 0 {
		return nil, "no function is hooked: its packages belong to the standard library, which -std hooks"
	}
	if cmd.flags.Pkg != "" {
		matched := 0
		for _, p := range strings.Split(cmd.flags.Pkg, ",") {
			match := func(q *packages.Package) bool {
				return pattern.Package(p, q.PkgPath) || pattern.Package(p, strings.TrimSuffix(q.PkgPath, "_test"))
			}
			switch {
			case slices.ContainsFunc(hookable, match):
				matched++
			case slices.ContainsFunc(inside, match):
				warnings = append(warnings, fmt.Sprintf("-pkg=%s: matched the standard library alone, which is hooked with -std", p))
			default:
				warnings = append(warnings, fmt.Sprintf("-pkg=%s matched no packages", p))
			}
		}
		if matched == 0 {
			noHooks = fmt.Sprintf("no function is hooked: -pkg=%s matches no package that can be", cmd.flags.Pkg)
			return nil, noHooks
		}
	}
	return append(warnings, unmatchedGlobs(cmd.flags, hookable)...), ""
}

// warnUnmatched does the same for packages that are listed, not built.
func warnUnmatched(pkgs []*packages.Package, flags Flags) {
	std := flags
	std.Std = true // what is listed is listed, of the standard library too
	warnings, noHooks := unmatched(&goCommand{ctx: context.Background(), flags: std}, pkgs)
	if noHooks != "" {
		warnings = append(warnings, noHooks)
	}
	for _, w := range warnings {
		fmt.Fprintln(os.Stderr, "ftgo: warning:", w)
	}
}

// unmatchedGlobs says which globs of -notrace match no function of the packages that are hooked.
func unmatchedGlobs(flags Flags, pkgs []*packages.Package) (warnings []string) {
	if flags.Notrace == "" {
		return nil
	}
	globs := strings.Split(flags.Notrace, ",")
	match := func(name string) {
		globs = slices.DeleteFunc(globs, func(g string) bool { return pattern.Match(g, name) })
	}
	each := func(do func(p *packages.Package)) {
		for _, p := range pkgs {
			if len(globs) > 0 && flags.hooksPackage(strings.TrimSuffix(p.PkgPath, "_test")) {
				do(p)
			}
		}
	}
	// Function literals have names that take longer to find, so they are looked at if no
	// declaration matches.
	each(func(p *packages.Package) {
		for _, file := range p.GoFiles {
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				continue
			}
			for _, d := range tree.Decls {
				if d, ok := d.(*ast.FuncDecl); ok {
					match(symbolPath(p) + "." + funcName(d, nil))
				}
			}
		}
	})
	each(func(p *packages.Package) {
		files, err := readFiles(p.GoFiles)
		if err != nil {
			return
		}
		res, err := Rewrite(Package{Path: symbolPath(p), Files: files}, Options{Inline: InlineKeep})
		if err != nil {
			return
		}
		for _, f := range res.Funcs {
			match(symbolPath(p) + "." + f.Name)
		}
	})
	for _, g := range globs {
		warnings = append(warnings, fmt.Sprintf("-notrace=%s matched no functions", g))
	}
	return warnings
}

// symbolPath is how a package begins the names of its functions.
func symbolPath(p *packages.Package) string {
	if p.Name == "main" {
		return "main"
	}
	return p.PkgPath
}
