package ftrace

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// This file is what the hooks call when several tracers are on, or one that is limited. A function
// calls the tracers that want it, and its return calls the tracers that want that
// (ftrace_ops_list_func in the kernel's kernel/trace/ftrace.c; function_graph_enter and
// ftrace_return_to_handler in fgraph.c). Tracers that record come first, and stay on their P.
// Callbacks follow, which may be preempted and may block: first the callbacks of every Ops, then
// the callbacks of every GraphOps.

// A dispatch is a call, or the return of one, on its way to the tracers that want it.
type dispatch struct {
	g      *goroutine
	slot   *unsafe.Pointer
	site   *hook.Site
	parent uintptr
	now    uint64
	frame  hook.Frame // on return: the call's frame, which is off the return stack
	depth  int32      // calls below it on the return stack; -1 if there is no room for it
	mode   uint32     // rt.Mode when the dispatch began
	want   uint16     // these three: see hook.Frame
	skip   uint16
	inside uint16
	data   uint16 // index of the first block of data, plus one; 0 if no tracer has data
	before uint32 // goroutine.calling when the dispatch began
	// called is what the callback that is under way belongs to: an *Ops, a *GraphOps, or the user
	// of the triggers.
	called any

	retval uintptr // on return: the first word that the function returned …
	valued bool    // … if it is known
}

// listEnter is the entry of a function while tracers want returns.
func listEnter(site *hook.Site, slot, proc *unsafe.Pointer, parent uintptr, now uint64) uintptr {
	d := dispatch{slot: slot, site: site, parent: parent, now: now, depth: -1}
	p, set := d.begin(proc, ^uint32(0))
	if set == 0 {
		return 0
	}
	g := d.g
	graph, calls := set&users.returns.Load(), set&users.calls.Load()
	if graph != 0 && g.roomFor(g.Depth) {
		d.depth = g.Depth
	}
	for s := set &^ calls; s != 0; s &= s - 1 {
		d.record(users.slot[bits.TrailingZeros32(s)%maxUsers], p)
	}
	if calls != 0 {
		if graph &= calls; graph != 0 && d.depth >= 0 && users.data.Load() > 0 {
			g.reserve(&d, uint16(bits.OnesCount16(d.want)+bits.OnesCount32(graph)))
		}
		d.call(calls)
		if d.data != 0 {
			g.used = d.data - 1 + uint16(bits.OnesCount16(d.want))
		}
	}
	if d.want|d.skip|d.inside == 0 {
		return 0
	}
	token := g.push(site, now, d.mode&^modeDirect, d.want)
	f := g.top()
	f.Skip, f.Inside, f.Data = d.skip, d.inside, d.data
	f.Child, f.Slept = 0, g.Slept
	return token
}

// listEntry is the entry of a function while no tracer wants returns. A tracer that wants them and
// has just come does not see this call.
func listEntry(site *hook.Site, slot, proc *unsafe.Pointer, parent uintptr) {
	d := dispatch{slot: slot, site: site, parent: parent, depth: -1}
	p, set := d.begin(proc, ^users.returns.Load())
	calls := set & users.calls.Load()
	for s := set &^ calls; s != 0; s &= s - 1 {
		d.now = rt.Clock()
		d.record(users.slot[bits.TrailingZeros32(s)%maxUsers], p)
	}
	if calls != 0 {
		d.call(calls)
	}
}

// begin returns the tracers in the set among that want the call. Tracers that come before all that
// record, which are the triggers, are called by begin itself, and are not in the result. The result
// is 0 if no tracer wants the call.
func (d *dispatch) begin(proc *unsafe.Pointer, among uint32) (*processor, uint32) {
	set := d.wanted() & among
	if set == 0 {
		return nil, 0
	}
	g, p := newStates(d.slot, proc)
	d.g = g
	early := users.early.Load()
	if set&early != 0 {
		d.call(set & early)
		_, p = newStates(d.slot, rt.Pin())
		// The library's Enter was called with the goroutine pinned, and rt.Pin in call has pinned
		// it again.
		rt.Unpin()
		set = d.wanted() & among // a tracer may have gone meanwhile
	}
	if g.seen != generation(d.mode) {
		g.look((*hook.Slot)(unsafe.Pointer(d.slot)), d.mode)
	}
	return p, set &^ (g.ignored | early)
}

// wanted returns the tracers that want the function now.
func (d *dispatch) wanted() uint32 {
	set := atomic.LoadUint32(&d.site.Tracers) & users.on.Load()
	// Mode is read after the set: a tracer that is in the set takes the returns of calls of this
	// generation.
	if d.mode = atomic.LoadUint32(&rt.Mode); d.mode&modeStopped != 0 {
		return 0
	}
	return set
}

// record is the entry for a tracer that records or counts.
func (d *dispatch) record(u *user, p *processor) {
	g := d.g
	switch u.kind {
	case recordsCalls:
		if p = p.in(u.array); u.records(p) && p.ready(g, d.now) {
			p.add(g, d.now<<hook.ClockShift|tracefile.KindFunction, uint64(d.site.ID)|uint64(textOffset(d.parent))<<32)
		}
	case recordsReturns:
		if !d.follows(u) {
			return
		}
		if p = p.in(u.array); u.threshold == 0 && u.records(p) && p.ready(g, d.now) {
			p.add(g, d.now<<hook.ClockShift|tracefile.KindEntry, uint64(d.site.ID)|uint64(d.depth)<<32)
		}
		d.want |= u.graph
	case counting:
		if d.depth >= 0 {
			d.want |= u.graph
		}
	}
}

// records reports whether the tracer makes records on a P now.
func (u *user) records(p *processor) bool {
	return !u.paused.Load() && (u.cpus == nil || u.cpus.has(uint32(p.id)))
}

// follows reports whether a graph tracer's limits let it see the call. It also notes in the frame,
// and in the goroutine, when the limits differ for the calls below this one.
func (d *dispatch) follows(u *user) bool {
	g, bit := d.g, u.graph
	if d.depth < 0 || u.maxDepth > 0 && d.depth >= u.maxDepth || g.skip&bit != 0 {
		return false
	}
	if u.notrace.has(d.site.ID) {
		d.skip |= bit
		g.skip |= bit
		return false
	}
	if u.function != nil && g.inside&bit == 0 {
		if !u.function.has(d.site.ID) {
			return false
		}
		d.inside |= bit
		g.inside |= bit
	}
	return true
}

// call calls callbacks. The goroutine may be on another P when call returns. Before the goroutine
// leaves its P it notes in calling which tracers it calls, so that Unregister waits for it.
func (d *dispatch) call(set uint32) {
	d.before = d.g.calling
	atomic.StoreUint32(&d.g.calling, d.before|set)
	rt.Unpin()
	for set != 0 {
		set = d.callSome(set)
	}
	rt.Pin()
	atomic.StoreUint32(&d.g.calling, d.before)
}

// callSome calls callbacks until one of them panics, and returns the tracers that are left.
func (d *dispatch) callSome(set uint32) (rest uint32) {
	at, done := 0, false // at is the bit of the tracer that is called
	defer func() {
		if r := recover(); r != nil {
			users.slot[at].fail(r, d.called)
			rest = set &^ (1 << at)
		} else if !done {
			d.ends()
		}
	}()
	raceAcquire()
	for s := set & users.plain.Load(); s != 0; s &= s - 1 {
		at = bits.TrailingZeros32(s) % maxUsers
		set &^= 1 << at
		o := users.ops[at]
		d.called = o
		o.Func(funcOf(d.site), d.parent, o)
	}
	for s := set &^ users.returns.Load(); s != 0; s &= s - 1 {
		at = bits.TrailingZeros32(s) % maxUsers
		set &^= 1 << at
		d.callOne(users.slot[at])
	}
	// The order is the order of their bits for returns: dataOf finds a tracer's data by it.
	for i := 0; set != 0 && i < maxGraphUsers; i++ {
		if u := users.graph[i]; u != nil && set&u.bit != 0 {
			at = bits.TrailingZeros32(u.bit) % maxUsers
			set &^= 1 << at
			d.callOne(u)
		}
	}
	done = true
	return 0
}

// ends leaves the hook when a callback ends its goroutine: deferred functions of the program run
// outside of the hook.
func (d *dispatch) ends() {
	atomic.StoreUint32(&d.g.calling, d.before)
	rt.Pin()
	rt.Done()
}

// callOne calls a tracer that is more than an Ops: the triggers, an Ops that is RecursionSafe, a
// GraphOps, or a Tracer with both kinds of callbacks.
func (d *dispatch) callOne(u *user) {
	if u == &triggers.user {
		d.called = u
		d.fire()
		return
	}
	if o := u.ops; o != nil {
		d.called = o
		if o.RecursionSafe {
			d.callUnguarded(o)
		} else {
			o.Func(funcOf(d.site), d.parent, o)
		}
	}
	o := u.graphOps
	if o == nil || !d.follows(u) {
		return
	}
	if u.dataSize > 0 && d.data == 0 { // there is no room for the data
		d.g.overrun()
		return
	}
	d.called = o
	verdict := Want
	if o.Entry != nil {
		verdict = o.Entry(Call{Func: funcOf(d.site), Depth: int(d.depth), start: d.now}, o, d.dataOf(u, true))
	}
	switch verdict {
	case Want:
		d.want |= u.graph
	case Skip:
		d.skip |= u.graph
		d.g.skip |= u.graph
	}
}

// callUnguarded calls an Ops that is RecursionSafe, outside of the hook: functions that the
// callback calls are traced.
func (d *dispatch) callUnguarded(o *Ops) {
	rt.Pin()
	rt.Done()
	defer func() {
		if slot, _ := rt.Begin(); slot != nil {
			rt.Unpin()
		}
	}()
	o.Func(funcOf(d.site), d.parent, o)
}

// usersOf returns the tracers that want a call's return. A frame that the hooks have pushed by
// themselves says it with its mode.
func usersOf(f *hook.Frame) uint16 {
	switch {
	case f.Mode&hook.ModeGraph != 0:
		return top.graph
	case f.Mode&hook.ModeProfile != 0:
		return profile.graph
	}
	return f.Users
}

// listExit is the return of a function. It always pops the frame, and records nothing while tracing
// is stopped.
func listExit(token uintptr, slot, proc *unsafe.Pointer, now uint64) {
	g := onTop(token, slot)
	if g == nil {
		exitBelow(token, slot, proc, now)
		return
	}
	f := g.pop()
	want := usersOf(f)
	if f.Mode&modeDirect != 0 {
		f.Skip, f.Inside, f.Data = 0, 0, 0
	}
	g.skip &^= f.Skip
	g.inside &^= f.Inside
	data := f.Data
	if data != 0 {
		g.used = data - 1 // what callbacks push has not been pushed yet
	}
	if stopped() {
		return
	}
	on := users.on.Load()
	var calls uint16
	var set uint32
	_, p := newStates(slot, proc)
	for w := want; w != 0; w &= w - 1 {
		u := users.graph[bits.TrailingZeros16(w)]
		if u == nil || on&u.bit == 0 || !since(f.Mode, u.since) {
			continue
		}
		switch u.kind {
		case recordsReturns:
			if u.records(p) {
				p.in(u.array).putReturn(g, f, now, u)
			}
		case counting:
			p.countCall(g, f, now)
		case calling:
			calls |= u.graph
			set |= u.bit
		}
	}
	if calls == 0 {
		return
	}
	d := dispatch{g: g, now: now, frame: *f, depth: g.Depth, data: data, want: want, before: g.calling, retval: g.Value, valued: g.Kept == token}
	atomic.StoreUint32(&g.calling, d.before|set)
	rt.Unpin()
	for calls != 0 {
		calls = d.returnSome(calls)
	}
	rt.Pin()
	atomic.StoreUint32(&g.calling, d.before)
}

// returnSome is callSome for returns.
func (d *dispatch) returnSome(set uint16) (rest uint16) {
	var u *user
	defer func() {
		if r := recover(); r != nil {
			u.fail(r, d.called)
			rest = set &^ u.graph
		} else if set != 0 {
			d.ends()
		}
	}()
	raceAcquire()
	f := &d.frame
	for ; set != 0; set &= set - 1 {
		u = users.graph[bits.TrailingZeros16(set)]
		if o := u.graphOps; o != nil && o.Return != nil {
			c := Call{Func: funcOf(function(f)), Depth: int(d.depth), Overrun: f.Over, start: f.Start, end: d.now}
			if u.values && d.valued {
				c.retval, c.valued = d.retval, true
			}
			d.called = o
			o.Return(c, o, d.dataOf(u, false))
		}
	}
	return 0
}

// putReturn records a return as the tracer wants it. With a threshold it records the call as a
// whole, if the call took that long. With funcgraph-retval it also records what the function
// returned.
func (p *processor) putReturn(g *goroutine, f *hook.Frame, now uint64, u *user) {
	if now-f.Start < u.threshold {
		return
	}
	kind := uint64(tracefile.KindReturn)
	r := [4]uint64{1: returned(g, f)}
	if u.threshold > 0 {
		kind, r[2] = tracefile.KindSpan, f.Start
	}
	if u.values && g.Kept == f.Token {
		kind, r[3] = tracefile.KindValue, uint64(g.Value)
	}
	r[0] = now<<hook.ClockShift | kind
	switch {
	case kind == tracefile.KindReturn:
		if p.ready(g, now) {
			p.add(g, r[0], r[1])
		}
	case p.reserve(g, now, 2):
		*(*[4]uint64)(p.At) = r
		g.sequence(p.array).seq++
		p.commit(2, 1)
	}
}

// returned returns the second word of a return's record.
func returned(g *goroutine, f *hook.Frame) uint64 {
	w := uint64(function(f).ID) | uint64(g.Depth)<<32 | uint64(min(f.Over, tracefile.MaxOverrun))<<48
	if g.Panics != 0 {
		w |= tracefile.Panicked
	}
	return w
}

// Data that a GraphOps keeps for a call lies beside the return stack, in blocks of MaxDataSize
// bytes. The first block of a call belongs to the first tracer that wants its return, the second
// block to the second tracer, and so on.

// reserve makes room for blocks of data.
func (g *goroutine) reserve(d *dispatch, blocks uint16) {
	if g.Depth == 0 && g.calling == 0 {
		g.used = 0
	}
	if int(g.used)+int(blocks) > int(g.room) && !g.growData(blocks) {
		return
	}
	d.data = g.used + 1
	g.used += blocks
}

// growData makes room for more blocks. It returns false if there would be more than 65535.
func (g *goroutine) growData(blocks uint16) bool {
	n := max(16, 2*int(g.room))
	for n < int(g.used)+int(blocks) {
		n *= 2
	}
	if n = min(n, 1<<16-1); n < int(g.used)+int(blocks) {
		return false
	}
	p := rt.Alloc(uintptr(n) * MaxDataSize)
	copy(unsafe.Slice((*byte)(p), n*MaxDataSize), unsafe.Slice((*byte)(g.data), int(g.used)*MaxDataSize))
	g.data, g.room = p, uint16(n)
	return true
}

// dataOf returns a tracer's data of the call, cleared if zero is set; nil if it has none.
func (d *dispatch) dataOf(u *user, zero bool) []byte {
	if u.dataSize == 0 || d.data == 0 {
		return nil
	}
	block := int(d.data-1) + bits.OnesCount16(d.want&(u.graph-1))
	data := unsafe.Slice((*byte)(unsafe.Add(d.g.data, block*MaxDataSize)), u.dataSize)
	if zero {
		clear(data)
	}
	return data
}

// look finds out which of the tracers that are on ignore the goroutine.
func (g *goroutine) look(slot *hook.Slot, mode uint32) {
	g.ignored = 0
	for _, u := range users.slot {
		if u == nil {
			continue
		}
		if !since(g.seen, u.since) { // the bit was another tracer's
			g.skip &^= u.graph
			g.inside &^= u.graph
		}
		if u.on() && u.ofSome() && !u.chosen(g, slot) {
			g.ignored |= u.bit
		}
	}
	g.seen = generation(mode)
}

// textOffset returns the offset of an address in the program's text, as records hold it; 0 for an
// address that is not in there.
func textOffset(pc uintptr) uint32 {
	if off := pc - rt.Text; pc != 0 && off <= 1<<32-1 {
		return uint32(off)
	}
	return 0
}
