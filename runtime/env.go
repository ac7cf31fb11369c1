package ftrace

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// env is what the environment asked for.
var env struct {
	tracer string // FTGO_TRACER, until it is switched on
	out    string // FTGO_OUT: where the text goes when the program ends; "" is standard error
	stat   string // FTGO_PROFILE: where the profile goes when the program ends; "" is nowhere
	on     bool   // the environment switched a tracer on
	failed string // what was wrong
}

// defaultBuffer is the size of the buffer, kB.
const defaultBuffer = 16 << 10

// readEnvironment reads FTGO_TRACER and its kin, and switches the tracer on: before any package is initialized but the runtime, so that
// initialization is traced too.
func readEnvironment() {
	fail := func(key, val, want string) {
		if env.failed == "" {
			env.failed = key + "=" + val + ": want " + want
		}
	}
	number := func(key string, lo, hi int, want string, set func(int)) {
		if val := rt.Getenv(key); val != "" {
			if n, err := strconv.Atoi(val); err == nil && n >= lo && n <= hi {
				set(n)
			} else {
				fail(key, val, want)
			}
		}
	}
	number("FTGO_MAX_STACK", 1, 65535, "a depth from 1 to 65535", func(n int) { maxStack.Store(int32(n)) })
	number("FTGO_DEPTH", 0, 65535, "a depth from 1 to 65535, or 0 for no limit", func(n int) { top.maxDepth = int32(n) })
	setGraphLimit()
	if val := rt.Getenv("FTGO_BUFFER"); val != "" {
		if n, ok := parseSize(val); ok {
			top.size = n
		} else {
			fail("FTGO_BUFFER", val, "a size such as 512k, 64M or 2G")
		}
	}
	if val := rt.Getenv("FTGO_OPTIONS"); val != "" {
		for _, o := range strings.Split(val, ",") {
			if err := SetOption(o); err != nil {
				env.failed = "FTGO_OPTIONS: " + err.Error()
			}
		}
	}
	if val := rt.Getenv("FTGO_CLOCK"); val != "" {
		if mono, err := clockNamed(val); err != nil {
			env.failed = "FTGO_CLOCK: " + err.Error()
		} else {
			rt.Mono = mono
		}
	}
	if val := rt.Getenv("FTGO_THRESHOLD"); val != "" {
		if d, err := time.ParseDuration(val); err != nil || d <= 0 {
			fail("FTGO_THRESHOLD", val, "a duration such as 10us or 2ms")
		} else {
			top.ns = int64(d)
		}
	}
	env.tracer = rt.Getenv("FTGO_TRACER")
	env.stat = rt.Getenv("FTGO_PROFILE")
	env.out = rt.Getenv("FTGO_OUT")
	file.path = rt.Getenv("FTGO_FILE")
	if val := rt.Getenv("FTGO_FILTER"); val != "" {
		top.filter = parsePatterns(strings.Split(val, ","))
	}
	if val := rt.Getenv("FTGO_NOTRACE"); val != "" {
		top.except = parsePatterns(strings.Split(val, ","))
	}
	if env.failed != "" {
		return
	}
	if env.stat != "" {
		setProfile(true)
	}
	if env.tracer == "" {
		return
	}
	env.on = true
	if t := findTracer(env.tracer); t != nil {
		if file.path != "" {
			startBuffer()
			if !mapped() { // a child of the program that is being recorded
				env.tracer, env.on = "", false
				return
			}
		}
		env.tracer = ""
		if err := top.setTracer(t); err != nil {
			env.failed = err.Error()
		}
	}
}

// parseSize parses a size with the suffix k, M or G, and returns kB.
func parseSize(s string) (kilobytes int, ok bool) {
	shift := 10 // M
	switch {
	case strings.HasSuffix(s, "k"), strings.HasSuffix(s, "K"):
		shift = 0
	case strings.HasSuffix(s, "G"), strings.HasSuffix(s, "g"):
		shift = 20
	case strings.HasSuffix(s, "M"), strings.HasSuffix(s, "m"):
	default:
		return 0, false
	}
	n, err := strconv.Atoi(s[:len(s)-1])
	if err != nil || n < 1 || n > 1<<30>>shift {
		return 0, false
	}
	return n << shift, true
}

// checkEnvironment is called when the main package is about to be initialized, and so every other package was: what the environment
// names must be there by now. A program that was asked to trace and cannot is ended before it begins.
func checkEnvironment() {
	fail := env.failed
	if fail == "" && env.tracer != "" {
		fail = "FTGO_TRACER: " + noTracer(env.tracer).Error()
	}
	if fail == "" && (env.on || env.stat != "") {
		if len(top.filter) > 0 && top.filter[0].not {
			fail = fmt.Sprintf("FTGO_FILTER: there is nothing that %q could take functions out of: want a pattern before it", top.filter[0].text)
		} else if _, err := noMatch("FTGO_FILTER", top.filter); err != nil {
			fail = err.Error()
		} else if _, err := noMatch("FTGO_NOTRACE", top.except); err != nil {
			fail = err.Error()
		}
	}
	if fail != "" {
		env.on, env.stat = false, ""
		rt.Fatal(fail)
		os.Exit(2)
	}
}

var ended atomic.Bool

// end is called when the program ends by main's return, os.Exit or a panic. It writes the trace that the environment asked for.
func end() {
	if !env.on && env.stat == "" || top.header == nil || ended.Swap(true) {
		return
	}
	Stop()
	if env.stat != "" {
		writeAtEnd("FTGO_PROFILE", env.stat, WriteReport)
	}
	if !env.on {
		return
	}
	finish(tracefile.StateEnded)
	if !mapped() {
		writeAtEnd("FTGO_OUT", env.out, WriteTrace)
	}
}

// writeAtEnd writes to the file that a variable of the environment names, %p for the process's number, or to standard error. For the null device
// nothing is formatted.
func writeAtEnd(key, path string, write func(io.Writer) error) {
	if path == os.DevNull {
		return
	}
	w := os.Stderr
	if path != "" {
		f, err := os.Create(strings.ReplaceAll(path, "%p", strconv.Itoa(os.Getpid())))
		if err != nil {
			rt.Fatal(key + ": " + err.Error())
			return
		}
		defer f.Close()
		w = f
	}
	if err := write(w); err != nil {
		rt.Fatal(key + ": " + err.Error())
	}
}

// finish notes the end of the trace in its header.
func finish(state uint32) {
	*(*uint64)(unsafe.Add(top.header, tracefile.HEndCounter)) = rt.Clock()
	*(*uint64)(unsafe.Add(top.header, tracefile.HEndMono)) = uint64(rt.Nanotime())
	*(*uint32)(unsafe.Add(top.header, tracefile.HState)) |= state
}
