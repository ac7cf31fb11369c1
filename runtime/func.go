package ftrace

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// A Func is a function that carries a hook: the ip of the kernel's callbacks.
type Func struct{ site hook.Site }

// funcOf returns the Func that lies in a site.
func funcOf(site *hook.Site) *Func { return (*Func)(unsafe.Pointer(site)) }

// Name returns the function's name as stack traces show it, with its import path.
func (f *Func) Name() string {
	name, _, _ := f.describe()
	return name
}

// FileLine returns the file that declares the function, as the build named it, and the line. They
// are "" and 0 for a function of NewFunc.
func (f *Func) FileLine() (file string, line int) {
	_, file, line = f.describe()
	return file, line
}

// describe finds the function in the table of its package.
func (f *Func) describe() (name, file string, line int) {
	eachTable(func(t *hook.Table) {
		if i := f.site.ID - t.Base; i < t.N {
			tracefile.EachName(t.Names, func(j int, n, in string, at int) {
				if uint32(j) == i {
					name, file, line = t.Path+"."+n, in, at
				}
			})
		}
	})
	return name, file, line
}

// AvailableFunctions returns the names of all functions that carry a hook, with their import paths
// (available_filter_functions). It is empty in a program without hooks.
func AvailableFunctions() []string {
	var list []string
	eachName(func(full string) bool {
		list = append(list, strings.Clone(full))
		return true
	})
	return list
}

// An EnabledFunction is a function that at least one tracer wants.
type EnabledFunction struct {
	Name    string
	Tracers []string // names of the tracers
}

// EnabledFunctions returns the functions that at least one tracer wants, in the order of their
// names (enabled_functions).
func EnabledFunctions() []EnabledFunction {
	ctl.Lock()
	defer ctl.Unlock()
	var list []EnabledFunction
	eachTable(func(t *hook.Table) {
		eachNameOf(t, func(n *funcName) {
			set := atomic.LoadUint32(&siteOf(t, n.i).Tracers) & users.on.Load()
			if set == 0 {
				return
			}
			f := EnabledFunction{Name: strings.Clone(n.full)}
			eachUser(func(u *user) {
				if set&u.bit != 0 {
					f.Tracers = append(f.Tracers, u.name)
				}
			})
			list = append(list, f)
		})
	})
	slices.SortFunc(list, func(a, b EnabledFunction) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
