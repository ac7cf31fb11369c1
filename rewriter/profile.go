package rewriter

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A profile (-pgo) names the functions that are called often. For these, -inline decides whether
// they get hooks. Any other small function can carry a hook at next to no cost, whatever -inline
// says. The compiler inlines hot functions beyond its usual budget, with their hooks.

const (
	// profileHeader begins what the go command makes of a profile for the compiler
	// (cmd/internal/pgo).
	profileHeader = "GO PREPROFILE V1"

	// hotPercent is the share of all calls, by weight, that go to hot functions. It is the
	// compiler's own (inlineCDFHotCallSiteThresholdPercent in cmd/compile/internal/inline).
	hotPercent = 99
)

// hotNames reads the edges of a call graph, the heaviest first, and returns the symbol names of hot
// functions. An edge has three lines: the caller, the callee, and the line of the call in the
// caller with the weight. Without edges nothing is known, and hotNames returns nil.
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
			break // the edge that reaches the share is hot too
		}
	}
	return hot, nil
}

// limit returns the cost up to which a function stays inlined without a hook, and the profile's
// part in that, for messages. It is the limit of -inline, except for functions that a profile calls
// cold: they all get hooks.
func (w *writer) limit(name string) (limit int, why string) {
	switch {
	case w.opt.Hot == nil:
		return w.opt.Inline, ""
	case w.hot(name):
		return w.opt.Inline, "; hot in the profile"
	}
	return -1, ""
}

// hot reports whether the profile calls a function hot.
func (w *writer) hot(name string) bool { return w.opt.Hot[pathPrefix(w.path)+"."+name] }
