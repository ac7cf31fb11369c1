package ftrace

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ftgo/ftgo/internal/hook"
)

// A trigger is a command that a function carries out besides being traced (struct
// ftrace_func_command and ftrace_func_probe in the kernel's kernel/trace/ftrace.c). All triggers
// together are one user, with a bit of its own, and are called before any tracer records the call.

// A trigger is a command on one function.
type trigger struct {
	rule *triggerRule
	left atomic.Int64 // times that are left; negative for any number
}

// A triggerRule is a trigger as it was set, for all functions that its pattern matches.
type triggerRule struct {
	pattern
	array   *traceArray // array that the command is about
	command string
	count   int64 // how often each function carries the command out; negative for any number
	do      TraceFunc
	gone    bool // the array has another owner. Guarded by array.removing
}

// triggers are the triggers of all functions. The table of a change is a new one, since hooks look
// at the old one. It is no map: the race detector sees accesses to maps, and does not see what
// orders them here.
var triggers = struct {
	user
	rules []*triggerRule
	of    atomic.Pointer[[][]*trigger] // by number of the function
}{user: user{name: "triggers", kind: calling}}

// triggerCommands are the commands of SetTrigger.
var triggerCommands = []string{"dump", "snapshot", "stacktrace", "traceoff", "traceon"}

// SetTriggerFunc makes every function that the pattern matches call do, at most count times for
// each function; 0 is no limit. SetTrigger("!pattern:name") takes it back. do may do what a
// TraceFunc may. If do panics, all triggers are off; ErrorLog says why.
//
// The error is ErrNotInstrumented, or says what is wrong with an argument: name must be valid, and
// must not be a number or a command of SetTrigger, and the pattern must match a function.
// SetTriggerFunc must not be called from a callback.
func SetTriggerFunc(pattern, name string, count int, do TraceFunc) error {
	if err := validName(name); err != nil {
		return err
	}
	if _, err := strconv.Atoi(name); err == nil || slices.Contains(triggerCommands, name) || do == nil {
		return fmt.Errorf("a trigger of the program's own needs a function, and a name that is no number and not one of %s", strings.Join(triggerCommands, ", "))
	}
	if count < 0 {
		return fmt.Errorf("trigger %q: the number of times is 1 or more, or 0 for no limit, not %d", name, count)
	}
	if strings.HasPrefix(pattern, "!") {
		return fmt.Errorf("trigger %q: a trigger is taken back by SetTrigger(%q)", name, pattern+":"+name)
	}
	if rt == nil {
		return ErrNotInstrumented
	}
	r := &triggerRule{pattern: parsePattern(pattern), array: &top, command: name, count: -1, do: do}
	if count > 0 {
		r.count = int64(count)
	}
	return r.set(pattern, false)
}

// setTrigger parses a trigger, and sets it or takes it back.
func (a *traceArray) setTrigger(spec string) error {
	if rt == nil {
		return ErrNotInstrumented
	}
	text, remove := strings.CutPrefix(spec, "!")
	r := &triggerRule{array: a, count: -1}
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		n, err := strconv.ParseInt(text[i+1:], 10, 64)
		switch {
		case err == nil && (n < 0 || n == 0 && !remove), errors.Is(err, strconv.ErrRange):
			return triggerError(spec, len(spec)-len(text)+i+1, "%q: the number of times is 1 or more", spec)
		case err == nil:
			text, r.count = text[:i], n
		}
	}
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return triggerError(spec, len(spec), "%q: want a pattern, a colon and a command: %s", spec, strings.Join(triggerCommands, ", "))
	}
	r.pattern, r.command = parsePattern(text[:i]), text[i+1:]
	// A rule of SetTriggerFunc can be taken back here.
	if !slices.Contains(triggerCommands, r.command) && !remove {
		return triggerError(spec, len(spec)-len(text)+i+1, "there is no command %q: there are %s", r.command, strings.Join(triggerCommands, ", "))
	}
	if r.command == "dump" && !remove {
		r.count = 1
	}
	return r.set(spec, remove)
}

// triggerError logs what is wrong with a trigger, at an offset in it, and returns it as an error.
func triggerError(spec string, pos int, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	logError("trigger", err.Error(), spec, pos)
	return fmt.Errorf("trigger: %w", err)
}

// set sets the rule, or takes it back if remove is set. spec is the trigger as it was given.
func (r *triggerRule) set(spec string, remove bool) error {
	if inCallback() {
		return errors.New("triggers cannot be set from a callback")
	}
	ctl.Lock()
	defer ctl.Unlock()
	if _, err := noMatch("trigger", patterns{r.pattern}); err != nil {
		logError("trigger", strings.TrimPrefix(err.Error(), "trigger: "), spec, len(spec)-len(strings.TrimPrefix(spec, "!")))
		return err
	}
	r.array.startBuffer()
	all := triggersByID()
	if !remove {
		rules := append(slices.DeleteFunc(slices.Clone(triggers.rules), func(o *triggerRule) bool { return o.text == r.text && o.same(r) }), r)
		eachTable(func(t *hook.Table) { r.addTo(all, t) })
		return useTriggers(all, rules)
	}
	// A rule goes when its text is taken back. It also goes with its last function, unless it waits
	// for a package.
	left := map[*triggerRule]bool{}
	eachTable(func(t *hook.Table) {
		r.each(t, func(id uint32) {
			for _, o := range all[id] {
				if r.takesBack(o.rule) {
					left[o.rule] = false
				}
			}
			if all[id] = slices.DeleteFunc(all[id], func(o *trigger) bool { return r.takesBack(o.rule) }); len(all[id]) == 0 {
				delete(all, id)
			}
		})
	})
	for _, list := range all {
		for _, o := range list {
			if _, hit := left[o.rule]; hit {
				left[o.rule] = true
			}
		}
	}
	rules := slices.DeleteFunc(slices.Clone(triggers.rules), func(o *triggerRule) bool {
		stays, hit := left[o]
		return o.text == r.text && r.takesBack(o) || hit && !stays
	})
	if len(left) == 0 && len(rules) == len(triggers.rules) {
		return triggerError(spec, 0, "%q: no such function has such a trigger", spec)
	}
	return useTriggers(all, rules)
}

// same reports whether two rules have the same command for the same array.
func (r *triggerRule) same(o *triggerRule) bool { return r.array == o.array && r.command == o.command }

// takesBack reports whether a rule that is being taken back takes the rule o with it.
func (r *triggerRule) takesBack(o *triggerRule) bool {
	return r.same(o) && (r.count < 0 || o.count >= 0)
}

// each calls do with the number of every function of a package that the rule is for.
func (r *triggerRule) each(t *hook.Table, do func(id uint32)) {
	patterns{r.pattern}.each(t, do)
}

// addTo adds the rule's triggers. A function that has one of the same command counts anew.
func (r *triggerRule) addTo(all map[uint32][]*trigger, t *hook.Table) {
	r.each(t, func(id uint32) {
		one := &trigger{rule: r}
		one.left.Store(r.count)
		all[id] = append(slices.DeleteFunc(all[id], func(o *trigger) bool { return o.rule.same(r) }), one)
	})
}

// useTriggers puts new triggers in place, and the rules that they come from. It is called with ctl
// held.
func useTriggers(all map[uint32][]*trigger, rules []*triggerRule) error {
	u := &triggers.user
	if len(all) > 0 {
		if err := u.lend(false); err != nil {
			return err
		}
	}
	triggers.rules = rules
	storeTriggers(all)
	raceAcquire()
	u.failed.Store(false)
	u.applied = false
	u.called = true
	sortUsers()
	u.setOn(len(all) > 0)
	if len(all) == 0 {
		u.clear()
		if !u.lingers() {
			u.giveBack()
		}
	}
	usePointers()
	return nil
}

// triggersByID returns a copy of the triggers, by number of the function.
func triggersByID() map[uint32][]*trigger {
	all := map[uint32][]*trigger{}
	if list := triggers.of.Load(); list != nil {
		for id, l := range *list {
			if len(l) > 0 {
				all[uint32(id)] = slices.Clone(l)
			}
		}
	}
	return all
}

// storeTriggers makes triggers the ones that hooks see.
func storeTriggers(all map[uint32][]*trigger) {
	n := uint32(0)
	only := new(funcSet)
	for id := range all {
		n = max(n, id+1)
		only.insert(id)
	}
	list := make([][]*trigger, n)
	for id, l := range all {
		list[id] = l
	}
	triggers.of.Store(&list)
	triggers.only = only
}

// forgetTriggers takes back the triggers of an array. It is called with ctl held.
func forgetTriggers(a *traceArray) {
	if !slices.ContainsFunc(triggers.rules, func(r *triggerRule) bool { return r.array == a }) {
		return
	}
	a.removing.Lock() // from here on functions see that the rules are gone
	for _, r := range triggers.rules {
		r.gone = r.gone || r.array == a
	}
	a.removing.Unlock()
	all := triggersByID()
	for id, list := range all {
		if all[id] = slices.DeleteFunc(list, func(t *trigger) bool { return t.rule.array == a }); len(all[id]) == 0 {
			delete(all, id)
		}
	}
	useTriggers(all, slices.DeleteFunc(slices.Clone(triggers.rules), func(r *triggerRule) bool { return r.gone }))
}

// addTriggers gives the functions of a package that was registered the triggers that wait for them.
func addTriggers(t *hook.Table) {
	all := triggersByID()
	for _, r := range triggers.rules {
		r.addTo(all, t)
	}
	storeTriggers(all)
}

// listTriggers returns the triggers of the array, with the times that they have left.
func (a *traceArray) listTriggers() []string {
	ctl.Lock()
	defer ctl.Unlock()
	all := triggersByID()
	var list []string
	eachTable(func(t *hook.Table) {
		eachNameOf(t, func(n *funcName) {
			for _, o := range all[t.Base+n.i] {
				if o.rule.array != a {
					continue
				}
				times := "unlimited"
				if left := o.left.Load(); left >= 0 {
					times = "count=" + strconv.FormatInt(left, 10)
				}
				list = append(list, n.full+":"+o.rule.command+":"+times)
			}
		})
	})
	slices.SortFunc(list, cmp.Compare)
	return list
}

// fire carries out the commands of the function that is called.
func (d *dispatch) fire() {
	all := *triggers.of.Load()
	if d.site.ID >= uint32(len(all)) { // the function has lost its triggers
		return
	}
	for _, t := range all[d.site.ID] {
		a := t.rule.array
		switch t.rule.command {
		case "traceon", "traceoff":
			if off := t.rule.command == "traceoff"; a.paused.Load() != off {
				t.use(func() { a.paused.Store(off); a.noteOff() })
			}
		case "snapshot":
			t.use(func() { a.kept.Store(a.copy()) })
		case "stacktrace":
			t.use(func() { d.recordStack(a) })
		case "dump":
			var c *bufferCopy
			if t.use(func() { c = a.copy() }); c != nil {
				c.write(a, os.Stderr)
			}
		default:
			if t.take() {
				t.rule.do(funcOf(d.site), d.parent, nil)
			}
		}
	}
}

// use calls do if the trigger has times left, and the rule's array still has the owner that set the
// rule.
func (t *trigger) use(do func()) {
	a := t.rule.array
	a.removing.RLock()
	defer a.removing.RUnlock()
	if !t.rule.gone && t.take() {
		do()
	}
}

// take takes one of the times that are left. It returns false if there is none.
func (t *trigger) take() bool {
	for {
		n := t.left.Load()
		if n < 0 {
			return true
		}
		if n == 0 {
			return false
		}
		if t.left.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// recordStack records the goroutine's stack as a marker, from the function on.
func (d *dispatch) recordStack(a *traceArray) {
	if a.paused.Load() {
		return
	}
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	name := funcOf(d.site).Name()
	var b strings.Builder
	b.WriteString("<stack trace>\n => " + name + "\n")
	for in := false; ; {
		f, more := frames.Next()
		// If the function's wrapper makes the call, the function is not among the frames.
		if !in && !strings.Contains(f.Function, "ftgo/runtime.") && !strings.HasPrefix(f.Function, "runtime.") {
			in = true
			if f.Function == name {
				f.Function = ""
			}
		}
		if in && f.Function != "" {
			b.WriteString(" => " + f.Function + "\n")
		}
		if !more {
			break
		}
	}
	_, p := newStates(d.slot, rt.Pin())
	if a.writable() {
		p.in(a).markText(d.g, strings.TrimSuffix(b.String(), "\n"))
	}
	rt.Unpin()
}
