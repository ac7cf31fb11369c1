package bench

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"
)

// A table holds the samples of all benchmarks.
type table struct {
	unit     string
	counter  string // name of the program that counted instructions
	variants []variant
	rows     []*row
	index    map[string]*row
}

// A row is a benchmark.
type row struct {
	path, name string
	samples    map[string][]float64 // by variant
	allocs     map[string][]float64
}

func newTable(unit string, variants []variant) *table {
	return &table{unit: unit, variants: variants, index: map[string]*row{}}
}

func (t *table) row(path, name string) *row {
	key := path + " " + name
	r := t.index[key]
	if r == nil {
		r = &row{path, name, map[string][]float64{}, map[string][]float64{}}
		t.index[key] = r
		t.rows = append(t.rows, r)
	}
	return r
}

func (t *table) add(path, name, variant string, x float64) {
	r := t.row(path, name)
	r.samples[variant] = append(r.samples[variant], x)
}

func (t *table) allocs(path, name, variant string, x float64) {
	r := t.row(path, name)
	r.allocs[variant] = append(r.allocs[variant], x)
}

// A ratio compares a benchmark in a hooked build with the plain build.
type ratio struct {
	center float64 // ratio of the medians
	spread float64 // half of the confidence interval, over center; infinite after few rounds
	p      float64 // p-value of no difference; negative after one round
}

// compare compares samples as benchstat does, by medians and the Mann-Whitney U test.
func compare(plain, hooked []float64) ratio {
	a, b := benchmath.NewSample(plain, &benchmath.DefaultThresholds), benchmath.NewSample(hooked, &benchmath.DefaultThresholds)
	const confidence = 0.95
	sa, sb := benchmath.AssumeNothing.Summary(a, confidence), benchmath.AssumeNothing.Summary(b, confidence)
	r := ratio{center: sb.Center / sa.Center, p: -1}
	r.spread = max(sb.Hi/sa.Lo/r.center-1, 1-sb.Lo/sa.Hi/r.center)
	if len(plain) > 1 {
		r.p = benchmath.AssumeNothing.Compare(a, b).P
	}
	return r
}

// sure reports whether there were enough rounds for a confidence interval.
func (r ratio) sure() bool { return r.p >= 0 && !math.IsInf(r.spread, 0) && !math.IsNaN(r.spread) }

func (r ratio) String() string {
	s := fmt.Sprintf("%.3f", r.center)
	if r.p < 0 {
		return s
	}
	if r.sure() {
		s += fmt.Sprintf(" ±%.0f%%", 100*r.spread)
	}
	if r.p > benchmath.DefaultThresholds.CompareAlpha {
		return s + " ~"
	}
	return s
}

// print prints a row for each benchmark, and the geometric means. It returns the ratios by column.
func (t *table) print(out io.Writer) (map[string][]float64, error) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	how := t.unit
	if t.counter != "" {
		how += " by " + t.counter
	}
	fmt.Fprintf(out, "%s; ratios to the plain build, ± is the 95%% confidence interval, ~ no significant difference\n", how)
	fmt.Fprint(w, "benchmark")
	for _, v := range t.variants {
		fmt.Fprintf(w, "\t%s", v.name)
	}
	fmt.Fprintln(w)
	ratios := map[string][]float64{}
	path, sure := "", t.counter != "" // counts of instructions hardly differ
	for _, r := range t.rows {
		if r.path != path {
			path = r.path
			fmt.Fprintf(w, "%s%s\n", path, strings.Repeat("\t", len(t.variants)))
		}
		plain := r.samples["plain"]
		fmt.Fprintf(w, "  %s\t%s", r.name, t.value(plain))
		for _, v := range t.variants[1:] {
			c := compare(plain, r.samples[v.name])
			ratios[v.name] = append(ratios[v.name], c.center)
			sure = sure || c.sure()
			fmt.Fprintf(w, "\t%s%s", c, r.moreAllocs(v.name))
		}
		fmt.Fprintln(w)
	}
	if !sure {
		err := w.Flush()
		fmt.Fprintln(out, "no row has a confidence interval, so no mean is printed: -count 6 or more gives one")
		return ratios, err
	}
	fmt.Fprint(w, "geometric mean\t")
	for _, v := range t.variants[1:] {
		fmt.Fprintf(w, "\t%.3f", Geomean(ratios[v.name]))
	}
	fmt.Fprintln(w)
	return ratios, w.Flush()
}

// Geomean returns the geometric mean.
func Geomean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(list)))
}

// value returns the text for the median of the plain build.
func (t *table) value(list []float64) string {
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(list, &benchmath.DefaultThresholds), 0.95)
	return benchunit.Scale(s.Center, benchunit.ClassOf(t.unit)) + strings.TrimPrefix(t.unit[:min(1, len(t.unit))], "i")
}

// moreAllocs returns the text for a difference in allocations, or "".
func (r *row) moreAllocs(variant string) string {
	median := func(list []float64) float64 {
		if len(list) == 0 {
			return 0
		}
		return benchmath.AssumeNothing.Summary(benchmath.NewSample(list, &benchmath.DefaultThresholds), 0.95).Center
	}
	a, b := median(r.allocs["plain"]), median(r.allocs[variant])
	if a == b {
		return ""
	}
	return fmt.Sprintf(" (%g, not %g allocs/op)", b, a)
}
