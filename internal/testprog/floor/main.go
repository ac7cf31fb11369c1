// Floor measures what a traced call costs beside what it cannot cost less than: for the graph tracer and the profile two readings of the clock and
// two records of 16 bytes, for the function tracer one of each. All are measured in turns, and the medians are printed, in ns beyond the plain
// call, and over the floor.
package main

import (
	"fmt"
	"os"
	"slices"
	"time"
	"unsafe"

	ftrace "github.com/ftgo/ftgo/runtime"
)

const (
	rounds = 41
	calls  = 200_000
)

var (
	sink int
	ring [1 << 16]byte
	pos  uintptr
)

// plain has no hook.
//
//go:noinline
//go:norace
func plain(n int) int { return n + 1 }

//go:noinline
func hooked(n int) int { return n + 1 }

// floorGraph is what the graph tracer must do around a call.
//
//go:noinline
//go:norace
func floorGraph(n int) int {
	store(ticks())
	n = plain(n)
	store(ticks())
	return n
}

// floorFunction is what the function tracer must do.
//
//go:noinline
//go:norace
func floorFunction(n int) int {
	store(ticks())
	return plain(n)
}

func store(now uint64) {
	r := (*[2]uint64)(unsafe.Pointer(&ring[pos]))
	r[0], r[1] = now, now
	pos = (pos + 16) % uintptr(len(ring)-16)
}

//go:norace
func loop(f func(int) int) time.Duration {
	start := time.Now()
	for i := range calls {
		sink += f(i)
	}
	return time.Since(start)
}

func main() {
	check(ftrace.SetFilter("main.hooked"))
	cases := []struct {
		name, tracer string
		profile      bool
		f            func(int) int
		ns           []float64
	}{
		{name: "plain", tracer: "nop", f: plain},
		{name: "off", tracer: "nop", f: hooked},
		{name: "floor of graph and profile", tracer: "nop", f: floorGraph},
		{name: "floor of function", tracer: "nop", f: floorFunction},
		{name: "function_graph", tracer: "function_graph", f: hooked},
		{name: "function", tracer: "function", f: hooked},
		{name: "profile", tracer: "nop", profile: true, f: hooked},
	}
	for range rounds {
		for i := range cases {
			c := &cases[i]
			check(ftrace.SetTracer(c.tracer))
			if c.profile {
				check(ftrace.StartProfile())
			}
			loop(c.f)
			c.ns = append(c.ns, float64(loop(c.f).Nanoseconds())/calls)
			check(ftrace.StopProfile())
		}
	}
	median := func(ns []float64) float64 {
		slices.Sort(ns)
		return ns[len(ns)/2]
	}
	base := median(cases[0].ns)
	for i, c := range cases {
		ns := median(c.ns) - base
		floor := median(cases[2].ns) - base
		if c.name == "function" {
			floor = median(cases[3].ns) - base
		}
		if i < 4 {
			fmt.Printf("%-28s%8.2f ns\n", c.name, ns)
		} else {
			fmt.Printf("%-28s%8.2f ns%8.2f of the floor\n", c.name, ns, ns/floor)
		}
	}
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
