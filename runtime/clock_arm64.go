package ftrace

// ticks reads the virtual counter.
func ticks() uint64

// invariant: the architecture says that the counter runs at a fixed rate (Arm ARM, D12.1).
func invariant() bool { return true }
