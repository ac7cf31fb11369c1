package ftrace

// ticking says that counter reads a processor's counter; otherwise it is the monotonic clock, in nanoseconds.
var ticking bool

// counter reads the clock of records.
func counter() uint64 {
	if ticking {
		return ticks()
	}
	return uint64(rt.Nanotime())
}
