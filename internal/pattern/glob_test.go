package pattern

import "testing"

func TestMatch(t *testing.T) {
	const f = "net/http.(*conn).serve"
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{f, f, true},
		{"net/http.*", f, true},
		{"*serve", f, true},
		{"*conn*", f, true},
		{"net*(?conn)*e", f, true},
		{"*", f, true},
		{"", f, false},
		{"", "", true},
		{"net/http.(*conn).serv", f, false},
		{"serve", f, false},
		{"*.serv[a-f]", f, true},
		{"*.serv[!a-f]", f, false},
		{"*.serv[^a-f]", f, false},
		{"*.serv[!x]", f, true},
		{"a[]]b", "a]b", true},
		{"a[b", "a[b", true},
		{`a\*b`, "a*b", true},
		{`a\*b`, "axb", false},
		{"main.Map[...]", "main.Map[...]", true},
		{"main.(*List[...]).P*", "main.(*List[...]).Push", true},
		{"main.Map[...]", "main.Map.", false},
		{"*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
	} {
		if got := Match(c.glob, c.name); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.glob, c.name, got)
		}
	}
}
