// Churn does everything that the recorder can do at once, for as long as its argument says.
// Goroutines come and go, panic, recover, exit and grow their stacks. Meanwhile others switch
// tracers and the profile, change filters and limits, resize the buffer, take snapshots, consume
// records and collect garbage. In the end the counts must add up, and every snapshot must have been
// whole.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ftgo/ftgo/internal/tracefile"
	ftrace "github.com/ftgo/ftgo/runtime"
)

func main() {
	d := 2 * time.Second
	if len(os.Args) > 1 {
		var err error
		if d, err = time.ParseDuration(os.Args[1]); err != nil {
			fail(err)
		}
	}
	check(ftrace.SetBufferSize(64)) // so that pages are as small as can be
	check(ftrace.RegisterTracer(ftrace.Tracer{
		Name: "own",
		Entry: func(c ftrace.Call, _ *ftrace.GraphOps, _ []byte) ftrace.Verdict {
			own.Add(1)
			if c.Depth%3 == 2 {
				return ftrace.Ignore
			}
			return ftrace.Want
		},
		Return: func(ftrace.Call, *ftrace.GraphOps, []byte) { own.Add(-1) },
	}))
	stop := make(chan struct{})
	time.AfterFunc(d, func() { close(stop) })
	var wg sync.WaitGroup
	actors := []func(*rand.Rand){switcher, filterer, limiter, resizer, snapshotter, consumer, looker, collector, life, life, life, life}
	for i, act := range actors {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for {
				select {
				case <-stop:
					return
				default:
					audit.RLock()
					act(r)
					counts[i].Add(1)
					audit.RUnlock()
				}
			}
		})
	}
	for done := false; !done; {
		select {
		case <-stop:
			done = true
		case <-time.After(50 * time.Millisecond):
		}
		adds()
	}
	wg.Wait()
	for i := range actors {
		if counts[i].Load() == 0 {
			fail(fmt.Errorf("actor %d did nothing", i))
		}
	}
	check(ftrace.StopProfile())
	if written == 0 || overwritten+dropped == 0 || snapshots.Load() == 0 || lines.Load() == 0 {
		fail(fmt.Errorf("%d records, %d overwritten, %d dropped, %d in snapshots, %d lines", written, overwritten, dropped, snapshots.Load(), lines.Load()))
	}
	// What is in the buffer is what is written out.
	check(ftrace.SetTracer("function"))
	check(ftrace.Reset())
	check(errors.Join(ftrace.SetFilter(), ftrace.SetNotrace(), ftrace.SetNotraceGoroutines(), ftrace.SetBufferSize(4<<10), ftrace.SetOption("overwrite")))
	for range 50 {
		life(rand.New(rand.NewPCG(7, 7)))
	}
	check(ftrace.SetTracer("nop"))
	s := ftrace.ReadStats()
	var b bytes.Buffer
	check(ftrace.WriteTrace(&b, nil))
	n := 0
	for line := range bytes.Lines(b.Bytes()) {
		if line[0] != '#' {
			n++
		}
	}
	if calls := bytes.Count(b.Bytes(), []byte(" <-")); uint64(n) != s.Entries || calls == 0 || s.Written != s.Entries+s.Overwritten+s.Dropped+s.Read {
		fail(fmt.Errorf("%d lines, %+v", n, s))
	}
	fmt.Println("ok")
	if len(os.Args) > 1 {
		for i := range actors {
			fmt.Fprintln(os.Stderr, i, counts[i].Load())
		}
		fmt.Fprintln(os.Stderr, "records", written, "overwritten", overwritten, "dropped", dropped, "in snapshots", snapshots.Load(), "lines", lines.Load(), "goroutines", s.Ended)
	}
}

var (
	audit                         sync.RWMutex // each action holds it for reading
	written, overwritten, dropped uint64
	own                           atomic.Int64
	counts                        [16]atomic.Uint64
	snapshots, lines              atomic.Uint64
)

// adds checks that the counts add up, while no action is under way.
func adds() {
	audit.Lock()
	defer audit.Unlock()
	tracer := ftrace.CurrentTracer()
	check(ftrace.SetTracer("nop"))
	s := ftrace.ReadStats()
	if s.Written != s.Entries+s.Overwritten+s.Dropped+s.Read || s.Unbalanced != 0 || s.Mismatches != 0 {
		fail(fmt.Errorf("%+v", s))
	}
	written += s.Written
	overwritten += s.Overwritten
	dropped += s.Dropped
	check(ftrace.Reset())
	check(ftrace.SetTracer(tracer))
}

func check(err error) {
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Println(err)
	os.Exit(1)
}

// switcher switches tracers, the profile and the return stack.
func switcher(r *rand.Rand) {
	switch r.IntN(8) {
	case 0, 1, 2:
		names := ftrace.AvailableTracers()
		check(ftrace.SetTracer(names[r.IntN(len(names))]))
	case 3:
		check(ftrace.SetTracer("function_graph"))
	case 4:
		check(ftrace.StartProfile())
	case 5:
		check(ftrace.StopProfile())
	case 6:
		check(ftrace.SetMaxStack(1 + r.IntN(100)))
		check(ftrace.SetMaxGraphDepth(r.IntN(20)))
	case 7:
		ftrace.StopHooks()
		runtime.Gosched()
		ftrace.StartHooks()
	}
	time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
}

func filterer(r *rand.Rand) {
	globs := []string{"main.*", "main.w*", "main.life", "main.walk", "main.careless"}
	pick := func() []string {
		if r.IntN(3) == 0 {
			return nil
		}
		return []string{globs[r.IntN(len(globs))]}
	}
	check(ftrace.SetFilter(pick()...))
	notrace := pick()
	if r.IntN(4) != 0 {
		notrace = nil
	}
	check(ftrace.SetNotrace(notrace...))
	time.Sleep(time.Duration(r.IntN(1000)) * time.Microsecond)
}

func limiter(r *rand.Rand) {
	switch r.IntN(6) {
	case 0:
		check(ftrace.SetThreshold(time.Duration(r.IntN(3)) * 10 * time.Microsecond))
	case 1:
		check(ftrace.SetGraphFunction("main.careless", "main.wander"))
	case 2:
		check(ftrace.SetGraphNotrace("main.walk"))
	case 3:
		check(ftrace.SetOption([]string{"function-fork", "nofunction-fork", "sleep-time", "nosleep-time"}[r.IntN(4)]))
		check(ftrace.SetNotraceGoroutines(ftrace.Goid()))
	default:
		check(ftrace.SetThreshold(0))
		check(ftrace.SetGraphFunction())
		check(ftrace.SetGraphNotrace())
		check(ftrace.SetNotraceGoroutines())
	}
	time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond)
}

func resizer(r *rand.Rand) {
	check(ftrace.SetBufferSize(1 + r.IntN(200)))
	check(ftrace.SetOption([]string{"overwrite", "nooverwrite"}[r.IntN(2)]))
	if r.IntN(20) == 0 {
		check(ftrace.Reset())
	}
	if r.IntN(50) == 0 {
		runtime.GOMAXPROCS(1 + r.IntN(5))
	}
	time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
}

// snapshotter takes snapshots and reads them.
func snapshotter(r *rand.Rand) {
	o := &ftrace.Selection{}
	switch r.IntN(3) {
	case 0:
		o.Last = time.Duration(r.IntN(5)) * time.Millisecond
	case 1:
		o.MaxBytes = int64(r.IntN(1 << 20))
	}
	f, err := os.CreateTemp("", "churn")
	check(err)
	defer os.Remove(f.Name())
	defer f.Close()
	check(ftrace.WriteRecording(f, o))
	t, err := tracefile.ReadFile(f.Name())
	check(err)
	defer t.Close()
	last := map[uint64]int64{}
	for e := range t.Events() {
		snapshots.Add(1)
		if e.Time < last[e.Goid()] {
			fail(fmt.Errorf("goroutine %d goes back in time by %d ns", e.Goid(), last[e.Goid()]-e.Time))
		}
		last[e.Goid()] = e.Time
	}
	time.Sleep(time.Duration(r.IntN(5)) * time.Millisecond)
}

var pipe = sync.OnceValue(func() *ftrace.Pipe {
	p, err := ftrace.NewPipe()
	check(err)
	return p
})

type counter struct{ n *atomic.Uint64 }

func (c counter) Write(b []byte) (int, error) {
	c.n.Add(uint64(bytes.Count(b, []byte("\n"))))
	return len(b), nil
}

func consumer(r *rand.Rand) {
	check(pipe().WriteNow(counter{&lines}))
	time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
}

func looker(r *rand.Rand) {
	check(ftrace.WriteTrace(io.Discard, nil))
	check(ftrace.WriteProfile(io.Discard))
	for _, c := range ftrace.ReadCPUStats() {
		if c.Oldest > c.Now {
			fail(fmt.Errorf("%+v", c))
		}
	}
	if r.IntN(10) == 0 {
		check(ftrace.ResetProfile())
	}
	time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
}

func collector(r *rand.Rand) {
	runtime.GC()
	time.Sleep(time.Duration(r.IntN(10)) * time.Millisecond)
}

// life starts goroutines that work and end.
//
//go:noinline
func life(r *rand.Rand) {
	var wg sync.WaitGroup
	for range 1 + r.IntN(20) {
		wg.Add(1)
		go worker(r.IntN(1000), wg.Done)
	}
	wg.Wait()
}

func worker(i int, done func()) {
	defer done()
	if i%10 == 0 {
		ftrace.SetGoroutineName("tenth")
	}
	ftrace.Marker("worker %d", i)
	walk(5 + i%60)
	if err := careful(i); err != nil && err.Error() != "deep" {
		fail(err)
	}
	grow(i % 50)
	if i%3 == 0 {
		wander(i % 7)
	}
}

//go:noinline
func walk(n int) int {
	if n == 0 {
		return 0
	}
	if n%16 == 0 {
		runtime.Gosched()
	}
	return 1 + walk(n-1)
}

// grow takes much of the stack.
//
//go:noinline
func grow(n int) byte {
	var b [1 << 10]byte
	b[n] = byte(n)
	if n > 0 {
		b[0] = grow(n - 1)
	}
	return b[n/2]
}

func careful(i int) (err error) {
	defer rescue(&err)
	careless(i % 5)
	return nil
}

//go:noinline
func careless(n int) {
	defer func() { walk(n % 3) }()
	if n == 0 {
		panic(errors.New("deep"))
	}
	careless(n - 1)
}

//go:noinline
func rescue(err *error) {
	if r := recover(); r != nil {
		*err = r.(error)
	}
}

//go:noinline
func wander(n int) {
	defer walk(n)
	if n == 0 {
		runtime.Goexit()
	}
	wander(n - 1)
}
