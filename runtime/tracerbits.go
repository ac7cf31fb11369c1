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

// A user is one of the tracers that can be on at once: each has a bit in the set that every function carries (Site.Tracers), and a filter of its
// own. Those that want returns have another one, in the set that every frame carries. Bits are lent: to the current tracer and to the profile while
// they are on, to an Ops or a GraphOps while it is registered.
type user struct {
	name    string
	kind    userKind
	bit     uint32 // in Site.Tracers; 0 while it has none
	graph   uint16 // in Frame.Users; 0 if it wants no returns
	since   uint32 // the generation that it takes returns from
	failed  atomic.Bool
	paused  atomic.Bool // it makes no records (tracing_on)
	leaving bool        // it is being unregistered
	called  bool        // its kind has been calling since it was seen that no callback is under way
	filterList
	limits
	array *traceArray // what it records into; nil if it records nothing

	ops      *Ops // of one whose kind is calling: either or both
	graphOps *GraphOps
	dataSize int // of the latter
}

type userKind uint8

const (
	recordsCalls   userKind = iota // the function tracer
	recordsReturns                 // the graph tracer
	counting                       // the profile
	calling                        // callbacks of the program's own
)

const (
	maxUsers      = 32 // tracers at once (FGRAPH and ftrace_ops in the kernel know no such limit for the latter)
	maxGraphUsers = 16 // of them, how many with returns (FGRAPH_ARRAY_SIZE in kernel/trace/fgraph.c)
)

// users is who has which bit. Written with ctl held. A hook reads on first, then what the bits belong to: that stays until no hook that may have
// seen the bit is under way.
var users struct {
	on      atomic.Uint32  // who is called
	returns atomic.Uint32  // who has a bit for returns, too
	calls   atomic.Uint32  // whose kind is calling
	early   atomic.Uint32  // who is called before anybody records
	plain   atomic.Uint32  // of calls, who is an Ops and nothing else
	ops     [maxUsers]*Ops // of those
	data    atomic.Uint32  // how many want data
	slot    [maxUsers]*user
	graph   [maxGraphUsers]*user
}

// The profile is always there, as the top array is.
var (
	profile = profiler{user: user{name: "trace_profile", kind: counting}}
)

// lend gives a user its bits: one, and one for returns if it wants them.
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
		u.since = nextGeneration() // from here on: open calls may have the bit from someone else
	case !returns && k >= 0 && !u.lingers():
		users.graph[k], u.graph = nil, 0
	}
	users.slot[i], u.bit = u, 1<<i
	return nil
}

// lingers reports whether callbacks of an array's tracer may be under way. SetTracer does not wait for them: it may be called from one.
func (u *user) lingers() bool {
	if u.called {
		rt.Barrier()
		u.called = u.busy()
	}
	return u.called
}

// reclaim takes back the bits of those who are off, and kept them because callbacks lingered.
func reclaim() {
	eachUser(func(u *user) {
		if u.called && !u.on() && (u.array != nil && u.array.current == &nop || u == &triggers.user) && !u.lingers() {
			u.giveBack()
		}
	})
}

// giveBack takes them back. No hook may be under way that has seen them.
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

// setOn says whether it is.
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

// each calls do with every user that has a bit.
func eachUser(do func(*user)) {
	for _, u := range users.slot {
		if u != nil {
			do(u)
		}
	}
}

// sortUsers notes of what kind the users are, before they are on.
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

// usePointers makes the hooks call who is on. They keep being called meanwhile: a call sees what was before or what is now.
func usePointers() {
	sortUsers()
	eachArray(func(a *traceArray) { a.setOn(a.current != &nop && !a.failed.Load()) })
	profile.setOn(profile.wanted)
	// Masks of those who are off go first: what records alone takes every mask for its own.
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
	case on == top.bit && top.kind == recordsCalls && !top.onSome(): // one alone, without limits
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
		rt.Barrier() // for markers, which look at tracing
	}
	quiet.Store(false)
}

// quiesce switches tracers that record, or count, off, and returns when nothing is under way in their functions: these are pinned to their P, so when
// every P has passed a safe point they have ended (the kernel's synchronize_rcu). Other tracers stay on. A callback of the program's own may still run.
// usePointers undoes it.
func quiesce(list ...*user) {
	quiet.Store(true)
	if !tracing.Load() { // nothing is under way, but calls that they saw may be open
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

// quiesceAll does so with all of them.
func quiesceAll() {
	list := make([]*user, 1, maxArrays+1)
	list[0] = &profile.user
	eachArray(func(a *traceArray) { list = append(list, &a.user) })
	quiesce(list...)
}

// await returns when no callback of a user that has been switched off is under way. Hooks say which users they call before they leave their P.
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

// fail switches off a user whose callback panicked, and says so. It is called from the hook, so nothing may be waited for. called is whose callback it was: an
// array's user may have got another tracer meanwhile, which has nothing to do with it.
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

// validName reports why a tracer cannot have a name.
func validName(name string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	}) {
		return fmt.Errorf("a tracer's name consists of letters, digits, - and _, and %q does not", name)
	}
	return nil
}

// pause lets others run: longer, the oftener it was in vain.
func pause(times int) {
	if times < 10 {
		runtime.Gosched()
		return
	}
	time.Sleep(min(time.Millisecond, time.Microsecond<<min(times-10, 20)))
}
