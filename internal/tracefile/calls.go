package tracefile

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// A Selection limits what Events, WriteText and Report take of a trace. The zero value selects all.
//
// A call is selected by its records: WriteText shows its entry if that lies in the range of time,
// and its return if that does; Report counts it if one of them does. Its duration is the true one,
// wherever its entry is in the trace.
type Selection struct {
	Goroutines []uint64               // none selects all
	From, To   int64                  // monotonic clock, ns; 0 is no limit
	Functions  func(name string) bool // their calls, and what these call on the same goroutine
}

// selector applies a selection.
type selector struct {
	*Selection
	t     *Trace
	until int64
	known []uint8 // by function: 1 if it is not selected, 2 if it is
}

func (s *selector) function(id uint32) bool {
	if s.Functions == nil {
		return true
	}
	if int64(id) >= 1<<20 { // no program has so many: the file is damaged
		return s.Functions(s.t.Name(id))
	}
	if n := int(id) + 1 - len(s.known); n > 0 {
		s.known = append(s.known, make([]uint8, n)...)
	}
	if s.known[id] == 0 {
		s.known[id] = 1
		if s.Functions(s.t.Name(id)) {
			s.known[id] = 2
		}
	}
	return s.known[id] == 2
}

func (s *selector) time(at int64) bool { return at >= s.From && at <= s.until }

// call is a call that a goroutine has entered.
type call struct {
	start  int64
	child  int64 // time in calls below it that have returned, ns
	fn     uint32
	depth  int32
	within bool // it is of a selected function, or below one that is
	shown  bool // its entry is a record, and selected
	outer  bool // Report: no call of the same function is above it
}

// follow calls yield with the records of the selected goroutines in order of time, each with the
// call that it begins or ends, if the trace tells, and whether it is selected itself.
//
// It keeps the calls that each goroutine is in. A record at some depth ends all calls at that depth
// and below, seen or not: what returned while nothing was recorded, or in records that are gone.
// After a loss no call is known to go on.
func (t *Trace) follow(yield func(e *Event, c *call, shown bool) bool) {
	s := selector{Selection: &t.Select, t: t, until: t.Select.To}
	if s.until == 0 {
		s.until = math.MaxInt64
	}
	var ended call
	t.merge(func(e *Event) bool {
		g := e.g
		if len(s.Goroutines) > 0 && !slices.Contains(s.Goroutines, g.id) {
			return true
		}
		t.last = e.Time
		if e.Kind == KindFunction {
			return yield(e, nil, s.time(e.Time) && s.function(e.Func))
		}
		if e.Lost > 0 {
			g.calls = g.calls[:0]
		}
		n := len(g.calls)
		for n > 0 && int(g.calls[n-1].depth) > e.Depth {
			n--
		}
		var c *call
		if n > 0 && int(g.calls[n-1].depth) == e.Depth {
			n--
			if e.Kind == KindReturn && g.calls[n].fn == e.Func {
				ended = g.calls[n]
				c = &ended
			}
		}
		g.calls = g.calls[:n]
		within := s.Functions == nil || n > 0 && g.calls[n-1].within
		switch e.Kind {
		case KindEntry:
			within = within || s.function(e.Func)
			shown := within && s.time(e.Time)
			g.calls = append(g.calls, call{start: e.Time, fn: e.Func, depth: int32(e.Depth), within: within, shown: shown})
			return yield(e, &g.calls[n], shown)
		case KindReturn:
			if c == nil && e.Entry != 0 {
				ended = call{start: e.Entry, fn: e.Func, depth: int32(e.Depth)}
				c = &ended
			}
			if c == nil {
				return yield(e, nil, s.time(e.Time) && (within || s.function(e.Func)))
			}
			e.Start = c.start
			c.within = within || s.function(e.Func)
			if n > 0 {
				g.calls[n-1].child += e.Time - c.start
			}
			return yield(e, c, c.within && s.time(e.Time))
		}
		return yield(e, nil, within && s.time(e.Time))
	})
}

// unfinished calls yield with the selected calls that no record ends, and a return at the end of
// the trace: one goroutine after the other, the innermost call first. It is called after follow.
//
// A call is left out if its return may be among what the trace lacks: where records found no room
// after the last that did, or the file is damaged.
func (t *Trace) unfinished(yield func(e *Event, c *call)) {
	if t.Lacks != "" || t.damaged || t.droppedAtEnd || le.Uint32(t.Header[HState:])&StateNoSpace != 0 {
		return
	}
	end := t.last
	if off := le.Uint64(t.Header[HOff:]); off != 0 { // what returned after that is not in the trace
		end = max(end, t.nanoseconds(off))
	} else if le.Uint64(t.Header[HEndMono:]) != 0 {
		end = max(end, t.nanoseconds(le.Uint64(t.Header[HEndCounter:])))
	}
	for _, g := range t.byNumber() {
		for i := len(g.calls) - 1; i >= 0; i-- {
			c := &g.calls[i]
			if c.shown {
				yield(&Event{
					Time: end, Kind: KindReturn, Proc: g.proc, Func: c.fn, Depth: int(c.depth), Start: c.start, g: g, open: true,
				}, c)
			}
			if i > 0 {
				g.calls[i-1].child += end - c.start
			}
		}
	}
}

// byNumber returns the goroutines in the order of their numbers.
func (t *Trace) byNumber() []*goroutine {
	return slices.SortedFunc(maps.Values(t.goroutines), func(a, b *goroutine) int { return cmp.Compare(a.id, b.id) })
}
