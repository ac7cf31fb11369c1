package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestPassedAndDifferences(t *testing.T) {
	got, seconds := passed([]byte(`{"Action":"pass","Package":"p","Test":"B"}
noise
{"Action":"pass","Package":"p","Test":"A","Elapsed":9}
{"Action":"fail","Package":"p","Test":"C"}
{"Action":"pass","Package":"p","Elapsed":1.5}
{"Action":"fail","Package":"q","Elapsed":2}
`))
	if want := []string{"p A", "p B"}; !slices.Equal(got, want) || seconds != 3.5 {
		t.Fatalf("passed %v in %g s, want %v in 3.5", got, seconds, want)
	}
	same, _ := passed([]byte(`{"Action":"pass","Package":"p","Test":"T/0xc000123456"}
{"Action":"pass","Package":"p","Test":"T/0xc000123458"}
`))
	if diff := Differences(Result{Passed: same}, Result{Passed: []string{"p T/…"}}); len(diff) != 1 || diff[0] != (Difference{"p T/…", "plain"}) {
		t.Errorf("differences %v", diff)
	}
	diff := Differences(Result{Passed: got}, Result{Passed: []string{"p B", "p D"}})
	if want := []Difference{{"p A", "plain"}, {"p D", "hooked"}}; !slices.Equal(diff, want) {
		t.Errorf("differences %v, want %v", diff, want)
	}
}

func TestTable(t *testing.T) {
	Exceptions = append(Exceptions, Exception{"s", "hook", regexp.MustCompile("Allocs$"), "measures allocations"})
	defer func() { Exceptions = Exceptions[:len(Exceptions)-1] }()
	s := Suite{Name: "s"}
	plain := Result{Passed: []string{"p A", "p Allocs"}, Seconds: 2}
	costs := []Cost{{"s", "plain", 10, 1e6, 1e6, 2e6}, {"s", "off", 12, 1e6, 2e6, 5e6}, {"s", "hook, off", 20, 1e6, 1e6, 2e6}}
	for _, c := range []struct {
		name, column string
		res          Result
		bad          int
		contains     string
	}{
		{"as plain", "off", Result{Passed: plain.Passed, Seconds: 3}, 0, "1.50x |      1.20x       1.00x       2.00x       2.50x | 0\n"},
		{"a test is missing", "off", Result{Passed: plain.Passed[1:]}, 1, "only plain: p A\n"},
		{"one with a reason is missing", "hook, on", Result{Passed: plain.Passed[:1], Records: 1}, 0, " 2.00x       1.00x       1.00x       1.00x | 0, and 1: measures allocations"},
		{"the reason is another column's", "on", Result{Passed: plain.Passed[:1], Records: 1}, 1, "only plain: p Allocs\n"},
		{"nothing was traced", "on", plain, 1, "| 0\n"},
		{"nothing passed", "plain", Result{Output: "why"}, 1, "why\n"},
	} {
		var b strings.Builder
		table := Table{W: &b}
		i := slices.IndexFunc(Columns, func(col Column) bool { return col.Name == c.column })
		table.Row(s, Columns[i], plain, c.res, costs)
		table.Foot()
		if table.Bad != c.bad || !strings.Contains(b.String(), c.contains) {
			t.Errorf("%s: %d bad, want %d; want %q in\n%s", c.name, table.Bad, c.bad, c.contains, b.String())
		}
	}
	var b strings.Builder
	table := Table{W: &b}
	for _, c := range s.Columns() {
		table.CostRow(s, c, costs)
	}
	table.Foot()
	lines := strings.Split(b.String(), "\n")
	for i, want := range []string{
		"10.0s        1.0M        1.0M        2.0M |", "1.20x       1.00x       2.00x       2.50x |", "2.00x       1.00x       1.00x       1.00x |",
		"1.20x       1.00x       2.00x       2.50x |", "2.00x       1.00x       1.00x       1.00x |",
	} {
		if i >= len(lines) || !strings.HasSuffix(lines[i], want) {
			t.Fatalf("line %d does not end in %q:\n%s", i, want, b.String())
		}
	}
}

// A run that was cut off in a row resumes after the last whole row. Rows of another build are
// dropped.
func TestStore(t *testing.T) {
	name := filepath.Join(t.TempDir(), "results")
	open := func(build string, resume bool) *Store {
		s, err := OpenStore(name, build, resume)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	runs := 0
	get := func(s *Store, suite string) {
		res, err := s.Result(suite, "off", func() (Result, error) {
			runs++
			return Result{Suite: suite, Column: "off", Passed: []string{"p T"}}, nil
		})
		if err != nil || !slices.Equal(res.Passed, []string{"p T"}) {
			t.Fatalf("%v, %v", res, err)
		}
	}
	s := open("b1", false)
	get(s, "one")
	get(s, "two")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b[:len(b)-5], 0o666); err != nil {
		t.Fatal(err)
	}
	s = open("b1", true)
	get(s, "one")
	get(s, "two")
	if runs != 3 {
		t.Errorf("%d runs, want 3", runs)
	}
	s = open("b1", true)
	get(s, "one")
	get(s, "two")
	if runs != 3 {
		t.Errorf("%d runs after resuming, want 3", runs)
	}
	get(open("b2", true), "one")
	if runs != 4 {
		t.Errorf("%d runs with another build, want 4", runs)
	}
}

func TestRunLine(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.go")
	for _, c := range []struct {
		src  string
		want string
	}{
		{"// run\npackage main", "[] 0 [] true"},
		{"// run -gcflags=\"-l\" a b\npackage main", "[-gcflags=-l] 0 [a b] true"},
		{"// run more.go a", "[] 1 [a] true"},
		{"//go:build !plan9\n\n// run\n\npackage main", "[] 0 [] true"},
		{"//go:build plan9\n\n// run\n\npackage main", "[] 0 [] false"},
		{"// runoutput\npackage main", "[] 0 [] false"},
		{"// run -goexperiment x\npackage main", "[] 0 [] false"},
		{"package main", "[] 0 [] false"},
	} {
		if err := os.WriteFile(name, []byte(c.src), 0o666); err != nil {
			t.Fatal(err)
		}
		flags, more, args, ok := runLine(name)
		if got := fmt.Sprint(flags, len(more), args, ok); got != c.want {
			t.Errorf("%q: %s, want %s", c.src, got, c.want)
		}
	}
}

func TestBase(t *testing.T) {
	for module, want := range map[string]string{
		"go.uber.org/zap@v1.28.0":              "zap",
		"github.com/alecthomas/chroma/v2@v2.1": "chroma",
		"example.com@v1.0.0":                   "example.com",
		"example.com/vim@v1.0.0":               "vim",
	} {
		if got := base(module); got != want {
			t.Errorf("%s: %s, want %s", module, got, want)
		}
	}
}

func TestRecords(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"1": "# tracer: function_graph\n#\n# entries-in-buffer/entries-written: 5/70   #P:2\n",
		"2": "# tracer: function\n#\n# entries-in-buffer/entries-written: 0/3   #P:2\n",
		"3": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := records(dir); n != 73 || err != nil {
		t.Errorf("%d records, %v; want 73", n, err)
	}
}
