// Package hook states the shape of the hook: what the rewriter writes into programs, what it adds
// to package runtime of the standard library, and what the library in runtime/ binds to. It is
// stated here once. The rewriter copies these declarations, with other names, into the packages
// that it hooks and into package runtime, which cannot import anything of ftgo.
package hook

import "unsafe"

// ABI is the number of the shape. It changes with every change of a declaration in this file, and
// of what the functions in it may assume.
const ABI = 8

// Prefix begins every name that the rewriter adds to a package. A function with such a name is a
// wrapper: the patched runtime leaves it, and the frame that called it, out of every stack trace.
const Prefix = "ftgo_"

// A Site is the cold half of a hooked function. The hot half is its byte in Table.Masks.
type Site struct {
	Tracers uint32 // set of the tracers that want the function, a bit each
	ID      uint32 // number of the function in this process, from 1
}

// A Table lists the hooked functions of one package. It is static data of that package. The first
// thing that the initialization of the package does is to register it.
//
// Names has a line for each function: its name within the package, a blank, and the number of the
// line that declares it. A line that begins with a tab names the file of the functions in the lines
// below it. Left has a line for each function that was left alone: its name within the package, a
// blank, and why.
type Table struct {
	ABI   uint32
	N     uint32 // number of functions
	Kept  uint32 // functions left inlined in their callers
	Alone uint32 // functions left alone for another reason
	Masks *uint8 // [N]uint8: not zero while a tracer wants the function
	Sites *Site  // [N]Site
	Path  string // import path, as it stands in symbol names
	Names string // of the functions, see above
	Left  string // functions that were left alone, see above
	Base  uint32 // number of the first function; the library sets it
	Next  *Table // next table; the library sets it
}

// A Slot is what the patched runtime keeps for the library in each goroutine. The parameter slot of
// the functions below points to its first field.
type Slot struct {
	State unsafe.Pointer // a Goroutine, nil in a new goroutine; the library sets it
	// Set belongs to the library. A new goroutine has the Set of the one that started it while
	// Runtime.Fork is not zero, and 0 otherwise.
	Set uint64
}

// A Goroutine is the beginning of the library's state of a goroutine.
type Goroutine struct {
	Next   unsafe.Pointer // next Goroutine of the list that Runtime.Dead returns
	Parked uint64         // while Runtime.Sleep is not zero: clock when it left its P; 0 on a P
	Slept  uint64         // sum of the times off a P, in ticks of the clock
	Turn   uint64         // Processor.Turn if the goroutine was the last to record there
	Seq    uint64         // records so far, also dropped ones
	Top    unsafe.Pointer // where the next Frame of the return stack goes …
	End    uintptr        // … if it is below End
	Depth  int32          // number of Frames on the return stack …
	Room   int32          // … and how many it has room for
	Kept   uintptr        // while *Runtime.Keep is not zero: Frame.Token of the last call …
	Value  uintptr        // … that returned, and the first word of its results
	Panics uintptr        // not zero while Exit or Unwind is called because of a panic
}

// A Processor is the beginning of the library's state of a P.
type Processor struct {
	Turn uint64         // changes with the goroutine that records
	At   unsafe.Pointer // where the next record goes …
	End  uintptr        // … unless that is End: then Page is full
	Page unsafe.Pointer // page that At is in

	Stats  unsafe.Pointer // [NStats]*Stat, by number of the function; nil before the first call
	NStats uint32

	// Pending is the counter, in a Stat's histogram, that the last call belongs to. The next call
	// counts it. It is nil if there is none.
	Pending unsafe.Pointer
}

// A Stat holds what a P has counted of a function for the profile. It is followed by its histogram
// of durations, of 32-bit counts. Times are in ticks of the clock.
type Stat struct {
	Hits    uint64
	Total   uint64
	Below   uint64 // part of Total that was spent in calls below
	Squares float64
	Min     uint64
	Max     uint64
}

// A Frame is a call on a return stack.
type Frame struct {
	Func  uintptr // address of the function's Site, which is static data
	Start uint64  // clock on entry
	Token uintptr // what goes in on entry and is compared on exit: another one for each call
	Mode  uint32  // Runtime.Mode on entry
	Over  uint32  // calls below this one that had no room on the stack
	Child uint64  // time in calls below this one, for the profile
	Slept uint64  // Goroutine.Slept on entry, for the profile

	// What follows is valid for calls that the hooks have not pushed by themselves. The first three
	// are sets of the tracers that want returns, a bit each.
	Users  uint16 // tracers that want the return of this call
	Skip   uint16 // tracers that do not see what this call calls
	Inside uint16 // tracers that see what this call calls because of it
	Data   uint16 // place of the tracers' data of this call, plus one; 0 without data
}

// Bits of Runtime.Mode. The other bits are a number that changes whenever the tracers do.
const (
	ModeGraph    = 1 << iota // ftgo_enter and ftgo_exit record calls as the graph tracer does
	ModeFunction             // ftgo_take records calls as the function tracer does
	ModeProfile              // ftgo_enter and ftgo_exit count calls; the profile is on alone
	ModeEntries              // no tracer wants returns: ftgo_take calls Hooks.Entry
)

// Hooks is what the library offers to the hooks: the symbol runtime.ftgo_hooks. The patched runtime
// declares it without content, and the library declares it with content, which the linker takes. So
// the functions are bound before any init function runs. Without the library every field is zero.
type Hooks struct {
	ABI uint32

	// Attach is called once, when package runtime initializes.
	Attach func(*Runtime)
	// Register is called with the table of each hooked package, before anything else of the package
	// runs.
	Register func(*Table)
	// Ready is called when every package has been initialized, before main.main.
	Ready func()
	// Enter is called on entry to a function with a mask that is not zero: on the goroutine's own
	// stack, never on g0 or the signal stack, and never while the goroutine is inside Enter or
	// Exit. The goroutine is pinned, which means that it stays on its P, unless the library calls
	// Unpin.
	//
	// slot is the goroutine's word for the library, and proc is the P's. parent is the return
	// address in the function's caller, 0 if it is not known. now is the clock. The result goes to
	// Exit; 0 means that there is nothing to leave.
	//
	// The library changes Enter and Exit while the program runs: they are the trace function
	// pointer and the graph pointers.
	Enter func(site *Site, slot, proc *unsafe.Pointer, parent uintptr, now uint64) uintptr
	// Entry is called instead of Enter, without the clock, while no tracer wants returns.
	Entry func(site *Site, slot, proc *unsafe.Pointer, parent uintptr)
	// Exit is called when the function returns, panics or ends its goroutine.
	Exit func(token uintptr, slot, proc *unsafe.Pointer, now uint64)
	// Mark is called after Enter for a call that will leave by Exit where it returns, not in a
	// deferred call. off is how far the call's frame lies from the end of the goroutine's stack, in
	// bytes. The result takes the place of Enter's.
	Mark func(slot *unsafe.Pointer, off uintptr) uintptr
	// Unwind is called when calls that Mark was called for will not return, because a panic was
	// recovered further down or the goroutine ends. They are the calls on top of the goroutine's
	// return stack with frames at off from the end of its stack, or further.
	Unwind func(slot, proc *unsafe.Pointer, off uintptr, now uint64)
	// End is called when the program ends: by main's return, os.Exit, or a panic that is not
	// recovered. After a call of Runtime.Dying it is also called for a signal, a deadlock and a
	// fatal error. Several goroutines may call End at once; each goes on to end the program when
	// End returns.
	End func()
}

// Runtime is what the patched runtime offers to the library. Where it says that the library sets a
// field, the patched runtime only reads it.
type Runtime struct {
	ABI   uint32
	Calls *Hooks // what the hooks call

	Secure bool                              // other rights than the caller's (AT_SECURE)
	Getenv func(key string) string           // works before os and syscall are initialized
	Alloc  func(size uintptr) unsafe.Pointer // zeroed memory outside the Go heap, never given back
	Map    func(size uintptr) unsafe.Pointer // the same, in multiples of 64 KiB, for Unmap
	Unmap  func(p unsafe.Pointer, size uintptr)
	Lock   func() // takes a runtime lock: the holder is not preempted, and must not block
	Unlock func()
	// Mask writes a mask. Nothing else writes masks. The race detector does not look there.
	Mask func(mask *uint8, v uint8)
	// Dead takes the list of the states of goroutines that have ended, linked by Goroutine.Next.
	Dead func() unsafe.Pointer
	// Who returns the numbers of the calling goroutine and of the one that started it.
	Who func() (goid, parent uint64)
	// Started returns the function that the go statement was given. found is false while only
	// functions run that will call that one; entry is then one of them.
	Started func() (entry uintptr, found bool)
	// Dying has End called also when a signal or a fatal error ends the program.
	Dying func()
	// Symbols returns the names of the program's functions, also of inlined ones, each after a
	// zero.
	Symbols func() []byte
	// Barrier returns when every P has passed a safe point. A pinned goroutine is not at one.
	Barrier func()
	// Pin pins the calling goroutine again, which is inside Enter or Exit, and returns the P's
	// word.
	Pin func() *unsafe.Pointer
	// Unpin lets the calling goroutine be preempted and block, for a callback.
	Unpin func()
	// Begin makes the calling goroutine busy and pins it, for code outside of hooks. The results
	// are nil on g0 and inside a hook.
	Begin func() (slot, proc *unsafe.Pointer)
	// Done ends what Begin began.
	Done    func()
	Proc    func() int32  // number of the P
	Clock   func() uint64 // the clock that Enter and Exit are given
	Ticking bool          // the processor has a counter of constant rate
	// Fork, if not zero, gives a new goroutine the Slot.Set of the one that started it. The library
	// sets it.
	Fork uint32
	// Sleep, if not zero, keeps Goroutine.Parked and Slept. The library sets it.
	Sleep uint32
	// Keep points to a word that, if not zero, has wrappers keep what their functions return. The
	// library sets the word.
	Keep *uint32
	// Mono, if not zero, makes the monotonic clock the clock. The library sets it.
	Mono uint32
	// Mode is what the hooks record without a call of the library. The library sets it.
	Mode     uint32
	Direct   uint32       // bits of Mode that the hooks know
	Nanotime func() int64 // the monotonic clock, ns
	Text     uintptr      // where the program's text begins
	// Parents, if not zero, gives Enter the parent also where that takes an unwinding of the stack.
	// The library sets it.
	Parents uint32
	Enter   func(site *Site) uintptr // the hook's entry, for code that is hooked by hand
	Exit    func(token uintptr)      // the hook's exit, for code that is hooked by hand
	Fatal   func(msg string)         // prints a line on standard error
	Used    func() uintptr           // bytes of the goroutine's stack that are in use
	// Frames writes the frames of the stack, the innermost first: a return address and the size of
	// each. It returns their number, and how much of the stack the last one and its callers take.
	// The number is 0 without frame pointers.
	Frames func(pcs, sizes []uintptr) (n int, last uintptr)
}
