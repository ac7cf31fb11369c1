package ftrace

import (
	"strings"
	"sync"

	"github.com/ftgo/ftgo/internal/tracefile"
)

var (
	textMu      sync.Mutex
	noGraphTime bool // the profile's times are without the calls below
)

// A recordOption is an option that does not concern the text of a trace.
type recordOption struct {
	name string
	set  func(a *traceArray, on bool)
	on   func(a *traceArray) bool
}

// recordOptions are all of them. An option that leaves the array alone is one of all instances.
func recordOptions() []recordOption {
	return []recordOption{
		{"overwrite", func(a *traceArray, on bool) {
			rt.Lock()
			a.keep = !on
			a.stuck.Store(false) // it will find out
			rt.Unlock()
		}, func(a *traceArray) bool { return !a.keep }},
		{"sleep-time", func(_ *traceArray, on bool) {
			ctl.Lock()
			defer ctl.Unlock()
			quiesce(&profile.user) // calls that are in progress do not know how long they slept
			profile.awake = !on
			rt.Sleep = 0
			if profile.awake && profile.wanted {
				rt.Sleep = 1
			}
			usePointers()
		}, func(*traceArray) bool { return !profile.awake }},
		{"function-fork", func(_ *traceArray, on bool) {
			ctl.Lock()
			defer ctl.Unlock()
			rt.Fork = 0
			if on {
				rt.Fork = 1
			}
		}, func(*traceArray) bool { return rt.Fork != 0 }},
		{"frame-test", func(_ *traceArray, on bool) { noFrameTest.Store(!on) },
			func(*traceArray) bool { return !noFrameTest.Load() }},
		{"graph-time", func(_ *traceArray, on bool) {
			textMu.Lock()
			defer textMu.Unlock()
			noGraphTime = !on
		}, func(*traceArray) bool { return !noGraphTime }},
	}
}

// setOption sets an option of the array, or of all.
func (a *traceArray) setOption(name string) error {
	for _, o := range recordOptions() {
		if bare, off := strings.CutPrefix(name, "no"); name == o.name || off && bare == o.name {
			if rt == nil {
				return ErrNotInstrumented
			}
			o.set(a, name == o.name)
			return nil
		}
	}
	if on := name == "funcgraph-retval"; rt != nil && (on || name == "nofuncgraph-retval") {
		ctl.Lock()
		quiesce(&a.user)
		a.values = on
		usePointers()
		ctl.Unlock()
	}
	textMu.Lock()
	defer textMu.Unlock()
	return a.options.Set(name)
}

// listOptions returns the array's options as they are set.
func (a *traceArray) listOptions() []string {
	textMu.Lock()
	list := a.options.List()
	textMu.Unlock()
	if rt == nil {
		return list
	}
	for _, o := range recordOptions() {
		list = append(list, tracefile.OptionName(o.name, o.on(a)))
	}
	return list
}
