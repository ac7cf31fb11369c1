package ftrace

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// ErrNotInstrumented says that the program holds no hooks. It comes from every call that needs them.
var ErrNotInstrumented = errors.New(`this program was built without hooks: build it with "ftgo build", or "go build -toolexec ftgo"`)

// DefaultMaxStack is the maximum depth of a goroutine's return stack unless SetMaxStack or FTGO_MAX_STACK says otherwise.
const DefaultMaxStack = 1024

// A Func is a hooked function: the ip of the kernel's callbacks.
type Func hook.Site

// Name returns the function's name as stack traces show it, with its import path.
func (f *Func) Name() string {
	name := ""
	eachTable(func(t *hook.Table) {
		if i := f.ID - t.Base; i < t.N {
			tracefile.EachName(t.Names, func(j int, n, _ string, _ int) {
				if uint32(j) == i {
					name = t.Path + "." + n
				}
			})
		}
	})
	return name
}

// A TraceFunc is called on entry of every traced function, on its goroutine (ftrace_func_t in the kernel). parentIP is a return
// address in the caller, for runtime.CallersFrames.
//
// It may do what any function may, but is not called for functions that it calls itself. If it panics, the program goes on and the
// tracer is switched off.
type TraceFunc func(f *Func, parentIP uintptr)

// Stub is the TraceFunc that does nothing: the trace function pointer's value while no tracer is on.
func Stub(*Func, uintptr) {}

// A Call is a traced call, as graph callbacks see it (struct ftrace_graph_ent and ftrace_graph_ret).
type Call struct {
	Func    *Func
	Depth   int    // calls below it on the goroutine's return stack
	Overrun uint32 // on return: calls since entry that lay below the maximum depth

	start, end uint64
	retval     uintptr
	valued     bool
}

// Retval returns, on return, the first word of what the function returned (fgraph_ret_regs_return_value in the kernel): a number or a bool as it is, a
// pointer, the pointer of a string or a slice, the type's word of an interface, which is 0 for a nil error. ok is false if it is not known: to a
// GraphOps without Retval, for functions without results, or the first of which is a floating-point number, an array, or of a type parameter's type, for
// function literals, and for calls that panicked or ended their goroutine. Integers of less than a word come without their sign, and what is the first of a
// struct's fields, and less than a word, with anything in the rest of it.
func (c *Call) Retval() (word uintptr, ok bool) { return c.retval, c.valued }

// Duration returns, on return, how long the call took; to within the resolution of the clock.
func (c *Call) Duration() time.Duration {
	if c.end <= c.start || rt.Mono != 0 {
		return time.Duration(c.end - c.start)
	}
	return time.Duration(nanoseconds(c.end) - nanoseconds(c.start))
}

// Enter and Return return, on return, the monotonic time of the call's entry and of its return, in nanoseconds as runtime.nanotime counts them.
func (c *Call) Enter() int64 { return nanoseconds(c.start) }

// Return is described with Enter.
func (c *Call) Return() int64 { return nanoseconds(c.end) }

// A GraphEntryFunc is called on entry of every traced function, and reports whether its return is wanted (trace_func_graph_ent_t). If
// not, the call is not pushed on the return stack.
type GraphEntryFunc func(c Call) bool

// A GraphReturnFunc is called on return of every call that the GraphEntryFunc wanted, also when it panics or ends its goroutine
// (trace_func_graph_ret_t).
type GraphReturnFunc func(c Call)

// GraphEntryStub and GraphReturnStub are the values of the graph pointers while no tracer is on.
func GraphEntryStub(Call) bool { return false }

// GraphReturnStub does nothing.
func GraphReturnStub(Call) {}

// A Tracer is a tracer of the program's own, to be selected by name as those that come with the library are. Any of its functions may
// be nil.
type Tracer struct {
	Name   string // of letters, digits, - and _
	Func   TraceFunc
	Entry  GraphEntryFunc
	Return GraphReturnFunc
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
	added   []*tracer   // by Register
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

// CurrentTracer returns the name of the tracer that is on (current_tracer).
func CurrentTracer() string {
	ctl.Lock()
	defer ctl.Unlock()
	return top.current.name
}

// Register makes a tracer available under its name. It may be called at any time; a tracer that FTGO_TRACER should be able to name must
// be registered before main runs, by an init function say.
func Register(t Tracer) error {
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
		n.ops = &Ops{Name: t.Name, Func: func(f *Func, parentIP uintptr, _ *Ops) { t.Func(f, parentIP) }}
	}
	if t.Entry != nil || t.Return != nil {
		n.graphOps = &GraphOps{Name: t.Name}
		if t.Entry != nil {
			n.graphOps.Entry = func(c Call, _ *GraphOps, _ []byte) Verdict {
				if t.Entry(c) {
					return Want
				}
				return Ignore
			}
		}
		if t.Return != nil {
			n.graphOps.Return = func(c Call, _ *GraphOps, _ []byte) { t.Return(c) }
		}
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

// SetTracer switches to another tracer, from any to any, while the program runs (current_tracer). Calls in progress lose nothing but
// their returns, which nobody records. Records of another tracer that are still in the buffer are gone; a switch to nop leaves them to
// be read.
//
// The error says which tracers there are if name is not one of them.
func SetTracer(name string) error { return top.selectTracer(name) }

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

// SetFilter limits tracing to the functions that the patterns name (set_ftrace_filter); without patterns every function is traced. A pattern is one of
//
//	net/http.(*conn).serve   a glob of the kernel's kind: * for any string, ? for any character, [a-z] for a set. It is matched against the
//	http.*                   function's name with its import path, with the path's last element alone, and, if it begins with ( or holds no dot,
//	(*conn).serve            within the package
//	net/http...              functions of the packages that a package pattern of the go command's matches
//	*Close*:mod:net...       what a glob matches of them; it may be set before such a package is there
//	server.go:120            the function that a line is in: the last that is declared at or above it, and the last literal there
//	!glob                    what the patterns before it name, without these
//
// A pattern that matches no function is an error, and changes nothing.
func SetFilter(patterns ...string) error { return setFilter(patterns, false, false) }

// AddFilter adds patterns to the filter (>> set_ftrace_filter). !glob takes functions out of it; when nothing is left every function is traced.
func AddFilter(patterns ...string) error { return setFilter(patterns, false, true) }

// SetNotrace excludes the functions that the patterns name, also from what SetFilter names (set_ftrace_notrace).
func SetNotrace(patterns ...string) error { return setFilter(patterns, true, false) }

// AddNotrace adds to what SetNotrace set (>> set_ftrace_notrace).
func AddNotrace(patterns ...string) error { return setFilter(patterns, true, true) }

func setFilter(texts []string, except, add bool) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	l := parsePatterns(texts)
	ctl.Lock()
	defer ctl.Unlock()
	return defaultUser.change(texts, l, except, add)
}

// SetMaxStack sets how many calls a goroutine's return stack holds (FTRACE_RETFUNC_DEPTH): 1 to 65535. Calls below are counted as
// overruns, and not traced.
func SetMaxStack(depth int) error {
	if depth < 1 || depth > 65535 {
		return fmt.Errorf("the maximum depth of a return stack is 1 to 65535, not %d", depth)
	}
	setDepth(func() { maxStack.Store(int32(depth)) })
	return nil
}

// SetMaxGraphDepth limits the graph tracer to calls of at most that depth (max_graph_depth); 0 is no limit.
func SetMaxGraphDepth(depth int) error {
	if depth < 0 || depth > 65535 {
		return fmt.Errorf("max_graph_depth is 0, for no limit, to 65535, not %d", depth)
	}
	setDepth(func() { top.maxDepth = int32(depth) })
	return nil
}

// setDepth sets a limit of the depth. Goroutines learn of it when they next find no room.
func setDepth(set func()) {
	ctl.Lock()
	defer ctl.Unlock()
	if top.header == nil {
		set()
		setGraphLimit()
		return
	}
	quiesceAll()
	set()
	setGraphLimit()
	atomic.StoreUint32((*uint32)(unsafe.Add(top.header, tracefile.HMaxStack)), uint32(maxStack.Load()))
	rt.Lock()
	eachGoroutine(func(g *goroutine) { g.End = 0 })
	rt.Unlock()
	usePointers()
}

func setGraphLimit() {
	limit := maxStack.Load()
	if d := top.maxDepth; d > 0 {
		limit = min(limit, d)
	}
	graphLimit.Store(limit)
}

// Overruns returns how many calls since the buffer was last emptied lay below the maximum depth of their return stack (trace_overrun).
func Overruns() uint64 {
	if top.header == nil {
		return 0
	}
	return atomic.LoadUint64((*uint64)(unsafe.Add(top.header, tracefile.HOverrun)))
}

// A Token is what Enter hands to Exit.
type Token uintptr

// NewFunc makes a function known that carries its hook by hand, under a name of the form import/path.Function:
//
//	var site = ftrace.NewFunc("example.com/p.Work")
//
//	func Work() {
//		if site.Enabled() {
//			defer ftrace.Exit(ftrace.Enter(site))
//		}
//		…
//	}
//
// In a program without hooks it returns a Func that is never enabled.
func NewFunc(name string) *Func {
	i := strings.LastIndexByte(name, '/') + 1
	if j := strings.IndexByte(name[i:], '.'); j >= 0 {
		i += j
	} else {
		i, name = len("main"), "main."+name
	}
	site := new(hook.Site)
	register(&hook.Table{ABI: hook.ABI, N: 1, Masks: new(uint8), Sites: site, Path: name[:i], Names: strings.ReplaceAll(name[i+1:], " ", "_") + " 0\n"})
	return (*Func)(site)
}

// Enabled reports whether a tracer wants the function.
func (f *Func) Enabled() bool { return atomic.LoadUint32(&f.Tracers) != 0 }

// Enter is the hook's entry, for functions that carry it by hand, or by another generator's. What it returns must go to Exit when the
// function ends, in a defer statement.
//
//go:noinline
func Enter(f *Func) Token {
	if rt == nil {
		return 0
	}
	return Token(rt.Enter((*hook.Site)(f)))
}

// Exit is the hook's exit.
func Exit(t Token) {
	if t != 0 {
		rt.Exit(uintptr(t))
	}
}

// nanoseconds converts a reading of the counter to the monotonic clock.
func nanoseconds(c uint64) int64 {
	if rt.Mono != 0 {
		return int64(c)
	}
	now, mono := rt.Clock(), rt.Nanotime()
	first := *(*uint64)(unsafe.Add(top.header, tracefile.HCounter))
	firstMono := *(*uint64)(unsafe.Add(top.header, tracefile.HMono))
	return mono - int64(float64(now-c)*float64(uint64(mono)-firstMono)/float64(now-first))
}
