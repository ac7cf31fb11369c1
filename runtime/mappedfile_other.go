//go:build !linux

package ftrace

import "unsafe"

// Recording into a shared mapping exists on Linux alone. On other systems a program writes its
// trace when it ends.

var file struct{ path string }

func mapped() bool { return false }

func fileHeader(int) unsafe.Pointer { return nil }

func filePage(int) unsafe.Pointer { return nil }
