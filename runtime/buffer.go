package ftrace

import (
	"sync/atomic"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// chunkSizes are the sizes of chunks, in bytes: a goroutine that makes few records costs little, one that makes many takes the lock
// seldom.
var chunkSizes = [...]uint32{tracefile.MinChunk, 4096, tracefile.BlockSize}

// header is the trace's header, see package tracefile.
var header unsafe.Pointer

// buffer is where chunks come from: a bounded number of blocks, each cut into chunks of one size. Chunks that are full or whose
// goroutine has ended wait in the order in which they were retired; the oldest is overwritten when there is no other. Guarded by
// the runtime lock.
var buffer chunkPool

type chunkPool struct {
	limit  int            // blocks of chunks at the most
	used   int            // blocks of chunks
	n      int            // blocks, those of metadata included
	blocks unsafe.Pointer // [blockCap]unsafe.Pointer
	free   [len(chunkSizes)]unsafe.Pointer
	gen    uint64 // assignments so far

	oldest, newest unsafe.Pointer // retired
	retired        int

	meta     unsafe.Pointer // block of metadata that is being filled
	metaUsed int
}

// linkOffset is where a chunk that is free or retired keeps the address of the next.
const linkOffset = 72

// metaBlocks is how many blocks there may be for names, on top of the limit.
const metaBlocks = 1024

func (b *chunkPool) blockCap() int { return b.limit + metaBlocks }

func link(c unsafe.Pointer) *unsafe.Pointer { return (*unsafe.Pointer)(unsafe.Add(c, linkOffset)) }

// get returns a chunk of the size class, or the nearest that can be had; nil if every chunk belongs to a goroutine.
func (b *chunkPool) get(class uint8) (c unsafe.Pointer, size uint32) {
	for k := int(class); k >= 0; k-- {
		if c := b.free[k]; c != nil {
			b.free[k] = *link(c)
			return c, chunkSizes[k]
		}
		if k == int(class) && b.used < b.limit && b.carve(k) {
			c := b.free[k]
			b.free[k] = *link(c)
			return c, chunkSizes[k]
		}
		if k == int(class) {
			if c := b.oldest; c != nil {
				b.oldest = *link(c)
				if b.oldest == nil {
					b.newest = nil
				}
				b.retired--
				*(*uint64)(unsafe.Add(header, tracefile.HOverwritten)) += records(c)
				return c, *(*uint32)(unsafe.Add(c, tracefile.CSize))
			}
		}
	}
	return nil, 0
}

// carve cuts a new block into chunks.
func (b *chunkPool) carve(class int) bool {
	p := b.block()
	if p == nil {
		b.limit = b.used // no more
		return false
	}
	b.used++
	size := uintptr(chunkSizes[class])
	*(*uint32)(unsafe.Add(p, tracefile.CSize)) = uint32(size)
	*(*uint32)(p) = tracefile.ChunkMagic
	for off := uintptr(tracefile.BlockSize); off >= size; {
		off -= size
		c := unsafe.Add(p, off)
		*link(c) = b.free[class]
		b.free[class] = c
	}
	return true
}

// block returns another block of zeros, nil if there is none.
func (b *chunkPool) block() unsafe.Pointer {
	if b.n >= b.blockCap() {
		return nil
	}
	p := fileBlock(b.n)
	if p == nil && !mapped() {
		p = rt.Alloc(tracefile.BlockSize)
	}
	if p == nil {
		return nil
	}
	*(*unsafe.Pointer)(unsafe.Add(b.blocks, uintptr(b.n)*unsafe.Sizeof(p))) = p
	b.n++
	atomic.StoreUint32((*uint32)(unsafe.Add(header, tracefile.HBlocks)), uint32(b.n))
	return p
}

func (b *chunkPool) at(i int) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Add(b.blocks, uintptr(i)*unsafe.Sizeof(b.blocks)))
}

// retire puts a chunk that nobody will write to any more at the end of the list.
func (b *chunkPool) retire(c unsafe.Pointer) {
	*link(c) = nil
	if b.newest != nil {
		*link(b.newest) = c
	} else {
		b.oldest = c
	}
	b.newest = c
	b.retired++
}

// records counts the records of a chunk that readers count: all but the notes about Ps, from the time the buffer was last emptied.
func records(c unsafe.Pointer) (n uint64) {
	since := *(*uint64)(unsafe.Add(header, tracefile.HSince))
	end := uintptr(*(*uint32)(unsafe.Add(c, tracefile.CCommit)))
	if *(*uint64)(unsafe.Add(c, tracefile.CCounter)) >= since {
		return uint64(end/tracefile.RecordSize) - uint64(*(*uint32)(unsafe.Add(c, tracefile.CNotes)))
	}
	for off := uintptr(0); off < end; off += tracefile.RecordSize {
		w := *(*uint64)(unsafe.Add(c, tracefile.ChunkHeaderSize+off))
		if w&0xff != tracefile.KindProc && int64((w>>8-since)<<8) >= 0 {
			n++
		}
	}
	return n
}

// start makes the header and the list of blocks. Called once, before the first tracer is switched on.
func (b *chunkPool) start(kilobytes int) {
	b.limit = max(16, kilobytes*1024/tracefile.BlockSize)
	header = fileHeader(b.blockCap())
	if header == nil {
		header = rt.Alloc(tracefile.HeaderSize)
	}
	b.blocks = rt.Alloc(uintptr(b.blockCap()) * unsafe.Sizeof(b.blocks))
	copy(unsafe.Slice((*byte)(header), len(tracefile.Magic)), tracefile.Magic)
	u64 := func(off uintptr) *uint64 { return (*uint64)(unsafe.Add(header, off)) }
	*u64(tracefile.HCounter) = counter()
	*u64(tracefile.HSince) = *u64(tracefile.HCounter) // counters are compared modulo 2^56, and may begin anywhere
	*u64(tracefile.HMono) = uint64(rt.Nanotime())
	*u64(tracefile.HText) = uint64(rt.Text)
	if ticking {
		*(*uint32)(unsafe.Add(header, tracefile.HCounterKind)) = tracefile.CounterTicks
	}
	*(*uint32)(unsafe.Add(header, tracefile.HMaxStack)) = uint32(maxStack.Load())
}

// reset empties the buffer: records before this moment do not count any more.
func (b *chunkPool) reset() {
	u64 := func(off uintptr) *uint64 { return (*uint64)(unsafe.Add(header, off)) }
	rt.Lock()
	atomic.StoreUint64(u64(tracefile.HSince), counter())
	*u64(tracefile.HOverwritten) = 0
	atomic.StoreUint64(u64(tracefile.HDropped), 0)
	atomic.StoreUint64(u64(tracefile.HOverrun), 0)
	rt.Unlock()
}

// addMeta appends to the metadata. It does nothing unless the trace is a file: in memory the tables themselves are at hand.
func (b *chunkPool) addMeta(data []byte) {
	if !mapped() {
		return
	}
	for len(data) > 0 {
		if b.meta == nil || b.metaUsed == tracefile.BlockSize-8 {
			if b.meta = b.block(); b.meta == nil {
				return
			}
			b.metaUsed = 0
			*(*uint32)(b.meta) = tracefile.MetaMagic
		}
		n := copy(unsafe.Slice((*byte)(unsafe.Add(b.meta, 8)), tracefile.BlockSize-8)[b.metaUsed:], data)
		data = data[n:]
		b.metaUsed += n
		atomic.StoreUint32((*uint32)(unsafe.Add(b.meta, 4)), uint32(b.metaUsed))
	}
}
