package rewriter

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A goCommand is a run of the go command's build, install, run or test, taken apart.
type goCommand struct {
	name      string
	dir       string   // -C
	goFlags   []string // as given, without ours
	listFlags []string // those that change what packages there are
	packages  []string // patterns or files
	files     bool     // packages are files
	args      []string // of the program that run starts, or from -args on
	overlay   string   // the user's own
	vet       bool     // go test would run go vet
	count     bool     // -count is given
	gcflags   bool     // there are -gcflags of the user's own
	flags     Flags
	goEnv     map[string]string
}

// valueFlags are the go command's flags that take a value (go help build, go help test, go help testflag).
var valueFlags = map[string]bool{
	"C": true, "p": true, "covermode": true, "coverpkg": true, "asmflags": true, "buildmode": true, "compiler": true,
	"gccgoflags": true, "gcflags": true, "installsuffix": true, "ldflags": true, "mod": true, "modfile": true, "overlay": true,
	"pgo": true, "pkgdir": true, "tags": true, "toolexec": true, "o": true, "exec": true,
	"bench": true, "benchtime": true, "blockprofile": true, "blockprofilerate": true, "count": true, "coverprofile": true, "cpu": true,
	"cpuprofile": true, "fuzz": true, "fuzzminimizetime": true, "fuzztime": true, "list": true, "memprofile": true,
	"memprofilerate": true, "mutexprofile": true, "mutexprofilefraction": true, "outputdir": true, "parallel": true, "run": true,
	"shuffle": true, "skip": true, "timeout": true, "trace": true, "vet": true,
}

// parseGo takes the arguments of a go subcommand apart.
func parseGo(name string, args []string, flags Flags) (*goCommand, error) {
	c := &goCommand{name: name, vet: true, flags: flags}
	i := 0
	for ; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			i++
			break
		}
		if len(a) < 2 || a[0] != '-' {
			if name == "test" { // flags may follow the packages
				c.packages = append(c.packages, a)
				continue
			}
			break
		}
		key, val, has := strings.Cut(strings.TrimPrefix(a[1:], "-"), "=")
		key = strings.TrimPrefix(key, "test.")
		given := []string{a}
		ours := map[string]*string{"pkg": &c.flags.Pkg, "notrace": &c.flags.Notrace, "inline": &c.flags.Inline}[key]
		if !has && (valueFlags[key] || ours != nil) {
			if i+1 == len(args) {
				return nil, fmt.Errorf("ftgo %s: flag %s needs a value", name, a)
			}
			i++
			val = args[i]
			given = append(given, val)
		}
		switch {
		case key == "std" && (!has || val == "true"):
			c.flags.Std = true
			continue
		case ours != nil:
			*ours = val
			continue
		case key == "C":
			c.dir = val
			continue
		case key == "toolexec":
			return nil, fmt.Errorf("ftgo %s is itself the -toolexec program; to run another one beside it, use go %s -toolexec with ftgo in your own program", name, name)
		case key == "overlay":
			c.overlay = val
			continue
		case key == "gcflags":
			c.gcflags = true
		case key == "count":
			c.count = true
		case key == "vet":
			c.vet = val != "off"
		case key == "args" && name == "test":
			c.args = args[i:]
			i = len(args)
			continue
		case slices.Contains([]string{"tags", "mod", "modfile", "race", "msan", "asan", "compiler", "buildmode"}, key):
			c.listFlags = append(c.listFlags, given...)
		}
		c.goFlags = append(c.goFlags, given...)
	}
	rest := args[min(i, len(args)):]
	if name == "run" {
		n := 0
		for n < len(rest) && strings.HasSuffix(rest[n], ".go") {
			n++
		}
		if n == 0 {
			n = min(1, len(rest))
		}
		c.packages, c.args = rest[:n:n], rest[n:]
	} else {
		c.packages = append(c.packages, rest...)
	}
	c.files = len(c.packages) > 0 && strings.HasSuffix(c.packages[0], ".go")
	if _, err := c.flags.options(); err != nil {
		return nil, err
	}
	if c.overlay != "" {
		c.listFlags = append(c.listFlags, "-overlay="+c.overlay)
	}
	return c, nil
}

// forC reports whether the build makes libraries for C programs. WebAssembly's c-shared is for others.
func (c *goCommand) forC() bool {
	if c.env("CGO_ENABLED") != "1" {
		return false
	}
	given := append(strings.Fields(c.env("GOFLAGS")), c.listFlags...)
	for i, f := range given {
		switch mode, _ := strings.CutPrefix(strings.TrimLeft(f, "-"), "buildmode="); mode {
		case "c-shared", "c-archive":
			return true
		case "buildmode":
			if i+1 < len(given) && strings.HasPrefix(given[i+1], "c-") {
				return true
			}
		}
	}
	return false
}

// env returns what go env says.
func (c *goCommand) env(key string) string {
	if v, ok := c.goEnv[key]; ok {
		return v
	}
	if c.goEnv == nil {
		c.goEnv = map[string]string{}
	}
	cmd := exec.Command("go", "env", key)
	cmd.Dir = c.dir
	out, _ := cmd.Output()
	c.goEnv[key] = strings.TrimSpace(string(out))
	return c.goEnv[key]
}

// std returns the directory of the standard library. The programs of GOROOT/test are not part of it.
func (c *goCommand) std() string { return filepath.Join(c.env("GOROOT"), "src") }

// below reports whether a file or directory is dir or lies below it.
func below(dir, name string) bool {
	return dir != "" && (name == dir || strings.HasPrefix(name, dir+string(filepath.Separator)))
}

// mainModule returns the root and path of the module that holds dir, nothing if there is none.
func (c *goCommand) mainModule(dir string) (root, path string, err error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Path}}\n{{.Dir}}")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", "", nil
	}
	path, root, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	if path == "command-line-arguments" {
		return "", "", nil
	}
	return root, path, nil
}

// Go runs the go command's build, install, run or test with the hooks compiled in and the library linked in. It returns the exit
// status.
func Go(name string, args []string, flags Flags) int {
	c, err := parseGo(name, args, flags)
	if err == nil {
		err = c.run()
	}
	return exitStatus(err)
}

// Build builds a program with hooks and the library in it.
func Build(out, target string, buildFlags []string, flags Flags) error {
	args := append([]string{"-o", out}, buildFlags...)
	c, err := parseGo("build", append(args, target), flags)
	if err != nil {
		return err
	}
	return c.run()
}

func (c *goCommand) run() error {
	in, err := inject(c)
	if err != nil {
		return err
	}
	overlay, err := in.write(c.overlay)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	toolexec := quote(exe)
	var gcflags []string
	if c.gcflags || c.flags.Std { // the user's own would be lost for the packages that get ours; and -std concerns every package
		for _, f := range c.flags.Args("-") {
			toolexec += " " + quote(f)
		}
	} else if ours := c.flags.Args(gcPrefix); len(ours) > 0 {
		for i, f := range ours {
			ours[i] = quote(f)
		}
		for _, pattern := range in.patterns {
			gcflags = append(gcflags, "-gcflags="+pattern+"="+strings.Join(ours, " "))
		}
	}
	var vetErr error
	args := append([]string{c.name, "-toolexec=" + toolexec, "-overlay=" + overlay}, gcflags...)
	if c.name == "test" {
		// vet looks at directories that only the overlay has, and fails; run it beside.
		if c.vet {
			vetErr = c.runVet()
		}
		args = append(args, "-vet=off")
		if os.Getenv("FTGO_TRACER") != "" && !c.count {
			args = append(args, "-count=1") // a cached result has no trace; what the environment says is not part of its key
		}
	}
	for _, f := range c.goFlags {
		if c.name != "test" || !strings.HasPrefix(strings.TrimLeft(f, "-"), "vet=") {
			args = append(args, f)
		}
	}
	args = append(args, c.packages...)
	args = append(args, in.extra...)
	args = append(args, c.args...)
	cmd := c.command(args...)
	cmd.Env = append(cmd.Env, overlayEnv+"="+overlay)
	if err := cmd.Run(); err != nil {
		return err
	}
	return vetErr
}

// testVet are the checks that go test runs (defaultVetFlags in cmd/go/internal/test).
var testVet = []string{"-atomic", "-bool", "-buildtags", "-directive", "-errorsas", "-ifaceassert", "-nilfunc", "-printf", "-stringintconv", "-tests"}

func (c *goCommand) runVet() error {
	args := append([]string{"vet"}, testVet...)
	args = append(args, c.listFlags...)
	return c.command(append(args, c.packages...)...).Run()
}

func (c *goCommand) command(args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = c.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "FTGOFLAGS=") // they are among our flags
	if cmd.Dir != "" {
		if abs, err := filepath.Abs(cmd.Dir); err == nil {
			cmd.Env = append(cmd.Env, "PWD="+abs)
		}
	}
	return cmd
}

// quote quotes an argument as cmd/go splits -toolexec.
func quote(s string) string {
	switch {
	case !strings.ContainsAny(s, " \t\n'\""):
		return s
	case !strings.Contains(s, "'"):
		return "'" + s + "'"
	}
	return `"` + s + `"`
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:10])
}
