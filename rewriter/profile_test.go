package rewriter

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHotNames(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		hot      []string
		err      string
	}{
		{name: "the edge that goes beyond the share is hot", in: "m\na\n1 980\na\nb\n-2 11\nm\nc\n3 9\n", hot: []string{"a", "b"}},
		{name: "one function in two edges", in: "m\na\n1 60\nn\na\n1 38\nm\nb\n1 2\n", hot: []string{"a", "b"}},
		{name: "an empty profile says nothing", in: ""},
		{name: "nor do calls without weight", in: "m\na\n1 0\n"},
		{name: "not prepared", in: "-", err: `it begins with "-"; want "GO PREPROFILE V1"`},
		{name: "half an edge", in: "m\na\n", err: `line 4 is not "line weight" of a call`},
		{name: "no number", in: "m\na\n1 x\n", err: `line 4 is not "line weight" of a call`},
	} {
		in := tt.in
		if tt.in != "-" {
			in = profileHeader + "\n" + tt.in
		}
		hot, err := hotNames(strings.NewReader(in))
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: error %v, want %s", tt.name, err, tt.err)
			}
			continue
		}
		if err != nil || (hot == nil) != (tt.hot == nil) {
			t.Errorf("%s: %v, %v", tt.name, hot, err)
		}
		if diff := cmp.Diff(tt.hot, slices.Sorted(maps.Keys(hot))); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestHotStayInlined(t *testing.T) {
	const src = `package p

func hot() int { return 1 }
func cold() int { return 2 }
func gen[T any]() {}

var less = func(a, b int) bool { return a < b }
var more = func(a, b int) bool { return a > b }
`
	hot := map[string]bool{"p.hot": true, "p.init.func1": true}
	for hide, want := range map[string][]Form{
		"":          {Inlined, ReEntry, Inlined, Inlined, AtReturns},
		hiddenArray: {Inlined, Hidden, Inlined, Inlined, AtReturns},
	} {
		res, err := Rewrite(Package{Path: "p", Files: []File{{"p.go", []byte(src)}}}, Options{Inline: InlineKeep, Hide: hide, Hot: hot})
		if err != nil {
			t.Fatal(err)
		}
		var got []Form
		for _, f := range res.Funcs {
			got = append(got, f.Form)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Hide %q: %s", hide, diff)
		}
	}
}
