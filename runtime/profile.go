package ftrace

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// The function profile (kernel/trace/ftrace.c, function_profile_enabled): each P counts for itself,
// in a table by function. It works beside whatever tracer is on.

// profiler is the profile's state. Written by calls that hold ctl, while nothing that counts is
// under way.
type profiler struct {
	user
	wanted bool // it is to be on
	awake  bool // nosleep-time: time off a P does not count
	own    bool // it has a filter of its own, not that of the current tracer
}

// profileEnter is the profile's entry, while nothing else is on.
func profileEnter(site *hook.Site, slot, proc *unsafe.Pointer, _ uintptr, now uint64) uintptr {
	if stopped() {
		return 0
	}
	g, _ := newStates(slot, proc)
	if !g.roomFor(g.Depth) {
		return 0
	}
	token := g.push(site, now, rt.Mode, profile.graph)
	f := g.top()
	f.Child, f.Slept = 0, g.Slept
	return token
}

// profileExit is its return.
func profileExit(token uintptr, slot, proc *unsafe.Pointer, now uint64) {
	g := onTop(token, slot)
	if g == nil {
		exitBelow(token, slot, proc, now)
		return
	}
	if stale(g.top()) {
		listExit(token, slot, proc, now)
		return
	}
	f := g.pop()
	if stopped() {
		return
	}
	_, p := newStates(slot, proc)
	p.countCall(g, f, now)
}

// countCall counts a call that has been taken off the return stack.
func (p *processor) countCall(g *goroutine, f *hook.Frame, now uint64) {
	d := now - f.Start
	if profile.awake {
		d -= g.Slept - f.Slept
	}
	for i := g.Depth - 1; i >= 0; i-- { // the one above it that is counted, too
		if c := g.frame(i); usersOf(c)&profile.graph != 0 {
			c.Child += d
			break
		}
	}
	p.count(function(f).ID, d, f.Child)
}

// count counts a call.
func (p *processor) count(id uint32, d, below uint64) {
	s := p.stat(id)
	s.Min, s.Max = min(s.Min, d), max(s.Max, d)
	s.Hits++
	s.Total += d
	s.Below += below
	s.Squares += float64(d) * float64(d)
	histogram(s)[tracefile.Bucket(d)]++
}

// histogram returns a function's histogram of durations.
func histogram(s *hook.Stat) *[tracefile.HistBuckets]uint32 {
	return (*[tracefile.HistBuckets]uint32)(unsafe.Add(unsafe.Pointer(s), unsafe.Sizeof(*s)))
}

// stat returns where the P counts a function.
func (p *processor) stat(id uint32) *hook.Stat {
	if id >= p.NStats {
		p.growStats(id)
	}
	at := (**hook.Stat)(unsafe.Add(p.Stats, uintptr(id)*unsafe.Sizeof(p.Stats)))
	if *at == nil {
		s := (*hook.Stat)(rt.Alloc(unsafe.Sizeof(hook.Stat{}) + unsafe.Sizeof(*histogram(nil))))
		s.Min = ^uint64(0)
		*at = s
	}
	return *at
}

// growStats makes room for all functions that there are. More come with a plugin.
func (p *processor) growStats(id uint32) {
	rt.Lock()
	n := max(tables.sites, id) + 1
	rt.Unlock()
	stats := rt.Alloc(uintptr(n) * unsafe.Sizeof(p.Stats))
	rt.Lock()
	copy(unsafe.Slice((**hook.Stat)(stats), n), unsafe.Slice((**hook.Stat)(p.Stats), p.NStats))
	p.Stats, p.NStats = stats, n
	rt.Unlock()
}

// StartProfile begins to count the calls of every function, and how long they take, beside whatever
// tracer is on (function_profile_enabled). What was counted before is kept, until ResetProfile.
// SetFilter and SetNotrace hold for it, limits of the graph tracer do not.
//
// The option sleep-time, which is on, says that the time counts during which a goroutine is off its
// P; see SetOption.
func StartProfile() error { return setProfile(true) }

// StopProfile stops counting. What was counted stays, until ResetProfile.
func StopProfile() error { return setProfile(false) }

func setProfile(on bool) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	ctl.Lock()
	defer ctl.Unlock()
	if profile.wanted == on {
		return nil
	}
	startBuffer()
	quiesce(&profile.user)
	if on {
		if err := profile.lend(true); err != nil {
			usePointers()
			return err
		}
	} else {
		profile.clear()
		profile.giveBack()
		if defaultUser == &profile.user {
			defaultUser = &top.user
		}
	}
	profile.wanted = on
	rt.Sleep = 0
	if on && profile.awake {
		rt.Sleep = 1
	}
	usePointers()
	return nil
}

// ResetProfile sets all counts to zero.
func ResetProfile() error {
	if rt == nil {
		return ErrNotInstrumented
	}
	ctl.Lock()
	defer ctl.Unlock()
	quiesce(&profile.user)
	eachStat(func(p *processor, _ uint32, s *hook.Stat) {
		*histogram(s) = [tracefile.HistBuckets]uint32{}
		*s = hook.Stat{Min: ^uint64(0)}
		p.Pending = nil
	})
	usePointers()
	return nil
}

// eachStat calls do with what each P has counted of each function.
func eachStat(do func(p *processor, id uint32, s *hook.Stat)) {
	rt.Lock()
	p := top.processors
	rt.Unlock()
	for ; p != nil; p = p.next {
		rt.Lock()
		stats := unsafe.Slice((**hook.Stat)(p.Stats), p.NStats)
		rt.Unlock()
		for id, s := range stats {
			if s != nil && s.Hits > 0 {
				do(p, uint32(id), s)
			}
		}
	}
}

// eachOpenCall calls do with the calls that the profile has entered and that have not returned: how
// long each has taken so far, and how much of that the calls below it. Return stacks are read while
// their goroutines use them: their memory stays, a frame is whole or the one before it in its
// place.
func eachOpenCall(do func(id uint32, d, below uint64)) {
	if !profile.wanted {
		return
	}
	type openCall struct {
		id       uint32
		d, below uint64
	}
	rt.Lock()
	n := 0
	eachGoroutine(func(g *goroutine) { n += int(max(0, g.Depth)) })
	rt.Unlock()
	calls := make([]openCall, 0, n+100) // nothing may be allocated under the lock
	sites := tables.sites
	rt.Lock()
	now := rt.Clock()
	eachGoroutine(func(g *goroutine) {
		within := -1 // the call of calls that is above the next one on this stack
		for i := range atomic.LoadInt32(&g.Depth) {
			if g.stack == nil || i >= g.Room || len(calls) == cap(calls) {
				break
			}
			f := *g.frame(i)
			if usersOf(&f)&profile.graph == 0 || !since(f.Mode, profile.since) || f.Start > now || f.Func == 0 {
				continue
			}
			id := function(&f).ID
			if id == 0 || id > sites {
				break
			}
			d := now - f.Start
			if profile.awake {
				slept := g.Slept - f.Slept
				if parked := g.Parked; parked != 0 && parked < now { // no atomic load: words of 4 bytes may not align it
					slept += now - parked
				}
				d -= min(d, slept)
			}
			if within >= 0 {
				calls[within].below += d
			}
			within = len(calls)
			calls = append(calls, openCall{id, d, f.Child})
		}
	})
	rt.Unlock()
	for _, c := range calls {
		do(c.id, c.d, min(c.below, c.d))
	}
}

// FuncStats is what the profile says of a function.
type FuncStats struct {
	Func     *Func
	Name     string        // with its import path
	Hits     uint64        // calls, open ones included
	Open     uint64        // calls that have not returned: they count as if they did now
	Total    time.Duration // with the calls below; a recursive function's calls count each
	Self     time.Duration // without
	Mean     time.Duration
	Variance float64 // of the sample, in µs² (s^2 in the kernel's table); 0 for one call
	Min, Max time.Duration

	hist []uint64
	tick float64 // ns
}

// Percentile returns the duration that q percent of the calls do not exceed, to an eighth of it. q
// is 0 to 100.
func (s *FuncStats) Percentile(q float64) time.Duration {
	return min(max(time.Duration(tracefile.Percentile(s.hist, q)*s.tick), s.Min), s.Max)
}

// Profile returns what was counted, the function with the longest total time first. It may be
// called while counting goes on.
func Profile() []FuncStats {
	if rt == nil || top.header == nil {
		return nil
	}
	ctl.Lock()
	defer ctl.Unlock()
	sums := map[uint32]*hook.Stat{}
	hists := map[uint32][]uint64{}
	sumOf := func(id uint32) *hook.Stat {
		sum := sums[id]
		if sum == nil {
			sum = &hook.Stat{Min: ^uint64(0)}
			sums[id], hists[id] = sum, make([]uint64, tracefile.HistBuckets)
		}
		return sum
	}
	eachStat(func(p *processor, id uint32, s *hook.Stat) {
		sum := sumOf(id)
		sum.Hits += s.Hits
		sum.Total += s.Total
		sum.Below += s.Below
		sum.Squares += s.Squares
		sum.Min, sum.Max = min(sum.Min, s.Min), max(sum.Max, s.Max)
		pending := (*uint32)(atomic.LoadPointer(&p.Pending))
		for i := range histogram(s) {
			n := &histogram(s)[i]
			if hists[id][i] += uint64(*n); n == pending {
				hists[id][i]++
			}
		}
	})
	open := map[uint32]uint64{}
	eachOpenCall(func(id uint32, d, below uint64) {
		sum := sumOf(id)
		sum.Hits++
		sum.Total += d
		sum.Below += below
		sum.Squares += float64(d) * float64(d)
		sum.Min, sum.Max = min(sum.Min, d), max(sum.Max, d)
		hists[id][tracefile.Bucket(d)]++
		open[id]++
	})
	tick := 1e9 / float64(ticksOf(1e9))
	var list []FuncStats
	eachTable(func(t *hook.Table) {
		tracefile.EachName(t.Names, func(j int, name, _ string, _ int) {
			i := uint32(j)
			s := sums[t.Base+i]
			if s == nil {
				return
			}
			ns := func(ticks uint64) time.Duration { return time.Duration(float64(ticks) * tick) }
			f := FuncStats{
				Func: funcOf(siteOf(t, i)), Name: t.Path + "." + name, Hits: s.Hits, Open: open[t.Base+i], Total: ns(s.Total), Self: ns(s.Total - min(s.Total, s.Below)), Mean: ns(s.Total / s.Hits),
				Min: ns(s.Min), Max: ns(s.Max), hist: hists[t.Base+i], tick: tick,
			}
			if n := float64(s.Hits); n > 1 {
				total := float64(s.Total)
				f.Variance = max(0, (n*s.Squares-total*total)/(n*(n-1))) * tick * tick / 1e6
			}
			list = append(list, f)
		})
	})
	slices.SortFunc(list, func(a, b FuncStats) int {
		if a.Total != b.Total {
			return int(min(max(b.Total-a.Total, -1), 1))
		}
		return int(a.Func.site.ID) - int(b.Func.site.ID)
	})
	return list
}

// WriteReport writes what was counted as ftgo report does a trace: all columns, and names in full.
// Totals are the sums of all calls, also of calls that a function makes of itself.
func WriteReport(w io.Writer) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	return tracefile.WriteTable(w, func(yield func(tracefile.Row) bool) {
		for _, f := range Profile() {
			if !yield(tracefile.Row{Name: f.Name, Calls: f.Hits, Open: f.Open, Total: int64(f.Total), Self: int64(f.Self), Avg: int64(f.Mean),
				Min: int64(f.Min), Max: int64(f.Max), P50: int64(f.Percentile(50)), P99: int64(f.Percentile(99))}) {
				return
			}
		}
	})
}

// WriteProfile writes what was counted as the kernel's files trace_stat/function<cpu> do, all Ps
// together, names cut off behind 30 bytes as there. With the option nograph-time times are without
// the calls below.
func WriteProfile(w io.Writer) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	textMu.Lock()
	self := noGraphTime
	textMu.Unlock()
	b := bufio.NewWriter(w)
	b.WriteString("  Function                               Hit    Time            Avg             s^2\n" +
		"  --------                               ---    ----            ---             ---\n")
	for _, f := range Profile() {
		total, mean := f.Total, f.Mean
		if self {
			total, mean = f.Self, f.Self/time.Duration(f.Hits)
		}
		tracefile.WriteStat(b, f.Name, f.Hits, int64(total), int64(mean), f.Variance)
	}
	return errors.Join(b.Flush())
}
