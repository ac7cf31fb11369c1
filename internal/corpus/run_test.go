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
	diff := Differences(Result{Passed: got}, Result{Passed: []string{"p B", "p D"}})
	if want := []string{"only plain: p A", "only hooked: p D"}; !slices.Equal(diff, want) {
		t.Errorf("differences %v, want %v", diff, want)
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
