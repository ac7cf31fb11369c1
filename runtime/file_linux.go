package ftrace

import (
	"syscall"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// A trace that is a file: header and pages are a shared mapping of it, so that whatever was committed is in the file however the
// program ends, and a reader needs no word from it. The file's pages are allocated before they are written: a store into a hole of a
// file system that is full would be a SIGBUS. Everything here is a plain system call, since it may run before package os and syscall
// are initialized.

var file struct {
	path string // FTGO_FILE
	fd   int
	base unsafe.Pointer
	size uintptr

	whole bool // all of it is allocated
}

const fdFloor = 200 // the file's descriptor stays clear of those that programs count

func mapped() bool { return file.base != nil }

// fileHeader maps the file, and returns its header. It returns nil if there is no file, or if it is another process's: a child
// inherits the environment of its parent.
func fileHeader(pages int) unsafe.Pointer {
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
	size := uintptr(tracefile.HeaderSize + pages*int(buffer.pageSize))
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
	if !allocateHeader(fd, size) {
		rt.Fatal("the trace file " + file.path + " finds no room")
		return nil
	}
	*pid = uint64(syscall.Getpid())
	const room = tracefile.HeaderSize - tracefile.HExe - 2
	name := unsafe.Slice((*byte)(unsafe.Add(p, tracefile.HExe+2)), room)
	if n, err := syscall.Readlink("/proc/self/exe", name); err == nil && n < room {
		*(*uint16)(unsafe.Add(p, tracefile.HExe)) = uint16(n)
	}
	file.fd, file.base, file.size = fd, p, size
	return p
}

// filePage returns the i'th page, or nil when the file system is full. It is called with the runtime lock held.
func filePage(i int) unsafe.Pointer {
	if file.base == nil {
		return nil
	}
	off := uintptr(tracefile.HeaderSize + i*int(buffer.pageSize))
	if off+uintptr(buffer.pageSize) > file.size {
		return nil
	}
	if !file.whole && fallocate(file.fd, off, uintptr(buffer.pageSize)) != 0 {
		*(*uint32)(unsafe.Add(file.base, tracefile.HState)) |= tracefile.StateNoSpace
		return nil
	}
	return unsafe.Add(file.base, off)
}

// allocateHeader makes sure that the header has room on the file system. On one that does not know how to allocate, it writes zeros for
// the whole file.
func allocateHeader(fd int, size uintptr) bool {
	switch errno := fallocate(fd, 0, tracefile.HeaderSize); errno {
	case 0:
		return true
	case syscall.EOPNOTSUPP, syscall.ENOSYS:
		var zeros [4096]byte
		for off := int64(0); off < int64(size); off += int64(len(zeros)) {
			if n, err := syscall.Pwrite(fd, zeros[:], off); err != nil || n != len(zeros) {
				return false
			}
		}
		file.whole = true
		return true
	}
	return false
}
