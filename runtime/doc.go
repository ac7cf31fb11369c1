// Package ftrace is ftrace for Go programs: the kernel's function tracer, at any moment, in a
// program that runs.
//
// The functions of a program carry hooks when it is built with "ftgo build", or
// "go build -toolexec ftgo". A hook that no tracer wants is one comparison with memory. SetTracer
// switches a tracer on:
//
//	import ftrace "github.com/ftgo/ftgo/runtime"
//
//	ftrace.SetFilter("main.*")
//	ftrace.SetTracer("function_graph")
//	work()
//	ftrace.SetTracer("nop")
//	ftrace.WriteTrace(os.Stdout, nil)
//
// Functions of all packages have hooks, except the standard library's and functions that the
// compiler inlines. Flags of the build change that: go build -toolexec "ftgo -inline=hook -std", or
// the same flags in the environment variable FTGOFLAGS.
//
// In a program without hooks the package links and does nothing; what needs hooks returns
// ErrNotInstrumented.
//
// # The first hour
//
//   - SetTracer, SetFilter and SetNotrace choose what is traced, WriteTrace writes it as text, and
//     WriteRecording as a file for ftgo replay, report and info. Both take a Selection: goroutines, a
//     range of time, functions.
//   - With function_graph switched on at the start of a program, its buffer is a flight recorder:
//     package runtime/slow writes the trace of each HTTP request that took too long.
//   - Marker puts a note of the program's own among the calls. SetGoroutineName names a goroutine.
//   - StartProfile counts calls and times of every function instead of recording them.
//   - SetTrigger makes a function switch recording on or off, or keep a snapshot.
//   - SetThreshold, SetMaxGraphDepth, SetGraphFunction, SetGoroutines and SetOption narrow the trace
//     down. Each has a getter.
//
// An Instance is a trace with all of that for itself; Default is the one that the functions of this
// package mean. Everything may be called at any time, while functions are being traced.
//
// # The environment
//
// Variables of the environment do the same for a program as it stands. A value that cannot be used
// ends the program with status 2 before main.main. A program that runs with other rights than its
// caller's, such as a setuid program, ignores them.
//
//	FTGO_TRACER      the tracer: see SetTracer
//	FTGO_FILTER      patterns, separated by commas: see SetFilter
//	FTGO_NOTRACE     patterns, separated by commas: see SetNotrace
//	FTGO_DEPTH       see SetMaxGraphDepth
//	FTGO_MAX_STACK   see SetMaxStack
//	FTGO_THRESHOLD   such as 10us: see SetThreshold
//	FTGO_BUFFER      such as 64M: see SetBufferSize
//	FTGO_CLOCK       see SetClock
//	FTGO_OPTIONS     options, separated by commas: see SetOption
//	FTGO_OUT         the file for the trace when the program ends, unless SIGKILL ends it; %p
//	                 in it is the process's number. Standard error if it is not set
//	FTGO_PROFILE     the same for the function profile, as WriteReport writes it. It needs no tracer
//
// # Tracers of the program's own
//
// Ops is a tracer of entries, GraphOps one of entries and returns, which may keep data for each
// call and see what it returned. Each has a filter of its own, and any number may be on beside the
// tracer that SetTracer has chosen, up to 32 in all. RegisterTracer adds one that SetTracer chooses
// by name. Their callbacks get a Func and a Call. Packages runtime/stacktracer and runtime/sampler
// are made so. A callback runs in the middle of whatever function was called: a lock that it takes
// must not be held while hooked functions are called, or the callback waits for its own goroutine.
//
// # Hooks, return stacks and the pointers behind them
//
// A hook calls what the global trace-function pointers point to: the current tracer's own
// functions, a list of them where several tracers are on, or stubs that do nothing (the kernel's
// ftrace_trace_function, ftrace_graph_entry, ftrace_graph_return and ftrace_stub). The pointers are
// changed atomically while the program runs; StopHooks makes every hook return at once.
//
// Each goroutine has a return stack, on which a graph tracer's calls lie until they return.
// SetMaxStack sets its maximum depth, Depth returns how deep the calling goroutine's is, and
// Overruns counts the calls that found no room.
//
// What the ftgo command compiles into a function can be written by hand, too: Enter, and a deferred
// Exit of what it returns, with a Func of NewFunc. Stub, GraphEntryStub and GraphReturnStub are
// callbacks that do nothing.
package ftrace
