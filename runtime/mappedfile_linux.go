package ftrace

import (
	"syscall"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// This file holds the trace that is a file, FTGO_FILE. The header and the pages are a shared
// mapping of the file. So what was committed is in the file however the program ends, and a reader
// does not need the program. Parts of the file are allocated before they are written: a store into
// a hole is a SIGBUS when the file system is full. Everything here is a plain system call, since it
// may run before the packages os and syscall are initialized.

var file struct {
	path string // FTGO_FILE
	fd   int
	base unsafe.Pointer
	size uintptr

	allocated uintptr // bytes from the beginning that are allocated
	zeros     bool    // the file system does not know how to allocate; zeros are written instead
}

// fdFloor is the lowest number of the file's descriptor: it stays clear of the descriptors that
// programs count.
const fdFloor = 200

// mapped reports whether the trace is a file.
func mapped() bool { return file.base != nil }

// fileHeader maps the file, and returns its header. It returns nil if there is no file, or if the
// file belongs to another process: a child inherits the environment of its parent.
func fileHeader(pages int) unsafe.Pointer {
	if file.path == "" {
		return nil
	}
	fd, err := syscall.Open(file.path, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		rt.Fatal("the trace file " + file.path + " cannot be opened: " + err.Error())
		return nil
	}
	var pid [8]byte
	if n, err := syscall.Pread(fd, pid[:], tracefile.HPid); err == nil && n == len(pid) && pid != [8]byte{} {
		syscall.Close(fd)
		return nil
	}
	if hi, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, fdFloor); errno == 0 {
		syscall.Close(fd)
		fd = int(hi)
	}
	size := uintptr(tracefile.HeaderSize + pages*int(top.pageSize))
	if err := syscall.Ftruncate(fd, int64(size)); err != nil {
		rt.Fatal("the trace file " + file.path + " cannot be made as large as it must be: " + err.Error())
		return nil
	}
	p, errno := mmap(size, fd)
	if errno != 0 {
		rt.Fatal("the trace file " + file.path + " cannot be mapped: " + errno.Error())
		return nil
	}
	file.fd, file.size = fd, size
	if !allocate(tracefile.HeaderSize) {
		rt.Fatal("the trace file " + file.path + " finds no room")
		return nil
	}
	*(*uint64)(unsafe.Add(p, tracefile.HPid)) = uint64(syscall.Getpid())
	const room = tracefile.HeaderSize - tracefile.HExe - 2
	name := unsafe.Slice((*byte)(unsafe.Add(p, tracefile.HExe+2)), room)
	if n, err := syscall.Readlink("/proc/self/exe", name); err == nil && n < room {
		*(*uint16)(unsafe.Add(p, tracefile.HExe)) = uint16(n)
	}
	file.base = p
	return p
}

// filePage returns the i'th page of the file, and nil when the file system is full. It is called
// with the runtime lock held.
func filePage(i int) unsafe.Pointer {
	if file.base == nil {
		return nil
	}
	off := uintptr(tracefile.HeaderSize + i*int(top.pageSize))
	if off+uintptr(top.pageSize) > file.size {
		return nil
	}
	if end := off + uintptr(top.pageSize); end > file.allocated && !allocate(end) {
		*(*uint32)(unsafe.Add(file.base, tracefile.HState)) |= tracefile.StateNoSpace
		return nil
	}
	return unsafe.Add(file.base, off)
}

// ahead is how much of the file is allocated at a time, if there is room, in bytes.
const ahead = 4 << 20

// allocate makes sure that the file system has room for the file up to end. It writes zeros if the
// file system does not know how to allocate.
func allocate(end uintptr) bool {
	from := file.allocated
	if !file.zeros {
		far := min(end+ahead, file.size)
		errno := fallocate(file.fd, from, far-from)
		if errno == syscall.ENOSPC || errno == syscall.EDQUOT {
			far = end
			errno = fallocate(file.fd, from, far-from)
		}
		if errno == 0 {
			file.allocated = far
			return true
		}
		file.zeros = errno == syscall.EOPNOTSUPP || errno == syscall.ENOSYS
	}
	for file.zeros && file.allocated < end {
		n, err := syscall.Pwrite(file.fd, zeros[:min(uintptr(len(zeros)), end-file.allocated)], int64(file.allocated))
		if err != nil || n <= 0 {
			return false
		}
		file.allocated += uintptr(n)
	}
	return file.allocated >= end
}

var zeros [4096]byte
