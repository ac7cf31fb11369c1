package tracefile

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strings"
)

// A Row is a function's row of a table. Times are in ns.
type Row struct {
	Name                                 string
	Calls                                uint64
	Open                                 uint64 // calls that are not over, and count up to now
	Total, Self, Avg, Min, Max, P50, P99 int64
}

// WriteTable writes a table of functions. Below it stands a line for each that has open calls.
func WriteTable(out io.Writer, rows iter.Seq[Row]) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%12s%12s%12s%12s%12s%12s%12s%12s  %s\n", "Total time", "Self time", "Calls", "Avg", "Min", "Max", "p50", "p99", "Function")
	line := strings.Repeat("  ==========", 8)
	fmt.Fprintf(w, "%s  ====================\n", line)
	var open []Row
	for r := range rows {
		fmt.Fprintf(w, "%12s%12s%12d%12s%12s%12s%12s%12s  %s\n", duration(r.Total), duration(r.Self), r.Calls,
			duration(r.Avg), duration(r.Min), duration(r.Max), duration(r.P50), duration(r.P99), r.Name)
		if r.Open > 0 {
			open = append(open, r)
		}
	}
	for _, r := range open {
		fmt.Fprintf(w, "# unfinished, counted up to the end: %d of %s\n", r.Open, r.Name)
	}
	return w.Flush()
}

// WriteCounts writes a table of functions without times.
func WriteCounts(out io.Writer, rows iter.Seq[Row]) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%12s  %s\n  ==========  ====================\n", "Calls", "Function")
	for r := range rows {
		fmt.Fprintf(w, "%12d  %s\n", r.Calls, r.Name)
	}
	return w.Flush()
}

// duration formats a time as uftrace does: three digits behind the point, and the unit that leaves
// at most three before it.
func duration(ns int64) string {
	x, unit := float64(ns)/1e3, "us"
	for _, u := range []struct {
		times float64
		unit  string
	}{{1e3, "ms"}, {1e3, " s"}, {60, " m"}, {60, " h"}} {
		if x < u.times {
			break
		}
		x, unit = x/u.times, u.unit
	}
	return fmt.Sprintf("%.3f %s", x, unit)
}
