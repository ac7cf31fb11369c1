package corpus

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestPassedAndDifferences(t *testing.T) {
	out := []byte(`{"Action":"pass","Package":"p","Test":"B"}
noise
{"Action":"pass","Package":"p","Test":"A"}
{"Action":"fail","Package":"p","Test":"C"}
{"Action":"pass","Package":"p"}
`)
	got := passed(out)
	if want := []string{"p A", "p B"}; !slices.Equal(got, want) {
		t.Fatalf("passed %v, want %v", got, want)
	}
	same := passed([]byte(`{"Action":"pass","Package":"p","Test":"T/0xc000123456"}
{"Action":"pass","Package":"p","Test":"T/0xc000123458"}
`))
	if diff := Differences(Result{Passed: same}, Result{Passed: []string{"p T/…"}}); len(diff) != 1 || diff[0] != "only plain: p T/…" {
		t.Errorf("differences %v", diff)
	}
	diff := Differences(Result{Passed: got}, Result{Passed: []string{"p B", "p D"}})
	if want := []string{"only hooked: p D", "only plain: p A"}; !slices.Equal(diff, want) {
		t.Errorf("differences %v, want %v", diff, want)
	}
}

func TestBase(t *testing.T) {
	for module, want := range map[string]string{
		"go.uber.org/zap@v1.28.0":              "zap",
		"github.com/alecthomas/chroma/v2@v2.1": "chroma",
		"example.com@v1.0.0":                   "example.com",
		"example.com/vim@v1.0.0":               "vim",
	} {
		if got := base(module); got != want {
			t.Errorf("%s: %s, want %s", module, got, want)
		}
	}
}

func TestRecords(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"1": "# tracer: function_graph\n#\n# entries-in-buffer/entries-written: 5/70   #P:2\n",
		"2": "# tracer: function\n#\n# entries-in-buffer/entries-written: 0/3   #P:2\n",
		"3": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := records(dir); n != 73 || err != nil {
		t.Errorf("%d records, %v; want 73", n, err)
	}
}
