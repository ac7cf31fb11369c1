package main

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// traced OUT TRACE: every function that is named by a line of OUT that begins with "@" is in TRACE.
func traced(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: traced OUT TRACE")
	}
	trace := ts.ReadFile(args[1])
	n := 0
	for _, line := range strings.Split(ts.ReadFile(args[0]), "\n") {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "@" {
			continue
		}
		n++
		if !strings.Contains(trace, " "+f[1]+"()") && !strings.Contains(trace, " "+f[1]+" <-") {
			ts.Fatalf("%s is not in %s", f[1], args[1])
		}
	}
	if n == 0 {
		ts.Fatalf("%s names no functions", args[0])
	}
}
