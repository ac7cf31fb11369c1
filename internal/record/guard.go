package record

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/ftgo/ftgo/internal/relay"
)

// A guard keeps signals from ending this process before its temporary directory is removed. While
// the program is built a signal cancels the build, and end returns the signal. While the program
// runs, package relay hands signals on. While the trace is printed, the guard removes the directory
// and dies of the signal itself.
type guard struct {
	dir      string
	building context.Context

	mu      sync.Mutex
	phase   phase
	since   time.Time // of the phase
	died    os.Signal
	cancel  context.CancelFunc
	signals chan os.Signal
}

type phase int

const (
	building phase = iota
	running
	printing
)

// late is how long after the program's end a signal may be told of that the program died of.
const late = 100 * time.Millisecond

func newGuard() (*guard, error) {
	g := &guard{signals: make(chan os.Signal, 8)}
	g.building, g.cancel = context.WithCancel(context.Background())
	g.catch()
	dir, err := os.MkdirTemp("", "ftgo")
	if err != nil {
		signal.Stop(g.signals)
		return nil, err
	}
	g.dir = dir
	go func() {
		for s := range g.signals {
			g.got(s)
		}
	}()
	return g, nil
}

// catch has the signals sent to the guard that would end this process. What is ignored stays so. A
// write into a pipe without a reader fails then, instead of ending the process by SIGPIPE.
func (g *guard) catch() {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE} {
		if !signal.Ignored(s) {
			signal.Notify(g.signals, s)
		}
	}
}

func (g *guard) got(s os.Signal) {
	if s == syscall.SIGPIPE {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch g.phase {
	case building:
		g.died = s
		g.cancel()
	case printing:
		if time.Since(g.since) < late {
			return // it was the program's
		}
		os.RemoveAll(g.dir)
		relay.Die(s)
	}
}

// suspend leaves signals to the program, until resume is called.
func (g *guard) suspend() (resume func()) {
	set := func(p phase) {
		g.mu.Lock()
		g.phase, g.since = p, time.Now()
		g.mu.Unlock()
	}
	set(running)
	return func() { set(printing) }
}

// end removes the directory. died is the signal that this process is to die of, nil if none came.
func (g *guard) end() (died os.Signal, err error) {
	for range 100 { // compilers of a build that was interrupted may still write
		if err = os.RemoveAll(g.dir); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	signal.Stop(g.signals)
	return g.died, err
}
