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

// ErrNotInstrumented is the error of every call that needs hooks, in a program that has none.
var ErrNotInstrumented = errors.New(`this program was built without hooks: build it with "ftgo build", or "go build -toolexec ftgo"`)

// A Tracer is a tracer of the program's own. After RegisterTracer, SetTracer and FTGO_TRACER select
// it by its name, as they select the tracers of the library. At least one of its functions is not
// nil. It uses the filters and limits of the instance where it is on, and has none of its own: that
// is what Ops and GraphOps are for.
type Tracer struct {
	Name   string          // letters, digits, - and _
	Func   TraceFunc       // called on entry; its ops is of the library's making
	Entry  GraphEntryFunc  // called on entry; nil wants every return if Return is not nil
	Return GraphReturnFunc // called on return
}

// A tracer is one of the tracers that SetTracer switches between.
type tracer struct {
	name     string
	number   uint32 // in the trace's header
	kind     userKind
	ops      *Ops
	graphOps *GraphOps
}

// records reports whether the tracer records into the buffer.
func (t *tracer) records() bool {
	return t.number == tracefile.TracerFunction || t.number == tracefile.TracerGraph
}

var (
	nop           = tracer{name: "nop", number: tracefile.TracerNop}
	functions     = tracer{name: "function", number: tracefile.TracerFunction, kind: recordsCalls}
	functionGraph = tracer{name: "function_graph", number: tracefile.TracerGraph, kind: recordsReturns}
)

// ctl guards what the program sets: current tracers, filters, limits, registered tracers,
// instances.
var ctl sync.Mutex

var (
	added   []*tracer   // tracers of RegisterTracer
	tracing atomic.Bool // the profile, triggers, or a tracer of an array are on
	quiet   atomic.Bool // from quiesce to usePointers: no markers are made
)

// AvailableTracers returns the names that SetTracer takes (available_tracers).
func AvailableTracers() []string {
	ctl.Lock()
	defer ctl.Unlock()
	return availableTracers()
}

// availableTracers is AvailableTracers with ctl held.
func availableTracers() []string {
	names := []string{functionGraph.name, functions.name}
	for _, t := range added {
		names = append(names, t.name)
	}
	return append(names, nop.name)
}

// findTracer returns the tracer of a name, and nil if there is none. It is called with ctl held, or
// before packages are initialized.
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
// function for example.
//
// The error is ErrNotInstrumented, or says that the name is not valid or taken, or that the tracer
// has no function to call.
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

// selectTracer switches to the tracer of a name.
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

// noTracer is the error for a name that no tracer has.
func noTracer(name string) error {
	return fmt.Errorf("there is no tracer %q: available are %s", name, strings.Join(availableTracers(), ", "))
}

// setTracer switches the array to another tracer. It is called with ctl held.
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

// startBuffer makes the top array's buffer on first use. All arrays need it: its header keeps the
// clock.
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

// ensureBuffer is startBuffer for callers that do not hold ctl.
func (a *traceArray) ensureBuffer() {
	ctl.Lock()
	a.startBuffer()
	ctl.Unlock()
}
