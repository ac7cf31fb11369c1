// Tracers has three tracers on at once, each with functions of its own. One counts calls. One finds
// calls that waited, by a time that it keeps for each call. The third is an instance, which records
// what a single goroutine does.
//
//	ftgo run ./examples/tracers
//
// Its small functions are kept out of their callers with go:noinline, so that a build that leaves
// inlined functions alone traces them, too.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	ftrace "github.com/ftgo/ftgo/runtime"
)

func main() {
	var calls atomic.Int64
	count := &ftrace.Ops{Name: "count", Func: func(*ftrace.Func, uintptr, *ftrace.Ops) { calls.Add(1) }}
	check(count.SetFilter("main.step"))
	check(count.Register())

	var waits atomic.Int64
	waiting := &ftrace.GraphOps{
		Name:     "waiting",
		DataSize: 8,
		Entry: func(_ ftrace.Call, _ *ftrace.GraphOps, data []byte) ftrace.Verdict {
			binary.LittleEndian.PutUint64(data, uint64(time.Now().UnixNano()))
			return ftrace.Want
		},
		Return: func(c ftrace.Call, _ *ftrace.GraphOps, data []byte) {
			began := time.Unix(0, int64(binary.LittleEndian.Uint64(data)))
			if time.Since(began) >= 5*time.Millisecond {
				waits.Add(1)
			}
		},
	}
	check(waiting.SetFilter("main.*"))
	check(waiting.SetNotrace("main.step"))
	check(waiting.Register())

	one, err := ftrace.NewInstance("one")
	check(err)
	check(one.SetFilter("main.*"))

	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			if i == 0 {
				check(one.SetGoroutines(ftrace.Goid()))
				check(one.SetTracer("function_graph"))
				defer one.SetTracer("nop")
			}
			work(i)
		})
	}
	wg.Wait()
	check(count.Unregister())
	check(waiting.Unregister())

	fmt.Println(calls.Load(), "steps,", waits.Load(), "waits")
	check(one.WriteTrace(os.Stdout, nil))
	check(one.Remove())
}

//go:noinline
func work(n int) {
	for range 3 {
		step(n)
	}
}

//go:noinline
func step(n int) {
	if n%2 == 0 {
		wait()
	}
}

//go:noinline
func wait() { time.Sleep(10 * time.Millisecond) }

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
