package runtime

// This file is added to package runtime on systems with signals.

// ftgo_dieFromSignal takes the place of dieFromSignal in sighandler, which returns if it returns.
//
//go:nowritebarrierrec
func ftgo_dieFromSignal(sig uint32) {
	if !ftgo_dies(sig) {
		dieFromSignal(sig)
	}
}

// ftgo_throws is a part of sighandler's condition that the program goes on: that sighandler does
// not print the stacks of all goroutines and end the program. asked says that the signal comes from
// another program, not from a fault of this one.
//
//go:nowritebarrierrec
func ftgo_throws(sig uint32, asked bool) bool {
	return (asked || sig == _SIGQUIT) && ftgo_dies(sig)
}

// ftgo_die dies of a signal. If the signal does not kill, it is raised again, and sighandler does
// the rest.
func ftgo_die(sig uint32) {
	if sigtable[sig].flags&_SigKill == 0 {
		raiseproc(sig)
		return
	}
	systemstack(func() { dieFromSignal(sig) })
}

// ftgo_sigpipe takes the place of sigpipe, by which package os says that standard output or
// standard error has no reader.
func ftgo_sigpipe() {
	dies := false
	systemstack(func() { dies = !signal_ignored(_SIGPIPE) && !sigsend(_SIGPIPE) })
	if dies {
		if ftgo_dying.wanted {
			ftgo_hooks.End()
		}
		systemstack(func() { dieFromSignal(_SIGPIPE) })
	}
}
