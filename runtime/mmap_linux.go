package ftrace

import (
	"syscall"
	"unsafe"
)

// mmap maps a file for sharing. syscall.Mmap keeps a table of mappings, which may not be
// initialized yet.
func mmap(size uintptr, fd int) (unsafe.Pointer, syscall.Errno) {
	p, _, errno := syscall.Syscall6(sysMmap, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED, uintptr(fd), 0)
	if errno != 0 {
		return nil, errno
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&p)), 0
}
