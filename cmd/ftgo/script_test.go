package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/goproxytest"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ftgo/ftgo/internal/relay"
)

// TestMain makes this test binary the ftgo command wherever a script, or the go command that a
// script runs, starts it.
func TestMain(m *testing.M) {
	if os.Args[0] == relay.WitnessName {
		relay.Witness()
		return
	}
	if os.Getenv("FTGO_TEST_COMMAND") == "1" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// TestScripts runs the scripts in testdata/script, each of which is named after what it shows.
func TestScripts(t *testing.T) {
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(exe, filepath.Join(bin, "ftgo")); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			for _, key := range []string{"GOCACHE", "GOMODCACHE", "GOTOOLCHAIN", "GOPROXY", "GOFLAGS", "GOSUMDB", "GONOSUMDB", "HOME", "LANG", "GOTMPDIR"} {
				if v, ok := os.LookupEnv(key); ok {
					e.Setenv(key, v)
				}
			}
			if e.Getenv("GOCACHE") == "" {
				dir, err := os.UserCacheDir()
				if err != nil {
					return err
				}
				e.Setenv("GOCACHE", filepath.Join(dir, "go-build"))
			}
			e.Setenv("GOTRACEBACK", "")
			e.Setenv("FTGO_TEST_COMMAND", "1")
			e.Setenv("REPO", repo)
			e.Setenv("EXE", exe)
			e.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "downloaded":
			case "root":
				return os.Geteuid() == 0, nil
			case "long": // parts that take long are to run, too
				return os.Getenv("FTGO_LONG") != "", nil
			case "mount": // a file system can be mounted
				return exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", bin).Run() == nil, nil
			default:
				return false, fmt.Errorf("there is no condition %q", cond)
			}
			// The Go toolchain in use was downloaded as a module.
			goroot, err := exec.Command("go", "env", "GOROOT").Output()
			return strings.Contains(string(goroot), "golang.org"+string(filepath.Separator)+"toolchain@"), err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"asnobody":   asnobody,
			"count":      count,
			"counts":     counts,
			"debuginfo":  debuginfo,
			"dies":       dies,
			"graph":      graph,
			"killed":     killed,
			"names":      names,
			"offpath":    offpath,
			"proxy":      proxy,
			"same":       same(normalise),
			"sameframes": same(func(s string) string { return arguments.ReplaceAllString(normalise(s), "") }),
			"traced":     traced,
			"truncate":   truncate,
		},
	})
}

// proxy DIR: the go command gets modules from DIR alone, which is laid out as goproxytest says, and
// keeps them in a cache of the script's own.
func proxy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: proxy DIR")
	}
	srv, err := goproxytest.NewServer(ts.MkAbs(args[0]), "")
	ts.Check(err)
	ts.Defer(srv.Close)
	ts.Setenv("GOPROXY", srv.URL)
	ts.Setenv("GOSUMDB", "off")
	ts.Setenv("GOMODCACHE", ts.MkAbs("modcache"))
	ts.Setenv("GOFLAGS", "-modcacherw")
	ts.Setenv("XDG_CACHE_HOME", ts.MkAbs("cache"))
}

// count TEXT FILE N: the file has N lines that contain TEXT.
func count(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: count TEXT FILE N")
	}
	n := 0
	for _, line := range strings.Split(ts.ReadFile(args[1]), "\n") {
		if strings.Contains(line, args[0]) {
			n++
		}
	}
	if want, err := strconv.Atoi(args[2]); err != nil || (n == want) == neg {
		ts.Fatalf("%s has %d lines with %q, want %s", args[1], n, args[0], args[2])
	}
}

// counts TABLE TABLE: two tables of functions, of a report or a profile, have the same functions,
// each with as many calls.
func counts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: counts TABLE TABLE")
	}
	read := func(name string) map[string]string {
		calls := map[string]string{}
		for i, line := range strings.Split(ts.ReadFile(name), "\n") {
			if f := tableRow.FindStringSubmatch(line); i > 1 && f != nil {
				calls[f[2]] = f[1]
			}
		}
		return calls
	}
	a, b := read(args[0]), read(args[1])
	if diff := cmp.Diff(a, b); diff != "" || len(a) == 0 {
		ts.Fatalf("%s and %s differ: %s", args[0], args[1], diff)
	}
}

var tableRow = regexp.MustCompile(`^.{24} +([0-9]+) .{60} +(.*)$`)

// names TRACE NAME-%d ...: the goroutines of a graph with the option funcgraph-proc have these
// names, besides main-1.
func names(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: names TRACE NAME-%%d ...")
	}
	found := map[string]bool{}
	for _, m := range taskName.FindAllStringSubmatch(ts.ReadFile(args[0]), -1) {
		if m[1] != "main-1" {
			found[m[2]+"-%d"] = true
		}
	}
	want := map[string]bool{}
	for _, name := range args[1:] {
		want[name] = true
	}
	if diff := cmp.Diff(want, found); diff != "" {
		ts.Fatalf("names of goroutines in %s: %s", args[0], diff)
	}
}

var taskName = regexp.MustCompile(`(?m)^ [0-9]+\) +(([^ ]+)-[0-9]+) +\| `)

// truncate FILE SIZE cuts a file off.
func truncate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: truncate FILE SIZE")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), int64(n)))
}

// graph TRACE WANT: the calls of a graph, without the columns in front of them, what marks a switch
// of the task, and the names behind braces, which depend on the CPU. A call that calls nothing is a
// line, also where it began and ended on different CPUs.
func graph(ts *testscript.TestScript, neg bool, args []string) {
	var b strings.Builder
	last := ""
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if _, call, ok := strings.Cut(line, "|  "); ok && !strings.HasPrefix(line, "#") {
			call = braceName.ReplaceAllString(call, "}")
			if open, ok := strings.CutSuffix(last, " {\n"); ok && strings.TrimSpace(call) == "}" && strings.Index(call, "}") == strings.IndexFunc(last, unicode.IsLetter) {
				last = open + ";\n"
				continue
			}
			b.WriteString(last)
			last = call
		}
	}
	b.WriteString(last)
	if want := ts.ReadFile(args[1]); (b.String() == want) == neg {
		ts.Fatalf("the graph of %s is\n%s, want\n%s", args[0], b.String(), want)
	}
}

// braceName is the name behind a brace that says no more: neither a value nor how the call ended.
var braceName = regexp.MustCompile(`\} /\* [^ ]+[^: ] \*/`)

// same A B: two files of stack traces are the same, except what normal takes out. For sameframes
// that includes what the runtime does not print of a call that is inlined.
func same(normal func(string) string) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		a, b := normal(ts.ReadFile(args[0])), normal(ts.ReadFile(args[1]))
		if (a == b) == neg {
			ts.Fatalf("%s and %s:\n%s\n----\n%s", args[0], args[1], a, b)
		}
	}
}
