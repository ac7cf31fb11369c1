package pattern

// Match reports whether name matches a glob of the kernel's kind (lib/glob.c). In a glob, * stands
// for any string, also of dots and slashes; ? for any character; [a-z] for one character of a set;
// [!a-z] for one character that is not in it; and a backslash takes the next character as it is. A
// bracket that is never closed stands for itself. So do the brackets of [...], which names of
// generic functions hold.
func Match(glob, name string) bool {
	// After a mismatch, matching goes on at the last *, at star, which then takes one character
	// more.
	star, from := -1, 0
	g, n := 0, 0
	for n < len(name) {
		if g < len(glob) && glob[g] == '*' {
			star, from = g, n
			if g++; g == len(glob) {
				return true
			}
			continue
		}
		if next, ok := matchOne(glob, g, name[n]); ok {
			g = next
			n++
			continue
		}
		if star < 0 {
			return false
		}
		from++
		g, n = star+1, from
	}
	for g < len(glob) && glob[g] == '*' {
		g++
	}
	return g == len(glob)
}

// matchOne matches one character against the glob at offset g. next is the offset of what follows
// in the glob.
func matchOne(glob string, g int, c byte) (next int, ok bool) {
	if g >= len(glob) {
		return g, false
	}
	switch glob[g] {
	case '?':
		return g + 1, true
	case '\\':
		if g+1 < len(glob) {
			return g + 2, glob[g+1] == c
		}
	case '[':
		if len(glob) >= g+5 && glob[g:g+5] == "[...]" {
			return g + 1, c == '['
		}
		if next, ok, closed := matchSet(glob, g+1, c); closed {
			return next, ok
		}
	}
	return g + 1, glob[g] == c
}

// matchSet matches one character against the set that begins at offset g, behind its opening
// bracket. next is the offset behind the closing bracket, and closed reports whether there is one.
func matchSet(glob string, g int, c byte) (next int, ok, closed bool) {
	not := false
	if g < len(glob) && (glob[g] == '!' || glob[g] == '^') {
		not = true
		g++
	}
	for first := true; g < len(glob); first = false {
		if glob[g] == ']' && !first {
			return g + 1, ok != not, true
		}
		lo, hi := glob[g], glob[g]
		if g+2 < len(glob) && glob[g+1] == '-' && glob[g+2] != ']' {
			hi = glob[g+2]
			g += 2
		}
		if lo <= c && c <= hi {
			ok = true
		}
		g++
	}
	return 0, false, false
}
