package selftest

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ftgo/ftgo/internal/tracefile"
	ftrace "github.com/ftgo/ftgo/runtime"
)

// recorded writes what a selection takes as a file, and returns the calls in it as seen does.
func recorded(t *testing.T, in *ftrace.Instance, s *ftrace.Selection) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "trace")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.WriteRecording(f, s); err != nil {
		t.Fatal(err)
	}
	f.Close()
	trace, err := tracefile.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	for e := range trace.Events() {
		if e.Lost > 0 {
			t.Errorf("%d records of goroutine %d are missing", e.Lost, e.Goid())
		}
	}
	var b bytes.Buffer
	if err := trace.WriteText(&b, tracefile.Options{}); err != nil {
		t.Fatal(err)
	}
	return seen(t, func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err })
}

// TestSelection writes a goroutine, a range of time, and calls of a function with what they call: as
// text, and as a file, of the default instance and of another one.
func TestSelection(t *testing.T) {
	begin(t)
	in := newInstance(t, "selected", "function_graph", "selftest.outer", "selftest.middle", "selftest.inner")
	only(t, "function_graph", "selftest.outer", "selftest.middle", "selftest.inner")
	var other uint64
	var wg sync.WaitGroup
	wg.Go(func() { other = ftrace.Goid(); inner(); outer(1) })
	wg.Wait()
	between := time.Now()
	outer(2)
	time.Sleep(time.Millisecond)
	after := time.Now()
	time.Sleep(time.Millisecond)
	inner()
	ftrace.SetTracer("nop")
	in.SetTracer("nop")
	for name, c := range map[string]struct {
		s    *ftrace.Selection
		want string
	}{
		"all":       {nil, "inner:5 middle:3 outer:5"},
		"goroutine": {&ftrace.Selection{Goroutines: []uint64{other}}, "inner:2 middle:1 outer:2"},
		"since":     {&ftrace.Selection{Since: between}, "inner:3 middle:2 outer:3"},
		"until":     {&ftrace.Selection{Until: after}, "inner:4 middle:3 outer:5"},
		"range":     {&ftrace.Selection{Since: between, Until: after}, "inner:2 middle:2 outer:3"},
		"function":  {&ftrace.Selection{Functions: []string{"selftest.middle"}}, "inner:3 middle:3 outer:3"},
		"both": {&ftrace.Selection{Functions: []string{"selftest.middle"}, Goroutines: []uint64{other}},
			"inner:1 middle:1 outer:1"},
		"none": {&ftrace.Selection{Goroutines: []uint64{1 << 40}}, ""},
	} {
		for _, in := range []*ftrace.Instance{ftrace.Default, in} {
			if got := seen(t, func(w io.Writer) error { return in.WriteTrace(w, c.s) }); got != c.want {
				t.Errorf("%s: WriteTrace of %s: %q, want %q", name, in.Name(), got, c.want)
			}
			if got := recorded(t, in, c.s); got != c.want {
				t.Errorf("%s: WriteRecording of %s: %q, want %q", name, in.Name(), got, c.want)
			}
		}
	}
	if err := ftrace.WriteTrace(&bytes.Buffer{}, &ftrace.Selection{Functions: []string{"selftest.nothing"}}); err == nil {
		t.Error("a pattern that matches no function is taken")
	}
}

// TestGetters sets each limit and reads it back, of the default instance and of another one.
func TestGetters(t *testing.T) {
	begin(t)
	other, err := ftrace.NewInstance("getters")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Remove()
	for _, in := range []*ftrace.Instance{ftrace.Default, other} {
		for name, c := range map[string]struct {
			set   error
			got   any
			want  any
			unset error
		}{
			"Filter":             {in.SetFilter("selftest.inner", "!selftest.dyn*"), in.Filter(), []string{"selftest.inner", "!selftest.dyn*"}, in.SetFilter()},
			"Notrace":            {in.SetNotrace("selftest.inner"), in.Notrace(), []string{"selftest.inner"}, in.SetNotrace()},
			"GraphFunction":      {in.SetGraphFunction("selftest.outer"), in.GraphFunction(), []string{"selftest.outer"}, in.SetGraphFunction()},
			"GraphNotrace":       {in.SetGraphNotrace("selftest.outer"), in.GraphNotrace(), []string{"selftest.outer"}, in.SetGraphNotrace()},
			"MaxGraphDepth":      {in.SetMaxGraphDepth(7), in.MaxGraphDepth(), 7, in.SetMaxGraphDepth(0)},
			"Threshold":          {in.SetThreshold(time.Millisecond), in.Threshold(), time.Millisecond, in.SetThreshold(0)},
			"Goroutines":         {in.SetGoroutines(9, 3), in.Goroutines(), []uint64{3, 9}, in.SetGoroutines()},
			"NotraceGoroutines":  {in.SetNotraceGoroutines(4), in.NotraceGoroutines(), []uint64{4}, in.SetNotraceGoroutines()},
			"CPUs":               {in.SetCPUs(33, 1), in.CPUs(), []int{1, 33}, in.SetCPUs()},
			"TracingOn":          {in.SetTracingOn(false), in.TracingOn(), false, in.SetTracingOn(true)},
			"BufferSize":         {in.SetBufferSize(512), in.BufferSize(), 512, in.SetBufferSize(16384)},
			"a text option":      {in.SetOption("funcgraph-tail"), slices.Contains(in.Options(), "funcgraph-tail"), true, in.SetOption("nofuncgraph-tail")},
			"an option off":      {in.SetOption("nofuncgraph-cpu"), slices.Contains(in.Options(), "nofuncgraph-cpu"), true, in.SetOption("funcgraph-cpu")},
			"overwrite":          {in.SetOption("nooverwrite"), slices.Contains(in.Options(), "nooverwrite"), true, in.SetOption("overwrite")},
			"an option of all":   {in.SetOption("function-fork"), slices.Contains(ftrace.Options(), "function-fork"), true, in.SetOption("nofunction-fork")},
			"options at the end": {nil, slices.Contains(in.Options(), "nofunction-fork"), true, nil},
		} {
			if c.set != nil || c.unset != nil {
				t.Errorf("%s of %s: %v, %v", name, in.Name(), c.set, c.unset)
			}
			if !reflect.DeepEqual(c.got, c.want) {
				t.Errorf("%s of %s is %v, want %v", name, in.Name(), c.got, c.want)
			}
		}
	}
	for name, left := range map[string]int{"Filter": len(ftrace.Filter()), "Notrace": len(ftrace.Notrace()), "CPUs": len(ftrace.CPUs()),
		"Goroutines": len(ftrace.Goroutines()), "GraphFunction": len(ftrace.GraphFunction())} {
		if left != 0 {
			t.Errorf("%s has %d entries when it is not set", name, left)
		}
	}
	if err := ftrace.SetMaxStack(99); err != nil || ftrace.MaxStack() != 99 {
		t.Errorf("MaxStack is %d, %v", ftrace.MaxStack(), err)
	}
	ftrace.SetMaxStack(ftrace.DefaultMaxStack)
	ftrace.StopHooks()
	stopped := ftrace.HooksStopped()
	ftrace.StartHooks()
	if !stopped || ftrace.HooksStopped() {
		t.Error("HooksStopped does not tell StopHooks from StartHooks")
	}
	for name, err := range map[string]error{"depth": ftrace.SetMaxGraphDepth(-1), "threshold": ftrace.SetThreshold(-1), "CPUs": ftrace.SetCPUs(-1),
		"buffer": ftrace.SetBufferSize(0), "option": ftrace.SetOption("no-such"), "stack": ftrace.SetMaxStack(70000), "Remove": ftrace.Default.Remove()} {
		if err == nil {
			t.Errorf("a wrong value is taken: %s", name)
		}
	}
}

// TestTakeSnapshot keeps the buffer as it is, whatever is recorded after that.
func TestTakeSnapshot(t *testing.T) {
	begin(t)
	only(t, "function_graph", "selftest.inner")
	inner()
	if err := ftrace.TakeSnapshot(); err != nil {
		t.Fatal(err)
	}
	inner()
	ftrace.SetTracer("nop")
	if got := seen(t, func(w io.Writer) error { return ftrace.WriteSnapshot(w) }); got != "inner:1" {
		t.Errorf("the snapshot has %q", got)
	}
	if file, line := fileLine("inner"); filepath.Base(file) != "selftest_test.go" || line < 20 || line > 60 {
		t.Errorf("inner is in %s, line %d", file, line)
	}
}

// fileLine returns where a function of this package is declared, as its Func says.
func fileLine(name string) (file string, line int) {
	o := &ftrace.Ops{Name: "position", Func: func(f *ftrace.Func, _ uintptr, _ *ftrace.Ops) { file, line = f.FileLine() }}
	o.SetFilter("selftest." + name)
	if o.Register() == nil {
		inner()
		o.Unregister()
	}
	return file, line
}

// TestCallTimes compares what a Call says on entry with what it says on return.
func TestCallTimes(t *testing.T) {
	begin(t)
	var entry, entryEnd, again, end, took time.Duration
	o := &ftrace.GraphOps{
		Name: "times",
		Entry: func(c ftrace.Call, _ *ftrace.GraphOps, _ []byte) ftrace.Verdict {
			entry, entryEnd, took = c.EntryTime(), c.ReturnTime(), c.Duration()
			return ftrace.Want
		},
		Return: func(c ftrace.Call, _ *ftrace.GraphOps, _ []byte) { again, end = c.EntryTime(), c.ReturnTime() },
	}
	o.SetFilter("selftest.inner")
	if err := o.Register(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond) // the clock's rate is known the better the longer it was read
	inner()
	o.Unregister()
	if entryEnd != 0 || took != 0 {
		t.Errorf("on entry the call has returned at %v, after %v", entryEnd, took)
	}
	if d := again - entry; entry <= 0 || d < -time.Millisecond || d > time.Millisecond || end < again {
		t.Errorf("the call began at %v and at %v, and returned at %v", entry, again, end)
	}
}
