package runtime

// This file is added to package runtime where there are signals.

// ftgo_dieFromSignal is dieFromSignal for sighandler, which returns where it does.
//
//go:nowritebarrierrec
func ftgo_dieFromSignal(sig uint32) {
	if !ftgo_dies(sig) {
		dieFromSignal(sig)
	}
}

// ftgo_throws takes part in the condition under which sighandler does not print the stacks of all goroutines and end the program. asked says that another
// program has sent the signal, not a fault of this one.
//
//go:nowritebarrierrec
func ftgo_throws(sig uint32, asked bool) bool {
	return (asked || sig == _SIGQUIT) && ftgo_dies(sig)
}

// ftgo_die dies of a signal: at once of one that kills; sighandler does what there is to do for others.
func ftgo_die(sig uint32) {
	if sigtable[sig].flags&_SigKill == 0 {
		raiseproc(sig)
		return
	}
	systemstack(func() { dieFromSignal(sig) })
}

// ftgo_sigpipe is sigpipe, by which package os says that standard output or standard error has nobody to read it.
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
