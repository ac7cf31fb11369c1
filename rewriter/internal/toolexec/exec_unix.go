//go:build unix

package toolexec

import (
	"os"
	"syscall"
)

// Exec runs a tool in place of this process.
func Exec(args []string) error {
	return syscall.Exec(args[0], args, os.Environ())
}
