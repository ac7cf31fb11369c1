// Package record runs a program with a tracer on. The records lie in a file that the two share, so
// they are there however the program ends.
package record

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ftgo/ftgo/internal/relay"
	"github.com/ftgo/ftgo/internal/tracefile"
	"github.com/ftgo/ftgo/rewriter"
)

// Options are what "ftgo record" and "ftgo live" were asked for.
type Options struct {
	Settings []Setting // of the traced program
	Out      string    // file for the trace; for Live, its text, and "" is standard error
	Build    []string  // flags of go build
	Flags    rewriter.Flags
	Given    []string // flags of the build that were given
}

// A run is a program that is built, run and traced.
type run struct {
	Options
	target  string   // as it was named
	args    []string // of the program
	text    tracefile.Options
	dir     string // temporary
	program string // path
	state   *os.ProcessState
	start   time.Time
	elapsed time.Duration
}

// Live builds target unless it is a program, runs it, and prints its trace. It returns the
// program's exit status; a program that a signal killed takes this process along by the same
// signal.
func Live(o Options, target string, args []string) (status int, err error) {
	r := &run{Options: o, target: target, args: args}
	if r.text, err = o.check(); err != nil {
		return 2, err
	}
	return inTemp(r, func(g *guard) error {
		if err := r.build(g.building); err != nil {
			return err
		}
		w := os.Stderr
		if o.Out != "" && !strings.Contains(o.Out, "%p") {
			f, err := tracefile.Create(o.Out)
			if err != nil {
				return err
			}
			defer f.Close()
			w = f
		}
		trace := filepath.Join(r.dir, "trace")
		f, err := tracefile.Create(trace)
		if err != nil {
			return err
		}
		f.Close()
		if err := r.run(g, trace, nil); err != nil {
			return err
		}
		if r.refused(trace) {
			return nil
		}
		if strings.Contains(o.Out, "%p") {
			f, err := tracefile.Create(strings.ReplaceAll(o.Out, "%p", strconv.Itoa(r.state.Pid())))
			if err != nil {
				return err
			}
			defer f.Close()
			w = f
		}
		return r.print(w, trace)
	})
}

// Record builds and runs target as Live does, and leaves the trace in the file that o.Out names. On
// a terminal a line tells how far it is.
func Record(o Options, target string, args []string) (status int, err error) {
	if !shared {
		return 2, errors.New("ftgo record writes a file that is shared with the program, which works on Linux alone so far; ftgo live works everywhere")
	}
	r := &run{Options: o, target: target, args: args}
	if r.text, err = o.check(); err != nil {
		return 2, err
	}
	return inTemp(r, func(g *guard) error {
		if err := r.build(g.building); err != nil {
			return err
		}
		restore, err := makeRoom(o.Out)
		if err != nil {
			return err
		}
		if err := r.run(g, o.Out, newProgress(o.Out)); err != nil {
			return errors.Join(err, restore())
		}
		if r.refused(o.Out) {
			return restore()
		}
		return finish(o.Out, r.program, r.info())
	})
}

// makeRoom creates the file of a recording. A file that is there already keeps its name with .old
// behind it, as perf and uftrace do it; restore undoes that.
func makeRoom(name string) (restore func() error, err error) {
	restore = func() error { return os.Remove(name) }
	switch fi, err := os.Lstat(name); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	case !fi.Mode().IsRegular():
		return nil, fmt.Errorf("%s is there and not a file: the trace wants a file that can be mapped", name)
	default:
		if err := os.Rename(name, name+".old"); err != nil {
			return nil, err
		}
		restore = func() error { return os.Rename(name+".old", name) }
	}
	f, err := tracefile.Create(name)
	if err != nil {
		return nil, errors.Join(err, restore())
	}
	return restore, f.Close()
}

// refused reports whether the library ended the program before it began, because of a setting: it
// has said which and why. Nothing was recorded then, and the trace is not marked as ended.
func (r *run) refused(trace string) bool {
	if r.state.ExitCode() != 2 {
		return false
	}
	head := make([]byte, tracefile.HeaderSize)
	f, err := os.Open(trace)
	if err != nil {
		return false
	}
	defer f.Close()
	if _, err := f.ReadAt(head, 0); err == io.EOF {
		return true // a tracer that there is not
	}
	c := counter{path: trace}
	defer c.close()
	n, _ := c.count()
	return n == 0 && binary.LittleEndian.Uint32(head[tracefile.HState:])&tracefile.StateEnded == 0
}

// inTemp gives do a directory for the time it runs, and removes the directory whatever signal
// comes.
func inTemp(r *run, do func(g *guard) error) (status int, err error) {
	g, err := newGuard()
	if err != nil {
		return 2, err
	}
	r.dir = g.dir
	err = do(g)
	died, removed := g.end()
	switch {
	case died != nil:
		relay.Die(died)
		return 1, nil
	case errors.Is(err, syscall.EPIPE): // the reader has had enough
		err = nil
	}
	err = errors.Join(err, removed)
	switch {
	case r.state == nil:
		return 2, err
	case err != nil:
		return max(1, r.state.ExitCode()), err
	}
	return relay.Status(r.state), nil // may not return
}

// run runs the program, which writes into the file trace. A nil state says that it did not begin.
func (r *run) run(g *guard, trace string, p *progress) error {
	trace, err := filepath.Abs(trace)
	if err != nil {
		return err
	}
	cmd := exec.Command(r.program, r.args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = r.environment(trace)
	if strings.HasPrefix(r.program, r.dir+string(filepath.Separator)) {
		cmd.Args[0] = strings.TrimSuffix(filepath.Base(r.program), ".exe") // the path will soon be gone
	}
	resume := g.suspend()
	defer resume()
	r.start = time.Now()
	state, err := relay.Run(cmd, func(int) { p.begin() })
	p.end()
	r.elapsed = time.Since(r.start)
	if errors.Is(err, syscall.ENOEXEC) {
		return fmt.Errorf("%s is no program for %s/%s", r.target, runtime.GOOS, runtime.GOARCH)
	}
	if err != nil && state == nil {
		return fmt.Errorf("%s: %w", r.target, err)
	}
	r.state = state
	return nil
}

// build finds or makes the program to run.
func (r *run) build(ctx context.Context) (err error) {
	if path, ok := isProgram(r.target); ok {
		if len(r.Given) > 0 {
			return fmt.Errorf("%s is built already, and %s is a flag of the build: name its package, or leave the flag out", r.target, r.Given[0])
		}
		hooks, library, err := holds(path)
		switch {
		case err != nil:
			return err
		case !hooks:
			return fmt.Errorf("%s was built without hooks: build it with \"ftgo build\", or name its package instead", r.target)
		case !library:
			return fmt.Errorf("%s holds hooks without the library that serves them: build it with \"ftgo build\", or import %s in it", r.target, rewriter.Library)
		}
		r.program = path
		return nil
	}
	r.program, err = rewriter.Build(ctx, r.dir, r.target, r.Build, r.Flags)
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return fmt.Errorf("%s does not build", r.target)
	}
	return err
}

// isProgram reports whether target is an executable file.
func isProgram(target string) (path string, ok bool) {
	if strings.HasSuffix(target, ".go") {
		return "", false
	}
	fi, err := os.Stat(target)
	if err != nil || !fi.Mode().IsRegular() || fi.Mode()&0o111 == 0 && runtime.GOOS != "windows" {
		return "", false
	}
	path, err = filepath.Abs(target)
	return path, err == nil
}

// holds looks for the names of the hooks' functions in a program.
func holds(path string) (hooks, library bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, false, err
	}
	defer f.Close()
	buf := make([]byte, 1<<20)
	const overlap = 64
	n := 0
	for {
		m, err := io.ReadFull(f, buf[n:])
		b := buf[:n+m]
		hooks = hooks || bytes.Contains(b, []byte("runtime.ftgo_take"))
		library = library || bytes.Contains(b, []byte("FTGO_MAX_STACK"))
		if hooks && library || err != nil {
			return hooks, library, nil
		}
		n = copy(buf, b[len(b)-overlap:])
	}
}

// shared says that the program writes its records into a file that this process reads, which works
// however it ends. Elsewhere the program writes the text of its trace when it ends in order.
const shared = runtime.GOOS == "linux"

// print prints the trace to w.
func (r *run) print(w io.Writer, trace string) error {
	if !shared {
		f, err := os.Open(trace)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(w, f)
		return err
	}
	t, err := tracefile.ReadFile(trace)
	if err != nil {
		return noTrace(r.target)
	}
	defer t.Close()
	t.Symbol = symbols(r.program)
	return t.WriteText(w, r.text)
}

func noTrace(program string) error {
	return fmt.Errorf("%s left no trace: it ended before its first hook, or does not hold the library", program)
}
