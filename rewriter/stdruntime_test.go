package rewriter

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// runtimeFiles reads package runtime of the Go release in use.
func runtimeFiles(t *testing.T) []File {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}\n{{range .GoFiles}}{{.}}\n{{end}}", "runtime").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var files []File
	for _, name := range lines[1:] {
		src, err := os.ReadFile(filepath.Join(lines[0], name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, File{filepath.Join(lines[0], name), src})
	}
	return files
}

// The patches leave each declaration on its line.
func TestPatchRuntimeKeepsLines(t *testing.T) {
	files := runtimeFiles(t)
	patched, added, err := PatchRuntime(files, runtime.Version(), runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range []string{"type ftgo_Hooks struct", "func ftgo_enterSlow(", "func ftgo_funcID(", "func ftgo_started(", "func ftgo_dies("} {
		if !slices.ContainsFunc(added, func(f File) bool { return bytes.Contains(f.Src, []byte("\n"+decl)) }) {
			t.Errorf("no added file holds %s", decl)
		}
	}
	lines := func(name string, src []byte) (list []int) {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			list = append(list, fset.Position(declStart(d)).Line)
		}
		return list
	}
	for _, p := range patched {
		for _, f := range files {
			if f.Name != p.Name {
				continue
			}
			want, got := lines(f.Name, f.Src), lines(p.Name, p.Src)
			if len(want) != len(got) {
				t.Fatalf("%s: %d declarations, had %d", f.Name, len(got), len(want))
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("%s: declaration %d is on line %d, was on line %d", f.Name, i, got[i], want[i])
				}
			}
		}
	}
}

// A package runtime that lacks an anchor is refused with the anchor's name.
func TestPatchRuntimeMissingAnchor(t *testing.T) {
	files := runtimeFiles(t)
	for _, c := range []struct{ text, instead, want string }{
		{"type g struct", "type gg struct", "the fields of type g: found 0 times, want 1"},
		{"func gdestroy(", "func gdestroyed(", "func gdestroy, where goroutines end"},
		{"func runExitHooks(", "func runExitHook(", "func runExitHooks, where programs end"},
		{"func preprintpanics(", "func preprintpanic(", "func preprintpanics"},
		{"u.calleeFuncID = f.funcID", "u.calleeFuncID = 0", "calleeFuncID"},
		{"return srcFunc{f.datap, f.nameOff, f.startLine, f.funcID}", "return srcFunc{f.datap, f.nameOff, f.startLine, 0}", "srcFunc"},
		{"nonWrapperFrames := 0", "var nonWrapperFrames int", "gorecover: found 1 times, want 2"},
		{"func tracebackPCs(", "func tracebackPC(", "in func tracebackPCs"},
		{"func showfuncinfo(", "func showfunc(", "in func showfuncinfo"},
		{"func runtime_expandFinalInlineFrame(", "func expandFinalInlineFrame(", "runtime_expandFinalInlineFrame"},
		{"func fpunwindExpand(", "func fpunwind(", "fpunwindExpand"},
		{"func fpTracebackPartialExpand(", "func fpTracebackExpand(", "fpTracebackPartialExpand"},
		{"func (ci *Frames) Next(", "func (ci *Frames) Following(", "(*Frames).Next"},
	} {
		mangled := make([]File, len(files))
		found := false
		for i, f := range files {
			src := bytes.ReplaceAll(f.Src, []byte(c.text), []byte(c.instead))
			found = found || !bytes.Equal(src, f.Src)
			mangled[i] = File{f.Name, src}
		}
		if !found {
			t.Errorf("package runtime does not hold %q: the test shows nothing", c.text)
			continue
		}
		_, _, err := PatchRuntime(mangled, "go1.27.9", "amd64")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), SupportedReleases) {
			t.Errorf("without %q: %v", c.text, err)
		}
	}
}

func TestPatchRuntimeAsm(t *testing.T) {
	f := File{"/go/src/runtime/asm_amd64.s", []byte("TEXT ·getfp<ABIInternal>(SB),NOSPLIT|NOFRAME,$0\n\tRET\n")}
	for arch, want := range map[string]string{"amd64": "TEXT runtime·ftgo_enter<ABIInternal>", "arm64": "CNTVCT_EL0", "386": ""} {
		got := string(PatchRuntimeAsm(f, arch))
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", arch, got)
		}
	}
	if PatchRuntimeAsm(File{"x.s", []byte("TEXT ·other(SB)")}, "amd64") != nil {
		t.Error("another file was patched")
	}
}
