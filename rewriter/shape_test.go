package rewriter

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/dave/dst/decorator"
	"github.com/google/go-cmp/cmp"

	"github.com/ftgo/ftgo/internal/hook"
)

func TestShapePrefixesWhatIsDeclared(t *testing.T) {
	got, err := readShape(fstest.MapFS{
		"internal/hook/a.go":      {Data: []byte("// Package hook.\npackage hook\n\nimport \"unsafe\"\n\ntype New struct {\n\tNew, Other *New\n\tF func(New unsafe.Pointer) [Size]Other\n}\n")},
		"internal/hook/b.go":      {Data: []byte("package hook\n\nconst Size = 1 << 4\n\ntype Other uint8\n")},
		"internal/hook/a_test.go": {Data: []byte("package hook\n\ntype Test int\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "\n\ntype ftgo_New struct {\n\tNew, Other *ftgo_New\n\tF func(New unsafe.Pointer) [ftgo_Size]ftgo_Other\n}\n\n\nconst ftgo_Size = 1 << 4\n\ntype ftgo_Other uint8\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestShapeRefusesImports(t *testing.T) {
	_, err := readShape(fstest.MapFS{"internal/hook/a.go": {Data: []byte("package hook\n\nimport \"fmt\"\n")}})
	if want := `internal/hook/a.go imports "fmt"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// A patch of our own source that finds nothing to patch gives an error that names the text.
func TestPatchesOfOwnSource(t *testing.T) {
	defer func(src string) { runtimeHooks = src }(runtimeHooks)
	files := runtimeFiles(t)
	for _, name := range []string{"ftgo_enter", "ftgo_exit"} {
		whole := runtimeHooks
		runtimeHooks = strings.ReplaceAll(whole, name+"Slow", "ftgo_other")
		if _, _, err := PatchRuntime(files, runtime.Version(), "386"); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name+"Slow")) {
			t.Errorf("without %sSlow: %v", name, err)
		}
		runtimeHooks = whole
	}
	if !strings.Contains(runtimeHooks, "const ftgo_inlines = false") {
		t.Error("compileRuntime has nothing to replace in programs that are compiled with a profile")
	}
}

// The fields that the patch adds to g begin with the fields of hook.Slot: the library gets a
// pointer to the first.
func TestSlotIsWhatGHolds(t *testing.T) {
	f, err := decorator.Parse("package runtime\n\ntype g struct {\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range anchors {
		if a.hint == "type g struct" {
			a.apply(f)
		}
	}
	var buf bytes.Buffer
	if err := decorator.Fprint(&buf, f); err != nil {
		t.Fatal(err)
	}
	var added []string
	for line := range strings.Lines(buf.String()) {
		if fields := strings.Fields(line); len(fields) == 2 && strings.HasPrefix(fields[0], "ftgo") {
			added = append(added, fields[1])
		}
	}
	var want []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[hook.Slot]()) {
		want = append(want, field.Type.String())
	}
	if len(added) < len(want) {
		t.Fatalf("the patch adds %d fields, and a hook.Slot has %d", len(added), len(want))
	}
	if diff := cmp.Diff(want, added[:len(want)]); diff != "" {
		t.Errorf("types of hook.Slot's fields, and of the fields that g gets:\n%s", diff)
	}
}

// TestLayoutThatHooksAssume checks what the assembly and the patched runtime assume of
// internal/hook without naming it.
func TestLayoutThatHooksAssume(t *testing.T) {
	var (
		f hook.Frame
		g hook.Goroutine
	)
	for _, c := range []struct {
		claim string
		holds bool
	}{
		{"one access of 8 bytes covers Frame.Mode and Frame.Over", unsafe.Sizeof(f.Mode) == 4 && unsafe.Sizeof(f.Over) == 4 && unsafe.Offsetof(f.Over) == unsafe.Offsetof(f.Mode)+4},
		{"gdestroy links ended goroutines by the first word: Goroutine.Next", unsafe.Offsetof(g.Next) == 0},
		{"three stores make a record: of 8 bytes, of 4 at RecordFunc, and of 4 at RecordUpper", hook.RecordFunc == 8 && hook.RecordUpper == 12 && hook.RecordSize == 16},
		{"a kind fits below the clock", hook.KindFunction|hook.KindEntry|hook.KindReturn < 1<<hook.ClockShift},
		{"1 lies where the histogram begins", hook.HistZero == 0x3ff0000000000000>>hook.HistShift},
	} {
		if !c.holds {
			t.Errorf("no longer true: %s", c.claim)
		}
	}
}
