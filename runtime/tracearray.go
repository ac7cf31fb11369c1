package ftrace

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// A traceArray is a buffer, and the tracer that records into it with its filters and limits (struct trace_array in the kernel's
// kernel/trace/trace.h): the top one, which is always there, or that of an Instance.
type traceArray struct {
	user
	pagePool
	index   int            // among all arrays; 0 is the top one
	lent    bool           // to an Instance. Guarded by ctl
	header  unsafe.Pointer // the trace's header, see package tracefile; nil before first use
	current *tracer
	last    *tracer // whose records the buffer holds

	processors  *processor     // all of them. Guarded by the runtime lock
	spareHeader unsafe.Pointer // of the instance before

	meta     unsafe.Pointer // page of metadata that is being filled; nil before the first
	metaUsed uint32         // bytes of metadata in it

	before uint64 // records of all goroutines when the buffer was last emptied
	ended  uint64 // records of goroutines that have ended

	readers   sync.RWMutex // held by whoever looks at pages from outside, and by what takes pages away from under them
	taken     int          // how often that was done. Guarded by readers
	consuming sync.Mutex   // held by who takes records out
	removing  sync.RWMutex // held by triggers that look at the array, and when its instance is removed
	kept      atomic.Pointer[bufferCopy]
	options   tracefile.Options // of text; guarded by textMu
}

// maxArrays is how many there may be.
const maxArrays = maxGraphUsers

// arrays are all of them, also those of instances that have been removed, which the next instances get. Written with ctl held; entries stay.
var arrays [maxArrays]atomic.Pointer[traceArray]

var top = traceArray{user: user{name: "trace"}, current: &nop}

// eachArray calls do with every array, the top one first.
func eachArray(do func(*traceArray)) {
	do(&top)
	for i := 1; i < maxArrays; i++ {
		if a := arrays[i].Load(); a != nil {
			do(a)
		}
	}
}

// A sequence is what a goroutine knows of its records in one array.
type sequence struct {
	turn uint64 // see hook.Goroutine
	seq  uint64
}

// sequence returns what the goroutine knows of its records in an array.
func (g *goroutine) sequence(a *traceArray) *sequence {
	if a.index == 0 {
		return (*sequence)(unsafe.Pointer(&g.Turn))
	}
	if g.sequences == nil {
		g.sequences = (*[maxArrays]sequence)(rt.Alloc(unsafe.Sizeof(*g.sequences)))
	}
	return &g.sequences[a.index]
}

var _ [unsafe.Offsetof(hook.Goroutine{}.Seq) - unsafe.Offsetof(hook.Goroutine{}.Turn) - unsafe.Offsetof(sequence{}.seq)]byte

// in returns the P's state for an array.
func (p *processor) in(a *traceArray) *processor {
	if a.index == 0 {
		return p
	}
	if p.others == nil {
		p.others = (*[maxArrays]*processor)(rt.Alloc(unsafe.Sizeof(*p.others)))
	}
	q := p.others[a.index]
	if q == nil {
		q = newProcessor(a, p.id)
		p.others[a.index] = q
	}
	return q
}
