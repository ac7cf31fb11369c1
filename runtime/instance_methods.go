package ftrace

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// What can be set, read and written of an instance. Each method finds the instance's array, if it
// is there, and leaves the work to it.

// SetTracer switches to another tracer, from any to any, while the program runs (current_tracer):
// "function_graph", "function", "nop", or one of RegisterTracer. Calls in progress lose nothing but
// their returns, which no tracer records. Records of another tracer that are still in the buffer
// are gone; a switch to nop leaves them to be read. Records of the same tracer stay, too, and new
// ones follow them: Reset empties the buffer. Tracers of the program's own may be on in several
// instances.
//
// The error says which tracers there are if name is not one of them.
func (in *Instance) SetTracer(name string) error {
	return in.do(func(a *traceArray) error { return a.selectTracer(name) })
}

// CurrentTracer returns the name of the tracer that is on; "nop" if none is.
func (in *Instance) CurrentTracer() string {
	v := nop.name
	in.do(func(a *traceArray) error {
		ctl.Lock()
		defer ctl.Unlock()
		v = a.current.name
		return nil
	})
	return v
}

// SetFilter limits tracing to the functions that the patterns name (set_ftrace_filter). Without
// patterns every function is traced. A pattern is one of
//
//	net/http.(*conn).serve   a glob of the kernel's kind: * for any string, ? for any character,
//	http.*                   [a-z] for a set. It is matched against the function's name with its
//	(*conn).serve            import path, with the path's last element alone, and, if it begins
//	                         with ( or holds no dot, within the package
//	net/http...              functions of the packages that a go command's pattern matches
//	*Close*:mod:net...       what a glob matches of them; such a package may come later
//	server.go:120            the function that a line is in: the last that is declared at or above
//	                         the line, and the last literal there
//	!glob                    takes out what the patterns before it name
//
// A pattern that matches no function is an error, which says why if there is such a function
// without a hook; the filter stays as it was.
func (in *Instance) SetFilter(patterns ...string) error {
	return in.do(func(a *traceArray) error { return a.setFilter(patterns, false, false) })
}

// AddFilter adds patterns to the filter (>> set_ftrace_filter). When !glob has taken the last
// function out of it, every function is traced.
func (in *Instance) AddFilter(patterns ...string) error {
	return in.do(func(a *traceArray) error { return a.setFilter(patterns, false, true) })
}

// Filter returns the patterns of the filter.
func (in *Instance) Filter() []string {
	var v []string
	in.do(func(a *traceArray) error {
		ctl.Lock()
		defer ctl.Unlock()
		v = a.filter.texts()
		return nil
	})
	return v
}

// SetNotrace excludes the functions that the patterns name, also from what SetFilter names
// (set_ftrace_notrace).
func (in *Instance) SetNotrace(patterns ...string) error {
	return in.do(func(a *traceArray) error { return a.setFilter(patterns, true, false) })
}

// AddNotrace adds patterns to what SetNotrace has set (>> set_ftrace_notrace).
func (in *Instance) AddNotrace(patterns ...string) error {
	return in.do(func(a *traceArray) error { return a.setFilter(patterns, true, true) })
}

// Notrace returns the patterns of SetNotrace and AddNotrace.
func (in *Instance) Notrace() []string {
	var v []string
	in.do(func(a *traceArray) error {
		ctl.Lock()
		defer ctl.Unlock()
		v = a.except.texts()
		return nil
	})
	return v
}

// SetGraphFunction limits the graph tracer to calls of the functions that the patterns name, and
// what these call (set_graph_function). Without patterns it traces all calls.
func (in *Instance) SetGraphFunction(patterns ...string) error {
	return in.do(func(a *traceArray) error {
		return a.setGraphPatterns("set_graph_function", patterns, &a.graphFunction)
	})
}

// GraphFunction returns the patterns of SetGraphFunction.
func (in *Instance) GraphFunction() []string {
	var v []string
	in.do(func(a *traceArray) error {
		ctl.Lock()
		defer ctl.Unlock()
		v = a.graphFunction.texts()
		return nil
	})
	return v
}

// SetGraphNotrace excludes calls of the functions that the patterns name, and what these call, also
// from what SetGraphFunction names (set_graph_notrace).
func (in *Instance) SetGraphNotrace(patterns ...string) error {
	return in.do(func(a *traceArray) error {
		return a.setGraphPatterns("set_graph_notrace", patterns, &a.graphNotrace)
	})
}

// GraphNotrace returns the patterns of SetGraphNotrace.
func (in *Instance) GraphNotrace() []string {
	var v []string
	in.do(func(a *traceArray) error {
		ctl.Lock()
		defer ctl.Unlock()
		v = a.graphNotrace.texts()
		return nil
	})
	return v
}

// SetMaxGraphDepth limits the graph tracer to calls of at most that depth, 1 to 65535, of the
// goroutine's return stack, which all tracers share (max_graph_depth): 1 traces the outermost calls
// alone. 0 is no limit.
func (in *Instance) SetMaxGraphDepth(depth int) error {
	if depth < 0 || depth > 65535 {
		return fmt.Errorf("max_graph_depth is 0, for no limit, to 65535, not %d", depth)
	}
	return in.do(func(a *traceArray) error { return a.setMaxDepth(depth) })
}

// MaxGraphDepth returns the depth that SetMaxGraphDepth has set; 0 if there is no limit.
func (in *Instance) MaxGraphDepth() int {
	var v int
	in.do(func(a *traceArray) error {
		ctl.Lock()
		defer ctl.Unlock()
		v = int(a.maxDepth)
		return nil
	})
	return v
}

// SetThreshold limits the graph tracer to calls that take as long or longer (tracing_thresh); 0 is
// no limit. Their returns are recorded, with their duration, and no entries.
func (in *Instance) SetThreshold(d time.Duration) error {
	return in.do(func(a *traceArray) error { return a.setThreshold(d) })
}

// Threshold returns the duration that SetThreshold has set; 0 if there is no limit.
func (in *Instance) Threshold() time.Duration {
	var v time.Duration
	in.do(func(a *traceArray) error {
		ctl.Lock()
		defer ctl.Unlock()
		v = time.Duration(a.ns)
		return nil
	})
	return v
}

// SetGoroutines limits tracing to the goroutines of these numbers (set_ftrace_pid); without numbers
// all are traced. With the option function-fork this holds for goroutines, too, that these start
// from then on. Goid returns the number of a goroutine.
func (in *Instance) SetGoroutines(ids ...uint64) error {
	return in.do(func(a *traceArray) error { return a.setGoroutines(&a.goroutines, ids) })
}

// Goroutines returns the numbers that SetGoroutines has set, in their order.
func (in *Instance) Goroutines() []uint64 {
	var v []uint64
	in.do(func(a *traceArray) error {
		ctl.Lock()
		defer ctl.Unlock()
		v = slices.Clone(a.goroutines)
		return nil
	})
	return v
}

// SetNotraceGoroutines excludes goroutines from tracing, also goroutines that SetGoroutines names
// (set_ftrace_notrace_pid).
func (in *Instance) SetNotraceGoroutines(ids ...uint64) error {
	return in.do(func(a *traceArray) error { return a.setGoroutines(&a.notGoroutines, ids) })
}

// NotraceGoroutines returns the numbers that SetNotraceGoroutines has set, in their order.
func (in *Instance) NotraceGoroutines() []uint64 {
	var v []uint64
	in.do(func(a *traceArray) error {
		ctl.Lock()
		defer ctl.Unlock()
		v = slices.Clone(a.notGoroutines)
		return nil
	})
	return v
}

// SetCPUs limits recording to the Ps of these numbers, which traces show; without numbers all
// record (tracing_cpumask). A call that is entered on one P and returns on another may lose either
// record.
func (in *Instance) SetCPUs(cpus ...int) error {
	return in.do(func(a *traceArray) error { return a.setCPUs(cpus) })
}

// CPUs returns the numbers that SetCPUs has set, in their order; none if all Ps record.
func (in *Instance) CPUs() []int {
	var v []int
	in.do(func(a *traceArray) error {
		ctl.Lock()
		defer ctl.Unlock()
		v = a.cpus.list()
		return nil
	})
	return v
}

// SetTracingOn says whether records are made (tracing_on); they are at first. While they are not,
// tracers stay on: callbacks are called, the profile counts, and triggers work. StopHooks, for
// comparison, stops all of that.
func (in *Instance) SetTracingOn(on bool) error {
	return in.do(func(a *traceArray) error { return a.setTracingOn(on) })
}

// TracingOn reports whether records are made.
func (in *Instance) TracingOn() bool {
	var v bool
	in.do(func(a *traceArray) error {
		v = !a.paused.Load()
		return nil
	})
	return v
}

// SetTrigger makes functions do something when they are called (what set_ftrace_filter takes with a
// colon):
//
//	main.work:traceoff       switches recording off, as SetTracingOn does
//	main.work:traceon        switches it on
//	main.work:snapshot       keeps a copy of the buffer, for WriteSnapshot
//	main.work:stacktrace     records the stack
//	main.work:dump           writes the trace to standard error, once
//	http.(*conn).*:traceoff:3   does it three times at most, each function that the pattern matches
//	!main.work:traceoff      takes the trigger back
//
// The function's own call is recorded after that, or not. The patterns have the form of
// SetFilter's. Triggers have nothing to do with the filters, and need no tracer. A trigger that is
// taken back with a count is one that was set with any count; without a count, any. traceon and
// traceoff count only when they change something.
func (in *Instance) SetTrigger(spec string) error {
	return in.do(func(a *traceArray) error { return a.setTrigger(spec) })
}

// Triggers returns the triggers that are set, as the kernel lists them: function:command:unlimited,
// or function:command:count=3 where so many times are left.
func (in *Instance) Triggers() []string {
	var v []string
	in.do(func(a *traceArray) error { v = a.listTriggers(); return nil })
	return v
}

// SetOption sets an option by the kernel's name, with "no" in front of it to switch it off
// (trace_options). The options are, with a star behind the names of options that are on at first:
//
//	funcgraph-abstime, funcgraph-cpu*, funcgraph-duration*, funcgraph-overhead*,
//	funcgraph-overrun, funcgraph-proc, funcgraph-tail, funcgraph-retval-hex, print-parent*,
//	import-path*         what WriteTrace and pipes write
//	funcgraph-retval     the graph tracer records what functions return, and text shows it;
//	                     see Call.Retval
//	overwrite*           new records take the place of the oldest when the buffer is full; with
//	                     nooverwrite recording stops, and records without room count as dropped
//	sleep-time*          the profile counts the time that goroutines are off their P
//	graph-time*          WriteProfile's times are with the calls below
//	function-fork        SetGoroutines holds for the goroutines, too, that these start
//	frame-test*          a unique value goes in on a call's entry and is compared on its return;
//	                     where the two differ, tracing stops (HAVE_FUNCTION_GRAPH_FP_TEST).
//	                     Only calls of Enter and Exit by hand can make a difference, or a fault
//	                     of ftgo's
//
// The last four are of all instances.
func (in *Instance) SetOption(name string) error {
	return in.do(func(a *traceArray) error { return a.setOption(name) })
}

// Options returns all options as they are set, with "no" in front of an option that is off.
func (in *Instance) Options() []string {
	var v []string
	in.do(func(a *traceArray) error { v = a.listOptions(); return nil })
	return v
}

// SetBufferSize sets how much memory records may take, in kilobytes, for all Ps together
// (buffer_total_size_kb): 1 to 1073741824. It is 16384 for Default and 4096 for others at first. It
// may be changed while tracing goes on: a larger buffer grows as it is filled, a smaller one gives
// memory back and loses its oldest records, which count as overwritten. Each P has two pages at the
// least, of 4 to 64 KiB.
//
// A trace that is recorded into a file does not grow beyond the size that it began with.
func (in *Instance) SetBufferSize(kilobytes int) error {
	return in.do(func(a *traceArray) error { return a.setBufferSize(kilobytes) })
}

// BufferSize returns the size of the buffer, in kilobytes.
func (in *Instance) BufferSize() int {
	var v int
	in.do(func(a *traceArray) error { v = a.bufferSize(); return nil })
	return v
}

// Marker writes a note of the program's own into the trace, in its place among the calls
// (trace_marker, trace_printk). The arguments are as fmt.Sprintf takes them. A text of more than
// 1024 bytes becomes several notes.
//
// Marker may be called from anywhere. While no tracer is on, and while tracers are being switched,
// it does nothing and formats nothing. It allocates as fmt does.
func (in *Instance) Marker(format string, args ...any) {
	if tracing.Load() { // and so what it needs is there
		in.do(func(a *traceArray) error { a.marker(format, args); return nil })
	}
}

// WriteTrace writes what is in the buffer as the kernel's file "trace" does: in the format of the
// function or function_graph tracer, a goroutine for the task and a P for the CPU. Calls that have
// not returned end where the trace does, marked as unfinished. A nil Selection selects all.
//
// WriteTrace may be called at any time, also while tracing goes on, and consumes nothing. It
// returns ErrNotInstrumented in a program without hooks; otherwise errors of w, and of the
// Selection's patterns.
func (in *Instance) WriteTrace(w io.Writer, s *Selection) error {
	return in.write(w, func(a *traceArray, w io.Writer) error { return a.writeTrace(w, s) })
}

// WriteRecording writes what is in the buffer as a file for ftgo replay, report and info, with the
// names of functions in it. A nil Selection selects all. Recording goes on meanwhile, and nothing
// is consumed: with a tracer that is always on, this is a flight recorder. Of Default a page is
// copied at a time, the newest first, and a page that is overwritten before it has been copied is
// left out; if that happened to all of them, WriteRecording begins again. With Goroutines, Until or
// Functions in the Selection, and of other instances, the buffer is copied before it is written.
//
// WriteRecording may be called at any time and by any number of goroutines. It returns
// ErrNotInstrumented in a program without hooks; otherwise errors of w, and of the Selection's
// patterns.
func (in *Instance) WriteRecording(w io.Writer, s *Selection) error {
	if in == Default { // which stays: its pages are copied one at a time
		return top.writeRecording(w, s)
	}
	return in.write(w, func(a *traceArray, w io.Writer) error { return a.writeRecording(w, s) })
}

// TakeSnapshot keeps a copy of the buffer, as the trigger snapshot does, in place of the one that
// was kept before (echo 1 > snapshot).
func (in *Instance) TakeSnapshot() error {
	return in.do(func(a *traceArray) error { return a.take() })
}

// WriteSnapshot writes the copy that TakeSnapshot or the trigger snapshot has kept last as
// WriteTrace does (the kernel's file snapshot); nothing if none was kept.
func (in *Instance) WriteSnapshot(w io.Writer) error {
	return in.write(w, (*traceArray).writeKept)
}

// NewPipe makes a pipe, which takes records out of the buffer (trace_pipe).
func (in *Instance) NewPipe() (p *Pipe, err error) {
	err = in.do(func(a *traceArray) error {
		p, err = a.newPipe()
		return err
	})
	if p != nil {
		p.in = in
	}
	return p, err
}

// Reset empties the buffer (echo > trace).
func (in *Instance) Reset() error {
	return in.do((*traceArray).resetAll)
}

// ReadStats returns the counts. The counts of goroutines, overruns and mismatches are of all
// instances together. They are zero in a program without hooks.
func (in *Instance) ReadStats() Stats {
	var s Stats
	in.do(func(a *traceArray) error { s = a.readStats(); return nil })
	return s
}

// ReadCPUStats returns the counts of every P on which a record was made, in their order. Sums of
// them are exact when nothing is being traced; otherwise they are of almost one moment.
func (in *Instance) ReadCPUStats() []CPUStats {
	var v []CPUStats
	in.do(func(a *traceArray) error { v = a.readCPUStats(); return nil })
	return v
}
