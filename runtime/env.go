package ftrace

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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

// readEnvironment reads FTGO_TRACER and its kin, and switches the tracer on: before any package is
// initialized but package runtime, so that initialization is traced too. What is called here must
// do without initialized variables of other packages: time.ParseDuration, for one, has a map of
// units. A program that runs with other rights than its caller's takes nothing from the
// environment.
func readEnvironment() {
	if rt.Secure {
		return
	}
	for _, v := range variables {
		if val := rt.Getenv(v.name); val != "" {
			if err := v.set(val); err != "" && env.failed == "" {
				env.failed = origin(v.name) + err
			}
		}
	}
	setGraphLimit()
	if env.failed != "" {
		return
	}
	if env.stat != "" {
		setProfile(true)
	}
	if env.tracer != "" {
		env.on = true
		if t := findTracer(env.tracer); t != nil {
			switchOn(t)
		}
	}
	if env.stat != "" || env.on && !mapped() {
		rt.Dying()
	}
}

// switchOn switches on the tracer that FTGO_TRACER names.
func switchOn(t *tracer) {
	env.tracer = ""
	if file.path != "" {
		startBuffer()
		if !mapped() { // a child of the program that is being recorded
			env.on = false
			return
		}
	}
	if err := top.setTracer(t); err != nil {
		env.failed = err.Error()
	}
}

// origin returns what a setting is called: its variable, or the flag of ftgo live or record that
// set the variable. FTGO_ORIGIN lists these, as FTGO_FILTER=-F,FTGO_THRESHOLD=-T.
func origin(name string) string {
	for _, pair := range strings.Split(rt.Getenv("FTGO_ORIGIN"), ",") {
		if flag, ok := strings.CutPrefix(pair, name+"=-"); ok && len(flag) < 20 {
			return "-" + flag
		}
	}
	return name
}

// variables are the variables of the environment, in the order in which they are read. set returns
// what is wrong with a value, to follow the variable's name.
var variables = [...]struct {
	name string
	set  func(val string) string
}{
	{"FTGO_MAX_STACK", func(val string) string {
		n, err := parseNumber(val, 1, 65535, "a depth from 1 to 65535")
		if err == "" {
			maxStack.Store(int32(n))
		}
		return err
	}},
	{"FTGO_DEPTH", func(val string) string {
		n, err := parseNumber(val, 0, 65535, "a depth from 1 to 65535, or 0 for no limit")
		top.maxDepth = int32(n)
		return err
	}},
	{"FTGO_BUFFER", func(val string) string {
		n, ok := parseSize(val)
		if !ok {
			return unwanted(val, "a size such as 512k, 64M or 2G")
		}
		top.size = n
		return ""
	}},
	{"FTGO_OPTIONS", func(val string) string {
		for _, o := range strings.Split(val, ",") {
			if err := top.setOption(o); err != nil {
				return ": " + err.Error()
			}
		}
		return ""
	}},
	{"FTGO_CLOCK", func(val string) string {
		mono, err := clockNamed(val)
		if err != nil {
			return ": " + err.Error()
		}
		rt.Mono = mono
		return ""
	}},
	{"FTGO_THRESHOLD", func(val string) string {
		ns, ok := parseDuration(val)
		if !ok || ns == 0 {
			return unwanted(val, "a duration such as 10us or 2ms")
		}
		top.ns = ns
		return ""
	}},
	{"FTGO_FILTER", func(val string) string { top.filter = parsePatterns(strings.Split(val, ",")); return "" }},
	{"FTGO_NOTRACE", func(val string) string { top.except = parsePatterns(strings.Split(val, ",")); return "" }},
	{"FTGO_PROFILE", func(val string) string { env.stat = val; return "" }},
	{"FTGO_OUT", func(val string) string { env.out = val; return "" }},
	{"FTGO_FILE", func(val string) string { file.path = val; return "" }},
	{"FTGO_TRACER", func(val string) string { env.tracer = val; return "" }},
}

// unwanted says that a value is not what is wanted.
func unwanted(val, want string) string { return "=" + val + ": want " + want }

func parseNumber(val string, lo, hi int, want string) (int, string) {
	if n, err := strconv.Atoi(val); err == nil && n >= lo && n <= hi {
		return n, ""
	}
	return 0, unwanted(val, want)
}

// parseDuration parses what time.ParseDuration does, but for signs, without the help of an
// initialized package time. It returns nanoseconds.
func parseDuration(s string) (ns int64, ok bool) {
	if s == "0" {
		return 0, true
	}
	var sum float64
	for s != "" {
		n := 0
		for n < len(s) && (s[n] == '.' || s[n]-'0' <= 9) {
			n++
		}
		value, err := strconv.ParseFloat(s[:n], 64)
		if s = s[n:]; err != nil {
			return 0, false
		}
		n = 0
		for n < len(s) && s[n] != '.' && s[n]-'0' > 9 {
			n++
		}
		var unit float64
		switch s[:n] {
		case "ns":
			unit = 1
		case "us", "\u00b5s", "\u03bcs":
			unit = 1e3
		case "ms":
			unit = 1e6
		case "s":
			unit = 1e9
		case "m":
			unit = 60e9
		case "h":
			unit = 3600e9
		default:
			return 0, false
		}
		s = s[n:]
		if sum += value * unit; sum >= 1<<63 {
			return 0, false
		}
		ok = true
	}
	return int64(sum), ok
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

// checkEnvironment is called when every package has been initialized: what the environment names
// must be there by now. A program that was asked to trace and cannot is ended before it begins. In
// a test binary a filter that matches nothing is no reason to fail: of several packages that are
// tested together, one may not have the function.
func checkEnvironment() {
	fail := env.failed
	if fail == "" && env.tracer != "" {
		fail = origin("FTGO_TRACER") + ": " + noTracer(env.tracer).Error()
	}
	if fail == "" {
		fail = checkFiles()
	}
	if fail == "" && (env.on || env.stat != "") {
		if err := checkFilters(); err != nil {
			if isTest() {
				rt.Fatal(err.Error())
				return
			}
			fail = err.Error()
		}
	}
	if fail != "" {
		env.on, env.stat = false, ""
		rt.Fatal(fail)
		os.Exit(2)
	}
}

// checkFilters reports which of the environment's filters matches nothing.
func checkFilters() error {
	if len(top.filter) > 0 && top.filter[0].not {
		return fmt.Errorf("%s: there is nothing that %q could take functions out of: want a pattern before it", origin("FTGO_FILTER"), top.filter[0].text)
	}
	if _, err := noMatch(origin("FTGO_FILTER"), top.filter); err != nil {
		return err
	}
	_, err := noMatch(origin("FTGO_NOTRACE"), top.except)
	return err
}

// checkFiles reports which of the files that are to be written when the program ends has no
// directory, before the program has done anything.
func checkFiles() string {
	for _, f := range []struct{ key, path string }{{"FTGO_OUT", env.out}, {"FTGO_PROFILE", env.stat}} {
		if f.path == "" {
			continue
		}
		path := expandPid(f.path)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return f.key + ": " + path + " is a directory: want the name of a file"
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil {
			return f.key + ": " + err.Error()
		} else if !info.IsDir() {
			return f.key + ": " + filepath.Dir(path) + " is not a directory"
		}
	}
	return ""
}

// isTest reports whether the program is one that go test has built.
func isTest() bool { return bytes.Contains(rt.Symbols(), []byte("\x00testing.(*M).Run\x00")) }

// ending is held while the program ends: several goroutines may end it at once, and none may go on
// before the trace is written.
var ending struct {
	sync.Mutex
	done bool
	by   atomic.Uint64 // the goroutine that holds it
}

// end is called when the program ends. It writes the trace that the environment asked for.
func end() {
	if !env.on && env.stat == "" || top.header == nil || ending.by.Load() == Goid() {
		return
	}
	ending.Lock()
	defer ending.Unlock()
	if ending.done {
		return
	}
	ending.by.Store(Goid())
	defer ending.by.Store(0)
	defer func() { ending.done = true }()
	StopHooks()
	if env.stat != "" {
		writeAtEnd("FTGO_PROFILE", env.stat, WriteReport)
	}
	if !env.on {
		return
	}
	finish(tracefile.StateEnded)
	if !mapped() {
		writeAtEnd("FTGO_OUT", env.out, func(w io.Writer) error { return top.writeTrace(w, nil) })
	}
}

// writeAtEnd writes to the file that a variable of the environment names, %p for the process's
// number, or to standard error. For the null device nothing is formatted.
func writeAtEnd(key, path string, write func(io.Writer) error) {
	if path == os.DevNull {
		return
	}
	w := os.Stderr
	if path != "" {
		f, err := tracefile.Create(expandPid(path))
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

// expandPid puts the process's number in place of %p.
func expandPid(path string) string { return strings.ReplaceAll(path, "%p", strconv.Itoa(os.Getpid())) }

// finish notes the end of the trace in its header.
func finish(state uint32) {
	*(*uint64)(unsafe.Add(top.header, tracefile.HEndCounter)) = rt.Clock()
	*(*uint64)(unsafe.Add(top.header, tracefile.HEndMono)) = uint64(rt.Nanotime())
	*(*uint32)(unsafe.Add(top.header, tracefile.HState)) |= state
}
