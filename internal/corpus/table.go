package corpus

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// A Row is a line of a Store's file.
type Row struct {
	Build  string // versions of ftgo and Go; a Store drops rows of other builds
	Result *Result
	Costs  []Cost
}

// A Store is a file of results, from which a run can be resumed.
type Store struct {
	build   string
	file    *os.File
	results map[[2]string]Result
	costs   map[string][]Cost
}

// OpenStore opens a file and reads the rows of this build. Without resume it empties the file.
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
		} else if err != nil { // the row was cut off
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

// Result returns the stored result, or calls run and stores what it returns.
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

// Costs returns the stored costs, or calls run and stores what it returns.
func (s *Store) Costs(suite string, run func() ([]Cost, error)) ([]Cost, error) {
	if c, ok := s.costs[suite]; ok {
		return c, nil
	}
	c, err := run()
	if err != nil {
		return nil, err
	}
	for len(c) > 0 { // c may hold costs of the standard library too
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

// A Table prints results and sums them up.
type Table struct {
	W    io.Writer
	Bad  int // runs that differ from the plain one without a known reason
	logs map[string]*[measures + 1]float64
}

// The ratios of a Table have these names. The number of suites that were built from scratch follows
// the logarithms of a ratio.
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

// ratio returns the text for a number of the plain build, or for the ratio of a hooked build's
// number to it, which it adds to the sums.
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

// costs returns the text for the costs of building for a run, if they are known.
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
		cost = Cost{} // the build is that of the column that is off
	}
	return fmt.Sprintf("%10s %11s %11s %11s", t.ratio(c.Name, buildCPU, plain.CPU, cost.CPU, "s"),
		t.ratio(c.Name, compilerPeak, plain.Peak/1e6, cost.Peak/1e6, "M"),
		t.ratio(c.Name, binarySize, plain.Size/1e6, cost.Size/1e6, "M"),
		t.ratio(c.Name, textSize, plain.Text/1e6, cost.Text/1e6, "M"))
}

// CostRow prints the costs of building a suite for a column, without a run of its tests.
func (t *Table) CostRow(s Suite, c Column, costs []Cost) {
	if c.Name != "on" {
		fmt.Fprintf(t.W, "%-20s %-9s %7s %12s %11s | %s |\n", s.Name, c.Name, "-", "-", "-", t.costs(s, c, costs))
	}
}

// Row prints a run, and how it differs from the plain one. costs may be nil.
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

// Total prints the sum of the costs of all suites and of the standard library: a build of
// everything from scratch.
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
