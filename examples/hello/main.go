// Hello is a small program to trace: a few goroutines, a recursion, a panic that is recovered.
//
//	ftgo live ./examples/hello
//
// The directive go:noinline keeps its small functions out of their callers. So a build that leaves
// inlined functions alone shows the same graph as one that hooks every function.
//
// It imports the library, so that FTGO_TRACER traces it when it was built with
// "go build -toolexec ftgo". For "ftgo live" and "ftgo build" it would not have to.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	_ "github.com/ftgo/ftgo/runtime"
)

func main() {
	fmt.Println(greeting("world"))

	var wg sync.WaitGroup
	results := make([]int, 3)
	for i := range results {
		wg.Go(func() { results[i] = worker(i + 4) })
	}
	wg.Wait()
	fmt.Println("fib:", results)

	if err := careful(); err != nil {
		fmt.Println("recovered:", err)
	}
	if len(os.Args) > 1 {
		fmt.Println("arguments:", strings.Join(os.Args[1:], " "))
	}
}

//go:noinline
func greeting(whom string) string {
	var b strings.Builder
	b.WriteString("hello, ")
	b.WriteString(whom)
	return b.String()
}

// worker runs on a goroutine of its own.
//
//go:noinline
func worker(n int) int {
	return fib(n)
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

// careful turns a panic into an error.
func careful() (err error) {
	defer rescue(&err)
	careless(3)
	return nil
}

//go:noinline
func careless(depth int) {
	if depth == 0 {
		panic(errors.New("too deep"))
	}
	careless(depth - 1)
}

func rescue(err *error) {
	if r := recover(); r != nil {
		*err = r.(error)
	}
}
