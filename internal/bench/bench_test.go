// Package bench measures what hooks cost: one run builds each benchmark plain and hooked, runs the builds in turn, and prints ratios.
//
//	go test -bench . ./internal/bench
//
// off/plain is the hooked build with no tracer on, hook-off/plain the same with -inline=hook, on/plain with the graph tracer on every
// function.
package bench

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"

	"github.com/ftgo/ftgo/internal/corpus"
)

var (
	rounds    = flag.Int("rounds", 5, "how often each build runs; the median counts")
	benchtime = flag.String("eachtime", "200ms", "-test.benchtime of each run")
)

// suites are the benchmarks. Those of modules are the ones that a quiet machine repeats to a few percent.
var suites = []struct {
	name, module, pkg, bench string
	small                    bool
}{
	{name: "small", pkg: "./small", bench: ".", small: true},
	{name: "gojq", module: "github.com/itchyny/gojq@v0.12.17", pkg: ".", bench: "^Benchmark(Run|Compile|Parse)$"},
	{name: "huff0", module: "github.com/klauspost/compress@v1.20.3", pkg: "./huff0", bench: "^BenchmarkCompress1XReuseNone$/^case1$"},
	{name: "zstd", module: "github.com/klauspost/compress@v1.20.3", pkg: "./zstd", bench: "^Benchmark(Encoder_EncodeAllHTML|Encoder_EncodeAllTwain)$"},
	{name: "flate", module: "github.com/klauspost/compress@v1.20.3", pkg: "./flate", bench: "^BenchmarkDecodeDigitsDefault1e5$"},
}

// variants are the builds, and whether the tracer is on.
var variants = []struct {
	name  string
	flags []string // of ftgo test; nil: go test
	on    bool
}{
	{"plain", nil, false},
	{"off", []string{"-inline=keep"}, false},
	{"hook-off", []string{"-inline=hook"}, false},
	{"on", []string{"-inline=keep"}, true},
}

func BenchmarkOverhead(b *testing.B) {
	dir := b.TempDir()
	ftgo := filepath.Join(dir, "ftgo")
	command(b, "..", nil, "go", "build", "-o", ftgo, "../cmd/ftgo")
	all := map[string][]float64{}
	for _, s := range suites {
		src, err := filepath.Abs(".")
		if s.module != "" {
			src, err = corpus.Fetch(s.module)
		}
		if err != nil {
			b.Fatal(err)
		}
		names, times := measure(b, ftgo, dir, src, s.name, s.pkg, s.bench)
		for _, name := range names {
			b.Run(s.name+"/"+name, func(b *testing.B) {
				for range b.N { // measured already
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(times["plain"][name], "plain-ns")
				for _, v := range variants[1:] {
					ratio := times[v.name][name] / times["plain"][name]
					b.ReportMetric(ratio, v.name+"/plain")
				}
			})
			if !s.small {
				for _, v := range variants[1:] {
					all[v.name] = append(all[v.name], times[v.name][name]/times["plain"][name])
				}
			}
		}
	}
	b.Run("geomean-of-modules", func(b *testing.B) {
		for range b.N {
		}
		b.ReportMetric(0, "ns/op")
		for _, v := range variants[1:] {
			b.ReportMetric(geomean(all[v.name]), v.name+"/plain")
		}
	})
}

// measure builds a package's tests in each variant, runs them in turn, and returns the median time of each benchmark in each.
func measure(b *testing.B, ftgo, dir, src, suite, pkg, bench string) (names []string, times map[string]map[string]float64) {
	b.Helper()
	samples := map[string]map[string][]float64{}
	for _, v := range variants {
		bin := filepath.Join(dir, suite+"-"+v.name)
		samples[v.name] = map[string][]float64{}
		if v.flags == nil {
			command(b, src, nil, "go", "test", "-c", "-o", bin, pkg)
		} else {
			command(b, src, nil, ftgo, append(append([]string{"test"}, v.flags...), "-vet=off", "-c", "-o", bin, pkg)...)
		}
	}
	work := filepath.Join(src, pkg)
	for range *rounds {
		for _, v := range variants {
			env := []string{"FTGO_TRACER=", "FTGO_OUT=" + os.DevNull, "FTGO_BUFFER=4M"}
			if v.on {
				env[0] = "FTGO_TRACER=function_graph"
			}
			out := command(b, work, env, filepath.Join(dir, suite+"-"+v.name),
				"-test.run=^$", "-test.bench="+bench, "-test.benchtime="+*benchtime, "-test.cpu=1")
			r := benchfmt.NewReader(bytes.NewReader(out), suite)
			for r.Scan() {
				res, ok := r.Result().(*benchfmt.Result)
				if !ok {
					continue
				}
				if t, ok := res.Value("sec/op"); ok {
					name := res.Name.String()
					if _, seen := samples[v.name][name]; !seen && v.name == "plain" {
						names = append(names, name)
					}
					samples[v.name][name] = append(samples[v.name][name], t*1e9)
				}
			}
		}
	}
	if len(names) == 0 {
		b.Fatalf("%s has no benchmark %s", suite, bench)
	}
	times = map[string]map[string]float64{}
	for v, byName := range samples {
		times[v] = map[string]float64{}
		for name, list := range byName {
			s := benchmath.NewSample(list, &benchmath.DefaultThresholds)
			times[v][name] = benchmath.AssumeNothing.Summary(s, 0.95).Center
		}
	}
	return names, times
}

func command(b *testing.B, dir string, env []string, name string, args ...string) []byte {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off"), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%s: %v\n%s%s", cmd, err, out, stderr.Bytes())
	}
	return out
}

func geomean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(list)))
}

// TestGeomean keeps the package from being one without tests: a benchmark's result is checked by eye.
func TestGeomean(t *testing.T) {
	if got := geomean([]float64{1, 4}); math.Abs(got-2) > 1e-12 {
		t.Error(fmt.Sprint(got))
	}
}
