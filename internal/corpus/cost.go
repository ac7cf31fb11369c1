package corpus

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A Cost is what a build from scratch takes.
type Cost struct {
	Suite, Column string
	CPU           float64 // seconds, of all processes of the build
	Peak          float64 // bytes, of the largest compiler process, with ftgo in it
	Size          float64 // bytes of all test binaries
	Text          float64 // bytes of machine code in ELF test binaries
}

// cache returns the directory of the build cache for a set of flags.
func (r *Runner) cache(flags []string) string {
	return filepath.Join(r.State, "cache"+strings.Join(flags, ""))
}

// built holds the indexes of Columns that differ in the way to build.
var built = []int{0, 1, 3}

// Costs builds a module's packages and test binaries in each way to build. The build caches hold
// the standard library, and what modules before this one needed. If a cache is new, Costs also
// returns what building the standard library took, as the cost of a suite of that name.
func (r *Runner) Costs(s Suite) (list []Cost, err error) {
	// A build that was cut off leaves a cache with which the next would be cheaper. The mark tells
	// that.
	mark := filepath.Join(r.State, "building")
	if _, err := os.Stat(mark); err == nil {
		if err := r.clean(); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(r.State, 0o777); err != nil {
		return nil, err
	}
	if err := os.WriteFile(mark, nil, 0o666); err != nil {
		return nil, err
	}
	for _, i := range built {
		if _, err := os.Stat(r.cache(Columns[i].Flags)); err == nil {
			continue
		}
		c, err := r.cost(Suite{Name: "std", Module: "std"}, Columns[i])
		if err != nil {
			return nil, fmt.Errorf("the standard library: %w", err)
		}
		list = append(list, c)
	}
	for _, i := range built {
		c, err := r.cost(s, Columns[i])
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, os.Remove(mark)
}

func (r *Runner) clean() error {
	dirs, err := filepath.Glob(filepath.Join(r.State, "cache*"))
	for _, dir := range append(dirs, filepath.Join(r.State, "building")) {
		if err == nil {
			err = os.RemoveAll(dir)
		}
	}
	return err
}

// Measure runs a command for go build's -toolexec, and adds a line to a report: the largest memory
// of a compiler process.
func Measure(report string, args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok || !slices.ContainsFunc(args, func(arg string) bool { return filepath.Base(arg) == "compile" }) {
		return nil
	}
	return add(report, u.Maxrss)
}

// Size adds the size of a program and of its machine code to a report. go test runs it instead of
// the program.
func Size(report, program string) error {
	info, err := os.Stat(program)
	if err != nil {
		return err
	}
	var text int64
	if f, err := elf.Open(program); err == nil {
		text = int64(f.Section(".text").Size)
		f.Close()
	}
	return add(report, info.Size(), text)
}

// add adds a line to a report by one write, since the go command runs several processes at a time.
func add(report string, n ...any) error {
	f, err := os.OpenFile(report, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, n...); err != nil {
		return err
	}
	return f.Close()
}

// These variables make a Runner's Self run ftgo and measure its compilers.
const (
	EnvFtgo   = "FTGO_CORPUS_FTGO"   // path of the ftgo command
	EnvReport = "FTGO_CORPUS_REPORT" // path of the report; see Measure
)

// cost builds a suite for a column, and returns what that took.
func (r *Runner) cost(s Suite, c Column) (Cost, error) {
	res := Cost{Suite: s.Name, Column: c.Name}
	tmp, err := os.MkdirTemp("", "ftgo-corpus")
	if err != nil {
		return res, err
	}
	defer os.RemoveAll(tmp)
	report, sizes := filepath.Join(tmp, "report"), filepath.Join(tmp, "sizes")
	args := []string{"-vet=off", "-count=1", "-run=^$", "-exec=" + r.Self + " -size " + sizes}
	args = append(args, slices.DeleteFunc(slices.Clone(s.Args), func(arg string) bool { return strings.HasPrefix(arg, "-") })...)
	verb := "test"
	if s.Module == "std" { // it is built alone
		verb, args = "build", []string{"std"}
	}
	if c.Flags == nil {
		args = append([]string{"-toolexec=" + r.Self + " -measure " + report}, args...)
	}
	cmd, err := r.command(s, c.Flags, verb, args...)
	if err != nil {
		return res, err
	}
	if c.Flags != nil {
		if cmd.Err != nil {
			return res, cmd.Err
		}
		cmd.Path = r.Self
		cmd.Env = append(cmd.Env, EnvFtgo+"="+r.Ftgo, EnvReport+"="+report)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return res, fmt.Errorf("%w: %s", err, out)
	}
	res.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	peaks, err := numbers(report)
	if err != nil {
		return res, err
	}
	for _, n := range peaks {
		res.Peak = max(res.Peak, n*1024)
	}
	list, err := numbers(sizes)
	for i := 0; i+1 < len(list); i += 2 {
		res.Size += list[i]
		res.Text += list[i+1]
	}
	return res, err
}

// numbers reads a report.
func numbers(report string) (list []float64, err error) {
	b, err := os.ReadFile(report)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for word := range strings.FieldsSeq(string(b)) {
		n, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}
