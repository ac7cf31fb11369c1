// Web is an HTTP server that traces one slow request while it serves others. /report is slow every
// third time. /trace?path=/report&over=20ms waits until a request of that path takes that long or
// longer, with the graph tracer on while one is served, and answers with the trace of that request.
//
//	ftgo run ./examples/web -addr localhost:8080 &
//	curl 'localhost:8080/trace?path=/report&over=20ms'
//
// Its small functions are kept out of their callers with go:noinline, so that a build that leaves
// inlined functions alone traces them, too.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	ftrace "github.com/ftgo/ftgo/runtime"
)

func main() {
	addr := flag.String("addr", "localhost:8080", "listen on `address`")
	flag.Parse()
	log.Fatal(http.ListenAndServe(*addr, newServer()))
}

// server traces at most one request at a time.
type server struct {
	mux    *http.ServeMux
	mu     sync.Mutex
	waiter *waiter // the client that waits for a slow request; nil if none does
	hits   atomic.Int64
}

type waiter struct {
	path  string
	over  time.Duration
	trace chan string
}

func newServer() http.Handler {
	s := &server{mux: http.NewServeMux()}
	s.mux.HandleFunc("/report", s.report)
	s.mux.HandleFunc("/trace", s.trace)
	return s.traced(s.mux)
}

// traced is the middleware. It runs a request under the graph tracer if a client waits for the
// trace of such a request.
func (s *server) traced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		wait := s.waiter
		if wait == nil || wait.path != r.URL.Path {
			s.mu.Unlock()
			next.ServeHTTP(w, r)
			return
		}
		defer s.mu.Unlock()
		if err := errors.Join(ftrace.SetTracer("function_graph"), ftrace.Reset()); err != nil {
			s.waiter = nil
			wait.trace <- err.Error() + "\n"
			next.ServeHTTP(w, r)
			return
		}
		start := time.Now()
		next.ServeHTTP(w, r)
		took := time.Since(start)
		ftrace.SetTracer("nop")
		if took < wait.over {
			return
		}
		s.waiter = nil
		var b bytes.Buffer
		fmt.Fprintf(&b, "%s took %v\n", r.URL, took.Round(time.Microsecond))
		if err := ftrace.WriteTrace(&b, nil); err != nil {
			fmt.Fprintln(&b, err)
		}
		wait.trace <- b.String()
	})
}

// trace waits for a slow request and answers with its trace.
func (s *server) trace(w http.ResponseWriter, r *http.Request) {
	over, err := time.ParseDuration(r.FormValue("over"))
	if err != nil {
		http.Error(w, "over: "+err.Error(), http.StatusBadRequest)
		return
	}
	wait := &waiter{r.FormValue("path"), over, make(chan string, 1)}
	s.mu.Lock()
	busy := s.waiter != nil
	if !busy {
		s.waiter = wait
	}
	s.mu.Unlock()
	if busy {
		http.Error(w, "another request waits for a trace already", http.StatusConflict)
		return
	}
	select {
	case text := <-wait.trace:
		fmt.Fprint(w, text)
	case <-r.Context().Done():
		s.mu.Lock()
		if s.waiter == wait {
			s.waiter = nil
		}
		s.mu.Unlock()
	}
}

// report is slow every third time.
func (s *server) report(w http.ResponseWriter, r *http.Request) {
	rows := query(s.hits.Add(1)%3 == 0)
	fmt.Fprintln(w, render(rows))
}

//go:noinline
func query(slow bool) []string {
	var rows []string
	for i := range 3 {
		rows = append(rows, fetch(i, slow && i == 1))
	}
	return rows
}

//go:noinline
func fetch(i int, slow bool) string {
	if slow {
		time.Sleep(30 * time.Millisecond)
	}
	return fmt.Sprintf("row %d", i)
}

//go:noinline
func render(rows []string) string { return strings.Join(rows, ", ") }
