package ftrace

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// A traceArray is a buffer, and the tracer that records into it with its filters and limits (struct
// trace_array in the kernel's kernel/trace/trace.h). The top array is always there and belongs to
// Default; the others belong to the other instances.
type traceArray struct {
	user
	pagePool
	index   int            // number of the array; 0 is the top one
	lent    bool           // an Instance has the array. Guarded by ctl
	header  unsafe.Pointer // the trace's header, see package tracefile; nil before first use
	current *tracer
	last    *tracer // tracer that made the records in the buffer

	processors  *processor     // states of all Ps for the array. Guarded by the runtime lock
	spareHeader unsafe.Pointer // header of the instance that had the array before

	meta     unsafe.Pointer // page of metadata that is being filled; nil before the first
	metaUsed uint32         // bytes of metadata in it

	before uint64 // records of all goroutines when the buffer was last emptied
	ended  uint64 // records of goroutines that have ended

	// readers is held for reading by functions that look at the array's pages, and for writing by
	// functions that give pages back to the system.
	readers   sync.RWMutex
	taken     int          // how often pages were given back. Guarded by readers
	consuming sync.Mutex   // held by consume and reset, which take records out of the buffer
	removing  sync.RWMutex // held for reading by triggers, for writing when the instance goes
	kept      atomic.Pointer[bufferCopy]
	options   tracefile.Options // how text is written. Guarded by textMu
}

// maxArrays is the largest number of arrays, the top one included.
const maxArrays = maxGraphUsers

// arrays holds all arrays but the top one, which has the index 0. The array of an instance that has
// been removed stays here, and serves a later instance. Entries are written with ctl held, once.
var arrays [maxArrays]atomic.Pointer[traceArray]

// top is the top array.
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

// A sequence counts a goroutine's records in one array.
type sequence struct {
	turn uint64 // see hook.Goroutine; so for seq
	seq  uint64
}

// sequence returns the goroutine's sequence in an array.
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

// in returns the P's state for an array; p is its state for the top array.
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
