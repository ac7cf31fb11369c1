// Literals leaves function literals in every way there is: by each of their returns, out of loops,
// by panics that are recovered nearby, far away or in functions without hooks, and by
// runtime.Goexit. It prints how deep the return stack is in between.
package main

import (
	"errors"
	"fmt"
	"iter"
	"runtime"

	ftrace "github.com/ftgo/ftgo/runtime"
)

// mark stands in the trace where the program goes on.
//
//go:noinline
func mark() int { return ftrace.Depth() }

//go:noinline
func call(f func(int) (int, error), n int) (int, error) { return f(n) }

//go:noinline
func try(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("recovered %v", r)
		}
	}()
	f()
	return nil
}

// alone recovers without a hook.
//
//go:norace
func alone(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}

// wait waits until the other goroutines have ended. It has no hook. In the trace their calls come
// before the calls that follow.
//
//go:norace
func wait() {
	for runtime.NumGoroutine() > 1 {
		runtime.Gosched()
	}
}

// far panics in a literal below a literal, and goes on above both.
func far() {
	f := func(n int) (int, error) { mark(); panic("far") }
	fmt.Println(alone(func() { call(f, 1) }), mark())
	fmt.Println(alone(func() { alone(func() { mark(); panic("near") }); mark(); panic("far") }))
	mark()
	func() {
		alone(func() { mark(); panic("at the end") })
	}()
}

var errFailed = errors.New("failed")

func returns() {
	f := func(n int) (int, error) {
		for i := range 3 {
			for _, x := range []int{4, 5} {
				if x+i == n {
					return i * mark(), nil
				}
			}
		}
		switch {
		case n < 0:
			return 0, errFailed
		case n > 50:
			return call(nil, mark())
		}
		return n, nil
	}
	fmt.Println(call(f, 6))
	fmt.Println(call(f, -1))
	fmt.Println(call(f, 50))
	fmt.Println(try(func() { fmt.Println(call(f, 60)) }), mark())
	named := func(n int) (k int, err error) {
		k = n
		if n == 0 {
			err = errFailed
			return
		}
		return n + k, err
	}
	fmt.Println(call(named, 0))
	fmt.Println(call(named, 7))
}

// panicky's method panics, in a literal in a literal, and package fmt recovers.
type panicky struct{}

func (panicky) String() string {
	try := func(f func()) { mark(); f() }
	try(func() { mark(); panic("in a method") })
	return "not here"
}

// deep panics in a literal that has called itself, and is recovered in between.
func deep() {
	var f func(int)
	two := func() { f(2) }
	f = func(n int) {
		switch n {
		case 0:
			panic("deep")
		case 3:
			fmt.Println(try(two), mark())
			return
		}
		f(n - 1)
	}
	f(5)
	mark()
}

// again panics anew while it recovers.
func again() {
	defer func() {
		fmt.Println(recover(), mark())
	}()
	func() {
		defer func() {
			fmt.Println(recover(), mark())
			f := func(n int) (int, error) { mark(); panic("second") }
			call(f, 1)
		}()
		call(func(n int) (int, error) { mark(); panic("first") }, 2)
	}()
}

// ends ends its goroutine in a literal.
func ends() {
	mark()
	go func() {
		mark()
		call(func(int) (int, error) {
			mark()
			runtime.Goexit()
			return 0, nil
		}, 1)
	}()
	wait()
	go func() {
		defer mark()
		call(func(int) (int, error) {
			defer func() {
				fmt.Println(recover(), mark())
			}()
			runtime.Goexit()
			return 0, nil
		}, 1)
	}()
	wait()
}

// pulled ends a coroutine in a literal.
func pulled() {
	mark()
	go func() {
		next, _ := iter.Pull(func(yield func(int) bool) {
			mark()
			call(func(int) (int, error) {
				mark()
				runtime.Goexit()
				return 0, nil
			}, 1)
		})
		defer mark()
		next()
	}()
	wait()
}

// inlined calls a literal where it stands, if the compiler thinks so.
func inlined() (n int) {
	f := func(k int) int {
		if k == 3 {
			panic("inlined")
		}
		return mark() + k
	}
	defer func() { recover() }()
	for i := range 5 {
		n += f(i)
	}
	return n
}

func main() {
	returns()
	fmt.Println(fmt.Sprint(panicky{}), mark())
	far()
	deep()
	again()
	ends()
	pulled()
	fmt.Println(inlined(), mark())
	s := ftrace.ReadStats()
	fmt.Println("unbalanced:", s.Unbalanced, "mismatches:", s.Mismatches)
}
