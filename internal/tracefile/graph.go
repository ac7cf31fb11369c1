package tracefile

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
)

// window is how many records ahead the graph's writer looks for the return that would make an
// entry a leaf. A leaf during which more happens on other Ps is written as two lines.
const window = 4096

// graphWriter writes the function_graph format (kernel/trace/trace_functions_graph.c): what
// happens on each P in order of time, with a block of lines wherever a P goes from one goroutine
// to another.
type graphWriter struct {
	t     *Trace
	b     *bufio.Writer
	o     Options
	names names
	procs []graphProc
	width int // of the P numbers
	queue []Event
	line  []byte
	piece bool   // what comes next goes on where this ends, see Pipe
	begin func() // called before the first event, if it is set

	returns, valued bool // there were returns, and what a function returned
}

// graphProc is the state of a P.
type graphProc struct {
	last  *goroutine
	enter []enterLine // by depth
	cpu   string      // its column
}

// enterLine is the last line of a P at some depth that awaits its brace (enter_funcs).
type enterLine struct {
	g  *goroutine
	fn uint32
}

func (t *Trace) writeGraph(b *bufio.Writer, o Options) {
	fmt.Fprintf(b, "# tracer: function_graph\n#\n")
	t.writeCounts(b)
	b.WriteString("#\n")
	g := graphWriter{o: o, b: b}
	g.header()
	g.events(t)
	g.footer()
}

// footer says what a reader may miss.
func (g *graphWriter) footer() {
	if g.o.Retval && g.returns && !g.valued {
		g.b.WriteString("# no return values are in this trace: they are recorded while the option funcgraph-retval is on\n")
	}
}

// events writes what happened.
func (g *graphWriter) events(t *Trace) {
	g.t, g.names.t, g.names.short = t, t, g.o.NoImportPath
	if w := len(strconv.Itoa(max(0, t.procs-1))); w != g.width {
		g.width = w
		for i := range g.procs {
			g.procs[i].cpu = ""
		}
	}
	if g.queue == nil {
		g.queue = make([]Event, 0, 2*window)
	}
	for e := range t.Events() {
		if g.begin != nil {
			g.begin()
			g.begin = nil
		}
		g.queue = append(g.queue, *e)
		if len(g.queue) == 2*window {
			g.drain(window)
		}
	}
	g.drain(0)
	if g.piece {
		return
	}
	t.unfinished(func(e *Event, _ *call) {
		if to := t.Select.To; to == 0 || e.Time <= to {
			g.event(e, nil)
		}
	})
}

func (g *graphWriter) header() {
	line := func(time, cpu, proc, dur, calls string) {
		g.b.WriteByte('#')
		if g.o.AbsTime {
			g.b.WriteString(time)
		}
		if !g.o.NoCPU {
			g.b.WriteString(cpu)
		}
		if g.o.Proc {
			g.b.WriteString(proc)
		}
		if !g.o.NoDuration {
			g.b.WriteString(dur)
		}
		g.b.WriteString(calls)
		g.b.WriteByte('\n')
	}
	line("     TIME       ", " CPU", "  TASK/PID       ", "  DURATION   ", "               FUNCTION CALLS")
	line("      |         ", " |  ", "   |    |        ", "   |   |      ", "               |   |   |   |")
}

// drain writes all but the last keep records of the queue.
func (g *graphWriter) drain(keep int) {
	n := len(g.queue) - keep
	for i := range n {
		g.event(&g.queue[i], g.queue[i+1:])
	}
	g.queue = append(g.queue[:0], g.queue[n:]...)
}

func (g *graphWriter) event(e *Event, ahead []Event) {
	if e.Lost > 0 {
		fmt.Fprintf(g.b, "CPU:%d [LOST %d EVENTS]\n", e.Proc, e.Lost)
	}
	switch e.Kind {
	case KindEntry:
		p := g.taskSwitch(e)
		ret := leaf(e, ahead)
		if ret == nil {
			*p.enterAt(e.Depth) = enterLine{e.g, e.Func}
			g.prefix(p, e, 0, false)
			g.line = append(append(g.line, g.names.function(e.Func)...), "() {\n"...)
			g.b.Write(g.line)
			return
		}
		*p.enterAt(e.Depth) = enterLine{}
		e.g.folded = true
		g.prefix(p, e, ret.Time-e.Time, true)
		g.line = append(append(g.line, g.names.function(e.Func)...), "();"...)
		g.comment(ret, false)
		g.overruns(ret)
	case KindReturn:
		g.returns, g.valued = true, g.valued || e.Valued
		if e.g.folded {
			e.g.folded = false
			return
		}
		p := g.taskSwitch(e)
		at := p.enterAt(e.Depth)
		match := *at == enterLine{e.g, e.Func} && e.Start != 0
		*at = enterLine{}
		g.prefix(p, e, e.Time-e.Start, e.Start != 0)
		g.line = append(g.line, '}')
		g.comment(e, !match || g.o.Tail)
		g.overruns(e)
	case KindMarker: // print_graph_comment
		g.prefix(g.taskSwitch(e), e, 0, false)
		g.line = append(g.line, "/* "...)
		g.line = append(g.line, strings.TrimSuffix(e.Text, "\n")...)
		g.line = append(g.line, " */\n"...)
		g.b.Write(g.line)
	}
}

// comment ends and writes the line of a return. It says what the call returned, or how it ended; a
// brace has the function's name then, or if it is to be there.
func (g *graphWriter) comment(e *Event, name bool) {
	value := g.o.Retval && e.Valued && !e.Panicked // a call that panicked has returned nothing
	brace := g.line[len(g.line)-1] == '}'
	if name || value || e.Panicked || e.open {
		g.line = append(g.line, " /*"...)
		if brace {
			g.line = append(append(g.line, ' '), g.names.function(e.Func)...)
		}
		if value {
			g.retval(e)
		}
		if e.Panicked || e.open {
			if brace {
				g.line = append(g.line, ':')
			}
			how := " panicked"
			if e.open {
				how = " unfinished"
			}
			g.line = append(g.line, how...)
		}
		g.line = append(g.line, " */"...)
	}
	g.line = append(g.line, '\n')
	g.b.Write(g.line)
}

// retval appends what a function returned (print_graph_retval): what is an error number in the
// kernel, and a small negative one here, in decimal, other values in hexadecimal.
func (g *graphWriter) retval(e *Event) {
	v := int64(e.Value)
	if e.Value>>32 == 0 {
		v = int64(int32(e.Value))
	}
	g.line = append(g.line, " ret="...)
	if g.o.RetvalHex || v >= 0 || v < -4095 {
		g.line = strconv.AppendUint(append(g.line, "0x"...), e.Value, 16)
	} else {
		g.line = strconv.AppendInt(g.line, v, 10)
	}
}

// leaf returns the return of an entry if nothing else happened on its P in between.
func leaf(e *Event, ahead []Event) *Event {
	for i := range ahead {
		a := &ahead[i]
		switch {
		case a.g == e.g:
			if a.Kind == KindReturn && a.Func == e.Func && a.Depth == e.Depth && a.Proc == e.Proc && a.Lost == 0 {
				return a
			}
			return nil
		case a.Proc == e.Proc:
			return nil
		}
	}
	return nil
}

func (g *graphWriter) overruns(e *Event) {
	if g.o.Overrun && e.Overrun > 0 {
		fmt.Fprintf(g.b, " (Overruns: %d)\n", e.Overrun)
	}
}

// proc returns the state of a P.
func (g *graphWriter) proc(id int32) *graphProc {
	i := int(max(id, 0)) // it is not negative but in a damaged file
	if i >= maxProcs {
		i = maxProcs
	}
	if n := i + 1 - len(g.procs); n > 0 {
		g.procs = append(g.procs, make([]graphProc, n)...)
	}
	p := &g.procs[i]
	if p.cpu == "" || i == maxProcs {
		p.cpu = fmt.Sprintf(" %*d) ", g.width, id)
	}
	return p
}

// maxProcs is how many Ps have a state of their own. No program has more: the file is damaged.
const maxProcs = 1 << 16

// enterAt returns the line at a depth.
func (p *graphProc) enterAt(depth int) *enterLine {
	if n := depth + 1 - len(p.enter); n > 0 {
		p.enter = append(p.enter, make([]enterLine, n)...)
	}
	return &p.enter[depth]
}

// taskSwitch writes the block between two goroutines on one P.
func (g *graphWriter) taskSwitch(e *Event) *graphProc {
	p := g.proc(e.Proc)
	last := p.last
	p.last = e.g
	if last != nil && last != e.g {
		g.b.WriteString(" ------------------------------------------\n")
		g.b.WriteString(p.cpu)
		g.b.WriteString(g.t.task(last))
		g.b.WriteString(" => ")
		g.b.WriteString(g.t.task(e.g))
		g.b.WriteString("\n ------------------------------------------\n\n")
	}
	return p
}

// prefix begins a line with the columns in front of a function.
func (g *graphWriter) prefix(p *graphProc, e *Event, d int64, has bool) {
	line := g.line[:0]
	if g.o.AbsTime {
		line = append(appendSeconds(line, e.Time), " |  "...)
	}
	if !g.o.NoCPU {
		line = append(line, p.cpu...)
	}
	if g.o.Proc {
		line = append(append(line, g.t.task(e.g)...), " | "...)
	}
	if !g.o.NoDuration {
		if has {
			mark := byte(' ')
			if !g.o.NoOverhead {
				mark = Mark(d)
			}
			line = AppendDuration(append(line, mark, ' '), d)
		} else {
			line = append(line, "              "...)
		}
		line = append(line, "|  "...)
	}
	g.line = appendBlanks(line, 2*e.Depth)
}

// Mark returns the kernel's mark for a long duration (trace_find_mark), a blank for a short one.
func Mark(ns int64) byte {
	switch {
	case ns <= 1e4:
		return ' '
	case ns <= 1e5:
		return '+'
	case ns <= 1e6:
		return '!'
	case ns <= 1e7:
		return '#'
	case ns <= 1e8:
		return '*'
	case ns <= 1e9:
		return '@'
	}
	return '$'
}

// AppendDuration appends a duration as trace_print_graph_duration writes it: microseconds, with as
// many of the three digits behind the point as fit eight characters, " us ", and blanks.
func AppendDuration(b []byte, ns int64) []byte {
	ns = max(ns, 0)
	start := len(b)
	b = strconv.AppendInt(b, ns/1000, 10)
	if n := len(b) - start; n < 7 {
		frac := [3]byte{byte('0' + ns/100%10), byte('0' + ns/10%10), byte('0' + ns%10)}
		b = append(b, '.')
		b = append(b, frac[:min(3, 7-n)]...)
	}
	n := len(b) - start
	b = append(b, " us "...)
	for ; n < 8; n++ {
		b = append(b, ' ')
	}
	return b
}

// WriteStat writes a row of the function profile's table (function_stat_show): times in ns, the
// variance in us².
func WriteStat(b *bufio.Writer, name string, hits uint64, total, mean int64, variance float64) {
	fmt.Fprintf(b, "  %-30.30s  %10d    %s    %s    %s\n", name, hits, AppendDuration(nil, total), AppendDuration(nil, mean), AppendDuration(nil, int64(variance*1000)))
}
