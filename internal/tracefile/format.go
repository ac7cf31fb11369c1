// Package tracefile holds the form in which records are kept, in memory and in files alike: what
// runtime/ writes, how it is read back in order of time, and the kernel's text formats of it.
// Traced programs link it, so it depends on the standard library alone.
//
// A trace is a header of HeaderSize bytes and pages of one size, which the header tells. A page
// holds the records that were made on one P, or metadata: a page header, then records of
// RecordSize bytes, as many as the commit word says. Everything is little-endian.
package tracefile

import (
	"encoding/binary"

	"github.com/ftgo/ftgo/internal/hook"
)

// Sizes, in bytes.
const (
	HeaderSize     = 4096
	MinPage        = 4 << 10
	MaxPage        = 64 << 10
	PageHeaderSize = 80
	RecordSize     = hook.RecordSize
)

// Magic begins a file.
const Magic = "ftgotrc2"

// Offsets in the header.
const (
	HPid         = 16  // u64
	HCounter     = 24  // u64 clock counter at the start …
	HMono        = 32  // u64 … and the monotonic clock then, ns
	HWall        = 40  // u64 wall clock then, ns since 1970
	HEndCounter  = 48  // u64 the same pair at the end, or when the file was last looked at
	HEndMono     = 56  // u64
	HText        = 64  // u64 address of the program's text
	HPages       = 72  // u32 pages in use
	HState       = 76  // u32 State bits
	HDropped     = 80  // u64 records that found no room
	HOverrun     = 88  // u64 calls below the maximum depth of the return stacks
	HOverwritten = 96  // u64 records overwritten by newer ones
	HPageSize    = 104 // u32 size of a page, bytes
	HTracer      = 112 // u32 tracer of the records
	HCounterKind = 116 // u32 what the counter counts
	HMaxStack    = 120 // u32 maximum depth of the return stacks
	HProcs       = 124 // u32 number of Ps
	HOff         = 128 // u64 clock when recording was switched off; 0 while it is on
	HSince       = 136 // u64 clock: records before it are not to be shown; 0 shows all
	HExe         = 256 // u16 length, then the path of the program
)

// State bits.
const (
	StateEnded   = 1 // the program came to its end in order
	StateNoSpace = 2 // the file could not grow; recording stopped
)

// What the counter counts.
const (
	CounterNanoseconds = 0
	CounterTicks       = 1 // at a constant rate, see HCounter and HEndCounter
)

// Tracers.
const (
	TracerNop      = 0
	TracerFunction = 1
	TracerGraph    = 2
	TracerUser     = 3
)

// Magic numbers that begin a page.
const (
	PageMagic = 0x47505446 // FTPG
	MetaMagic = 0x444d5446 // FTMD
)

// Offsets in a page's header.
const (
	PMagic   = 0               // u32
	PCommit  = hook.PageCommit // u32 what is whole, see Slots; stored after each record
	PGen     = 8               // u64 number of the page's assignment; grows
	PCounter = 16              // u64 clock when the P got the page …
	PMono    = 24              // u64 … and the monotonic clock then
	PProc    = 32              // u32 P
	PLost    = 36              // u32 records that were dropped on the P before this page
	PRead    = 40              // u32 what was read, and is not to be read again, see Slots
	POwner   = 48              // u64 the program's own
	PLink    = 56              // u64 the program's own
	PEnd     = 64              // u64 clock when the P had filled the page; 0 while it has not
)

// A record is two words. The first has the counter in its upper 56 bits and the kind in the lower
// 8. The second has the function's number in its lower half, and in the upper half what the kind
// says.
//
// Records of some kinds take further pairs of words, which do not count as records. A marker's hold
// its text; the second word has the text's length in its lower half and the depth in the upper one.
//
// Notes describe the records that follow, and do not count as records. A page begins with one.
// KindSwitch names the goroutine that made the records: its number in the second word, then the
// offset in the text of its function (lower half), how many records it made before (upper half,
// modulo 2^32), and in the fourth word the goroutine that started it. KindNamed has the goroutine's
// name in two words more, padded with zeros.
const (
	KindFunction = hook.KindFunction // upper half: offset of the caller in the text
	KindEntry    = hook.KindEntry    // upper half: depth
	KindReturn   = hook.KindReturn   // upper half: depth (16 bits), overruns below (15), Panicked
	KindSwitch   = 4                 // a note
	KindNamed    = 5                 // a note
	KindMarker   = 6

	// KindSpan is a KindReturn that stands for the whole call: its entry has no record. The third
	// word is the clock on entry.
	KindSpan = 7
	// KindValue is a KindReturn or KindSpan with the first word of the results in its fourth word.
	// The third is 0 if the entry has a record.
	KindValue = 8
)

// What the second word of a KindReturn, KindSpan or KindValue holds above the depth: how many calls
// below this one found no room on the return stack, and whether the call ended by a panic.
const (
	OverrunShift = 48
	MaxOverrun   = 1<<15 - 1 // more are counted as so many
	Panicked     = 1 << 63
)

// Slots takes a page's count apart: how many pairs of words there are, and how many of them count
// as records. One word holds both, so that they agree at whatever moment a program is killed.
func Slots(count uint32) (slots, records int) {
	return int(uint16(count)), int(uint16(count)) - int(count>>16)
}

// Extra is added to a page's count for a pair of words that is no record, and 1 for every pair.
const Extra = 1 << 16

// Limits, in bytes.
const (
	MaxName   = 15   // of a goroutine's name, as TASK_COMM_LEN in the kernel
	MaxMarker = 1024 // of a marker's text
)

// Size returns how many pairs of words a record takes that begins with w0 and w1, and how many of
// them do not count: all of a note, and all but the first of a record.
func Size(w0, w1 uint64) (size, extra uint32) {
	switch uint8(w0) {
	case KindSwitch:
		return 2, 2
	case KindNamed:
		return 3, 3
	case KindSpan, KindValue:
		return 2, 1
	case KindMarker:
		n := (uint32(w1)&(1<<16-1) + RecordSize - 1) / RecordSize
		return 1 + n, n
	}
	return 1, 0
}

// A page of metadata has a magic number and the number of bytes used after these eight. The used
// bytes of all such pages are entries, one after the other. An entry is its kind and the length of
// what follows (u32 each):
//
//   - MetaTable: base, n, kept, alone, length of path (u32 each), path, names
//   - MetaSymbol: an offset in the text (u32), and the name of the function that holds it
//   - MetaInfo: a line of text, "key: value"
const (
	MetaTable  = 1
	MetaSymbol = 2
	MetaInfo   = 3
)

func appendMeta(b []byte, kind uint32, head []uint32, text ...string) []byte {
	n := 4 * len(head)
	for _, s := range text {
		n += len(s)
	}
	for _, v := range append([]uint32{kind, uint32(n)}, head...) {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, s := range text {
		b = append(b, s...)
	}
	return b
}

// AppendTable appends a package's table in the form that metadata pages hold.
func AppendTable(b []byte, t Table) []byte {
	return appendMeta(b, MetaTable, []uint32{t.Base, t.N, t.Kept, t.Alone, uint32(len(t.Path))}, t.Path, t.Names)
}

// AppendSymbol appends the name of the function that holds an offset of the text.
func AppendSymbol(b []byte, off uint32, name string) []byte {
	return appendMeta(b, MetaSymbol, []uint32{off}, name)
}

// AppendInfo appends a line about the recording.
func AppendInfo(b []byte, line string) []byte { return appendMeta(b, MetaInfo, nil, line) }

// PutMeta fills a page with as much of some metadata as it holds, and returns how much that is.
func PutMeta(page, meta []byte) int {
	binary.LittleEndian.PutUint32(page, MetaMagic)
	n := copy(page[8:], meta)
	binary.LittleEndian.PutUint32(page[4:], uint32(n))
	return n
}

// eachSlot calls do with the kind and the words of each record and note of a page.
func eachSlot(page []byte, do func(kind uint8, words []byte)) {
	if len(page) < PageHeaderSize || binary.LittleEndian.Uint32(page) != PageMagic {
		return
	}
	slots, _ := Slots(binary.LittleEndian.Uint32(page[PCommit:]))
	b := page[PageHeaderSize:]
	for b = b[:min(slots*RecordSize, len(b))]; len(b) >= RecordSize; {
		w0, w1 := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		size, _ := Size(w0, w1)
		n := int(size) * RecordSize
		if n > len(b) {
			return
		}
		do(uint8(w0), b[:n])
		b = b[n:]
	}
}

// PageOffsets adds the offsets in the text to a set that the records of a page name: of callers,
// and of goroutines' functions.
func PageOffsets(page []byte, set map[uint32]bool) {
	eachSlot(page, func(kind uint8, words []byte) {
		switch kind {
		case KindFunction:
			set[binary.LittleEndian.Uint32(words[12:])] = true
		case KindSwitch, KindNamed:
			set[binary.LittleEndian.Uint32(words[RecordSize:])] = true
		}
	})
}

// A Table names the functions of a package; see hook.Table.
type Table struct {
	Base, N, Kept, Alone uint32
	Path, Names          string
}
