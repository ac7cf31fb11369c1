package runtime

// This file is added to package runtime when ftgo compiles it: the hooks' half. What hides their
// frames is in _frames.go. The declarations of internal/hook come with it under names that begin
// with ftgo_, such as ftgo_Site, ftgo_Slot, ftgo_Hooks and ftgo_ABI.
//
// Patches elsewhere in the package are made by the shape of the code. They call ftgo_recovery,
// ftgo_goexit1 and ftgo_born. They add the fields ftgo, ftgoSet, ftgoNote and ftgoBusy to g, and
// ftgo to p. They rename gdestroy, dropg, execute, runExitHooks, coroexit and preprintpanics to
// names that begin with std_. A name that began with ftgo_ would hide them from stack traces, and
// from the count of frames by which gorecover tells who may recover.

import (
	"internal/abi"
	"internal/goarch"
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

// ftgo_hooks is bound by the linker: the library declares it with content.
//
//go:linkname ftgo_hooks
var ftgo_hooks ftgo_Hooks

var ftgo_runtime = ftgo_Runtime{ABI: ftgo_ABI}

// ftgo_mallocgc is mallocgc, for the allocators that do not tell the race detector what they
// allocate (tellRace in stdruntime.go). A reference by name would be an initialization cycle.
var ftgo_mallocgc func(size uintptr, typ *_type, needzero bool) unsafe.Pointer

// ftgo_dead heads the list of the library's states of goroutines that have ended. Goroutines die on
// g0, where nothing of the library runs. The library takes the list when it next makes a state.
var ftgo_dead uintptr

// ftgo_lock_ guards the library's slow paths. It is a runtime lock, because hooks run where a
// goroutine must not block.
var ftgo_lock_ mutex

func init() {
	ftgo_mallocgc = mallocgc
	r := &ftgo_runtime
	r.Calls = &ftgo_hooks
	r.Secure = isSecureMode()
	r.Getenv = gogetenv
	r.Alloc = func(size uintptr) unsafe.Pointer { return persistentalloc(size, 64, &memstats.other_sys) }
	r.Map = func(size uintptr) unsafe.Pointer { return sysAlloc(size, &memstats.other_sys, "ftgo") }
	r.Unmap = func(p unsafe.Pointer, size uintptr) { sysFree(p, size, &memstats.other_sys) }
	r.Lock = func() { lock(&ftgo_lock_) }
	r.Unlock = func() { unlock(&ftgo_lock_) }
	r.Mask = func(mask *uint8, v uint8) { atomic.Store8(mask, v) }
	r.Dead = func() unsafe.Pointer { return unsafe.Pointer(atomic.Xchguintptr(&ftgo_dead, 0)) }
	r.Who = func() (uint64, uint64) { gp := getg(); return gp.goid, gp.parentGoid }
	r.Started = ftgo_started
	r.Dying = ftgo_arm
	r.Symbols = func() []byte { return firstmoduledata.funcnametab }
	r.Barrier = ftgo_barrier
	r.Pin = func() *unsafe.Pointer { return ftgo_pin(getg()) }
	r.Unpin = func() { ftgo_unpin(getg()) }
	r.Begin = ftgo_begin
	r.Done = func() {
		gp := getg()
		ftgo_unpin(gp)
		gp.ftgoBusy = 0
	}
	r.Proc = func() int32 { return getg().m.p.ptr().id }
	r.Clock = ftgo_clock
	if r.Ticking = ftgo_invariant(); !r.Ticking {
		r.Mono = 1
	}
	if ftgo_direct && r.Ticking {
		r.Direct = ftgo_ModeGraph | ftgo_ModeProfile
		if framepointer_enabled && !ftgo_inlines { // the caller is where the frame pointer says
			r.Direct |= ftgo_ModeFunction | ftgo_ModeEntries
		}
	}
	r.Nanotime = nanotime
	r.Keep = &ftgo_keeps
	r.Text = firstmoduledata.text
	r.Enter = ftgo_enterByHand
	r.Exit = ftgo_exit
	r.Used = func() uintptr { return getg().stack.hi - sys.GetCallerSP() }
	r.Frames = ftgo_frames
	r.Fatal = func(msg string) { print("ftgo: ", msg, "\n") }
	if ftgo_hooks.Attach != nil {
		ftgo_hooks.Attach(r)
	} else if gogetenv("FTGO_TRACER") != "" && !r.Secure {
		print("ftgo: FTGO_TRACER is set, but this program holds hooks without the library that serves them: build it with \"ftgo build\", or import github.com/ftgo/ftgo/runtime\n")
	}
}

// ftgo_register is called by the first initializer of every hooked package.
//
//go:linkname ftgo_register
func ftgo_register(t *ftgo_Table) bool {
	if ftgo_hooks.Register != nil {
		ftgo_hooks.Register(t)
	}
	return true
}

// ftgo_initialized is called when every package has been initialized. It returns the new value of
// inittrace.active.
func ftgo_initialized() bool {
	if ftgo_hooks.Ready != nil {
		ftgo_hooks.Ready()
	}
	return false
}

// ftgo_ended is called when a C program ends that was linked with a library built from Go.
//
//go:linkname ftgo_ended
func ftgo_ended() {
	if ftgo_hooks.End != nil {
		ftgo_hooks.End()
	}
}

// ftgo_takeInlined is ftgo_take for a function that the compiler may inline with its hook. It
// reports whether a function that is entered with a mask that is not zero should call its wrapper.
// It should not in three cases: its wrapper called it, which the note tells; the goroutine is
// inside a hook (the recursion guard); it runs on g0 or on the signal stack.
//
//go:linkname ftgo_takeInlined
func ftgo_takeInlined(site *ftgo_Site) bool {
	gp := getg()
	if gp.ftgoNote == uintptr(unsafe.Pointer(site)) {
		gp.ftgoNote = 0
		return false
	}
	return gp.ftgoBusy == 0 && gp == gp.m.curg
}

// ftgo_inlines says that the compiler may inline functions with hooks, as it does with a profile.
// Then a frame is not always one function.
const ftgo_inlines = false

// ftgo_enterSlow is the entry hook of a wrapper. It leaves the note as its last act on every path:
// without the note the function and its wrapper would call each other for ever.
//
// Where the hooks are in assembly language (_hooks_amd64.s), ftgo_enter comes here if something has
// to be made first. On other machines this function is ftgo_enter, and is, with ftgo_exit, what a
// traced call costs besides the library. It calls getg again wherever it needs the goroutine, which
// is in a register: a variable would be saved on the stack.
//
//go:linkname ftgo_enterSlow
//go:noinline
func ftgo_enterSlow(site *ftgo_Site) uintptr {
	getg().ftgoBusy = 1
	var parent uintptr
	if ftgo_runtime.Parents != 0 {
		if framepointer_enabled && !ftgo_inlines {
			fp := (*[2]uintptr)(unsafe.Pointer(getfp())) // this function's frame
			fp = (*[2]uintptr)(unsafe.Pointer(fp[0]))    // the wrapper's
			fp = (*[2]uintptr)(unsafe.Pointer(fp[0]))    // the function's
			parent = fp[1]
		} else {
			parent = ftgo_parent(1)
		}
	}
	now := ftgo_ticks()
	if ftgo_runtime.Mono != 0 {
		now = uint64(nanotime())
	}
	gp := getg()
	tok := ftgo_hooks.Enter(site, &gp.ftgo, ftgo_pin(gp), parent, now)
	gp = getg()
	ftgo_unpin(gp)
	gp.ftgoBusy = 0
	gp.ftgoNote = uintptr(unsafe.Pointer(site))
	return tok
}

// ftgo_entered is called by ftgo_take while no tracer wants returns. It calls the library's Entry,
// and the function goes on without its wrapper.
//
//go:noinline
func ftgo_entered(site *ftgo_Site, parent uintptr) bool {
	gp := getg()
	gp.ftgoBusy = 1
	ftgo_hooks.Entry(site, &gp.ftgo, ftgo_pin(gp), parent)
	gp = getg()
	ftgo_unpin(gp)
	gp.ftgoBusy = 0
	return false
}

// ftgo_call calls the library's Enter for the entry hooks below. The busy flag stays set.
//
//go:noinline
func ftgo_call(site *ftgo_Site, parent uintptr) uintptr {
	gp := getg()
	tok := ftgo_hooks.Enter(site, &gp.ftgo, ftgo_pin(gp), parent, ftgo_clock())
	ftgo_unpin(getg())
	return tok
}

// ftgo_enterInlined is ftgo_enterSlow for a function that the compiler may inline with its hook:
// the frame above the wrapper's is then not the function's but its caller's.
//
//go:linkname ftgo_enterInlined
//go:noinline
func ftgo_enterInlined(site *ftgo_Site) uintptr {
	getg().ftgoBusy = 1
	var parent uintptr
	switch {
	case ftgo_runtime.Parents == 0:
	case framepointer_enabled && !ftgo_inlines:
		fp := (*[2]uintptr)(unsafe.Pointer(getfp())) // this function's frame
		fp = (*[2]uintptr)(unsafe.Pointer(fp[0]))    // the wrapper's
		// The two functions are the literal that the hook is in, and the function itself.
		parent = ftgo_inlinedParent(fp[1], (*[2]uintptr)(unsafe.Pointer(fp[0])), 2)
	default:
		parent = ftgo_parent(1)
	}
	tok := ftgo_call(site, parent)
	gp := getg()
	gp.ftgoBusy = 0
	gp.ftgoNote = uintptr(unsafe.Pointer(site))
	return tok
}

// ftgo_frames walks the frame pointers. It does so on another stack, so that this one does not move
// meanwhile. It leaves out hooks, wrappers, and functions that called their wrapper, except one
// with a body that has not been entered yet. It returns the return addresses in pcs and the sizes
// of their functions' frames in sizes. n is their number, and last is how much of the stack the
// last of them and its callers take.
//
//go:noinline
func ftgo_frames(pcs, sizes []uintptr) (n int, last uintptr) {
	if !framepointer_enabled {
		return 0, 0
	}
	gp := getg()
	fp := getfp()
	systemstack(func() {
		callee := abi.FuncIDNormal
		hook := false
		for fp > gp.stack.lo && fp+2*goarch.PtrSize <= gp.stack.hi && n < len(pcs) {
			frame := (*[2]uintptr)(unsafe.Pointer(fp))
			f := findfunc(frame[1])
			if !f.valid() {
				break
			}
			// What lies between a frame pointer and the next one is the caller's frame. Where frame
			// pointers point to the lower end of a frame, it is the callee's.
			low, high := fp+2*goarch.PtrSize, frame[0]+2*goarch.PtrSize
			if goarch.IsArm64 != 0 && frame[0] != 0 {
				low, high = frame[0], *(*uintptr)(unsafe.Pointer(frame[0]))
			}
			if high <= low {
				high = gp.stack.hi
			}
			id := ftgo_funcID(f)
			name := funcname(f)
			const own, inits = "runtime." + ftgo_Prefix, "runtime.init."
			is := len(name) > len(own) && name[:len(own)] == own || len(name) > len(inits) && name[:len(inits)] == inits
			if !is && !ftgo_elide(id, callee) {
				pcs[n], sizes[n] = frame[1], high-low
				last = gp.stack.hi - low
				n++
			}
			callee = ftgo_callee(id, callee)
			if hook && id == ftgo_wrapper {
				callee = abi.FuncIDNormal
			}
			hook = is
			fp = frame[0]
		}
	})
	return n, last
}

// ftgo_inlinedParent returns where the innermost n functions at pc were called, inlined or not. fp
// is the frame that pc is in.
func ftgo_inlinedParent(pc uintptr, fp *[2]uintptr, n int) uintptr {
	fi := findfunc(pc - 1)
	if !fi.valid() {
		return 0
	}
	u, uf := newInlineUnwinder(fi, pc-1)
	for i := 0; i < n && uf.valid(); i++ {
		uf = u.next(uf)
	}
	if uf.valid() {
		return uf.pc + 1
	}
	return fp[1]
}

// ftgo_enterHere is the entry hook of a function that carries it in place, with a deferred exit.
// These functions are init functions, some function literals, and generic functions with the name
// of one of their type parameters.
//
//go:linkname ftgo_enterHere
//go:noinline
func ftgo_enterHere(site *ftgo_Site) uintptr {
	if !ftgo_mayEnter() {
		return 0
	}
	var parent uintptr
	switch {
	case ftgo_runtime.Parents == 0:
	case framepointer_enabled:
		fp := (*[2]uintptr)(unsafe.Pointer(getfp()))
		fp = (*[2]uintptr)(unsafe.Pointer(fp[0]))
		parent = fp[1]
	default:
		parent = ftgo_parent(2)
	}
	tok := ftgo_call(site, parent)
	getg().ftgoBusy = 0
	return tok
}

// ftgo_mayEnter is what ftgo_take is to functions that are not entered again. It sets the busy
// flag.
func ftgo_mayEnter() bool {
	gp := getg()
	if gp.ftgoBusy != 0 || gp != gp.m.curg || ftgo_hooks.Enter == nil {
		return false
	}
	gp.ftgoBusy = 1
	return true
}

// ftgo_enterAt is the entry hook of a function literal that leaves where it returns, by
// ftgo_exitAt. The compiler may inline the literal.
//
//go:linkname ftgo_enterAt
//go:noinline
func ftgo_enterAt(site *ftgo_Site) int {
	if !ftgo_mayEnter() {
		return 0
	}
	var parent uintptr
	switch {
	case ftgo_runtime.Parents == 0:
	case framepointer_enabled:
		fp := (*[2]uintptr)(unsafe.Pointer(getfp())) // this function's frame
		parent = ftgo_inlinedParent(fp[1], (*[2]uintptr)(unsafe.Pointer(fp[0])), 1)
	default:
		parent = ftgo_parent(2)
	}
	tok := ftgo_call(site, parent)
	gp := getg()
	if tok != 0 {
		tok = ftgo_hooks.Mark(&gp.ftgo, gp.stack.hi-sys.GetCallerSP())
	}
	gp.ftgoBusy = 0
	return int(tok)
}

// ftgo_exitAt leaves what ftgo_enterAt entered.
//
//go:linkname ftgo_exitAt
func ftgo_exitAt(tok int) { ftgo_exit(uintptr(tok)) }

// ftgo_unwind closes calls that leave where they return and will not return: their frames lie at
// off from the end of the stack, or further. panics is not zero if that is because of a panic.
func ftgo_unwind(off, panics uintptr) {
	gp := getg()
	if gp.ftgo == nil || gp.ftgoBusy != 0 || gp != gp.m.curg {
		return
	}
	gp.ftgoBusy = 1
	(*ftgo_Goroutine)(gp.ftgo).Panics = panics
	ftgo_hooks.Unwind(&gp.ftgo, ftgo_pin(gp), off, ftgo_clock())
	(*ftgo_Goroutine)(gp.ftgo).Panics = 0
	ftgo_unpin(gp)
	gp.ftgoBusy = 0
}

// ftgo_goexit1 takes the place of goexit1 in Goexit.
func ftgo_goexit1() {
	ftgo_unwind(0, 0)
	goexit1()
}

// coroexit ends the goroutine of a coroutine. Goexit runs it as a deferred function, and gets no
// further.
func coroexit(c *coro) {
	ftgo_unwind(0, 0)
	std_coroexit(c)
}

// ftgo_recovery takes the place of mcall(recovery) in nextDefer. A panic has been recovered, and
// the goroutine goes on where it leaves a frame: what was called from there has left.
func ftgo_recovery() {
	gp := getg()
	ftgo_unwind(gp.stack.hi-uintptr(gp._panic.sp), 1)
	mcall(recovery)
}

// ftgo_enterByHand is ftgo_enterHere for ftrace.Enter: the frame of that lies between the hook and
// the function, too.
//
//go:noinline
func ftgo_enterByHand(site *ftgo_Site) uintptr {
	if !ftgo_mayEnter() {
		return 0
	}
	var parent uintptr
	switch {
	case ftgo_runtime.Parents == 0:
	case framepointer_enabled:
		fp := (*[2]uintptr)(unsafe.Pointer(getfp()))
		fp = (*[2]uintptr)(unsafe.Pointer(fp[0]))
		fp = (*[2]uintptr)(unsafe.Pointer(fp[0]))
		parent = fp[1]
	default:
		parent = ftgo_parent(3)
	}
	tok := ftgo_call(site, parent)
	getg().ftgoBusy = 0
	return tok
}

// ftgo_parent returns the return address of a frame further up, where there are no frame pointers.
// Frames that stack traces do not show do not count.
func ftgo_parent(skip int) uintptr {
	var pcs [1]uintptr
	callers(skip+1, pcs[:]) // and this function
	return pcs[0]
}

// ftgo_exitSlow is the exit hook, which wrappers defer. It clears a note that is left over because
// the mask went off between the wrapper and the function. It is to ftgo_exit what ftgo_enterSlow is
// to ftgo_enter.
//
//go:linkname ftgo_exitSlow
func ftgo_exitSlow(tok uintptr) {
	gp := getg()
	gp.ftgoNote = 0
	if tok == 0 {
		return
	}
	gp.ftgoBusy = 1
	now := ftgo_ticks()
	if ftgo_runtime.Mono != 0 {
		now = uint64(nanotime())
	}
	gp = getg()
	panics := gp._panic != nil && !gp._panic.goexit && ftgo_panics()
	if panics {
		(*ftgo_Goroutine)(gp.ftgo).Panics = 1
	}
	ftgo_hooks.Exit(tok, &gp.ftgo, ftgo_pin(gp), now)
	gp = getg()
	if panics {
		(*ftgo_Goroutine)(gp.ftgo).Panics = 0
	}
	ftgo_unpin(gp)
	gp.ftgoBusy = 0
}

// ftgo_panics reports whether ftgo_exitSlow was called by a panic, not by a function that returns
// while deferred functions of a panic run. gopanic calls what the compiler has made of the defer
// statement: a wrapper around the call of ftgo_exit.
//
//go:noinline
func ftgo_panics() (panics bool) {
	pc, sp, gp := sys.GetCallerPC(), sys.GetCallerSP(), getg()
	systemstack(func() {
		var u unwinder
		wrapped := false
		u.initAt(pc, sp, 0, gp, unwindSilentErrors)
		for n := 0; n < 3 && u.valid(); n++ {
			id := u.frame.fn.funcID
			panics = wrapped && id == abi.FuncID_gopanic
			wrapped = id == abi.FuncIDWrapper
			u.next()
		}
	})
	return panics
}

// ftgo_keeps says whether wrappers call ftgo_keep.
//
//go:linkname ftgo_keeps
var ftgo_keeps uint32

// ftgo_keep keeps what a wrapper's function has returned, until ftgo_exit is called for the same
// call, which is the next thing that the wrapper does.
//
//go:linkname ftgo_keep
//go:nosplit
func ftgo_keep(tok, value uintptr) {
	if gp := getg(); tok != 0 && gp.ftgo != nil {
		s := (*ftgo_Goroutine)(gp.ftgo)
		s.Kept, s.Value = tok, value
	}
}

// ftgo_keepB, ftgo_keepH and ftgo_keepI are ftgo_keep for results that do not fill their register.
//
//go:linkname ftgo_keepB
//go:nosplit
func ftgo_keepB(tok uintptr, value uint8) { ftgo_keep(tok, uintptr(value)) }

//go:linkname ftgo_keepH
//go:nosplit
func ftgo_keepH(tok uintptr, value uint16) { ftgo_keep(tok, uintptr(value)) }

//go:linkname ftgo_keepI
//go:nosplit
func ftgo_keepI(tok uintptr, value uint32) { ftgo_keep(tok, uintptr(value)) }

// ftgo_keepPointer is ftgo_keep for the wrappers in this package.
//
//go:nosplit
func ftgo_keepPointer(tok uintptr, value *ftgo_Site) { ftgo_keep(tok, uintptr(unsafe.Pointer(value))) }

// ftgo_same returns its arguments. Its callers declare it with their own types: results are
// returned where parameters are passed, as long as both are in registers.
//
//go:linkname ftgo_same
//go:noinline
//go:nosplit
func ftgo_same() {}

// ftgo_pin keeps a goroutine on its P: what the library writes belongs to a P.
func ftgo_pin(gp *g) *unsafe.Pointer {
	gp.m.locks++
	return &gp.m.p.ptr().ftgo
}

// ftgo_unpin undoes ftgo_pin, as releasem undoes acquirem.
func ftgo_unpin(gp *g) {
	mp := gp.m
	if mp.locks--; mp.locks == 0 && gp.preempt {
		gp.stackguard0 = stackPreempt
	}
}

// ftgo_clock reads the clock of records.
func ftgo_clock() uint64 {
	if ftgo_runtime.Mono != 0 {
		return uint64(nanotime())
	}
	return ftgo_ticks()
}

// ftgo_begin makes the calling goroutine busy and pins it. It returns nil on g0 and inside a hook.
func ftgo_begin() (slot, proc *unsafe.Pointer) {
	gp := getg()
	if gp != gp.m.curg || gp.ftgoBusy != 0 {
		return nil, nil
	}
	gp.ftgoBusy = 1
	return &gp.ftgo, ftgo_pin(gp)
}

// ftgo_barrier returns when every P has passed a safe point.
func ftgo_barrier() {
	semacquire(&worldsema)
	forEachP(waitReasonGCMarkTermination, func(*p) {})
	semrelease(&worldsema)
}

// ftgo_born is called when a goroutine is made, before it is known to others. It returns the number
// of the goroutine that started it.
func ftgo_born(newg, callergp *g) uint64 {
	if ftgo_runtime.Fork != 0 {
		newg.ftgoSet = callergp.ftgoSet
	}
	return callergp.goid
}

// dropg is called when a goroutine leaves its P: when it is parked or preempted, and when it comes
// back from a system call that took too long. It runs on g0.
func dropg() {
	if gp := getg().m.curg; ftgo_runtime.Sleep != 0 && gp.ftgo != nil {
		(*ftgo_Goroutine)(gp.ftgo).Parked = ftgo_clock()
	}
	std_dropg()
}

// execute is called when a goroutine comes to a P. It runs on g0.
//
//go:yeswritebarrierrec
func execute(gp *g, inheritTime bool) {
	if s := (*ftgo_Goroutine)(gp.ftgo); s != nil && s.Parked != 0 {
		s.Slept += ftgo_clock() - s.Parked
		s.Parked = 0
	}
	std_execute(gp, inheritTime)
}

// gdestroy is called when a goroutine ends. It runs on g0.
func gdestroy(gp *g) {
	if p := uintptr(gp.ftgo); p != 0 {
		for {
			head := atomic.Loaduintptr(&ftgo_dead)
			*(*uintptr)(gp.ftgo) = head
			if atomic.Casuintptr(&ftgo_dead, head, p) {
				break
			}
		}
		gp.ftgo = nil
	}
	gp.ftgoSet = 0
	gp.ftgoNote = 0
	gp.ftgoBusy = 0
	std_gdestroy(gp)
}

// runExitHooks is called at the end of main, and by os.Exit.
func runExitHooks(code int) {
	std_runExitHooks(code)
	if ftgo_hooks.End != nil {
		ftgo_hooks.End()
	}
	if ftgo_dying.sig.Load() != 0 { // the signal may have interrupted what the program waited for
		gopark(nil, nil, waitReasonPanicWait, traceBlockForever, 1)
	}
}

// preprintpanics is called for a panic that was not recovered, before it is printed, on the
// goroutine's own stack.
func preprintpanics(p *_panic) {
	std_preprintpanics(p)
	ftgo_unwind(0, 1)
	if ftgo_hooks.End != nil {
		ftgo_hooks.End()
	}
}
