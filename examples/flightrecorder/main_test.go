package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ftgo/ftgo/internal/tracefile"
	ftrace "github.com/ftgo/ftgo/runtime"
)

// Of three requests the slow one's trace is saved. Without hooks the test is skipped; run it with
// "ftgo test ./examples/flightrecorder".
func TestSlowRequestIsSaved(t *testing.T) {
	if err := record(); errors.Is(err, ftrace.ErrNotInstrumented) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer ftrace.SetTracer("nop")
	s := &saver{limit: 25 * time.Millisecond, dir: t.TempDir()}
	srv := httptest.NewServer(s.middleware(http.HandlerFunc(report)))
	defer srv.Close()
	for range 3 {
		resp, err := http.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	for s.saved.Load() == 0 || s.busy.Load() {
		time.Sleep(time.Millisecond)
	}
	files, err := os.ReadDir(s.dir)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	trace, err := tracefile.ReadFile(filepath.Join(s.dir, files[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	var b bytes.Buffer
	if err := trace.WriteText(&b, tracefile.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"flightrecorder.report() {", "flightrecorder.fetch();", "*"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}
