package ftrace

import (
	"io"
	"time"
)

// The functions of this package that mean Default, as http.Handle means http.DefaultServeMux.

// SetTracer switches to the tracer of that name (current_tracer); see Instance.SetTracer.
func SetTracer(name string) error { return Default.SetTracer(name) }

// CurrentTracer returns the name of the tracer that is on.
func CurrentTracer() string { return Default.CurrentTracer() }

// SetFilter limits tracing to the functions that the patterns name (set_ftrace_filter); see
// Instance.SetFilter. It sets the filter of the tracer that SelectFunctionTracer has chosen, which
// is Default's at first; so do AddFilter, SetNotrace and AddNotrace.
func SetFilter(patterns ...string) error { return setFilter(patterns, false, false) }

// AddFilter adds patterns to the filter (>> set_ftrace_filter); see Instance.AddFilter.
func AddFilter(patterns ...string) error { return setFilter(patterns, false, true) }

// SetNotrace excludes the functions that the patterns name (set_ftrace_notrace).
func SetNotrace(patterns ...string) error { return setFilter(patterns, true, false) }

// AddNotrace adds patterns to what SetNotrace has set (>> set_ftrace_notrace).
func AddNotrace(patterns ...string) error { return setFilter(patterns, true, true) }

func setFilter(patterns []string, except, add bool) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	ctl.Lock()
	defer ctl.Unlock()
	return defaultUser.change(patterns, parsePatterns(patterns), except, add)
}

// Filter returns the patterns of the filter; see Instance.SetFilter.
func Filter() []string { return Default.Filter() }

// Notrace returns the patterns of the functions that are excluded.
func Notrace() []string { return Default.Notrace() }

// SetGraphFunction limits the graph tracer to what some functions call (set_graph_function); see
// Instance.SetGraphFunction.
func SetGraphFunction(patterns ...string) error { return Default.SetGraphFunction(patterns...) }

// GraphFunction returns the patterns of SetGraphFunction.
func GraphFunction() []string { return Default.GraphFunction() }

// SetGraphNotrace excludes what some functions call (set_graph_notrace); see
// Instance.SetGraphNotrace.
func SetGraphNotrace(patterns ...string) error { return Default.SetGraphNotrace(patterns...) }

// GraphNotrace returns the patterns of SetGraphNotrace.
func GraphNotrace() []string { return Default.GraphNotrace() }

// SetMaxGraphDepth limits the graph tracer to calls of at most that depth (max_graph_depth); 0 is
// no limit.
func SetMaxGraphDepth(depth int) error { return Default.SetMaxGraphDepth(depth) }

// MaxGraphDepth returns the depth that SetMaxGraphDepth has set.
func MaxGraphDepth() int { return Default.MaxGraphDepth() }

// SetThreshold limits the graph tracer to calls that take as long or longer (tracing_thresh); 0 is
// no limit.
func SetThreshold(d time.Duration) error { return Default.SetThreshold(d) }

// Threshold returns the duration that SetThreshold has set.
func Threshold() time.Duration { return Default.Threshold() }

// SetGoroutines limits tracing to some goroutines (set_ftrace_pid); see Instance.SetGoroutines.
func SetGoroutines(ids ...uint64) error { return Default.SetGoroutines(ids...) }

// Goroutines returns the numbers that SetGoroutines has set.
func Goroutines() []uint64 { return Default.Goroutines() }

// SetNotraceGoroutines excludes goroutines from tracing (set_ftrace_notrace_pid).
func SetNotraceGoroutines(ids ...uint64) error { return Default.SetNotraceGoroutines(ids...) }

// NotraceGoroutines returns the numbers that SetNotraceGoroutines has set.
func NotraceGoroutines() []uint64 { return Default.NotraceGoroutines() }

// SetCPUs limits recording to some Ps (tracing_cpumask); see Instance.SetCPUs.
func SetCPUs(cpus ...int) error { return Default.SetCPUs(cpus...) }

// CPUs returns the numbers that SetCPUs has set.
func CPUs() []int { return Default.CPUs() }

// SetTracingOn says whether records are made (tracing_on); see Instance.SetTracingOn.
func SetTracingOn(on bool) error { return Default.SetTracingOn(on) }

// TracingOn reports whether records are made.
func TracingOn() bool { return Default.TracingOn() }

// SetTrigger makes functions switch recording on and off, keep a snapshot, or record their stack;
// see Instance.SetTrigger.
func SetTrigger(spec string) error { return Default.SetTrigger(spec) }

// Triggers returns the triggers that are set; see Instance.Triggers.
func Triggers() []string { return Default.Triggers() }

// SetOption sets an option by the kernel's name (trace_options); see Instance.SetOption.
func SetOption(name string) error { return Default.SetOption(name) }

// Options returns all options as they are set, with "no" in front of an option that is off.
func Options() []string { return Default.Options() }

// SetBufferSize sets how much memory records may take, in kilobytes (buffer_total_size_kb); see
// Instance.SetBufferSize.
func SetBufferSize(kilobytes int) error { return Default.SetBufferSize(kilobytes) }

// BufferSize returns the size of the buffer, in kilobytes.
func BufferSize() int { return Default.BufferSize() }

// Marker writes a note of the program's own into the trace (trace_marker); see Instance.Marker.
func Marker(format string, args ...any) { Default.Marker(format, args...) }

// WriteTrace writes what is in the buffer, or what s selects of it, as the kernel's file "trace"
// does; see Instance.WriteTrace.
func WriteTrace(w io.Writer, s *Selection) error { return Default.WriteTrace(w, s) }

// WriteRecording writes what is in the buffer, or what s selects of it, as a file for ftgo replay,
// report and info; see Instance.WriteRecording.
func WriteRecording(w io.Writer, s *Selection) error { return Default.WriteRecording(w, s) }

// TakeSnapshot keeps a copy of the buffer for WriteSnapshot (echo 1 > snapshot).
func TakeSnapshot() error { return Default.TakeSnapshot() }

// WriteSnapshot writes the copy that TakeSnapshot or the trigger snapshot has kept last, as
// WriteTrace does.
func WriteSnapshot(w io.Writer) error { return Default.WriteSnapshot(w) }

// NewPipe makes a pipe, which takes records out of the buffer (trace_pipe).
func NewPipe() (p *Pipe, err error) { return Default.NewPipe() }

// Reset empties the buffer (echo > trace).
func Reset() error { return Default.Reset() }

// ReadStats returns the counts. They are zero in a program without hooks.
func ReadStats() Stats { return Default.ReadStats() }

// ReadCPUStats returns the counts of every P on which a record was made, in their order.
func ReadCPUStats() []CPUStats { return Default.ReadCPUStats() }
