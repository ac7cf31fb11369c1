package record

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// progress tells on a terminal how far a recording is: how many records there are, how many come in a second, and how many were lost.
type progress struct {
	path string
	stop chan struct{}
	done chan struct{}
}

// newProgress returns nil, which tells nothing, if standard error is no terminal.
func newProgress(path string) *progress {
	if fi, err := os.Stderr.Stat(); err != nil || fi.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return &progress{path: path, stop: make(chan struct{}), done: make(chan struct{})}
}

func (p *progress) begin() {
	if p == nil {
		return
	}
	go func() {
		defer close(p.done)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		start, last := time.Now(), uint64(0)
		for shown := false; ; shown = true {
			select {
			case <-p.stop:
				if shown {
					fmt.Fprint(os.Stderr, "\r\x1b[K")
				}
				return
			case <-tick.C:
			}
			n, lost := records(p.path)
			fmt.Fprintf(os.Stderr, "\r\x1b[K%.1fs  %d records  %.1f M/s  %d lost", time.Since(start).Seconds(), n, float64(n-last)/0.5e6, lost)
			last = n
		}
	}()
}

func (p *progress) end() {
	if p != nil {
		close(p.stop)
		<-p.done
	}
}

// records returns about how many records a file holds, a page being taken for full, and how many were lost.
func records(path string) (n, lost uint64) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0
	}
	defer f.Close()
	head := make([]byte, tracefile.HeaderSize)
	if _, err := f.ReadAt(head, 0); err != nil {
		return 0, 0
	}
	le := binary.LittleEndian
	perPage := (le.Uint32(head[tracefile.HPageSize:]) - tracefile.PageHeaderSize) / tracefile.RecordSize
	overwritten := le.Uint64(head[tracefile.HOverwritten:])
	return uint64(le.Uint32(head[tracefile.HPages:]))*uint64(perPage) + overwritten, overwritten + le.Uint64(head[tracefile.HDropped:])
}
