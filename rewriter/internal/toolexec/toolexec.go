// Package toolexec holds the conversation with the go command, which runs "ftgo TOOL ARGS..." in place of each of its tools: what it
// asks, in which form it wants answers, and how the compiler's arguments are built. What to do to a package is package rewriter's.
package toolexec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Name returns the name of a tool: compile, asm, link, vet, cgo, cover …
func Name(tool string) string {
	return strings.TrimSuffix(filepath.Base(tool), ".exe")
}

// Version runs "TOOL -V=full" and writes an answer that also tells id, so that what id makes different never meets in the build
// cache. cmd/go takes the whole line of a release, and the build ID at the end of a development toolchain's ((*Builder).toolID
// in cmd/go/internal/work).
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
	Flags   []string // up to the source files
	Files   []string // as the go command named them
	Package string   // -p
	Import  string   // import path, without the name of the test binary
	Std     bool     // part of the standard library
	Output  string   // -o
	Release string   // -goversion

	packages map[string]string // files of imported packages, by path
}

// ImportPath returns the import path of the package that a tool is run for, without the name of the test binary.
func ImportPath() string {
	path, _, _ := strings.Cut(os.Getenv("TOOLEXEC_IMPORTPATH"), " ")
	return path
}

// Value returns the value of a flag that is given as -flag=value, "" if it is not.
func (c *Compile) Value(flag string) string {
	for _, a := range c.Flags {
		if v, ok := strings.CutPrefix(a, flag+"="); ok {
			return v
		}
	}
	return ""
}

// Assembly returns the symbols that the assembly of the package defines or refers to, as -symabis lists them.
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

// ParseCompile takes the arguments of a compiler run apart. The go command puts the source files last.
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

// Dir makes the directory for rewritten files. It lies beside the output, in the go command's work directory, whose name
// -trimpath takes out of positions.
func (c *Compile) Dir() (string, error) {
	dir := filepath.Join(filepath.Dir(c.Output), "ftgo")
	return dir, os.MkdirAll(dir, 0o777)
}

// Run runs the compiler on other files than the go command named, and returns what it printed.
func (c *Compile) Run(files []string) ([]byte, error) {
	cmd := exec.Command(c.Tool, append(c.Flags, files...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.Bytes(), err
}
