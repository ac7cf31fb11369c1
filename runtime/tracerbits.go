package ftrace

import (
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ftgo/ftgo/internal/hook"
)

// A user is one of the tracers that can be on at once. Each user has a filter of its own and a bit
// in the set that every function carries (Site.Tracers). A user that wants returns has a second
// bit, in the set that every frame carries (Frame.Users). Bits are lent: to the current tracer of
// an array and to the profile while they are on, to an Ops or a GraphOps while it is registered.
type user struct {
	name    string
	kind    userKind
	bit     uint32 // in Site.Tracers; 0 while the user has none
	graph   uint16 // in Frame.Users; 0 if the user wants no returns
	since   uint32 // first generation of calls that the user takes the returns of
	failed  atomic.Bool
	paused  atomic.Bool // the user makes no records (tracing_on)
	leaving bool        // the user is being unregistered
	// called says that callbacks of the user's tracer, or of one before it, may still be under way.
	// SetTracer may be called from a callback, so it cannot wait for them. lingers clears called
	// when busy reports false.
	called bool
	filterList
	limits
	array *traceArray // what the user records into; nil if it records nothing

	ops      *Ops // these two: callbacks of a user of the kind calling, which has one or both
	graphOps *GraphOps
	dataSize int // DataSize of graphOps
}

type userKind uint8

const (
	recordsCalls   userKind = iota // function tracer
	recordsReturns                 // graph tracer
	counting                       // profile
	calling                        // callbacks of the program's own
)

const (
	maxUsers      = 32 // most users at once (the kernel has no such limit for ftrace_ops)
	maxGraphUsers = 16 // most users with returns (FGRAPH_ARRAY_SIZE in kernel/trace/fgraph.c)
)

// users says which user has which bit. It is written with ctl held. A hook reads the field on
// first, and then what the bits belong to: an entry of slot or graph stays until no hook that may
// have seen its bit is under way.
var users struct {
	on      atomic.Uint32  // users that are called
	returns atomic.Uint32  // users that have a bit for returns
	calls   atomic.Uint32  // users of the kind calling
	early   atomic.Uint32  // users that are called before any user records
	plain   atomic.Uint32  // users in calls that are an Ops, and nothing else
	ops     [maxUsers]*Ops // the Ops of each user in plain
	data    atomic.Uint32  // number of users with data
	slot    [maxUsers]*user
	graph   [maxGraphUsers]*user
}

// profile is the user that counts, for the function profile. It is always there, as the top array
// is.
var (
	profile = profiler{user: user{name: "trace_profile", kind: counting}}
)

// lend gives a user its bit, and a bit for returns if it wants them.
func (u *user) lend(returns bool) error {
	if u.bit == 0 && slices.Index(users.slot[:], nil) < 0 || returns && u.graph == 0 && slices.Index(users.graph[:], nil) < 0 {
		reclaim()
	}
	i := slices.Index(users.slot[:], u)
	if i < 0 {
		if i = slices.Index(users.slot[:], nil); i < 0 {
			return fmt.Errorf("%d tracers are on already, and there is no room for %s: one must be unregistered first", maxUsers, u.name)
		}
	}
	k := slices.Index(users.graph[:], u)
	switch {
	case returns && k < 0:
		if k = slices.Index(users.graph[:], nil); k < 0 {
			return fmt.Errorf("%d tracers with returns are on already, and there is no room for %s: one must be unregistered first", maxGraphUsers, u.name)
		}
		users.graph[k], u.graph = u, 1<<k
		u.since = nextGeneration() // the bit of open calls may be another user's
	case !returns && k >= 0 && !u.lingers():
		users.graph[k], u.graph = nil, 0
	}
	users.slot[i], u.bit = u, 1<<i
	return nil
}

// lingers reports whether callbacks of the user's tracer, or of one before it, may be under way.
func (u *user) lingers() bool {
	if u.called {
		rt.Barrier()
		u.called = u.busy()
	}
	return u.called
}

// reclaim takes back the bits of users that are off and have kept them because callbacks lingered.
func reclaim() {
	eachUser(func(u *user) {
		if u.called && !u.on() && (u.array != nil && u.array.current == &nop || u == &triggers.user) && !u.lingers() {
			u.giveBack()
		}
	})
}

// giveBack takes the user's bits back. No hook that has seen them may be under way.
func (u *user) giveBack() {
	if u.bit != 0 {
		users.slot[bits.TrailingZeros32(u.bit)] = nil
	}
	if u.graph != 0 {
		users.graph[bits.TrailingZeros16(u.graph)] = nil
	}
	u.bit, u.graph = 0, 0
}

// on reports whether the user is called.
func (u *user) on() bool { return u.bit != 0 && users.on.Load()&u.bit != 0 }

// setOn switches the calls of a user on or off. A user without a bit stays off, and so does one
// that has failed.
func (u *user) setOn(on bool) {
	if u.bit == 0 || on == u.on() {
		return
	}
	if on {
		users.on.Or(u.bit)
	}
	if !on || u.failed.Load() { // its callback may be panicking just now
		users.on.And(^u.bit)
	}
}

// eachUser calls do with every user that has a bit.
func eachUser(do func(*user)) {
	for _, u := range users.slot {
		if u != nil {
			do(u)
		}
	}
}

// sortUsers notes the kinds of the users in users. It is called before a user is switched on.
func sortUsers() {
	var returns, calls, plain uint32
	eachUser(func(u *user) {
		if u.graph != 0 {
			returns |= u.bit
		}
		if u.kind != calling {
			return
		}
		calls |= u.bit
		if u.ops != nil && u.graphOps == nil && !u.ops.RecursionSafe {
			plain |= u.bit
			users.ops[bits.TrailingZeros32(u.bit)] = u.ops
		}
	})
	users.returns.Store(returns)
	users.calls.Store(calls)
	users.early.Store(triggers.bit)
	users.plain.Store(plain)
}

// usePointers makes the hooks call the users that are on. It is called with ctl held. Functions run
// meanwhile, and a call sees the pointers before the change or after it.
func usePointers() {
	sortUsers()
	eachArray(func(a *traceArray) { a.setOn(a.current != &nop && !a.failed.Load()) })
	profile.setOn(profile.wanted)
	// The masks of users that are off are cleared first: a tracer that is alone takes every mask
	// that is not zero for its own.
	eachUser(func(u *user) {
		if u.applied && !u.on() {
			u.clear()
		}
	})
	on := users.on.Load()
	parents, keep := uint32(0), uint32(0)
	eachUser(func(u *user) {
		if on&u.bit == 0 {
			return
		}
		if u.ops != nil || u.kind == recordsCalls {
			parents = 1
		}
		if u.values {
			keep = 1
		}
	})
	enter, exit, direct := enterFn(listEnter), exitFn(listExit), uint32(0)
	switch {
	case on == 0:
		enter, exit = enterStub, exitStub
	case on&(on-1) != 0:
	case on == top.bit && top.paused.Load():
	case on == top.bit && top.kind == recordsCalls && !top.onSome(): // alone, without limits
		enter, exit, direct = functionEnter, exitStub, hook.ModeFunction
	case on == top.bit && top.kind == recordsReturns && !top.limited():
		enter, exit, direct = graphEnter, graphExit, hook.ModeGraph
	case on == profile.bit:
		enter, exit = profileEnter, profileExit
		if !profile.awake {
			direct = hook.ModeProfile
		}
	}
	if on != 0 && direct == 0 && on&users.returns.Load() == 0 {
		direct = hook.ModeEntries
	}
	if rt.Mono != 0 {
		direct &= hook.ModeEntries
	}
	rt.Parents = parents
	atomic.StoreUint32(rt.Keep, keep)
	setPointers(enter, exit)
	nextGeneration()
	setDirect(direct & rt.Direct)
	eachUser(func(u *user) { u.applyAll() })
	some := profile.on() || triggers.on()
	eachArray(func(a *traceArray) { some = some || a.on() })
	if tracing.Swap(some) && !some {
		rt.Barrier() // a marker looks at tracing, and may be on its way
	}
	quiet.Store(false)
}

// quiesce switches users off that record or count, and returns when none of their functions is
// under way. These functions are pinned to their P, so they have ended when every P has passed a
// safe point (the kernel's synchronize_rcu). Other users stay on, and callbacks of the program's
// own may still run. usePointers undoes quiesce.
func quiesce(list ...*user) {
	quiet.Store(true)
	if !tracing.Load() { // nothing is under way, but calls that the users saw may be open
		for _, u := range list {
			u.since = nextGeneration()
		}
		return
	}
	setDirect(0)
	for _, u := range list {
		u.setOn(false)
	}
	if users.on.Load() == 0 {
		setPointers(enterStub, exitStub)
	} else {
		setPointers(listEnter, listExit)
	}
	rt.Barrier()
	gen := nextGeneration()
	for _, u := range list {
		u.since = gen
	}
}

// quiesceAll is quiesce for the profile and the users of all arrays.
func quiesceAll() {
	list := make([]*user, 1, maxArrays+1)
	list[0] = &profile.user
	eachArray(func(a *traceArray) { list = append(list, &a.user) })
	quiesce(list...)
}

// await returns when no callback of a user that has been switched off is under way. Hooks note in
// goroutine.calling which users they call before they leave their P.
func (u *user) await() {
	rt.Barrier()
	for i := 0; u.busy(); i++ {
		pause(i)
	}
}

// busy reports whether a callback of the user is under way, or may still come.
func (u *user) busy() (busy bool) {
	rt.Lock()
	eachGoroutine(func(g *goroutine) { busy = busy || atomic.LoadUint32(&g.calling)&u.bit != 0 })
	rt.Unlock()
	return busy
}

// fail switches a user off after its callback panicked, and says so in the error log and on
// standard error. It is called from the hook, so it waits for nothing. called is what the callback
// belonged to. The user of an array may have got another tracer meanwhile, which stays on.
func (u *user) fail(r, called any) {
	name, current := u.name, true
	switch o := called.(type) {
	case *Ops:
		name, current = o.Name, o == u.ops
	case *GraphOps:
		name, current = o.Name, o == u.graphOps
	}
	what := " panicked: "
	if current {
		u.failed.Store(true)
		users.on.And(^u.bit)
		what = " panicked and was switched off: "
	}
	msg := "tracer " + name + what + fmt.Sprint(r)
	logError(name, msg, "", 0)
	rt.Fatal(msg)
}

// validName returns an error if a tracer or an instance cannot have a name.
func validName(name string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	}) {
		return fmt.Errorf("a tracer's name consists of letters, digits, - and _, and %q does not", name)
	}
	return nil
}

// pause lets other goroutines run, for longer the more often it was called in vain, up to a
// millisecond.
func pause(times int) {
	if times < 10 {
		runtime.Gosched()
		return
	}
	time.Sleep(min(time.Millisecond, time.Microsecond<<min(times-10, 20)))
}
