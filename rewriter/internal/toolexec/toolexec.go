// Package toolexec holds the conversation with the go command, which runs "ftgo TOOL ARGS..." in
// place of each of its tools: the go command's questions, the form of the answers, and the
// arguments of the compiler. Package rewriter decides what is done to a package.
package toolexec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Name returns the name of a tool: compile, asm, link, vet, cgo, cover and so on.
func Name(tool string) string {
	return strings.TrimSuffix(filepath.Base(tool), ".exe")
}

// Version runs "TOOL -V=full" and writes an answer that also holds id, so that the build cache
// keeps apart what different ids make. Of a release, cmd/go takes the whole line; of a development
// toolchain, the build ID at its end ((*Builder).toolID in cmd/go/internal/work).
func Version(w io.Writer, args []string, id string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	line := strings.TrimSpace(string(out))
	if fields := strings.Fields(line); len(fields) >= 3 && strings.Contains(fields[2], "devel") {
		i := strings.LastIndex(line, "buildID=")
		if i < 0 {
			return fmt.Errorf("%s: no build ID in %q", args[0], line)
		}
		sum := sha256.Sum256([]byte(line[i:] + " " + id))
		_, err = fmt.Fprintf(w, "%sbuildID=ftgo/ftgo/ftgo/%s\n", line[:i], hex.EncodeToString(sum[:15]))
		return err
	}
	_, err = fmt.Fprintf(w, "%s ftgo=%s\n", line, id)
	return err
}

// ID returns a digest of this program and of the flags that change what it writes.
func ID(flags string) (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(exe)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	io.WriteString(h, flags)
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

// A Compile is one run of the compiler.
type Compile struct {
	Tool    string
	Flags   []string // all arguments before the source files
	Files   []string // source files, as the go command named them
	Package string   // value of -p
	Import  string   // import path, without the name of the test binary
	Std     bool     // the package belongs to the standard library
	Output  string   // value of -o
	Release string   // value of -goversion

	packages map[string]string // files of imported packages, by import path
}

// ImportPath returns the import path of the package that a tool is run for, without the name of the
// test binary.
func ImportPath() string {
	path, _, _ := strings.Cut(os.Getenv("TOOLEXEC_IMPORTPATH"), " ")
	return path
}

// Value returns the value of a flag that is given as -flag=value, or "" if it is not given.
func (c *Compile) Value(flag string) string {
	for _, a := range c.Flags {
		if v, ok := strings.CutPrefix(a, flag+"="); ok {
			return v
		}
	}
	return ""
}

// Assembly returns the symbols that assembly files of the package define or refer to, as -symabis
// lists them.
func (c *Compile) Assembly() (map[string]bool, error) {
	m := map[string]bool{}
	for i, a := range c.Flags {
		if a != "-symabis" || i+1 == len(c.Flags) {
			continue
		}
		list, err := os.ReadFile(c.Flags[i+1])
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(list)) {
			if words := strings.Fields(line); len(words) == 3 && (words[0] == "def" || words[0] == "ref") {
				m[words[1]] = true
			}
		}
	}
	return m, nil
}

// ParseCompile parses the arguments of a run of the compiler. The go command puts the source files
// last.
func ParseCompile(args []string) *Compile {
	c := &Compile{Tool: args[0]}
	rest := args[1:]
	n := len(rest)
	for n > 0 && strings.HasSuffix(rest[n-1], ".go") && !strings.HasPrefix(rest[n-1], "-") {
		n--
	}
	c.Flags, c.Files = rest[:n:n], rest[n:]
	for i, a := range c.Flags {
		value := func() string {
			if i+1 < len(c.Flags) {
				return c.Flags[i+1]
			}
			return ""
		}
		switch a {
		case "-p":
			c.Package = value()
		case "-o":
			c.Output = value()
		case "-goversion":
			c.Release = value()
		case "-std":
			c.Std = true
		}
	}
	c.Import = ImportPath()
	if c.Import == "" {
		c.Import = c.Package
	}
	return c
}

// Dir makes the directory for rewritten files. It lies beside the output, in the go command's work
// directory, which -trimpath removes from positions.
func (c *Compile) Dir() (string, error) {
	dir := filepath.Join(filepath.Dir(c.Output), "ftgo")
	return dir, Mkdir(dir)
}

// Mkdir makes a directory unless it is there. It makes no directory above it: when a build was
// interrupted, and its work directory removed, a tool that is late must not make it again.
func Mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o777); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Run runs the compiler on the given files instead of Files, and returns what it printed.
func (c *Compile) Run(files []string) ([]byte, error) {
	cmd := exec.Command(c.Tool, append(c.Flags, files...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.Bytes(), err
}
