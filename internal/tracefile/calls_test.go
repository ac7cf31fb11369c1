package tracefile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// lines returns the text of a trace without its head.
func lines(t *testing.T, tr *Trace, o Options) string {
	t.Helper()
	var b bytes.Buffer
	check(t, tr.WriteText(&b, o))
	return body(b.String())
}

func body(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			out = append(out, strings.TrimRight(line, " \n"))
		}
	}
	return strings.Join(out, "\n")
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got, want = strings.Trim(got, "\n"), strings.Trim(want, "\n"); got != want {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

// rows describes a report: calls, returns, open, total and self time.
func rows(tr *Trace) string {
	var out []string
	for _, f := range tr.Report() {
		out = append(out, fmt.Sprintf("%s calls %d returns %d open %d total %d self %d max %d",
			f.Name, f.Calls, f.Returns, f.Open, f.Total, f.Self, f.Max))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// ended gives a trace an end.
func ended(b *builder, ns uint64) *builder {
	le.PutUint64(b.header[HEndCounter:], ns)
	le.PutUint64(b.header[HEndMono:], ns)
	return b
}

// Calls that are open at the end count up to there: the header's end, or that of the last record.
func TestUnfinished(t *testing.T) {
	trace := func() *builder {
		return newBuilder(TracerGraph).
			on(1, 0, 1, entry(1000, mainFn, 0), entry(2000, load, 1), entry(3000, load, 2)).
			on(7, 1, 3, entry(2500, worker, 0), entry(2600, f, 1), ret(2700, f, 1)).
			on(8, 1, 3, entry(2800, worker, 0), ret(2900, worker, 0))
	}
	same(t, "ended", lines(t, ended(trace(), 9000).trace(t), Options{}), `
 0)               |  main.main() {
 0)               |    main.load() {
 1)               |  main.worker() {
 1)   0.100 us    |    main.f();
 ------------------------------------------
 1)    worker-7    =>    worker-8
 ------------------------------------------

 1)   0.100 us    |  main.worker();
 0)               |      main.load() {
 0)   6.000 us    |      } /* main.load: unfinished */
 0)   7.000 us    |    } /* main.load: unfinished */
 0)   8.000 us    |  } /* main.main: unfinished */
 ------------------------------------------
 1)    worker-8    =>    worker-7
 ------------------------------------------

 1)   6.500 us    |  } /* main.worker: unfinished */`)
	same(t, "ended", rows(ended(trace(), 9000).trace(t)), `
main.f calls 1 returns 1 open 0 total 100 self 100 max 100
main.load calls 2 returns 0 open 2 total 7000 self 7000 max 7000
main.main calls 1 returns 0 open 1 total 8000 self 1000 max 8000
main.worker calls 2 returns 1 open 1 total 6600 self 6500 max 6500`)
	if got := lines(t, trace().trace(t), Options{}); !strings.Contains(got, "   2.000 us    |  } /* main.main: unfinished */") {
		t.Errorf("a program that was killed: main.main does not count up to the last record:\n%s", got)
	}
}

// A call is open if nothing says that it may not be.
func TestNotUnfinished(t *testing.T) {
	open := func(b *builder) (names []string) {
		tr := b.trace(t)
		text := lines(t, tr, Options{})
		for _, f := range tr.Report() {
			if f.Open > 0 {
				names = append(names, strings.TrimPrefix(f.Name, "main."))
			}
			if marked := strings.Count(text, f.Name+": unfinished"); marked != int(f.Open) {
				t.Errorf("%s is marked %d times, and open %d times", f.Name, marked, f.Open)
			}
		}
		slices.Sort(names)
		return names
	}
	two := func() *builder {
		return newBuilder(TracerGraph).on(1, 0, 1, entry(1000, mainFn, 0), entry(2000, load, 1))
	}
	lost := func(b *builder) *builder { b.seq[1]++; return b }
	dropped := two()
	le.PutUint64(dropped.header[HDropped:], 1)
	full := two()
	le.PutUint32(full.header[HState:], StateNoSpace)
	for _, c := range []struct {
		name string
		b    *builder
		want []string
	}{
		{"nothing more", two(), []string{"load", "main"}},
		{"a call at the same depth", two().on(1, 1, 1, entry(3000, f, 1), ret(3100, f, 1)), []string{"main"}},
		{"a return further up", two().on(1, 0, 1, ret(3100, mainFn, 0)), nil},
		{"a return of something else", two().on(1, 0, 1, ret(3100, f, 0)), nil},
		{"a marker at the same depth", two().mark(1, 0, 3000, 1, "x"), []string{"main"}},
		{"a marker below", two().mark(1, 0, 3000, 2, "x"), []string{"load", "main"}},
		{"a loss before", lost(two()).on(1, 0, 1, entry(3000, f, 2)), []string{"f"}},
		{"a loss at the end", dropped, nil},
		{"a full disk", full, nil},
	} {
		if got := open(c.b); !slices.Equal(got, c.want) {
			t.Errorf("%s: open are %v, want %v", c.name, got, c.want)
		}
	}
}

// In a pipe the next piece may bring the return, with the whole duration.
func TestPipeDoesNotEndCalls(t *testing.T) {
	p, out := NewPipe(), &bytes.Buffer{}
	check(t, p.Write(out, ended(newBuilder(TracerGraph).on(1, 0, 1, entry(1000, mainFn, 0)), 1500).trace(t), Options{}))
	next := newBuilder(TracerGraph)
	next.seq[1] = 1
	check(t, p.Write(out, ended(next.on(1, 0, 1, ret(5000, mainFn, 0)), 6000).trace(t), Options{}))
	same(t, "two pieces", body(out.String()), `
 0)               |  main.main() {
 0)   4.000 us    |  }`)
}

// The brace of a call names its function if its entry is not in the stack of the P
// (print_graph_return).
func TestBraceAfterMigration(t *testing.T) {
	b := newBuilder(TracerGraph).
		on(1, 0, 1, entry(1000, mainFn, 0), entry(2000, load, 1)).
		on(1, 1, 1, entry(3000, f, 2), ret(3500, f, 2), ret(4000, load, 1)).
		on(1, 0, 1, ret(5000, mainFn, 0)).
		on(7, 0, 3, entry(6000, worker, 0)).
		on(8, 0, 3, entry(7000, worker, 0), entry(7100, f, 1)).
		on(7, 0, 3, ret(8000, worker, 0)).
		on(8, 0, 3, ret(9000, f, 1), ret(9100, worker, 0))
	got := lines(t, b.trace(t), Options{})
	var braces []string
	for line := range strings.Lines(got) {
		if _, call, ok := strings.Cut(line, "|  "); ok && strings.Contains(call, "}") {
			braces = append(braces, strings.TrimSpace(call))
		}
	}
	want := []string{"} /* main.load */", "}", "} /* main.worker */", "}", "} /* main.worker */"}
	if !slices.Equal(braces, want) {
		t.Errorf("braces %q, want %q:\n%s", braces, want, got)
	}
}

func TestPanicked(t *testing.T) {
	p := func(ns, kind, fn, depth uint64) [3]uint64 {
		return [3]uint64{ns, kind, fn | depth<<32 | 3<<OverrunShift | Panicked}
	}
	b := newBuilder(TracerGraph).on(1, 0, 1,
		entry(1000, mainFn, 0), entry(1100, load, 1), entry(1200, f, 2), p(1300, KindReturn, f, 2), p(1400, KindReturn, load, 1),
		ret(1500, mainFn, 0))
	tr := b.trace(t)
	same(t, "panics", lines(t, tr, Options{Overrun: true}), `
 0)               |  main.main() {
 0)               |    main.load() {
 0)   0.100 us    |      main.f(); /* panicked */
 (Overruns: 3)
 0)   0.300 us    |    } /* main.load: panicked */
 (Overruns: 3)
 0)   0.500 us    |  }`)
	for _, o := range []Options{{Tail: true}, {Retval: true}} {
		if got := lines(t, tr, o); !strings.Contains(got, "} /* main.load: panicked */") {
			t.Errorf("%+v:\n%s", o, got)
		}
	}
	n := 0
	for e := range tr.Events() {
		if e.Panicked {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d returns panicked, want 2", n)
	}
}

// A call that returned has its values, and one that panicked has none.
func TestReturnValues(t *testing.T) {
	// A KindValue has four words; the last two are the clock on entry and the value.
	page := make([]byte, MinPage)
	b := newBuilder(TracerGraph).on(1, 0, 1, entry(1000, mainFn, 0))
	copy(page, b.pages()[0])
	off := PageHeaderSize + 3*RecordSize
	put := func(words ...uint64) {
		for _, w := range words {
			le.PutUint64(page[off:], w)
			off += 8
		}
	}
	put(1100<<8|KindEntry, f|1<<32)
	put(1200<<8|KindValue, f|1<<32, 0, 42)
	put(1300<<8|KindEntry, f|1<<32)
	put(1400<<8|KindValue, f|1<<32|Panicked, 0, 42)
	put(1500<<8|KindValue, mainFn, 0, ^uint64(21))
	le.PutUint32(page[PCommit:], le.Uint32(page[PCommit:])+8+3*Extra)
	tr, err := New(b.header, 1, func(_ int, buf []byte) []byte { return page[:len(buf)] }, b.trace(t).Tables)
	check(t, err)
	same(t, "values", lines(t, tr, Options{Retval: true}), `
 0)               |  main.main() {
 0)   0.100 us    |    main.f(); /* ret=0x2a */
 0)   0.100 us    |    main.f(); /* panicked */
 0)   0.500 us    |  } /* main.main ret=-22 */`)
}

func TestSelection(t *testing.T) {
	trace := func() *Trace {
		b := newBuilder(TracerGraph).
			on(1, 0, 1, entry(1000, mainFn, 0), entry(2000, load, 1), entry(2100, f, 2), ret(2200, f, 2), ret(3000, load, 1),
				entry(3500, mid, 1), entry(3600, f, 2), ret(3700, f, 2), ret(4000, mid, 1)).
			on(7, 1, 3, entry(2500, worker, 0), entry(2600, f, 1), ret(2700, f, 1), entry(3800, f, 1), ret(3900, f, 1))
		b.seq[7] += 5
		b.on(7, 1, 3, entry(4500, f, 1), ret(4600, f, 1))
		b.on(1, 0, 1, ret(5000, mainFn, 0), entry(6000, sleep, 0))
		return ended(b, 8000).trace(t)
	}
	for _, c := range []struct {
		name         string
		s            Selection
		text, report string
	}{
		{"a goroutine", Selection{Goroutines: []uint64{7}}, `
 1)               |  main.worker() {
 1)   0.100 us    |    main.f();
 1)   0.100 us    |    main.f();
CPU:1 [LOST 5 EVENTS]
 1)   0.100 us    |    main.f();`, `
main.f calls 3 returns 3 open 0 total 300 self 300 max 100
main.worker calls 1 returns 0 open 0 total 0 self 0 max 0`},
		{"a beginning within calls", Selection{Goroutines: []uint64{1}, From: 2150}, `
 0)   0.100 us    |      } /* main.f */
 0)   1.000 us    |    } /* main.load */
 0)               |    main.mid() {
 0)   0.100 us    |      main.f();
 0)   0.500 us    |    }
 0)   4.000 us    |  } /* main.main */
 0)               |  main.sleep() {
 0)   2.000 us    |  } /* main.sleep: unfinished */`, `
main.f calls 2 returns 2 open 0 total 200 self 200 max 100
main.load calls 1 returns 1 open 0 total 1000 self 900 max 1000
main.main calls 1 returns 1 open 0 total 4000 self 2500 max 4000
main.mid calls 1 returns 1 open 0 total 500 self 400 max 500
main.sleep calls 1 returns 0 open 1 total 2000 self 2000 max 2000`},
		{"an end within calls", Selection{Goroutines: []uint64{1}, From: 1500, To: 3650}, `
 0)               |    main.load() {
 0)   0.100 us    |      main.f();
 0)   1.000 us    |    }
 0)               |    main.mid() {
 0)               |      main.f() {`, `
main.f calls 2 returns 2 open 0 total 200 self 200 max 100
main.load calls 1 returns 1 open 0 total 1000 self 900 max 1000
main.mid calls 1 returns 1 open 0 total 500 self 400 max 500`},
		{"an open call before the beginning", Selection{From: 7000}, ``, ``},
		{"functions", Selection{Functions: func(name string) bool { return name == "main.mid" || name == "main.sleep" }}, `
 0)               |    main.mid() {
 0)   0.100 us    |      main.f();
 0)   0.500 us    |    }
 0)               |  main.sleep() {
 0)   2.000 us    |  } /* main.sleep: unfinished */`, `
main.f calls 1 returns 1 open 0 total 100 self 100 max 100
main.mid calls 1 returns 1 open 0 total 500 self 400 max 500
main.sleep calls 1 returns 0 open 1 total 2000 self 2000 max 2000`},
		{"a function below others", Selection{Functions: func(name string) bool { return name == "main.f" }, To: 3000}, `
 0)   0.100 us    |      main.f();
 1)   0.100 us    |    main.f();`, `
main.f calls 2 returns 2 open 0 total 200 self 200 max 100`},
	} {
		tr := trace()
		tr.Select = c.s
		same(t, c.name, lines(t, tr, Options{}), c.text)
		same(t, c.name, rows(tr), c.report)
	}
}

// A function that calls itself has the time of the outermost call that is selected.
func TestSelectedRecursion(t *testing.T) {
	tr := newBuilder(TracerGraph).on(1, 0, 1, entry(1000, f, 0), entry(2000, f, 1), ret(2500, f, 1), ret(3000, f, 0)).trace(t)
	same(t, "all", rows(tr), "main.f calls 2 returns 2 open 0 total 2000 self 2000 max 2000")
	tr.Select = Selection{From: 1500, To: 2600}
	same(t, "the inner call", rows(tr), "main.f calls 1 returns 1 open 0 total 500 self 500 max 500")
}

// What a ring has overwritten is not counted, and what it left of it has no row.
func TestReportOfRing(t *testing.T) {
	tr := newBuilder(TracerGraph).on(1, 0, 1, ret(1000, f, 2), ret(1100, load, 1), entry(1200, mid, 1), ret(1300, mid, 1)).trace(t)
	same(t, "a ring", rows(tr), "main.mid calls 1 returns 1 open 0 total 100 self 100 max 100")
}

func TestTable(t *testing.T) {
	tr := ended(newBuilder(TracerGraph).on(1, 0, 1, entry(1000, mainFn, 0), entry(2000, f, 1), ret(2500, f, 1)), 4000).trace(t)
	list := tr.Report()
	slices.SortFunc(list, func(a, b *FuncReport) int { return int(b.Total - a.Total) })
	all := func(yield func(Row) bool) {
		for _, f := range list {
			if !yield(f.Row()) {
				return
			}
		}
	}
	var b, counts strings.Builder
	check(t, WriteTable(&b, all))
	check(t, WriteCounts(&counts, all))
	same(t, "times", b.String(), `
  Total time   Self time       Calls         Avg         Min         Max         p50         p99  Function
  ==========  ==========  ==========  ==========  ==========  ==========  ==========  ==========  ====================
    3.000 us    2.500 us           1    3.000 us    3.000 us    3.000 us    3.000 us    3.000 us  main.main
    0.500 us    0.500 us           1    0.500 us    0.500 us    0.500 us    0.500 us    0.500 us  main.f
# unfinished, counted up to the end: 1 of main.main
`+"\n")
	same(t, "counts", counts.String(), "       Calls  Function\n  ==========  ====================\n           1  main.main\n           1  main.f\n")
}

// One header, then a line for each goroutine and what it did.
func TestByGoroutine(t *testing.T) {
	b := newBuilder(TracerGraph).
		on(1, 0, 1, entry(1000, mainFn, 0)).on(7, 0, 3, entry(1500, worker, 0)).on(7, 1, 3, entry(1600, f, 1), ret(1700, f, 1)).
		on(1, 1, 1, ret(3000, mainFn, 0))
	for name, c := range map[string]struct {
		s    Selection
		want string
	}{
		"all": {Selection{}, `
# goroutine 1: main
 0)               |  main.main() {
 1)   2.000 us    |  } /* main.main */

# goroutine 7: main.worker
 0)               |  main.worker() {
 1)   0.100 us    |    main.f();
 1)   6.500 us    |  } /* main.worker: unfinished */
`},
		"one": {Selection{Goroutines: []uint64{7}, To: 1650}, `
# goroutine 7: main.worker
 0)               |  main.worker() {
 1)               |    main.f() {
`},
	} {
		tr := ended(b, 8000).trace(t)
		tr.Select = c.s
		var out strings.Builder
		check(t, tr.WriteByGoroutine(&out, Options{}))
		head, text, _ := strings.Cut(out.String(), "# |     |   |                     |   |   |   |\n")
		if !strings.HasPrefix(head, "# tracer: function_graph\n") {
			t.Errorf("%s: the head is %q", name, head)
		}
		same(t, name, text, strings.TrimPrefix(c.want, "\n"))
		if tr.Select.To != c.s.To || !slices.Equal(tr.Select.Goroutines, c.s.Goroutines) {
			t.Errorf("%s: the selection is %v afterwards", name, tr.Select)
		}
	}
	fn := newBuilder(TracerFunction).on(1, 0, 1, [3]uint64{1000, KindFunction, mainFn | 1<<32}).on(7, 0, 3, [3]uint64{2000, KindFunction, f | 2<<32})
	var out strings.Builder
	check(t, fn.trace(t).WriteByGoroutine(&out, Options{}))
	if _, text, _ := strings.Cut(out.String(), "|         |\n"); text != `# goroutine 1: main
            main-1       [000] .....     0.000001: main.main <-runtime.main

# goroutine 7: main.worker
          worker-7       [000] .....     0.000002: main.f <-main.main
` {
		t.Errorf("function tracer:\n%s", text)
	}
}

// The header of a snapshot counts what is shown.
func TestSnapshotCounts(t *testing.T) {
	b := newBuilder(TracerGraph).on(1, 0, 1, entry(1000, load, 0), ret(5000, load, 0), entry(9000, sleep, 0)).mark(1, 0, 9100, 1, "some text").
		on(2, 1, 3, entry(1000, f, 0), ret(1001, f, 0))
	le.PutUint64(b.header[HSince:], 4000)
	le.PutUint32(b.header[HPages:], snapshotPages)
	tr := b.trace(t)
	n := 0
	for range tr.Events() {
		n++
	}
	if n != 3 || tr.InBuffer() != 3 || tr.Written() != 6 {
		t.Errorf("%d are shown, %d in the buffer, %d written; want 3, 3 and 6", n, tr.InBuffer(), tr.Written())
	}
	var info strings.Builder
	check(t, tr.WriteInfo(&info, false))
	for _, want := range []string{": 3 in the file of 6 made\n", ": a snapshot: the program went on\n", ": 0.000004 s\n"} {
		if !strings.Contains(info.String(), want) {
			t.Errorf("info lacks %q:\n%s", want, &info)
		}
	}
	if strings.Contains(info.String(), "in order") {
		t.Errorf("info says how the program ended:\n%s", &info)
	}
}

// Info reads the first and the last pages, and all only if it is to count goroutines.
func TestInfoReadsHeads(t *testing.T) {
	tr := generate(t, TracerGraph, 1e6)
	load, bytes := tr.load, 0
	tr.load = func(i int, buf []byte) []byte {
		bytes += len(buf)
		return load(i, buf)
	}
	var quick, full strings.Builder
	check(t, tr.WriteInfo(&quick, false))
	if most := 2 * 4 * MaxPage; bytes > most {
		t.Errorf("%d bytes were read, want at most %d", bytes, most)
	}
	check(t, tr.WriteInfo(&full, true))
	if !strings.Contains(full.String(), "# goroutines          : 100\n") {
		t.Errorf("info counts no goroutines:\n%s", &full)
	}
	first, last := int64(0), int64(0)
	for e := range tr.Events() {
		if first == 0 {
			first = e.Time
		}
		last = e.Time
	}
	if want := fmt.Sprintf(": %.6f s\n", float64(last-first)/1e9); !strings.Contains(quick.String(), want) {
		t.Errorf("info does not say %q:\n%s", want, &quick)
	}
}

func TestImportPath(t *testing.T) {
	tr := generate(t, TracerGraph, 100)
	if got := lines(t, tr, Options{}); !strings.Contains(got, "example.com/module/package") {
		t.Errorf("no import paths:\n%s", got)
	}
	if got := lines(t, tr, Options{NoImportPath: true}); strings.Contains(got, "example.com") || !strings.Contains(got, " package") {
		t.Errorf("import paths:\n%s", got)
	}
	tr = generate(t, TracerFunction, 100)
	if got := lines(t, tr, Options{NoImportPath: true}); strings.Contains(got, "example.com") || !strings.Contains(got, " <-package") {
		t.Errorf("import paths:\n%s", got)
	}
	var o Options
	check(t, o.Set("noimport-path"))
	if !o.NoImportPath {
		t.Error("noimport-path sets nothing")
	}
	check(t, o.Set("import-path"))
	if o.NoImportPath {
		t.Error("import-path sets nothing")
	}
}

// The function tracer's text asks for the name of a caller once.
func TestCallersAreNamedOnce(t *testing.T) {
	tr := generate(t, TracerFunction, 100000)
	symbol, asked := tr.Symbol, map[uint32]int{}
	tr.Symbol = func(off uint32) string {
		asked[off]++
		return symbol(off)
	}
	lines(t, tr, Options{})
	for off, n := range asked {
		if off >= 2000 && n > 1 {
			t.Fatalf("the caller at %d was looked up %d times", off, n)
		}
	}
	if len(asked) < 1000 {
		t.Errorf("%d callers", len(asked))
	}
}

// A goroutine is named after the function that its last note names.
func TestLaterStart(t *testing.T) {
	b := newBuilder(TracerGraph).on(7, 0, 1, entry(1000, worker, 0)).on(8, 0, 1, entry(1100, f, 0)).on(7, 0, 3, entry(1200, load, 1))
	var out strings.Builder
	check(t, b.trace(t).WriteByGoroutine(&out, Options{}))
	if !strings.Contains(out.String(), "# goroutine 7: main.worker\n") {
		t.Errorf("by goroutine:\n%s", &out)
	}
	if got := lines(t, b.trace(t), Options{}); !strings.Contains(got, "worker-7    => ") {
		t.Errorf("graph:\n%s", got)
	}
}

// What was written of a goroutine before it got another name does not stay.
func TestRename(t *testing.T) {
	at := func(ns uint64) [3]uint64 { return [3]uint64{ns, KindFunction, f | 1<<32} }
	b := newBuilder(TracerFunction).on(7, 0, 1, at(1000)).on(8, 0, 1, at(1100)).on(7, 0, 3, at(1200))
	same(t, "function", lines(t, b.trace(t), Options{}), `
    runtime.main-7       [000] .....     0.000001: main.f <-runtime.main
    runtime.main-8       [000] .....     0.000001: main.f <-runtime.main
          worker-7       [000] .....     0.000001: main.f <-runtime.main`)
}
