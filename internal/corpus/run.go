package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// A Result is the result of running a suite in a column.
type Result struct {
	Suite, Column string
	Passed        []string // package and test
	// Records is the number of records that all processes made, while on.
	Records uint64
	Seconds float64 // time of the tests, as they say
	Output  string  // end of the output, if the run failed
}

// A Runner runs suites.
type Runner struct {
	Ftgo string // path of the ftgo command
	// Self is the path of this program. It calls Measure for the argument -measure and Size for
	// -size; see EnvFtgo.
	Self string
	// State is a directory for build caches, one for each way to build. If it is "", the user's
	// build cache is used.
	State   string
	Timeout string // of each test binary; "" is 30m
}

// Run runs a suite in a column. The error is about the run; failed tests are in the result.
func (r *Runner) Run(s Suite, c Column) (Result, error) {
	res := Result{Suite: s.Name, Column: c.Name}
	traces, err := os.MkdirTemp("", "ftgo-corpus")
	if err != nil {
		return res, err
	}
	defer os.RemoveAll(traces)
	env := []string{"FTGO_BUFFER=4M", "FTGO_OUT=" + filepath.Join(traces, "%p"), "FTGO_TRACER="}
	if c.On {
		env[2] = "FTGO_TRACER=function_graph"
	}
	if s.Module == "goroot" {
		err = r.runFiles(s, c, env, &res)
	} else {
		err = r.runTests(s, c, env, &res)
	}
	if err != nil {
		return res, err
	}
	slices.Sort(res.Passed)
	res.Records, err = records(traces)
	return res, err
}

// command returns a go command in a suite's directory, with or without hooks, with the build cache
// of a column.
func (r *Runner) command(s Suite, flags []string, verb string, args ...string) (*exec.Cmd, error) {
	dir, err := s.dir()
	if err != nil {
		return nil, err
	}
	name := "go"
	if flags != nil {
		name = r.Ftgo
	}
	cmd := exec.Command(name, slices.Concat([]string{verb}, flags, args)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "FTGO_TRACER=")
	if r.State != "" {
		cmd.Env = append(cmd.Env, "GOCACHE="+r.cache(flags))
	}
	return cmd, nil
}

func (r *Runner) runTests(s Suite, c Column, env []string, res *Result) error {
	timeout := r.Timeout
	if timeout == "" {
		timeout = "30m"
	}
	cmd, err := r.command(s, c.Flags, "test", slices.Concat([]string{"-json", "-vet=off", "-count=1", "-timeout=" + timeout}, s.Args)...)
	if err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		return err
	}
	if err != nil {
		res.Output = string(out[max(0, len(out)-4000):])
	}
	res.Passed, res.Seconds = passed(out)
	return nil
}

// passed returns the tests that passed, and the seconds that all packages took.
func passed(out []byte) (list []string, seconds float64) {
	for line := range bytes.Lines(out) {
		var ev struct {
			Action, Package, Test string
			Elapsed               float64
		}
		if json.Unmarshal(line, &ev) != nil {
			continue
		}
		switch {
		case ev.Test == "":
			seconds += ev.Elapsed
		case ev.Action == "pass":
			list = append(list, ev.Package+" "+changing.ReplaceAllString(ev.Test, "…"))
		}
	}
	slices.Sort(list)
	return list, seconds
}

// changing matches the parts of subtests' names that differ in each run: addresses and times.
var changing = regexp.MustCompile(`0x[0-9a-f]{6,}|time\.Date\([^)]*\)`)

var written = regexp.MustCompile(`^# entries-in-buffer/entries-written: \d+/(\d+) `)

// records returns the number of records that the traces in a directory say were made.
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

// A Difference is a test that passed in one of two runs alone.
type Difference struct {
	Test string // package and test
	Only string // run in which it passed: "plain" or "hooked"
}

// Differences compares a run with hooks with the plain one.
func Differences(plain, hooked Result) (list []Difference) {
	// Without their changing parts, several subtests may have one name.
	more := map[string]int{}
	for _, t := range plain.Passed {
		more[t]++
	}
	for _, t := range hooked.Passed {
		more[t]--
	}
	var tests []string
	for t := range more {
		tests = append(tests, t)
	}
	slices.Sort(tests)
	for _, t := range tests {
		for n := more[t]; n > 0; n-- {
			list = append(list, Difference{t, "plain"})
		}
		for n := more[t]; n < 0; n++ {
			list = append(list, Difference{t, "hooked"})
		}
	}
	return list
}
