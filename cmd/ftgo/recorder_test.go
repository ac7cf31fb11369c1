package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkRecorder measures what recording costs beside its floor, in turns in one program
// (internal/testprog/floor):
//
//	go test ./cmd/ftgo -run '^$' -bench Recorder
func BenchmarkRecorder(b *testing.B) {
	report(b, hookedProgram(b, "../../internal/testprog/floor"))
}

// BenchmarkFilters says how long it takes to switch 100,000 functions on and off by filter, and to
// switch tracers, while 8 goroutines call.
func BenchmarkFilters(b *testing.B) {
	dir := b.TempDir()
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	repo, err := filepath.Abs("../..")
	check(err)
	var imports, all strings.Builder
	for p := range 100 {
		var src strings.Builder
		fmt.Fprintf(&src, "package p%d\n\nvar n int\n\n", p)
		for f := range 1000 {
			fmt.Fprintf(&src, "//go:noinline\nfunc F%d() { n++ }\n", f)
		}
		check(os.MkdirAll(filepath.Join(dir, fmt.Sprint("p", p)), 0o777))
		check(os.WriteFile(filepath.Join(dir, fmt.Sprint("p", p), "p.go"), []byte(src.String()), 0o666))
		fmt.Fprintf(&imports, "\t\"many/p%d\"\n", p)
		fmt.Fprintf(&all, "\t\tp%d.F1()\n", p)
	}
	program, err := os.ReadFile("testdata/filters.go.txt")
	check(err)
	text := strings.NewReplacer("\t// imports\n", imports.String(), "\t\t// calls\n", all.String()).Replace(string(program))
	check(os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o666))
	check(os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module many\n\ngo 1.26.0\n"), 0o666))
	check(os.WriteFile(filepath.Join(dir, "go.work"), []byte("go 1.26.0\n\nuse (\n\t.\n\t"+repo+"\n)\n"), 0o666))
	report(b, hookedProgram(b, dir))
}

// hookedProgram builds a program with hooks.
func hookedProgram(b *testing.B, dir string) string {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	program := filepath.Join(b.TempDir(), "program")
	cmd := exec.Command(exe, "build", "-o", program, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "FTGO_TEST_COMMAND=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return program
}

// report runs a program, and makes a benchmark of each line that it prints: a name, then values and
// their units.
func report(b *testing.B, program string) {
	out, err := exec.Command(program).Output()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		b.Run(f[0], func(b *testing.B) {
			b.ReportMetric(0, "ns/op") // this function's own
			for i := 1; i+1 < len(f); i += 2 {
				v, err := strconv.ParseFloat(f[i], 64)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(v, f[i+1])
			}
		})
	}
}
