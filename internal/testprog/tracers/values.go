package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ftgo/ftgo/internal/testprog/tracers/small"
	ftrace "github.com/ftgo/ftgo/runtime"
)

// What functions return (fgraph-retval.tc). Their bodies call, so that each is a function whatever the limit.

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

// fgraphRetval: a returned -5 is shown in decimal and hex.
func fgraphRetval() error {
	defer off()
	defer ftrace.SetOption("nofuncgraph-retval")
	defer ftrace.SetOption("nofuncgraph-retval-hex")
	must(ftrace.SetOption("funcgraph-retval"))
	shown := func(write func(*bytes.Buffer) error) string {
		var b bytes.Buffer
		must(write(&b))
		var list []string
		for _, m := range regexp.MustCompile(`(?:main|small)\.(\S+?)(?:\(\);)?(?: /\*)? ret=(\S+) \*/`).FindAllStringSubmatch(b.String(), -1) {
			list = append(list, m[1]+"="+m[2])
		}
		return strings.Join(list, " ")
	}
	trace := func(b *bytes.Buffer) error { return ftrace.WriteTrace(b, nil) }
	five32, five := "0xfffffffb", fmt.Sprintf("%#x", ^uintptr(4))
	decimal := "minusFive=-5 minusFive32=-5 large=0xbeef yes=0x1 fails=0x0 two=0x3 lines=0x0 many=0xb generic[...]=-22 drops=0x0"
	filters := [][]string{{"main.*", "!main.inner"}, {"main.*"}}
	if slices.ContainsFunc(ftrace.AvailableFunctions(), func(f string) bool { return strings.HasSuffix(f, "small.(*Box).Minus") }) {
		decimal += " (*Box).Minus=0xfb"
		for i := range filters {
			filters[i] = append([]string{"*/small.*"}, filters[i]...)
		}
	}
	hex := strings.NewReplacer("minusFive=-5", "minusFive="+five, "Five32=-5", "Five32="+five32, "=-22", fmt.Sprintf("=%#x", ^uintptr(21))).Replace(decimal)

	// Leaves, and calls with others below them.
	for _, filter := range filters {
		only("function_graph", filter...)
		must(ftrace.SetNotrace("main.values", "main.outer", "main.middle"))
		values()
		must(ftrace.SetTracer("nop"))
		if err := expect("decimal", shown(trace), decimal); err != nil {
			return err
		}
		must(ftrace.SetOption("funcgraph-retval-hex"))
		err := expect("hex", shown(trace), hex)
		must(ftrace.SetOption("nofuncgraph-retval-hex"))
		if err != nil {
			return err
		}
	}

	// With a threshold, which leaves no entries.
	must(ftrace.SetThreshold(1))
	only("function_graph", "main.minusFive")
	values()
	must(ftrace.SetTracer("nop"))
	err := expect("with a threshold", shown(trace), "minusFive=-5")
	must(ftrace.SetThreshold(0))

	// An instance has the option for itself.
	must(ftrace.SetOption("nofuncgraph-retval"))
	in, e := ftrace.NewInstance("retval")
	must(e)
	defer in.Remove()
	must(in.SetOption("funcgraph-retval"))
	must(in.SetFilter("main.two"))
	must(in.SetTracer("function_graph"))
	only("function_graph", "main.minusFive", "main.two")
	values()
	err = errors.Join(err, expect("top", shown(trace), ""), expect("instance", shown(func(b *bytes.Buffer) error { return in.WriteTrace(b, nil) }), "two=0x3"))

	// A graph tracer that wants them, and one that does not.
	got := map[string]string{}
	note := func(c ftrace.Call, o *ftrace.GraphOps, _ []byte) {
		word, ok := c.Retval()
		got[o.Name+" "+c.Func.Name()] = fmt.Sprint(word, ok)
	}
	with, without := &ftrace.GraphOps{Name: "with", Return: note, Retval: true}, &ftrace.GraphOps{Name: "without", Return: note}
	for _, o := range []*ftrace.GraphOps{without, with} {
		must(o.SetFilter("main.two", "main.fallsOver"))
		must(o.Register())
	}
	values()
	must(with.Unregister())
	must(in.SetTracer("nop"))
	values()
	must(without.Unregister())
	return errors.Join(err, expect("GraphOps", fmt.Sprint(got),
		"map[with main.fallsOver:0 false with main.two:3 true without main.fallsOver:0 false without main.two:0 false]"))
}
