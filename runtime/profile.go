package ftrace

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"time"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// The function profile (kernel/trace/ftrace.c, function_profile_enabled): each P counts for itself, in a table by function. It works beside
// whatever tracer is on.

// stat is what a P counts of a function. Times are in ticks of the clock.
type stat struct {
	hits    uint64
	total   uint64
	self    uint64 // without the calls below
	squares float64
	min     uint64
	max     uint64
	hist    unsafe.Pointer // [tracefile.HistBuckets]uint32
	_       [16 - unsafe.Sizeof(uintptr(0))]byte
}

const (
	statSize      = 64
	profileShift  = 9
	profileBlock  = 1 << profileShift // functions in a block
	profileBlocks = 4096
)

var _ = [1]struct{}{}[statSize-unsafe.Sizeof(stat{})]

// profile is the profile's state. Written by calls that hold ctl, while no tracer's function is under way.
var profile struct {
	on    bool
	enter enterFn // the tracer's beside it
	exit  exitFn
	awake bool // nosleep-time: time off a P does not count
}

// frameOurs marks the generation of a frame that the tracer did not push, so that it takes the frame for another's.
const frameOurs = 1 << 31

// profileEnter calls the tracer's function, and makes sure that the call is on the return stack.
func profileEnter(site *hook.Site, slot, proc *unsafe.Pointer, parent uintptr, now uint64) uintptr {
	token := profile.enter(site, slot, proc, parent, now)
	if stopped.Load() != 0 {
		return token
	}
	g, _ := newStates(slot, proc)
	if token == 0 {
		if d := g.depth; (d >= maxStack.Load() || d >= g.room) && !g.roomFor(d) {
			return 0
		}
		token = g.push(site, now)
		g.frame(g.depth - 1).gen |= frameOurs
	}
	f := g.frame(g.depth - 1)
	f.child, f.slept = 0, g.Slept
	return token
}

// profileExit counts the call, and calls the tracer's function.
func profileExit(token uintptr, slot, proc *unsafe.Pointer, now uint64) {
	g, p := (*goroutine)(*slot), (*processor)(*proc)
	if g != nil && g.depth > 0 {
		f := g.frame(g.depth - 1)
		if f.token == token && f.gen&^frameOurs == generation.Load() && stopped.Load() == 0 {
			if p == nil {
				_, p = newStates(slot, proc)
			}
			d := now - f.start
			if profile.awake {
				d -= g.Slept - f.slept
			}
			if g.depth > 1 {
				g.frame(g.depth - 2).child += d
			}
			p.count1(f.function().ID, d, d-min(d, f.child))
		}
	}
	profile.exit(token, slot, proc, now)
}

// count1 counts a call.
func (p *processor) count1(id uint32, d, self uint64) {
	s := p.stat(id)
	if s == nil {
		return
	}
	if s.hits == 0 || d < s.min {
		s.min = d
	}
	s.max = max(s.max, d)
	s.hits++
	s.total += d
	s.self += self
	s.squares += float64(d) * float64(d)
	*(*uint32)(unsafe.Add(s.hist, 4*tracefile.Bucket(d)))++
}

// stat returns where the P counts a function, nil if there is no room for so many functions.
func (p *processor) stat(id uint32) *stat {
	if p.profile == nil || id>>profileShift >= profileBlocks {
		return p.makeStat(id)
	}
	block := *(*unsafe.Pointer)(unsafe.Add(p.profile, uintptr(id>>profileShift)*unsafe.Sizeof(p.profile)))
	if block == nil {
		return p.makeStat(id)
	}
	s := (*stat)(unsafe.Add(block, uintptr(id%profileBlock)*statSize))
	if s.hist == nil {
		return p.makeStat(id)
	}
	return s
}

func (p *processor) makeStat(id uint32) *stat {
	if id>>profileShift >= profileBlocks {
		return nil
	}
	if p.profile == nil {
		p.profile = rt.Alloc(profileBlocks * unsafe.Sizeof(p.profile))
	}
	block := (*unsafe.Pointer)(unsafe.Add(p.profile, uintptr(id>>profileShift)*unsafe.Sizeof(p.profile)))
	if *block == nil {
		*block = rt.Alloc(profileBlock * statSize)
	}
	s := (*stat)(unsafe.Add(*block, uintptr(id%profileBlock)*statSize))
	s.hist = rt.Alloc(tracefile.HistBuckets * 4)
	return s
}

// StartProfile begins to count the calls of every function, and how long they take, beside whatever tracer is on (function_profile_enabled). What
// was counted before is kept, until ResetProfile. SetFilter and SetNotrace hold for it, limits of the graph tracer do not.
//
// The option sleep-time, which is on, says that the time counts during which a goroutine is off its P; see SetOption.
func StartProfile() error { return setProfile(true) }

// StopProfile ends it. What was counted stays.
func StopProfile() error { return setProfile(false) }

func setProfile(on bool) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	ctl.Lock()
	defer ctl.Unlock()
	if profile.on == on {
		return nil
	}
	startBuffer()
	quiesce()
	profile.on = on
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
	quiesce()
	eachStat(func(_ uint32, s *stat) {
		clear(unsafe.Slice((*uint32)(s.hist), tracefile.HistBuckets))
		*s = stat{hist: s.hist}
	})
	usePointers()
	return nil
}

// eachStat calls do with what each P has counted of each function.
func eachStat(do func(id uint32, s *stat)) {
	rt.Lock()
	p := processors
	rt.Unlock()
	for ; p != nil; p = p.next {
		if p.profile == nil {
			continue
		}
		for i, block := range (*[profileBlocks]unsafe.Pointer)(p.profile) {
			if block == nil {
				continue
			}
			for j := range profileBlock {
				if s := (*stat)(unsafe.Add(block, j*statSize)); s.hits > 0 {
					do(uint32(i<<profileShift+j), s)
				}
			}
		}
	}
}

// FuncStats is what the profile says of a function. Times are of calls that have returned.
type FuncStats struct {
	Func     *Func
	Name     string // with its import path
	Hits     uint64
	Total    time.Duration // with the calls below; a recursive function's calls count each
	Self     time.Duration // without
	Mean     time.Duration
	Variance float64 // of the sample, in µs² (s^2 in the kernel's table); 0 for one call
	Min, Max time.Duration

	hist []uint64
	tick float64 // ns
}

// Percentile returns the duration that q percent of the calls do not exceed, to an eighth of it. q is 0 to 100.
func (s *FuncStats) Percentile(q float64) time.Duration {
	return min(max(time.Duration(tracefile.Percentile(s.hist, q)*s.tick), s.Min), s.Max)
}

// Profile returns what was counted, the function with the longest total time first. It may be called while counting goes on.
func Profile() []FuncStats {
	if rt == nil || header == nil {
		return nil
	}
	ctl.Lock()
	defer ctl.Unlock()
	sums := map[uint32]*stat{}
	hists := map[uint32][]uint64{}
	eachStat(func(id uint32, s *stat) {
		sum := sums[id]
		if sum == nil {
			sum = &stat{min: s.min}
			sums[id], hists[id] = sum, make([]uint64, tracefile.HistBuckets)
		}
		sum.hits += s.hits
		sum.total += s.total
		sum.self += s.self
		sum.squares += s.squares
		sum.min, sum.max = min(sum.min, s.min), max(sum.max, s.max)
		for i, n := range unsafe.Slice((*uint32)(s.hist), tracefile.HistBuckets) {
			hists[id][i] += uint64(n)
		}
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
				Func: (*Func)(siteOf(t, i)), Name: t.Path + "." + name, Hits: s.hits, Total: ns(s.total), Self: ns(s.self), Mean: ns(s.total / s.hits),
				Min: ns(s.min), Max: ns(s.max), hist: hists[t.Base+i], tick: tick,
			}
			if n := float64(s.hits); n > 1 {
				total := float64(s.total)
				f.Variance = max(0, (n*s.squares-total*total)/(n*(n-1))) * tick * tick / 1e6
			}
			list = append(list, f)
		})
	})
	slices.SortFunc(list, func(a, b FuncStats) int {
		if a.Total != b.Total {
			return int(min(max(b.Total-a.Total, -1), 1))
		}
		return int(a.Func.ID) - int(b.Func.ID)
	})
	return list
}

// WriteReport writes what was counted as ftgo report does a trace: all columns, and names in full. Totals are the sums of all calls, also of those
// that a function makes of itself.
func WriteReport(w io.Writer) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	return tracefile.WriteTable(w, func(yield func(tracefile.Row) bool) {
		for _, f := range Profile() {
			if !yield(tracefile.Row{Name: f.Name, Calls: f.Hits, Total: int64(f.Total), Self: int64(f.Self), Avg: int64(f.Mean),
				Min: int64(f.Min), Max: int64(f.Max), P50: int64(f.Percentile(50)), P99: int64(f.Percentile(99))}) {
				return
			}
		}
	})
}

// WriteProfile writes what was counted as the kernel's files trace_stat/function<cpu> do, all Ps together, names cut off
// behind 30 bytes as there. With the option nograph-time times are without the calls below.
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
