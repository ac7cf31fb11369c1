package corpus

import (
	"bytes"
	"context"
	"fmt"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Goroot holds the files of GOROOT/test that start with "// run", in parts.
var Goroot = []Suite{
	{Name: "test", Module: "goroot", Args: []string{"*.go"}},
	{Name: "test/abi", Module: "goroot", Args: []string{"abi/*.go"}},
	{Name: "test/chan", Module: "goroot", Args: []string{"chan/*.go", "dwarf/*.go", "interface/*.go", "ken/*.go"}},
	{Name: "test/typeparam", Module: "goroot", Args: []string{"typeparam/*.go", "typeparam/mdempsky/*.go"}},
	{Name: "test/fixedbugs/bug", Module: "goroot", Args: []string{"fixedbugs/bug*.go"}},
	{Name: "test/fixedbugs/issue", Module: "goroot", Args: []string{"fixedbugs/issue[1-3]*.go"}},
	{Name: "test/fixedbugs/issue4", Module: "goroot", Args: []string{"fixedbugs/issue[4-9]*.go", "fixedbugs/gcc*.go"}},
}

// runFiles builds each file of a suite, runs it in GOROOT/test, and compares its output with the
// file beside it, as cmd/internal/testdir does.
func (r *Runner) runFiles(s Suite, c Column, env []string, res *Result) error {
	dir, err := s.dir()
	if err != nil {
		return err
	}
	var files []string
	for _, glob := range s.Args {
		list, err := filepath.Glob(filepath.Join(dir, glob))
		if err != nil {
			return err
		}
		files = append(files, list...)
	}
	tmp, err := os.MkdirTemp("", "ftgo-goroot")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	// A program that runs the compiler finds the standard library by a file that the environment
	// names.
	importcfg := filepath.Join(tmp, "importcfg")
	list := exec.Command("go", "list", "-export", "-f", "{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}", "std")
	packages, err := list.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	if err := os.WriteFile(importcfg, packages, 0o666); err != nil {
		return err
	}
	env = append(env, "STDLIB_IMPORTCFG="+importcfg)
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		free = make(chan int, runtime.NumCPU())
	)
	start := time.Now()
	for i, file := range files {
		flags, more, args, ok := runLine(file)
		if !ok {
			continue
		}
		name, _ := filepath.Rel(dir, file)
		free <- i
		wg.Go(func() {
			defer func() { <-free }()
			err := r.runFile(s, c, env, dir, name, filepath.Join(tmp, fmt.Sprint(i)), append(flags, append([]string{name}, more...)...), args)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				res.Passed = append(res.Passed, name)
			} else if len(res.Output) < 1e4 {
				res.Output += fmt.Sprintf("%s: %v\n", name, err)
			}
		})
	}
	wg.Wait()
	res.Seconds = time.Since(start).Seconds()
	return nil
}

// runLine returns the flags of the build, the other files and the arguments of a program, from its
// first line. ok is false if the program does not run on this machine.
func runLine(file string) (flags, more, args []string, ok bool) {
	if match, err := build.Default.MatchFile(filepath.Split(file)); err != nil || !match {
		return nil, nil, nil, false
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, nil, false
	}
	for line := range strings.Lines(string(src)) { // build constraints may come first
		line = strings.TrimSpace(line)
		if words, is := strings.CutPrefix(line, "// run"); is && (words == "" || words[0] == ' ') {
			args = strings.Fields(strings.ReplaceAll(words, `"`, ""))
			break
		}
		if line != "" && !strings.HasPrefix(line, "//go:build ") {
			return nil, nil, nil, false
		}
	}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-goexperiment", "-godebug":
			return nil, nil, nil, false
		}
		flags, args = append(flags, args[0]), args[1:]
	}
	for len(args) > 0 && strings.HasSuffix(args[0], ".go") { // other files of the program
		more, args = append(more, filepath.Join(filepath.Dir(file), args[0])), args[1:]
	}
	return flags, more, args, true
}

func (r *Runner) runFile(s Suite, c Column, env []string, dir, name, exe string, build, args []string) error {
	b, err := r.command(s, c.Flags, "build", append([]string{"-o", exe}, build...)...)
	if err != nil {
		return err
	}
	if out, err := b.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	defer os.Remove(exe)
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Minute)
	defer stop()
	run := exec.CommandContext(ctx, exe, args...)
	run.Dir = dir
	run.Env = append(os.Environ(), env...)
	run.WaitDelay = time.Second
	out, err := run.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out[max(0, len(out)-1000):])
	}
	want, err := os.ReadFile(filepath.Join(dir, strings.TrimSuffix(name, ".go")+".out"))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if !bytes.Equal(out, want) {
		return fmt.Errorf("printed %.500q instead of %.500q", out, want)
	}
	return nil
}
