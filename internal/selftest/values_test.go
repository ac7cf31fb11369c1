package selftest

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ftgo/ftgo/internal/selftest/small"
	ftrace "github.com/ftgo/ftgo/runtime"
)

// What functions return (fgraph-retval.tc). Their bodies call, so that each is a function whatever
// the limit.

//go:noinline
func minusFive() int { inner(); return -5 }

//go:noinline
func minusFive32() int32 { inner(); return -5 }

//go:noinline
func large() uint16 { inner(); return 0xbeef }

//go:noinline
func yes() bool { inner(); return true }

//go:noinline
func fails(err error) error { inner(); return err }

//go:noinline
func two(n int) (int, error) { inner(); return n, errors.ErrUnsupported }

//go:noinline
func lines() []string { inner(); return nil }

//go:noinline
func ratio() float64 { inner(); return 0.5 }

//go:noinline
func many(a, b, c, d, e, f, g, h, i, j int) (int, [3]int) { inner(); return a + j, [3]int{b} }

//go:noinline
func generic[T any](t T) (int, T) { inner(); return -22, t }

//go:noinline
func itself[T any](t T) T { inner(); return t }

//go:noinline
func drops() (n int) {
	defer func() { recover() }()
	fallsOver()
	return 7
}

//go:noinline
func fallsOver() int { inner(); panic("over") }

func values() {
	outer(1)
	minusFive()
	minusFive32()
	large()
	yes()
	fails(nil)
	two(3)
	lines()
	ratio()
	many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	generic("")
	itself(1)
	drops()
	(&small.Box{N: 5}).Minus()
}

// TestFgraphRetval: a returned -5 is shown in decimal and hex.
func TestFgraphRetval(t *testing.T) {
	begin(t)
	defer off(t)
	defer ftrace.SetOption("nofuncgraph-retval")
	defer ftrace.SetOption("nofuncgraph-retval-hex")
	check(t, ftrace.SetOption("funcgraph-retval"))
	shown := func(write func(*bytes.Buffer) error) string {
		var b bytes.Buffer
		check(t, write(&b))
		var list []string
		for _, m := range regexp.MustCompile(`(?:selftest|small)\.(\S+?)(?:\(\);)?(?: /\*)? ret=(\S+) \*/`).FindAllStringSubmatch(b.String(), -1) {
			list = append(list, m[1]+"="+m[2])
		}
		return strings.Join(list, " ")
	}
	trace := func(b *bytes.Buffer) error { return ftrace.WriteTrace(b, nil) }
	five32, five := "0xfffffffb", fmt.Sprintf("%#x", ^uintptr(4))
	decimal := "minusFive=-5 minusFive32=-5 large=0xbeef yes=0x1 fails=0x0 two=0x3 lines=0x0 many=0xb generic[...]=-22 drops=0x0"
	filters := [][]string{{"selftest.*", "!selftest.inner"}, {"selftest.*"}}
	if slices.ContainsFunc(ftrace.AvailableFunctions(), func(f string) bool { return strings.HasSuffix(f, "small.(*Box).Minus") }) {
		decimal += " (*Box).Minus=0xfb"
		for i := range filters {
			filters[i] = append([]string{"*/small.*"}, filters[i]...)
		}
	}
	hex := strings.NewReplacer("minusFive=-5", "minusFive="+five, "Five32=-5", "Five32="+five32, "=-22", fmt.Sprintf("=%#x", ^uintptr(21))).Replace(decimal)

	// Leaves, and calls with others below them.
	for _, filter := range filters {
		only(t, "function_graph", filter...)
		check(t, ftrace.SetNotrace("selftest.values", "selftest.outer", "selftest.middle"))
		values()
		check(t, ftrace.SetTracer("nop"))
		expect(t, "decimal", shown(trace), decimal)
		check(t, ftrace.SetOption("funcgraph-retval-hex"))
		expect(t, "hex", shown(trace), hex)
		check(t, ftrace.SetOption("nofuncgraph-retval-hex"))
	}

	// With a threshold, which leaves no entries.
	check(t, ftrace.SetThreshold(1))
	only(t, "function_graph", "selftest.minusFive")
	values()
	check(t, ftrace.SetTracer("nop"))
	expect(t, "with a threshold", shown(trace), "minusFive=-5")
	check(t, ftrace.SetThreshold(0))

	// An instance has the option for itself.
	check(t, ftrace.SetOption("nofuncgraph-retval"))
	in, err := ftrace.NewInstance("retval")
	check(t, err)
	defer in.Remove()
	check(t, in.SetOption("funcgraph-retval"))
	check(t, in.SetFilter("selftest.two"))
	check(t, in.SetTracer("function_graph"))
	only(t, "function_graph", "selftest.minusFive", "selftest.two")
	values()
	expect(t, "top", shown(trace), "")
	expect(t, "instance", shown(func(b *bytes.Buffer) error { return in.WriteTrace(b, nil) }), "two=0x3")

	// A graph tracer that wants them, and one that does not.
	got := map[string]string{}
	note := func(c ftrace.Call, o *ftrace.GraphOps, _ []byte) {
		word, ok := c.Retval()
		got[o.Name+" "+short(c.Func.Name())] = fmt.Sprint(word, ok)
	}
	with, without := &ftrace.GraphOps{Name: "with", Return: note, Retval: true}, &ftrace.GraphOps{Name: "without", Return: note}
	for _, o := range []*ftrace.GraphOps{without, with} {
		check(t, o.SetFilter("selftest.two", "selftest.fallsOver"))
		check(t, o.Register())
	}
	values()
	check(t, with.Unregister())
	check(t, in.SetTracer("nop"))
	values()
	check(t, without.Unregister())
	expect(t, "GraphOps", fmt.Sprint(got),
		"map[with selftest.fallsOver:0 false with selftest.two:3 true without selftest.fallsOver:0 false without selftest.two:0 false]")
}
