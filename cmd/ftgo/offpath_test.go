package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// offpath PLAIN HOOKED FUNC N: while no tracer is on, a call of FUNC takes N instructions more in
// HOOKED than in PLAIN, or less. FUNC has no branches of its own.
func offpath(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: offpath PLAIN HOOKED FUNC N")
	}
	most, err := strconv.Atoi(args[3])
	ts.Check(err)
	plain, err := countPath(ts.MkAbs(args[0]), args[2])
	ts.Check(err)
	hooked, err := countPath(ts.MkAbs(args[1]), args[2])
	ts.Check(err)
	if (hooked-plain <= most) == neg {
		ts.Fatalf("%s: %d instructions, %d without hooks: %d more, want %d at most", args[2], hooked, plain, hooked-plain, most)
	}
}

var instruction = regexp.MustCompile(`(?m)^\s+\S+:\d+\s+0x([0-9a-f]+)\s+[0-9a-f]+\s+(\S.*?)\s*$`)

// countPath counts the instructions from a function's entry to its return, past the stack's growing
// and with the mask zero.
func countPath(program, function string) (n int, err error) {
	out, err := exec.Command("go", "tool", "objdump", "-s", "^"+regexp.QuoteMeta(function)+"$", program).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	var ops []string
	at := map[uint64]int{}
	for _, m := range instruction.FindAllStringSubmatch(string(out), -1) {
		addr, err := strconv.ParseUint(m[1], 16, 64)
		if err != nil {
			return 0, err
		}
		at[addr] = len(ops)
		if !strings.HasPrefix(m[2], "NOP") { // it keeps jumps from the ends of cache lines
			ops = append(ops, m[2])
		}
	}
	for i := 0; i < len(ops); n++ {
		op, to, _ := strings.Cut(ops[i], " ")
		switch {
		case op == "RET":
			return n + 1, nil
		case op == "JMP", op == "JE" && strings.Contains(ops[i-1], "ftgo_mask"), strings.HasPrefix(op, "CBZ"):
			to = to[strings.LastIndexByte(to, ' ')+1:]
			if rel, ok := strings.CutSuffix(to, "(PC)"); ok { // arm64
				d, err := strconv.Atoi(rel)
				if err != nil {
					return 0, err
				}
				i += d
				continue
			}
			addr, err := strconv.ParseUint(to, 0, 64)
			next, ok := at[addr]
			if err != nil || !ok {
				return 0, fmt.Errorf("%s goes elsewhere in %s: %s", function, program, ops[i])
			}
			i = next
		default:
			i++
		}
	}
	return 0, fmt.Errorf("%s has no path through %s: %d instructions", program, function, len(ops))
}
