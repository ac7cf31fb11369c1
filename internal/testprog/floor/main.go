// Floor measures three things:
//
//   - what a traced call costs beside its floor: two readings of the clock and two records of
//     16 bytes for the graph tracer and the profile, one of each for the function tracer
//   - how much more two goroutines on two cores get done than one
//   - the memory of goroutines that have made traced calls
//
// What is compared is measured in turns. Each line that is printed is a median: a name, and pairs
// of value and unit as in the benchmarks of package testing.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	ftrace "github.com/ftgo/ftgo/runtime"
)

const calls = 200_000

var (
	rounds = flag.Int("rounds", 41, "measure `n` times")
	ring   [1 << 16]byte
	pos    uintptr
)

// plain has no hook.
//
//go:noinline
//go:norace
func plain(n int) int { return n + 1 }

//go:noinline
func hooked(n int) int { return n + 1 }

// floorGraph does around a call what the graph tracer must do at least.
//
//go:noinline
//go:norace
func floorGraph(n int) int {
	store(ticks())
	n = plain(n)
	store(ticks())
	return n
}

// floorFunction does on a call what the function tracer must do at least.
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
	n := 0
	for range calls {
		n = f(n)
	}
	return time.Since(start)
}

// fib and tracedFib are the programs that run on one and on two cores.
//
//go:noinline
//go:norace
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:noinline
func tracedFib(n int) int {
	if n < 2 {
		return n
	}
	return tracedFib(n-1) + tracedFib(n-2)
}

type measured struct {
	name, tracer string
	profile      bool
	f            func(int) int
	floor        int // index of what it is compared with
	ns, scale    []float64
	allocs       uint64
}

func main() {
	flag.Parse()
	check(ftrace.SetFilter("main.hooked", "main.tracedFib"))
	cases := []measured{
		{name: "plain", tracer: "nop", f: plain},
		{name: "off", tracer: "nop", f: hooked},
		{name: "floor-of-graph-and-profile", tracer: "nop", f: floorGraph},
		{name: "floor-of-function", tracer: "nop", f: floorFunction},
		{name: "function_graph", tracer: "function_graph", f: hooked, floor: 2},
		{name: "function", tracer: "function", f: hooked, floor: 3},
		{name: "profile", tracer: "nop", profile: true, f: hooked, floor: 2},
	}
	for range *rounds {
		for i := range cases {
			c := &cases[i]
			c.on(func() {
				loop(c.f)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				d := loop(c.f)
				runtime.ReadMemStats(&after)
				c.ns = append(c.ns, float64(d.Nanoseconds())/calls)
				c.allocs += after.Mallocs - before.Mallocs
			})
		}
	}
	// beyond is what a case takes beyond the plain call, by the median of all rounds or by the
	// fastest. On a shared machine the median includes what other programs took away, and the
	// fastest round does not.
	beyond := func(i int, of func([]float64) float64) float64 { return of(cases[i].ns) - of(cases[0].ns) }
	for i, c := range cases[1:] {
		i++
		fmt.Printf("%s %.2f ns/call %.2f ns/call-at-best %.2f allocs/call", c.name, beyond(i, median), beyond(i, slices.Min), float64(c.allocs/uint64(*rounds))/calls)
		if c.floor != 0 {
			fmt.Printf(" %.3f floors %.3f floors-at-best", beyond(i, median)/beyond(c.floor, median), beyond(i, slices.Min)/beyond(c.floor, slices.Min))
		}
		fmt.Println()
	}
	tracers()
	if runtime.GOMAXPROCS(0) > 1 {
		scaling(cases)
	}
	goroutines()
}

// tracers measures what a call costs when several tracers want it, each with a callback that does
// nothing.
func tracers() {
	numbers := []int{1, 2, 8, 32}
	ns := make([][]float64, len(numbers))
	var plains []float64
	for range *rounds {
		plains = append(plains, float64(loop(plain).Nanoseconds())/calls)
		for i, n := range numbers {
			var list []*ftrace.Ops
			for k := range n {
				o := &ftrace.Ops{Name: fmt.Sprint("ops", k), Func: func(*ftrace.Func, uintptr, *ftrace.Ops) {}}
				check(o.SetFilter("main.hooked"))
				check(o.Register())
				list = append(list, o)
			}
			ns[i] = append(ns[i], float64(loop(hooked).Nanoseconds())/calls)
			for _, o := range list {
				check(o.Unregister())
			}
		}
	}
	one := median(ns[0])
	for i, n := range numbers {
		fmt.Printf("tracers-%d %.2f ns/call %.2f ns/call-at-best", n, median(ns[i])-median(plains), slices.Min(ns[i])-slices.Min(plains))
		if n > 1 {
			fmt.Printf(" %.2f ns/extra-tracer", (median(ns[i])-one)/float64(n-1))
		}
		fmt.Println()
	}
}

// on runs do with the case's tracer.
func (c *measured) on(do func()) {
	check(ftrace.SetTracer(c.tracer))
	if c.profile {
		check(ftrace.StartProfile())
	}
	do()
	check(ftrace.StopProfile())
}

// scaling compares how much more two goroutines get done than one, plain and traced.
func scaling(cases []measured) {
	for range *rounds {
		for i := range cases {
			c := &cases[i]
			f, n := tracedFib, 22
			switch {
			case i == 0:
				f, n = fib, 28
			case c.floor == 0:
				continue
			}
			c.on(func() {
				one := parallel(1, f, n)
				two := parallel(2, f, n)
				c.scale = append(c.scale, 2*one.Seconds()/two.Seconds())
			})
		}
	}
	plain := median(cases[0].scale)
	for _, c := range cases {
		if len(c.scale) > 0 {
			fmt.Printf("%s-on-two-cores %.3f times-one %.3f of-plain\n", c.name, median(c.scale), median(c.scale)/plain)
		}
	}
}

func parallel(goroutines int, f func(int) int, n int) time.Duration {
	start := time.Now()
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() { f(n) })
	}
	wg.Wait()
	return time.Since(start)
}

// goroutines measures the memory that 100,000 parked goroutines take beyond what they take without
// tracing, and the memory that a million goroutines leave behind when they end.
func goroutines() {
	park("nop", 100_000) // makes what the runtime keeps for as many
	without, stacks := park("nop", 100_000)
	with, grown := park("function_graph", 100_000)
	fmt.Printf("parked-goroutines %.0f B/goroutine %.0f stack-growth-B/goroutine\n", with-without, grown-stacks)
	check(ftrace.SetTracer("function_graph"))
	churn(1000)
	before := outside()
	churn(1_000_000)
	fmt.Printf("ended-goroutines %.3f B/goroutine\n", (outside()-before)/1e6)
	check(ftrace.SetTracer("nop"))
}

// outside returns how much memory outside the heap counts as other memory of the runtime. The
// library's is part of it.
func outside() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.OtherSys)
}

func churn(n int) {
	for range n / 100 {
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { _ = hooked(1) })
		}
		wg.Wait()
	}
}

// park has n goroutines make a traced call and wait. It returns by how many bytes the runtime's
// other memory, and the stacks, grow for each of them.
func park(tracer string, n int) (other, stacks float64) {
	check(ftrace.SetTracer(tracer))
	_ = hooked(1)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	wait := make(chan struct{})
	var started, ended sync.WaitGroup
	for range n {
		started.Add(1)
		ended.Add(1)
		go func() {
			_ = tracedFib(4)
			started.Done()
			<-wait
			ended.Done()
		}()
	}
	started.Wait()
	runtime.ReadMemStats(&after)
	close(wait)
	ended.Wait()
	check(ftrace.SetTracer("nop"))
	per := func(a, b uint64) float64 { return (float64(b) - float64(a)) / float64(n) }
	return per(before.OtherSys+before.HeapAlloc, after.OtherSys+after.HeapAlloc), per(before.StackInuse, after.StackInuse)
}

func median(ns []float64) float64 {
	slices.Sort(ns)
	return ns[len(ns)/2]
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
