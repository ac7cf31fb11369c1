// Killed makes calls on several goroutines until it is killed. The variable COUNTS names a file
// that it maps. There it counts how many calls each goroutine has made. A counter is two words: the
// goroutine's number, and the count.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	ftrace "github.com/ftgo/ftgo/runtime"
)

const goroutines = 8

func main() {
	f, err := os.OpenFile(os.Getenv("COUNTS"), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = f.Truncate(goroutines * 16)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	mem, err := syscall.Mmap(int(f.Fd()), 0, goroutines*16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := range goroutines {
		word := func(n int) *uint64 { return (*uint64)(unsafe.Pointer(&mem[i*16+n*8])) }
		go func() {
			atomic.StoreUint64(word(0), ftrace.Goid())
			for n := uint64(1); ; n++ {
				_ = work(int(n) % 5)
				atomic.StoreUint64(word(1), n)
				if n%100 == 0 {
					runtime.Gosched()
				}
			}
		}()
	}
	time.Sleep(time.Hour)
}

//go:noinline
func work(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + deeper(n-1)
}

//go:noinline
func deeper(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + deeper(n-1)
}
