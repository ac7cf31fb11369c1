package ftrace

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// ErrNotInstrumented says that the program holds no hooks. It comes from every call that needs them.
var ErrNotInstrumented = errors.New(`this program was built without hooks: build it with "ftgo build", or "go build -toolexec ftgo"`)

// A Tracer is a tracer of the program's own that SetTracer and FTGO_TRACER select by its name, as
// they select those that come with the library. At least one of its functions is not nil. Of what an
// Ops or a GraphOps offers beyond that, such as a filter of its own, a Tracer has nothing: it uses
// the filters and the limits of the instance where it is on.
type Tracer struct {
	Name   string          // of letters, digits, - and _
	Func   TraceFunc       // is called on entry
	Entry  GraphEntryFunc  // is called on entry, and says whether the return is wanted; nil wants every return
	Return GraphReturnFunc // is called on return
}

// tracer is one of those that SetTracer switches between.
type tracer struct {
	name     string
	number   uint32 // in the trace's header
	kind     userKind
	ops      *Ops
	graphOps *GraphOps
}

// records reports whether it records into the buffer.
func (t *tracer) records() bool {
	return t.number == tracefile.TracerFunction || t.number == tracefile.TracerGraph
}

var (
	nop           = tracer{name: "nop", number: tracefile.TracerNop}
	functions     = tracer{name: "function", number: tracefile.TracerFunction, kind: recordsCalls}
	functionGraph = tracer{name: "function_graph", number: tracefile.TracerGraph, kind: recordsReturns}
)

// ctl guards what is set by calls: the current tracer, the filters, the registered tracers.
var ctl sync.Mutex

var (
	added   []*tracer   // by RegisterTracer
	tracing atomic.Bool // a tracer other than nop, or the profile, is on
	quiet   atomic.Bool // between quiesce and usePointers: markers are not made either
)

// AvailableTracers returns the names that SetTracer takes (available_tracers).
func AvailableTracers() []string {
	ctl.Lock()
	defer ctl.Unlock()
	return availableTracers()
}

func availableTracers() []string {
	names := []string{functionGraph.name, functions.name}
	for _, t := range added {
		names = append(names, t.name)
	}
	return append(names, nop.name)
}

func findTracer(name string) *tracer {
	for _, t := range append([]*tracer{&nop, &functions, &functionGraph}, added...) {
		if t.name == name {
			return t
		}
	}
	return nil
}

// RegisterTracer makes a tracer available under its name (register_tracer). It may be called at any
// time. A tracer that FTGO_TRACER names must be registered before main.main is called, by an init
// function say.
func RegisterTracer(t Tracer) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	if err := validName(t.Name); err != nil {
		return err
	}
	if t.Func == nil && t.Entry == nil && t.Return == nil {
		return fmt.Errorf("tracer %q has no function to call", t.Name)
	}
	ctl.Lock()
	defer ctl.Unlock()
	if findTracer(t.Name) != nil {
		return fmt.Errorf("there is a tracer %q already", t.Name)
	}
	n := &tracer{name: t.Name, number: tracefile.TracerUser, kind: calling}
	if t.Func != nil {
		n.ops = &Ops{Name: t.Name, Func: t.Func}
	}
	if t.Entry != nil || t.Return != nil {
		n.graphOps = &GraphOps{Name: t.Name, Entry: t.Entry, Return: t.Return}
	}
	raceAcquire()
	added = append(added, n)
	if n.name == env.tracer {
		switchOn(n)
	}
	return nil
}

// setPointers sets what the hooks call.
func setPointers(enter enterFn, exit exitFn) {
	atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(&rt.Calls.Enter)), *(*unsafe.Pointer)(unsafe.Pointer(&enter)))
	atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(&rt.Calls.Exit)), *(*unsafe.Pointer)(unsafe.Pointer(&exit)))
}

func (a *traceArray) selectTracer(name string) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	ctl.Lock()
	defer ctl.Unlock()
	t := findTracer(name)
	if t == nil {
		return noTracer(name)
	}
	return a.setTracer(t)
}

func noTracer(name string) error {
	return fmt.Errorf("there is no tracer %q: available are %s", name, strings.Join(availableTracers(), ", "))
}

func (a *traceArray) setTracer(t *tracer) error {
	quiesce(&a.user)
	defer usePointers()
	a.failed.Store(false)
	if t == &nop {
		a.current = t
		a.noteOff()
		a.clear()
		if !a.lingers() {
			a.giveBack()
		}
		return nil
	}
	returns := t.graphOps != nil || t.kind == recordsReturns
	if err := a.lend(returns); err != nil {
		return err
	}
	a.kind, a.ops, a.graphOps = t.kind, t.ops, t.graphOps
	a.called = a.called || t.kind == calling
	a.current = t
	a.startBuffer()
	a.noteOff()
	if t.records() {
		if a.last != nil && a.last != t {
			a.reset()
		}
		a.last = t
		atomic.StoreUint32((*uint32)(unsafe.Add(a.header, tracefile.HTracer)), t.number)
	}
	return nil
}

// startBuffer makes the top array's buffer on first use, which keeps the clock.
func startBuffer() {
	if top.header == nil {
		top.start(top.size)
		top.threshold = ticksOf(top.ns)
		eachTable(describe)
	}
}

// startBuffer makes the array's buffer on first use.
func (a *traceArray) startBuffer() {
	startBuffer()
	if a.header == nil {
		a.start(a.size)
	}
}

// ensureBuffer is startBuffer for those who only look.
func (a *traceArray) ensureBuffer() {
	ctl.Lock()
	a.startBuffer()
	ctl.Unlock()
}
