//go:build linux && (386 || arm || mips || mipsle)

package ftrace

import "syscall"

// sysMmap counts its offset in pages; at offset zero that makes no difference.
const sysMmap = syscall.SYS_MMAP2
