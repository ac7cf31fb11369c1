package ftrace

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// errorLog holds the last errors (tracing_log_err in the kernel's kernel/trace/trace.c).
var errorLog struct {
	mu      sync.Mutex
	entries []LoggedError
}

// errorLogSize is how many errors are kept (TRACING_LOG_ERRS_MAX).
const errorLogSize = 8

// A LoggedError is an entry of the error log.
type LoggedError struct {
	Time    time.Duration // by the monotonic clock, as in traces; 0 in a program without hooks
	Where   string        // the tracer, or what was set
	Text    string        // what was wrong
	Command string        // what was asked for; "" for an error of another kind
	Pos     int           // offset of the fault in Command, in bytes
}

// logError appends an error to the error log, and removes the oldest one if there are too many.
func logError(where, text, command string, pos int) {
	e := LoggedError{Where: where, Text: text, Command: command, Pos: pos}
	if rt != nil {
		e.Time = time.Duration(rt.Nanotime())
	}
	errorLog.mu.Lock()
	defer errorLog.mu.Unlock()
	l := &errorLog.entries
	if len(*l) == errorLogSize {
		*l = append((*l)[:0], (*l)[1:]...)
	}
	*l = append(*l, e)
}

// ErrorLog returns the last eight errors, the oldest first (error_log): filters and triggers that
// were refused, callbacks that panicked, and failures of the frame test. It may be called at any
// time.
func ErrorLog() []LoggedError {
	errorLog.mu.Lock()
	defer errorLog.mu.Unlock()
	return append([]LoggedError(nil), errorLog.entries...)
}

// ClearErrorLog removes all entries from the error log.
func ClearErrorLog() {
	errorLog.mu.Lock()
	defer errorLog.mu.Unlock()
	errorLog.entries = nil
}

// WriteErrorLog writes the error log as the kernel's file error_log shows it, with a caret under
// each fault. The error is w's.
func WriteErrorLog(w io.Writer) error {
	var b strings.Builder
	for _, e := range ErrorLog() {
		fmt.Fprintf(&b, "[%5d.%06d] %s: error: %s\n", e.Time/time.Second, e.Time%time.Second/time.Microsecond, e.Where, e.Text)
		if e.Command != "" {
			fmt.Fprintf(&b, "  Command: %s\n%*s\n", e.Command, len("  Command: ")+e.Pos+1, "^")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
