package rewriter

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// With a profile (-pgo) a small function that is called little can carry a hook at next to no cost, whatever -inline says; those
// that are called much are treated as -inline says. The compiler inlines what is hot beyond its usual budget as well, and the hook with
// it.

const (
	profileHeader = "GO PREPROFILE V1" // of what the go command makes of a profile for the compiler (cmd/internal/pgo)

	// hotPercent is the share of all calls, by weight, whose callees are hot: the compiler's own (inlineCDFHotCallSiteThresholdPercent in
	// cmd/compile/internal/inline).
	hotPercent = 99
)

// hotNames reads edges of the call graph, the heaviest first: caller, callee, and the line of the call in the caller with the weight, a
// line each. It returns nil if there are none: nothing is known then.
func hotNames(r io.Reader) (map[string]bool, error) {
	type edge struct {
		callee string
		weight int64
	}
	var edges []edge
	var total int64
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20) // names of instantiated functions are long
	line := 0
	next := func() string {
		line++
		s.Scan()
		return s.Text()
	}
	if header := next(); header != profileHeader && (header != "" || s.Err() != nil) {
		return nil, fmt.Errorf("it begins with %q; want %q", header, profileHeader)
	}
	for next() != "" {
		callee := next()
		_, digits, _ := strings.Cut(next(), " ")
		weight, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || callee == "" || weight < 0 {
			return nil, fmt.Errorf("line %d is not \"line weight\" of a call", line)
		}
		edges = append(edges, edge{callee, weight})
		total += weight
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if total == 0 {
		return nil, nil
	}
	hot := map[string]bool{}
	var sum int64
	for _, e := range edges {
		hot[e.callee] = true
		if sum += e.weight; float64(sum) > float64(total)*hotPercent/100 {
			break // the edge that goes beyond the share is hot too
		}
	}
	return hot, nil
}

// limit returns the cost up to which a function that the compiler inlines is left so, and what a profile has to do with it: the limit is
// -inline's, but nothing is left so that the profile calls cold.
func (w *writer) limit(name string) (limit int, why string) {
	switch {
	case w.opt.Hot == nil:
		return w.opt.Inline, ""
	case w.hot(name):
		return w.opt.Inline, "; hot in the profile"
	}
	return -1, ""
}

// hot reports whether a profile calls a function hot.
func (w *writer) hot(name string) bool { return w.opt.Hot[pathPrefix(w.path)+"."+name] }
