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

// Tracing a part of a program, and what it says when it was built without hooks.
func Example() {
	if err := ftrace.SetTracer("function_graph"); errors.Is(err, ftrace.ErrNotInstrumented) {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.ToUpper("traced"))
	ftrace.SetTracer("nop")
	ftrace.WriteTrace(os.Stdout, nil)
	// Output: this program was built without hooks: build it with "ftgo build", or "go build -toolexec ftgo"
}

// A tracer of the program's own, which counts calls.
func ExampleRegisterTracer() {
	calls := 0 // a tracer of a program with goroutines would count atomically
	err := ftrace.RegisterTracer(ftrace.Tracer{
		Name: "count",
		Func: func(*ftrace.Func, uintptr, *ftrace.Ops) { calls++ },
	})
	if err != nil {
		fmt.Println("not counting:", err == ftrace.ErrNotInstrumented)
		return
	}
	ftrace.SetTracer("count")
	// Output: not counting: true
}

// A tracer of entries with functions of its own, beside whatever else is on.
func ExampleOps() {
	var calls atomic.Int64
	count := &ftrace.Ops{Name: "count", Func: func(*ftrace.Func, uintptr, *ftrace.Ops) { calls.Add(1) }}
	if err := count.Register(); err != nil {
		fmt.Println("not counting:", err == ftrace.ErrNotInstrumented)
		return
	}
	fmt.Println(strings.ToUpper("traced"))
	count.Unregister()
	fmt.Println(calls.Load())
	// Output: not counting: true
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
			if d := c.Duration(); d > time.Millisecond {
				fmt.Println(c.Func.Name(), data[0], d)
			}
		},
	}
	fmt.Println(slow.Register() == ftrace.ErrNotInstrumented)
	// Output: true
}

// A trace of its own, of one package, beside the usual one.
func ExampleNewInstance() {
	in, err := ftrace.NewInstance("http")
	if err != nil {
		fmt.Println("no instance:", err == ftrace.ErrNotInstrumented)
		return
	}
	defer in.Remove()
	in.SetFilter("net/http...")
	in.SetTracer("function_graph")
	// …
	in.WriteTrace(os.Stdout, nil)
	// Output: no instance: true
}

// Recording begins at one function, and ends at another.
func ExampleSetTrigger() {
	ftrace.SetTracingOn(false)
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
