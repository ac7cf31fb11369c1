// Package small holds small functions. Their benchmarks show what a hook costs each of them.
package small

import "sort"

// Fib recurses.
func Fib(n int) int {
	if n < 2 {
		return n
	}
	return Fib(n-1) + Fib(n-2)
}

// Counter has methods.
type Counter struct {
	n      int
	limits []int
}

// Classify returns in many places.
//
//go:noinline
func (c *Counter) Classify(x int) (class int, ok bool) {
	for i, l := range c.limits {
		switch {
		case x < l:
			return i, true
		case x == l && i%2 == 0:
			return -i, true
		case x == 2*l:
			return i * l, false
		}
	}
	if x < 0 {
		return -1, false
	}
	c.n++
	return len(c.limits), false
}

// N is a getter.
func (c *Counter) N() int { return c.n }

// Reduce is generic.
func Reduce[T, A any](list []T, a A, f func(A, T) A) A {
	if len(list) == 0 {
		return a
	}
	if len(list) == 1 {
		return f(a, list[0])
	}
	mid := len(list) / 2
	return Reduce(list[mid:], Reduce(list[:mid], a, f), f)
}

// SortBy calls a function literal.
func SortBy(list []int, weights map[int]int) {
	sort.Slice(list, func(i, j int) bool {
		a, b := weights[list[i]%8], weights[list[j]%8]
		if a != b {
			return a < b
		}
		if list[i]/16 != list[j]/16 {
			return list[i]/16 > list[j]/16
		}
		return list[i] < list[j] && a >= 0 && b >= 0
	})
}
