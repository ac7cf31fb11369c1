// Package tracefile holds the form in which records are kept, in memory and in files alike: what runtime/ writes, how it is read
// back in order of time, and the kernel's text formats of it. The standard library is all it needs, since traced programs link it.
//
// A trace is a header of HeaderSize bytes and blocks of BlockSize bytes. A block holds chunks of one size, or metadata. A chunk is
// written by one goroutine: a chunk header, then records of RecordSize bytes, the first Commit bytes of which are valid. Everything
// is little-endian.
package tracefile

import "encoding/binary"

// Sizes, in bytes.
const (
	HeaderSize      = 4096
	BlockSize       = 64 << 10
	ChunkHeaderSize = 80
	RecordSize      = 16
	MinChunk        = 512
)

// Magic begins a file.
const Magic = "ftgotrc1"

// Offsets in the header.
const (
	HPid         = 16  // u64
	HCounter     = 24  // u64 clock counter at the start …
	HMono        = 32  // u64 … and the monotonic clock then, ns
	HWall        = 40  // u64 wall clock then, ns since 1970
	HEndCounter  = 48  // u64 the same pair at the end, or when the file was last looked at
	HEndMono     = 56  // u64
	HText        = 64  // u64 address of the program's text
	HBlocks      = 72  // u32 blocks in use
	HState       = 76  // u32 State bits
	HDropped     = 80  // u64 records that found no room
	HOverrun     = 88  // u64 calls below the maximum depth of the return stacks
	HOverwritten = 96  // u64 records overwritten by newer ones
	HSince       = 104 // u64 counter: records before it do not count
	HTracer      = 112 // u32 tracer of the records
	HCounterKind = 116 // u32 what the counter counts
	HMaxStack    = 120 // u32 maximum depth of the return stacks
	HProcs       = 124 // u32 number of Ps
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

// Magic numbers that begin a chunk and a block of metadata.
const (
	ChunkMagic = 0x48435446 // FTCH
	MetaMagic  = 0x444d5446 // FTMD
)

// Offsets in a chunk's header.
const (
	CMagic   = 0  // u32
	CSize    = 4  // u32 size of the chunk
	CGoid    = 8  // u64 goroutine
	CCounter = 16 // u64 counter when the goroutine got the chunk …
	CMono    = 24 // u64 … and the monotonic clock then
	CCommit  = 32 // u32 bytes of records that are whole; stored after each record
	CProc    = 36 // u32 P then
	CGen     = 40 // u64 number of the chunk's assignment; grows
	CParent  = 48 // u64 goroutine that started this one
	CStart   = 56 // u32 offset in the text of the goroutine's function
	CLost    = 60 // u32 records that the goroutine lost before this chunk
	CSeq     = 64 // u32 number of the chunk within its goroutine
	CNotes   = 68 // u32 how many of the records are notes about Ps (KindProc)
)

// A record is two words: the counter in the upper 56 bits of the first and its kind in the lower 8, and what the kind says in the
// second: the function's number in the lower half, and in the upper half the kind's own.
const (
	KindFunction = 1 // upper half: offset of the caller in the text
	KindEntry    = 2 // upper half: depth
	KindReturn   = 3 // upper half: depth, and in its upper 16 bits the overruns below this call, at most 65535
	KindProc     = 4 // the goroutine runs on another P from here on: its number, in the lower half
)

// Metadata: a block's magic and the bytes used after these eight, then the tables, one after the other, across blocks:
// MetaTable, base, n, kept, alone, length of path, length of names (u32 each), path, names.
const MetaTable = 1

// AppendTable appends a package's table in the form that metadata blocks hold.
func AppendTable(b []byte, t Table) []byte {
	for _, v := range []uint32{MetaTable, t.Base, t.N, t.Kept, t.Alone, uint32(len(t.Path)), uint32(len(t.Names))} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = append(b, t.Path...)
	return append(b, t.Names...)
}

// A Table names the functions of a package; see hook.Table.
type Table struct {
	Base, N, Kept, Alone uint32
	Path, Names          string
}
