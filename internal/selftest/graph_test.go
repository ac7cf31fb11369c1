package selftest

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	ftrace "github.com/ftgo/ftgo/runtime"
)

// TestFrameTest: a return that does not match its entry stops tracing with a report, or is passed
// over.
func TestFrameTest(t *testing.T) {
	begin(t)
	before := ftrace.ReadStats().Mismatches
	f := ftrace.NewFunc(path + ".byHand")
	only(t, "function_graph", "selftest.byHand", "selftest.inner")
	defer off(t)
	within := func(mistake bool) {
		first := ftrace.Enter(f)
		second := ftrace.Enter(f)
		inner()
		if !mistake {
			ftrace.Exit(second)
		}
		ftrace.Exit(first) // without the second's
	}
	within(false)
	ftrace.ClearErrorLog()
	check(t, ftrace.SetOption("noframe-test"))
	within(true)
	expect(t, "without the test", seen(t, whole(ftrace.WriteTrace)), "byHand:4 inner:2")
	expect(t, "errors", len(ftrace.ErrorLog()), 0)
	expect(t, "mismatches", ftrace.ReadStats().Mismatches-before, uint64(1))
	check(t, ftrace.SetOption("frame-test"))
	check(t, ftrace.Reset())
	within(true)
	inner()
	log := ftrace.ErrorLog()
	if len(log) != 1 || log[0].Where != "frame test" || !strings.Contains(log[0].Text, "does not match its entry") {
		t.Errorf("error_log: %+v", log)
	}
	expect(t, "with the test", seen(t, whole(ftrace.WriteTrace)), "byHand:2 inner:1")
	ftrace.Exit(1 << 20) // of no call at all
	ftrace.StartHooks()
	check(t, ftrace.Reset())
	inner()
	expect(t, "again", seen(t, whole(ftrace.WriteTrace)), "inner:1")
	expect(t, "depth", ftrace.Depth(), 0)
	expect(t, "mismatches", ftrace.ReadStats().Mismatches-before, uint64(3))
}

// TestGraphStorage: what a user stores on entry is what its return gets (test_graph_storage_single
// and _multi).
func TestGraphStorage(t *testing.T) {
	begin(t)
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
			if i == 2 && short(c.Func.Name()) == "selftest.middle" { // some do not want all
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
		check(t, o.SetFilter("selftest.outer", "selftest.middle", "selftest.inner"))
		return o, r
	}
	for _, sizes := range [][]int{{1}, {2}, {4}, {8}, {64}, {1, 2, 4, 8}, {64, 8, 64, 1}} {
		var list []*ftrace.GraphOps
		var results []*result
		for i, size := range sizes {
			o, r := user(i, size)
			check(t, o.Register())
			list, results = append(list, o), append(results, r)
		}
		outer(3) // 4 outer, 3 middle, 3 inner
		for i, o := range list {
			check(t, o.Unregister())
			want := result{10, 10, 0}
			if i == 2 {
				want.returns = 7
			}
			expect(t, fmt.Sprintf("%v bytes, user %d", sizes, i), *results[i], want)
		}
	}
}

// names collects what a graph user sees.
func names(o *ftrace.GraphOps) *[]string {
	list := new([]string)
	name := func(c ftrace.Call) string { return strings.TrimPrefix(c.Func.Name(), path+".") }
	o.Entry = func(c ftrace.Call, _ *ftrace.GraphOps, _ []byte) ftrace.Verdict {
		*list = append(*list, name(c))
		if o.Name == "skips" && strings.HasSuffix(c.Func.Name(), "middle") {
			return ftrace.Skip
		}
		return ftrace.Want
	}
	o.Return = func(c ftrace.Call, _ *ftrace.GraphOps, _ []byte) { *list = append(*list, "/"+name(c)) }
	return list
}

// TestGraphFilters: each user has its own filter, depth, set_graph_function and subtrees that it
// skips.
func TestGraphFilters(t *testing.T) {
	begin(t)
	all := []string{"selftest.outer", "selftest.middle", "selftest.inner"}
	var list []*ftrace.GraphOps
	var got []*[]string
	add := func(name string, depth int, set func(*ftrace.GraphOps) error) {
		o := &ftrace.GraphOps{Name: name, MaxDepth: depth}
		got = append(got, names(o))
		check(t, o.SetFilter(all...))
		check(t, set(o))
		check(t, o.Register())
		list = append(list, o)
	}
	nothing := func(*ftrace.GraphOps) error { return nil }
	add("all", 0, nothing)
	add("one", 0, func(o *ftrace.GraphOps) error { return o.SetFilter("selftest.inner") })
	add("not", 0, func(o *ftrace.GraphOps) error { return o.SetNotrace("selftest.middle") })
	add("depth", 2, nothing)
	add("function", 0, func(o *ftrace.GraphOps) error { return o.SetGraphFunction("selftest.middle") })
	add("notrace", 0, func(o *ftrace.GraphOps) error { return o.SetGraphNotrace("selftest.middle") })
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
			expect(t, o.Name, strings.Join(*got[i], " "), want[i])
		}
	}
	// Limits may be set while calls are seen.
	check(t, list[0].SetGraphFunction("selftest.inner"))
	check(t, list[4].SetGraphFunction())
	for i := range got {
		*got[i] = nil
	}
	outer(1)
	want[0], want[4] = "inner /inner", want[0]
	for i, o := range list {
		check(t, o.Unregister())
		expect(t, o.Name, strings.Join(*got[i], " "), want[i])
	}
}

// TestGraphBesideOthers: the graph tracer and the profile see all, whatever is on beside them.
func TestGraphBesideOthers(t *testing.T) {
	begin(t)
	check(t, ftrace.SetFilter("selftest.outer", "selftest.middle", "selftest.inner"))
	defer ftrace.SetFilter()
	for _, tracer := range []string{"function_graph", "function", "nop"} {
		for _, profile := range []bool{false, true} {
			check(t, ftrace.Reset())
			check(t, ftrace.SetTracer(tracer))
			check(t, ftrace.ResetProfile())
			if profile {
				check(t, ftrace.StartProfile())
			}
			o := &ftrace.GraphOps{Name: "names"}
			list := names(o)
			check(t, o.SetFilter("selftest.inner", "selftest.dynTestName"))
			c, n := counter(t, "counter", "selftest.middle")
			outer(1) // alone
			check(t, o.Register())
			outer(1)
			check(t, c.Register())
			outer(1)
			check(t, o.Unregister())
			outer(1)
			check(t, c.Unregister())
			outer(1)
			check(t, ftrace.SetTracer("nop"))
			check(t, ftrace.StopProfile())
			what := fmt.Sprint(tracer, " ", profile)
			entries := map[string]uint64{"function_graph": 40, "function": 20}[tracer]
			expect(t, what+": records", ftrace.ReadStats().Entries, entries)
			expect(t, what+": seen", strings.Join(*list, " "), "inner /inner inner /inner")
			expect(t, what+": counted", n.Load(), int64(2))
			hits := map[string]uint64{}
			for _, f := range ftrace.Profile() {
				hits[short(f.Name)] = f.Hits
				if f.Self > f.Total {
					t.Fatalf("%s: %+v", what, f)
				}
			}
			want := map[string]uint64{}
			if profile {
				want = map[string]uint64{"selftest.outer": 10, "selftest.middle": 5, "selftest.inner": 5}
			}
			expect(t, what+": profile", hits, want)
		}
	}
}

// TestOpenCalls: calls that began before a user came, or return after it went, are not its; the
// calls of users that stay are.
func TestOpenCalls(t *testing.T) {
	begin(t)
	stays := &ftrace.GraphOps{Name: "stays"}
	comes := &ftrace.GraphOps{Name: "comes"}
	all, some := names(stays), names(comes)
	check(t, stays.SetFilter("selftest.within", "selftest.inner"))
	check(t, comes.SetFilter("selftest.within", "selftest.inner"))
	check(t, stays.Register())
	within(func() {
		check(t, comes.Register())
		inner()
	})
	within(func() {
		check(t, comes.Unregister())
		inner()
	})
	within(func() {
		check(t, comes.Register())
		inner()
		check(t, comes.Unregister())
		check(t, comes.Register())
	})
	check(t, comes.Unregister())
	check(t, stays.Unregister())
	expect(t, "stays", strings.Join(*all, " "), "within inner /inner /within within inner /inner /within within inner /inner /within")
	expect(t, "comes", strings.Join(*some, " "), "inner /inner within inner /inner")
}
