package ftrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// An Instance is a trace of its own beside the usual one: a buffer, a tracer, filters, limits, goroutines and options (a directory in the kernel's
// tracing/instances). What the functions of this package say of the usual one, which is called the top one, its methods say of it. There may be 15, of
// which as many record returns as there are tracers with returns in all, 16.
//
// Methods may be called at any time from any goroutine, but from callbacks. After Remove they return an error, or nothing.
type Instance struct {
	name  string
	home  *traceArray
	life  sync.RWMutex // held by whoever uses what follows
	array *traceArray  // home; nil once it is removed
}

// instances are those that are there. Guarded by ctl.
var instances []*Instance

// instanceBuffer is the size of an instance's buffer unless SetBufferSize says otherwise, kB. Memory is taken as records are made.
const instanceBuffer = 4 << 10

// NewInstance makes an instance (mkdir in tracing/instances). Its name consists of letters, digits, - and _.
func NewInstance(name string) (*Instance, error) {
	if rt == nil {
		return nil, ErrNotInstrumented
	}
	if err := validName(name); err != nil {
		return nil, err
	}
	ctl.Lock()
	defer ctl.Unlock()
	if nameTaken(name) {
		return nil, fmt.Errorf("there is a tracer or an instance %q already", name)
	}
	for i := 1; i < maxArrays; i++ {
		a := arrays[i].Load()
		if a != nil && a.lent {
			continue
		}
		if a == nil {
			a = &traceArray{index: i}
			a.array = a
			a.current = &nop
			arrays[i].Store(a)
		}
		a.lent = true
		a.name, a.size = name, instanceBuffer
		in := &Instance{name: name, home: a, array: a}
		instances = append(instances, in)
		return in, nil
	}
	return nil, fmt.Errorf("there are %d instances already; one must be removed before %s is made", maxArrays-1, name)
}

// nameTaken reports whether a tracer or an instance has a name.
func nameTaken(name string) bool {
	return name == top.name || name == profile.name || name == triggers.name ||
		slices.ContainsFunc(users.slot[:], func(u *user) bool { return u != nil && u.name == name }) ||
		slices.ContainsFunc(instances, func(in *Instance) bool { return in.name == name })
}

// Instances returns the names of the instances, in the order in which they were made.
func Instances() []string {
	ctl.Lock()
	defer ctl.Unlock()
	var names []string
	for _, in := range instances {
		names = append(names, in.name)
	}
	return names
}

// FindInstance returns the instance of a name; nil if there is none.
func FindInstance(name string) *Instance {
	ctl.Lock()
	defer ctl.Unlock()
	for _, in := range instances {
		if in.name == name {
			return in
		}
	}
	return nil
}

// Remove removes the instance, and gives its memory back (rmdir in tracing/instances). Calls that are open lose their returns there. It waits for callbacks
// of a tracer of the program's own, and for whoever reads the buffer.
func (in *Instance) Remove() error {
	switch {
	case rt == nil:
		return ErrNotInstrumented
	case inCallback():
		return errors.New("an instance cannot be removed from a callback")
	}
	in.life.Lock()
	a := in.array
	in.array = nil
	in.life.Unlock()
	if a == nil {
		return in.gone()
	}
	ctl.Lock()
	instances = slices.DeleteFunc(instances, func(o *Instance) bool { return o == in })
	forgetTriggers(a)
	a.paused.Store(true)
	quiesce(&a.user)
	a.current = &nop
	usePointers()
	if defaultUser == &a.user {
		defaultUser = &top.user
	}
	ctl.Unlock()
	a.await() // without the lock: a callback may want it
	ctl.Lock()
	defer ctl.Unlock()
	a.giveBack()
	a.release()
	return nil
}

// release makes the array what it was before it was used, but for what is to be had once only. Nobody writes to it.
func (a *traceArray) release() {
	rt.Barrier() // for a marker on its way
	a.removing.Lock()
	defer a.removing.Unlock()
	a.readers.Lock()
	defer a.readers.Unlock()
	a.taken++
	if a.header != nil {
		a.reset()
	}
	rt.Lock()
	for p := a.processors; p != nil; p = p.next {
		p.Page, p.At, p.End, p.lost = nil, nil, 0, 0
		p.overwritten, p.read, p.dropped = 0, 0, 0
	}
	drainDead()
	a.before = a.written()
	n := a.n
	a.used, a.n, a.keep, a.free, a.spare, a.oldest, a.newest = 0, 0, false, nil, nil, nil, nil
	a.stuck.Store(false)
	rt.Unlock()
	for i := range n {
		rt.Unmap(*a.at(i), uintptr(a.pageSize))
	}
	a.last = nil
	a.kept.Store(nil)
	a.filterList, a.limits = filterList{}, limits{}
	a.paused.Store(false)
	textMu.Lock()
	a.options = tracefile.Options{}
	textMu.Unlock()
	if a.header != nil {
		clear(unsafe.Slice((*byte)(a.header), tracefile.HeaderSize))
		a.header, a.spareHeader = nil, a.header
	}
	a.failed.Store(false)
	a.lent = false
}

func (in *Instance) gone() error { return fmt.Errorf("instance %q was removed", in.name) }

// do calls what is to be done with the instance's array, if it is there.
func (in *Instance) do(do func(a *traceArray) error) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	in.life.RLock()
	defer in.life.RUnlock()
	if in.array == nil {
		return in.gone()
	}
	return do(in.array)
}

// write writes what the instance's array has, when nobody need wait for that any more: w may take its time, or use the instance.
func (in *Instance) write(w io.Writer, write func(*traceArray, io.Writer) error) error {
	var b bytes.Buffer
	err := in.do(func(a *traceArray) error { return write(a, &b) })
	if _, e := b.WriteTo(w); err == nil {
		err = e
	}
	return err
}

// Name returns the instance's name.
func (in *Instance) Name() string { return in.name }

// SetTracer switches to another tracer; see the function SetTracer. The tracers of the program's own may be on in several instances.
func (in *Instance) SetTracer(name string) error {
	return in.do(func(a *traceArray) error { return a.selectTracer(name) })
}

// CurrentTracer returns the name of the tracer that is on.
func (in *Instance) CurrentTracer() string {
	name := nop.name
	in.do(func(a *traceArray) error {
		ctl.Lock()
		defer ctl.Unlock()
		name = a.current.name
		return nil
	})
	return name
}

// SetFilter limits tracing to the functions that the patterns name; see the function SetFilter.
func (in *Instance) SetFilter(patterns ...string) error {
	return in.do(func(a *traceArray) error { return a.setFilter(patterns, false, false) })
}

// AddFilter adds to the filter; see the function AddFilter.
func (in *Instance) AddFilter(patterns ...string) error {
	return in.do(func(a *traceArray) error { return a.setFilter(patterns, false, true) })
}

// SetNotrace excludes functions; see the function SetNotrace.
func (in *Instance) SetNotrace(patterns ...string) error {
	return in.do(func(a *traceArray) error { return a.setFilter(patterns, true, false) })
}

// AddNotrace adds to what SetNotrace set.
func (in *Instance) AddNotrace(patterns ...string) error {
	return in.do(func(a *traceArray) error { return a.setFilter(patterns, true, true) })
}

// SetGraphFunction limits the graph tracer to what some functions call; see the function SetGraphFunction.
func (in *Instance) SetGraphFunction(patterns ...string) error {
	return in.do(func(a *traceArray) error {
		return a.setGraphPatterns("set_graph_function", patterns, &a.graphFunction)
	})
}

// SetGraphNotrace excludes what some functions call; see the function SetGraphNotrace.
func (in *Instance) SetGraphNotrace(patterns ...string) error {
	return in.do(func(a *traceArray) error {
		return a.setGraphPatterns("set_graph_notrace", patterns, &a.graphNotrace)
	})
}

// SetMaxGraphDepth limits the graph tracer to calls of at most that depth, of the goroutine's return stack, which all tracers share; 0 is no limit.
func (in *Instance) SetMaxGraphDepth(depth int) error {
	if depth < 0 || depth > 65535 {
		return fmt.Errorf("max_graph_depth is 0, for no limit, to 65535, not %d", depth)
	}
	return in.do(func(a *traceArray) error { return a.setLimit(func() { a.maxDepth = int32(depth) }) })
}

// SetThreshold limits the graph tracer to calls that take as long or longer; see the function SetThreshold.
func (in *Instance) SetThreshold(d time.Duration) error {
	return in.do(func(a *traceArray) error { return a.setThreshold(d) })
}

// SetGoroutines limits tracing to some goroutines; see the function SetGoroutines.
func (in *Instance) SetGoroutines(ids ...uint64) error {
	return in.do(func(a *traceArray) error { return a.setGoroutines(&a.goroutines, ids) })
}

// SetNotraceGoroutines excludes goroutines from tracing.
func (in *Instance) SetNotraceGoroutines(ids ...uint64) error {
	return in.do(func(a *traceArray) error { return a.setGoroutines(&a.notGoroutines, ids) })
}

// SetCPUs limits recording to some Ps; see the function SetCPUs.
func (in *Instance) SetCPUs(cpus ...int) error {
	return in.do(func(a *traceArray) error { return a.setCPUs(cpus) })
}

// SetTracingOn says whether records are made; see the function SetTracingOn.
func (in *Instance) SetTracingOn(on bool) error {
	return in.do(func(a *traceArray) error { return a.setTracingOn(on) })
}

// TracingOn reports whether records are made.
func (in *Instance) TracingOn() bool {
	on := false
	in.do(func(a *traceArray) error {
		on = !a.paused.Load()
		return nil
	})
	return on
}

// SetTrigger makes functions switch the instance's recording on and off, keep its snapshot, or record their stack in it; see the function SetTrigger.
func (in *Instance) SetTrigger(spec string) error {
	return in.do(func(a *traceArray) error { return a.setTrigger(spec) })
}

// Triggers returns the instance's triggers; see the function Triggers.
func (in *Instance) Triggers() (list []string) {
	in.do(func(a *traceArray) error {
		list = a.listTriggers()
		return nil
	})
	return list
}

// WriteSnapshot writes what the trigger snapshot kept last; see the function WriteSnapshot.
func (in *Instance) WriteSnapshot(w io.Writer) error { return in.write(w, (*traceArray).writeKept) }

// SetOption sets an option of the buffer, or of the text; see the function SetOption. Those of the profile, and function-fork, are everybody's.
func (in *Instance) SetOption(name string) error {
	return in.do(func(a *traceArray) error { return a.setOption(name) })
}

// SetBufferSize sets how much memory records may take, in kilobytes; see the function SetBufferSize. It is 4096 at first.
func (in *Instance) SetBufferSize(kilobytes int) error {
	return in.do(func(a *traceArray) error { return a.setBufferSize(kilobytes) })
}

// BufferSize returns the size of the buffer, in kilobytes.
func (in *Instance) BufferSize() int {
	n := 0
	in.do(func(a *traceArray) error { n = a.bufferSize(); return nil })
	return n
}

// Marker writes a note of the program's own into the trace; see the function Marker.
func (in *Instance) Marker(format string, args ...any) {
	if tracing.Load() {
		in.do(func(a *traceArray) error { a.marker(format, args); return nil })
	}
}

// WriteTrace writes what is in the buffer as text; see the function WriteTrace.
func (in *Instance) WriteTrace(w io.Writer) error { return in.write(w, (*traceArray).writeTrace) }

// Snapshot writes what is in the buffer as a file; see the function Snapshot. It copies the whole buffer before it writes.
func (in *Instance) Snapshot(w io.Writer, o SnapshotOptions) error {
	return in.write(w, func(a *traceArray, w io.Writer) error { return a.writeSnapshot(w, o) })
}

// NewPipe makes a pipe, which takes records out of the buffer.
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

// Reset empties the buffer.
func (in *Instance) Reset() error { return in.do((*traceArray).resetAll) }

// ReadStats returns the counts; of goroutines, overruns and mismatches those of all together.
func (in *Instance) ReadStats() (s Stats) {
	in.do(func(a *traceArray) error { s = a.readStats(); return nil })
	return s
}

// ReadCPUStats returns the counts of each P.
func (in *Instance) ReadCPUStats() (list []CPUStats) {
	in.do(func(a *traceArray) error { list = a.readCPUStats(); return nil })
	return list
}
