package tracefile

// A FuncReport is what a trace says of a function. Times are in ns. They are of the calls that have
// returned, and of the calls that were open when the trace ended, which count up to there.
type FuncReport struct {
	Name     string
	Calls    uint64
	Returns  uint64 // calls that have returned
	Open     uint64 // calls that were open when the trace ended
	Total    int64  // with the calls below; where a function calls itself, of the outermost call
	Self     int64  // without the calls below
	Avg      int64
	Min, Max int64

	sum  int64 // of every call
	hist []uint32
}

// Percentile returns the duration that q percent of the calls do not exceed, to an eighth of it,
// ns. q is 0 to 100.
func (f *FuncReport) Percentile(q float64) int64 {
	if f.hist == nil {
		return 0
	}
	return min(max(int64(Percentile(f.hist, q)), f.Min), f.Max)
}

// Row is the function's row of a table.
func (f *FuncReport) Row() Row {
	return Row{Name: f.Name, Calls: f.Calls, Open: f.Open, Total: f.Total, Self: f.Self, Avg: f.Avg, Min: f.Min, Max: f.Max,
		P50: f.Percentile(50), P99: f.Percentile(99)}
}

// add counts a call that has returned, or is open, after d ns.
func (f *FuncReport) add(c *call, d int64) {
	if f.hist == nil {
		f.hist = make([]uint32, HistBuckets)
		f.Min = d
	}
	f.sum += d
	f.Self += d - c.child
	f.Min, f.Max = min(f.Min, d), max(f.Max, d)
	f.hist[Bucket(uint64(max(d, 0)))]++
	if c.outer {
		f.Total += d
	}
}

// isOuter reports whether the last of a goroutine's calls, or one that is about to end, lies below
// no other of its function that is counted.
func isOuter(above []call, c *call, shown bool) bool {
	for i := len(above) - 1; i >= 0; i-- {
		if a := &above[i]; a.fn == c.fn && (a.shown || !shown) {
			return false
		}
	}
	return true
}

// Timed reports whether the trace tells how long calls took. The function tracer records none.
func (t *Trace) Timed() bool { return le.Uint32(t.Header[HTracer:]) != TracerFunction }

// Report returns what the trace says of each function that was called, in no order. The names of
// two functions may be the same. A call is not counted if its entry was overwritten.
func (t *Trace) Report() []*FuncReport {
	funcs := make([]*FuncReport, 1<<16) // by number
	others := map[uint32]*FuncReport{}
	of := func(id uint32) *FuncReport {
		if int64(id) < int64(len(funcs)) {
			if funcs[id] == nil {
				funcs[id] = &FuncReport{}
			}
			return funcs[id]
		}
		f := others[id]
		if f == nil {
			f = &FuncReport{}
			others[id] = f
		}
		return f
	}
	t.follow(func(e *Event, c *call, shown bool) bool {
		switch e.Kind {
		case KindFunction:
			if shown {
				of(e.Func).Calls++
			}
		case KindEntry:
			c.outer = isOuter(e.g.calls[:len(e.g.calls)-1], c, shown)
			if shown {
				of(e.Func).Calls++
			}
		case KindReturn:
			if c == nil || !shown && !c.shown {
				break
			}
			f := of(e.Func)
			if !c.shown { // its entry is no record, or not selected
				f.Calls++
				c.outer = isOuter(e.g.calls, c, true)
			}
			f.Returns++
			f.add(c, e.Time-c.start)
		}
		return true
	})
	t.unfinished(func(e *Event, c *call) {
		f := of(e.Func)
		f.Open++
		f.add(c, e.Time-c.start)
	})
	var list []*FuncReport
	add := func(id uint32, f *FuncReport) {
		f.Name = t.Name(id)
		if n := f.Returns + f.Open; n > 0 {
			f.Avg = f.sum / int64(n)
		}
		list = append(list, f)
	}
	for id, f := range funcs {
		if f != nil {
			add(uint32(id), f)
		}
	}
	for id, f := range others {
		add(id, f)
	}
	return list
}
