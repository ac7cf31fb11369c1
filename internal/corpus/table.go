package corpus

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// A Row is a line of the file that holds what was found, so that a run can be resumed.
type Row struct {
	Build  string // of ftgo and the Go release: rows of another one are not kept
	Result *Result
	Costs  []Cost
}

// A Store is such a file.
type Store struct {
	build   string
	file    *os.File
	results map[[2]string]Result
	costs   map[string][]Cost
}

// OpenStore opens a file, and reads the rows of this build; without resume it is emptied.
func OpenStore(name, build string, resume bool) (*Store, error) {
	flags := os.O_CREATE | os.O_RDWR | os.O_APPEND
	if !resume {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(name, flags, 0o666)
	if err != nil {
		return nil, err
	}
	s := &Store{build, f, map[[2]string]Result{}, map[string][]Cost{}}
	d := json.NewDecoder(f)
	for {
		end := d.InputOffset()
		var row Row
		if err := d.Decode(&row); err == io.EOF {
			return s, nil
		} else if err != nil { // cut off in the middle of a row
			if _, err := f.Seek(end, io.SeekStart); err != nil {
				return nil, err
			}
			return s, f.Truncate(end)
		}
		if row.Build != build {
			continue
		}
		if row.Result != nil {
			s.results[[2]string{row.Result.Suite, row.Result.Column}] = *row.Result
		} else if len(row.Costs) > 0 {
			s.costs[row.Costs[0].Suite] = row.Costs
		}
	}
}

func (s *Store) add(row Row) error {
	row.Build = s.build
	return json.NewEncoder(s.file).Encode(row)
}

// Result returns what is in the store, or runs and adds it.
func (s *Store) Result(suite, column string, run func() (Result, error)) (Result, error) {
	key := [2]string{suite, column}
	if res, ok := s.results[key]; ok {
		return res, nil
	}
	res, err := run()
	if err != nil {
		return res, err
	}
	s.results[key] = res
	return res, s.add(Row{Result: &res})
}

// Costs returns what is in the store, or runs and adds it.
func (s *Store) Costs(suite string, run func() ([]Cost, error)) ([]Cost, error) {
	if c, ok := s.costs[suite]; ok {
		return c, nil
	}
	c, err := run()
	if err != nil {
		return nil, err
	}
	for len(c) > 0 { // of the standard library too
		n := slices.IndexFunc(c, func(x Cost) bool { return x.Suite != c[0].Suite })
		if n < 0 {
			n = len(c)
		}
		s.costs[c[0].Suite] = c[:n:n]
		if err := s.add(Row{Costs: c[:n]}); err != nil {
			return nil, err
		}
		c = c[n:]
	}
	return s.costs[suite], nil
}

// A Table prints what was found, and adds it up.
type Table struct {
	W    io.Writer
	Bad  int // runs that were not as the plain one, without a reason
	logs map[string]*[measures + 1]float64
}

// What ratios are of. After their logarithms a Table has the number of suites that were built from scratch.
const (
	testTime = iota
	buildCPU
	compilerPeak
	binarySize
	textSize
	measures
)

// Head prints the names of the columns.
func (t *Table) Head() {
	fmt.Fprintf(t.W, "%-20s %-9s %7s %12s %11s | %10s %11s %11s %11s | %s\n", "suite", "build", "passed", "records", "tests", "build CPU", "compiler", "binaries", "text", "differences")
}

// ratio prints a number of the plain build, or a hooked one's ratio to it, and adds that up.
func (t *Table) ratio(column string, i int, plain, n float64, unit string) string {
	if n == 0 || plain == 0 {
		return "-"
	}
	if column == "plain" {
		return fmt.Sprintf("%.1f%s", n, unit)
	}
	if t.logs == nil {
		t.logs = map[string]*[measures + 1]float64{}
	}
	if t.logs[column] == nil {
		t.logs[column] = new([measures + 1]float64)
	}
	t.logs[column][i] += math.Log(n / plain)
	if i == buildCPU {
		t.logs[column][measures]++
	}
	return fmt.Sprintf("%.2fx", n/plain)
}

// costs prints what it takes to build for a run, if that is known.
func (t *Table) costs(s Suite, c Column, costs []Cost) string {
	var cost, plain Cost
	for _, x := range costs {
		if x.Column == c.Name || x.Column == "hook, off" && c.Name == "hook, on" && s.Module != "goroot" {
			cost = x
		}
		if x.Column == "plain" {
			plain = x
		}
	}
	if c.Name == "on" {
		cost = Cost{} // as when off
	}
	return fmt.Sprintf("%10s %11s %11s %11s", t.ratio(c.Name, buildCPU, plain.CPU, cost.CPU, "s"),
		t.ratio(c.Name, compilerPeak, plain.Peak/1e6, cost.Peak/1e6, "M"),
		t.ratio(c.Name, binarySize, plain.Size/1e6, cost.Size/1e6, "M"),
		t.ratio(c.Name, textSize, plain.Text/1e6, cost.Text/1e6, "M"))
}

// CostRow prints what a suite takes to build for a column, without a run of its tests.
func (t *Table) CostRow(s Suite, c Column, costs []Cost) {
	if c.Name != "on" {
		fmt.Fprintf(t.W, "%-20s %-9s %7s %12s %11s | %s |\n", s.Name, c.Name, "-", "-", "-", t.costs(s, c, costs))
	}
}

// Row prints a run, and what of it is not as the plain one. The costs may be nil.
func (t *Table) Row(s Suite, c Column, plain, res Result, costs []Cost) {
	diff := Differences(plain, res)
	known := map[string]int{}
	var unknown []Difference
	for _, d := range diff {
		if why := s.Known(c.Name, d.Test); why != "" {
			known[why]++
		} else {
			unknown = append(unknown, d)
		}
	}
	fmt.Fprintf(t.W, "%-20s %-9s %7d %12d %11s | %s | %d", s.Name, c.Name, len(res.Passed), res.Records,
		t.ratio(c.Name, testTime, plain.Seconds, res.Seconds, "s"), t.costs(s, c, costs), len(unknown))
	for why, n := range known {
		fmt.Fprintf(t.W, ", and %d: %s", n, why)
	}
	fmt.Fprintln(t.W)
	for i, d := range unknown {
		if i == 20 {
			fmt.Fprintf(t.W, "    and %d more\n", len(unknown)-i)
			break
		}
		fmt.Fprintf(t.W, "    only %s: %s\n", d.Only, d.Test)
	}
	if len(unknown) > 0 || c.On && res.Records == 0 || len(res.Passed) == 0 {
		t.Bad++
		fmt.Fprintf(t.W, "%s\n", res.Output)
	}
}

// Total prints what all that was built took, with the standard library: a build of all from scratch.
func (t *Table) Total(store *Store) {
	cpu := map[string]float64{}
	for _, list := range store.costs {
		for _, c := range list {
			cpu[c.Column] += c.CPU
		}
	}
	for _, i := range built {
		if c := Columns[i].Name; i > 0 && cpu["plain"] > 0 {
			fmt.Fprintf(t.W, "all, with std         %-9s %54.2fx CPU of %.0fs\n", c, cpu[c]/cpu["plain"], cpu["plain"])
		}
	}
}

// Foot prints the geometric means of the ratios.
func (t *Table) Foot() {
	for _, c := range Columns {
		if l := t.logs[c.Name]; l != nil && l[measures] > 0 {
			mean := func(i int) float64 { return math.Exp(l[i] / l[measures]) }
			fmt.Fprintf(t.W, "%-20s %-9s %35s%9.2fx %10.2fx %10.2fx %10.2fx |\n", "geometric mean", c.Name, "| ",
				mean(buildCPU), mean(compilerPeak), mean(binarySize), mean(textSize))
		}
	}
}
