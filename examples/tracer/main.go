// Tracer registers a tracer of its own, which adds up how often each function was called and how
// long its calls took.
//
//	ftgo run ./examples/tracer
//
// Its small functions are kept out of their callers with go:noinline, so that a build that leaves
// inlined functions alone traces them, too.
package main

import (
	"fmt"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	ftrace "github.com/ftgo/ftgo/runtime"
)

// profile adds up what a graph tracer's return callback is told. Callbacks run on the traced
// goroutines, many at once.
type profile struct {
	mu    sync.Mutex
	total map[*ftrace.Func]time.Duration
	calls map[*ftrace.Func]int
}

func (p *profile) onReturn(c ftrace.Call, _ *ftrace.GraphOps, _ []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[c.Func]++
	p.total[c.Func] += c.Duration()
}

func main() {
	p := &profile{total: map[*ftrace.Func]time.Duration{}, calls: map[*ftrace.Func]int{}}
	err := ftrace.RegisterTracer(ftrace.Tracer{Name: "profile", Return: p.onReturn})
	if err == nil {
		err = ftrace.SetTracer("profile")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { work(i) })
	}
	wg.Wait()
	ftrace.SetTracer("nop")
	p.print()
}

func (p *profile) print() {
	var funcs []*ftrace.Func
	for f := range p.total {
		funcs = append(funcs, f)
	}
	sort.Slice(funcs, func(i, j int) bool { return p.total[funcs[i]] > p.total[funcs[j]] })
	fmt.Printf("%-20s %6s %12s\n", "Function", "Hit", "Time")
	for _, f := range funcs {
		fmt.Printf("%-20s %6d %12v\n", f.Name(), p.calls[f], p.total[f].Round(time.Microsecond))
	}
}

var result atomic.Int64

func work(n int) {
	for i := range 3 {
		if (n+i)%2 == 0 {
			sleepy(n + 1)
		} else {
			result.Add(int64(busy(1 + n)))
		}
	}
}

//go:noinline
func sleepy(n int) {
	for range n {
		time.Sleep(time.Millisecond)
	}
}

//go:noinline
func busy(n int) int {
	sum := 0
	for i := range n * 100000 {
		sum += i * i
	}
	return sum
}
