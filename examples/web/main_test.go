package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	ftrace "github.com/ftgo/ftgo/runtime"
)

// A slow request's trace shows the call that was slow. Without hooks the test is skipped; run it
// with "ftgo test ./examples/web".
func TestTraceOfASlowRequest(t *testing.T) {
	if errors.Is(ftrace.SetTracer("nop"), ftrace.ErrNotInstrumented) {
		t.Skip(ftrace.ErrNotInstrumented)
	}
	srv := httptest.NewServer(newServer())
	defer srv.Close()
	answer := make(chan string)
	go func() { answer <- get(t, srv.URL+"/trace?path=/report&over=20ms") }()
	for {
		select {
		case text := <-answer:
			for _, want := range []string{"# tracer: function_graph", "web.(*server).report() {", "web.query() {", "web.fetch();", "web.render();"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			return
		case <-time.After(time.Millisecond):
			get(t, srv.URL+"/report")
		}
	}
}

func get(t *testing.T, url string) string {
	resp, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}
