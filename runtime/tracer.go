package ftrace

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
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
	Enter   int64  // on return: monotonic time of entry, ns; to within the resolution of the clock
	Return  int64  // on return: monotonic time now, ns
}

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

// tracer is a tracer with its pointers.
type tracer struct {
	name   string
	kind   uint32
	enter  enterFn
	exit   exitFn
	parent bool // enter wants the caller
	record bool // into the buffer
}

var (
	nop           = tracer{name: "nop", kind: tracefile.TracerNop, enter: enterStub, exit: exitStub}
	functions     = tracer{name: "function", kind: tracefile.TracerFunction, enter: functionEnter, exit: exitStub, parent: true, record: true}
	functionGraph = tracer{name: "function_graph", kind: tracefile.TracerGraph, enter: graphEnter, exit: graphExit, record: true}
)

// ctl guards what is set by calls: the current tracer, the filters, the registered tracers.
var ctl sync.Mutex

var (
	user    []*tracer // registered by Register
	current = &nop
	tracing atomic.Bool // a tracer other than nop, or the profile, is on
	quiet   atomic.Bool // between quiesce and usePointers: markers are not made either
	last    *tracer     // whose records the buffer holds
)

// AvailableTracers returns the names that SetTracer takes (available_tracers).
func AvailableTracers() []string {
	ctl.Lock()
	defer ctl.Unlock()
	return availableTracers()
}

func availableTracers() []string {
	names := []string{functionGraph.name, functions.name}
	for _, t := range user {
		names = append(names, t.name)
	}
	return append(names, nop.name)
}

func findTracer(name string) *tracer {
	for _, t := range append([]*tracer{&nop, &functions, &functionGraph}, user...) {
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
	return current.name
}

// Register makes a tracer available under its name. It may be called at any time; a tracer that FTGO_TRACER should be able to name must
// be registered before main runs, by an init function say.
func Register(t Tracer) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	if t.Name == "" || strings.ContainsFunc(t.Name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	}) {
		return fmt.Errorf("a tracer's name consists of letters, digits, - and _, and %q does not", t.Name)
	}
	if t.Func == nil && t.Entry == nil && t.Return == nil {
		return fmt.Errorf("tracer %q has no function to call", t.Name)
	}
	ctl.Lock()
	defer ctl.Unlock()
	if findTracer(t.Name) != nil {
		return fmt.Errorf("there is a tracer %q already", t.Name)
	}
	n := &tracer{name: t.Name, kind: tracefile.TracerUser, parent: t.Func != nil}
	n.enter, n.exit = n.callEnter(t), n.callExit(t)
	raceAcquire()
	user = append(user, n)
	if n.name == env.tracer {
		env.tracer = ""
		setTracer(n)
	}
	return nil
}

// callEnter returns a function that calls a tracer's callbacks on entry. A callback may be preempted and block, so the goroutine may have
// another P when it is back.
func (n *tracer) callEnter(t Tracer) enterFn {
	call := func(site *hook.Site, parent uintptr, depth int32) (wanted bool) {
		defer guard(n)
		raceAcquire()
		if t.Func != nil {
			t.Func((*Func)(site), parent)
		}
		return depth >= 0 && (t.Entry == nil || t.Entry(Call{Func: (*Func)(site), Depth: int(depth)}))
	}
	graph := t.Entry != nil || t.Return != nil
	return func(site *hook.Site, slot, proc *unsafe.Pointer, parent uintptr, now uint64) uintptr {
		if stopped() {
			return 0
		}
		g, _ := newStates(slot, proc)
		depth := int32(-1)
		if d := g.Depth; graph && (d < maxStack.Load() && d < g.Room || g.roomFor(d)) {
			depth = d
		}
		gen := generation(atomic.LoadUint32(&rt.Mode))
		rt.Unpin()
		wanted := call(site, parent, depth)
		rt.Pin()
		if !wanted || gen != generation(atomic.LoadUint32(&rt.Mode)) {
			return 0
		}
		return g.push(site, now)
	}
}

// callExit returns a function that calls a tracer's callback on return.
func (n *tracer) callExit(t Tracer) exitFn {
	if t.Return == nil {
		return exitStub
	}
	call := func(c Call) {
		defer guard(n)
		raceAcquire()
		t.Return(c)
	}
	return func(token uintptr, slot, proc *unsafe.Pointer, now uint64) {
		g := onTop(token, slot)
		if g == nil {
			exitBelow(token, slot, proc, now)
			return
		}
		f := g.pop()
		if stopped() || stale(f) {
			return
		}
		c := Call{(*Func)(function(f)), int(g.Depth), f.Over, nanoseconds(f.Start), nanoseconds(now)}
		rt.Unpin()
		call(c)
		rt.Pin()
	}
}

// guard keeps a callback's panic from the program: the tracer is switched off, and a line on standard error says which.
func guard(t *tracer) {
	if r := recover(); r != nil {
		setPointers(enterStub, exitStub)
		nextGeneration()
		rt.Fatal("tracer " + t.name + " panicked and was switched off: " + fmt.Sprint(r))
	}
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
func SetTracer(name string) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	ctl.Lock()
	defer ctl.Unlock()
	t := findTracer(name)
	if t == nil {
		return noTracer(name)
	}
	setTracer(t)
	return nil
}

func noTracer(name string) error {
	return fmt.Errorf("there is no tracer %q: available are %s", name, strings.Join(availableTracers(), ", "))
}

func setTracer(t *tracer) {
	quiesce()
	current = t
	if t != &nop {
		startBuffer()
		if t.record && last != nil && last != t {
			buffer.reset()
		}
		if t.record {
			last = t
			atomic.StoreUint32((*uint32)(unsafe.Add(header, tracefile.HTracer)), t.kind)
		}
	}
	rt.Parents = 0
	if t.parent {
		rt.Parents = 1
	}
	usePointers()
}

// usePointers sets the pointers to the current tracer's functions, or the profile's, which call those, and the masks.
func usePointers() {
	enter, exit := current.enter, current.exit
	direct := uint32(0)
	switch {
	case current == &functions && limitedGoroutines():
		enter = functionEnterLimited
	case current == &functionGraph && limited():
		enter, exit = graphEnterLimited, graphExitLimited
	case rt.Mono != 0:
	case current == &functions:
		direct = hook.ModeFunction & rt.Direct
	case current == &functionGraph:
		direct = hook.ModeGraph & rt.Direct
	}
	if profile.on {
		profile.enter, profile.exit = enter, exit
		enter, exit, direct = profileEnter, profileExit, 0
		if current == &nop && !profile.awake && rt.Mono == 0 {
			direct = hook.ModeProfile & rt.Direct
		}
	}
	setPointers(enter, exit)
	setDirect(direct)
	if on := current != &nop || profile.on; on != tracing.Swap(on) {
		if on {
			eachTable(filters.apply)
		} else {
			filters.clear()
			rt.Barrier() // for markers, which look at tracing
		}
	}
	quiet.Store(false)
}

// quiesce sets the pointers to the stubs, and returns when nothing is under way in the functions that they pointed to: these are pinned to their
// P, so when every P has passed a safe point they have ended (the kernel's synchronize_rcu). A callback of the program's own may still run.
// usePointers undoes it.
func quiesce() {
	quiet.Store(true)
	if !tracing.Load() {
		return
	}
	setDirect(0)
	setPointers(enterStub, exitStub)
	rt.Barrier()
	nextGeneration()
}

// startBuffer makes the buffer on first use.
func startBuffer() {
	if header == nil {
		buffer.start(env.buffer)
		limits.threshold = ticksOf(limits.ns)
		eachTable(describe)
	}
}

// ensureBuffer is startBuffer for those who only look.
func ensureBuffer() {
	ctl.Lock()
	startBuffer()
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
func SetFilter(globs ...string) error { return setFilter(&filters.filter, "filter", globs) }

// SetNotrace excludes the functions whose names match one of the globs, also from what SetFilter names (set_ftrace_notrace).
func SetNotrace(globs ...string) error { return setFilter(&filters.notrace, "notrace", globs) }

func setFilter(list *patterns, what string, texts []string) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	globs := parsePatterns(texts)
	if err := noMatch(what, globs); err != nil {
		return err
	}
	ctl.Lock()
	defer ctl.Unlock()
	*list = globs
	if tracing.Load() {
		eachTable(filters.apply)
	}
	return nil
}

// SetMaxStack sets how many calls a goroutine's return stack holds (FTRACE_RETFUNC_DEPTH): 1 to 65535. Calls below are counted as
// overruns, and not traced.
func SetMaxStack(depth int) error {
	if depth < 1 || depth > 65535 {
		return fmt.Errorf("the maximum depth of a return stack is 1 to 65535, not %d", depth)
	}
	setDepth(&maxStack, depth)
	return nil
}

// SetMaxGraphDepth limits the graph tracer to calls of at most that depth (max_graph_depth); 0 is no limit.
func SetMaxGraphDepth(depth int) error {
	if depth < 0 || depth > 65535 {
		return fmt.Errorf("max_graph_depth is 0, for no limit, to 65535, not %d", depth)
	}
	setDepth(&graphDepth, depth)
	return nil
}

// setDepth sets a limit of the depth. Goroutines learn of it when they next find no room.
func setDepth(limit *atomic.Int32, depth int) {
	ctl.Lock()
	defer ctl.Unlock()
	if header == nil {
		limit.Store(int32(depth))
		setGraphLimit()
		return
	}
	quiesce()
	limit.Store(int32(depth))
	setGraphLimit()
	atomic.StoreUint32((*uint32)(unsafe.Add(header, tracefile.HMaxStack)), uint32(maxStack.Load()))
	rt.Lock()
	eachGoroutine(func(g *goroutine) { g.End = 0 })
	rt.Unlock()
	usePointers()
}

var graphDepth atomic.Int32 // max_graph_depth; 0 is no limit

func setGraphLimit() {
	limit := maxStack.Load()
	if d := graphDepth.Load(); d > 0 {
		limit = min(limit, d)
	}
	graphLimit.Store(limit)
}

// Overruns returns how many calls since the buffer was last emptied lay below the maximum depth of their return stack (trace_overrun).
func Overruns() uint64 {
	if header == nil {
		return 0
	}
	return atomic.LoadUint64((*uint64)(unsafe.Add(header, tracefile.HOverrun)))
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
func (f *Func) Enabled() bool { return atomic.LoadUint32(&f.Tracers)&traceBit != 0 }

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
	first := *(*uint64)(unsafe.Add(header, tracefile.HCounter))
	firstMono := *(*uint64)(unsafe.Add(header, tracefile.HMono))
	return mono - int64(float64(now-c)*float64(uint64(mono)-firstMono)/float64(now-first))
}
