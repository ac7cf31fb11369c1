package record

import (
	"debug/buildinfo"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/ftgo/ftgo/internal/tracefile"
)

// finish makes a trace whole that a program has left: it cuts off what was allocated and not used,
// and adds the names that only the program's file tells, and what is known of the recording.
// Without it the trace can be read too, as long as the program is where it was.
func finish(path, program string, info []string) error {
	t, err := tracefile.ReadFile(path)
	if err != nil {
		return noTrace(program)
	}
	defer t.Close()
	symbol := symbols(program)
	var meta []byte
	for off := range t.Offsets() {
		if name := symbol(off); name != "" {
			meta = tracefile.AppendSymbol(meta, off, name)
		}
	}
	for _, line := range info {
		meta = tracefile.AppendInfo(meta, line)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	le := binary.LittleEndian
	size := int64(le.Uint32(t.Header[tracefile.HPageSize:]))
	n := int64(le.Uint32(t.Header[tracefile.HPages:]))
	end := func() int64 { return tracefile.HeaderSize + n*size }
	if err := f.Truncate(end()); err != nil {
		return err
	}
	for len(meta) > 0 {
		page := make([]byte, size)
		meta = meta[tracefile.PutMeta(page, meta):]
		if _, err := f.WriteAt(page, end()); err != nil {
			f.Truncate(end())
			fmt.Fprintf(os.Stderr, "ftgo: %v; the records are in it, but names of callers and what is known of the recording found no room\n", err)
			return nil
		}
		n++
	}
	var num [4]byte
	le.PutUint32(num[:], uint32(n))
	_, err = f.WriteAt(num[:], tracefile.HPages)
	return err
}

// info is what is known of a recording when the program has ended.
func (r *run) info() []string {
	host, _ := os.Hostname()
	tick := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	lines := []string{
		"command: " + strings.Join(append([]string{r.target}, r.args...), " "),
		"go: " + goVersion(r.program),
		"tracer: " + r.setting("FTGO_TRACER").Value,
		"recorded on: " + r.start.Format(time.RFC1123Z),
		"host: " + host,
		"cpus: " + fmt.Sprint(runtime.NumCPU()),
		"exit status: " + r.state.String(),
		"elapsed time: " + tick(r.elapsed).String(),
		fmt.Sprintf("cpu time: %v user, %v system", tick(r.state.UserTime()), tick(r.state.SystemTime())),
	}
	for _, list := range []struct{ key, variable string }{{"filter", "FTGO_FILTER"}, {"notrace", "FTGO_NOTRACE"}} {
		if globs := r.setting(list.variable).list(); len(globs) > 0 {
			lines = append(lines, list.key+": "+strings.Join(globs, " "))
		}
	}
	return lines
}

// goVersion says which Go release a program was built with.
func goVersion(program string) string {
	if b, err := buildinfo.ReadFile(program); err == nil {
		return b.GoVersion
	}
	return ""
}
