package ftrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// An Instance is a trace: a buffer, the tracer that records into it, and what limits that tracer,
// such as filters, a threshold and goroutines; with options, triggers and a snapshot. Default is
// always there. NewInstance makes up to 15 others beside it (directories in the kernel's
// tracing/instances). Together they have as many tracers with returns as there may be in all, 16.
//
// The methods of an Instance may be called at any time and from any goroutine; from callbacks only
// SetTracer, SetTracingOn, the getters and the methods that write. After Remove they return
// an error, or nothing.
type Instance struct {
	name  string
	home  *traceArray
	life  sync.RWMutex // held while what follows is in use
	array *traceArray  // home; nil once the instance is removed
}

// Default is the instance that the functions of this package mean, and the variables FTGO_TRACER
// and its kin.
var Default = &Instance{name: "trace", home: &top, array: &top}

// instances lists all instances except Default. Guarded by ctl.
var instances []*Instance

// instanceBuffer is the size of an instance's buffer unless SetBufferSize says otherwise, kB.
// Memory is taken as records are made.
const instanceBuffer = 4 << 10

// NewInstance makes an instance (mkdir in tracing/instances). Its name consists of letters, digits,
// - and _.
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

// Instances returns the names of the instances that NewInstance has made, in that order, without
// Default.
func Instances() []string {
	ctl.Lock()
	defer ctl.Unlock()
	var names []string
	for _, in := range instances {
		names = append(names, in.name)
	}
	return names
}

// FindInstance returns the instance that NewInstance has made under a name; nil if there is none.
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

// Remove removes the instance, and gives its memory back (rmdir in tracing/instances). Calls that
// are open lose their returns there. It waits for callbacks of a tracer of the program's own, and
// for readers of the buffer.
func (in *Instance) Remove() error {
	switch {
	case rt == nil:
		return ErrNotInstrumented
	case in == Default:
		return errors.New("the default instance cannot be removed")
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

// release makes the array what it was before it was used, except what is made once only. No hook
// writes to it any more.
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

// write writes what the instance's array has, after it has let go of the instance: w may take its
// time, or use the instance.
func (in *Instance) write(w io.Writer, write func(*traceArray, io.Writer) error) error {
	var b bytes.Buffer
	err := in.do(func(a *traceArray) error { return write(a, &b) })
	if _, e := b.WriteTo(w); err == nil {
		err = e
	}
	return err
}

// Name returns the instance's name; Default's is "trace".
func (in *Instance) Name() string { return in.name }
