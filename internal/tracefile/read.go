package tracefile

import (
	"cmp"
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
	Info   []string // lines "key: value" about the recording
	Select Selection
	Lacks  string // what the file should hold and does not

	symbols    map[uint32]string // names that the trace holds
	pageSize   int
	load       func(i int, buf []byte) []byte // see New
	file       *os.File
	streams    []*stream // by P
	goroutines map[uint64]*goroutine
	carried    map[uint64]*goroutine // what a Pipe knows from before
	byBase     []*named              // filled on first use
	procs      int
	inBuffer   uint64 // records that are shown …
	hidden     uint64 // … and that are not, since they were made before HSince
	last       int64  // time of the last record that was read
	damaged    bool   // a page was left out
	// Records found no room after the last page was begun, so the last ones may be missing.
	droppedAtEnd bool
	since        uint64
	mono, tick   uint64  // a pair of clock readings
	rate         float64 // ns a tick
}

// stream is the pages of one P, in order.
type stream struct {
	proc  int32
	pages []page
}

type page struct {
	index int
	gen   uint64
}

// goroutine is what is known of a goroutine.
type goroutine struct {
	id, parent uint64
	start      uint32 // offset in the text of the function that it was started with
	proc       int32  // of its last record
	seq        uint32 // of the record that is next
	seen       bool
	folded     bool   // graphWriter: the next return was written with its entry
	name       string // that the program gave it
	calls      []call // that it is in, see follow
	task, row  string // its name and number in the graph's column and the function tracer's
}

// New makes a trace of a header and n pages. load returns the beginning of page i, as much as buf
// holds or as can be read, in buf or elsewhere. New reads the pages' headers alone, and Events a
// page of each P at a time. Both leave out what is not valid, since a program may have been killed
// at any moment. Tables come from tables, or from the pages' metadata if that is nil.
func New(header []byte, n int, load func(i int, buf []byte) []byte, tables []Table) (*Trace, error) {
	if len(header) < HeaderSize {
		return nil, errors.New("a trace begins with a header of 4096 bytes, and this has " + strconv.Itoa(len(header)))
	}
	t := &Trace{Header: header, load: load, since: le.Uint64(header[HSince:]), pageSize: int(le.Uint32(header[HPageSize:]))}
	if t.pageSize < MinPage || t.pageSize > MaxPage || t.pageSize&(t.pageSize-1) != 0 {
		return nil, fmt.Errorf("the trace's header says that its pages have %d bytes: 4096 to 65536 is right", t.pageSize)
	}
	byProc := map[int32]*stream{}
	var meta []byte
	buf := make([]byte, t.pageSize)
	dropped := le.Uint64(header[HDropped:])
	last := [2]uint64{le.Uint64(header[HEndMono:]), le.Uint64(header[HEndCounter:])}
	for i := range n {
		b := load(i, buf[:PageHeaderSize])
		if len(b) < PageHeaderSize {
			continue
		}
		switch le.Uint32(b) {
		case MetaMagic:
			b = load(i, buf)
			n := min(int(le.Uint32(b[4:])), len(b)-8)
			meta = append(meta, b[8:8+n]...)
		case PageMagic:
			slots, records := Slots(le.Uint32(b[PCommit:]))
			if slots > (t.pageSize-PageHeaderSize)/RecordSize || records < 0 {
				t.damaged = true
				continue
			}
			proc := int32(le.Uint32(b[PProc:]))
			s := byProc[proc]
			if s == nil {
				s = &stream{proc: proc}
				byProc[proc] = s
				t.streams = append(t.streams, s)
			}
			s.pages = append(s.pages, page{i, le.Uint64(b[PGen:])})
			t.procs = max(t.procs, int(proc)+1)
			_, read := Slots(le.Uint32(b[PRead:]))
			shown := max(0, records-read)
			dropped -= min(dropped, uint64(le.Uint32(b[PLost:])))
			if mono := le.Uint64(b[PMono:]); mono > last[0] {
				last = [2]uint64{mono, le.Uint64(b[PCounter:])}
			}
			if le.Uint64(b[PCounter:]) < t.since {
				n := t.shownOf(load(i, buf))
				t.hidden += uint64(max(0, shown-n))
				shown = n
			}
			t.inBuffer += uint64(shown)
		}
	}
	t.droppedAtEnd = dropped > 0
	t.readMeta(meta)
	if tables != nil {
		t.Tables = tables
	}
	for _, s := range t.streams {
		slices.SortFunc(s.pages, func(a, b page) int { return int(int64(a.gen - b.gen)) })
	}
	slices.SortFunc(t.streams, func(a, b *stream) int { return int(a.proc - b.proc) })
	t.calibrate(last)
	t.procs = max(t.procs, int(le.Uint32(header[HProcs:])))
	return t, nil
}

// shownOf returns how many records of a page were made since HSince and not read in the program.
func (t *Trace) shownOf(page []byte) (n int) {
	at := 0
	eachSlot(page, func(_ uint8, b []byte) {
		read, _ := Slots(le.Uint32(page[PRead:]))
		w0 := le.Uint64(b)
		size, extra := Size(w0, le.Uint64(b[8:]))
		if at >= read && size != extra && Clock(w0, le.Uint64(page[PCounter:])) >= t.since {
			n++
		}
		at += int(size)
	})
	return n
}

// readMeta reads what the metadata pages hold.
func (t *Trace) readMeta(b []byte) {
	for len(b) >= 8 {
		kind, n := le.Uint32(b), int(le.Uint32(b[4:]))
		b = b[8:]
		if n > len(b) {
			return
		}
		e := b[:n]
		b = b[n:]
		switch {
		case kind == MetaTable && n >= 20:
			np := int(le.Uint32(e[16:]))
			if np > n-20 {
				return
			}
			t.Tables = append(t.Tables, Table{
				Base: le.Uint32(e), N: le.Uint32(e[4:]), Kept: le.Uint32(e[8:]), Alone: le.Uint32(e[12:]),
				Path: string(e[20 : 20+np]), Names: string(e[20+np:]),
			})
		case kind == MetaSymbol && n >= 4:
			if t.symbols == nil {
				t.symbols = map[uint32]string{}
			}
			t.symbols[le.Uint32(e)] = string(e[4:])
		case kind == MetaInfo:
			t.Info = append(t.Info, string(e))
		}
	}
}

// calibrate finds the rate of the clock from the first and the last pair of readings.
func (t *Trace) calibrate(last [2]uint64) {
	t.tick, t.mono = le.Uint64(t.Header[HCounter:]), le.Uint64(t.Header[HMono:])
	t.rate = 1
	if le.Uint32(t.Header[HCounterKind:]) != CounterNanoseconds && last[1] > t.tick {
		t.rate = float64(last[0]-t.mono) / float64(last[1]-t.tick)
	}
}

// nanoseconds converts the counter to the monotonic clock.
func (t *Trace) nanoseconds(counter uint64) int64 {
	return int64(t.mono) + int64(float64(int64(counter-t.tick))*t.rate)
}

// Hooked returns how many functions of the program have a hook, how many the build left inlined,
// and how many it left alone.
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

// InBuffer returns how many records can be read. What a snapshot holds from before its beginning is
// not among them.
func (t *Trace) InBuffer() uint64 { return t.inBuffer }

// Written returns how many records were made since the buffer was last emptied.
func (t *Trace) Written() uint64 {
	return t.inBuffer + t.hidden + le.Uint64(t.Header[HOverwritten:]) + le.Uint64(t.Header[HDropped:])
}

// Name returns the name of a function.
func (t *Trace) Name(id uint32) string {
	if t.byBase == nil {
		t.byBase = make([]*named, 0, len(t.Tables))
		for i := range t.Tables {
			t.byBase = append(t.byBase, &named{Table: &t.Tables[i]})
		}
		slices.SortStableFunc(t.byBase, func(a, b *named) int { return cmp.Compare(a.Base, b.Base) })
	}
	i, found := slices.BinarySearchFunc(t.byBase, id, func(n *named, id uint32) int { return cmp.Compare(n.Base, id) })
	if !found {
		i--
	}
	if i >= 0 {
		if name := t.byBase[i].name(id - t.byBase[i].Base); name != "" {
			return name
		}
	}
	return "func#" + strconv.FormatUint(uint64(id), 10)
}

// named is a table, and the full names of its functions when they are asked for.
type named struct {
	*Table
	names []string
}

func (n *named) name(i uint32) string {
	if n.names == nil {
		n.names = []string{}
		EachName(n.Names, func(_ int, name, _ string, _ int) { n.names = append(n.names, n.Path+"."+name) })
	}
	if i >= n.N || int64(i) >= int64(len(n.names)) {
		return ""
	}
	return n.names[i]
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

// ReadFile opens a trace file. The file of a program that was killed is as good as any.
func ReadFile(path string) (*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory, and not a trace", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	head := make([]byte, HeaderSize)
	if _, err := f.ReadAt(head, 0); err != nil || string(head[:len(Magic)]) != Magic {
		f.Close()
		return nil, fmt.Errorf("%s is not a trace: it does not begin with %q", path, Magic)
	}
	size := int64(max(MinPage, min(MaxPage, le.Uint32(head[HPageSize:]))))
	n := min(int64(le.Uint32(head[HPages:])), (info.Size()-HeaderSize+size-1)/size)
	t, err := New(head, int(n), func(i int, buf []byte) []byte {
		n, _ := f.ReadAt(buf, HeaderSize+int64(i)*size)
		return buf[:n]
	}, nil)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.file = f
	if want := HeaderSize + int64(le.Uint32(head[HPages:]))*size; info.Size() < want && le.Uint32(head[HPages:]) != ^uint32(0) {
		t.Lacks = fmt.Sprintf("the file ends after %d bytes of %d: what came then is missing", info.Size(), want)
	}
	return t, nil
}

// Close closes the file of a trace that ReadFile has opened.
func (t *Trace) Close() error { return t.file.Close() }

// Exe returns the path of the traced program.
func (t *Trace) Exe() string {
	n := int(le.Uint16(t.Header[HExe:]))
	if HExe+2+n > HeaderSize {
		return ""
	}
	return string(t.Header[HExe+2 : HExe+2+n])
}

// Offsets returns the offsets in the text that the trace names.
func (t *Trace) Offsets() map[uint32]bool {
	set := map[uint32]bool{}
	buf := make([]byte, t.pageSize)
	for _, s := range t.streams {
		for _, p := range s.pages {
			PageOffsets(t.load(p.index, buf), set)
		}
	}
	return set
}
