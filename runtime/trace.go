package ftrace

import (
	"encoding/binary"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/internal/tracefile"
)

// A Selection limits what is written of a trace. Each field that is not zero is a limit, and what
// is written keeps to all of them.
type Selection struct {
	Goroutines []uint64      // numbers of goroutines, as Goid returns them
	Since      time.Time     // what happened since; of a call that began before, its return
	Until      time.Time     // what happened until then
	Last       time.Duration // what happened in so long a time before now
	Functions  []string      // calls of the functions that these patterns name, as SetFilter takes them, and what they call
	MaxBytes   int64         // of WriteRecording alone: no more bytes of records than these, the newest
}

// of puts the selection into the terms of a trace that was copied now.
func (s *Selection) of() (sel tracefile.Selection, err error) {
	if s == nil {
		return sel, nil
	}
	mono := rt.Nanotime() // before now, so that what happened just after a limit is not cut off
	now := time.Now()
	at := func(t time.Time) int64 {
		if t.IsZero() {
			return 0
		}
		return max(1, mono-int64(now.Sub(t)))
	}
	sel.Goroutines, sel.From, sel.To = s.Goroutines, at(s.Since), at(s.Until)
	if s.Last > 0 {
		sel.From = max(sel.From, 1, mono-int64(s.Last))
	}
	if len(s.Functions) > 0 {
		l := parsePatterns(s.Functions)
		if _, err := noMatch("Selection.Functions", l); err != nil {
			return sel, err
		}
		names := map[string]bool{}
		eachTable(func(t *hook.Table) {
			in, rest := l.of(t)
			eachNameOf(t, func(n *funcName) {
				if rest.match(in, n) {
					names[strings.Clone(n.full)] = true
				}
			})
		})
		sel.Functions = func(name string) bool { return names[name] }
	}
	return sel, nil
}

func (a *traceArray) writeTrace(w io.Writer, s *Selection) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	a.ensureBuffer()
	sel, err := s.of()
	if err != nil {
		return err
	}
	t, o, err := a.traceOf(a.snapshot())
	if err != nil {
		return err
	}
	t.Select = sel
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

// headAndTables copies the header, with a pair of readings of the clock, and describes the
// functions.
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

// symbol names the function that holds an offset of the text: the one that the compiler kept, not
// one that is inlined into it, as the kernel's symbols do.
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
