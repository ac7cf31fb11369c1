package ftrace

import (
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// hooks binds this library to the hooks of the program. The symbol belongs to the patched runtime,
// which declares it without content. This declaration has content, so the linker takes it. The
// functions in hooks are bound before any init function runs, and are called before this package is
// initialized: what they touch is static and needs no initialization.
//
//go:linkname hooks runtime.ftgo_hooks
var hooks = hook.Hooks{
	ABI:      hook.ABI,
	Attach:   attach,
	Register: register,
	Ready:    checkEnvironment,
	Enter:    enterStub,
	Entry:    listEntry,
	Exit:     exitStub,
	Mark:     undeferredFrame,
	Unwind:   unwind,
	End:      end,
}

// rt is what the patched runtime offers; nil in a program without hooks.
var rt *hook.Runtime

// tables links the tables of the hooked packages, in the order of their registration. It is written
// with the runtime lock held.
var tables struct {
	first, last *hook.Table
	sites       uint32 // function numbers given out
}

// attach is called when package runtime initializes.
func attach(r *hook.Runtime) {
	if r.ABI != hook.ABI {
		r.Fatal("the hooks of this program and the library that should serve them are of different ABI numbers; nothing can be traced")
		return
	}
	rt = r
	top.array, top.size = &top, defaultBuffer
	maxStack.Store(DefaultMaxStack)
	setGraphLimit()
	rt.Mode = modeNext
	readEnvironment()
}

// register gives the functions of a package their numbers, and applies the filters that are in
// force.
func register(t *hook.Table) {
	if rt == nil || t.ABI != hook.ABI {
		return
	}
	rt.Lock()
	t.Base = tables.sites + 1
	tables.sites += t.N
	for i := range t.N {
		siteOf(t, i).ID = t.Base + i
	}
	if tables.last != nil {
		atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(&tables.last.Next)), unsafe.Pointer(t))
	} else {
		tables.first = t
	}
	tables.last = t
	rt.Unlock()
	if top.header != nil {
		describe(t)
	}
	ctl.Lock()
	defer ctl.Unlock()
	if len(triggers.rules) > 0 {
		addTriggers(t)
	}
	eachUser(func(u *user) {
		if len(u.graphFunction)+len(u.graphNotrace) > 0 {
			u.findFunctions()
		}
		if u.applied {
			u.apply(t)
		}
	})
}

// describe writes a table into the trace's metadata, if the trace is a file.
func describe(t *hook.Table) {
	if !top.mapped() {
		return
	}
	data := tracefile.AppendTable(nil, describeTable(t))
	rt.Lock()
	top.addMeta(data)
	rt.Unlock()
}

// describeTable returns a table as traces hold it.
func describeTable(t *hook.Table) tracefile.Table {
	return tracefile.Table{Base: t.Base, N: t.N, Kept: t.Kept, Alone: t.Alone, Path: t.Path, Names: t.Names}
}

// siteOf returns the site of a package's i'th function.
func siteOf(t *hook.Table, i uint32) *hook.Site {
	return (*hook.Site)(unsafe.Add(unsafe.Pointer(t.Sites), uintptr(i)*unsafe.Sizeof(hook.Site{})))
}

// maskOf returns the mask of a package's i'th function.
func maskOf(t *hook.Table, i uint32) *uint8 {
	return (*uint8)(unsafe.Add(unsafe.Pointer(t.Masks), uintptr(i)))
}

// eachTable calls do with every table.
func eachTable(do func(*hook.Table)) {
	for t := tables.first; t != nil; t = (*hook.Table)(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(&t.Next)))) {
		do(t)
	}
}
