package rewriter

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	gomodule "golang.org/x/mod/module"
)

// The go command builds path@version, for install and run, with the module that holds it as the
// main module, in the module cache, where nothing can be added. So ftgo builds a copy of that
// module. The copies stay beside the overlay's files, under a name with the version: their
// positions are part of the build cache's keys, and stack traces name them.

// hasVersion reports whether a package is named with a version.
func (c *goCommand) hasVersion() bool {
	if c.name != "install" && c.name != "run" && c.program == "" {
		return false // the go command says that it cannot
	}
	return slices.ContainsFunc(c.packages, func(p string) bool {
		return strings.Contains(p, "@") && !filepath.IsAbs(p) && !strings.HasPrefix(p, ".") && !strings.HasSuffix(p, ".go")
	})
}

// atVersion makes the build one of a copy of the module that holds the packages, which are named
// with a version.
func (c *goCommand) atVersion() error {
	var paths []string
	version := ""
	for _, p := range c.packages {
		path, v, ok := strings.Cut(p, "@")
		if !ok || version != "" && v != version {
			return fmt.Errorf("%s: all packages want the same version, as in %s@%s", p, path, max(v, version))
		}
		version = v
		paths = append(paths, path)
	}
	for _, f := range c.goFlags {
		if name, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "="); name == "modfile" {
			return fmt.Errorf("%s: a version's own go.mod is used, so there can be no %s", c.packages[0], f)
		}
	}
	var err error
	for i, f := range c.goFlags { // these are relative to the directory that the go command starts in
		if val, ok := strings.CutPrefix(strings.TrimLeft(f, "-"), "pgo="); ok && val != "off" && val != "auto" {
			if val, err = filepath.Abs(filepath.Join(c.dir, val)); err != nil {
				return err
			}
			c.goFlags[i] = "-pgo=" + val
		}
	}
	c.workDir = c.dir
	c.environ = append(c.environ, "GOWORK=off")
	mod, err := c.fetch(paths)
	if err != nil {
		return err
	}
	if c.dir, err = mod.copy(); err != nil {
		return err
	}
	c.packages = paths
	// As for the go command, the module's own go.sum need not be whole.
	c.goFlags = append(c.goFlags, "-mod=mod")
	c.listFlags = append(c.listFlags, "-mod=mod")
	return nil
}

// fetched is a module in the module cache.
type fetched struct{ path, version, dir, goMod string }

// fetch has the go command choose and download the module that holds packages, as their requirement
// of an empty module.
func (c *goCommand) fetch(paths []string) (fetched, error) {
	none := fetched{}
	dir, err := os.MkdirTemp("", "ftgo")
	if err != nil {
		return none, err
	}
	defer os.RemoveAll(dir)
	release, _, _ := strings.Cut(strings.TrimPrefix(c.env("GOVERSION"), "go"), " ")
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module ftgo.local\n\ngo "+release+"\n"), 0o666); err != nil {
		return none, err
	}
	run := func(args ...string) (string, error) {
		cmd := c.command(args...)
		cmd.Dir = dir
		cmd.Env = append(cmd.Env, "PWD="+dir)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := c.runGo(cmd)
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			return "", errors.New(strings.TrimPrefix(strings.TrimSpace(stderr.String()), "go: "))
		}
		return stdout.String(), err
	}
	if _, err := run(append([]string{"get"}, c.packages...)...); err != nil {
		return none, err
	}
	const format = "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{.GoMod}}{{end}}"
	out, err := run(append([]string{"list", "-mod=mod", "-f", format}, paths...)...)
	if err != nil {
		return none, err
	}
	lines := slices.Compact(strings.Split(strings.TrimSpace(out), "\n"))
	f := strings.Split(lines[0], "\t")
	switch {
	case len(lines) > 1:
		return none, fmt.Errorf("%s: the packages belong to several modules: name packages of one", strings.Join(c.packages, " "))
	case len(f) != 4:
		return none, fmt.Errorf("%s belongs to no module", strings.Join(c.packages, " "))
	}
	return fetched{f[0], f[1], f[2], f[3]}, nil
}

// copy copies the module, unless there is a copy already, and returns its directory.
func (m fetched) copy() (string, error) {
	gomod, err := os.ReadFile(m.goMod)
	if err != nil {
		return "", err
	}
	file, err := modfile.ParseLax(m.goMod, gomod, nil)
	if err != nil {
		return "", err
	}
	if whole, err := modfile.Parse(m.goMod, gomod, nil); err == nil {
		file = whole
	}
	directive := ""
	switch {
	case len(file.Replace) > 0:
		directive = "replace"
	case len(file.Exclude) > 0:
		directive = "exclude"
	}
	if directive != "" {
		return "", fmt.Errorf("the go.mod of %s@%s has a %s directive, which holds in a main module alone: as with \"go install\", it cannot be built by its version", m.path, m.version, directive)
	}
	base := cacheDir()
	if base == "" {
		return "", errors.New("a module that is named with a version is copied below the user's cache directory, and there is none: set HOME, or XDG_CACHE_HOME")
	}
	path, err := gomodule.EscapePath(m.path)
	if err != nil {
		return "", err
	}
	version, err := gomodule.EscapeVersion(m.version)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, "mod", filepath.FromSlash(path)+"@"+version)
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "tmp")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := copyTree(filepath.Join(tmp, "m"), m.dir); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(tmp, "m", "go.mod"), gomod, 0o666); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(tmp, "m"), dir); err != nil {
		if _, other := os.Stat(filepath.Join(dir, "go.mod")); other != nil { // no other build was first
			return "", err
		}
	}
	return dir, nil
}

// copyTree copies a tree of the module cache, which is read-only, so that files can be added to the
// copy.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		dst := filepath.Join(to, rel)
		if d.IsDir() {
			return os.Mkdir(dst, 0o777)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(dst, data, 0o666)
	})
}

// buildAndRun is "go run" of a copy: the program begins in the directory where ftgo did.
func (c *goCommand) buildAndRun() error {
	tmp, err := os.MkdirTemp("", "ftgo")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	c.name, c.program = "build", tmp
	args := c.args
	c.args = nil
	c.goFlags = withoutExec(c.goFlags)
	if err := c.build(); err != nil {
		return err
	}
	cmd := exec.Command(c.program, args...)
	if words := strings.Fields(c.exec); len(words) > 0 {
		cmd = exec.Command(words[0], append(append(words[1:], c.program), args...)...)
	}
	cmd.Dir = c.workDir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = c.runGo(cmd)
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, exit) // as go run does
		return errRan
	}
	return err
}

// errRan says that the program of "go run" failed, which it has said itself.
var errRan = errors.New("the program failed")

// withoutExec takes -exec out of flags, which "go build" does not have.
func withoutExec(flags []string) (rest []string) {
	for i := 0; i < len(flags); i++ {
		switch name, _, has := strings.Cut(strings.TrimLeft(flags[i], "-"), "="); {
		case name != "exec":
			rest = append(rest, flags[i])
		case !has:
			i++
		}
	}
	return rest
}
