package record

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// A Setting is a variable of the environment that the traced program reads.
type Setting struct {
	Variable string
	Value    string // "" leaves the variable out
	Flag     string // the flag that gave the value, as it is typed; "" if the variable itself did
}

// origin is the variable that tells the traced program which of its variables stand for a flag, so
// that it complains of the flag: FTGO_FILTER=-F,FTGO_DEPTH=-D.
const origin = "FTGO_ORIGIN"

// traced are the variables that make a trace of a program. It gets them from its settings alone.
var traced = []string{
	"FTGO_TRACER", "FTGO_FILTER", "FTGO_NOTRACE", "FTGO_DEPTH", "FTGO_MAX_STACK", "FTGO_THRESHOLD", "FTGO_BUFFER",
	"FTGO_CLOCK", "FTGO_OPTIONS", "FTGO_OUT", "FTGO_FILE", origin,
}

// Inherited returns the value of a variable. In a program that is itself recorded every variable is
// that recording's, and says nothing about another one.
func Inherited(variable string) string {
	if os.Getenv("FTGO_FILE") != "" || os.Getenv(origin) != "" {
		return ""
	}
	return os.Getenv(variable)
}

// name is what the user knows the setting by.
func (s Setting) name() string {
	if s.Flag != "" {
		return s.Flag
	}
	return s.Variable
}

// setting returns the setting of a variable.
func (o *Options) setting(variable string) Setting {
	for _, s := range o.Settings {
		if s.Variable == variable {
			return s
		}
	}
	return Setting{Variable: variable}
}

// list returns the words of a setting that is a list.
func (s Setting) list() []string {
	return strings.FieldsFunc(s.Value, func(r rune) bool { return r == ',' })
}

var size = regexp.MustCompile(`^[1-9][0-9]*[kKmMgG]$`)

func between(lo, hi int) func(string) bool {
	return func(s string) bool {
		n, err := strconv.Atoi(s)
		return err == nil && lo <= n && n <= hi
	}
}

// forms are the values that variables may have, as the library reads them. What depends on the
// program or the machine is the library's to refuse.
var forms = []struct {
	variable, want string
	ok             func(string) bool
}{
	{"FTGO_DEPTH", "a depth from 1 to 65535, or 0 for no limit", between(0, 65535)},
	{"FTGO_MAX_STACK", "a depth from 1 to 65535", between(1, 65535)},
	{"FTGO_BUFFER", "a size such as 512k, 64M or 2G", size.MatchString},
	{"FTGO_THRESHOLD", "a duration such as 10us or 2ms", func(s string) bool {
		d, err := time.ParseDuration(s)
		return err == nil && d > 0
	}},
}

// check finds what is wrong with the options before anything is built, and returns the options that
// change the text of a trace.
func (o *Options) check() (text tracefile.Options, err error) {
	for _, f := range forms {
		if s := o.setting(f.variable); s.Value != "" && !f.ok(s.Value) {
			return text, fmt.Errorf("%s %s: want %s", s.name(), s.Value, f.want)
		}
	}
	if s := o.setting("FTGO_TRACER"); s.Value == "" {
		return text, fmt.Errorf("%s: want a tracer, such as function_graph or function", s.name())
	}
	options := o.setting("FTGO_OPTIONS")
	for _, name := range options.list() {
		if !slices.Contains(programOptions, strings.TrimPrefix(name, "no")) {
			if err := text.Set(name); err != nil {
				return text, fmt.Errorf("%s: %w", options.name(), err)
			}
		}
	}
	return text, checkOut(o.Out)
}

// programOptions are the options that the traced program takes. The others change how a trace is
// printed.
var programOptions = []string{"overwrite", "sleep-time", "graph-time", "function-fork", "frame-test"}

// checkOut reports why there can be no file of a name.
func checkOut(name string) error {
	if name == "" {
		return nil
	}
	dir := filepath.Dir(name)
	fi, err := os.Stat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("%s: there is no directory %s to put it into", name, dir)
	case !fi.IsDir():
		return fmt.Errorf("%s: %s is not a directory", name, dir)
	}
	if fi, err := os.Stat(name); err == nil && fi.IsDir() {
		return fmt.Errorf("%s is a directory: the trace wants a file", name)
	}
	return nil
}

// environment is the traced program's: that of this process, with the settings in place of the
// variables.
func (o *Options) environment(trace string) []string {
	env := slices.DeleteFunc(os.Environ(), func(s string) bool {
		key, _, _ := strings.Cut(s, "=")
		return slices.Contains(traced, key)
	})
	var flags []string
	for _, s := range o.Settings {
		if s.Value != "" {
			env = append(env, s.Variable+"="+s.Value)
		}
		if s.Flag != "" {
			flags = append(flags, s.Variable+"="+s.Flag)
		}
	}
	file := "FTGO_FILE"
	if !shared {
		file = "FTGO_OUT"
	}
	return append(env, file+"="+trace, origin+"="+strings.Join(flags, ","))
}
