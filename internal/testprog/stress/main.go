// Stress runs 10,000 goroutines that call, panic, recover and end through runtime.Goexit, in
// functions and in literals: first while another goroutine switches tracers and depths, then under
// a tracer that counts entries and returns.
package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	ftrace "github.com/ftgo/ftgo/runtime"
)

func main() {
	n := 10000
	if len(os.Args) > 1 {
		n, _ = strconv.Atoi(os.Args[1])
	}
	if err := run(n); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func run(n int) error {
	var entries, returns atomic.Int64
	err := ftrace.RegisterTracer(ftrace.Tracer{
		Name: "count",
		Entry: func(ftrace.Call, *ftrace.GraphOps, []byte) ftrace.Verdict {
			entries.Add(1)
			return ftrace.Want
		},
		Return: func(ftrace.Call, *ftrace.GraphOps, []byte) { returns.Add(1) },
	})
	if err != nil {
		return err
	}

	stop := make(chan struct{})
	done := make(chan error)
	go func() { done <- switcher(stop) }()
	goroutines(n)
	close(stop)
	if err := <-done; err != nil {
		return err
	}

	if err := errors.Join(ftrace.SetMaxStack(1024), ftrace.SetMaxGraphDepth(0), ftrace.SetTracer("nop")); err != nil {
		return err
	}
	entries.Store(0)
	returns.Store(0)
	// These functions may still be returning when the last goroutine says that it is done. They are
	// left out of the count.
	if err := errors.Join(ftrace.SetNotrace("main.main", "main.run", "main.goroutines*", "main.worker"), ftrace.SetTracer("count")); err != nil {
		return err
	}
	goroutines(n)
	if err := ftrace.SetTracer("nop"); err != nil {
		return err
	}
	runtime.GC()
	s := ftrace.ReadStats()
	fmt.Println("counted:", entries.Load() > int64(n), "balanced:", entries.Load() == returns.Load(),
		"ended:", s.Ended >= uint64(n), "unbalanced:", s.Unbalanced, "mismatches:", s.Mismatches)
	return nil
}

// switcher switches tracers, depths and other settings until it is told to stop.
func switcher(stop chan struct{}) error {
	r := rand.New(rand.NewPCG(1, 2))
	names := ftrace.AvailableTracers()
	for {
		select {
		case <-stop:
			ftrace.StartHooks()
			return nil
		default:
		}
		if err := ftrace.SetTracer(names[r.IntN(len(names))]); err != nil {
			return err
		}
		if err := errors.Join(ftrace.SetMaxStack(1+r.IntN(30)), ftrace.SetMaxGraphDepth(r.IntN(10))); err != nil {
			return err
		}
		switch r.IntN(8) {
		case 0:
			ftrace.StopHooks()
		case 1, 2:
			ftrace.StartHooks()
		case 3:
			if err := ftrace.SetFilter("main.w*"); err != nil {
				return err
			}
		case 4:
			if err := ftrace.SetFilter(); err != nil {
				return err
			}
		}
		runtime.Gosched()
	}
}

func goroutines(n int) {
	var wg sync.WaitGroup
	limit := make(chan struct{}, 512)
	for i := range n {
		limit <- struct{}{}
		wg.Add(1)
		go worker(i, func() { <-limit; wg.Done() })
	}
	wg.Wait()
}

func worker(i int, done func()) {
	defer done()
	walk(5 + i%20)
	if err := careful(i); err != nil && err.Error() != "deep" {
		panic(err)
	}
	if alone(func() { loose(i%4, func(n int) int { return walk(n) }) }) == nil && i%4 != 0 {
		panic("nothing to recover")
	}
	walk(i % 4)
	if i%3 == 0 {
		wander(i % 7)
	}
}

//go:noinline
func walk(n int) int {
	if n == 0 {
		return 0
	}
	if n%4 == 0 {
		runtime.Gosched()
	}
	return 1 + walk(n-1)
}

func careful(i int) (err error) {
	defer rescue(&err)
	careless(i % 5)
	return nil
}

//go:noinline
func careless(n int) {
	defer func() { walk(n % 3) }()
	if n == 0 {
		panic(errors.New("deep"))
	}
	careless(n - 1)
}

//go:noinline
func rescue(err *error) {
	if r := recover(); r != nil {
		*err = r.(error)
	}
}

// alone recovers, and has no hook.
//
//go:norace
func alone(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}

// loose panics in a literal that has called itself n times.
func loose(n int, f func(int) int) {
	var again func(int) int
	again = func(n int) int {
		switch f(n) {
		case 0:
			return f(1)
		case 1:
			panic(errors.New("loose"))
		}
		return again(n-1) + f(n)
	}
	again(n)
}

// wander ends its goroutine.
//
//go:noinline
func wander(n int) {
	defer walk(n)
	if n == 0 {
		alone(func() { loose(0, func(int) int { runtime.Goexit(); return 0 }) })
	}
	wander(n - 1)
}
