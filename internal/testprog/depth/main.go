// Depth recurses 100 deep with a return stack of 20.
package main

import (
	"fmt"
	"os"

	ftrace "github.com/ftgo/ftgo/runtime"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if err := ftrace.SetMaxStack(20); err != nil {
		return err
	}
	if err := ftrace.SetFilter("main.recurse"); err != nil {
		return err
	}
	if err := ftrace.SetTracer("function_graph"); err != nil {
		return err
	}
	if n := recurse(100); n != 99 {
		return fmt.Errorf("recurse(100) is %d", n)
	}
	if err := ftrace.SetTracer("nop"); err != nil {
		return err
	}
	fmt.Println("overruns:", ftrace.Overruns(), "depth:", ftrace.Depth())
	return ftrace.WriteTrace(os.Stdout, nil)
}

//go:noinline
func recurse(n int) int {
	if n == 1 {
		return 0
	}
	return 1 + recurse(n-1)
}
