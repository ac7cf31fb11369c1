package ftrace

import (
	"encoding/binary"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

var (
	textMu      sync.Mutex
	noGraphTime bool // the profile's times are without the calls below
)

// SetOption sets an option by the kernel's name, with "no" in front of it to switch it off (trace_options). For what WriteTrace and pipes write:
// funcgraph-abstime, -cpu, -duration, -overhead, -overrun, -proc, -tail, -retval-hex, and print-parent. With funcgraph-retval the graph tracer records what
// functions return, too, and text shows it; see Call.Retval. For the buffer: overwrite, which is on, says that new
// records take the place of the oldest when it is full; with nooverwrite recording stops then, and what finds no room is counted as dropped.
// For the profile: sleep-time, which is on, counts the time that goroutines are off their P; graph-time, which is on, says that WriteProfile's times
// are with the calls below. For SetGoroutines: function-fork. For return stacks: frame-test, which is on, compares a unique value that goes in on a call's
// entry with what comes out on its return, and stops tracing where they differ (CONFIG_HAVE_FUNCTION_GRAPH_FP_TEST); with noframe-test tracing goes on
// with the call that fits, if there is one. Only calls of Enter and Exit by hand can make a difference, or a fault of ftgo's.
func SetOption(name string) error {
	switch name {
	case "overwrite", "nooverwrite":
		if rt == nil {
			return ErrNotInstrumented
		}
		return top.setOption(name)
	case "sleep-time", "nosleep-time", "function-fork", "nofunction-fork":
		if rt == nil {
			return ErrNotInstrumented
		}
		ctl.Lock()
		defer ctl.Unlock()
		switch name {
		case "function-fork", "nofunction-fork":
			rt.Fork = 0
			if name == "function-fork" {
				rt.Fork = 1
			}
		default:
			quiesce(&profile.user) // calls that are in progress do not know how long they slept
			profile.awake = name == "nosleep-time"
			rt.Sleep = 0
			if profile.awake && profile.wanted {
				rt.Sleep = 1
			}
			usePointers()
		}
		return nil
	case "frame-test", "noframe-test":
		noFrameTest.Store(name == "noframe-test")
		return nil
	case "graph-time", "nograph-time":
		textMu.Lock()
		defer textMu.Unlock()
		noGraphTime = name == "nograph-time"
		return nil
	}
	return top.setOption(name)
}

// setOption sets an option of the array.
func (a *traceArray) setOption(name string) error {
	if name == "overwrite" || name == "nooverwrite" {
		rt.Lock()
		a.keep = name == "nooverwrite"
		a.stuck.Store(false) // it will find out
		rt.Unlock()
		return nil
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

// WriteTrace writes what is in the buffer as the kernel's file "trace" does: in the format of the function or function_graph tracer, a
// goroutine for the task and a P for the CPU. It may be called at any time, also while tracing goes on, and consumes nothing.
//
// It returns ErrNotInstrumented in a program without hooks, and otherwise errors of w alone.
func WriteTrace(w io.Writer) error { return top.writeTrace(w) }

func (a *traceArray) writeTrace(w io.Writer) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	a.ensureBuffer()
	t, o, err := a.traceOf(a.snapshot())
	if err != nil {
		return err
	}
	return t.WriteText(w, o)
}

// traceOf makes a trace of what was copied, to be written with the options that are set.
func (a *traceArray) traceOf(head []byte, pages [][]byte, tabs []tracefile.Table) (*tracefile.Trace, tracefile.Options, error) {
	t, err := tracefile.New(head, len(pages), func(i int, buf []byte) []byte { return pages[i][:len(buf)] }, tabs)
	if err != nil {
		return nil, tracefile.Options{}, err
	}
	t.Symbol = symbol
	textMu.Lock()
	defer textMu.Unlock()
	return t, a.options, nil
}

// Reset empties the buffer.
func Reset() error { return top.resetAll() }

func (a *traceArray) resetAll() error {
	if rt == nil {
		return ErrNotInstrumented
	}
	ctl.Lock()
	defer ctl.Unlock()
	a.startBuffer()
	quiesce(&a.user)
	a.reset()
	usePointers()
	return nil
}

// snapshot copies the trace. A page that is overwritten while it is copied is left out.
func (a *traceArray) snapshot() (head []byte, pages [][]byte, tabs []tracefile.Table) {
	awaitClock()
	a.readers.RLock()
	defer a.readers.RUnlock()
	rt.Lock()
	n, size := a.n, int(a.pageSize)
	rt.Unlock()
	for i := range n {
		dst := make([]byte, size)
		copyPage(dst, unsafe.Slice((*byte)(*a.at(i)), size))
		pages = append(pages, dst)
	}
	head, tabs = a.headAndTables()
	return head, pages, tabs
}

// awaitClock waits until the rate of the clock is known: to as many digits as the trace is long, since readings are 50 ns apart at worst.
func awaitClock() {
	for since := *(*uint64)(unsafe.Add(top.header, tracefile.HMono)); uint64(rt.Nanotime())-since < 2e6; {
	}
}

// headAndTables copies the header, with a pair of readings of the clock, and describes the functions.
func (a *traceArray) headAndTables() (head []byte, tabs []tracefile.Table) {
	head = make([]byte, tracefile.HeaderSize)
	rt.Lock()
	copy(head, unsafe.Slice((*byte)(a.header), tracefile.HeaderSize))
	rt.Unlock()
	le := binary.NativeEndian
	le.PutUint64(head[tracefile.HEndCounter:], rt.Clock())
	le.PutUint64(head[tracefile.HEndMono:], uint64(rt.Nanotime()))
	le.PutUint32(head[tracefile.HProcs:], uint32(runtime.GOMAXPROCS(0)))
	eachTable(func(t *hook.Table) { tabs = append(tabs, describeTable(t)) })
	if tabs == nil {
		tabs = []tracefile.Table{}
	}
	return head, tabs
}

func copyPage(dst, src []byte) {
	le := binary.NativeEndian
	magic := atomic.LoadUint32((*uint32)(unsafe.Pointer(&src[0])))
	if magic != tracefile.PageMagic {
		if magic == tracefile.MetaMagic {
			copy(dst, src)
		}
		return
	}
	gen := atomic.LoadUint64((*uint64)(unsafe.Pointer(&src[tracefile.PGen])))
	count := atomic.LoadUint32((*uint32)(unsafe.Pointer(&src[tracefile.PCommit])))
	n, _ := tracefile.Slots(count)
	if n > (len(src)-tracefile.PageHeaderSize)/tracefile.RecordSize {
		return
	}
	copy(dst, src[:tracefile.PageHeaderSize+n*tracefile.RecordSize])
	le.PutUint32(dst[tracefile.PCommit:], count)
	if atomic.LoadUint64((*uint64)(unsafe.Pointer(&src[tracefile.PGen]))) != gen || atomic.LoadUint32((*uint32)(unsafe.Pointer(&src[0]))) != magic {
		clear(dst)
	}
}

// symbol names the function that holds an offset of the text: the one the compiler kept, not those inlined into it, as the kernel's
// symbols do.
func symbol(off uint32) string {
	frames := runtime.CallersFrames([]uintptr{rt.Text + uintptr(off)})
	name := ""
	for {
		f, more := frames.Next()
		if f.Function != "" {
			name = f.Function
		}
		if !more {
			return name
		}
	}
}
