// Flightrecorder is an HTTP server with a graph tracer that is always on. The buffer is a ring of
// 32 MiB. When a request has taken longer than a limit, a middleware saves what the ring holds
// since the request began: what its goroutine did, and every other one. /report is slow every third
// time.
//
//	ftgo run ./examples/flightrecorder -addr localhost:8080 -slow 20ms -dir /tmp &
//	curl 'localhost:8080/report?[1-3]'
//	ftgo replay -g GOROUTINE /tmp/slow-1.ftgo     # as the server's log says
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	ftrace "github.com/ftgo/ftgo/runtime"
)

func main() {
	addr := flag.String("addr", "localhost:8080", "listen on `address`")
	slow := flag.Duration("slow", 20*time.Millisecond, "save traces of requests that take this `duration` or longer")
	dir := flag.String("dir", os.TempDir(), "save them in `directory`")
	flag.Parse()
	if err := record(); err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/report", report)
	s := &saver{limit: *slow, dir: *dir}
	log.Fatal(http.ListenAndServe(*addr, s.middleware(mux)))
}

// record switches the flight recorder on.
func record() error {
	if err := ftrace.SetBufferSize(32 << 10); err != nil {
		return err
	}
	return ftrace.SetTracer("function_graph")
}

// saver saves traces of slow requests, one at a time. It saves no trace of a request that ends
// while it is saving another.
type saver struct {
	limit time.Duration
	dir   string
	saved atomic.Int64
	busy  atomic.Bool
}

func (s *saver) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		next.ServeHTTP(w, r)
		took := time.Since(start)
		if took < s.limit || !s.busy.CompareAndSwap(false, true) {
			return
		}
		name := filepath.Join(s.dir, fmt.Sprintf("slow-%d.ftgo", s.saved.Add(1)))
		goroutine := ftrace.Goid()
		go func() { // the client need not wait
			defer s.busy.Store(false)
			if err := save(name, start); err != nil {
				log.Print(err)
				return
			}
			log.Printf("%s took %v: ftgo replay -g %d %s", r.URL, took.Round(time.Microsecond), goroutine, name)
		}()
	})
}

func save(name string, since time.Time) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := ftrace.WriteRecording(f, &ftrace.Selection{Since: since}); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

var hits atomic.Int64

func report(w http.ResponseWriter, r *http.Request) {
	slow := hits.Add(1)%3 == 0
	for i := range 3 {
		fmt.Fprintln(w, fetch(i, slow && i == 1))
	}
}

//go:noinline
func fetch(i int, slow bool) string {
	if slow {
		time.Sleep(30 * time.Millisecond)
	}
	return fmt.Sprintf("row %d", i)
}
