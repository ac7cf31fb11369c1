package rewriter

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// A small function can have a hook and still be inlined if its check is free of charge for the
// inliner. The inliner charges nothing for an assignment to an element of an array of coverage
// counters, including the right side (isIndexingCoverageCounter in cmd/compile/internal/inline):
// covered programs are to be inlined as others are. So the cold part of the check is a call in the
// right side of such an assignment, to an array of no size:
//
//	if ftgo_mask[7] != 0 { var ftgo_d ftgo_bool; ftgo_cov[0] = func() (_ struct{}) {
//		if ftgo_takeInlined(&ftgo_sites[7]) { r = ftgo_Small(a); ftgo_d = true }; return
//	}(); if ftgo_d { return } }
//
// The compiler takes this apart again, and leaves the comparison and the calls. The compiler does
// not promise to charge nothing. So ftgo asks each compiler once (hides); if it charges otherwise,
// functions get the usual form, which is not inlined.

// In this form the comparison and a branch are charged for, so that a function of cost 68 or more
// would not be inlined. A function of cost 68 to 73 has the comparison in the assignment too. On
// each call it sets one more variable and tests it:
//
//	var ftgo_d ftgo_bool; ftgo_cov[0] = func() (_ struct{}) {
//		if ftgo_mask[7] != 0 && ftgo_takeInlined(&ftgo_sites[7]) { … } …
//	}(); if ftgo_d { return }

// The inliner charges hiddenCost for the check in the first form, and tightCost in the second.
const (
	hiddenCost = 13
	tightCost  = 7
)

// costHidden returns what the inliner charges for the check in a function of the given cost.
func costHidden(cost int) int {
	if cost+hiddenCost <= InlineKeep {
		return hiddenCost
	}
	return tightCost
}

// hiddenArray is the name of the array in packages that cmd/cover does not instrument; see
// hidingArray.
const hiddenArray = "ftgo_cov"

// isGeneric reports whether a function or its receiver has type parameters. The compiler decides on
// inlining of a generic function in each package that imports it, where it does not know of the
// array. A profile does not tell the function's instances apart.
func isGeneric(d *ast.FuncDecl) bool {
	if d.Type.TypeParams != nil || d.Recv == nil {
		return d.Type.TypeParams != nil
	}
	_, _, generic := receiver(d)
	return generic
}

// nameResults gives names to all results of a function that have none, and returns the names of all
// results.
func (w *writer) nameResults(f *file, t *ast.FuncType) (names []string) {
	if t.Results == nil {
		return nil
	}
	for _, r := range t.Results.List {
		for i := range max(1, len(r.Names)) {
			fresh := local(localNamed, len(names))
			if !t.Results.Opening.IsValid() {
				f.edits.insert(f.off(r.Type.Pos()), "("+fresh+" "+f.directive(w.fset, r.Type.Pos(), true))
				f.edits.insert(f.off(r.Type.End()), ")")
				return []string{fresh}
			}
			names = append(names, w.nameParam(f, r, i, fresh))
		}
	}
	return names
}

// A coverConfig is the file that -coveragecfg names to the compiler (CoverFixupConfig in
// internal/coverage/covcmd).
type coverConfig struct {
	MetaVar, MetaHash, Strategy, CounterPrefix, PkgIdVar, CounterMode, CounterGranularity string
	MetaLen                                                                               int
}

// writeCoverConfig writes a configuration that makes hiddenArray an array of counters and does
// nothing else: in the mode of a test's main package, the compiler registers nothing.
func writeCoverConfig(name string) error {
	b, err := json.Marshal(coverConfig{
		MetaVar: "ftgo_coverMeta", MetaHash: "00000000000000000000000000000000", Strategy: "normal", CounterPrefix: hiddenArray,
		PkgIdVar: "ftgo_coverID", CounterMode: "testmain", CounterGranularity: "perblock",
	})
	if err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o666)
}

// hidingArray returns the array's name under the configuration of cmd/cover, or "" if that cannot
// be read. The name has to begin with the configuration's prefix.
func hidingArray(config string) string {
	var c coverConfig
	b, err := os.ReadFile(config)
	if err != nil || json.Unmarshal(b, &c) != nil || c.CounterPrefix == "" {
		return ""
	}
	return c.CounterPrefix + "_" + hiddenArray
}

// canary is a package with a function in each hidden form and the same function without a hook.
const canary = `package canary

var (
	ftgo_mask       [1]byte
	ftgo_cov        [1]struct{}
	ftgo_registered = register()
)

//go:noinline
func register() bool { return true }

//go:noinline
func ftgo_take() bool { return true }

//go:noinline
func ftgo_Small(a int) int { return a }

func Plain(a int) (r int) {
	return a
}

func Small(a int) (r int) { if ftgo_mask[0] != 0 { var ftgo_d bool; ftgo_cov[0] = func() (_ struct{}) { if ftgo_take() { r = ftgo_Small(a); ftgo_d = true }; return }(); if ftgo_d { return } }
	return a
}

func Tight(a int) (r int) { var ftgo_d bool; ftgo_cov[0] = func() (_ struct{}) { if ftgo_mask[0] != 0 && ftgo_take() { r = ftgo_Small(a); ftgo_d = true }; return }(); if ftgo_d { return }
	return a
}
`

var canaryCost = regexp.MustCompile(`can inline (Plain|Small|Tight) with cost (\d+) `)

// hides reports whether a compiler charges hiddenCost and tightCost for the two forms. The answer
// is kept for this compiler in the user's cache directory.
func hides(compiler string) bool {
	file := ""
	if cache, err := os.UserCacheDir(); err == nil {
		if info, err := os.Stat(compiler); err == nil {
			sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %s", compiler, info.Size(), info.ModTime().UnixNano(), canary))
			file = filepath.Join(cache, "ftgo", "compilers", hex.EncodeToString(sum[:8]))
		}
	}
	if b, err := os.ReadFile(file); err == nil {
		return string(b) == "hides"
	}
	answer := askCompiler(compiler)
	if file != "" && os.MkdirAll(filepath.Dir(file), 0o777) == nil {
		text := "does not hide"
		if answer {
			text = "hides"
		}
		tmp := fmt.Sprintf("%s.%d", file, os.Getpid())
		if os.WriteFile(tmp, []byte(text), 0o666) == nil {
			os.Rename(tmp, file) // if that fails, the next build asks again
		}
	}
	return answer
}

// askCompiler compiles canary, and reports whether the compiler charges what is expected.
func askCompiler(compiler string) bool {
	dir, err := os.MkdirTemp("", "ftgo")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	src, config := filepath.Join(dir, "canary.go"), filepath.Join(dir, "config")
	if os.WriteFile(src, []byte(canary), 0o666) != nil || writeCoverConfig(config) != nil {
		return false
	}
	out, err := exec.Command(compiler, "-p", "canary", "-m=2", "-coveragecfg="+config, "-o", filepath.Join(dir, "canary.a"), src).CombinedOutput()
	if err != nil {
		return false
	}
	cost := map[string]int{}
	for _, m := range canaryCost.FindAllStringSubmatch(string(out), -1) {
		cost[m[1]], _ = strconv.Atoi(m[2])
	}
	return len(cost) == 3 && cost["Small"]-cost["Plain"] == hiddenCost && cost["Tight"]-cost["Plain"] == tightCost
}
