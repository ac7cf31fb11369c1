package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// killed PROGRAM N: the program (internal/testprog/killed) records into a file and is killed, N
// times, each at another moment. What it had committed is in the file: each goroutine's calls
// in order and nested, and as many as it had counted itself, or one more.
func killed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: killed PROGRAM N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	dir := ts.Getenv("WORK")
	r := rand.New(rand.NewPCG(1, 2))
	records := 0
	for range n {
		trace, counts := filepath.Join(dir, "trace"), filepath.Join(dir, "counts")
		os.Remove(counts)
		ts.Check(os.WriteFile(trace, nil, 0o600))
		cmd := exec.Command(ts.MkAbs(args[0]))
		cmd.Env = append(os.Environ(), "FTGO_TRACER=function_graph", "FTGO_FILTER=main.work,main.deeper", "FTGO_BUFFER=1G", "FTGO_FILE="+trace, "COUNTS="+counts)
		ts.Check(cmd.Start())
		for { // until it calls
			if b, err := os.ReadFile(counts); err == nil && len(b) >= 16 && binary.LittleEndian.Uint64(b[8:]) > 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(r.IntN(6000)) * time.Microsecond)
		cmd.Process.Kill()
		cmd.Wait()
		seen, err := checkKilled(trace, counts)
		ts.Check(err)
		records += seen
	}
	ts.Logf("%d records in %d files", records, n)
}

func checkKilled(trace, counts string) (records int, err error) {
	counted, err := os.ReadFile(counts)
	if err != nil {
		return 0, err
	}
	t, err := tracefile.ReadFile(trace)
	if err != nil {
		return 0, err
	}
	defer t.Close()
	depth, calls, last := map[uint64]int{}, map[uint64]uint64{}, map[uint64]int64{}
	for e := range t.Events() {
		records++
		id := e.Goid()
		switch {
		case e.Lost != 0:
			return 0, fmt.Errorf("goroutine %d has lost %d records", id, e.Lost)
		case e.Time < last[id]:
			return 0, fmt.Errorf("goroutine %d goes back in time by %d ns", id, last[id]-e.Time)
		case e.Kind == tracefile.KindEntry && e.Depth == depth[id]:
			depth[id]++
		case e.Kind == tracefile.KindReturn && e.Depth == depth[id]-1:
			depth[id]--
			if e.Depth == 0 {
				calls[id]++
			}
		default:
			return 0, fmt.Errorf("goroutine %d: %+v at depth %d", id, e, depth[id])
		}
		last[id] = e.Time
	}
	if uint64(records) != t.InBuffer() {
		return 0, fmt.Errorf("%d records are read, the pages say %d", records, t.InBuffer())
	}
	for ; len(counted) >= 16; counted = counted[16:] {
		id, n := binary.LittleEndian.Uint64(counted), binary.LittleEndian.Uint64(counted[8:])
		if got := calls[id]; got != n && got != n+1 {
			return 0, fmt.Errorf("goroutine %d counted %d calls, and the file has %d", id, n, got)
		}
	}
	return records, nil
}
