package rewriter

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A goCommand is a run of the go command's build, install, run or test, taken apart.
type goCommand struct {
	name      string
	dir       string   // -C
	goFlags   []string // as given, without ours
	listFlags []string // flags that change what packages there are
	packages  []string // patterns or files
	files     bool     // packages are files
	args      []string // of the program that run starts, or from -args on
	overlay   string   // the user's own
	vet       bool     // go test would run go vet
	count     bool     // -count is given
	gcflags   bool     // there are -gcflags of the user's own
	flags     Flags
	ctx       context.Context // ends the go command
	goEnv     map[string]string
	environ   []string // more of the environment that the go command gets
	program   string   // directory for the program, then its path
	workDir   string   // where the program of run begins, if that is not dir
	exec      string   // -exec
}

// valueFlags are the go command's flags that take a value (go help build, go help test, go help
// testflag).
var valueFlags = map[string]bool{
	"C": true, "p": true, "covermode": true, "coverpkg": true, "asmflags": true, "buildmode": true, "compiler": true,
	"gccgoflags": true, "gcflags": true, "installsuffix": true, "ldflags": true, "mod": true, "modfile": true, "overlay": true,
	"pgo": true, "pkgdir": true, "tags": true, "toolexec": true, "o": true, "exec": true,
	"bench": true, "benchtime": true, "blockprofile": true, "blockprofilerate": true, "count": true, "coverprofile": true, "cpu": true,
	"cpuprofile": true, "fuzz": true, "fuzzminimizetime": true, "fuzztime": true, "list": true, "memprofile": true,
	"memprofilerate": true, "mutexprofile": true, "mutexprofilefraction": true, "outputdir": true, "parallel": true, "run": true,
	"shuffle": true, "skip": true, "timeout": true, "trace": true, "vet": true,
}

// boolFlags are go test's flags that take none. Any other flag is the test binary's own.
var boolFlags = map[string]bool{
	"a": true, "n": true, "race": true, "msan": true, "asan": true, "cover": true, "v": true, "work": true, "x": true,
	"buildvcs": true, "json": true, "linkshared": true, "modcacherw": true, "trimpath": true,
	"c": true, "artifacts": true, "benchmem": true, "failfast": true, "fullpath": true, "short": true,
}

// parseGo takes the arguments of a go subcommand apart.
func parseGo(name string, args []string, flags Flags) (*goCommand, error) {
	c := &goCommand{name: name, vet: true, flags: flags, ctx: context.Background()}
	i := 0
	// Go test's list of packages ends at a flag that follows it, and at any flag of the test binary's
	// own. What comes then is that flag's value, or, like all that follows it, the test's argument.
	listed, wantsValue := false, false
	for ; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			i++
			break
		}
		if len(a) < 2 || a[0] != '-' {
			if name != "test" {
				break
			}
			if listed && !wantsValue {
				c.args = append(c.args, args[i:]...)
				i = len(args)
				break
			}
			if listed {
				c.args = append(c.args, a)
			} else {
				c.packages = append(c.packages, a)
			}
			wantsValue = false
			continue
		}
		listed, wantsValue = listed || len(c.packages) > 0, false
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
		case key == "std":
			std, err := strconv.ParseBool(cmp.Or(val, "true"))
			if err != nil {
				return nil, fmt.Errorf("ftgo %s: -std=%s: want true or false", name, val)
			}
			c.flags.Std = std
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
		case key == "exec":
			c.exec = val
		case key == "vet":
			c.vet = val != "off"
		case key == "args" && name == "test":
			c.args = append(c.args, args[i:]...)
			i = len(args)
			continue
		case name == "test" && !valueFlags[key] && !boolFlags[key]:
			c.args = append(c.args, a)
			listed, wantsValue = true, !has
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

// forC reports whether the build makes libraries for C programs. WebAssembly's c-shared is for
// others.
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
	cmd := exec.CommandContext(c.ctx, "go", "env", key)
	cmd.Dir, cmd.Env = c.dir, c.environment()
	out, _ := cmd.Output()
	c.goEnv[key] = strings.TrimSpace(string(out))
	return c.goEnv[key]
}

// std returns the directory of the standard library. The programs of GOROOT/test are not part of
// it.
func (c *goCommand) std() string { return filepath.Join(c.env("GOROOT"), "src") }

// below reports whether a file or directory is dir or lies below it.
func below(dir, name string) bool {
	return dir != "" && (name == dir || strings.HasPrefix(name, dir+string(filepath.Separator)))
}

// mainModule returns the root and path of the module that holds dir, nothing if there is none.
func (c *goCommand) mainModule(dir string) (root, path string, err error) {
	cmd := exec.CommandContext(c.ctx, "go", "list", "-m", "-f", "{{.Path}}\n{{.Dir}}")
	cmd.Dir, cmd.Env = dir, c.environment()
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

// Go runs the go command's build, install, run or test with the hooks compiled in and the library
// linked in. It returns the exit status.
func Go(name string, args []string, flags Flags) int {
	c, err := parseGo(name, args, flags)
	if err == nil {
		err = c.run()
	}
	if err == errRan {
		return 1
	}
	return exitStatus(err)
}

// Build builds the one program that target names, with hooks and the library in it, into dir, and
// returns its path. The build is interrupted when ctx is done; what it may leave is in dir.
func Build(ctx context.Context, dir, target string, buildFlags []string, flags Flags) (program string, err error) {
	c, err := parseGo("build", append(slices.Clone(buildFlags), target), flags)
	if err != nil {
		return "", err
	}
	c.ctx, c.program = ctx, dir
	if os.Getenv("GOTMPDIR") == "" {
		// After some signals the go command leaves its directory behind.
		c.environ = append(c.environ, "GOTMPDIR="+dir)
	}
	if goos := c.env("GOOS"); goos != runtime.GOOS {
		return "", fmt.Errorf("GOOS=%s: the program would be for another system than this one, %s: build it with \"ftgo build\", and run it there", goos, runtime.GOOS)
	}
	if err := c.run(); err != nil {
		return "", err
	}
	return c.program, nil
}

func (c *goCommand) run() error {
	if c.hasVersion() {
		if err := c.atVersion(); err != nil {
			return err
		}
		if c.name == "run" {
			return c.buildAndRun()
		}
	}
	return c.build()
}

// build runs the go command.
func (c *goCommand) build() error {
	in, err := inject(c)
	if err != nil {
		return err
	}
	defer in.close()
	for _, w := range in.warnings {
		fmt.Fprintln(os.Stderr, "ftgo: warning:", w)
	}
	if c.program != "" {
		if err := c.oneProgram(in); err != nil {
			return err
		}
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
	// The user's own -gcflags would be lost for the packages that get ours, and -std concerns every
	// package.
	if c.gcflags || c.flags.Std {
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
			// A cached result has no trace, and the variables are not part of its key.
			args = append(args, "-count=1")
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
	if err := c.runGo(cmd); err != nil {
		return err
	}
	return vetErr
}

// runGo runs the go command. A terminal's Ctrl-C reaches it too: it ends, or has the program of "go
// run" end, in its own time, which this process waits for. SIGTERM and SIGHUP are handed on, unless
// c.ctx ends the go command more gently.
func (c *goCommand) runGo(cmd *exec.Cmd) error {
	signals := make(chan os.Signal, 8)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	defer close(signals)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		for s := range signals {
			if c.ctx.Done() == nil && (s == syscall.SIGTERM || s == syscall.SIGHUP) {
				cmd.Process.Signal(s)
			}
		}
	}()
	return cmd.Wait()
}

// oneProgram has the go command put the one program of the build into the directory c.program.
func (c *goCommand) oneProgram(in *injection) error {
	target := strings.Join(c.packages, " ")
	switch {
	case in.broken || len(in.packages) == 0: // the go command says why
	case len(in.packages) > 1:
		if len(in.programs) == 0 {
			return fmt.Errorf("%s matches %d packages, and no main package is among them", target, len(in.packages))
		}
		list := in.programs[:min(len(in.programs), 5)]
		return fmt.Errorf("%s matches %d packages: name one main package, such as %s", target, len(in.packages), strings.Join(list, ", "))
	case len(in.programs) == 0:
		return fmt.Errorf("%s is not a main package", target)
	case in.noHooks != "":
		return fmt.Errorf("%s: %s", target, in.noHooks)
	}
	name := "program"
	if len(in.packages) == 1 {
		name = c.execName(in.packages[0])
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	c.program = filepath.Join(c.program, name)
	c.goFlags = append([]string{"-o", c.program}, c.goFlags...)
	return nil
}

var majorVersion = regexp.MustCompile(`^v[2-9]$|^v[1-9][0-9]+$`)

// execName returns the name that the go command gives a program (DefaultExecName in
// cmd/go/internal/load).
func (c *goCommand) execName(importPath string) string {
	if c.files {
		return strings.TrimSuffix(filepath.Base(c.packages[0]), ".go")
	}
	dir, name := path.Split(importPath)
	if dir != "" && majorVersion.MatchString(name) {
		return path.Base(dir)
	}
	return name
}

// testVet are the checks that go test runs (defaultVetFlags in cmd/go/internal/test).
var testVet = []string{"-atomic", "-bool", "-buildtags", "-directive", "-errorsas", "-ifaceassert", "-nilfunc", "-printf", "-stringintconv", "-tests"}

func (c *goCommand) runVet() error {
	args := append([]string{"vet"}, testVet...)
	args = append(args, c.listFlags...)
	return c.runGo(c.command(append(args, c.packages...)...))
}

func (c *goCommand) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(c.ctx, "go", args...)
	cmd.Cancel = func() error {
		if runtime.GOOS == "windows" {
			return cmd.Process.Kill()
		}
		return cmd.Process.Signal(os.Interrupt) // so that it ends what it began
	}
	cmd.WaitDelay = 2 * time.Second // it ignores the signal if this process was started so
	cmd.Dir = c.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(c.environment(), "FTGOFLAGS=") // they are among our flags
	if cmd.Dir != "" {
		if abs, err := filepath.Abs(cmd.Dir); err == nil {
			cmd.Env = append(cmd.Env, "PWD="+abs)
		}
	}
	return cmd
}

// environment is what commands of the go command get.
func (c *goCommand) environment() []string { return append(os.Environ(), c.environ...) }

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
