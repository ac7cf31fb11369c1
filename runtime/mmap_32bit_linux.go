//go:build linux && (386 || arm || mips || mipsle)

package ftrace

import (
	"runtime"
	"syscall"
)

// sysMmap counts its offset in pages. The offset is always zero here.
const sysMmap = syscall.SYS_MMAP2

// fallocate is the function of mmap_64bit_linux.go. The system call takes offset and length as
// pairs of words.
func fallocate(fd int, off, n uintptr) syscall.Errno {
	pair := func(lo uintptr) (a, b uintptr) {
		if runtime.GOARCH == "mips" { // big-endian
			return 0, lo
		}
		return lo, 0
	}
	o1, o2 := pair(off)
	n1, n2 := pair(n)
	for {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_FALLOCATE, uintptr(fd), 0, o1, o2, n1, n2)
		if errno != syscall.EINTR {
			return errno
		}
	}
}
