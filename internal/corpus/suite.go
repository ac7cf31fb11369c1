package corpus

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Suite is a set of tests that pass without hooks: of a module, of packages of the standard
// library, or files of GOROOT/test.
type Suite struct {
	Name string
	// Module is path@version, "std" for packages of the standard library, or "goroot" for files of
	// GOROOT/test.
	Module string
	// Args are arguments of go test: packages, -skip, -short. For GOROOT/test they are globs of
	// files.
	Args  []string
	Bench []Bench // benchmarks that vary by a few percent on a quiet machine
}

// A Bench is a package and a regular expression of its benchmarks.
type Bench struct{ Package, Regexp string }

// A Column is a way to build and run a suite.
type Column struct {
	Name  string
	Flags []string // of ftgo's build; nil: the plain go command
	On    bool     // graph tracer, all functions
}

// Columns holds all columns. The same tests must pass in each.
var Columns = []Column{
	{Name: "plain"},
	{Name: "off", Flags: []string{"-inline=keep"}},
	{Name: "on", Flags: []string{"-inline=keep"}, On: true},
	{Name: "hook, off", Flags: []string{"-inline=hook"}},
	{Name: "hook, on", Flags: []string{"-inline=hook"}, On: true},
}

// Columns returns the columns that a suite is run in, the plain one first.
func (s Suite) Columns() (list []Column) {
	for _, c := range Columns {
		switch {
		case s.Module == "goroot":
		case c.Name == "hook, off", s.Module == "std" && c.Name == "hook, on":
			// The column that is on covers it.
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

// Find returns the suites of a name: of a listed module or package, of "modules", "std" or "goroot"
// for a whole list, or of path@version for any other module.
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

// Known returns the reason why a test need not pass in a column as it does without hooks, or "".
func (s Suite) Known(column, test string) string {
	for _, e := range Exceptions {
		if e.Suite == s.Name && (e.Column == "" || strings.Contains(column, e.Column)) && e.Test.MatchString(test) {
			return e.Reason
		}
	}
	return ""
}
