package selftest

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	ftrace "github.com/ftgo/ftgo/runtime"
)

// Filters in these tests have names such as selftest.inner. What the library gives back has the
// import path in front; short takes it away.
const path = "github.com/ftgo/ftgo/internal/selftest"

func short(s string) string { return strings.ReplaceAll(s, path+".", "selftest.") }

//go:noinline
func dynTestName() { sink.Add(1) }

//go:noinline
func dynTestName2() { sink.Add(1) }

//go:noinline
func outer(n int) {
	if n > 0 {
		middle(n)
	}
}

//go:noinline
func middle(n int) {
	inner()
	outer(n - 1)
}

//go:noinline
func inner() { sink.Add(1) }

var (
	sink  atomic.Int64
	times = flag.Int("times", 300, "register and unregister so many times")
)

// begin is the first call of every test. Without hooks the test is skipped. After the test no
// function is enabled, and no return stack has lost a call; only TestFrameTest makes mismatches.
func begin(t *testing.T) {
	t.Helper()
	if errors.Is(ftrace.SetTracer("nop"), ftrace.ErrNotInstrumented) {
		t.Skip("this test binary was built without hooks: ftgo test ./internal/selftest/...")
	}
	before := ftrace.ReadStats()
	t.Cleanup(func() {
		if left := ftrace.EnabledFunctions(); len(left) > 0 {
			t.Errorf("%d functions are enabled after the test, %v first", len(left), left[0])
		}
		after := ftrace.ReadStats()
		if after.Mismatches != before.Mismatches && t.Name() != "TestFrameTest" {
			t.Errorf("there were %d mismatches", after.Mismatches-before.Mismatches)
		}
		if after.Unbalanced > 0 || ftrace.Depth() != 0 {
			t.Errorf("%+v, depth %d", after, ftrace.Depth())
		}
		if t.Failed() {
			restore()
		}
	})
}

// restore undoes what a failed test may have left behind, so that the next one begins as it should.
func restore() {
	ftrace.SetTracer("nop")
	ftrace.StopProfile()
	for _, name := range ftrace.Instances() {
		ftrace.FindInstance(name).Remove()
	}
	ftrace.SetTrigger("!*:traceon")
	ftrace.SetTrigger("!*:traceoff")
	ftrace.SetTrigger("!*:stacktrace")
	ftrace.SetTrigger("!*:snapshot")
	ftrace.SelectFunctionTracer("trace")
	ftrace.SetFilter()
	ftrace.SetNotrace()
	ftrace.SetTracingOn(true)
	ftrace.StartHooks()
}

// alone reports whether the test has the process for itself. If not, it runs the test in a process
// of its own.
func alone(t *testing.T) bool {
	t.Helper()
	const key = "FTGO_SELFTEST_ALONE"
	if os.Getenv(key) == t.Name() {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), key+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// check ends the test if there is an error. Goroutines and callbacks use expect.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// expect compares a number or a text with what it should be.
func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// whole makes of WriteTrace what writes everything.
func whole(write func(io.Writer, *ftrace.Selection) error) func(io.Writer) error {
	return func(w io.Writer) error { return write(w, nil) }
}

func text(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	check(t, write(&b))
	return b.String()
}

// seen returns the names of this package's functions in a trace, each with the number of times
// that it is entered.
func seen(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	n := map[string]int{}
	for line := range strings.Lines(text(t, write)) {
		_, call, ok := strings.Cut(line, path+".")
		if ok && !strings.Contains(line, "} /*") && !strings.HasPrefix(line, " =>") {
			n[strings.FieldsFunc(call, func(r rune) bool { return strings.ContainsRune(" ();<\n", r) })[0]]++
		}
	}
	var list []string
	for name, n := range n {
		list = append(list, fmt.Sprint(name, ":", n))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// callers lets so many goroutines call, and do something between calls, until stop is called.
func callers(n int, between func()) (stop func()) {
	done := make(chan bool)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					outer(2)
					between()
				}
			}
		})
	}
	return func() {
		close(done)
		wg.Wait()
	}
}
