package rewriter

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/ftgo/ftgo/internal/hook"
	"github.com/ftgo/ftgo/rewriter/internal/toolexec"
)

// Tool serves "go build -toolexec ftgo". It runs the tool that args name, with rewritten files if
// that is the compiler, and returns an exit status. It prints nothing but the tool's output and
// errors, since the go command replays the output from its cache.
func Tool(flags Flags, args []string) int {
	return exitStatus(tool(flags, args))
}

// exitStatus returns the exit status for an error. If a command failed, the status is the
// command's, which has printed why. For any other error the status is 1, and exitStatus prints the
// error.
func exitStatus(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	}
	fmt.Fprintf(os.Stderr, "ftgo: %v\n", err)
	return 1
}

// tool is Tool with an error.
func tool(flags Flags, args []string) error {
	name := toolexec.Name(args[0])
	if name == "cover" {
		return cover(args)
	}
	if name != "compile" && name != "asm" {
		return toolexec.Exec(args)
	}
	if len(args) == 2 && args[1] == "-V=full" {
		id, err := toolexec.ID(flags.String())
		if err != nil {
			return err
		}
		return toolexec.Version(os.Stdout, args, id)
	}
	if name == "asm" {
		return assemble(args)
	}
	c := toolexec.ParseCompile(args)
	c.Flags = flags.takeFrom(c.Flags)
	args = append(append([]string{c.Tool}, c.Flags...), c.Files...)
	switch {
	case c.Std && c.Package == "runtime":
		return compileRuntime(c)
	case isLibrary(c.Import):
		if err := checkABI(c); err != nil {
			return err
		}
		return toolexec.Exec(libraryFlags(args))
	case c.Std && (!flags.Std || underHooks(c.Import) != "") || len(c.Files) == 0 || c.Output == "" || strings.HasSuffix(c.Import, ".test"):
		return toolexec.Exec(args)
	case !flags.hooksPackage(strings.TrimSuffix(c.Import, "_test")):
		return toolexec.Exec(args)
	}
	return compile(c, flags)
}

// isLibrary reports whether a package belongs to the runtime library. It gets no hooks, since hooks
// call it. A program that does not import the library holds a copy below _ftgo. Tests that are
// packages of their own (net/http_test) do not belong to it.
func isLibrary(path string) bool {
	if strings.HasSuffix(path, "_test") {
		return false
	}
	const module = "github.com/ftgo/ftgo/"
	rest, ok := strings.CutPrefix(path, module)
	if !ok {
		if _, rest, ok = strings.Cut(path, "/_ftgo/"); !ok {
			rest, ok = strings.CutPrefix(path, "_ftgo/")
		}
	}
	if !ok {
		return false
	}
	for _, dir := range []string{"runtime", "internal/hook", "internal/pattern", "internal/tracefile"} {
		if rest == dir || strings.HasPrefix(rest, dir+"/") {
			return true
		}
	}
	return false
}

// libraryFlags gives the library the version of the language that it is written in, whatever the
// go.mod around its copy says. It takes out the race detector's instrumentation, which package
// runtime does not have either: the race detector knows neither the runtime's locks nor memory
// outside the heap. Instrumentation of the sanitizers stays: without it, the compiler of Go 1.27
// calls allocators that do not report to them.
func libraryFlags(args []string) []string {
	var out []string
	for _, a := range args {
		switch {
		case a == "-race":
			continue
		case strings.HasPrefix(a, "-lang="):
			a = "-lang=go1.26"
		}
		out = append(out, a)
	}
	return out
}

var abiDecl = regexp.MustCompile(`(?m)^const ABI = (\d+)$`)

// checkABI compares the ABI of the library that a program links with hook.ABI, when the library's
// internal/hook is compiled.
func checkABI(c *toolexec.Compile) error {
	if !strings.HasSuffix(c.Import, "internal/hook") {
		return nil
	}
	for _, name := range c.Files {
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if m := abiDecl.FindSubmatch(src); m != nil {
			if abi, _ := strconv.Atoi(string(m[1])); abi != hook.ABI {
				return fmt.Errorf("the program links a library with hook ABI %d, and this ftgo writes hooks of ABI %d: use the ftgo command and the library %s of one version",
					abi, hook.ABI, strings.TrimSuffix(c.Import, "internal/hook")+"runtime")
			}
			return nil
		}
	}
	return fmt.Errorf("package %s states no hook ABI: use the ftgo command and the library of one version", c.Import)
}

// compile compiles a package with hooks. If that fails, compile compiles the package without them:
// then the compiler reports the user's error at the user's position.
func compile(c *toolexec.Compile, flags Flags) error {
	opt, err := flags.options()
	if err != nil {
		return err
	}
	opt.JoinLines = !strings.HasPrefix(c.Release, "go1.26")
	if slices.Contains(c.Flags, "-l") && opt.Inline == InlineKeep {
		opt.Inline = -1 // nothing is inlined
	}
	if profile := c.Value("-pgoprofile"); profile != "" {
		if f, err := os.Open(profile); err == nil { // the compiler reports an error in it
			opt.Hot, _ = hotNames(f)
			f.Close()
		}
	}
	opt.Inlines = slices.ContainsFunc(c.Flags, func(flag string) bool { return strings.HasPrefix(flag, "-l=") && flag != "-l=0" && flag != "-l=1" })
	config := c.Value("-coveragecfg")
	if opt.hooksSmall() && !slices.Contains(c.Flags, "-l") && !slices.Contains(c.Flags, "-N") && hides(c.Tool) {
		opt.Hide = hiddenArray
		if config != "" {
			opt.Hide = hidingArray(config)
		}
	}
	files, err := readFiles(c.Files)
	if err != nil {
		return err
	}
	debug.SetGCPercent(400) // the process is short-lived
	if opt.Assembly, err = c.Assembly(); err != nil {
		return err
	}
	opt.Facts = func(path string) string { return c.Between(path, factsStart, factsEnd) }
	res, err := Rewrite(Package{Path: c.Package, Files: files}, opt)
	if err == nil && !c.Std && c.Package != "main" {
		res.addFacts(files[0], c.Import)
	}
	if err != nil || res.Table == nil {
		// If err is not nil, the compiler says more.
		return toolexec.Exec(append(append([]string{c.Tool}, c.Flags...), c.Files...))
	}
	dir, err := c.Dir()
	if err != nil {
		return err
	}
	names, err := writeFiles(dir, c.Files, res.Files)
	if err != nil {
		return err
	}
	table := filepath.Join(dir, "ftgo_table.go")
	if err := os.WriteFile(table, res.Table, 0o666); err != nil {
		return err
	}
	plainFlags := c.Flags
	if res.Hidden && config == "" {
		config = filepath.Join(dir, "ftgo_coverage.json")
		if err := writeCoverConfig(config); err != nil {
			return err
		}
		c.Flags = append(slices.Clone(c.Flags), "-coveragecfg="+config)
	}
	out, err := c.Run(append([]string{table}, names...))
	if err != nil {
		c.Flags = plainFlags
		plain, plainErr := c.Run(c.Files)
		if plainErr != nil {
			os.Stdout.Write(plain)
			return plainErr
		}
		os.Stdout.Write(out)
		return fmt.Errorf("package %s compiles, but not with hooks in it: this is a fault of ftgo's; -pkg leaves the package out", c.Import)
	}
	os.Stdout.Write(out)
	return nil
}

// compileRuntime compiles package runtime with its patches.
func compileRuntime(c *toolexec.Compile) error {
	if !supported(c.Release) {
		return fmt.Errorf("%s is not a Go release that this ftgo can hook: it knows %s", c.Release, SupportedReleases)
	}
	files, err := readFiles(c.Files)
	if err != nil {
		return err
	}
	changed, added, err := PatchRuntime(files, c.Release, os.Getenv("GOARCH"))
	if err != nil {
		return err
	}
	dir, err := c.Dir()
	if err != nil {
		return err
	}
	for i, f := range changed {
		changed[i].Src = append([]byte(fmt.Sprintf("//line %s:1\n", f.Name)), f.Src...)
	}
	names, err := writeFiles(dir, c.Files, changed)
	if err != nil {
		return err
	}
	profiled := slices.ContainsFunc(c.Flags, func(f string) bool { return strings.HasPrefix(f, "-pgoprofile") })
	for _, f := range added {
		if profiled && f.Name == hooksFile {
			src, err := substitute(string(f.Src), "const ftgo_inlines = false", "const ftgo_inlines = true")
			if err != nil {
				return err
			}
			f.Src = []byte(src)
		}
		name := filepath.Join(dir, f.Name)
		if err := os.WriteFile(name, f.Src, 0o666); err != nil {
			return err
		}
		names = append(names, name)
	}
	out, err := c.Run(names)
	os.Stdout.Write(out)
	return err
}

// assemble assembles package runtime with the hooks in assembly language added, and any other
// package as it is.
func assemble(args []string) error {
	dir, isRuntime := "", false
	for i, a := range args[:len(args)-1] {
		switch a {
		case "-p":
			isRuntime = args[i+1] == "runtime"
		case "-o":
			dir = filepath.Join(filepath.Dir(args[i+1]), "ftgo")
		}
	}
	if !isRuntime || dir == "" {
		return toolexec.Exec(args)
	}
	for i, a := range args {
		if !strings.HasSuffix(a, ".s") {
			continue
		}
		src, err := os.ReadFile(a)
		if err != nil {
			return err
		}
		if src = PatchRuntimeAsm(File{a, src}, os.Getenv("GOARCH")); src == nil {
			continue
		}
		if err := toolexec.Mkdir(dir); err != nil {
			return err
		}
		file := filepath.Join(dir, filepath.Base(a))
		if err := os.WriteFile(file, src, 0o666); err != nil {
			return err
		}
		out := append([]string{args[0], "-I", filepath.Dir(a)}, args[1:]...)
		out[i+2] = file
		return toolexec.Exec(out)
	}
	if asm[os.Getenv("GOARCH")] != "" && slices.Contains(args, "-gensymabis") {
		return fmt.Errorf("package runtime is not one that this ftgo knows how to hook: getfp in assembly: not found (supported releases: %s)", SupportedReleases)
	}
	return toolexec.Exec(args)
}

// supported reports whether PatchRuntime knows a Go release.
func supported(release string) bool {
	for _, r := range []string{"go1.26", "go1.27"} {
		if release == r || strings.HasPrefix(release, r+".") || strings.HasPrefix(release, r+"rc") || strings.HasPrefix(release, r+"-") {
			return true
		}
	}
	return false
}

func readFiles(names []string) ([]File, error) {
	files := make([]File, len(names))
	for i, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files[i] = File{name, src}
	}
	return files, nil
}

// writeFiles writes changed files into dir. It returns names, with the names of changed files
// replaced by their names in dir.
func writeFiles(dir string, names []string, changed []File) ([]string, error) {
	at := map[string]File{}
	for _, f := range changed {
		at[f.Name] = f
	}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name
		if f, ok := at[name]; ok {
			out[i] = filepath.Join(dir, fmt.Sprintf("%d_%s", i, filepath.Base(name)))
			if err := os.WriteFile(out[i], f.Src, 0o666); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
