package bench

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	tb := newTable("sec/op", []variant{{name: "plain"}, {name: "off"}})
	for i := range 6 {
		noise := float64(i) * 1e-9
		tb.add("p", "Slower", "plain", 100e-9+noise)
		tb.add("p", "Slower", "off", 400e-9+noise)
		tb.allocs("p", "Slower", "plain", 1)
		tb.allocs("p", "Slower", "off", 2)
		tb.add("p", "Same", "plain", 100e-9+noise)
		tb.add("p", "Same", "off", 100e-9+5e-9-noise)
	}
	var b strings.Builder
	ratios, err := tb.print(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  Slower        102.5ns  3.927 ±3% (2, not 1 allocs/op)\n",
		"  Same          102.5ns  1.000 ±5% ~\n",
		"geometric mean           1.982\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if len(ratios["off"]) != 2 {
		t.Errorf("ratios %v", ratios)
	}
}

func TestExact(t *testing.T) {
	if got, want := exact("A/b.c-d"), `^BenchmarkA$/^b\.c-d$`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
