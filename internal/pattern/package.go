// Package pattern matches names of functions with globs, and import paths with package patterns.
//
// Traced programs link it, and the library calls it before packages are initialized. So it imports
// nothing but package strings, and has no variables.
package pattern

import "strings"

// Package reports whether an import path matches a package pattern of the go command (go help
// packages). In a pattern, "..." stands for any string; a trailing "/..." also stands for the empty
// string, so that net/... matches net.
func Package(pattern, path string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok && matchDots(base, path) {
		return true
	}
	return matchDots(pattern, path)
}

// AnyPackage reports whether an import path matches one of several package patterns, separated by
// commas.
func AnyPackage(patterns, path string) bool {
	for p := range strings.SplitSeq(patterns, ",") {
		if Package(p, path) {
			return true
		}
	}
	return false
}

// matchDots matches a path with a pattern in which "..." stands for any string. Each part between
// two of them is taken where it comes first, which leaves the most for the parts behind it.
func matchDots(pattern, path string) bool {
	first, rest, dots := strings.Cut(pattern, "...")
	if !dots {
		return pattern == path
	}
	path, ok := strings.CutPrefix(path, first)
	for ok {
		part, more, dots := strings.Cut(rest, "...")
		if !dots {
			return strings.HasSuffix(path, part)
		}
		_, path, ok = strings.Cut(path, part)
		rest = more
	}
	return false
}
