package rewriter

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// The estimate of what inlining costs equals the compiler's own figure, for each construct.
func TestCosts(t *testing.T) {
	src, err := os.ReadFile("testdata/costs.go.in")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "costs.go")
	for name, text := range map[string]string{file: string(src), filepath.Join(dir, "go.mod"): "module costs\n\ngo 1.26\n", filepath.Join(dir, "empty.s"): ""} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-gcflags=-m=2", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOARCH=amd64")
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	costs := map[int]int{} // by line
	for _, m := range regexp.MustCompile(`(?m)^\./costs\.go:(\d+):\d+: (?:can inline \S+ with cost (\d+) as:|cannot inline \S+: function too complex: cost (\d+) )`).FindAllSubmatch(out, -1) {
		line, _ := strconv.Atoi(string(m[1]))
		if _, ok := costs[line]; ok {
			continue // of a function literal
		}
		costs[line], _ = strconv.Atoi(string(m[2]) + string(m[3]))
	}
	if len(costs) < 100 {
		t.Fatalf("the compiler told %d costs:\n%s", len(costs), out)
	}
	res, err := Rewrite(Package{Path: "costs", Files: []File{{file, src}}}, Options{Inline: InlineKeep})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range res.Funcs {
		want, ok := costs[f.Line]
		delete(costs, f.Line)
		if ok && f.Cost != want {
			t.Errorf("%s: estimate %d, compiler %d", f.Name, f.Cost, want)
		}
	}
}

// Facts come out of the export data as they went in.
func TestFacts(t *testing.T) {
	src := "package p\nimport \"io\"\ntype T struct{}\nfunc (*T) M(w io.Writer, x ...any) *T { return nil }\nfunc (T) V() int { return 1 }\n" +
		"type I interface{ M() }\ntype K uint8\nconst C = 3\nvar V = &T{}\nfunc hidden() {}\nfunc G() (int, error) { return 0, nil }\n"
	res, err := Rewrite(Package{Path: "p", Files: []File{{"p.go", []byte(src)}}}, Options{Inline: InlineKeep})
	if err != nil {
		t.Fatal(err)
	}
	const want = "@=p G=3 I=i K=uint8 T.*M=2,v1a,p0,r*T T.V=2,rint T=t V=r*T"
	if res.Facts != want {
		t.Fatalf("facts %q, want %q", res.Facts, want)
	}
	m := parseFacts(res.Facts)
	k := m["T.M"]
	if !k.pointer || k.cost != 2 || !k.variadic || k.fixed != 1 || !k.ifaces || k.params != "0" || k.result != "*T" {
		t.Errorf("T.M: %+v", k)
	}
	c := newCosts(nil, func(string) string { return res.Facts })
	if !m["I"].iface || m["K"].basic != "uint8" || !c.known("p", "C").constant || c.known("p", "T.none").known || c.packageName("p") != "p" {
		t.Errorf("%+v", m)
	}
}

// The compiler of this release charges nothing for the check of small hooked functions. A compiler
// that charges for it is noticed.
func TestHides(t *testing.T) {
	out, err := exec.Command("go", "env", "GOTOOLDIR").Output()
	if err != nil {
		t.Fatal(err)
	}
	compiler := filepath.Join(strings.TrimSpace(string(out)), "compile")
	if !askCompiler(compiler) {
		t.Error("this compiler charges for what is assigned to coverage counters: small functions are hooked or inlined, not both")
	}
	if runtime.GOOS == "windows" {
		return
	}
	honest := filepath.Join(t.TempDir(), "compile")
	const script = "#!/bin/sh\necho 'can inline Plain with cost 2 as: x'\necho 'can inline Small with cost 75 as: x'\n"
	if err := os.WriteFile(honest, []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	if askCompiler(honest) {
		t.Error("a compiler that charges for the check was not noticed")
	}
}
