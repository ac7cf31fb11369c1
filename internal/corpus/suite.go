package corpus

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Suite is a set of tests that pass plainly: of a module, of packages of the standard library, or files of GOROOT/test.
type Suite struct {
	Name   string
	Module string   // path@version; "std" for packages of the standard library, "goroot" for files of GOROOT/test
	Args   []string // of go test: packages, -skip, -short; for GOROOT/test: globs of files
	Bench  []Bench  // benchmarks that a quiet machine repeats to a few percent
}

// A Bench is a package and a regular expression of its benchmarks.
type Bench struct{ Package, Regexp string }

// A Column is a way to build and run a suite.
type Column struct {
	Name  string
	Flags []string // of ftgo's build; nil: the plain go command
	On    bool     // graph tracer, all functions
}

// Columns are the ways: the tests that pass must be the same in all.
var Columns = []Column{
	{Name: "plain"},
	{Name: "off", Flags: []string{"-inline=keep"}},
	{Name: "on", Flags: []string{"-inline=keep"}, On: true},
	{Name: "hook, off", Flags: []string{"-inline=hook"}},
	{Name: "hook, on", Flags: []string{"-inline=hook"}, On: true},
}

// Columns returns the ways that a suite is run in, the plain one first.
func (s Suite) Columns() (list []Column) {
	for _, c := range Columns {
		switch {
		case s.Module == "goroot":
		case c.Name == "hook, off", s.Module == "std" && c.Name == "hook, on": // less than what is on
			continue
		case s.Module == "std" && c.Flags != nil:
			c.Flags = append(slices.Clone(c.Flags), "-std")
		}
		list = append(list, c)
	}
	return list
}

// dir returns the directory that a suite runs in.
func (s Suite) dir() (string, error) {
	switch s.Module {
	case "std":
		return goroot("src")
	case "goroot":
		return goroot("test")
	}
	return Fetch(s.Module)
}

func goroot(dir string) (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	return filepath.Join(strings.TrimSpace(string(out)), dir), err
}

// Find returns the suites of a name: of a module or a package of the lists, "modules", "std" or "goroot" for the lists themselves, or
// path@version for any other module.
func Find(name string) ([]Suite, error) {
	switch name {
	case "modules":
		return Modules, nil
	case "std":
		return Std, nil
	case "goroot":
		return Goroot, nil
	}
	var list []Suite
	for _, s := range slices.Concat(Modules, Std, Goroot) {
		if s.Name == name {
			list = append(list, s)
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	if strings.Contains(name, "@") {
		return []Suite{{Name: base(name), Module: name, Args: []string{"./..."}}}, nil
	}
	return nil, fmt.Errorf("there is no suite %q; a suite is modules, std, goroot, path@version, or one of %s", name, names())
}

func names() string {
	var list []string
	for _, s := range slices.Concat(Modules, Std, Goroot) {
		list = append(list, s.Name)
	}
	return strings.Join(list, " ")
}

// Known returns why a test need not pass in a column as it does plainly, or "".
func (s Suite) Known(column, test string) string {
	for _, e := range Exceptions {
		if e.Suite == s.Name && (e.Column == "" || strings.Contains(column, e.Column)) && e.Test.MatchString(test) {
			return e.Reason
		}
	}
	return ""
}
