package record

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// progress tells on a terminal how far a recording is: how many records were made, how many come in
// a second, and how many were lost.
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
		c := counter{path: p.path}
		defer c.close()
		for shown := false; ; shown = true {
			select {
			case <-p.stop:
				if shown {
					fmt.Fprint(os.Stderr, "\r\x1b[K")
				}
				return
			case <-tick.C:
			}
			n, lost := c.count()
			rate := float64(n-min(n, last)) / 0.5e6
			fmt.Fprintf(os.Stderr, "\r\x1b[K%.1fs  %d records  %.1f M/s  %d lost", time.Since(start).Seconds(), n, rate, lost)
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

// A counter counts the records of a file that grows. It reads a page's head until the page is full.
type counter struct {
	path string
	f    *os.File
	full []uint32 // records of each page that is full, plus 1; 0 if it is not known to be
	lost uint64   // when full was made
}

// count returns how many records were made, overwritten ones included, and how many were lost.
func (c *counter) count() (n, lost uint64) {
	if c.f == nil {
		f, err := os.Open(c.path)
		if err != nil {
			return 0, 0
		}
		c.f = f
	}
	head := make([]byte, tracefile.HeaderSize)
	if _, err := c.f.ReadAt(head, 0); err != nil {
		return 0, 0
	}
	le := binary.LittleEndian
	overwritten := le.Uint64(head[tracefile.HOverwritten:])
	if overwritten != c.lost {
		c.full, c.lost = nil, overwritten // pages are used again
	}
	pages, size := int(le.Uint32(head[tracefile.HPages:])), int64(le.Uint32(head[tracefile.HPageSize:]))
	n = overwritten
	page := make([]byte, tracefile.PageHeaderSize)
	for i := range pages {
		if i == len(c.full) {
			c.full = append(c.full, 0)
		}
		if c.full[i] > 0 {
			n += uint64(c.full[i] - 1)
			continue
		}
		if _, err := c.f.ReadAt(page, tracefile.HeaderSize+int64(i)*size); err != nil {
			break
		}
		records := 0
		switch le.Uint32(page) {
		case tracefile.PageMagic:
			_, records = tracefile.Slots(le.Uint32(page[tracefile.PCommit:]))
			if le.Uint64(page[tracefile.PEnd:]) != 0 {
				c.full[i] = uint32(records) + 1
			}
		case tracefile.MetaMagic:
			c.full[i] = 1
		}
		n += uint64(records)
	}
	return n, overwritten + le.Uint64(head[tracefile.HDropped:])
}

func (c *counter) close() {
	if c.f != nil {
		c.f.Close()
	}
}
