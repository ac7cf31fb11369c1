package ftrace_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	ftrace "github.com/ftgo/ftgo/runtime"
)

// work is a function to trace.
//
//go:noinline
func work() { fmt.Println("working") }

// Tracing a part of a program. A build without hooks says so.
func Example() {
	err := ftrace.SetTracer("function_graph")
	work()
	ftrace.SetTracer("nop")
	if err == nil {
		err = ftrace.WriteTrace(os.Stderr, nil)
	}
	if err != nil && !errors.Is(err, ftrace.ErrNotInstrumented) {
		fmt.Println(err)
	}
	// Output: working
}

// A tracer of the program's own, which counts calls.
func ExampleRegisterTracer() {
	calls := 0 // a tracer of a program with goroutines would count atomically
	err := ftrace.RegisterTracer(ftrace.Tracer{
		Name: "count",
		Func: func(*ftrace.Func, uintptr, *ftrace.Ops) { calls++ },
	})
	if err == nil {
		err = ftrace.SetTracer("count")
	}
	work()
	ftrace.SetTracer("nop")
	fmt.Println(calls == 1 || errors.Is(err, ftrace.ErrNotInstrumented))
	// Output:
	// working
	// true
}

// A tracer of entries with functions of its own, beside whatever else is on.
func ExampleOps() {
	var calls atomic.Int64
	count := &ftrace.Ops{
		Name: "count",
		Func: func(*ftrace.Func, uintptr, *ftrace.Ops) { calls.Add(1) },
	}
	err := count.Register()
	work()
	count.Unregister()
	fmt.Println(calls.Load() == 1 || errors.Is(err, ftrace.ErrNotInstrumented))
	// Output:
	// working
	// true
}

// A tracer of returns, which keeps data for each call.
func ExampleGraphOps() {
	slow := &ftrace.GraphOps{
		Name:     "slow",
		DataSize: 1,
		MaxDepth: 10,
		Entry: func(c ftrace.Call, _ *ftrace.GraphOps, data []byte) ftrace.Verdict {
			if strings.HasPrefix(c.Func.Name(), "net/http.") {
				return ftrace.Skip // and what it calls
			}
			data[0] = byte(c.Depth)
			return ftrace.Want
		},
		Return: func(c ftrace.Call, _ *ftrace.GraphOps, data []byte) {
			if d := c.Duration(); d > time.Second {
				fmt.Println(c.Func.Name(), data[0], d)
			}
		},
	}
	err := slow.Register()
	work()
	slow.Unregister()
	fmt.Println(err == nil || errors.Is(err, ftrace.ErrNotInstrumented))
	// Output:
	// working
	// true
}

// A trace of its own, of one function, beside the usual one.
func ExampleNewInstance() {
	in, err := ftrace.NewInstance("work")
	if err == nil {
		defer in.Remove()
		err = errors.Join(in.SetFilter("*.work"), in.SetTracer("function_graph"))
	}
	work()
	if err == nil {
		err = in.WriteTrace(os.Stderr, nil)
	}
	fmt.Println(err == nil || errors.Is(err, ftrace.ErrNotInstrumented))
	// Output:
	// working
	// true
}

// Recording begins at one function, and ends at another.
func ExampleSetTrigger() {
	ftrace.SetTracingOn(false)
	defer ftrace.SetTracingOn(true)
	ftrace.SetTrigger("main.commit:traceon:1")
	ftrace.SetTrigger("main.rollback:traceoff")
	fmt.Println(ftrace.Triggers())
	// Output: []
}

// A function that carries its hook by hand.
func ExampleEnter() {
	site := ftrace.NewFunc("example.com/p.work")
	work := func() {
		if site.Enabled() {
			defer ftrace.Exit(ftrace.Enter(site))
		}
		fmt.Println("working")
	}
	work()
	// Output: working
}
