package tracefile

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// FuzzRead reads files of any content. None makes it panic, or take more memory than a few times
// the file's size.
func FuzzRead(f *testing.F) {
	file := func(b *builder, meta []byte) []byte {
		pages := b.pages()
		for len(meta) > 0 {
			page := make([]byte, MinPage)
			meta = meta[PutMeta(page, meta):]
			pages = append(pages, page)
		}
		le.PutUint32(b.header[HPages:], uint32(len(pages)))
		return append(bytes.Clone(b.header), bytes.Join(pages, nil)...)
	}
	meta := AppendTable(nil, Table{Base: 1, N: 2, Path: "os", Names: "\tfile.go\nReadFile 1\n(*File).Close 7\n"})
	meta = AppendInfo(AppendSymbol(meta, 1, "runtime.main"), "command: x")
	graph := newBuilder(TracerGraph).on(1, 0, 1, entry(1000, load, 0)).mark(1, 0, 1500, 1, "hello, and more than sixteen bytes").
		on(18, 1, 3, entry(1200, worker, 0), ret(1400, worker, 0)).on(1, 0, 1, ret(5000, load, 0), [3]uint64{6000, KindSpan, worker}, [3]uint64{6500, KindValue, worker})
	f.Add(file(graph, meta))
	f.Add(file(newBuilder(TracerFunction).on(1, 0, 1, [3]uint64{1000, KindFunction, mainFn | 1<<32}), meta))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "trace")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		tr, err := ReadFile(path)
		if err != nil {
			return
		}
		defer tr.Close()
		n := uint64(0)
		for range tr.Events() {
			n++
		}
		if n > uint64(len(data))/RecordSize {
			t.Errorf("%d records in %d bytes", n, len(data))
		}
		for _, o := range []Options{{}, {Proc: true, AbsTime: true, Tail: true, Overrun: true}} {
			if err := tr.WriteText(io.Discard, o); err != nil {
				t.Error(err)
			}
		}
		for _, r := range tr.Report() {
			r.Percentile(50)
		}
		if err := tr.WriteInfo(io.Discard, true); err != nil {
			t.Error(err)
		}
		tr.Offsets()
	})
}
