//go:build linux && !386 && !arm && !mips && !mipsle

package ftrace

import "syscall"

const sysMmap = syscall.SYS_MMAP

// fallocate allocates n bytes of a file, from off on. It is a raw system call, since it is made
// with the runtime lock held: the scheduler must not take the P away meanwhile, or the thread could
// not stop ("stopm holding locks").
func fallocate(fd int, off, n uintptr) syscall.Errno {
	for {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_FALLOCATE, uintptr(fd), 0, off, n, 0, 0)
		if errno != syscall.EINTR {
			return errno
		}
	}
}
