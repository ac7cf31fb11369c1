package ftrace

import (
	"syscall"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// A trace that is a file: header and blocks are a shared mapping of it, so that whatever was committed is in the file however the
// program ends, and a reader needs no word from it. The file's blocks are allocated before they are written: a store into a hole of a
// file system that is full would be a SIGBUS. Everything here is a plain system call, since it may run before package os and syscall
// are initialized.

var file struct {
	path string // FTGO_FILE
	fd   int
	base unsafe.Pointer
	size uintptr
}

const fdFloor = 200 // the file's descriptor stays clear of those that programs count

func mapped() bool { return file.base != nil }

// fileHeader maps the file, and returns its header. It returns nil if there is no file, or if it is another process's: a child
// inherits the environment of its parent.
func fileHeader(blocks int) unsafe.Pointer {
	if file.path == "" {
		return nil
	}
	fd, err := syscall.Open(file.path, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		rt.Fatal("the trace file " + file.path + " cannot be opened: " + err.Error())
		return nil
	}
	if hi, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, fdFloor); errno == 0 {
		syscall.Close(fd)
		fd = int(hi)
	}
	size := uintptr(tracefile.HeaderSize + blocks*tracefile.BlockSize)
	if err := syscall.Ftruncate(fd, int64(size)); err != nil {
		rt.Fatal("the trace file " + file.path + " cannot be made as large as it must be: " + err.Error())
		return nil
	}
	p, errno := mmap(size, fd)
	if errno != 0 {
		rt.Fatal("the trace file " + file.path + " cannot be mapped: " + errno.Error())
		return nil
	}
	pid := (*uint64)(unsafe.Add(p, tracefile.HPid))
	if *pid != 0 {
		return nil
	}
	if !allocate(fd, 0, tracefile.HeaderSize) {
		rt.Fatal("the trace file " + file.path + " finds no room")
		return nil
	}
	*pid = uint64(syscall.Getpid())
	file.fd, file.base, file.size = fd, p, size
	return p
}

// fileBlock returns the i'th block, or nil when the file system is full.
func fileBlock(i int) unsafe.Pointer {
	if file.base == nil {
		return nil
	}
	off := uintptr(tracefile.HeaderSize + i*tracefile.BlockSize)
	if off+tracefile.BlockSize > file.size {
		return nil
	}
	if !allocate(file.fd, int64(off), tracefile.BlockSize) {
		*(*uint32)(unsafe.Add(file.base, tracefile.HState)) |= tracefile.StateNoSpace
		return nil
	}
	return unsafe.Add(file.base, off)
}

// allocate makes sure that a part of the file has room on its file system.
func allocate(fd int, off, n int64) bool {
	for {
		err := syscall.Fallocate(fd, 0, off, n)
		if err == nil {
			return true
		}
		if err == syscall.EINTR {
			continue
		}
		if err != syscall.EOPNOTSUPP && err != syscall.ENOSYS {
			return false
		}
		// The file system does not know how to allocate: writing zeros does.
		var zeros [4096]byte
		for i := int64(0); i < n; i += int64(len(zeros)) {
			if w, err := syscall.Pwrite(fd, zeros[:], off+i); err != nil || w != len(zeros) {
				return false
			}
		}
		return true
	}
}
