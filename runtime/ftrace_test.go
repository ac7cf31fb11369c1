package ftrace

import (
	"bytes"
	"errors"
	"testing"
)

// These tests run in a build without hooks, and check what the package is there. What it does with hooks is shown by the scripts of
// cmd/ftgo, which build the programs in internal/testprog.

func TestWithoutHooks(t *testing.T) {
	if rt != nil {
		t.Skip("this build has hooks")
	}
	var b bytes.Buffer
	for name, err := range map[string]error{
		"SetTracer":  SetTracer("function"),
		"SetFilter":  SetFilter("main.*"),
		"SetNotrace": SetNotrace("main.*"),
		"Register":   Register(Tracer{Name: "x", Func: Stub}),
		"WriteTrace": WriteTrace(&b),
		"Reset":      Reset(),
	} {
		if !errors.Is(err, ErrNotInstrumented) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b.Len() != 0 {
		t.Errorf("WriteTrace wrote %q", &b)
	}
	f := NewFunc("example.com/p.F")
	if f.Enabled() {
		t.Error("a function is enabled")
	}
	Exit(Enter(f))
	Stop()
	Start()
	if Depth() != 0 || Overruns() != 0 || ReadStats() != (Stats{}) {
		t.Error("something was counted")
	}
	if got := CurrentTracer(); got != "nop" {
		t.Errorf("current tracer is %s", got)
	}
	if got := AvailableTracers(); len(got) != 3 {
		t.Errorf("available tracers are %v", got)
	}
	if err := SetMaxStack(0); err == nil {
		t.Error("a return stack of 0 was taken")
	}
	if err := SetMaxGraphDepth(65536); err == nil {
		t.Error("a depth of 65536 was taken")
	}
	if err := SetOption("funcgraph-nothing"); err == nil {
		t.Error("an option that is not was taken")
	}
}

// The pointers must be bound by the compiler, not by an init function: a tracer that the environment asks for is on before this
// package is initialized.
func TestPointersAreStubs(t *testing.T) {
	if rt != nil {
		t.Skip("this build has hooks")
	}
	if hooks.Enter == nil || hooks.Exit == nil {
		t.Fatal("a pointer is nil")
	}
	if hooks.Enter(nil, nil, nil, 0, 0) != 0 {
		t.Error("the stub enters")
	}
}

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int{"512k": 512, "1K": 1, "16M": 16 << 10, "2G": 2 << 20, "3m": 3 << 10} {
		if got, ok := parseSize(s); !ok || got != want {
			t.Errorf("%s is %d kB, %v; want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "k", "12", "-1M", "0k", "1T", "9999999999G", "1.5M"} {
		if got, ok := parseSize(s); ok {
			t.Errorf("%q is %d kB", s, got)
		}
	}
}

func TestMatchAny(t *testing.T) {
	const f = "net/http.(*conn).serve"
	for glob, want := range map[string]bool{
		"net/http.*": true, "http.(*conn).*": true, "*serve": true, "conn": false, "main.*": false, "net/*": true, "http*": true,
	} {
		if got := matchAny([]string{"nothing", glob}, f); got != want {
			t.Errorf("%s: %v", glob, got)
		}
	}
	if matchAny(nil, f) {
		t.Error("no glob matched")
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"work", "wrok", 2}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
