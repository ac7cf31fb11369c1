package ftrace

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ftgo/ftgo/internal/hook"
)

// These tests run in a build without hooks, and check what the package is there. What it does with hooks is shown by the scripts of
// cmd/ftgo, which build the programs in internal/testprog.

func TestWithoutHooks(t *testing.T) {
	if rt != nil {
		t.Skip("this build has hooks")
	}
	var b bytes.Buffer
	for name, err := range map[string]error{
		"SetTracer":        SetTracer("function"),
		"SetFilter":        SetFilter("main.*"),
		"SetNotrace":       SetNotrace("main.*"),
		"RegisterTracer":   RegisterTracer(Tracer{Name: "x", Func: Stub}),
		"WriteTrace":       WriteTrace(&b, nil),
		"Reset":            Reset(),
		"SetMaxStack":      SetMaxStack(10),
		"SetMaxGraphDepth": SetMaxGraphDepth(10),
		"SetOption":        SetOption("overwrite"),
		"WriteRecording":   WriteRecording(&b, nil),
		"TakeSnapshot":     TakeSnapshot(),
		"Remove":           Default.Remove(),
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
	StopHooks()
	StartHooks()
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

func TestPatterns(t *testing.T) {
	http := &hook.Table{Path: "net/http", N: 4, Names: "\t/src/net/http/server.go\n(*conn).serve 20\n(*conn).serve.func1 25\nListen 40\n\t/src/net/http/client.go\nGet 10\n"}
	main := &hook.Table{Path: "main", N: 2, Names: "\t/src/main.go\nmain 3\nMap[...] 9\n"}
	for list, want := range map[string]string{
		"":                             "",
		"net/http.*":                   "(*conn).serve (*conn).serve.func1 Listen Get",
		"http.(*conn).*":               "(*conn).serve (*conn).serve.func1",
		"*serve":                       "(*conn).serve",
		"conn":                         "",
		"main.*":                       "main Map[...]",
		"main.Map[...]":                "Map[...]",
		"net/*":                        "(*conn).serve (*conn).serve.func1 Listen Get",
		"net/...":                      "(*conn).serve (*conn).serve.func1 Listen Get",
		"net/http/...":                 "(*conn).serve (*conn).serve.func1 Listen Get",
		"net/http/x...":                "",
		"...":                          "(*conn).serve (*conn).serve.func1 Listen Get main Map[...]",
		"(*conn).serve":                "(*conn).serve",
		"L*":                           "Listen",
		"*e*":                          "(*conn).serve (*conn).serve.func1 Listen Get",
		"*o*n*e*e*":                    "(*conn).serve (*conn).serve.func1",
		"?et":                          "Get",
		"[GL]*":                        "Listen Get",
		"*:mod:main":                   "main Map[...]",
		":mod:net...":                  "(*conn).serve (*conn).serve.func1 Listen Get",
		"m*:mod:...":                   "main Map[...]",
		"server.go:19":                 "",
		"server.go:22":                 "(*conn).serve",
		"http/server.go:30":            "(*conn).serve (*conn).serve.func1",
		"server.go:40":                 "Listen",
		"erver.go:40":                  "",
		"main.go:9":                    "Map[...]",
		"* !net/...":                   "main Map[...]",
		"* !(*conn).* !main.main":      "Listen Get Map[...]",
		"net/... !* http.Get":          "Get",
		"!Get":                         "",
		"net/... !server.go:41 main.*": "(*conn).serve (*conn).serve.func1 Get main Map[...]",
	} {
		var got []string
		patterns := parsePatterns(strings.Fields(list))
		for _, tab := range []*hook.Table{http, main} {
			in, rest := patterns.of(tab)
			eachNameOf(tab, func(n *funcName) {
				if rest.match(in, n) {
					got = append(got, strings.Clone(n.full[n.bare:]))
				}
			})
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %s, want %s", list, got, want)
		}
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
