package tracefile

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
)

// window is how many records ahead the graph's writer looks for the return that would make an entry a leaf. A leaf during which more
// happens on other Ps is written as two lines.
const window = 4096

// graphWriter writes the function_graph format (kernel/trace/trace_functions_graph.c): what happens on each P in order of time,
// with a block of lines wherever a P goes from one goroutine to another.
type graphWriter struct {
	t     *Trace
	b     *bufio.Writer
	o     Options
	width int // of the P numbers
	last  map[int32]*goroutine
	open  map[*goroutine][]Event // calls entered and not returned from, for durations
	queue []Event
	skip  map[*goroutine]bool // the goroutine's next return was written with its entry

	returns, valued bool // there were returns, and what a function returned
}

func (t *Trace) writeGraph(b *bufio.Writer, o Options) {
	g := newGraphWriter()
	g.t, g.b, g.o = t, b, o
	fmt.Fprintf(b, "# tracer: function_graph\n#\n")
	t.writeCounts(b)
	b.WriteString("#\n")
	g.header()
	g.events()
	if o.Retval && g.returns && !g.valued {
		b.WriteString("# no return values are in this trace: they are recorded while the option funcgraph-retval is on\n")
	}
}

func newGraphWriter() *graphWriter {
	return &graphWriter{last: map[int32]*goroutine{}, open: map[*goroutine][]Event{}, skip: map[*goroutine]bool{}}
}

// events writes what happened.
func (g *graphWriter) events() {
	g.width = len(strconv.Itoa(max(0, g.t.procs-1)))
	for e := range g.t.Events() {
		g.queue = append(g.queue, *e)
		if len(g.queue) == 2*window {
			g.drain(window)
		}
	}
	g.drain(0)
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
		delete(g.open, e.g)
	}
	switch e.Kind {
	case KindEntry:
		g.taskSwitch(e)
		if ret := leaf(e, ahead); ret != nil {
			g.prefix(e, ret.Time-e.Time, true)
			g.b.WriteString(g.t.Name(e.Func))
			g.b.WriteString("();")
			if g.o.Retval && ret.Valued {
				g.b.WriteString(" /*")
				g.retval(ret)
				g.b.WriteString(" */")
			}
			g.b.WriteByte('\n')
			g.overruns(ret)
			g.skip[e.g] = true
			return
		}
		g.prefix(e, 0, false)
		g.b.WriteString(g.t.Name(e.Func))
		g.b.WriteString("() {\n")
		g.open[e.g] = append(g.open[e.g], *e)
	case KindReturn:
		g.returns, g.valued = true, g.valued || e.Valued
		if g.skip[e.g] {
			g.skip[e.g] = false
			return
		}
		g.taskSwitch(e)
		open := g.open[e.g]
		for len(open) > 0 && open[len(open)-1].Depth > e.Depth {
			open = open[:len(open)-1] // its return is not in the buffer
		}
		if n := len(open) - 1; n >= 0 && open[n].Depth == e.Depth && open[n].Func == e.Func {
			g.prefix(e, e.Time-open[n].Time, true)
			g.close(e, g.o.Tail)
			open = open[:n]
		} else {
			g.prefix(e, e.Time-e.Entry, e.Entry != 0)
			g.close(e, true)
		}
		g.open[e.g] = open
		g.overruns(e)
	case KindMarker: // print_graph_comment
		g.taskSwitch(e)
		g.prefix(e, 0, false)
		fmt.Fprintf(g.b, "/* %s */\n", strings.TrimSuffix(e.Text, "\n"))
	}
}

// close writes the brace of a return, with the function's name if that is to be there, or what it returned.
func (g *graphWriter) close(e *Event, name bool) {
	g.b.WriteByte('}')
	if value := g.o.Retval && e.Valued; name || value {
		g.b.WriteString(" /* ")
		g.b.WriteString(g.t.Name(e.Func))
		if value {
			g.retval(e)
		}
		g.b.WriteString(" */")
	}
	g.b.WriteByte('\n')
}

// retval writes what a function returned (print_graph_retval): what is an error number in the kernel, and a small negative one here, in decimal, other
// values in hexadecimal.
func (g *graphWriter) retval(e *Event) {
	v := int64(e.Value)
	if e.Value>>32 == 0 {
		v = int64(int32(e.Value))
	}
	if g.o.RetvalHex || v >= 0 || v < -4095 {
		fmt.Fprintf(g.b, " ret=%#x", e.Value)
	} else {
		fmt.Fprintf(g.b, " ret=%d", v)
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

// taskSwitch writes the block between two goroutines on one P.
func (g *graphWriter) taskSwitch(e *Event) {
	last := g.last[e.Proc]
	g.last[e.Proc] = e.g
	if last == nil || last == e.g {
		return
	}
	g.b.WriteString(" ------------------------------------------\n")
	g.cpu(e.Proc)
	g.proc(last)
	g.b.WriteString(" => ")
	g.proc(e.g)
	g.b.WriteString("\n ------------------------------------------\n\n")
}

func (g *graphWriter) cpu(p int32) { fmt.Fprintf(g.b, " %*d) ", g.width, p) }

// proc writes a goroutine: the name cut to 7 characters and the number, centred in 14.
func (g *graphWriter) proc(r *goroutine) {
	s := cut(g.t.comm(r), 7) + "-" + strconv.FormatUint(r.id, 10)
	pad := max(0, 14-len(s))
	blanks(g.b, pad/2)
	g.b.WriteString(s)
	blanks(g.b, pad-pad/2)
}

// prefix writes the columns in front of a function.
func (g *graphWriter) prefix(e *Event, d int64, has bool) {
	if g.o.AbsTime {
		us := e.Time / 1000
		fmt.Fprintf(g.b, "%5d.%06d |  ", us/1e6, us%1e6)
	}
	if !g.o.NoCPU {
		g.cpu(e.Proc)
	}
	if g.o.Proc {
		g.proc(e.g)
		g.b.WriteString(" | ")
	}
	if !g.o.NoDuration {
		if has {
			mark := byte(' ')
			if !g.o.NoOverhead {
				mark = Mark(d)
			}
			g.b.WriteByte(mark)
			g.b.WriteByte(' ')
			var num [16]byte
			g.b.Write(AppendDuration(num[:0], d))
		} else {
			blanks(g.b, 14)
		}
		g.b.WriteString("|  ")
	}
	blanks(g.b, 2*e.Depth)
}

// Mark returns the kernel's mark for a long duration (trace_find_mark), a blank for a short one.
func Mark(ns int64) byte {
	for _, m := range []struct {
		over int64
		mark byte
	}{{1e9, '$'}, {1e8, '@'}, {1e7, '*'}, {1e6, '#'}, {1e5, '!'}, {1e4, '+'}} {
		if ns > m.over {
			return m.mark
		}
	}
	return ' '
}

// AppendDuration appends a duration as trace_print_graph_duration writes it: microseconds, with as many of the three digits behind
// the point as fit eight characters, " us ", and blanks.
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

// WriteStat writes a row of the function profile's table (function_stat_show): times in ns, the variance in us².
func WriteStat(b *bufio.Writer, name string, hits uint64, total, mean int64, variance float64) {
	fmt.Fprintf(b, "  %-30.30s  %10d    %s    %s    %s\n", name, hits, AppendDuration(nil, total), AppendDuration(nil, mean), AppendDuration(nil, int64(variance*1000)))
}
