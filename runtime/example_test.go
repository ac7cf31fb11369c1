package ftrace_test

import (
	"errors"
	"fmt"
	"os"
	"strings"

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
	ftrace.WriteTrace(os.Stdout)
	// Output: this program was built without hooks: build it with "ftgo build", or "go build -toolexec ftgo"
}

// A tracer of the program's own, which counts calls.
func ExampleRegister() {
	calls := 0 // a tracer of a program with goroutines would count atomically
	err := ftrace.Register(ftrace.Tracer{
		Name: "count",
		Func: func(f *ftrace.Func, parentIP uintptr) { calls++ },
	})
	if err != nil {
		fmt.Println("not counting:", err == ftrace.ErrNotInstrumented)
		return
	}
	ftrace.SetTracer("count")
	// Output: not counting: true
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
