package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Suite is a module's tests.
type Suite struct {
	Name   string
	Module string   // path@version
	Args   []string // of go test: packages, -skip, -short
}

// A Column is a way to run a suite.
type Column struct {
	Name  string
	Flags []string // of ftgo test; nil: go test
	On    bool     // graph tracer, all functions
}

// Columns are the ways: the tests that pass must be the same in all.
var Columns = []Column{
	{Name: "plain"},
	{Name: "off", Flags: []string{"-inline=keep"}},
	{Name: "on", Flags: []string{"-inline=keep"}, On: true},
	{Name: "on, -inline=hook", Flags: []string{"-inline=hook"}, On: true},
}

// A Result is what became of a suite in a column.
type Result struct {
	Passed  []string // package and test
	Records uint64   // made by all of its processes, when on
	Output  []byte   // of a run that did not pass
}

// Run runs a suite in a column, with the given ftgo command.
func Run(ftgo string, s Suite, c Column) (Result, error) {
	var res Result
	dir, err := Fetch(s.Module)
	if err != nil {
		return res, err
	}
	traces, err := os.MkdirTemp("", "ftgo-corpus")
	if err != nil {
		return res, err
	}
	defer os.RemoveAll(traces)
	args := []string{"test", "-json", "-vet=off", "-count=1", "-timeout=1800s"}
	name := "go"
	if c.Flags != nil {
		name = ftgo
		args = append(args, c.Flags...)
	}
	cmd := exec.Command(name, append(args, s.Args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "FTGO_TRACER=", "FTGO_BUFFER=4M", "FTGO_OUT="+filepath.Join(traces, "%p"))
	if c.On {
		cmd.Env = append(cmd.Env, "FTGO_TRACER=function_graph")
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		res.Output = out
	}
	res.Passed = passed(out)
	res.Records, err = records(traces)
	return res, err
}

// passed returns the tests that passed.
func passed(out []byte) (list []string) {
	for line := range bytes.Lines(out) {
		var ev struct{ Action, Package, Test string }
		if json.Unmarshal(line, &ev) == nil && ev.Action == "pass" && ev.Test != "" {
			list = append(list, ev.Package+" "+changing.ReplaceAllString(ev.Test, "…"))
		}
	}
	slices.Sort(list)
	return list
}

// changing is what tests put into the names of subtests that is another in each run: addresses, and the time.
var changing = regexp.MustCompile(`0x[0-9a-f]{6,}|time\.Date\([^)]*\)`)

var written = regexp.MustCompile(`^# entries-in-buffer/entries-written: \d+/(\d+) `)

// records adds up how many records the traces in a directory say were made.
func records(dir string) (n uint64, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range files {
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return 0, err
		}
		r := bufio.NewScanner(f)
		for i := 0; i < 5 && r.Scan(); i++ {
			if m := written.FindStringSubmatch(r.Text()); m != nil {
				k, _ := strconv.ParseUint(m[1], 10, 64)
				n += k
			}
		}
		f.Close()
	}
	return n, nil
}

// Differences says which tests passed in one of two runs alone.
func Differences(plain, hooked Result) (list []string) {
	// Several subtests may have one name, once what changes is taken out of it.
	more := map[string]int{}
	for _, t := range plain.Passed {
		more[t]++
	}
	for _, t := range hooked.Passed {
		more[t]--
	}
	for t, n := range more {
		for ; n > 0; n-- {
			list = append(list, "only plain: "+t)
		}
		for ; n < 0; n++ {
			list = append(list, "only hooked: "+t)
		}
	}
	slices.Sort(list)
	return list
}

// String names a suite for people.
func (s Suite) String() string { return fmt.Sprintf("%s (%s)", s.Name, strings.Join(s.Args, " ")) }
