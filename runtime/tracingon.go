package ftrace

// setTracingOn says whether the array's records are made (tracing_on).
func (a *traceArray) setTracingOn(on bool) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	ctl.Lock()
	defer ctl.Unlock()
	a.paused.Store(!on)
	usePointers()
	return nil
}

// writable reports whether a goroutine that is pinned may write a note into the buffer. The
// functions that switch tracers wait for goroutines that have passed here.
func (a *traceArray) writable() bool {
	return tracing.Load() && !quiet.Load() && !a.paused.Load() && a.header != nil
}
