package rewriter

import (
	"regexp"
	"strings"
	"testing"
)

// A function refreshes the parameters that it needs after a call, if it may also return without
// one.
func TestRefresh(t *testing.T) {
	const header = "package p\n\nvar v, w int\n\n//go:noinline\nfunc g(...int) int { return v }\nfunc inlined(x int) bool { return x > v }\n\n"
	for _, c := range []struct{ what, body, refresh string }{
		{"nothing is called", "return a + b", ""},
		{"a way out before the call", "if a > 0 { return 0 }; g(); return a", "a"},
		{"both live on, one does not", "if a > 0 { return b }; g(); return a", "a"},
		{"used by the call alone", "if a > 0 { return 0 }; return g(a, b)", ""},
		{"the call comes first", "g(); if a > 0 { return b }; return a", ""},
		{"in an initialization", "x := g(); if a > 0 { return b }; return a + x", ""},
		{"in a condition", "if g() > a { return b }; return a", ""},
		{"on the right of &&", "if a > 0 && g() > a { return b }; return a", "a, b"},
		{"on the left of &&", "if g() > 0 && a > 0 { return b }; return a", ""},
		{"on both branches", "if a > 0 { g() } else { g(1) }; return a + b", ""},
		{"on one branch", "if a > 0 { g() }; return a + b", "a, b"},
		{"what is inlined", "if inlined(a) { return 0 }; g(); return a", "a"},
		{"predeclared functions and conversions", "x := make([]int, 1); if len(x) > int(uint(a)) { return 0 }; g(); return a", "a"},
		{"a panic", "if a > 0 { g() } else { panic(1) }; return b", ""},
		{"a loop that may run no time", "for a > 0 { g() }; return b", "a, b"},
		{"a loop with a call each time", "for { g(); if a > 0 { break } }; return b", ""},
		{"a loop that can be left without", "for { if a > 0 { break }; g() }; return b", "a, b"},
		{"all of a loop is after its calls", "for range v { if a > 0 { return b }; v += b; g() }; return 0", "a, b"},
		{"a switch with a call in each case", "switch a { case 1: g(); default: g(2) }; return b", ""},
		{"a switch with no default", "switch a { case 1: g() }; return b", "b"},
		{"a switch that is left", "switch a { case 1: if b > 0 { break }; g(); default: g() }; return b", "b"},
		{"a break that is the switch's", "for { switch a { case 1: break; default: }; g() }; return b", ""},
		{"a jump", "if a > 0 { goto end }; g(); end: return b", "b"},
		{"a call for later", "defer g(); if a > 0 { return 0 }; g(); return a", "a"},
		{"a channel", "c := make(chan int); c <- 1; if a > 0 { return 0 }; g(); return a", ""},
		{"a literal holds it", "if a > 0 { return 0 }; f := func() { v = b }; w = g(); f(); return a + b", "a"},
		{"its address is taken", "if a > 0 { return 0 }; x := &b; g(); return a + *x + b", "a"},
	} {
		src := header + "//go:noinline\nfunc f(a, b int) int { " + c.body + " }\n"
		res, err := Rewrite(Package{Path: "example.com/p", Files: []File{{"/src/p.go", []byte(src)}}}, Options{Inline: InlineKeep, Arch: "amd64"})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if m := regexp.MustCompile(`func f\(a, b int\) int \{.*?; (\S[^;]*) = ftgo_3_`).FindSubmatch(res.Files[0].Src); m != nil {
			got = string(m[1])
		}
		if got != c.refresh {
			t.Errorf("%s: values of their own for %q, want %q: %s", c.what, got, c.refresh, strings.TrimSpace(c.body))
		}
	}
}
