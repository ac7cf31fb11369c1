package tracefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

var le = binary.LittleEndian

// A Trace is a recording that can be read.
type Trace struct {
	Header []byte
	Tables []Table
	// Symbol names the function at an offset in the program's text. It may be nil.
	Symbol func(off uint32) string

	goroutines []*goroutine
	names      []string // by number, filled on first use
	procs      int
	mono, tick uint64  // a pair of clock readings
	rate       float64 // ns a tick
}

// goroutine is the chunks of one goroutine, in order.
type goroutine struct {
	id     uint64
	comm   string
	chunks []chunk
}

type chunk struct {
	head []byte
	data []byte
}

// New makes a trace of a header and blocks. It takes what is valid, and leaves out what is not: a program may have been killed at any
// moment. Tables come from the blocks' metadata, or from tables if the blocks hold none.
func New(header []byte, blocks [][]byte, tables []Table) (*Trace, error) {
	if len(header) < HeaderSize {
		return nil, errors.New("a trace begins with a header of 4096 bytes, and this has " + strconv.Itoa(len(header)))
	}
	t := &Trace{Header: header, Tables: tables}
	byID := map[uint64]*goroutine{}
	var meta []byte
	for _, b := range blocks {
		if len(b) < BlockSize {
			continue
		}
		switch le.Uint32(b) {
		case MetaMagic:
			n := min(int(le.Uint32(b[4:])), BlockSize-8)
			meta = append(meta, b[8:8+n]...)
		case ChunkMagic:
			size := int(le.Uint32(b[CSize:]))
			if size < MinChunk || size > BlockSize || BlockSize%size != 0 {
				continue
			}
			for off := 0; off < BlockSize; off += size {
				c, ok := cutChunk(b[off : off+size])
				if !ok {
					continue
				}
				id := le.Uint64(c.head[CGoid:])
				g := byID[id]
				if g == nil {
					g = &goroutine{id: id}
					byID[id] = g
					t.goroutines = append(t.goroutines, g)
				}
				g.chunks = append(g.chunks, c)
				t.procs = max(t.procs, int(int32(le.Uint32(c.head[CProc:])))+1)
			}
		}
	}
	if tables == nil {
		t.readTables(meta)
	}
	for _, g := range t.goroutines {
		slices.SortFunc(g.chunks, func(a, b chunk) int {
			return int(int64(le.Uint64(a.head[CGen:]) - le.Uint64(b.head[CGen:])))
		})
	}
	slices.SortFunc(t.goroutines, func(a, b *goroutine) int { return int(int64(a.id - b.id)) })
	t.calibrate()
	t.procs = max(t.procs, int(le.Uint32(header[HProcs:])))
	return t, nil
}

func cutChunk(b []byte) (chunk, bool) {
	if le.Uint32(b) != ChunkMagic {
		return chunk{}, false
	}
	n := int(le.Uint32(b[CCommit:]))
	if n > len(b)-ChunkHeaderSize || n%RecordSize != 0 {
		return chunk{}, false
	}
	return chunk{b[:ChunkHeaderSize], b[ChunkHeaderSize : ChunkHeaderSize+n]}, true
}

func (t *Trace) readTables(b []byte) {
	for len(b) >= 28 && le.Uint32(b) == MetaTable {
		tab := Table{Base: le.Uint32(b[4:]), N: le.Uint32(b[8:]), Kept: le.Uint32(b[12:]), Alone: le.Uint32(b[16:])}
		np, nn := int(le.Uint32(b[20:])), int(le.Uint32(b[24:]))
		b = b[28:]
		if np > len(b) || nn > len(b)-np {
			return
		}
		tab.Path, tab.Names = string(b[:np]), string(b[np:np+nn])
		b = b[np+nn:]
		t.Tables = append(t.Tables, tab)
	}
}

// calibrate finds the rate of the counter from the first and last pair of readings.
func (t *Trace) calibrate() {
	t.tick, t.mono = le.Uint64(t.Header[HCounter:]), le.Uint64(t.Header[HMono:])
	t.rate = 1
	if le.Uint32(t.Header[HCounterKind:]) == CounterNanoseconds {
		return
	}
	lastTick, lastMono := le.Uint64(t.Header[HEndCounter:]), le.Uint64(t.Header[HEndMono:])
	for _, g := range t.goroutines {
		for _, c := range g.chunks {
			if m := le.Uint64(c.head[CMono:]); m > lastMono {
				lastMono, lastTick = m, le.Uint64(c.head[CCounter:])
			}
		}
	}
	if lastTick > t.tick {
		t.rate = float64(lastMono-t.mono) / float64(lastTick-t.tick)
	}
}

// nanoseconds converts the counter to the monotonic clock.
func (t *Trace) nanoseconds(counter uint64) int64 {
	return int64(t.mono) + int64(float64(int64(counter-t.tick))*t.rate)
}

// Hooked returns how many functions of the program have a hook, how many the build left inlined, and how many it left alone.
func (t *Trace) Hooked() (hooked, kept, alone int) {
	for _, tab := range t.Tables {
		hooked += int(tab.N)
		kept += int(tab.Kept)
		alone += int(tab.Alone)
	}
	return
}

// Overrun returns how many calls lay below the maximum depth of the return stacks.
func (t *Trace) Overrun() uint64 { return le.Uint64(t.Header[HOverrun:]) }

// InBuffer returns how many records can be read, and Written how many were made.
func (t *Trace) InBuffer() uint64 {
	var n uint64
	since := le.Uint64(t.Header[HSince:])
	for _, g := range t.goroutines {
		for _, c := range g.chunks {
			for b := c.data; len(b) > 0; b = b[RecordSize:] {
				if w := le.Uint64(b); w&0xff != KindProc && after(w, since) {
					n++
				}
			}
		}
	}
	return n
}

// Written returns how many records were made since the buffer was last emptied.
func (t *Trace) Written() uint64 {
	return t.InBuffer() + le.Uint64(t.Header[HOverwritten:]) + le.Uint64(t.Header[HDropped:])
}

// after reports whether a record's counter is not before since.
func after(w, since uint64) bool { return int64((w>>8-since)<<8) >= 0 }

// Name returns the name of a function.
func (t *Trace) Name(id uint32) string {
	if t.names == nil {
		t.names = []string{}
		for _, tab := range t.Tables {
			n := int(tab.Base) + int(tab.N)
			if n > 1<<26 {
				continue
			}
			if n > len(t.names) {
				t.names = append(t.names, make([]string, n-len(t.names))...)
			}
			EachName(tab.Names, func(i int, name, _ string, _ int) {
				if i < int(tab.N) {
					t.names[int(tab.Base)+i] = tab.Path + "." + name
				}
			})
		}
	}
	if int(id) < len(t.names) && t.names[id] != "" {
		return t.names[id]
	}
	return "func#" + strconv.FormatUint(uint64(id), 10)
}

// EachName calls do with the functions that a table's Names lists.
func EachName(names string, do func(i int, name, file string, line int)) {
	file := ""
	for i := 0; names != ""; {
		var row string
		row, names, _ = strings.Cut(names, "\n")
		if strings.HasPrefix(row, "\t") {
			file = row[1:]
			continue
		}
		sp := strings.LastIndexByte(row, ' ')
		if sp < 0 {
			continue
		}
		line, _ := strconv.Atoi(row[sp+1:])
		do(i, row[:sp], file, line)
		i++
	}
}

// Comm returns a short name for a goroutine: that of the function it was started with.
func (t *Trace) comm(g *goroutine) string {
	if g.comm == "" {
		g.comm = "go"
		if g.id == 1 {
			g.comm = "main"
		} else if t.Symbol != nil && len(g.chunks) > 0 {
			if s := t.Symbol(le.Uint32(g.chunks[0].head[CStart:])); s != "" {
				s = s[strings.LastIndexByte(s, '/')+1:]
				if i := strings.IndexByte(s, '.'); i >= 0 {
					s = s[i+1:]
				}
				g.comm = s
			}
		}
	}
	return g.comm
}

// ReadFile reads a trace file. The file of a program that was killed is as good as any.
func ReadFile(path string) (*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, HeaderSize)
	if _, err := f.ReadAt(head, 0); err != nil || string(head[:len(Magic)]) != Magic {
		return nil, fmt.Errorf("%s is not a trace: it does not begin with %q", path, Magic)
	}
	var blocks [][]byte
	for i := range int64(le.Uint32(head[HBlocks:])) {
		b := make([]byte, BlockSize)
		if _, err := f.ReadAt(b, HeaderSize+i*BlockSize); err != nil {
			break
		}
		blocks = append(blocks, b)
	}
	return New(head, blocks, nil)
}

// Exe returns the path of the traced program.
func (t *Trace) Exe() string {
	n := int(le.Uint16(t.Header[HExe:]))
	if HExe+2+n > HeaderSize {
		return ""
	}
	return string(t.Header[HExe+2 : HExe+2+n])
}
