package ftrace

import "time"

// A Call is a traced call, as graph callbacks see it (struct ftrace_graph_ent and
// struct ftrace_graph_ret). Func, Depth and EntryTime are known on
// entry, the rest on return.
type Call struct {
	Func    *Func
	Depth   int    // of the return stack without it: 0 for the outermost traced call
	Overrun uint32 // calls since entry that lay below the maximum depth

	start, end uint64
	retval     uintptr
	valued     bool
}

// Retval returns the first word of what the function returned (fgraph_ret_regs_return_value in the
// kernel): a number or a bool as it is, a pointer, the pointer of a string or a slice, the type's
// word of an interface, which is 0 for a nil error. ok is false if that is not known: to a GraphOps
// without Retval; for functions without results; where the first result is a floating-point number,
// an array, or of a type parameter's type; for function literals; for calls that panicked or ended
// their goroutine. Integers of less than a word come without their sign. The first field of a
// struct, if it is less than a word, comes with anything in the rest of the word.
func (c *Call) Retval() (word uintptr, ok bool) { return c.retval, c.valued }

// Duration returns how long the call took, to within the resolution of the clock; 0 on entry.
func (c *Call) Duration() time.Duration {
	if c.end == 0 {
		return 0
	}
	if c.end <= c.start || rt.Mono != 0 {
		return time.Duration(c.end - c.start)
	}
	return time.Duration(nanoseconds(c.end) - nanoseconds(c.start))
}

// EntryTime returns when the call began, by the monotonic clock of traces.
func (c *Call) EntryTime() time.Duration { return timeOf(c.start) }

// ReturnTime returns when the call returned, by the monotonic clock of traces; 0 on entry.
func (c *Call) ReturnTime() time.Duration { return timeOf(c.end) }

func timeOf(clock uint64) time.Duration {
	if clock == 0 {
		return 0
	}
	return time.Duration(nanoseconds(clock))
}
