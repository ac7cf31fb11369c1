package small

import "testing"

var sink int

func BenchmarkRecursion(b *testing.B) {
	for range b.N {
		sink = Fib(12)
	}
}

func BenchmarkMethodReturns(b *testing.B) {
	c := &Counter{limits: []int{10, 20, 30, 40}}
	for i := range b.N {
		n, _ := c.Classify(i % 50)
		sink += n
	}
}

func BenchmarkGeneric(b *testing.B) {
	list := make([]int, 64)
	for range b.N {
		sink = Reduce(list, 0, func(a, x int) int { return a + x })
	}
}

func BenchmarkClosure(b *testing.B) {
	list := make([]int, 256)
	weights := map[int]int{1: 5, 3: 2}
	for range b.N {
		for j := range list {
			list[j] = (j * 7919) % 257
		}
		SortBy(list, weights)
	}
}

func BenchmarkGetter(b *testing.B) {
	c := &Counter{n: 3}
	for range b.N {
		for range 100 {
			sink += c.N()
		}
	}
}
