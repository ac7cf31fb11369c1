package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	ftrace "github.com/ftgo/ftgo/runtime"
)

func newInstance(name, tracer string, filter ...string) *ftrace.Instance {
	in, err := ftrace.NewInstance(name)
	must(err)
	must(in.SetFilter(filter...))
	must(in.SetTracer(tracer))
	return in
}

// instances: the top one and three instances trace at once, each into its own buffer (fgraph-multi.tc).
func instances() error {
	all := []string{"main.outer", "main.middle", "main.inner"}
	must(ftrace.Reset())
	must(ftrace.SetFilter(all...))
	defer ftrace.SetFilter()
	must(ftrace.SetTracer("function_graph"))
	graph := newInstance("graph", "function_graph", all...)
	one := newInstance("one", "function_graph", "main.inner")
	calls := newInstance("calls", "function", "main.m*", "main.outer")
	must(calls.SetNotrace("main.main"))
	outer(1)
	one.Marker("a note")
	outer(2)
	errs := []error{
		expect("instances", ftrace.Instances(), []string{"graph", "one", "calls"}),
		expect("found", ftrace.FindInstance("one") == one && ftrace.FindInstance("two") == nil, true),
		expect("current", one.CurrentTracer(), "function_graph"),
		expect("top", seen(whole(ftrace.WriteTrace)), "inner:3 middle:3 outer:5"),
		expect("graph", seen(whole(graph.WriteTrace)), "inner:3 middle:3 outer:5"),
		expect("one", seen(whole(one.WriteTrace)), "inner:3"),
		expect("calls", seen(whole(calls.WriteTrace)), "middle:3 outer:5"),
	}
	var b bytes.Buffer
	must(one.WriteTrace(&b, nil))
	errs = append(errs, expect("marker", strings.Count(b.String(), "a note"), 1))
	for _, in := range []*ftrace.Instance{graph, one, calls} { // what was written is what is there
		s := in.ReadStats()
		errs = append(errs, expect(in.Name()+": written", s.Written, s.Entries))
	}
	// A limit of one is nobody else's.
	must(graph.SetMaxGraphDepth(1))
	must(calls.SetTracingOn(false))
	must(one.SetTracer("nop"))
	must(graph.Reset())
	must(ftrace.Reset())
	outer(1)
	errs = append(errs,
		expect("top", seen(whole(ftrace.WriteTrace)), "inner:1 middle:1 outer:2"),
		expect("graph", seen(whole(graph.WriteTrace)), "outer:1"),
		expect("one", seen(whole(one.WriteTrace)), "inner:3"),
		expect("calls", seen(whole(calls.WriteTrace)), "middle:3 outer:5"))
	// Records are taken out of one alone.
	pipe, err := calls.NewPipe()
	must(err)
	errs = append(errs, expect("pipe", seen(pipe.WriteNow), "middle:3 outer:5"), expect("calls", seen(whole(calls.WriteTrace)), ""))
	b.Reset()
	must(graph.WriteRecording(&b, &ftrace.Selection{}))
	errs = append(errs, expect("snapshot", b.Len() > 4096, true))
	// Goroutines, for one.
	must(calls.SetTracingOn(true))
	must(calls.Reset())
	id := make(chan uint64)
	do := make(chan bool)
	go func() {
		id <- ftrace.Goid()
		<-do
		outer(1)
		do <- true
	}()
	must(calls.SetGoroutines(<-id))
	outer(3)
	do <- true
	<-do
	errs = append(errs, expect("one goroutine", seen(whole(calls.WriteTrace)), "middle:1 outer:2"))
	must(calls.SetGoroutines())
	// Triggers, for one.
	must(calls.Reset())
	must(ftrace.Reset())
	must(calls.SetTrigger("main.inner:traceoff:1"))
	outer(2)
	errs = append(errs, expect("a trigger", seen(whole(calls.WriteTrace)), "middle:1 outer:1"), expect("top", seen(whole(ftrace.WriteTrace)), "inner:2 middle:2 outer:3"),
		expect("triggers", strings.Join(calls.Triggers(), " "), "main.inner:traceoff:count=0"), expect("triggers of the top one", len(ftrace.Triggers()), 0))
	must(ftrace.SetTracer("nop"))
	for _, in := range []*ftrace.Instance{graph, one, calls} {
		must(in.Remove())
		if in.Remove() == nil || in.SetTracer("function") == nil || in.WriteTrace(io.Discard, nil) == nil {
			errs = append(errs, fmt.Errorf("%s is there still", in.Name()))
		}
	}
	if pipe.WriteNow(io.Discard) == nil {
		errs = append(errs, errors.New("the pipe of an instance that was removed"))
	}
	// Another one that gets the first one's place knows nothing of it.
	again := newInstance("again", "function", "main.inner")
	outer(1)
	errs = append(errs, expect("again", seen(whole(again.WriteTrace)), "inner:1"), expect("stats", again.ReadStats().Written, uint64(1)))
	must(again.Remove())
	var list []*ftrace.Instance
	for i := 0; ; i++ {
		in, err := ftrace.NewInstance(fmt.Sprint("i", i))
		if err != nil {
			errs = append(errs, expect("how many", i, 15))
			break
		}
		list = append(list, in)
	}
	if _, err := ftrace.NewInstance("i3"); err == nil {
		errs = append(errs, errors.New("two of a name"))
	}
	for _, in := range list {
		must(in.Remove())
	}
	return errors.Join(errs...)
}

// instanceFilters: filter and notrace of each; what is enabled is the union, and exactly what it was when an instance goes, in any order
// (fgraph-multi-filter.tc).
func instanceFilters() error {
	enabled := func() int { return len(ftrace.EnabledFunctions()) }
	filters := [][2]string{{"main.dyn*", "*2"}, {"main.*ner", ""}, {"main.*e*", "main.m*"}, {"*Test*", ""}}
	var errs []error
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}} {
		list := map[int]*ftrace.Instance{}
		counts := []int{enabled()}
		for i, f := range filters {
			in, err := ftrace.NewInstance(fmt.Sprint("i", i))
			must(err)
			must(in.SetFilter(f[0]))
			if f[1] != "" {
				must(in.SetNotrace(f[1]))
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
			must(list[i].SetTracer("function_graph"))
			errs = append(errs, expect("union", enabled(), union()))
			counts = append(counts, enabled())
		}
		dynTestName()
		dynTestName2()
		errs = append(errs, expect("not 2", seen(whole(list[0].WriteTrace)), "dynTestName:1"), expect("both", seen(whole(list[3].WriteTrace)), "dynTestName2:1 dynTestName:1"))
		for k := len(order) - 1; k >= 0; k-- {
			errs = append(errs, expect("enabled", enabled(), counts[k+1]))
			if k%2 == 0 {
				must(list[order[k]].SetTracer("nop"))
			} else {
				must(list[order[k]].Remove())
			}
		}
		errs = append(errs, expect("enabled", enabled(), counts[0]))
		for k, i := range order {
			if k%2 == 0 {
				must(list[i].Remove())
			}
		}
	}
	return errors.Join(errs...)
}

// instanceRace: many make, use and remove instances at once, while others call: nothing breaks, and nothing is left (instance.tc).
func instanceRace() error {
	var makers sync.WaitGroup
	stop := callers(4, runtime.Gosched)
	must(ftrace.SetFilter("main.outer", "main.middle", "main.inner"))
	defer ftrace.SetFilter()
	size := ftrace.BufferSize()
	must(ftrace.SetBufferSize(256)) // so that it is full soon
	defer ftrace.SetBufferSize(size)
	must(ftrace.SetTracer("function_graph"))
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
					in.SetFilter("main.inner", "main.middle")
					in.SetTracer([]string{"function", "function_graph", "nop"}[i%3])
					in.SetTrigger("main.middle:traceoff:2")
					if other := ftrace.FindInstance("foo"); other != nil {
						other.SetTracer("function")
						other.Marker("from another")
						other.WriteTrace(io.Discard, nil)
					}
					if i%2 == 0 {
						in.SetTracer("function_graph")
					}
					must(in.Remove())
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
	must(ftrace.SetTracer("nop"))
	s := ftrace.ReadStats()
	return errors.Join(
		expect("made and refused", made.Load() > 0 && refused.Load() >= 0, true),
		expect("grown", max(0, grown>>20), int64(0)),
		expect("left", len(ftrace.Instances()), 0),
		expect("accounted for", s.Written, s.Entries+s.Overwritten+s.Dropped+s.Read))
}
