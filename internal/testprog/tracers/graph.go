package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	ftrace "github.com/ftgo/ftgo/runtime"
)

// frameTest: a return that does not match its entry stops tracing with a report, or is passed over.
func frameTest() error {
	if n := ftrace.ReadStats().Mismatches; n != 0 {
		return fmt.Errorf("%d mismatches", n)
	}
	f := ftrace.NewFunc("main.byHand")
	only("function_graph", "main.byHand", "main.inner")
	defer off()
	within := func(mistake bool) {
		t := ftrace.Enter(f)
		u := ftrace.Enter(f)
		inner()
		if !mistake {
			ftrace.Exit(u)
		}
		ftrace.Exit(t) // without u's
	}
	within(false)
	ftrace.ClearErrorLog()
	must(ftrace.SetOption("noframe-test"))
	within(true)
	errs := []error{expect("without the test", seen(whole(ftrace.WriteTrace)), "byHand:4 inner:2"), expect("errors", len(ftrace.ErrorLog()), 0), expect("mismatches", ftrace.ReadStats().Mismatches, uint64(1))}
	must(ftrace.SetOption("frame-test"))
	must(ftrace.Reset())
	within(true)
	inner()
	log := ftrace.ErrorLog()
	if len(log) != 1 || log[0].Where != "frame test" || !strings.Contains(log[0].Text, "does not match its entry") {
		errs = append(errs, fmt.Errorf("error_log: %+v", log))
	}
	errs = append(errs, expect("with the test", seen(whole(ftrace.WriteTrace)), "byHand:2 inner:1"))
	ftrace.Exit(1 << 20) // of no call at all
	ftrace.StartHooks()
	must(ftrace.Reset())
	inner()
	return errors.Join(append(errs, expect("again", seen(whole(ftrace.WriteTrace)), "inner:1"), expect("depth", ftrace.Depth(), 0))...)
}

// data: what a user stores on entry is what its return gets (test_graph_storage_single and _multi).
func data() error {
	type result struct{ entries, returns, wrong int }
	user := func(i, size int) (*ftrace.GraphOps, *result) {
		r := new(result)
		next := uint64(i+1) << 40
		var expected []uint64
		mask := ^uint64(0)
		if size < 8 {
			mask = 1<<(8*size) - 1
			next = uint64(i+1) * 17
		}
		o := &ftrace.GraphOps{Name: fmt.Sprint("storage", i), DataSize: size}
		o.Entry = func(c ftrace.Call, _ *ftrace.GraphOps, data []byte) ftrace.Verdict {
			r.entries++
			for _, b := range data {
				if b != 0 {
					r.wrong++
				}
			}
			if i == 2 && c.Func.Name() == "main.middle" { // some do not want all
				return ftrace.Ignore
			}
			next++
			expected = append(expected, next&mask)
			var w [8]byte
			binary.LittleEndian.PutUint64(w[:], next&mask)
			copy(data, w[:])
			if len(data) == ftrace.MaxDataSize {
				data[63] = byte(next)
			}
			return ftrace.Want
		}
		o.Return = func(_ ftrace.Call, _ *ftrace.GraphOps, data []byte) {
			r.returns++
			var w [8]byte
			copy(w[:], data)
			want := expected[len(expected)-1]
			expected = expected[:len(expected)-1]
			if binary.LittleEndian.Uint64(w[:]) != want || len(data) != size || size == 64 && data[63] != byte(want) {
				r.wrong++
			}
		}
		must(o.SetFilter("main.outer", "main.middle", "main.inner"))
		return o, r
	}
	for _, sizes := range [][]int{{1}, {2}, {4}, {8}, {64}, {1, 2, 4, 8}, {64, 8, 64, 1}} {
		var list []*ftrace.GraphOps
		var results []*result
		for i, size := range sizes {
			o, r := user(i, size)
			must(o.Register())
			list, results = append(list, o), append(results, r)
		}
		outer(3) // 4 outer, 3 middle, 3 inner
		for i, o := range list {
			must(o.Unregister())
			want := result{10, 10, 0}
			if i == 2 {
				want.returns = 7
			}
			if err := expect(fmt.Sprintf("%v bytes, user %d", sizes, i), *results[i], want); err != nil {
				return err
			}
		}
	}
	return nil
}

// names collects what a graph user sees.
func names(o *ftrace.GraphOps) *[]string {
	list := new([]string)
	short := func(c ftrace.Call) string { return strings.TrimPrefix(c.Func.Name(), "main.") }
	o.Entry = func(c ftrace.Call, _ *ftrace.GraphOps, _ []byte) ftrace.Verdict {
		*list = append(*list, short(c))
		if o.Name == "skips" && strings.HasSuffix(c.Func.Name(), "middle") {
			return ftrace.Skip
		}
		return ftrace.Want
	}
	o.Return = func(c ftrace.Call, _ *ftrace.GraphOps, _ []byte) { *list = append(*list, "/"+short(c)) }
	return list
}

// graphFilters: each user has its own filter, depth, set_graph_function and subtrees that it skips.
func graphFilters() error {
	all := []string{"main.outer", "main.middle", "main.inner"}
	var list []*ftrace.GraphOps
	var got []*[]string
	add := func(name string, depth int, set func(*ftrace.GraphOps) error) {
		o := &ftrace.GraphOps{Name: name, MaxDepth: depth}
		got = append(got, names(o))
		must(o.SetFilter(all...))
		must(set(o))
		must(o.Register())
		list = append(list, o)
	}
	nothing := func(*ftrace.GraphOps) error { return nil }
	add("all", 0, nothing)
	add("one", 0, func(o *ftrace.GraphOps) error { return o.SetFilter("main.inner") })
	add("not", 0, func(o *ftrace.GraphOps) error { return o.SetNotrace("main.middle") })
	add("depth", 2, nothing)
	add("function", 0, func(o *ftrace.GraphOps) error { return o.SetGraphFunction("main.middle") })
	add("notrace", 0, func(o *ftrace.GraphOps) error { return o.SetGraphNotrace("main.middle") })
	add("skips", 0, nothing)
	want := []string{
		"outer middle inner /inner outer /outer /middle /outer",
		"inner /inner",
		"outer inner /inner outer /outer /outer",
		"outer middle /middle /outer",
		"middle inner /inner outer /outer /middle",
		"outer /outer",
		"outer middle /outer",
	}
	for range 2 {
		for i := range got {
			*got[i] = nil
		}
		outer(1)
		for i, o := range list {
			if err := expect(o.Name, strings.Join(*got[i], " "), want[i]); err != nil {
				return err
			}
		}
	}
	// Limits may be set while calls are seen.
	must(list[0].SetGraphFunction("main.inner"))
	must(list[4].SetGraphFunction())
	for i := range got {
		*got[i] = nil
	}
	outer(1)
	want[0], want[4] = "inner /inner", want[0]
	for i, o := range list {
		must(o.Unregister())
		if err := expect(o.Name, strings.Join(*got[i], " "), want[i]); err != nil {
			return err
		}
	}
	return nil
}

// beside: the graph tracer and the profile see all, whatever is on beside them.
func beside() error {
	must(ftrace.SetFilter("main.outer", "main.middle", "main.inner"))
	defer ftrace.SetFilter()
	for _, tracer := range []string{"function_graph", "function", "nop"} {
		for _, profile := range []bool{false, true} {
			must(ftrace.Reset())
			must(ftrace.SetTracer(tracer))
			must(ftrace.ResetProfile())
			if profile {
				must(ftrace.StartProfile())
			}
			o := &ftrace.GraphOps{Name: "names"}
			list := names(o)
			must(o.SetFilter("main.inner", "main.dynTestName"))
			c, n := counter("counter", "main.middle")
			outer(1) // alone
			must(o.Register())
			outer(1)
			must(c.Register())
			outer(1)
			must(o.Unregister())
			outer(1)
			must(c.Unregister())
			outer(1)
			must(ftrace.SetTracer("nop"))
			must(ftrace.StopProfile())
			what := fmt.Sprint(tracer, " ", profile)
			entries := map[string]uint64{"function_graph": 40, "function": 20}[tracer]
			if err := errors.Join(
				expect(what+": records", ftrace.ReadStats().Entries, entries),
				expect(what+": seen", strings.Join(*list, " "), "inner /inner inner /inner"),
				expect(what+": counted", n.Load(), int64(2))); err != nil {
				return err
			}
			hits := map[string]uint64{}
			for _, f := range ftrace.Profile() {
				hits[f.Name] = f.Hits
				if f.Self > f.Total {
					return fmt.Errorf("%s: %+v", what, f)
				}
			}
			want := map[string]uint64{}
			if profile {
				want = map[string]uint64{"main.outer": 10, "main.middle": 5, "main.inner": 5}
			}
			if err := expect(what+": profile", hits, want); err != nil {
				return err
			}
		}
	}
	return nil
}

// openCalls: calls that began before a user came, or return after it went, are not its; those of users that stay are.
func openCalls() error {
	stays := &ftrace.GraphOps{Name: "stays"}
	comes := &ftrace.GraphOps{Name: "comes"}
	all, some := names(stays), names(comes)
	must(stays.SetFilter("main.within", "main.inner"))
	must(comes.SetFilter("main.within", "main.inner"))
	must(stays.Register())
	within(func() {
		must(comes.Register())
		inner()
	})
	within(func() {
		must(comes.Unregister())
		inner()
	})
	within(func() {
		must(comes.Register())
		inner()
		must(comes.Unregister())
		must(comes.Register())
	})
	must(comes.Unregister())
	must(stays.Unregister())
	return errors.Join(
		expect("stays", strings.Join(*all, " "), "within inner /inner /within within inner /inner /within within inner /inner /within"),
		expect("comes", strings.Join(*some, " "), "inner /inner within inner /inner"))
}
