//go:build unix

package record

import (
	"os"
	"os/signal"
	"syscall"
)

// forward reports whether a signal is to be passed on: those that a terminal sends go to the whole process group already, and some are
// this process's own.
func forward(s os.Signal) bool {
	switch s {
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGWINCH:
		return false
	case syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPIPE, syscall.SIGCONT:
		return false
	}
	return true
}

// exitStatus returns the program's exit status, or dies of the signal that it died of.
func exitStatus(state *os.ProcessState) int {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		if s := ws.Signal(); s == syscall.SIGKILL || s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGHUP {
			signal.Reset(s)
			syscall.Kill(os.Getpid(), s)
			select {} // the signal is on its way
		}
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}
