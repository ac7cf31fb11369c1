// Package hook states the shape of the hook: what the rewriter writes into programs, what it adds to package runtime of the
// standard library, and what the library in runtime/ binds to. It is stated here once; the rewriter copies these declarations, with
// other names, into the packages it hooks and into package runtime, which cannot import anything of ours.
package hook

import "unsafe"

// ABI numbers the shape. It changes with every change of a declaration in this file, or of what the functions in it may assume.
const ABI = 8

// Prefix begins every name that the rewriter adds to a package. A function whose name begins so is a wrapper: the patched
// runtime leaves it, and the frame that called it, out of every stack trace.
const Prefix = "ftgo_"

// A Site is the cold half of a hooked function; the hot half is its byte in Table.Masks.
type Site struct {
	Tracers uint32 // the set of tracers that want the function, a bit each
	ID      uint32 // number of the function in this process, from 1
}

// A Table lists the hooked functions of one package. It is static data of that package; registering it is the first thing that
// the package's initialization does.
type Table struct {
	ABI   uint32
	N     uint32 // number of functions
	Kept  uint32 // functions left inlined in their callers
	Alone uint32 // functions left alone for another reason
	Masks *uint8 // [N]uint8: not zero while a tracer wants the function
	Sites *Site  // [N]Site
	Path  string // import path, as it stands in symbol names
	Names string // a line each: name within the package, blank, line; a line that begins with a tab names the file of those below it
	Left  string // a line for each function that was left alone: name within the package, blank, why
	Base  uint32 // number of the first function; the library assigns it
	Next  *Table // the table registered before; the library links them
}

// A Slot is what the patched runtime keeps for the library in each goroutine: slot in the functions below points to its first field.
type Slot struct {
	State unsafe.Pointer // the library's; nil in a new goroutine. It points to a Goroutine
	Set   uint64         // the library's; a new goroutine has that of the one that started it while Runtime.Fork is not zero, otherwise 0
}

// A Goroutine is what begins the library's state of a goroutine.
type Goroutine struct {
	Next   unsafe.Pointer // of the list that Dead returns
	Parked uint64         // the clock when the goroutine left its P, while Runtime.Sleep is not zero; 0 while it runs
	Slept  uint64         // how long it was off its P, in all
	Turn   uint64         // the P's Turn when the goroutine's records come next on it
	Seq    uint64         // records so far, those that found no room included
	Top    unsafe.Pointer // where the return stack's next Frame goes …
	End    uintptr        // … if it lies below
	Depth  int32          // Frames on the return stack …
	Room   int32          // … and how many it has room for
	Kept   uintptr        // Frame.Token of the call that returned last, while Runtime.Keep says so …
	Value  uintptr        // … and the first word of its results
	Panics uintptr        // not zero while Exit or Unwind is called because of a panic
}

// A Processor is what begins the library's state of a P.
type Processor struct {
	Turn uint64         // changes with the goroutine whose records come
	At   unsafe.Pointer // where the next record goes …
	End  uintptr        // … unless it is this
	Page unsafe.Pointer // the page that it lies in

	Stats  unsafe.Pointer // [NStats]*Stat, by number of the function; nil before the first call
	NStats uint32

	Pending unsafe.Pointer // the counter of a Stat's histogram that the last call belongs to, which the next one counts; nil if there is none
}

// A Stat is what a P counts of a function, for the profile, and begins its histogram of durations, of 32-bit counts. Times are in ticks of the clock.
type Stat struct {
	Hits    uint64
	Total   uint64
	Below   uint64 // of Total, in calls below
	Squares float64
	Min     uint64
	Max     uint64
}

// A Frame is a call on a return stack.
type Frame struct {
	Func  uintptr // address of the function's Site, which is static data
	Start uint64  // clock on entry
	Token uintptr // what goes in on entry and is compared on exit: no two calls of a goroutine have the same
	Mode  uint32  // Runtime.Mode on entry
	Over  uint32  // calls below this one that found no room on the stack
	Child uint64  // time in calls below it, for the profile
	Slept uint64  // how long the goroutine was off its P before, for the profile

	// Of calls that the hooks have not pushed by themselves: sets of the tracers that want returns, a bit each.
	Users  uint16 // who wants this one
	Skip   uint16 // whom it keeps from seeing what it calls
	Inside uint16 // who sees what it calls because of it
	Data   uint16 // where their data lies, plus one; 0 if there is none
}

// Bits of Runtime.Mode. The others are a number that changes whenever the tracer does.
const (
	ModeGraph    = 1 << iota // ftgo_enter and ftgo_exit record calls as the graph tracer does
	ModeFunction             // ftgo_take records calls as the function tracer does
	ModeProfile              // ftgo_enter and ftgo_exit count calls for the profile, and there is no tracer beside it
	ModeEntries              // nobody wants returns: ftgo_take calls Hooks.Entry, and the function has been traced
)

// Hooks is what the library offers to the hooks: the symbol runtime.ftgo_hooks. The patched runtime declares it without content,
// the library with; the linker takes the content, so the functions are bound before any init function runs. Without the
// library every field is zero.
type Hooks struct {
	ABI uint32

	// Attach is called once, when package runtime initializes.
	Attach func(*Runtime)
	// Register is called with the table of each hooked package before anything else in the package runs.
	Register func(*Table)
	// Ready is called when every package has been initialized, before main.main.
	Ready func()
	// Enter is called on entry to a function with a mask that is not zero, on the goroutine's own stack, never on g0 or the
	// signal stack and never while the goroutine is inside Enter or Exit. The goroutine is pinned: it stays on its P, unless the library
	// calls Unpin. slot is the goroutine's word for the library, proc the P's, parent the return address in the function's caller, 0 if it
	// is not known, and now the clock. The result goes to Exit; 0 means that there is nothing to leave.
	//
	// The library writes Enter and Exit while the program runs: they are the trace function pointer and its kin.
	Enter func(site *Site, slot, proc *unsafe.Pointer, parent uintptr, now uint64) uintptr
	// Entry is called instead, as Enter is but without the clock, while nobody wants returns.
	Entry func(site *Site, slot, proc *unsafe.Pointer, parent uintptr)
	// Exit is called when the function returns, panics or ends its goroutine.
	Exit func(token uintptr, slot, proc *unsafe.Pointer, now uint64)
	// Mark is called when the call that Enter has pushed last will leave by Exit where it returns, not in a deferred call. off is how far
	// its frame lies from the end of the goroutine's stack, in bytes. The result takes the place of Enter's.
	Mark func(slot *unsafe.Pointer, off uintptr) uintptr
	// Unwind is called when such calls will not return, because a panic was recovered further down, or the goroutine ends: those at the top of
	// its return stack whose frames lie at off from the end of its stack, or further.
	Unwind func(slot, proc *unsafe.Pointer, off uintptr, now uint64)
	// End is called when the program ends: by main's return, os.Exit, a panic that is not recovered, and, after a call of Runtime.Dying, a signal, a
	// deadlock or a fatal error. Several goroutines may call it; each goes on to end the program when it returns.
	End func()
}

// Runtime is what the patched runtime offers to the library.
type Runtime struct {
	ABI   uint32
	Calls *Hooks // what the hooks call

	Secure   bool                              // the program runs with other rights than its caller's (AT_SECURE)
	Getenv   func(key string) string           // works before package os and syscall are initialized
	Alloc    func(size uintptr) unsafe.Pointer // zeroed memory outside the Go heap, never given back
	Map      func(size uintptr) unsafe.Pointer // the same, a multiple of 64 KiB, to be given back by Unmap
	Unmap    func(p unsafe.Pointer, size uintptr)
	Lock     func() // a runtime lock: the holder is not preempted, and must not block
	Unlock   func()
	Mask     func(mask *uint8, v uint8)                       // the only writer of masks, where the race detector does not look
	Dead     func() unsafe.Pointer                            // takes the list of the words of goroutines that have ended, linked by Next
	Who      func() (goid, parent uint64)                     // the calling goroutine, and the one that started it
	Started  func() (entry uintptr, found bool)               // the function that the go statement was given; found is false while only one that launches it runs
	Dying    func()                                           // have End called, too, when a signal or a fatal error ends the program
	Symbols  func() []byte                                    // names of the program's functions, inlined ones included, each behind a zero
	Barrier  func()                                           // returns when every P has passed a safe point; a pinned goroutine is not at one
	Pin      func() *unsafe.Pointer                           // keeps the calling goroutine, which is inside Enter or Exit, on its P again, and returns the P's word
	Unpin    func()                                           // lets it be preempted and block, for a callback
	Begin    func() (slot, proc *unsafe.Pointer)              // begins what Enter is to code outside of hooks: busy and pinned; nil on g0 and inside a hook
	Done     func()                                           // ends it
	Proc     func() int32                                     // number of the P
	Clock    func() uint64                                    // the clock that Enter and Exit are given
	Ticking  bool                                             // the processor has a counter of constant rate
	Fork     uint32                                           // not zero: a new goroutine has the Set of the one that started it; the library sets it
	Sleep    uint32                                           // not zero: keep Parked and Slept; the library sets it
	Keep     *uint32                                          // not zero: wrappers keep what their functions return; the library sets it
	Mono     uint32                                           // not zero: the clock is the monotonic one all the same; the library sets it
	Mode     uint32                                           // what the hooks record without a call of the library; the library sets it
	Direct   uint32                                           // the bits of Mode that they know
	Nanotime func() int64                                     // the monotonic clock
	Text     uintptr                                          // where the program's text begins
	Parents  uint32                                           // not zero: give Enter the parent also where that takes an unwinding of the stack; the library sets it
	Enter    func(site *Site) uintptr                         // the hook's entry, for code that is hooked by hand
	Exit     func(token uintptr)                              // the hook's exit
	Fatal    func(msg string)                                 // prints a line on standard error
	Used     func() uintptr                                   // bytes of the goroutine's stack that are in use
	Frames   func(pcs, sizes []uintptr) (n int, last uintptr) // the frames of the stack, the innermost first: return address and size; and how much of the stack the last one and its callers take. None without frame pointers
}
