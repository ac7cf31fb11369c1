package tracefile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Options are the kernel's trace options that change the text (Documentation/trace/ftrace.rst, "trace_options"). The zero value is
// the kernel's default.
type Options struct {
	NoCPU      bool // nofuncgraph-cpu
	NoDuration bool // nofuncgraph-duration
	NoOverhead bool // nofuncgraph-overhead
	NoParent   bool // noprint-parent
	AbsTime    bool // funcgraph-abstime
	Proc       bool // funcgraph-proc
	Tail       bool // funcgraph-tail
	Overrun    bool // funcgraph-overrun
	Retval     bool // funcgraph-retval
	RetvalHex  bool // funcgraph-retval-hex
}

// Set sets an option by the kernel's name, "no" in front of it to switch it off.
func (o *Options) Set(option string) error {
	name, off := strings.CutPrefix(option, "no")
	var p *bool
	switch name {
	case "funcgraph-cpu":
		p, off = &o.NoCPU, !off
	case "funcgraph-duration":
		p, off = &o.NoDuration, !off
	case "funcgraph-overhead":
		p, off = &o.NoOverhead, !off
	case "print-parent":
		p, off = &o.NoParent, !off
	case "funcgraph-abstime":
		p = &o.AbsTime
	case "funcgraph-proc":
		p = &o.Proc
	case "funcgraph-tail":
		p = &o.Tail
	case "funcgraph-overrun":
		p = &o.Overrun
	case "funcgraph-retval":
		p = &o.Retval
	case "funcgraph-retval-hex":
		p = &o.RetvalHex
	default:
		return errors.New("there is no option " + strconv.Quote(option) + ": there are function-fork, funcgraph-abstime, funcgraph-cpu, funcgraph-duration, funcgraph-overhead, funcgraph-overrun, funcgraph-proc, funcgraph-retval, funcgraph-retval-hex, funcgraph-tail, graph-time, overwrite, print-parent and sleep-time, each with \"no\" in front of it to switch it off")
	}
	*p = !off
	return nil
}

// WriteText writes the trace as the kernel's file "trace" shows it, in the format of the tracer that made it.
func (t *Trace) WriteText(w io.Writer, o Options) error {
	b := bufio.NewWriterSize(w, 64<<10)
	switch le.Uint32(t.Header[HTracer:]) {
	case TracerGraph:
		t.writeGraph(b, o)
	case TracerFunction:
		t.writeFunction(b, o)
	default:
		fmt.Fprintf(b, "# tracer: nop\n#\n")
		t.writeCounts(b)
		fmt.Fprintf(b, "#\n")
	}
	return b.Flush()
}

// WriteByGoroutine writes the trace one goroutine after the other. It reads the trace once for each.
func (t *Trace) WriteByGoroutine(w io.Writer, o Options) error {
	only := t.Only
	defer func() { t.Only = only }()
	ids := map[uint64]bool{}
	for e := range t.Events() {
		ids[e.g.id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		t.Only = []uint64{id}
		if _, err := fmt.Fprintf(w, "# goroutine %d: %s\n", id, t.comm(t.goroutines[id])); err != nil {
			return err
		}
		if err := t.WriteText(w, o); err != nil {
			return err
		}
	}
	return nil
}

// WriteInfo writes what is known of the recording.
func (t *Trace) WriteInfo(w io.Writer) error {
	b := bufio.NewWriter(w)
	row := func(key, format string, args ...any) {
		fmt.Fprintf(b, "# %-20s: %s\n", key, fmt.Sprintf(format, args...))
	}
	for _, line := range t.Info {
		key, value, _ := strings.Cut(line, ": ")
		row(key, "%s", value)
	}
	var first, last int64
	goroutines := map[uint64]bool{}
	for e := range t.Events() {
		if first == 0 {
			first = e.Time
		}
		last = e.Time
		goroutines[e.g.id] = true
	}
	row("clock", "%s", map[uint32]string{CounterNanoseconds: "mono", CounterTicks: "the processor's counter"}[le.Uint32(t.Header[HCounterKind:])])
	row("records", "%d in the file of %d made", t.InBuffer(), t.Written())
	row("lost", "%d overwritten, %d dropped", le.Uint64(t.Header[HOverwritten:]), le.Uint64(t.Header[HDropped:]))
	row("overruns", "%d calls deeper than the return stack's %d", t.Overrun(), le.Uint32(t.Header[HMaxStack:]))
	row("time", "%.6f s", float64(last-first)/1e9)
	row("goroutines", "%d", len(goroutines))
	row("Ps", "%d", t.procs)
	hooked, kept, alone := t.Hooked()
	row("functions", "%d hooked, %d left inlined, %d left alone", hooked, kept, alone)
	switch state := le.Uint32(t.Header[HState:]); {
	case t.Lacks != "":
		row("damage", "%s", t.Lacks)
	case state&StateNoSpace != 0:
		row("end", "recording stopped early: the file system is full")
	case state&StateEnded == 0:
		row("end", "the program did not come to its end in order")
	}
	return b.Flush()
}

// A Pipe writes traces of one program that follow one another, as the kernel's file "trace_pipe" shows them: without headers, and each going on
// where the one before ended.
type Pipe struct {
	goroutines map[uint64]*goroutine
	graph      *graphWriter
}

// NewPipe makes a pipe.
func NewPipe() *Pipe { return &Pipe{map[uint64]*goroutine{}, newGraphWriter()} }

// Write writes the trace that comes next.
func (p *Pipe) Write(w io.Writer, t *Trace, o Options) error {
	t.carried = p.goroutines
	b := bufio.NewWriterSize(w, 64<<10)
	switch le.Uint32(t.Header[HTracer:]) {
	case TracerGraph:
		p.graph.t, p.graph.b, p.graph.o = t, b, o
		p.graph.events()
	case TracerFunction:
		t.functionEvents(b, o)
	}
	return b.Flush()
}

// writeCounts writes the lines of the header that are not the kernel's.
func (t *Trace) writeCounts(b *bufio.Writer) {
	fmt.Fprintf(b, "# entries-in-buffer/entries-written: %d/%d   #P:%d\n", t.InBuffer(), t.Written(), t.procs)
	hooked, kept, alone := t.Hooked()
	fmt.Fprintf(b, "# functions: %d hooked", hooked)
	if kept > 0 {
		fmt.Fprintf(b, ", %d left inlined (built with -inline=hook they are traced too)", kept)
	}
	if alone > 0 {
		fmt.Fprintf(b, ", %d left alone", alone)
	}
	fmt.Fprintf(b, "\n")
	if n := t.Overrun(); n > 0 {
		fmt.Fprintf(b, "# overruns: %d calls deeper than the return stack's %d\n", n, le.Uint32(t.Header[HMaxStack:]))
	}
	if n := le.Uint64(t.Header[HDropped:]); n > 0 {
		fmt.Fprintf(b, "# dropped: %d records found no room\n", n)
	}
	if t.Lacks != "" {
		fmt.Fprintf(b, "# %s\n", t.Lacks)
	}
	if le.Uint32(t.Header[HState:])&StateNoSpace != 0 {
		fmt.Fprintf(b, "# recording stopped early: the file system is full\n")
	}
}

func (t *Trace) writeFunction(b *bufio.Writer, o Options) {
	fmt.Fprintf(b, "# tracer: function\n#\n")
	t.writeCounts(b)
	b.WriteString(`#
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
`)
	t.functionEvents(b, o)
}

// functionEvents writes what happened.
func (t *Trace) functionEvents(b *bufio.Writer, o Options) {
	var num [20]byte
	for e := range t.Events() {
		if e.Lost > 0 {
			fmt.Fprintf(b, "CPU:%d [LOST %d EVENTS]\n", e.Proc, e.Lost)
		}
		if e.Kind != KindFunction && e.Kind != KindMarker {
			continue
		}
		comm := cut(t.comm(e.g), 16)
		blanks(b, 16-len(comm))
		b.WriteString(comm)
		b.WriteByte('-')
		id := strconv.AppendUint(num[:0], e.g.id, 10)
		b.Write(id)
		blanks(b, 7-len(id))
		us := e.Time / 1000
		fmt.Fprintf(b, " [%03d] ..... %5d.%06d: ", e.Proc, us/1e6, us%1e6)
		if e.Kind == KindMarker {
			fmt.Fprintf(b, "tracing_mark_write: %s\n", strings.TrimSuffix(e.Text, "\n"))
			continue
		}
		b.WriteString(t.Name(e.Func))
		if !o.NoParent {
			b.WriteString(" <-")
			b.WriteString(t.symbol(e.Parent))
		}
		b.WriteByte('\n')
	}
}

func (t *Trace) symbol(off uint32) string {
	if off == 0 {
		return "[unknown]"
	}
	if s := t.symbolName(off); s != "" {
		return s
	}
	return "0x" + strconv.FormatUint(uint64(off)+le.Uint64(t.Header[HText:]), 16)
}

// symbolName names the function at an offset in the text, "" if nobody knows.
func (t *Trace) symbolName(off uint32) string {
	if s := t.symbols[off]; s != "" {
		return s
	}
	if t.Symbol != nil {
		return t.Symbol(off)
	}
	return ""
}

func blanks(b *bufio.Writer, n int) {
	const many = "                                                                "
	for ; n > 0; n -= len(many) {
		b.WriteString(many[:min(n, len(many))])
	}
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
