package tracefile

// A FuncReport is what a trace says of a function. Times are in ns, and of the calls that have returned in it.
type FuncReport struct {
	Name     string
	Calls    uint64
	Returns  uint64 // calls that have returned
	Total    int64  // with the calls below; where a function calls itself, of the outermost call
	Self     int64  // without the calls below
	Avg      int64
	Min, Max int64

	sum  int64 // of every call
	hist []uint32
}

// Percentile returns the duration that q percent of the calls do not exceed, to an eighth of it, ns. q is 0 to 100.
func (f *FuncReport) Percentile(q float64) int64 {
	if f.Returns == 0 {
		return 0
	}
	return min(max(int64(Percentile(f.hist, q)), f.Min), f.Max)
}

// Row is the function's row of a table.
func (f *FuncReport) Row() Row {
	return Row{f.Name, f.Calls, f.Total, f.Self, f.Avg, f.Min, f.Max, f.Percentile(50), f.Percentile(99)}
}

// openCall is a call that has not returned.
type openCall struct {
	fn    uint32
	depth int
	start int64
	child int64 // time in calls below
}

// callStack is the open calls of a goroutine, and how many of each function.
type callStack struct {
	calls []openCall
	open  map[uint32]int
}

func (s *callStack) pop() openCall {
	c := s.calls[len(s.calls)-1]
	s.calls = s.calls[:len(s.calls)-1]
	s.open[c.fn]--
	return c
}

// Report returns what the trace says of each function that was called, in no order. The names of two functions may be the same.
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
	stacks := map[*goroutine]*callStack{}
	for e := range t.Events() {
		switch e.Kind {
		case KindFunction:
			of(e.Func).Calls++
			continue
		case KindEntry, KindReturn:
		default:
			continue
		}
		s := stacks[e.g]
		if s == nil {
			s = &callStack{open: map[uint32]int{}}
			stacks[e.g] = s
		}
		if e.Lost > 0 {
			s.calls = s.calls[:0]
			clear(s.open)
		}
		for n := len(s.calls) - 1; n >= 0 && s.calls[n].depth >= e.Depth && !(e.Kind == KindReturn && s.calls[n].depth == e.Depth); n-- {
			s.pop() // its return is not in the trace
		}
		f := of(e.Func)
		if e.Kind == KindEntry {
			f.Calls++
			s.calls = append(s.calls, openCall{fn: e.Func, depth: e.Depth, start: e.Time})
			s.open[e.Func]++
			continue
		}
		c := openCall{fn: e.Func, start: e.Entry}
		switch n := len(s.calls) - 1; {
		case e.Entry != 0:
			f.Calls++
		case n >= 0 && s.calls[n].depth == e.Depth && s.calls[n].fn == e.Func:
			c = s.pop()
		default:
			continue // its entry is not in the trace
		}
		d := e.Time - c.start
		if f.hist == nil {
			f.hist = make([]uint32, HistBuckets)
			f.Min = d
		}
		f.Returns++
		f.sum += d
		f.Self += d - c.child
		f.Min, f.Max = min(f.Min, d), max(f.Max, d)
		f.hist[Bucket(uint64(max(d, 0)))]++
		if s.open[c.fn] == 0 {
			f.Total += d
		}
		if n := len(s.calls) - 1; n >= 0 {
			s.calls[n].child += d
		}
	}
	var list []*FuncReport
	add := func(id uint32, f *FuncReport) {
		f.Name = t.Name(id)
		if f.Returns > 0 {
			f.Avg = f.sum / int64(f.Returns)
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
