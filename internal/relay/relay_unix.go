//go:build unix

package relay

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// forward reports whether a signal may be handed on. Some are this process's own, and the terminal
// sends SIGTSTP and its kin to the whole process group; a process that is stopped alone is not to
// stop its program.
func forward(s os.Signal) bool {
	return !slices.Contains(own, s)
}

var own = []os.Signal{
	syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPIPE, syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGWINCH,
}

// stops are the signals that stop a process. Notify would keep them from doing that.
var stops = []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}

// notify has all signals sent to c except the ones that stop a process. Signals that are ignored
// follow when late is called.
func notify(c chan os.Signal) (late func()) {
	var now, then []os.Signal
	for n := syscall.Signal(1); n < 65; n++ {
		switch {
		case slices.Contains(stops, os.Signal(n)):
		case signal.Ignored(n):
			then = append(then, n)
		default:
			now = append(now, n)
		}
	}
	signal.Notify(c, now...)
	return func() {
		if len(then) > 0 {
			signal.Notify(c, then...)
		}
	}
}

// A witness is a process of the same group that does nothing but say which signals it got: what it
// got, the whole group got. Nothing else tells a signal that was sent to one process from one that
// was sent to its group, since package os/signal does not say who sent it.
type witness struct {
	cmd    *exec.Cmd
	ask    io.WriteCloser
	answer io.ReadCloser
	told   map[os.Signal]time.Time // when the witness last said that it had got the signal
}

// WitnessName is the name, argument 0, by which this program is started as a witness.
const WitnessName = "ftgo-signals"

// settle is how long after a signal the witness is asked. A signal to the group is with all of its
// processes at once; os/signal takes its time to hand it on. "timeout" sends a signal to its child
// and to its group, one after the other, which count as one.
const settle = 50 * time.Millisecond

// newWitness starts a witness, and returns nil if it cannot.
func newWitness() *witness {
	exe := "/proc/self/exe" // not by its name, which "pkill ftgo" would find
	if runtime.GOOS != "linux" {
		var err error
		if exe, err = os.Executable(); err != nil {
			return nil
		}
	}
	cmd := exec.Command(exe)
	cmd.Args = []string{WitnessName}
	cmd.Env = []string{}
	w := &witness{cmd: cmd, told: map[os.Signal]time.Time{}}
	var err error
	if w.ask, err = cmd.StdinPipe(); err != nil {
		return nil
	}
	if w.answer, err = cmd.StdoutPipe(); err != nil {
		return nil
	}
	if err := cmd.Start(); err != nil {
		return nil
	}
	return w
}

// saw reports whether the process group got a signal that this process got. Further ones of the
// same number that arrive meanwhile on signals belong to it. Without a witness the signals that a
// terminal sends are taken for the group's.
func (w *witness) saw(s os.Signal, signals chan os.Signal) bool {
	var others []os.Signal
	for timer := time.After(settle); timer != nil; {
		select {
		case other := <-signals:
			if other != s {
				others = append(others, other)
			}
		case <-timer:
			timer = nil
		}
	}
	for _, other := range others {
		select {
		case signals <- other:
		default:
		}
	}
	got, died := w.got()
	now := time.Now()
	for n, times := range got {
		if times > 0 {
			w.told[syscall.Signal(n)] = now
		}
	}
	switch {
	case died == s:
		return true
	case got == nil:
		return s == syscall.SIGINT || s == syscall.SIGQUIT
	}
	at, ok := w.told[s]
	delete(w.told, s)
	return ok && now.Sub(at) < time.Second
}

// got asks the witness which signals it got since it was last asked. A witness that a signal
// reached before it was ready died of it.
func (w *witness) got() (list []byte, died os.Signal) {
	if w == nil {
		return nil, nil
	}
	list = make([]byte, 64)
	if _, err := w.ask.Write([]byte{'?'}); err == nil {
		if _, err := io.ReadFull(w.answer, list); err == nil {
			return list, nil
		}
	}
	if w.cmd.Wait(); w.cmd.ProcessState == nil {
		return nil, nil
	}
	if ws, ok := w.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return nil, ws.Signal()
	}
	return nil, nil
}

// close ends the witness.
func (w *witness) close() {
	if w == nil {
		return
	}
	w.ask.Close()
	w.answer.Close()
	w.cmd.Wait()
}

// Witness is the main function of a witness. It ends when the process that started it does.
func Witness() {
	signals := make(chan os.Signal, 64)
	notify(signals)()
	for ask := make([]byte, 1); ; {
		if _, err := os.Stdin.Read(ask); err != nil {
			return
		}
		var got [64]byte
		for timer := time.After(settle); timer != nil; {
			select {
			case s := <-signals:
				if n := int(s.(syscall.Signal)); n < len(got) {
					got[n] = 1
				}
			case <-timer:
				timer = nil
			}
		}
		if _, err := os.Stdout.Write(got[:]); err != nil {
			return
		}
	}
}

// Die ends this process by a signal, so that its parent sees what it would have seen without it.
func Die(s os.Signal) {
	n, ok := s.(syscall.Signal)
	if !ok {
		return
	}
	signal.Reset(n)
	syscall.Kill(os.Getpid(), n)
	time.Sleep(time.Second) // the signal is on its way, unless it is ignored
	os.Exit(128 + int(n))
}

// Status returns the exit status of a program, or dies of the signal that it died of.
func Status(state *os.ProcessState) int {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		if s := ws.Signal(); s == syscall.SIGKILL || s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGHUP {
			Die(s)
		}
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}
