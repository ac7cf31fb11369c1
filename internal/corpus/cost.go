package corpus

import (
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
}

// cache returns the build cache for a set of flags.
func (r *Runner) cache(flags []string) string {
	return filepath.Join(r.State, "cache"+strings.Join(flags, ""))
}

// built are the columns that stand for a way to build each.
var built = []int{0, 1, 3}

// Costs builds a module's packages and test binaries in each way to build, in caches that hold the standard library and what modules that
// came before this one needed.
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
	for _, i := range built {
		cmd, err := r.command(Suite{Module: "std"}, nil, "list", "-export", "std")
		if err != nil {
			return nil, err
		}
		r.toolexec(cmd, Columns[i], os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("the standard library: %w: %s", err, out)
		}
	}
	if err := os.WriteFile(mark, nil, 0o666); err != nil {
		return nil, err
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

// toolexec gives a plain go command the tools of a column, each run by Measure.
func (r *Runner) toolexec(cmd *exec.Cmd, c Column, report string) {
	words := append(slices.Clone(r.Measure), report)
	if c.Flags != nil {
		words = append(append(words, r.Ftgo), c.Flags...)
	}
	cmd.Args = slices.Insert(cmd.Args, 2, "-toolexec="+strings.Join(words, " "))
	cmd.Env = append(cmd.Env, "GOCACHE="+r.cache(c.Flags))
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
	f, err := os.OpenFile(report, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, u.Maxrss); err != nil {
		return err
	}
	return f.Close()
}

func (r *Runner) cost(s Suite, c Column) (Cost, error) {
	res := Cost{Suite: s.Name, Column: c.Name}
	tmp, err := os.MkdirTemp("", "ftgo-corpus")
	if err != nil {
		return res, err
	}
	defer os.RemoveAll(tmp)
	packages := slices.DeleteFunc(slices.Clone(s.Args), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	// go list -export compiles and does not link.
	cmd, err := r.command(s, nil, "list", append([]string{"-export", "-deps", "-test"}, packages...)...)
	if err != nil {
		return res, err
	}
	report := filepath.Join(tmp, "report")
	r.toolexec(cmd, c, report)
	if out, err := cmd.CombinedOutput(); err != nil {
		return res, fmt.Errorf("%w: %s", err, out)
	}
	res.CPU = seconds(cmd)
	if res.Peak, err = peak(report); err != nil {
		return res, err
	}
	bin := filepath.Join(tmp, "bin") + string(filepath.Separator)
	link, err := r.command(s, c.Flags, "test", append([]string{"-c", "-vet=off", "-o", bin}, packages...)...)
	if err != nil {
		return res, err
	}
	if out, err := link.CombinedOutput(); err != nil {
		return res, fmt.Errorf("%w: %s", err, out)
	}
	res.CPU += seconds(link)
	binaries, err := os.ReadDir(bin)
	if err != nil {
		return res, err
	}
	for _, e := range binaries {
		info, err := e.Info()
		if err != nil {
			return res, err
		}
		res.Size += float64(info.Size())
	}
	return res, nil
}

// peak returns the largest number of a report of Measure, in bytes.
func peak(report string) (n float64, err error) {
	b, err := os.ReadFile(report)
	if err != nil {
		return 0, err
	}
	for _, word := range strings.Fields(string(b)) {
		k, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return 0, err
		}
		n = max(n, k*1024)
	}
	return n, nil
}

func seconds(cmd *exec.Cmd) float64 {
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
}
