//go:build linux && !386 && !arm && !mips && !mipsle

package ftrace

import "syscall"

const sysMmap = syscall.SYS_MMAP
