package record

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// The progress line counts the records that are committed, not the room of the pages they lie in.
func TestCounterCountsWhatIsCommitted(t *testing.T) {
	const size = tracefile.MinPage
	le := binary.LittleEndian
	file := make([]byte, tracefile.HeaderSize+3*size)
	le.PutUint32(file[tracefile.HPageSize:], size)
	le.PutUint32(file[tracefile.HPages:], 3)
	page := func(i int) []byte { return file[tracefile.HeaderSize+i*size:][:size] }
	le.PutUint32(page(0), tracefile.MetaMagic)
	le.PutUint32(page(0)[tracefile.PCommit:], 99)
	for i := 1; i < 3; i++ {
		le.PutUint32(page(i), tracefile.PageMagic)
	}
	path := filepath.Join(t.TempDir(), "trace")
	c := counter{path: path}
	defer c.close()
	check := func(when string, wantN, wantLost uint64) {
		t.Helper()
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if n, lost := c.count(); n != wantN || lost != wantLost {
			t.Errorf("%s: count() = %d, %d, want %d, %d", when, n, lost, wantN, wantLost)
		}
	}
	le.PutUint32(page(1)[tracefile.PCommit:], 12+2*tracefile.Extra) // 12 slots, 10 records
	check("one page, not full", 10, 0)
	le.PutUint32(page(1)[tracefile.PCommit:], 22+2*tracefile.Extra)
	le.PutUint64(page(1)[tracefile.PEnd:], 1)
	le.PutUint32(page(2)[tracefile.PCommit:], 7+2*tracefile.Extra)
	check("one page full, one begun", 25, 0)
	le.PutUint32(page(2)[tracefile.PCommit:], 9+2*tracefile.Extra)
	le.PutUint64(file[tracefile.HDropped:], 4)
	check("records dropped", 27, 4)

	// The full page is used again for newer records.
	le.PutUint32(page(1)[tracefile.PCommit:], 5+2*tracefile.Extra)
	le.PutUint64(page(1)[tracefile.PEnd:], 0)
	le.PutUint64(file[tracefile.HOverwritten:], 20)
	check("records overwritten", 20+3+7, 24)
}
