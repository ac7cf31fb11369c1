package ftrace

// setTracingOn says whether the array's records are made.
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

// writable reports whether a note may be written, by one who is pinned: what switches waits for those that have passed here.
func (a *traceArray) writable() bool {
	return tracing.Load() && !quiet.Load() && !a.paused.Load() && a.header != nil
}
