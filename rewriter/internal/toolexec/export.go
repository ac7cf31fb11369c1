package toolexec

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
)

// imports returns the files of the packages that the compiler may import, by import path, as
// -importcfg lists them.
func (c *Compile) imports() map[string]string {
	if c.packages != nil {
		return c.packages
	}
	c.packages = map[string]string{}
	for i, a := range c.Flags {
		if a != "-importcfg" || i+1 == len(c.Flags) {
			continue
		}
		cfg, err := os.ReadFile(c.Flags[i+1])
		if err != nil {
			break // the compiler's own message is better
		}
		mapped := map[string]string{}
		for line := range strings.Lines(string(cfg)) {
			verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			from, to, ok := strings.Cut(rest, "=")
			switch {
			case !ok:
			case verb == "packagefile":
				c.packages[from] = to
			case verb == "importmap":
				mapped[from] = to
			}
		}
		for from, to := range mapped {
			c.packages[from] = c.packages[to]
		}
	}
	return c.packages
}

// Between returns the text between two marks in the export data of an imported package, or "" if it
// holds no such text. Export data holds the values of string constants unencoded.
func (c *Compile) Between(path, start, end string) string {
	name := c.imports()[path]
	if name == "" {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	// The file is an archive. Its first entry, __.PKGDEF, is the export data. The entry's header of
	// 60 bytes holds the size from byte 48 on.
	r := bufio.NewReader(f)
	head := make([]byte, 8+60)
	if _, err := io.ReadFull(r, head); err != nil || !bytes.HasPrefix(head, []byte("!<arch>\n")) {
		return ""
	}
	size, err := strconv.Atoi(strings.TrimSpace(string(head[8+48 : 8+58])))
	if err != nil {
		return ""
	}
	data := make([]byte, size)
	n, _ := io.ReadFull(r, data)
	_, rest, ok := bytes.Cut(data[:n], []byte(start))
	if !ok {
		return ""
	}
	text, _, ok := bytes.Cut(rest, []byte(end))
	if !ok {
		return ""
	}
	return string(text)
}
