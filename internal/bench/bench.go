// Package bench is ftgo bench: it builds a module's benchmarks with and without hooks, runs the
// builds in turn, and prints what the hooks cost.
package bench

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// Options say what to measure, and how.
type Options struct {
	Packages     []string // package patterns
	Bench        string   // regular expression, as in go test -bench
	Count        int      // number of rounds
	Benchtime    string   // of each run, as in go test -benchtime
	CPU          int      // GOMAXPROCS
	Inline       []string // one hooked build for each: keep, hook or a number
	Tracer       string   // tracer of one more column; "" leaves the column out
	Instructions bool     // count instructions instead of time
	Build        []string // further flags of all builds
	Hook         []string // further flags of hooked builds: -pkg, -notrace, -std
	Dir          string   // of the module; "" is the current directory
	Ftgo         string   // path of the ftgo command
	Out          io.Writer
	Progress     io.Writer
}

// A variant is a way to build and run benchmarks.
type variant struct {
	name   string
	flags  []string // of ftgo test; nil: go test
	tracer string
	binary string // suffix of the test binary's name
}

func (o *Options) variants() []variant {
	list := []variant{{name: "plain", binary: "plain"}}
	for _, inline := range o.Inline {
		flags := append([]string{"-inline=" + inline}, o.Hook...)
		name := "off"
		if len(o.Inline) > 1 {
			name = "off, " + inline
		}
		list = append(list, variant{name: name, flags: flags, binary: inline})
	}
	if o.Tracer != "" && len(o.Inline) > 0 {
		list = append(list, variant{name: "on", flags: list[1].flags, tracer: o.Tracer, binary: o.Inline[0]})
	}
	return list
}

// A target is a package with benchmarks.
type target struct {
	path, dir string
	bin       string // path of the test binaries, without the variant's suffix
}

// Run measures, and prints the table. It returns the ratios to the plain build by column.
func Run(o Options) (map[string][]float64, error) {
	if o.Count < 1 {
		return nil, fmt.Errorf("-count %d: at least one round is needed, and six for a p-value below 0.05", o.Count)
	}
	if _, err := regexp.Compile(o.Bench); err != nil {
		return nil, fmt.Errorf("-bench: %w", err)
	}
	tmp, err := os.MkdirTemp("", "ftgo-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	targets, err := o.build(tmp)
	if err != nil {
		return nil, err
	}
	var t *table
	if o.Instructions {
		t, err = o.instructions(targets)
	} else {
		t, err = o.time(targets)
	}
	if err != nil {
		return nil, err
	}
	return t.print(o.Out)
}

func (o *Options) progress(format string, args ...any) {
	if o.Progress != nil {
		fmt.Fprintf(o.Progress, format+"\n", args...)
	}
}

// build builds the test binaries of the packages that have benchmarks.
func (o *Options) build(tmp string) ([]*target, error) {
	list, err := o.command(o.Dir, nil, "go", append(append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}\t{{.Dir}}{{end}}"}, o.Build...), o.Packages...)...)
	if err != nil {
		return nil, err
	}
	var targets []*target
	for line := range strings.Lines(string(list)) {
		path, dir, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		t := &target{path: path, dir: dir, bin: filepath.Join(tmp, fmt.Sprint(len(targets)))}
		seen := map[string]bool{}
		for i, v := range o.variants() {
			if seen[v.binary] {
				continue
			}
			seen[v.binary] = true
			o.progress("build %s (%s)", path, v.binary)
			name, args := "go", []string{"test"}
			if v.flags != nil {
				name, args = o.Ftgo, append(args, v.flags...)
			}
			args = append(append(args, o.Build...), "-vet=off", "-c", "-o", t.bin+v.binary, path)
			if _, err := o.command(o.Dir, nil, name, args...); err != nil {
				return nil, err
			}
			if i == 0 {
				top, _, _ := strings.Cut(o.Bench, "/")
				out, err := o.command(dir, nil, t.bin+v.binary, "-test.list="+top)
				if err != nil {
					return nil, err
				}
				if !regexp.MustCompile(`(?m)^Benchmark`).Match(out) {
					break
				}
			}
		}
		if len(seen) > 1 || len(o.Inline) == 0 {
			targets = append(targets, t)
		}
	}
	if len(targets) == 0 {
		return nil, fmt.Errorf("no benchmark matches %q in %s", o.Bench, strings.Join(o.Packages, " "))
	}
	return targets, nil
}

// command runs a command, and returns its standard output.
func (o *Options) command(dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "FTGO_TRACER=", "FTGO_FILE="), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return out, fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(name), strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return out, err
}

func (v variant) env() []string {
	return []string{"FTGO_TRACER=" + v.tracer, "FTGO_OUT=" + os.DevNull, "FTGO_BUFFER=" + cmp.Or(os.Getenv("FTGO_BUFFER"), "4M")}
}

func (o *Options) args(bench, benchtime string) []string {
	return []string{"-test.run=^$", "-test.bench=" + bench, "-test.benchtime=" + benchtime, "-test.cpu=" + fmt.Sprint(cmp.Or(o.CPU, 1)), "-test.benchmem"}
}

// time measures time. In each round every build runs once, so that other load on the machine
// affects all builds alike.
func (o *Options) time(targets []*target) (*table, error) {
	t := newTable("sec/op", o.variants())
	for round := range o.Count {
		for _, tg := range targets {
			for _, v := range o.variants() {
				o.progress("round %d of %d: %s (%s)", round+1, o.Count, tg.path, v.name)
				out, err := o.command(tg.dir, v.env(), tg.bin+v.binary, o.args(o.Bench, o.Benchtime)...)
				if err != nil {
					return nil, err
				}
				for name, res := range results(out) {
					t.add(tg.path, name, v.name, res.sec)
					t.allocs(tg.path, name, v.name, res.allocs)
				}
			}
		}
	}
	return t, nil
}

// A result is a line of a benchmark's output.
type result struct {
	sec, allocs float64
	n           int
}

// results parses the output of a test binary.
func results(out []byte) map[string]result {
	m := map[string]result{}
	r := benchfmt.NewReader(bytes.NewReader(out), "")
	for r.Scan() {
		if res, ok := r.Result().(*benchfmt.Result); ok {
			if sec, ok := res.Value("sec/op"); ok {
				allocs, _ := res.Value("allocs/op")
				m[res.Name.String()] = result{sec, allocs, res.Iters}
			}
		}
	}
	return m
}

// exact returns a -bench pattern for one benchmark.
func exact(name string) string {
	parts := strings.Split("Benchmark"+name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

func sortedKeys[V any](m map[string]V) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}
