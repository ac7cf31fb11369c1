// Package relay runs a program in the place of this process: signals that reach this process alone
// are handed on to it.
package relay

import (
	"os"
	"os/exec"
	"os/signal"
)

// Run starts a command, calls started, and waits for the command to end. Until then no signal ends
// this process. A signal that was sent to this process alone is handed on to the command; one that
// was sent to the process group, as a terminal's Ctrl-C is, has reached the command already. The
// state is nil if the command did not start.
//
// The command stays in the process group of this process, so the terminal's job control sees the
// two as one job: Ctrl-Z stops both, and the command may read from the terminal.
func Run(cmd *exec.Cmd, started func(pid int)) (*os.ProcessState, error) {
	signals := make(chan os.Signal, 16)
	// A signal that this process was started with ignored, as a shell does with SIGINT for "command
	// &" in a script, is ignored by the command too; Notify would end that.
	late := notify(signals)
	defer signal.Stop(signals)
	w := newWitness()
	defer w.close()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	late()
	started(cmd.Process.Pid)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				if forward(s) && !w.saw(s, signals) {
					cmd.Process.Signal(s)
				}
			case <-done:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(done)
	if cmd.ProcessState == nil {
		return nil, err
	}
	return cmd.ProcessState, nil
}
