package pattern

import "testing"

func TestPackage(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"a", "a", true},
		{"a", "a/b", false},
		{"a/...", "a", true},
		{"a/...", "a/b/c", true},
		{"a/...", "ab", false},
		{"a...", "ab", true},
		{"a...a", "a", false}, // the two ends do not overlap
		{".../c", "a/b/c", true},
		{"a/.../d", "a/b/c/d", true},
		{"a/.../d", "a/b/c", false},
		{"a/.../b/...", "a/x/b", true},
		{"a/.../b/...", "a/x/b/y", true},
		{"a/.../b/.../c", "a/x/b/c", false},
		{"net/.../...", "net", false}, // as the go command has it
		{"...", "anything", true},
		{"a*[b]?", "a*[b]?", true}, // no character but the dots is special
		{"a*", "ab", false},
	} {
		if got := Package(c.pattern, c.path); got != c.want {
			t.Errorf("Package(%q, %q) = %v", c.pattern, c.path, got)
		}
	}
}

func TestAnyPackage(t *testing.T) {
	for _, c := range []struct {
		patterns, path string
		want           bool
	}{
		{"x,.../c", "a/b/c", true},
		{"x,a/...", "a", true},
		{"x,y", "a", false},
		{"", "a", false},
	} {
		if got := AnyPackage(c.patterns, c.path); got != c.want {
			t.Errorf("AnyPackage(%q, %q) = %v", c.patterns, c.path, got)
		}
	}
}
