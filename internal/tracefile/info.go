package tracefile

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// snapshotPages is what HPages says in a snapshot: it has as many pages as the file.
const snapshotPages = ^uint32(0)

// WriteInfo writes what is known of the recording. It reads the header, the heads of the pages, and
// the first and the last pages of each P. With full it reads all records, and counts goroutines.
func (t *Trace) WriteInfo(w io.Writer, full bool) error {
	b := bufio.NewWriter(w)
	row := func(key, format string, args ...any) {
		fmt.Fprintf(b, "# %-20s: %s\n", key, fmt.Sprintf(format, args...))
	}
	for _, line := range t.Info {
		key, value, _ := strings.Cut(line, ": ")
		row(key, "%s", value)
	}
	clock := "mono"
	if le.Uint32(t.Header[HCounterKind:]) == CounterTicks {
		clock = "the processor's counter"
	}
	row("clock", "%s", clock)
	row("records", "%d in the file of %d made", t.InBuffer(), t.Written())
	row("lost", "%d overwritten, %d dropped", le.Uint64(t.Header[HOverwritten:]), le.Uint64(t.Header[HDropped:]))
	row("overruns", "%d calls deeper than the return stack's %d", t.Overrun(), le.Uint32(t.Header[HMaxStack:]))
	first, last := t.span()
	row("time", "%.6f s", float64(last-first)/1e9)
	if full {
		row("goroutines", "%d", len(t.Goroutines(nil)))
	}
	row("Ps", "%d", t.procs)
	hooked, kept, alone := t.Hooked()
	row("functions", "%d hooked, %d left inlined, %d left alone", hooked, kept, alone)
	state := le.Uint32(t.Header[HState:])
	if t.Lacks != "" {
		row("damage", "%s", t.Lacks)
	}
	switch {
	case state&StateNoSpace != 0:
		row("end", "recording stopped early: the file system is full")
	case le.Uint32(t.Header[HPages:]) == snapshotPages:
		row("end", "a snapshot: the program went on")
	case t.Lacks == "" && state&StateEnded == 0:
		row("end", "the program did not come to its end in order")
	}
	return b.Flush()
}

// span returns the times of the first and the last record.
func (t *Trace) span() (first, last int64) {
	t.goroutines = map[uint64]*goroutine{}
	for _, s := range t.streams {
		if c := t.cursor(s); c.advance() && (first == 0 || c.ev.Time < first) {
			first = c.ev.Time
		}
		for i := len(s.pages) - 1; i >= 0; i-- {
			c, found := t.cursor(&stream{proc: s.proc, pages: s.pages[i : i+1]}), false
			for c.advance() {
				last, found = max(last, c.ev.Time), true
			}
			if found {
				break
			}
		}
	}
	return first, last
}
