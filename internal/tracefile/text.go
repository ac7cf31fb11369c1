package tracefile

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Options are the kernel's trace options that change the text (Documentation/trace/ftrace.rst,
// "trace_options"), and import-path, which it has not. The zero value is the default.
type Options struct {
	NoCPU        bool // nofuncgraph-cpu
	NoDuration   bool // nofuncgraph-duration
	NoOverhead   bool // nofuncgraph-overhead
	NoParent     bool // noprint-parent
	NoImportPath bool // noimport-path: the package's name instead
	AbsTime      bool // funcgraph-abstime
	Proc         bool // funcgraph-proc
	Tail         bool // funcgraph-tail
	Overrun      bool // funcgraph-overrun
	Retval       bool // funcgraph-retval
	RetvalHex    bool // funcgraph-retval-hex
}

// TextOptions are the names of the options that change the text of a trace.
var TextOptions = []string{
	"funcgraph-abstime", "funcgraph-cpu", "funcgraph-duration", "funcgraph-overhead", "funcgraph-overrun", "funcgraph-proc",
	"funcgraph-retval", "funcgraph-retval-hex", "funcgraph-tail", "import-path", "print-parent",
}

// recordOptions are the names of the options that change what is recorded.
var recordOptions = []string{"frame-test", "function-fork", "graph-time", "overwrite", "sleep-time"}

// An OptionError says that Set does not know an option.
type OptionError struct {
	Option    string
	Recording bool // there is such an option, and it changes what is recorded
}

func (e *OptionError) Error() string {
	if e.Recording {
		return "the option " + strconv.Quote(e.Option) + " changes what is recorded, not the text of a trace"
	}
	all := slices.Sorted(slices.Values(slices.Concat(TextOptions, recordOptions)))
	return fmt.Sprintf("there is no option %q: there are %s and %s, each with \"no\" in front of it to switch it off",
		e.Option, strings.Join(all[:len(all)-1], ", "), all[len(all)-1])
}

// option returns the field of a text option, and whether it is set where the option is off; nil for
// another name.
func (o *Options) option(name string) (p *bool, off bool) {
	switch name {
	case "funcgraph-cpu":
		return &o.NoCPU, true
	case "funcgraph-duration":
		return &o.NoDuration, true
	case "funcgraph-overhead":
		return &o.NoOverhead, true
	case "print-parent":
		return &o.NoParent, true
	case "import-path":
		return &o.NoImportPath, true
	case "funcgraph-abstime":
		return &o.AbsTime, false
	case "funcgraph-proc":
		return &o.Proc, false
	case "funcgraph-tail":
		return &o.Tail, false
	case "funcgraph-overrun":
		return &o.Overrun, false
	case "funcgraph-retval":
		return &o.Retval, false
	case "funcgraph-retval-hex":
		return &o.RetvalHex, false
	}
	return nil, false
}

// Set sets an option by its name, "no" in front of it to switch it off. The error is an
// OptionError.
func (o *Options) Set(option string) error {
	name, no := strings.CutPrefix(option, "no")
	p, off := o.option(name)
	if p == nil {
		return &OptionError{option, slices.Contains(recordOptions, name)}
	}
	*p = no == off
	return nil
}

// List returns the text options as they are set, by name, with "no" in front of what is off.
func (o *Options) List() []string {
	var list []string
	for _, name := range TextOptions {
		p, off := o.option(name)
		list = append(list, OptionName(name, *p != off))
	}
	return list
}

// OptionName returns an option's name, with "no" in front of it if it is off.
func OptionName(name string, on bool) string {
	if on {
		return name
	}
	return "no" + name
}

// WriteText writes what is selected of the trace as the kernel's file "trace" shows it, in the
// format of the tracer that made it.
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

// WriteByGoroutine writes the trace one goroutine after the other, each behind a line with its
// number and name. A page of records is read as often as there are goroutines in it.
func (t *Trace) WriteByGoroutine(w io.Writer, o Options) error {
	b := bufio.NewWriterSize(w, 64<<10)
	tracer := le.Uint32(t.Header[HTracer:])
	if tracer != TracerGraph && tracer != TracerFunction {
		return t.WriteText(w, o)
	}
	g := graphWriter{o: o, b: b}
	if tracer == TracerGraph {
		fmt.Fprintf(b, "# tracer: function_graph\n#\n")
		t.writeCounts(b)
		b.WriteString("#\n")
		g.header()
	} else {
		t.functionHeader(b)
	}
	selected, streams := t.Select.Goroutines, t.streams
	defer func() { t.Select.Goroutines, t.streams = selected, streams }()
	pages, latest := t.pagesOf()
	between := ""
	for _, id := range slices.Sorted(maps.Keys(pages)) {
		if len(selected) > 0 && !slices.Contains(selected, id) {
			continue
		}
		t.Select.Goroutines, t.streams = []uint64{id}, pages[id]
		begin := func() {
			r := latest[id]
			name := t.fullName(r)
			if symbol := t.symbolName(r.start); r.name != "" && symbol != "" {
				name += ", started with " + symbol
			}
			fmt.Fprintf(b, "%s# goroutine %d: %s\n", between, id, name)
			between = "\n"
		}
		if tracer == TracerGraph {
			g.procs, g.begin = nil, begin
			g.events(t)
		} else {
			t.functionEvents(b, names{t: t, short: o.NoImportPath}, o, begin)
		}
	}
	g.footer()
	return b.Flush()
}

// pagesOf returns the pages that hold records of each goroutine, and what is known of it at the
// end.
func (t *Trace) pagesOf() (pages map[uint64][]*stream, latest map[uint64]*goroutine) {
	pages, latest = map[uint64][]*stream{}, map[uint64]*goroutine{}
	buf := make([]byte, t.pageSize)
	for _, s := range t.streams {
		for _, p := range s.pages {
			eachSlot(t.load(p.index, buf), func(kind uint8, b []byte) {
				if kind != KindSwitch && kind != KindNamed {
					return
				}
				n := readNote(kind, b)
				if g := latest[n.id]; g == nil || int32(n.seq-g.seq) > 0 {
					latest[n.id] = &goroutine{id: n.id, parent: n.parent, start: n.start, seq: n.seq, name: string(n.name)}
				}
				of := pages[n.id]
				if len(of) == 0 || of[len(of)-1].proc != s.proc {
					of = append(of, &stream{proc: s.proc})
					pages[n.id] = of
				}
				if last := of[len(of)-1]; len(last.pages) == 0 || last.pages[len(last.pages)-1] != p {
					last.pages = append(last.pages, p)
				}
			})
		}
	}
	return pages, latest
}

// A Pipe writes traces of one program that follow one another, as the kernel's file "trace_pipe"
// shows them: without headers, each beginning where the one before ended. A call that is open at
// the end of one may return in the next, so none is marked as unfinished.
type Pipe struct {
	goroutines map[uint64]*goroutine
	graph      graphWriter
}

// NewPipe makes a pipe.
func NewPipe() *Pipe {
	return &Pipe{goroutines: map[uint64]*goroutine{}, graph: graphWriter{piece: true}}
}

// Write writes the trace that comes next.
func (p *Pipe) Write(w io.Writer, t *Trace, o Options) error {
	t.carried = p.goroutines
	b := bufio.NewWriterSize(w, 64<<10)
	switch le.Uint32(t.Header[HTracer:]) {
	case TracerGraph:
		if o.NoImportPath != p.graph.o.NoImportPath {
			p.graph.names = names{}
		}
		p.graph.b, p.graph.o = b, o
		p.graph.events(t)
	case TracerFunction:
		t.functionEvents(b, names{t: t, short: o.NoImportPath}, o, nil)
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
	t.functionHeader(b)
	t.functionEvents(b, names{t: t, short: o.NoImportPath}, o, nil)
}

func (t *Trace) functionHeader(b *bufio.Writer) {
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
}

// functionEvents writes what happened. It calls begin before the first record, if there is one.
func (t *Trace) functionEvents(b *bufio.Writer, n names, o Options, begin func()) {
	var line []byte
	for e := range t.Events() {
		if begin != nil {
			begin()
			begin = nil
		}
		if e.Lost > 0 {
			fmt.Fprintf(b, "CPU:%d [LOST %d EVENTS]\n", e.Proc, e.Lost)
		}
		if e.Kind != KindFunction && e.Kind != KindMarker {
			continue
		}
		line = append(append(line[:0], t.row(e.g)...), " ["...)
		line = append(appendPadded(line, int64(e.Proc), 3, '0'), "] ..... "...)
		line = append(appendSeconds(line, e.Time), ": "...)
		switch {
		case e.Kind == KindMarker:
			line = append(line, "tracing_mark_write: "...)
			line = append(line, strings.TrimSuffix(e.Text, "\n")...)
		case o.NoParent:
			line = append(line, n.function(e.Func)...)
		default:
			line = append(append(line, n.function(e.Func)...), " <-"...)
			line = append(line, n.caller(e.Parent)...)
		}
		line = append(line, '\n')
		b.Write(line)
	}
}

// appendSeconds appends a time as %5d.%06d, seconds and microseconds.
func appendSeconds(b []byte, ns int64) []byte {
	us := ns / 1000
	return appendPadded(append(appendPadded(b, us/1e6, 5, ' '), '.'), us%1e6, 6, '0')
}

// appendPadded appends a number that is not negative in so many columns.
func appendPadded(b []byte, v int64, width int, pad byte) []byte {
	for limit := int64(10); width > 1; width-- {
		if v < limit {
			for ; width > 1; width-- {
				b = append(b, pad)
			}
			break
		}
		limit *= 10
	}
	return strconv.AppendInt(b, v, 10)
}

// appendBlanks appends so many blanks.
func appendBlanks(b []byte, n int) []byte {
	const many = "                                                                "
	for ; n > len(many); n -= len(many) {
		b = append(b, many...)
	}
	return append(b, many[:max(0, n)]...)
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

// symbolName names the function at an offset in the text, "" if that is not known.
func (t *Trace) symbolName(off uint32) string {
	if s := t.symbols[off]; s != "" {
		return s
	}
	if t.Symbol != nil {
		return t.Symbol(off)
	}
	return ""
}
