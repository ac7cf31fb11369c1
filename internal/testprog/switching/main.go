// Switching stops, starts and switches tracers in the middle of nested calls. It checks that every
// return stack is empty at its end.
package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	ftrace "github.com/ftgo/ftgo/runtime"
)

func main() {
	actions := map[string]func(){
		"stop":           ftrace.StopHooks,
		"start":          ftrace.StartHooks,
		"nop":            tracer("nop"),
		"function":       tracer("function"),
		"function_graph": tracer("function_graph"),
	}
	for from := range actions {
		for middle := range actions {
			for after := range actions {
				ftrace.StartHooks()
				tracer("function_graph")()
				var wg sync.WaitGroup
				wg.Go(func() {
					nest(6, map[int]func(){5: actions[from], 3: actions[middle], 1: actions[after]})
				})
				wg.Wait()
				nest(4, map[int]func(){4: actions[from], 2: actions[middle], 0: actions[after]})
				ftrace.StartHooks()
				tracer("nop")()
				if d := ftrace.Depth(); d != 0 {
					fmt.Printf("%s, %s, %s: %d calls left on main's return stack\n", from, middle, after, d)
					os.Exit(1)
				}
			}
		}
	}
	if leaves == 0 {
		fmt.Println("no leaf was called")
	}
	s := ftrace.ReadStats()
	for s.Goroutines > 1 { // a goroutine that has said that it is done is still to end
		time.Sleep(time.Millisecond)
		s = ftrace.ReadStats()
	}
	fmt.Println("ended:", s.Ended, "unbalanced:", s.Unbalanced, "mismatches:", s.Mismatches)
}

func tracer(name string) func() {
	return func() {
		if err := ftrace.SetTracer(name); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// nest calls itself n deep. At some depths it switches something on the way in, and calls further
// functions.
//
//go:noinline
func nest(n int, at map[int]func()) {
	if do := at[n]; do != nil {
		do()
	}
	leaf(n)
	if n > 0 {
		nest(n-1, at)
	}
	leaf(n)
}

//go:noinline
func leaf(n int) { leaves += n }

var leaves int
