package runtime

import (
	"internal/runtime/sys"
	"internal/stringslite"
)

// This file is added to package runtime. It finds the function that a goroutine is named after.

// ftgo_started returns an address in the function that the go statement of the calling goroutine
// was given. The compiler, sync, errgroup and testing put functions of their own between the go
// statement and that function. Then it is the function that was called from there; found is false
// while it has not been called.
//
//go:noinline
func ftgo_started() (entry uintptr, found bool) {
	gp := getg()
	start := gp.startpc
	if !ftgo_launches(start) {
		return start, true
	}
	// The last addresses that are found belong to the goroutine's first functions.
	var last [8]uintptr
	n := 0
	pc, sp := sys.GetCallerPC(), sys.GetCallerSP()
	systemstack(func() {
		var u unwinder
		for u.initAt(pc, sp, 0, gp, unwindSilentErrors); u.valid(); u.next() {
			last[n%len(last)] = u.frame.fn.entry()
			n++
		}
	})
	for i := n - 1; i >= max(0, n-len(last)); i-- {
		entry := last[i%len(last)]
		name := funcname(findfunc(entry))
		if stringslite.HasPrefix(name, "runtime.ftgo_") { // the hook of a function that launches
			break
		}
		if name != "runtime.goexit" && !ftgo_launches(entry) {
			return entry, true
		}
	}
	return start, false
}

// ftgo_launches reports whether a function is one that calls what a go statement was given.
func ftgo_launches(entry uintptr) bool {
	name := funcname(findfunc(entry))
	if stringslite.Index(name, ".gowrap") >= 0 {
		return true
	}
	for _, end := range ftgo_launchers {
		if stringslite.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// ftgo_launchers are the ends of the names of functions that call what a go statement was given. If
// the compiler has inlined Go, the name of the function that it is inlined in comes before.
var ftgo_launchers = [...]string{
	"(*WaitGroup).Go.func1", // package sync
	"(*Group).Go.func1",     // golang.org/x/sync/errgroup
	"(*Group).TryGo.func1",
	"testing.tRunner",
	"testing.(*B).launch",
	"testing.(*B).run1.func1",
	"testing.(*B).runN",
}
