package selftest

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	ftrace "github.com/ftgo/ftgo/runtime"
)

func newInstance(t *testing.T, name, tracer string, filter ...string) *ftrace.Instance {
	t.Helper()
	in, err := ftrace.NewInstance(name)
	check(t, err)
	check(t, in.SetFilter(filter...))
	check(t, in.SetTracer(tracer))
	return in
}

// TestFgraphMulti: the top one and three instances trace at once, each into its own buffer
// (fgraph-multi.tc).
func TestFgraphMulti(t *testing.T) {
	begin(t)
	all := []string{"selftest.outer", "selftest.middle", "selftest.inner"}
	check(t, ftrace.Reset())
	check(t, ftrace.SetFilter(all...))
	defer ftrace.SetFilter()
	check(t, ftrace.SetTracer("function_graph"))
	graph := newInstance(t, "graph", "function_graph", all...)
	one := newInstance(t, "one", "function_graph", "selftest.inner")
	calls := newInstance(t, "calls", "function", "selftest.m*", "selftest.outer")
	check(t, calls.SetNotrace("selftest.many"))
	outer(1)
	one.Marker("a note")
	outer(2)
	expect(t, "instances", ftrace.Instances(), []string{"graph", "one", "calls"})
	expect(t, "found", ftrace.FindInstance("one") == one && ftrace.FindInstance("two") == nil, true)
	expect(t, "current", one.CurrentTracer(), "function_graph")
	expect(t, "top", seen(t, whole(ftrace.WriteTrace)), "inner:3 middle:3 outer:5")
	expect(t, "graph", seen(t, whole(graph.WriteTrace)), "inner:3 middle:3 outer:5")
	expect(t, "one", seen(t, whole(one.WriteTrace)), "inner:3")
	expect(t, "calls", seen(t, whole(calls.WriteTrace)), "middle:3 outer:5")
	var b bytes.Buffer
	check(t, one.WriteTrace(&b, nil))
	expect(t, "marker", strings.Count(b.String(), "a note"), 1)
	for _, in := range []*ftrace.Instance{graph, one, calls} { // what was written is what is there
		s := in.ReadStats()
		expect(t, in.Name()+": written", s.Written, s.Entries)
	}
	// A limit of one holds for no other.
	check(t, graph.SetMaxGraphDepth(1))
	check(t, calls.SetTracingOn(false))
	check(t, one.SetTracer("nop"))
	check(t, graph.Reset())
	check(t, ftrace.Reset())
	outer(1)
	expect(t, "top", seen(t, whole(ftrace.WriteTrace)), "inner:1 middle:1 outer:2")
	expect(t, "graph", seen(t, whole(graph.WriteTrace)), "outer:1")
	expect(t, "one", seen(t, whole(one.WriteTrace)), "inner:3")
	expect(t, "calls", seen(t, whole(calls.WriteTrace)), "middle:3 outer:5")
	// Records are taken out of one alone.
	pipe, err := calls.NewPipe()
	check(t, err)
	expect(t, "pipe", seen(t, pipe.WriteNow), "middle:3 outer:5")
	expect(t, "calls", seen(t, whole(calls.WriteTrace)), "")
	b.Reset()
	check(t, graph.WriteRecording(&b, &ftrace.Selection{}))
	expect(t, "snapshot", b.Len() > 4096, true)
	// Goroutines, for one.
	check(t, calls.SetTracingOn(true))
	check(t, calls.Reset())
	id := make(chan uint64)
	do := make(chan bool)
	go func() {
		id <- ftrace.Goid()
		<-do
		outer(1)
		do <- true
	}()
	check(t, calls.SetGoroutines(<-id))
	outer(3)
	do <- true
	<-do
	expect(t, "one goroutine", seen(t, whole(calls.WriteTrace)), "middle:1 outer:2")
	check(t, calls.SetGoroutines())
	// Triggers, for one.
	check(t, calls.Reset())
	check(t, ftrace.Reset())
	check(t, calls.SetTrigger("selftest.inner:traceoff:1"))
	outer(2)
	expect(t, "a trigger", seen(t, whole(calls.WriteTrace)), "middle:1 outer:1")
	expect(t, "top", seen(t, whole(ftrace.WriteTrace)), "inner:2 middle:2 outer:3")
	expect(t, "triggers", short(strings.Join(calls.Triggers(), " ")), "selftest.inner:traceoff:count=0")
	expect(t, "triggers of the top one", len(ftrace.Triggers()), 0)
	check(t, ftrace.SetTracer("nop"))
	for _, in := range []*ftrace.Instance{graph, one, calls} {
		check(t, in.Remove())
		if in.Remove() == nil || in.SetTracer("function") == nil || in.WriteTrace(io.Discard, nil) == nil {
			t.Errorf("%s is there still", in.Name())
		}
	}
	if pipe.WriteNow(io.Discard) == nil {
		t.Error("the pipe of an instance that was removed")
	}
	// Another one that gets the first one's place knows nothing of it.
	again := newInstance(t, "again", "function", "selftest.inner")
	outer(1)
	expect(t, "again", seen(t, whole(again.WriteTrace)), "inner:1")
	expect(t, "stats", again.ReadStats().Written, uint64(1))
	check(t, again.Remove())
	var list []*ftrace.Instance
	for i := 0; ; i++ {
		in, err := ftrace.NewInstance(fmt.Sprint("i", i))
		if err != nil {
			expect(t, "how many", i, 15)
			break
		}
		list = append(list, in)
	}
	if _, err := ftrace.NewInstance("i3"); err == nil {
		t.Error("two of a name")
	}
	for _, in := range list {
		check(t, in.Remove())
	}
}

// TestFgraphMultiFilter: filter and notrace of each; what is enabled is the union, and exactly
// what it was when an instance goes, in any order (fgraph-multi-filter.tc).
func TestFgraphMultiFilter(t *testing.T) {
	begin(t)
	enabled := func() int { return len(ftrace.EnabledFunctions()) }
	filters := [][2]string{{"selftest.dyn*", "*2"}, {"selftest.*ner", ""}, {"selftest.*e*", "selftest.m*"}, {"*dynTest*", ""}}
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}} {
		list := map[int]*ftrace.Instance{}
		counts := []int{enabled()}
		for i, f := range filters {
			in, err := ftrace.NewInstance(fmt.Sprint("i", i))
			check(t, err)
			check(t, in.SetFilter(f[0]))
			if f[1] != "" {
				check(t, in.SetNotrace(f[1]))
			}
			list[i] = in
		}
		union := func() int {
			set := map[string]bool{}
			for i := range list {
				if list[i].CurrentTracer() == "nop" {
					continue
				}
				for _, f := range ftrace.EnabledFunctions() {
					if slices.Contains(f.Tracers, list[i].Name()) {
						set[f.Name] = true
					}
				}
			}
			return len(set)
		}
		for _, i := range order {
			check(t, list[i].SetTracer("function_graph"))
			expect(t, "union", enabled(), union())
			counts = append(counts, enabled())
		}
		dynTestName()
		dynTestName2()
		expect(t, "not 2", seen(t, whole(list[0].WriteTrace)), "dynTestName:1")
		expect(t, "both", seen(t, whole(list[3].WriteTrace)), "dynTestName2:1 dynTestName:1")
		for k := len(order) - 1; k >= 0; k-- {
			expect(t, "enabled", enabled(), counts[k+1])
			if k%2 == 0 {
				check(t, list[order[k]].SetTracer("nop"))
			} else {
				check(t, list[order[k]].Remove())
			}
		}
		expect(t, "enabled", enabled(), counts[0])
		for k, i := range order {
			if k%2 == 0 {
				check(t, list[i].Remove())
			}
		}
	}
}

// TestInstances: many make, use and remove instances at once, while others call: nothing breaks,
// and nothing is left (instance.tc).
func TestInstances(t *testing.T) {
	begin(t)
	var makers sync.WaitGroup
	stop := callers(4, runtime.Gosched)
	check(t, ftrace.SetFilter("selftest.outer", "selftest.middle", "selftest.inner"))
	defer ftrace.SetFilter()
	size := ftrace.BufferSize()
	check(t, ftrace.SetBufferSize(256)) // so that it is full soon
	defer ftrace.SetBufferSize(size)
	check(t, ftrace.SetTracer("function_graph"))
	var made, refused atomic.Int64
	turn := func(rounds int) {
		for k := range 5 {
			makers.Go(func() {
				for i := range rounds {
					in, err := ftrace.NewInstance([]string{"foo", "bar", "zot"}[(k+i)%3]) // some are there already
					if err != nil {
						refused.Add(1)
						runtime.Gosched()
						continue
					}
					made.Add(1)
					in.SetFilter("selftest.inner", "selftest.middle")
					in.SetTracer([]string{"function", "function_graph", "nop"}[i%3])
					in.SetTrigger("selftest.middle:traceoff:2")
					if other := ftrace.FindInstance("foo"); other != nil {
						other.SetTracer("function")
						other.Marker("from another")
						other.WriteTrace(io.Discard, nil)
					}
					if i%2 == 0 {
						in.SetTracer("function_graph")
					}
					expect(t, "remove", in.Remove(), nil)
				}
			})
		}
		makers.Wait()
	}
	memory := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.OtherSys)
	}
	turn(*times / 20)
	before := memory()
	turn(*times / 5)
	grown := memory() - before
	stop()
	check(t, ftrace.SetTracer("nop"))
	s := ftrace.ReadStats()
	expect(t, "made and refused", made.Load() > 0 && refused.Load() >= 0, true)
	expect(t, "grown", max(0, grown>>20), int64(0))
	expect(t, "left", len(ftrace.Instances()), 0)
	expect(t, "accounted for", s.Written, s.Entries+s.Overwritten+s.Dropped+s.Read)
}
