// Package ftrace is ftrace for Go programs: the kernel's function tracer, at any moment, in a program that runs.
//
// The functions of a program carry hooks when it is built with "ftgo build", or "go build -toolexec ftgo". A hook that nobody uses is one
// comparison with memory. SetTracer switches a tracer on:
//
//	ftrace.SetFilter("main.*")
//	ftrace.SetTracer("function_graph")
//	work()
//	ftrace.SetTracer("nop")
//	ftrace.WriteTrace(os.Stdout)
//
// The environment does the same for a program as it stands: FTGO_TRACER names the tracer, FTGO_FILTER and FTGO_NOTRACE are globs
// separated by commas, FTGO_DEPTH is max_graph_depth, FTGO_MAX_STACK the depth of the return stacks, FTGO_BUFFER the size of the buffer
// (such as 64M), FTGO_THRESHOLD is tracing_thresh (such as 10us), FTGO_CLOCK is trace_clock, FTGO_OPTIONS options of SetOption separated by commas,
// and FTGO_OUT the file that gets the trace when the program ends (%p in it is the process's number; standard error if it is not set).
// FTGO_PROFILE is the file that gets the function profile; it needs no tracer.
//
// In a program without hooks the package links and does nothing; what needs hooks returns ErrNotInstrumented.
package ftrace
