package bench

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// A counter is a program that counts the instructions of another program.
type counter struct {
	name string
	args []string
	read *regexp.Regexp // matches the count in its output
	slow int            // factor by which a program runs slower
}

var (
	perf      = counter{"perf", []string{"stat", "-x,", "-e", "instructions:u"}, regexp.MustCompile(`(?m)^(\d+),,instructions:u`), 1}
	callgrind = counter{"valgrind", []string{"--tool=callgrind", "--callgrind-out-file=/dev/null"}, regexp.MustCompile(`(?m)^==\d+== Collected : (\d+)`), 50}
)

// findCounter returns perf if the machine can count instructions, otherwise valgrind.
func findCounter() (counter, error) {
	for _, c := range []counter{perf, callgrind} {
		if n, _, err := c.count("", nil, "true"); err == nil && n > 0 {
			return c, nil
		}
	}
	return counter{}, errors.New("-instructions needs \"perf stat\" on a machine that counts instructions, or valgrind; neither works here")
}

// count runs a program, and returns its number of instructions and its output.
func (c counter) count(dir string, env []string, program ...string) (n float64, out []byte, err error) {
	cmd := exec.Command(c.name, append(append([]string{}, c.args...), program...)...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), env...)
	out, err = cmd.CombinedOutput()
	if err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w\n%s", c.name, strings.Join(program, " "), err, out)
	}
	m := c.read.FindSubmatch(out)
	if m == nil {
		return 0, nil, fmt.Errorf("%s printed no count of instructions:\n%s", c.name, out)
	}
	n, err = strconv.ParseFloat(string(m[1]), 64)
	return n, out, err
}

// instructions measures instructions per operation: the difference of two runs, divided by the
// difference of their iterations.
func (o *Options) instructions(targets []*target) (*table, error) {
	c, err := findCounter()
	if err != nil {
		return nil, err
	}
	t := newTable("instructions/op", o.variants())
	t.counter = c.name
	for _, tg := range targets {
		out, err := o.command(tg.dir, nil, tg.bin+"plain", o.args(o.Bench, o.Benchtime)...)
		if err != nil {
			return nil, err
		}
		found := results(out)
		for _, name := range sortedKeys(found) {
			// The first run has as many iterations as take 50 ms without a counter, or a second
			// under valgrind. In case that the machine was busy while time was taken, the number
			// grows until the iterations are most of what is counted.
			few := max(1, int(0.05/float64(c.slow)*2/found[name].sec))
			many := 3*few + 10
			count := func(v variant, iterations int) (float64, float64, error) {
				// Preemption by signals would add instructions at random, and callgrind does not
				// survive many signals.
				env := append(v.env(), "GODEBUG=asyncpreemptoff=1")
				n, out, err := c.count(tg.dir, env, append([]string{tg.bin + v.binary}, o.args(exact(name), fmt.Sprintf("%dx", iterations))...)...)
				return n, results(out)[name].allocs, err
			}
			plain := o.variants()[0]
			less, _, err := count(plain, few)
			if err != nil {
				return nil, err
			}
			for ; ; many *= 4 {
				more, _, err := count(plain, many)
				if err != nil {
					return nil, err
				}
				if more > 3*less || many > 1<<24 {
					break
				}
			}
			for range o.Count {
				for _, v := range o.variants() {
					o.progress("%s %s (%s)", tg.path, name, v.name)
					less, _, err := count(v, few)
					if err != nil {
						return nil, err
					}
					more, allocs, err := count(v, many)
					if err != nil {
						return nil, err
					}
					t.add(tg.path, name, v.name, (more-less)/float64(many-few))
					t.allocs(tg.path, name, v.name, allocs)
				}
			}
		}
	}
	return t, nil
}
