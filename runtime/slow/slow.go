// Package slow prints the trace of HTTP requests that take too long.
//
//	ftrace.SetTracer("function_graph")
//	http.ListenAndServe(addr, &slow.Handler{Handler: mux, Limit: 100 * time.Millisecond})
//
// A tracer that is always on costs some ten nanoseconds a call of a traced function; SetFilter
// keeps it to the functions that matter. The buffer is a ring, so it must be large enough to hold
// what all goroutines do in the time of a slow request: see ftrace.SetBufferSize.
package slow

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	ftrace "github.com/ftgo/ftgo/runtime"
)

// A Handler calls another handler, and writes what its goroutine did during each request that took
// Limit or longer. Its fields must not change while it serves.
type Handler struct {
	http.Handler                  // serves the requests
	Limit        time.Duration    // requests that take less are not written
	Output       io.Writer        // gets the traces, one at a time; nil is os.Stderr
	Selection    ftrace.Selection // limits the traces further, say to Functions; Goroutines and Since are set

	mu sync.Mutex // held while a trace is written
}

// ServeHTTP serves a request. It writes its trace also if the handler panics.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	defer func() {
		if took := time.Since(begin); took >= h.Limit {
			h.write(r, begin, took)
		}
	}()
	h.Handler.ServeHTTP(w, r)
}

func (h *Handler) write(r *http.Request, begin time.Time, took time.Duration) {
	s := h.Selection
	s.Goroutines, s.Since = []uint64{ftrace.Goid()}, begin
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.Output
	if out == nil {
		out = os.Stderr
	}
	fmt.Fprintf(out, "# %s %q took %v\n", r.Method, r.URL.Path, took)
	if err := ftrace.WriteTrace(out, &s); err != nil {
		fmt.Fprintln(out, "#", err)
	}
}
