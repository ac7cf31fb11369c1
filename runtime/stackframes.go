package ftrace

// A StackFrame is a frame of a goroutine's stack.
type StackFrame struct {
	PC    uintptr // a return address in its function, for runtime.CallersFrames
	Size  int     // bytes of the frame
	Depth int     // bytes of the frame and of all its callers, without what hooks take
}

// StackUsed returns how many bytes of its stack the calling goroutine uses. In a callback they
// include the frames of the hook. It is 0 in a program without hooks. A call takes some
// nanoseconds.
func StackUsed() int {
	if rt == nil {
		return 0
	}
	return int(rt.Used())
}

// Stack writes the frames of the calling goroutine's stack into frames, the innermost first, and
// returns their number. It writes no more than len(frames), and no more than 64. It leaves out the
// frames of hooks. A function that was inlined has no frame of its own: its caller's frame counts.
// The number is 0 in a program without hooks, and where there are no frame pointers; amd64 and
// arm64 have them.
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
