package tracefile

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// trace builds a trace from rows of text: goroutine, P, time in ns, kind, function, depth.
type builder struct {
	header []byte
	blocks [][]byte
	gen    uint64
}

func newBuilder(tracer uint32) *builder {
	b := &builder{header: make([]byte, HeaderSize)}
	copy(b.header, Magic)
	le.PutUint32(b.header[HTracer:], tracer)
	le.PutUint32(b.header[HProcs:], 2)
	return b
}

// chunk adds a chunk in a block of its own.
func (b *builder) chunk(goid uint64, proc uint32, start uint32, rows ...[3]uint64) *builder {
	block := make([]byte, BlockSize)
	b.gen++
	le.PutUint32(block[CMagic:], ChunkMagic)
	le.PutUint32(block[CSize:], BlockSize)
	le.PutUint64(block[CGoid:], goid)
	le.PutUint64(block[CCounter:], rows[0][0])
	le.PutUint32(block[CProc:], proc)
	le.PutUint64(block[CGen:], b.gen)
	le.PutUint32(block[CStart:], start)
	off := ChunkHeaderSize
	for _, r := range rows {
		le.PutUint64(block[off:], r[0]<<8|r[1])
		le.PutUint64(block[off+8:], r[2])
		off += RecordSize
	}
	le.PutUint32(block[CCommit:], uint32(off-ChunkHeaderSize))
	b.blocks = append(b.blocks, block)
	return b
}

func (b *builder) trace(t *testing.T) *Trace {
	t.Helper()
	names := "\tmain.go\nmain 1\nload 2\nsleep 3\nrun 4\nmid 5\nk 6\nh 7\nworker 8\nf 9\n"
	tr, err := New(b.header, b.blocks, []Table{
		{Base: 1, N: 1, Path: "os", Names: "ReadFile 1\n"},
		{Base: 2, N: 9, Kept: 3, Alone: 1, Path: "main", Names: names},
	})
	if err != nil {
		t.Fatal(err)
	}
	tr.Symbol = func(off uint32) string {
		return map[uint32]string{1: "runtime.main", 2: "main.main", 3: "main.worker"}[off]
	}
	return tr
}

// The functions of the traces below.
const (
	readFile = iota + 1
	mainFn
	load
	sleep
	runFn
	mid
	k
	h
	worker
	f
)

func entry(ns, fn, depth uint64) [3]uint64 { return [3]uint64{ns, KindEntry, fn | depth<<32} }
func ret(ns, fn, depth uint64) [3]uint64   { return [3]uint64{ns, KindReturn, fn | depth<<32} }

func golden(t *testing.T, name string, tr *Trace, o Options) {
	t.Helper()
	var b bytes.Buffer
	if err := tr.WriteText(&b, o); err != nil {
		t.Fatal(err)
	}
	file := "testdata/" + name + ".golden"
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, &b, want)
	}
}

// The columns are those of the samples in Documentation/trace/ftrace.rst.
func TestFunctionGraphColumns(t *testing.T) {
	b := newBuilder(TracerGraph).chunk(1, 0, 1,
		entry(1000, mainFn, 0),
		entry(2000, load, 1),
		entry(2100, readFile, 2),
		ret(2100+61770, readFile, 2),
		ret(2000+64479, load, 1),
		entry(100000, sleep, 1),
		ret(100000+119760200, sleep, 1),
		entry(200000000, runFn, 1),
		ret(200000000+3594274000, runFn, 1),
		entry(4000000000, mid, 1),
		ret(4000000000+33998590, mid, 1),
		entry(4100000000, k, 1),
		ret(4100000000+1837709, k, 1),
		entry(4200000000, h, 1),
		ret(4200000000+140417, h, 1),
	).chunk(18, 0, 3,
		entry(4300000000, worker, 0),
		entry(4300001000, f, 1),
		ret(4300001417, f, 1),
	)
	golden(t, "graph", b.trace(t), Options{})
	golden(t, "graph-proc-abstime", b.trace(t), Options{Proc: true, AbsTime: true, NoOverhead: true})
	golden(t, "graph-bare", b.trace(t), Options{NoCPU: true, NoDuration: true})
}

// A leaf is folded unless something else happened on its P in between; a return whose entry is gone says whose it is.
func TestLeafFolding(t *testing.T) {
	b := newBuilder(TracerGraph).
		chunk(1, 0, 1, entry(1000, load, 0), ret(5000, load, 0), entry(9000, sleep, 0), ret(9900, sleep, 0)).
		chunk(2, 0, 3, entry(2000, f, 3), ret(2500, f, 3), ret(2600, worker, 2)).
		chunk(3, 1, 3, entry(9100, h, 0), ret(9200, h, 0))
	golden(t, "folding", b.trace(t), Options{Tail: true})
}

func TestFunctionColumns(t *testing.T) {
	b := newBuilder(TracerFunction).
		chunk(1, 0, 1, [3]uint64{17284993652000, KindFunction, mainFn | 1<<32}, [3]uint64{17284993653999, KindFunction, load | 2<<32}).
		chunk(1234567, 1, 3, [3]uint64{17284993652500, KindFunction, f | 3<<32}, [3]uint64{17284993653500, KindProc, 0}, [3]uint64{17284993653600, KindFunction, f | 77<<32})
	golden(t, "function", b.trace(t), Options{})
	golden(t, "function-noparent", b.trace(t), Options{NoParent: true})
}

func TestDurationFormat(t *testing.T) {
	for ns, want := range map[int64]string{
		0:                "0.000 us    ",
		382:              "0.382 us    ",
		1382:             "1.382 us    ",
		61770:            "61.770 us   ",
		140417:           "140.417 us  ",
		1837709:          "1837.709 us ",
		33998590:         "33998.59 us ",
		119760200:        "119760.2 us ",
		3594274000:       "3594274 us  ",
		3594274000 * 100: "359427400 us ",
		-5:               "0.000 us    ",
	} {
		if got := string(AppendDuration(nil, ns)); strings.TrimRight(got, " ") != strings.TrimRight(want, " ") || len(got) < 12 {
			t.Errorf("%d: %q, want %q", ns, got, want)
		}
	}
	for ns, want := range map[int64]byte{10000: ' ', 10001: '+', 100001: '!', 1000001: '#', 10000001: '*', 100000001: '@', 1000000001: '$'} {
		if got := Mark(ns); got != want {
			t.Errorf("mark of %d ns: %c, want %c", ns, got, want)
		}
	}
}

// Records before the buffer was emptied do not count, and the counts add up.
func TestCounts(t *testing.T) {
	b := newBuilder(TracerGraph).chunk(1, 0, 1, entry(1000, load, 0), ret(5000, load, 0), entry(9000, sleep, 0), ret(9900, sleep, 0))
	le.PutUint64(b.header[HSince:], 5000)
	le.PutUint64(b.header[HOverwritten:], 10)
	le.PutUint64(b.header[HDropped:], 3)
	tr := b.trace(t)
	if tr.InBuffer() != 3 || tr.Written() != 16 {
		t.Errorf("%d in buffer, %d written; want 3 and 16", tr.InBuffer(), tr.Written())
	}
	n := 0
	for e := range tr.Events() {
		n++
		if e.Time < 5000 {
			t.Errorf("a record of %d ns came out", e.Time)
		}
	}
	if n != 3 {
		t.Errorf("%d records came out, want 3", n)
	}
}

// Whatever a killed program leaves is read as far as it is valid.
func TestDamage(t *testing.T) {
	whole := newBuilder(TracerGraph).chunk(1, 0, 1, entry(1000, load, 0), ret(5000, load, 0))
	for name, damage := range map[string]func(b []byte){
		"no magic":       func(b []byte) { le.PutUint32(b[CMagic:], 0) },
		"commit too big": func(b []byte) { le.PutUint32(b[CCommit:], BlockSize) },
		"commit odd":     func(b []byte) { le.PutUint32(b[CCommit:], 17) },
		"size zero":      func(b []byte) { le.PutUint32(b[CSize:], 0) },
		"size odd":       func(b []byte) { le.PutUint32(b[CSize:], 1000) },
		"kind unknown":   func(b []byte) { b[ChunkHeaderSize], b[ChunkHeaderSize+RecordSize] = 200, 200 },
	} {
		block := bytes.Clone(whole.blocks[0])
		damage(block)
		tr, err := New(whole.header, [][]byte{block, block[:100], whole.blocks[0]}, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		n := 0
		for range tr.Events() {
			n++
		}
		if n != 2 {
			t.Errorf("%s: %d records, want the other chunk's 2", name, n)
		}
		if err := tr.WriteText(&bytes.Buffer{}, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(make([]byte, 10), nil, nil); err == nil {
		t.Error("a header of 10 bytes was taken")
	}
}

func TestTablesFromMetadata(t *testing.T) {
	var meta []byte
	var want []Table
	for i := range 3000 { // more than a block
		tab := Table{Base: uint32(2*i + 1), N: 2, Kept: uint32(i), Path: fmt.Sprint("p", i), Names: "\tf.go\nA 1\n(*T[...]).B 22\n"}
		want = append(want, tab)
		meta = AppendTable(meta, tab)
	}
	var blocks [][]byte
	for len(meta) > 0 {
		b := make([]byte, BlockSize)
		le.PutUint32(b, MetaMagic)
		n := copy(b[8:], meta)
		le.PutUint32(b[4:], uint32(n))
		meta = meta[n:]
		blocks = append(blocks, b)
	}
	if len(blocks) < 2 {
		t.Fatal("one block: the test shows nothing")
	}
	tr, err := New(make([]byte, HeaderSize), blocks, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Tables) != len(want) || tr.Tables[2999] != want[2999] {
		t.Errorf("%d tables, last %v", len(tr.Tables), tr.Tables[len(tr.Tables)-1])
	}
	if got := tr.Name(6000); got != "p2999.(*T[...]).B" {
		t.Errorf("function 6000 is %q", got)
	}
}

func TestOptions(t *testing.T) {
	var o Options
	for _, s := range []string{"funcgraph-proc", "nofuncgraph-cpu", "noprint-parent", "funcgraph-tail", "nofuncgraph-tail"} {
		if err := o.Set(s); err != nil {
			t.Error(err)
		}
	}
	if want := (Options{Proc: true, NoCPU: true, NoParent: true}); o != want {
		t.Errorf("%+v, want %+v", o, want)
	}
	if err := o.Set("nofuncgraph"); err == nil || !strings.Contains(err.Error(), "funcgraph-abstime") {
		t.Errorf("error is %v", err)
	}
}
