package tracefile

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// generate makes a trace of n records: 4 Ps, and on each of them 25 goroutines that take turns of
// some hundred records.
func generate(tb testing.TB, tracer uint32, n int) *Trace {
	const procs, perProc, functions = 4, 25, 3000
	r := rand.New(rand.NewPCG(1, 2))
	header := make([]byte, HeaderSize)
	copy(header, Magic)
	le.PutUint32(header[HTracer:], tracer)
	le.PutUint32(header[HProcs:], procs)
	le.PutUint32(header[HPageSize:], MaxPage)
	type task struct {
		id, seq uint64
		stack   []uint64
	}
	var pages [][]byte
	for p := range procs {
		var tasks [perProc]task
		for i := range tasks {
			tasks[i].id = uint64(1 + p*perProc + i)
		}
		now := uint64(1e9 + p)
		var page []byte
		slots, off := uint32(0), MaxPage
		var on *task
		put := func(words ...uint64) {
			for _, w := range words {
				le.PutUint64(page[off:], w)
				off += 8
			}
		}
		for i := range n / procs {
			switched := i%(100+p) == 0
			if switched {
				on = &tasks[r.IntN(perProc)]
			}
			if off+6*RecordSize > MaxPage {
				page = make([]byte, MaxPage)
				pages = append(pages, page)
				le.PutUint32(page[PMagic:], PageMagic)
				le.PutUint64(page[PGen:], uint64(len(pages)))
				le.PutUint64(page[PCounter:], now)
				le.PutUint32(page[PProc:], uint32(p))
				off, slots, switched = PageHeaderSize, 0, true
			}
			now += uint64(50 + r.IntN(400))
			if switched {
				put(now<<8|KindSwitch, on.id, 1000+on.id%7|on.seq<<32, 0)
				slots += 2 + 2*Extra
			}
			fn := 1 + r.Uint64N(functions)
			depth := uint64(len(on.stack))
			switch {
			case tracer == TracerFunction:
				put(now<<8|KindFunction, fn|(2000+r.Uint64N(5000))<<32)
			case depth > 0 && (depth > 30 || r.IntN(2) == 0):
				put(now<<8|KindReturn, on.stack[depth-1]|(depth-1)<<32)
				on.stack = on.stack[:depth-1]
			default:
				put(now<<8|KindEntry, fn|depth<<32)
				on.stack = append(on.stack, fn)
			}
			slots++
			on.seq++
			le.PutUint32(page[PCommit:], slots)
		}
	}
	var tables []Table
	for i := range functions / 30 {
		names := "\tfile.go\n"
		for j := range 30 {
			names += fmt.Sprintf("(*Type%d).Method%d %d\n", j%4, j, j)
		}
		tables = append(tables, Table{Base: uint32(1 + 30*i), N: 30, Path: fmt.Sprint("example.com/module/package", i), Names: names})
	}
	slices.Reverse(tables)
	count, load := loader(pages)
	t, err := New(header, count, load, tables)
	if err != nil {
		tb.Fatal(err)
	}
	callers := map[uint32]string{}
	for off := range uint32(8000) {
		callers[off] = fmt.Sprintf("example.com/module/package%d.(*Type).Caller%d", off%100, off)
	}
	t.Symbol = func(off uint32) string { return callers[off] }
	return t
}

func BenchmarkText(b *testing.B) {
	for _, c := range []struct {
		name   string
		tracer uint32
		o      Options
	}{
		{"function", TracerFunction, Options{}},
		{"graph", TracerGraph, Options{}},
		{"graph-abstime-proc", TracerGraph, Options{AbsTime: true, Proc: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			t := generate(b, c.tracer, 1e6)
			b.ReportAllocs()
			for b.Loop() {
				if err := t.WriteText(io.Discard, c.o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReport(b *testing.B) {
	t := generate(b, TracerGraph, 1e6)
	b.ReportAllocs()
	for b.Loop() {
		t.Report()
	}
}
