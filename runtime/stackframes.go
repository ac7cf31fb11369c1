package ftrace

// A StackFrame is a frame of a goroutine's stack.
type StackFrame struct {
	PC    uintptr // a return address in its function, for runtime.CallersFrames
	Size  int     // bytes
	Depth int     // bytes of it and of its callers, without what hooks take
}

// StackUsed returns how many bytes of its stack the calling goroutine uses, those of the hook among them if a callback calls. It is 0 in a program
// without hooks. It takes some nanoseconds.
func StackUsed() int {
	if rt == nil {
		return 0
	}
	return int(rt.Used())
}

// Stack writes the frames of the calling goroutine's stack into frames, the innermost first, and returns how many there are, 64 at most. Frames of hooks are left
// out; where a function was inlined, its caller's frame is its own. It is empty in a program without hooks, and where frames have no pointers: they have on
// amd64 and arm64.
func Stack(frames []StackFrame) int {
	if rt == nil {
		return 0
	}
	var pcs, sizes [64]uintptr
	n, last := rt.Frames(pcs[:min(len(frames), len(pcs))], sizes[:])
	depth := int(last)
	for i := n - 1; i >= 0; i-- {
		if i < n-1 {
			depth += int(sizes[i])
		}
		frames[i] = StackFrame{pcs[i], int(sizes[i]), depth}
	}
	return n
}
