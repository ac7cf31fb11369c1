// Recorder checks what the recorder counts, keeps and gives back, one part after the other; each prints a line.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ftgo/ftgo/internal/tracefile"
	ftrace "github.com/ftgo/ftgo/runtime"
)

func main() {
	for _, part := range []struct {
		name string
		run  func() error
	}{
		{"accounting", accounting},
		{"nooverwrite", nooverwrite},
		{"pipe", pipe},
		{"resize", resize},
		{"markers", markers},
		{"clocks", clocks},
		{"threshold", threshold},
		{"graph functions", graphFunctions},
		{"goroutines", goroutines},
		{"profile", profile},
		{"sleep", sleep},
		{"snapshots", snapshots},
	} {
		if err := part.run(); err != nil {
			fmt.Printf("%s: %v\n", part.name, err)
			os.Exit(1)
		}
		check(ftrace.SetTracer("nop"))
		check(ftrace.Reset())
		fmt.Println(part.name)
	}
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

var calls atomic.Uint64

//go:noinline
func leaf() { calls.Add(1) }

//go:noinline
func branch(n int) {
	for range n {
		leaf()
	}
}

// load calls leaf n times on each of some goroutines.
func load(goroutines, n int) {
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := range n {
				leaf()
				if i%1000 == 999 {
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
}

func text() string {
	var b bytes.Buffer
	check(ftrace.WriteTrace(&b, nil))
	return b.String()
}

// sum is what has become of records. As many were written.
func sum() uint64 {
	s := ftrace.ReadStats()
	n := s.Entries + s.Overwritten + s.Dropped + s.Read
	if n != s.Written {
		check(fmt.Errorf("%d written, %+v", s.Written, s))
	}
	return n
}

func only(glob string, tracer string) {
	check(ftrace.SetTracer("nop"))
	check(ftrace.SetFilter(glob))
	check(ftrace.Reset())
	calls.Store(0)
	check(ftrace.SetTracer(tracer))
}

// accounting: what was written is in the buffer or was overwritten.
func accounting() error {
	check(ftrace.SetBufferSize(1 << 10))
	only("main.leaf", "function")
	load(50, 20000)
	check(ftrace.SetTracer("nop"))
	s := ftrace.ReadStats()
	if sum() != calls.Load() || s.Overwritten == 0 || s.Dropped != 0 || s.Entries == 0 {
		return fmt.Errorf("%d calls, %+v", calls.Load(), s)
	}
	if n := strings.Count(text(), "main.leaf <-"); uint64(n) != s.Entries {
		return fmt.Errorf("%d lines for %d entries", n, s.Entries)
	}
	var cpus ftrace.Stats
	for _, c := range ftrace.ReadCPUStats() {
		cpus.Entries += c.Entries
		cpus.Overwritten += c.Overwritten
		if c.Entries > 0 && (c.Oldest == 0 || c.Oldest > c.Now || c.Bytes < 16*c.Entries) {
			return fmt.Errorf("%+v", c)
		}
	}
	if cpus.Entries != s.Entries || cpus.Overwritten != s.Overwritten {
		return fmt.Errorf("the CPUs have %+v, all together %+v", cpus, s)
	}
	return nil
}

// nooverwrite: when the buffer is full what was recorded first stays.
func nooverwrite() error {
	check(ftrace.SetOption("nooverwrite"))
	only("main.leaf", "function")
	load(50, 20000)
	check(ftrace.SetTracer("nop"))
	check(ftrace.SetOption("overwrite"))
	s := ftrace.ReadStats()
	if sum() != calls.Load() || s.Overwritten != 0 || s.Dropped == 0 || s.Entries == 0 {
		return fmt.Errorf("%d calls, %+v", calls.Load(), s)
	}
	return nil
}

// pipe: what a pipe has written is in the buffer no more, and nothing comes twice.
func pipe() error {
	p, err := ftrace.NewPipe()
	check(err)
	only("main.leaf", "function")
	lines := 0
	done := make(chan bool)
	go func() { load(4, 100000); close(done) }()
	for more := true; more; {
		select {
		case <-done:
			more = false
		default:
		}
		var b bytes.Buffer
		check(p.WriteNow(&b))
		lines += strings.Count(b.String(), "main.leaf <-")
	}
	check(ftrace.SetTracer("nop"))
	var b bytes.Buffer
	check(p.WriteNow(&b))
	lines += strings.Count(b.String(), "main.leaf <-")
	s := ftrace.ReadStats()
	if sum() != calls.Load() || s.Entries != 0 || uint64(lines) != s.Read {
		return fmt.Errorf("%d calls, %d lines, %+v", calls.Load(), lines, s)
	}
	if strings.Contains(text(), "main.leaf <-") {
		return fmt.Errorf("a record came twice")
	}
	return nil
}

// resize: the buffer may be made larger and smaller while it is written.
func resize() error {
	only("main.leaf", "function")
	done := make(chan bool)
	go func() { load(4, 200000); close(done) }()
	for i, more := 0, true; more; i++ {
		select {
		case <-done:
			more = false
		default:
		}
		check(ftrace.SetBufferSize(1 + i*i*131%5000))
		text()
	}
	check(ftrace.SetTracer("nop"))
	if sum() != calls.Load() {
		return fmt.Errorf("%d calls, %+v", calls.Load(), ftrace.ReadStats())
	}
	check(ftrace.SetBufferSize(2048))
	if n := ftrace.BufferSize(); n != 2048 {
		return fmt.Errorf("the buffer has %d kB", n)
	}
	return nil
}

//go:noinline
func noted() {
	ftrace.Marker("hello %d", 1)
	leaf()
}

// markers: notes and names of the program's own.
func markers() error {
	only("main.*", "function_graph")
	long := strings.Repeat("0123456789abcde\n", 200)
	var wg sync.WaitGroup
	wg.Go(func() {
		ftrace.SetGoroutineName("the long name of it")
		noted()
		ftrace.Marker("%s", long)
	})
	wg.Wait()
	check(ftrace.SetTracer("nop"))
	ftrace.Marker("not while nothing is traced")
	check(ftrace.SetOption("funcgraph-proc"))
	out := text()
	check(ftrace.SetOption("nofuncgraph-proc"))
	for _, want := range []string{`the lo[a-z ]*-\d+ +\| .*\|    main.noted\(\) \{\n`, `\|      /\* hello 1 \*/\n`} {
		if !regexp.MustCompile(want).MatchString(out) {
			return fmt.Errorf("no %q in\n%s", want, out)
		}
	}
	got := ""
	for i, part := range strings.Split(out, "/* ") {
		if part, _, _ = strings.Cut(part, " */"); i > 0 && !strings.HasPrefix(part, "hello") {
			got += part
		}
	}
	// A newline at the end of a note is not shown, as in the kernel.
	if strings.ReplaceAll(got, "\n", "") != strings.ReplaceAll(long, "\n", "") {
		return fmt.Errorf("a long note became %q", got)
	}
	return nil
}

// clocks: either tells how long a call took.
func clocks() error {
	first := ftrace.Clock()
	for _, name := range ftrace.Clocks() {
		check(ftrace.SetClock(name))
		if ftrace.Clock() != name {
			return fmt.Errorf("the clock is %s, not %s", ftrace.Clock(), name)
		}
		only("main.nap", "function_graph")
		nap(30 * time.Millisecond)
		check(ftrace.SetTracer("nop"))
		var us float64
		m := regexp.MustCompile(`([\d.]+) us +\|  (main.nap|\})`).FindStringSubmatch(text())
		if m == nil {
			return fmt.Errorf("%s: no call in\n%s", name, text())
		}
		fmt.Sscan(m[1], &us)
		if us < 29900 || us > 3e6 {
			return fmt.Errorf("%s: 30 ms took %v us", name, us)
		}
	}
	if err := ftrace.SetClock("sundial"); err == nil || !strings.Contains(err.Error(), "mono") {
		return fmt.Errorf("a clock that is not: %v", err)
	}
	return ftrace.SetClock(first)
}

//go:noinline
func nap(d time.Duration) { time.Sleep(d) }

// threshold: only calls that take as long.
func threshold() error {
	check(ftrace.SetThreshold(20 * time.Millisecond))
	only("main.nap", "function_graph")
	nap(time.Microsecond)
	nap(25 * time.Millisecond)
	nap(time.Microsecond)
	check(ftrace.SetTracer("nop"))
	check(ftrace.SetThreshold(0))
	out := text()
	if strings.Count(out, "main.nap") != 1 || !regexp.MustCompile(`\* \d+\.\d+ us  ?\|  \} /\* main.nap \*/\n`).MatchString(out) {
		return fmt.Errorf("%s", out)
	}
	return nil
}

//go:noinline
func left() { branch(2) }

//go:noinline
func right() { branch(3) }

//go:noinline
func both() { left(); right() }

// graphFunctions: a function and all that it calls.
func graphFunctions() error {
	count := func() (n int) {
		both()
		check(ftrace.SetTracer("nop"))
		out := text()
		n = strings.Count(out, "main.leaf()")
		for _, name := range []string{"both", "left", "right"} {
			if strings.Contains(out, "main."+name+"()") {
				n += map[string]int{"both": 100, "left": 10, "right": 1000}[name]
			}
		}
		return n
	}
	for _, c := range []struct {
		function, notrace string
		want              int
	}{{"main.left", "", 12}, {"", "main.left", 1103}, {"main.both", "main.branch", 1110}, {"", "", 1115}} {
		args := func(s string) []string { return strings.Fields(s) }
		check(ftrace.SetGraphFunction(args(c.function)...))
		check(ftrace.SetGraphNotrace(args(c.notrace)...))
		only("main.*", "function_graph")
		if n := count(); n != c.want {
			return fmt.Errorf("%q without %q: %d, want %d", c.function, c.notrace, n, c.want)
		}
	}
	return nil
}

// goroutines: one, those that it starts, and all but one.
func goroutines() error {
	family := func() {
		leaf()
		var wg sync.WaitGroup
		wg.Go(func() {
			leaf()
			wg.Go(func() { leaf() })
		})
		wg.Wait()
	}
	for _, fork := range []bool{false, true} {
		for _, not := range []bool{false, true} {
			check(ftrace.SetTracer("nop"))
			start, id, wait := make(chan bool), make(chan uint64), make(chan bool)
			go func() {
				id <- ftrace.Goid()
				<-start
				family()
				close(wait)
			}()
			set, option := ftrace.SetGoroutines, "nofunction-fork"
			if not {
				set = ftrace.SetNotraceGoroutines
			}
			if fork {
				option = "function-fork"
			}
			check(ftrace.SetOption(option))
			check(set(<-id))
			only("main.leaf", "function")
			close(start)
			<-wait
			leaf()
			check(ftrace.SetTracer("nop"))
			want := map[bool]map[bool]int{false: {false: 1, true: 3}, true: {false: 3, true: 1}}[fork][not]
			if n := strings.Count(text(), "main.leaf <-"); n != want {
				return fmt.Errorf("fork %v, not %v: %d calls, want %d", fork, not, n, want)
			}
			check(set())
		}
	}
	return ftrace.SetOption("nofunction-fork")
}

// profile: calls and times of functions, beside any tracer.
func profile() error {
	for _, tracer := range []string{"nop", "function", "function_graph"} {
		check(ftrace.SetFilter("main.leaf", "main.branch", "main.nap"))
		check(ftrace.ResetProfile())
		check(ftrace.SetTracer(tracer))
		check(ftrace.StartProfile())
		for i := range 10 {
			branch(i)
		}
		nap(20 * time.Millisecond)
		check(ftrace.StopProfile())
		leaf()
		got := map[string]ftrace.FuncStats{}
		for _, f := range ftrace.Profile() {
			got[f.Func.Name()] = f
		}
		l, b, n := got["main.leaf"], got["main.branch"], got["main.nap"]
		if len(got) != 3 || l.Hits != 45 || b.Hits != 10 || n.Hits != 1 {
			return fmt.Errorf("%s: %+v", tracer, got)
		}
		if b.Total < l.Total || b.Self > b.Total-l.Total+b.Total/10 || l.Self != l.Total || n.Total < 19900*time.Microsecond || n.Variance != 0 || l.Variance <= 0 {
			return fmt.Errorf("%s: %v %v, %v %v, %v", tracer, b.Total, b.Self, l.Total, l.Self, n.Total)
		}
		if p := n.Percentile(50); p != n.Total || l.Percentile(0) > l.Percentile(50) || l.Percentile(50) > l.Percentile(99) || l.Percentile(99) > l.Max {
			return fmt.Errorf("%s: %v, %v %v %v", tracer, p, l.Percentile(50), l.Percentile(99), l.Max)
		}
		// Nine of ten calls are shorter than the tenth.
		check(ftrace.ResetProfile())
		check(ftrace.StartProfile())
		for i := range 10 {
			nap(time.Duration(1+i/9*99) * time.Millisecond)
		}
		check(ftrace.StopProfile())
		for _, f := range ftrace.Profile() {
			if p50, p90, p99 := f.Percentile(50), f.Percentile(90), f.Percentile(99); f.Hits != 10 || p50 < time.Millisecond || p50 > p90 || p90 > 90*time.Millisecond || p99 < 88*time.Millisecond { // to an eighth
				return fmt.Errorf("%s: %s %d, %v %v %v", tracer, f.Name, f.Hits, p50, p90, p99)
			}
		}
		check(ftrace.ResetProfile())
		check(ftrace.StartProfile())
		nap(20 * time.Millisecond)
		check(ftrace.StopProfile())
		var w bytes.Buffer
		check(ftrace.WriteProfile(&w))
		if !regexp.MustCompile(`(?m)^  main\.nap {33}1    \d+\.\d+ us `).MatchString(w.String()) {
			return fmt.Errorf("%s", &w)
		}
	}
	return nil
}

// sleep: with nosleep-time a goroutine's time off its P does not count.
func sleep() error {
	check(ftrace.SetOption("nosleep-time"))
	defer ftrace.SetOption("sleep-time")
	check(ftrace.SetTracer("nop"))
	check(ftrace.ResetProfile())
	check(ftrace.StartProfile())
	nap(50 * time.Millisecond)
	check(ftrace.StopProfile())
	for _, f := range ftrace.Profile() {
		if f.Func.Name() == "main.nap" && f.Total < 40*time.Millisecond {
			return nil
		}
	}
	return fmt.Errorf("%v", ftrace.Profile())
}

// snapshots: while recording goes on, what is written is whole: every goroutine's calls nest, up to where its oldest records were overwritten.
func snapshots() error {
	check(ftrace.SetBufferSize(1 << 10))
	only("main.*", "function_graph")
	done := make(chan bool)
	go func() {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for i := range 3000 {
					both()
					if i%50 == 0 {
						time.Sleep(50 * time.Microsecond)
					}
				}
			})
		}
		wg.Wait()
		close(done)
	}()
	n := 0
	for more := true; more; n++ {
		select {
		case <-done:
			more = false
		default:
		}
		o := &ftrace.Selection{}
		switch n % 3 {
		case 1:
			o.Last = 500 * time.Microsecond
		case 2:
			o.MaxBytes = 100 << 10
		}
		if err := whole(o, func() {}); err != nil {
			return fmt.Errorf("snapshot %d: %w", n, err)
		}
	}
	if n < 3 {
		return fmt.Errorf("there were %d snapshots", n)
	}
	if err := whole(&ftrace.Selection{}, func() { load(8, 100000) }); err != nil {
		return fmt.Errorf("a snapshot whose writer has the buffer overwritten first: %w", err)
	}
	return nil
}

// A lateWriter does something before it writes for the first time.
type lateWriter struct {
	io.Writer
	first sync.Once
	do    func()
}

func (w *lateWriter) Write(b []byte) (int, error) {
	w.first.Do(w.do)
	return w.Writer.Write(b)
}

// whole takes a snapshot and looks at what is in it; do is called before it is written.
func whole(o *ftrace.Selection, do func()) error {
	f, err := os.CreateTemp("", "snapshot")
	check(err)
	defer os.Remove(f.Name())
	defer f.Close()
	check(ftrace.WriteRecording(&lateWriter{Writer: f, do: do}, o))
	if info, err := f.Stat(); err != nil || o.MaxBytes > 0 && info.Size() > o.MaxBytes+200<<10 {
		return fmt.Errorf("%v bytes, at most %d were wanted: %v", info.Size(), o.MaxBytes, err)
	}
	t, err := tracefile.ReadFile(f.Name())
	check(err)
	defer t.Close()
	depth, seen, first, last := map[uint64]int{}, 0, int64(0), int64(0)
	for e := range t.Events() {
		seen++
		if first == 0 {
			first = e.Time
		}
		last = e.Time
		if !strings.HasPrefix(t.Name(e.Func), "main.") {
			return fmt.Errorf("a function is called %s", t.Name(e.Func))
		}
		before, known := depth[e.Goid()]
		switch e.Kind {
		case tracefile.KindEntry:
			if known && e.Lost == 0 && e.Depth != before {
				return fmt.Errorf("goroutine %d enters at depth %d, not %d", e.Goid(), e.Depth, before)
			}
			depth[e.Goid()] = e.Depth + 1
		case tracefile.KindReturn:
			if known && e.Lost == 0 && e.Depth != before-1 {
				return fmt.Errorf("goroutine %d leaves depth %d, not %d", e.Goid(), e.Depth, before-1)
			}
			depth[e.Goid()] = e.Depth
		}
	}
	if o.Last > 0 && time.Duration(last-first) > o.Last+50*time.Millisecond {
		return fmt.Errorf("%v, at most %v were wanted", time.Duration(last-first), o.Last)
	}
	if o.Last == 0 && o.MaxBytes == 0 && seen == 0 {
		return fmt.Errorf("nothing was seen")
	}
	return nil
}
