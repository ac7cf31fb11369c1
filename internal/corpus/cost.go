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
	CPU           float64 // seconds, of all its processes
	Peak          float64 // bytes, of the compiler process that took most, ftgo's own included
	Size          float64 // bytes of all test binaries
	Text          float64 // bytes of machine code in them, where they are ELF files
}

// cache returns the build cache for a set of flags.
func (r *Runner) cache(flags []string) string {
	return filepath.Join(r.State, "cache"+strings.Join(flags, ""))
}

// built are the columns that stand for a way to build each.
var built = []int{0, 1, 3}

// Costs builds a module's packages and test binaries in each way to build, in caches that hold the standard library and what modules that
// came before this one needed. What building the standard library took is the cost of a suite of that name, if that was done now.
func (r *Runner) Costs(s Suite) (list []Cost, err error) {
	// What is half built would be cheaper the next time.
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

// Measure runs a command for go build's -toolexec, and adds a line to a report: the most memory that a compiler held.
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

// Size adds the size of a program to a report, and that of its machine code. It stands in for the program when go test runs it.
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

// add writes a line at once: the go command runs several of its programs at a time.
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

// The environment of a Runner's Self that makes it ftgo with its compilers measured.
const (
	EnvFtgo   = "FTGO_CORPUS_FTGO"   // the ftgo command
	EnvReport = "FTGO_CORPUS_REPORT" // see Measure
)

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
	if s.Module == "std" { // compiled alone
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
