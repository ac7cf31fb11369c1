//go:build unix

package rewriter

import (
	"bytes"
	"go/build"
	"path/filepath"
	"syscall"
	"testing"
)

// BenchmarkRewrite measures the processor time that rewriting takes per line of source.
func BenchmarkRewrite(b *testing.B) {
	for _, path := range []string{"net/http", "go/types", "encoding/json"} {
		pkg, err := build.Import(path, "", 0)
		if err != nil {
			b.Fatal(err)
		}
		var names []string
		for _, name := range pkg.GoFiles {
			names = append(names, filepath.Join(pkg.Dir, name))
		}
		files, err := readFiles(names)
		if err != nil {
			b.Fatal(err)
		}
		lines := 0
		for _, f := range files {
			lines += bytes.Count(f.Src, []byte("\n"))
		}
		for name, limit := range map[string]int{"keep": InlineKeep, "hook": -1} {
			b.Run(path+"/"+name, func(b *testing.B) {
				start := cpu(b)
				for b.Loop() {
					if _, err := Rewrite(Package{Path: path, Files: files}, Options{Inline: limit}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(cpu(b)-start)/float64(b.N)/float64(lines), "cpu-ns/line")
			})
		}
	}
}

// cpu returns the processor time of this process in nanoseconds, so that other processes do not
// count.
func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
