package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// This file is added to package runtime. It has programs call the library's End first when they die
// of a signal, of a deadlock or of a fatal error, if the library has asked for that by ftgo_arm.
//
// End needs a goroutine. If no goroutine of the program can call it, one of ftgo's does, which has
// waited for that. A signal handler may do no more than wake a thread, so a thread without a P,
// like package runtime's sysmon, resumes that goroutine. In a deadlock the thread that found it
// does.

// ftgo_dying is the state of the goroutine and the thread.
var ftgo_dying struct {
	wanted bool          // ftgo_arm was called
	state  atomic.Uint32 // one of the states below
	sig    atomic.Uint32 // signal to die of, 0 for another reason
	wake   note          // wakes the thread
	g      *g            // goroutine that waits
	last   guintptr      // goroutine that ends the program after End, 0 if none does
}

// States of ftgo_dying.
const (
	ftgo_unarmed = iota
	ftgo_armed   // the goroutine waits
	ftgo_waking  // the thread is to resume the goroutine
	ftgo_ending  // the goroutine calls End, or is about to
	ftgo_done    // End has returned: what comes now ends the program
)

// ftgo_arm starts the goroutine and the thread.
func ftgo_arm() {
	if GOARCH == "wasm" || islibrary || isarchive || ftgo_dying.wanted {
		return
	}
	ftgo_dying.wanted = true
	go ftgo_endingGoroutine()
	systemstack(func() { newm(ftgo_wakingThread, nil, -1) })
}

// ftgo_endingGoroutine calls End. Its name makes it a system goroutine, which the search for
// deadlocks, stack traces and counts of goroutines leave out.
func ftgo_endingGoroutine() {
	d := &ftgo_dying
	d.g = getg()
	gopark(ftgo_parked, nil, waitReasonForceGCIdle, traceBlockSystemGoroutine, 1)
	ftgo_hooks.End()
	d.state.Store(ftgo_done)
	if gp := d.last.ptr(); gp != nil {
		goready(gp, 1)
	} else {
		notewakeup(&d.wake) // for the signal, which is not to interrupt this goroutine
	}
	gopark(nil, nil, waitReasonForceGCIdle, traceBlockSystemGoroutine, 1)
}

// ftgo_parked is called when the goroutine has parked.
func ftgo_parked(*g, unsafe.Pointer) bool {
	ftgo_dying.state.Store(ftgo_armed)
	return true
}

// ftgo_wakingThread resumes the goroutine, and dies of the signal. As sysmon, it does not count
// where deadlocks are looked for.
//
//go:nowritebarrierrec
func ftgo_wakingThread() {
	d := &ftgo_dying
	lock(&sched.lock)
	sched.nmsys++
	checkdead()
	unlock(&sched.lock)
	for {
		notesleep(&d.wake)
		noteclear(&d.wake)
		if d.state.CompareAndSwap(ftgo_waking, ftgo_ending) {
			var list gList
			list.push(d.g)
			injectglist(&list)
		} else if sig := d.sig.Load(); sig != 0 {
			ftgo_die(sig)
		}
	}
}

// ftgo_dies begins the program's end by a signal. It reports whether the program goes on until End
// has returned. When a second signal comes, it does not. ftgo_dies runs in the signal handler.
//
//go:nowritebarrierrec
func ftgo_dies(sig uint32) bool {
	d := &ftgo_dying
	if !d.state.CompareAndSwap(ftgo_armed, ftgo_waking) {
		return false
	}
	d.sig.Store(sig)
	notewakeup(&d.wake)
	return true
}

// checkdead is called with sched.lock held when a thread goes idle. If that is a deadlock, End is
// called first.
func checkdead() {
	switch ftgo_dying.state.Load() {
	case ftgo_waking: // the goroutine is about to run, so it is no deadlock
		return
	case ftgo_armed:
		if !ftgo_deadlock() {
			break
		}
		pp, _ := pidleget(0)
		mp := mget()
		if pp != nil && mp != nil {
			ftgo_dying.state.Store(ftgo_ending)
			casgstatus(ftgo_dying.g, _Gwaiting, _Grunnable)
			globrunqput(ftgo_dying.g)
			mp.nextp.set(pp)
			notewakeup(&mp.park)
			return
		}
	}
	std_checkdead()
}

// ftgo_deadlock reports whether std_checkdead would end the program.
func ftgo_deadlock() bool {
	run0 := int32(0)
	if !iscgo && cgoHasExtraM && extraMLength.Load() > 0 {
		run0 = 1
	}
	if panicking.Load() > 0 || faketime != 0 || mcount()-sched.nmidle-sched.nmidlelocked-sched.nmsys != run0 {
		return false
	}
	waiting, others := false, false
	forEachG(func(gp *g) {
		if isSystemGoroutine(gp, false) {
			return
		}
		switch readgstatus(gp) &^ _Gscan {
		case _Gwaiting, _Gpreempted:
			waiting = true
		case _Grunnable, _Grunning, _Gsyscall:
			others = true
		}
	})
	if others {
		return false
	}
	for _, pp := range allp {
		if waiting && len(pp.timers.heap) > 0 {
			return false
		}
	}
	return true
}

// ftgo_fatal is fatal for callers in package runtime that may be on a goroutine of the program.
func ftgo_fatal(s string) {
	if gp := getg(); ftgo_dying.wanted && gp == gp.m.curg && gp.m.locks == 0 && gp.m.mallocing == 0 && gp.ftgoBusy == 0 {
		ftgo_hooks.End()
	}
	fatal(s)
}

// ftgo_overflows is a part of newstack's condition that a stack is too large. The goroutine waits
// until End has returned, as one that is preempted there. Then it comes here again, and newstack
// goes on.
func ftgo_overflows(gp *g) bool {
	d, mp := &ftgo_dying, getg().m
	if gp.ftgoBusy != 0 && mp.locks == 1 { // gp is in a hook, which will not go on: let its P go
		mp.locks = 0
	}
	if !canPreemptM(mp) || !d.state.CompareAndSwap(ftgo_armed, ftgo_waking) {
		return true
	}
	d.last.set(gp)
	gp.waitreason = waitReasonPanicWait
	notewakeup(&d.wake)
	casgstatus(gp, _Grunning, _Gwaiting)
	dropg()
	schedule()
	return true
}
