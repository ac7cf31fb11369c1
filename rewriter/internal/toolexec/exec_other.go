//go:build !unix

package toolexec

import (
	"os"
	"os/exec"
)

// Exec runs a tool, and ends this process with the tool's exit status.
func Exec(args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState != nil {
		os.Exit(cmd.ProcessState.ExitCode())
	}
	return err
}
