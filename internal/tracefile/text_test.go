package tracefile

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// builder builds a trace from rows: a goroutine on a P, and its time in ns, kind, function and
// depth.
type builder struct {
	header []byte
	rows   []row
	seq    map[uint64]uint64
}

type row struct {
	goid, start, seq uint64
	proc             uint32
	rec              [3]uint64
	text             string // of a marker
}

func newBuilder(tracer uint32) *builder {
	b := &builder{header: make([]byte, HeaderSize), seq: map[uint64]uint64{}}
	copy(b.header, Magic)
	le.PutUint32(b.header[HTracer:], tracer)
	le.PutUint32(b.header[HProcs:], 2)
	le.PutUint32(b.header[HPageSize:], MinPage)
	return b
}

// on adds records of a goroutine on a P.
func (b *builder) on(goid uint64, proc uint32, start uint64, recs ...[3]uint64) *builder {
	for _, r := range recs {
		b.rows = append(b.rows, row{goid, start, b.seq[goid], proc, r, ""})
		b.seq[goid]++
	}
	return b
}

// mark adds a marker.
func (b *builder) mark(goid uint64, proc uint32, ns, depth uint64, text string) *builder {
	b.on(goid, proc, 1, [3]uint64{ns, KindMarker, depth << 32})
	b.rows[len(b.rows)-1].text = text
	return b
}

// pages returns a page for each P.
func (b *builder) pages() (pages [][]byte) {
	slices.SortStableFunc(b.rows, func(x, y row) int { return cmp.Or(cmp.Compare(x.proc, y.proc), cmp.Compare(x.rec[0], y.rec[0])) })
	goid, next, off := uint64(0), uint64(0), 0
	var page []byte
	add := func(extra uint32, words ...uint64) {
		for _, w := range words {
			le.PutUint64(page[off:], w)
			off += 8
		}
		le.PutUint32(page[PCommit:], le.Uint32(page[PCommit:])+uint32(len(words)/2)*(1+extra))
	}
	for _, r := range b.rows {
		if page == nil || le.Uint32(page[PProc:]) != r.proc {
			page = make([]byte, MinPage)
			pages = append(pages, page)
			goid, off = 0, PageHeaderSize
			le.PutUint32(page[PMagic:], PageMagic)
			le.PutUint64(page[PGen:], uint64(len(pages)))
			le.PutUint64(page[PCounter:], r.rec[0])
			le.PutUint32(page[PProc:], r.proc)
		}
		if goid != r.goid || next != r.seq {
			goid = r.goid
			add(Extra, r.rec[0]<<8|KindSwitch, goid, r.start|r.seq<<32, 0)
		}
		if r.text != "" {
			text := make([]byte, (len(r.text)+RecordSize-1)/RecordSize*RecordSize)
			copy(text, r.text)
			add(0, r.rec[0]<<8|r.rec[1], r.rec[2]|uint64(len(r.text)))
			for ; len(text) > 0; text = text[RecordSize:] {
				add(Extra, le.Uint64(text), le.Uint64(text[8:]))
			}
		} else {
			add(0, r.rec[0]<<8|r.rec[1], r.rec[2])
		}
		next = r.seq + 1
	}
	return pages
}

// loader returns what New calls for pages.
func loader(pages [][]byte) (int, func(int, []byte) []byte) {
	return len(pages), func(i int, buf []byte) []byte { return pages[i][:min(len(buf), len(pages[i]))] }
}

func (b *builder) trace(t *testing.T) *Trace {
	t.Helper()
	names := "\tmain.go\nmain 1\nload 2\nsleep 3\nrun 4\nmid 5\nk 6\nh 7\nworker 8\nf 9\n"
	n, load := loader(b.pages())
	tr, err := New(b.header, n, load, []Table{
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

// The columns are as in the samples in Documentation/trace/ftrace.rst.
func TestFunctionGraphColumns(t *testing.T) {
	b := newBuilder(TracerGraph).on(1, 0, 1,
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
	).on(18, 0, 3,
		entry(4300000000, worker, 0),
		entry(4300001000, f, 1),
		ret(4300001417, f, 1),
	)
	golden(t, "graph", b.trace(t), Options{})
	golden(t, "graph-proc-abstime", b.trace(t), Options{Proc: true, AbsTime: true, NoOverhead: true})
	golden(t, "graph-bare", b.trace(t), Options{NoCPU: true, NoDuration: true})
}

// A leaf is folded unless something else happened on its P in between. A return names its function
// if the entry is gone.
func TestLeafFolding(t *testing.T) {
	b := newBuilder(TracerGraph).
		on(1, 0, 1, entry(1000, load, 0), ret(5000, load, 0), entry(9000, sleep, 0), ret(9900, sleep, 0)).
		on(2, 0, 3, entry(2000, f, 3), ret(2500, f, 3), ret(2600, worker, 2)).
		on(3, 1, 3, entry(9100, h, 0), ret(9200, h, 0))
	golden(t, "folding", b.trace(t), Options{Tail: true})
}

func TestFunctionColumns(t *testing.T) {
	b := newBuilder(TracerFunction).
		on(1, 0, 1, [3]uint64{17284993652000, KindFunction, mainFn | 1<<32}, [3]uint64{17284993653999, KindFunction, load | 2<<32}).
		on(1234567, 1, 3, [3]uint64{17284993652500, KindFunction, f | 3<<32}).
		on(1234567, 0, 3, [3]uint64{17284993653600, KindFunction, f | 77<<32})
	golden(t, "function", b.trace(t), Options{})
	golden(t, "function-noparent", b.trace(t), Options{NoParent: true})
}

// Markers stand where they were written, one level deeper than the function that wrote them.
func TestMarkers(t *testing.T) {
	b := newBuilder(TracerGraph).on(1, 0, 1, entry(1000, load, 0)).mark(1, 0, 1500, 1, "hello, a text that is longer than a record\n").
		on(1, 0, 1, entry(2000, readFile, 1)).mark(1, 0, 2500, 2, "sixteen bytes...").on(1, 0, 1, ret(3000, readFile, 1), ret(5000, load, 0))
	tr := b.trace(t)
	golden(t, "markers", tr, Options{})
	if tr.InBuffer() != 6 {
		t.Errorf("%d records in the buffer, want 6", tr.InBuffer())
	}
	f := newBuilder(TracerFunction).on(1, 0, 1, [3]uint64{1000, KindFunction, mainFn | 1<<32}).mark(1, 0, 1500, 1, "hello")
	golden(t, "function-markers", f.trace(t), Options{})
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

// Records that were read in the program do not come again, and the counts add up.
func TestCounts(t *testing.T) {
	b := newBuilder(TracerGraph).on(1, 0, 1, entry(1000, load, 0), ret(5000, load, 0), entry(9000, sleep, 0), ret(9900, sleep, 0))
	le.PutUint64(b.header[HOverwritten:], 10)
	le.PutUint64(b.header[HDropped:], 3)
	pages := b.pages()
	le.PutUint32(pages[0][PRead:], 3+2*Extra) // the note and a record
	n, load := loader(pages)
	tr, err := New(b.header, n, load, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tr.InBuffer() != 3 || tr.Written() != 16 {
		t.Errorf("%d in buffer, %d written; want 3 and 16", tr.InBuffer(), tr.Written())
	}
	out := 0
	for e := range tr.Events() {
		out++
		if e.Time < 5000 || e.Goid() != 1 || e.Lost != 0 {
			t.Errorf("a record of %d ns came out, of goroutine %d, %d lost", e.Time, e.Goid(), e.Lost)
		}
	}
	if out != 3 {
		t.Errorf("%d records came out, want 3", out)
	}
}

// A gap in a goroutine's records is told where it is, whichever P they were made on.
func TestLost(t *testing.T) {
	b := newBuilder(TracerFunction)
	at := func(ns uint64) [3]uint64 { return [3]uint64{ns, KindFunction, f} }
	b.on(1, 0, 1, at(1000)).on(2, 0, 1, at(1100)).on(1, 1, 1, at(2000))
	b.seq[1] += 7
	b.on(1, 0, 1, at(3000)).on(1, 1, 1, at(4000)).on(2, 1, 1, at(4100))
	var lost []uint32
	for e := range b.trace(t).Events() {
		lost = append(lost, e.Lost)
	}
	if want := []uint32{0, 0, 0, 7, 0, 0}; !slices.Equal(lost, want) {
		t.Errorf("lost %v, want %v", lost, want)
	}
}

// What a killed program leaves is read as far as it is valid.
func TestDamage(t *testing.T) {
	whole := newBuilder(TracerGraph).on(1, 0, 1, entry(1000, load, 0), ret(5000, load, 0))
	page := whole.pages()[0]
	for name, damage := range map[string]func(b []byte){
		"no magic":       func(b []byte) { le.PutUint32(b[PMagic:], 0) },
		"commit too big": func(b []byte) { le.PutUint32(b[PCommit:], MinPage/RecordSize) },
		"note cut":       func(b []byte) { le.PutUint32(b[PCommit:], 1) },
		"no note":        func(b []byte) { b[PageHeaderSize] = 200 },
		"kind unknown":   func(b []byte) { b[PageHeaderSize+2*RecordSize], b[PageHeaderSize+3*RecordSize] = 200, 200 },
	} {
		bad := bytes.Clone(page)
		damage(bad)
		n, load := loader([][]byte{bad, bad[:100], nil, page})
		tr, err := New(whole.header, n, load, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		out := 0
		for range tr.Events() {
			out++
		}
		if out != 2 {
			t.Errorf("%s: %d records, want the other page's 2", name, out)
		}
		if err := tr.WriteText(&bytes.Buffer{}, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(make([]byte, 10), 0, nil, nil); err == nil {
		t.Error("a header of 10 bytes was taken")
	}
	if _, err := New(make([]byte, HeaderSize), 0, nil, nil); err == nil || !strings.Contains(err.Error(), "0 bytes") {
		t.Errorf("pages of no size: %v", err)
	}
}

func TestTablesFromMetadata(t *testing.T) {
	var meta []byte
	var want []Table
	for i := range 3000 { // more than a page
		tab := Table{Base: uint32(2*i + 1), N: 2, Kept: uint32(i), Path: fmt.Sprint("p", i), Names: "\tf.go\nA 1\n(*T[...]).B 22\n"}
		want = append(want, tab)
		meta = AppendTable(meta, tab)
	}
	var pages [][]byte
	for len(meta) > 0 {
		b := make([]byte, MinPage)
		le.PutUint32(b, MetaMagic)
		n := copy(b[8:], meta)
		le.PutUint32(b[4:], uint32(n))
		meta = meta[n:]
		pages = append(pages, b)
	}
	if len(pages) < 2 {
		t.Fatal("one page: the test shows nothing")
	}
	n, load := loader(pages)
	tr, err := New(newBuilder(TracerGraph).header, n, load, nil)
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
