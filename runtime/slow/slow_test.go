package slow_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	ftrace "github.com/ftgo/ftgo/runtime"
	"github.com/ftgo/ftgo/runtime/slow"
)

//go:noinline
func wait(d time.Duration) { time.Sleep(d) }

//go:noinline
func handle(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/slow" {
		wait(30 * time.Millisecond)
	}
	if r.URL.Path == "/panic" {
		wait(30 * time.Millisecond)
		panic(http.ErrAbortHandler)
	}
	fmt.Fprintln(w, "done")
}

// With hooks the trace of the slow request alone is written, and of its goroutine; without, why
// there is none.
func TestSlowRequestsAreWritten(t *testing.T) {
	hooked := ftrace.SetTracer("function_graph") == nil
	defer ftrace.SetTracer("nop")
	var out strings.Builder
	server := httptest.NewServer(&slow.Handler{Handler: http.HandlerFunc(handle), Limit: 20 * time.Millisecond, Output: &out})
	get := func(path string) {
		if r, err := http.Get(server.URL + path); err == nil {
			r.Body.Close()
		}
	}
	get("/fast")
	get("/slow")
	get("/panic")
	server.Close()
	got := out.String()
	for text, want := range map[string]int{
		"# GET \"/fast\"":     0,
		"# GET \"/slow\"":     1,
		"# GET \"/panic\"":    1,
		"built without hooks": count(!hooked, 2),
		"slow_test.handle()":  count(hooked, 2),
		"slow_test.wait()":    count(hooked, 2),
		"slow_test.TestSlow":  0,
	} {
		if n := strings.Count(got, text); n != want {
			t.Errorf("%q is there %d times, want %d:\n%s", text, n, want, got)
		}
	}
}

func count(holds bool, n int) int {
	if holds {
		return n
	}
	return 0
}

func ExampleHandler() {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello") })
	if err := ftrace.SetTracer("function_graph"); err != nil {
		fmt.Println(err == ftrace.ErrNotInstrumented)
	}
	server := &http.Server{Handler: &slow.Handler{Handler: mux, Limit: time.Second}}
	_ = server // server.ListenAndServe()
}
