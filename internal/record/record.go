// Package record runs a program with a tracer on. The records lie in a file that the two share, so they are there however the program ends.
package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ftgo/ftgo/internal/tracefile"
	"github.com/ftgo/ftgo/rewriter"
)

// Options are the words of "ftgo record" and "ftgo live".
type Options struct {
	Tracer    string
	Filter    []string
	Notrace   []string
	Depth     int           // max_graph_depth; 0 is no limit
	Threshold time.Duration // tracing_thresh; 0 is none
	MaxStack  int           // of the return stacks; 0 is the library's default
	Buffer    string        // such as 64M
	Clock     string        // "" is the library's choice
	Out       string        // file for the trace; for Live, its text, and "" is standard error
	Text      []string      // trace options
	Build     []string      // flags of go build
	Flags     rewriter.Flags
}

// Live builds target unless it is a program, runs it, and prints its trace. It returns the program's exit status; a program that a signal
// killed takes this process along by the same signal.
func Live(o Options, target string, args []string) (status int, err error) {
	text, err := textOptions(o.Text)
	if err != nil {
		return 2, err
	}
	return inTemp(func(dir string) (*os.ProcessState, error) {
		trace := filepath.Join(dir, "trace")
		state, program, err := run(o, target, args, dir, trace, nil)
		if err != nil {
			return state, err
		}
		return state, print(o, trace, program, text)
	})
}

// Record does the same and leaves the trace in the file that o.Out names. On a terminal a line tells how far it is.
func Record(o Options, target string, args []string) (status int, err error) {
	if !shared {
		return 2, errors.New("ftgo record writes a file that is shared with the program, which works on Linux alone so far; ftgo live works everywhere")
	}
	if _, err := textOptions(o.Text); err != nil {
		return 2, err
	}
	return inTemp(func(dir string) (*os.ProcessState, error) {
		start := time.Now()
		state, program, err := run(o, target, args, dir, o.Out, newProgress(o.Out))
		if err != nil {
			return state, err
		}
		return state, finish(o.Out, program, info(o, target, program, args, state, start))
	})
}

// inTemp gives do a directory for the time it runs.
func inTemp(do func(dir string) (*os.ProcessState, error)) (status int, err error) {
	dir, err := os.MkdirTemp("", "ftgo")
	if err != nil {
		return 2, err
	}
	state, err := do(dir)
	err = errors.Join(err, os.RemoveAll(dir))
	switch {
	case state == nil:
		return 2, err
	case err != nil:
		return max(1, state.ExitCode()), err
	}
	return exitStatus(state), nil // may not return
}

// textOptions are the options that change how a trace is printed. The others are the program's.
func textOptions(names []string) (text tracefile.Options, err error) {
	for _, name := range names {
		if !slices.Contains(programOptions, strings.TrimPrefix(name, "no")) {
			if err := text.Set(name); err != nil {
				return text, err
			}
		}
	}
	return text, nil
}

var programOptions = []string{"overwrite", "sleep-time", "graph-time", "function-fork"}

// run builds and runs the program, which writes into the file trace. A nil state says that it did not begin.
func run(o Options, target string, args []string, dir, trace string, p *progress) (state *os.ProcessState, program string, err error) {
	program, err = build(o, target, dir)
	if err != nil {
		return nil, "", err
	}
	switch fi, err := os.Lstat(trace); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, "", err
	case !fi.Mode().IsRegular():
		return nil, "", fmt.Errorf("%s is there and not a file: the trace wants a file that can be mapped", trace)
	default: // as perf and uftrace do
		if err := os.Rename(trace, trace+".old"); err != nil {
			return nil, "", err
		}
	}
	if err := os.WriteFile(trace, nil, 0o600); err != nil {
		return nil, "", err
	}
	if trace, err = filepath.Abs(trace); err != nil {
		return nil, "", err
	}
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = environment(o, trace)
	if strings.HasPrefix(program, dir) {
		cmd.Args[0] = target // not a name that is gone when it is read
	}
	p.begin()
	state, err = runChild(cmd)
	p.end()
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", target, err)
	}
	return state, program, nil
}

// build returns the path of the program to run.
func build(o Options, target, dir string) (string, error) {
	if path, ok := isProgram(target); ok {
		hooks, library, err := holds(path)
		switch {
		case err != nil:
			return "", err
		case !hooks:
			return "", fmt.Errorf("%s was built without hooks: build it with \"ftgo build\", or name its package instead", target)
		case !library:
			return "", fmt.Errorf("%s holds hooks without the library that serves them: build it with \"ftgo build\", or import %s in it", target, rewriter.Library)
		}
		return path, nil
	}
	out := filepath.Join(dir, strings.TrimSuffix(filepath.Base(target), ".go"))
	if out == dir || filepath.Base(out) == "." || filepath.Base(out) == ".." {
		out = filepath.Join(dir, "program")
	}
	if runtime.GOOS == "windows" {
		out += ".exe"
	}
	err := rewriter.Build(out, target, o.Build, o.Flags)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("%s does not build", target)
	}
	if err != nil {
		return "", err
	}
	if _, ok := isProgram(out); !ok {
		return "", fmt.Errorf("%s is not a main package", target)
	}
	return out, nil
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

func environment(o Options, trace string) []string {
	env := slices.DeleteFunc(os.Environ(), func(s string) bool {
		for _, key := range []string{"FTGO_TRACER", "FTGO_FILTER", "FTGO_NOTRACE", "FTGO_DEPTH", "FTGO_MAX_STACK", "FTGO_OUT", "FTGO_BUFFER", "FTGO_FILE", "FTGO_OPTIONS", "FTGO_CLOCK", "FTGO_THRESHOLD"} {
			if strings.HasPrefix(s, key+"=") {
				return true
			}
		}
		return false
	})
	set := func(key, val string) {
		if val != "" {
			env = append(env, key+"="+val)
		}
	}
	set("FTGO_TRACER", o.Tracer)
	set("FTGO_FILTER", strings.Join(o.Filter, ","))
	set("FTGO_NOTRACE", strings.Join(o.Notrace, ","))
	if o.Depth > 0 {
		set("FTGO_DEPTH", fmt.Sprint(o.Depth))
	}
	if o.MaxStack > 0 {
		set("FTGO_MAX_STACK", fmt.Sprint(o.MaxStack))
	}
	if o.Threshold > 0 {
		set("FTGO_THRESHOLD", o.Threshold.String())
	}
	set("FTGO_BUFFER", o.Buffer)
	set("FTGO_CLOCK", o.Clock)
	set("FTGO_OPTIONS", strings.Join(o.Text, ","))
	if shared {
		set("FTGO_FILE", trace)
	} else {
		set("FTGO_OUT", trace)
	}
	return env
}

// shared says that the program writes its records into a file that this process reads, which works however it ends. Elsewhere the
// program writes the text of its trace when it ends in order.
const shared = runtime.GOOS == "linux"

// runChild runs the program. Signals from the terminal reach it as they reach this process, which waits for it whatever comes; others
// are passed on.
func runChild(cmd *exec.Cmd) (*os.ProcessState, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				if forward(s) {
					cmd.Process.Signal(s)
				}
			case <-done:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(done)
	if cmd.ProcessState == nil {
		return nil, err
	}
	return cmd.ProcessState, nil
}

func print(o Options, trace, program string, text tracefile.Options) (err error) {
	w := os.Stderr
	if o.Out != "" {
		f, err := os.Create(o.Out)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		w = f
	}
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
		return noTrace(program)
	}
	defer t.Close()
	t.Symbol = symbols(program)
	return t.WriteText(w, text)
}

func noTrace(program string) error {
	return fmt.Errorf("%s left no trace: it ended before its first hook, or does not hold the library", program)
}
