package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ftgo/ftgo/internal/tracefile"
	ftrace "github.com/ftgo/ftgo/runtime"
)

// What the library gives back has the import path in front of a name; short takes it away.
const path = "github.com/ftgo/ftgo/internal/selftest/recorder"

func short(s string) string { return strings.ReplaceAll(s, path+".", "recorder.") }

// begin is the first call of every test. Without hooks the test is skipped. The recorder is whole
// after a test, and the next one finds it empty, off, and with its usual size.
func begin(t *testing.T) {
	t.Helper()
	if errors.Is(ftrace.SetTracer("nop"), ftrace.ErrNotInstrumented) {
		t.Skip("this test binary was built without hooks: ftgo test ./internal/selftest/...")
	}
	size, clock := ftrace.BufferSize(), ftrace.Clock()
	t.Cleanup(func() {
		check(t, ftrace.SetTracer("nop"))
		check(t, ftrace.StopProfile())
		check(t, ftrace.SetFilter())
		check(t, ftrace.SetBufferSize(size))
		check(t, ftrace.SetClock(clock))
		check(t, ftrace.SetThreshold(0))
		check(t, ftrace.SetGraphFunction())
		check(t, ftrace.SetGraphNotrace())
		check(t, ftrace.Reset())
	})
}

// check ends the test if there is an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
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

func text(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	check(t, ftrace.WriteTrace(&b, nil))
	return short(b.String())
}

// sum is what has become of records. As many were written.
func sum(t *testing.T) uint64 {
	t.Helper()
	s := ftrace.ReadStats()
	n := s.Entries + s.Overwritten + s.Dropped + s.Read
	if n != s.Written {
		t.Fatalf("%d written, %+v", s.Written, s)
	}
	return n
}

func only(t *testing.T, glob string, tracer string) {
	t.Helper()
	check(t, ftrace.SetTracer("nop"))
	check(t, ftrace.SetFilter(glob))
	check(t, ftrace.Reset())
	calls.Store(0)
	check(t, ftrace.SetTracer(tracer))
}

// TestAccounting: what was written is in the buffer or was overwritten.
func TestAccounting(t *testing.T) {
	begin(t)
	check(t, ftrace.SetBufferSize(1<<10))
	only(t, "recorder.leaf", "function")
	load(50, 20000)
	check(t, ftrace.SetTracer("nop"))
	s := ftrace.ReadStats()
	if sum(t) != calls.Load() || s.Overwritten == 0 || s.Dropped != 0 || s.Entries == 0 {
		t.Fatalf("%d calls, %+v", calls.Load(), s)
	}
	if n := strings.Count(text(t), ": recorder.leaf <-"); uint64(n) != s.Entries {
		t.Fatalf("%d lines for %d entries", n, s.Entries)
	}
	var cpus ftrace.Stats
	for _, c := range ftrace.ReadCPUStats() {
		cpus.Entries += c.Entries
		cpus.Overwritten += c.Overwritten
		if c.Entries > 0 && (c.Oldest == 0 || c.Oldest > c.Now || c.Bytes < 16*c.Entries) {
			t.Fatalf("%+v", c)
		}
	}
	if cpus.Entries != s.Entries || cpus.Overwritten != s.Overwritten {
		t.Fatalf("the CPUs have %+v, all together %+v", cpus, s)
	}
}

// TestNooverwrite: when the buffer is full what was recorded first stays.
func TestNooverwrite(t *testing.T) {
	begin(t)
	check(t, ftrace.SetBufferSize(1<<10))
	check(t, ftrace.SetOption("nooverwrite"))
	only(t, "recorder.leaf", "function")
	load(50, 20000)
	check(t, ftrace.SetTracer("nop"))
	check(t, ftrace.SetOption("overwrite"))
	s := ftrace.ReadStats()
	if sum(t) != calls.Load() || s.Overwritten != 0 || s.Dropped == 0 || s.Entries == 0 {
		t.Fatalf("%d calls, %+v", calls.Load(), s)
	}
}

// TestPipe: what a pipe has written is in the buffer no more, and nothing comes twice.
func TestPipe(t *testing.T) {
	begin(t)
	check(t, ftrace.SetBufferSize(1<<10))
	p, err := ftrace.NewPipe()
	check(t, err)
	only(t, "recorder.leaf", "function")
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
		check(t, p.WriteNow(&b))
		lines += strings.Count(b.String(), path+".leaf <-")
	}
	check(t, ftrace.SetTracer("nop"))
	var b bytes.Buffer
	check(t, p.WriteNow(&b))
	lines += strings.Count(b.String(), path+".leaf <-")
	s := ftrace.ReadStats()
	if sum(t) != calls.Load() || s.Entries != 0 || uint64(lines) != s.Read {
		t.Fatalf("%d calls, %d lines, %+v", calls.Load(), lines, s)
	}
	if strings.Contains(text(t), ": recorder.leaf <-") {
		t.Fatalf("a record came twice")
	}
}

// TestResize: the buffer may be made larger and smaller while it is written.
func TestResize(t *testing.T) {
	begin(t)
	only(t, "recorder.leaf", "function")
	done := make(chan bool)
	go func() { load(4, 200000); close(done) }()
	for i, more := 0, true; more; i++ {
		select {
		case <-done:
			more = false
		default:
		}
		check(t, ftrace.SetBufferSize(1+i*i*131%5000))
		text(t)
	}
	check(t, ftrace.SetTracer("nop"))
	if sum(t) != calls.Load() {
		t.Fatalf("%d calls, %+v", calls.Load(), ftrace.ReadStats())
	}
	check(t, ftrace.SetBufferSize(2048))
	if n := ftrace.BufferSize(); n != 2048 {
		t.Fatalf("the buffer has %d kB", n)
	}
}

//go:noinline
func noted() {
	ftrace.Marker("hello %d", 1)
	leaf()
}

// TestMarkers: notes and names of the program's own.
func TestMarkers(t *testing.T) {
	begin(t)
	only(t, "recorder.*", "function_graph")
	long := strings.Repeat("0123456789abcde\n", 200)
	var wg sync.WaitGroup
	wg.Go(func() {
		ftrace.SetGoroutineName("the long name of it")
		noted()
		ftrace.Marker("%s", long)
	})
	wg.Wait()
	check(t, ftrace.SetTracer("nop"))
	ftrace.Marker("not while nothing is traced")
	check(t, ftrace.SetOption("funcgraph-proc"))
	out := text(t)
	check(t, ftrace.SetOption("nofuncgraph-proc"))
	for _, want := range []string{`the lo[a-z ]*-\d+ +\| .*\|    recorder.noted\(\) \{\n`, `\|      /\* hello 1 \*/\n`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Fatalf("no %q in\n%s", want, out)
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
		t.Fatalf("a long note became %q", got)
	}
}

// TestClocks: either tells how long a call took.
func TestClocks(t *testing.T) {
	begin(t)
	first := ftrace.Clock()
	for _, name := range ftrace.Clocks() {
		check(t, ftrace.SetClock(name))
		if ftrace.Clock() != name {
			t.Fatalf("the clock is %s, not %s", ftrace.Clock(), name)
		}
		only(t, "recorder.nap", "function_graph")
		nap(30 * time.Millisecond)
		check(t, ftrace.SetTracer("nop"))
		var us float64
		m := regexp.MustCompile(`([\d.]+) us +\|  (recorder.nap|\})`).FindStringSubmatch(text(t))
		if m == nil {
			t.Fatalf("%s: no call in\n%s", name, text(t))
		}
		fmt.Sscan(m[1], &us)
		if us < 29900 || us > 3e6 {
			t.Fatalf("%s: 30 ms took %v us", name, us)
		}
	}
	if err := ftrace.SetClock("sundial"); err == nil || !strings.Contains(err.Error(), "mono") {
		t.Fatalf("a clock that is not: %v", err)
	}
	check(t, ftrace.SetClock(first))
}

//go:noinline
func nap(d time.Duration) { time.Sleep(d) }

// TestThreshold: only calls that take as long.
func TestThreshold(t *testing.T) {
	begin(t)
	check(t, ftrace.SetThreshold(20*time.Millisecond))
	only(t, "recorder.nap", "function_graph")
	nap(time.Microsecond)
	nap(25 * time.Millisecond)
	nap(time.Microsecond)
	check(t, ftrace.SetTracer("nop"))
	check(t, ftrace.SetThreshold(0))
	out := text(t)
	if strings.Count(out, "recorder.nap") != 1 || !regexp.MustCompile(`\* \d+\.\d+ us  ?\|  \} /\* recorder.nap \*/\n`).MatchString(out) {
		t.Fatalf("%s", out)
	}
}

//go:noinline
func left() { branch(2) }

//go:noinline
func right() { branch(3) }

//go:noinline
func both() { left(); right() }

// TestGraphFunctions: a function and all that it calls.
func TestGraphFunctions(t *testing.T) {
	begin(t)
	count := func() (n int) {
		both()
		check(t, ftrace.SetTracer("nop"))
		out := text(t)
		n = strings.Count(out, "recorder.leaf()")
		for _, name := range []string{"both", "left", "right"} {
			if strings.Contains(out, "recorder."+name+"()") {
				n += map[string]int{"both": 100, "left": 10, "right": 1000}[name]
			}
		}
		return n
	}
	for _, c := range []struct {
		function, notrace string
		want              int
	}{{"recorder.left", "", 12}, {"", "recorder.left", 1103}, {"recorder.both", "recorder.branch", 1110}, {"", "", 1115}} {
		args := func(s string) []string { return strings.Fields(s) }
		check(t, ftrace.SetGraphFunction(args(c.function)...))
		check(t, ftrace.SetGraphNotrace(args(c.notrace)...))
		only(t, "recorder.*", "function_graph")
		if n := count(); n != c.want {
			t.Fatalf("%q without %q: %d, want %d", c.function, c.notrace, n, c.want)
		}
	}
}

// TestGoroutines: one, the goroutines that it starts, and all but one.
func TestGoroutines(t *testing.T) {
	begin(t)
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
			check(t, ftrace.SetTracer("nop"))
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
			check(t, ftrace.SetOption(option))
			check(t, set(<-id))
			only(t, "recorder.leaf", "function")
			close(start)
			<-wait
			leaf()
			check(t, ftrace.SetTracer("nop"))
			want := map[bool]map[bool]int{false: {false: 1, true: 3}, true: {false: 3, true: 1}}[fork][not]
			if n := strings.Count(text(t), ": recorder.leaf <-"); n != want {
				t.Fatalf("fork %v, not %v: %d calls, want %d", fork, not, n, want)
			}
			check(t, set())
		}
	}
	check(t, ftrace.SetOption("nofunction-fork"))
}

// TestProfile: calls and times of functions, beside any tracer.
func TestProfile(t *testing.T) {
	begin(t)
	for _, tracer := range []string{"nop", "function", "function_graph"} {
		check(t, ftrace.SetFilter("recorder.leaf", "recorder.branch", "recorder.nap"))
		check(t, ftrace.ResetProfile())
		check(t, ftrace.SetTracer(tracer))
		check(t, ftrace.StartProfile())
		for i := range 10 {
			branch(i)
		}
		nap(20 * time.Millisecond)
		check(t, ftrace.StopProfile())
		leaf()
		got := map[string]ftrace.FuncStats{}
		for _, f := range ftrace.Profile() {
			got[short(f.Func.Name())] = f
		}
		l, b, n := got["recorder.leaf"], got["recorder.branch"], got["recorder.nap"]
		if len(got) != 3 || l.Hits != 45 || b.Hits != 10 || n.Hits != 1 {
			t.Fatalf("%s: %+v", tracer, got)
		}
		if b.Total < l.Total || b.Self > b.Total-l.Total+b.Total/10 || l.Self != l.Total || n.Total < 19900*time.Microsecond || n.Variance != 0 || l.Variance <= 0 {
			t.Fatalf("%s: %v %v, %v %v, %v", tracer, b.Total, b.Self, l.Total, l.Self, n.Total)
		}
		if p := n.Percentile(50); p != n.Total || l.Percentile(0) > l.Percentile(50) || l.Percentile(50) > l.Percentile(99) || l.Percentile(99) > l.Max {
			t.Fatalf("%s: %v, %v %v %v", tracer, p, l.Percentile(50), l.Percentile(99), l.Max)
		}
		// Nine of ten calls are shorter than the tenth.
		check(t, ftrace.ResetProfile())
		check(t, ftrace.StartProfile())
		for i := range 10 {
			nap(time.Duration(1+i/9*99) * time.Millisecond)
		}
		check(t, ftrace.StopProfile())
		for _, f := range ftrace.Profile() {
			if p50, p90, p99 := f.Percentile(50), f.Percentile(90), f.Percentile(99); f.Hits != 10 || p50 < time.Millisecond || p50 > p90 || p90 > 90*time.Millisecond || p99 < 88*time.Millisecond { // to an eighth
				t.Fatalf("%s: %s %d, %v %v %v", tracer, f.Name, f.Hits, p50, p90, p99)
			}
		}
		check(t, ftrace.ResetProfile())
		check(t, ftrace.StartProfile())
		nap(20 * time.Millisecond)
		check(t, ftrace.StopProfile())
		var w bytes.Buffer
		check(t, ftrace.WriteProfile(&w))
		// A name has 30 columns, as in the kernel.
		if !regexp.MustCompile(`(?m)^  github.com/ftgo/ftgo/internal/ {11}1    \d+\.\d+ us `).MatchString(w.String()) {
			t.Fatalf("%s", &w)
		}
	}
}

// TestSleepTime: with nosleep-time a goroutine's time off its P does not count.
func TestSleepTime(t *testing.T) {
	begin(t)
	check(t, ftrace.SetOption("nosleep-time"))
	defer ftrace.SetOption("sleep-time")
	check(t, ftrace.SetTracer("nop"))
	check(t, ftrace.ResetProfile())
	check(t, ftrace.StartProfile())
	nap(50 * time.Millisecond)
	check(t, ftrace.StopProfile())
	for _, f := range ftrace.Profile() {
		if short(f.Func.Name()) == "recorder.nap" && f.Total < 40*time.Millisecond {
			return
		}
	}
	t.Errorf("%v", ftrace.Profile())
}

// TestSnapshots: while recording goes on, what is written is whole: every goroutine's calls nest,
// up to where its oldest records were overwritten.
func TestSnapshots(t *testing.T) {
	begin(t)
	check(t, ftrace.SetBufferSize(1<<10))
	only(t, "recorder.*", "function_graph")
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
		whole(t, o, func() {})
	}
	if n < 3 {
		t.Fatalf("there were %d snapshots", n)
	}
	whole(t, &ftrace.Selection{}, func() { load(8, 100000) }) // overwrites the buffer before the snapshot is written
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
func whole(t *testing.T, o *ftrace.Selection, do func()) {
	t.Helper()
	f, err := os.CreateTemp("", "snapshot")
	check(t, err)
	defer os.Remove(f.Name())
	defer f.Close()
	check(t, ftrace.WriteRecording(&lateWriter{Writer: f, do: do}, o))
	if info, err := f.Stat(); err != nil || o.MaxBytes > 0 && info.Size() > o.MaxBytes+200<<10 {
		t.Fatalf("%v bytes, at most %d were wanted: %v", info.Size(), o.MaxBytes, err)
	}
	trace, err := tracefile.ReadFile(f.Name())
	check(t, err)
	defer trace.Close()
	depth, seen, first, last := map[uint64]int{}, 0, int64(0), int64(0)
	for e := range trace.Events() {
		seen++
		if first == 0 {
			first = e.Time
		}
		last = e.Time
		if !strings.HasPrefix(trace.Name(e.Func), path+".") {
			t.Fatalf("a function is called %s", trace.Name(e.Func))
		}
		before, known := depth[e.Goid()]
		switch e.Kind {
		case tracefile.KindEntry:
			if known && e.Lost == 0 && e.Depth != before {
				t.Fatalf("goroutine %d enters at depth %d, not %d", e.Goid(), e.Depth, before)
			}
			depth[e.Goid()] = e.Depth + 1
		case tracefile.KindReturn:
			if known && e.Lost == 0 && e.Depth != before-1 {
				t.Fatalf("goroutine %d leaves depth %d, not %d", e.Goid(), e.Depth, before-1)
			}
			depth[e.Goid()] = e.Depth
		}
	}
	if o.Last > 0 && time.Duration(last-first) > o.Last+50*time.Millisecond {
		t.Fatalf("%v, at most %v were wanted", time.Duration(last-first), o.Last)
	}
	if o.Last == 0 && o.MaxBytes == 0 && seen == 0 {
		t.Fatalf("nothing was seen")
	}
}
