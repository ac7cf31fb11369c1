// Cmd runs the tests of real modules plain and hooked, off and on, and says whether the same ones pass.
//
//	go run ./internal/corpus/cmd [-short] [NAME...]
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/ftgo/ftgo/internal/corpus"
)

func main() {
	log.SetFlags(0)
	short := flag.Bool("short", false, "the first module alone")
	flag.Parse()
	suites := corpus.Suites
	if *short {
		suites = suites[:1]
	}
	if flag.NArg() > 0 {
		suites = slices.DeleteFunc(slices.Clone(corpus.Suites), func(s corpus.Suite) bool { return !slices.Contains(flag.Args(), s.Name) })
		if len(suites) != flag.NArg() {
			log.Fatalf("there is no module of that name: there are %v", corpus.Suites)
		}
	}
	dir, err := os.MkdirTemp("", "ftgo")
	if err != nil {
		log.Fatal(err)
	}
	bad, err := run(filepath.Join(dir, "ftgo"), suites)
	os.RemoveAll(dir)
	if err != nil {
		log.Fatal(err)
	}
	if bad > 0 {
		log.Fatalf("%d runs were not as the plain one", bad)
	}
}

// run prints a row for each run of each suite, and returns how many differ from the plain one.
func run(ftgo string, suites []corpus.Suite) (bad int, err error) {
	if out, err := exec.Command("go", "build", "-o", ftgo, "github.com/ftgo/ftgo/cmd/ftgo").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	fmt.Printf("%-12s %-18s %8s %12s  %s\n", "module", "build", "passed", "records", "differences")
	for _, s := range suites {
		var plain corpus.Result
		for i, c := range corpus.Columns {
			res, err := corpus.Run(ftgo, s, c)
			if err != nil {
				fmt.Printf("%-12s %-18s %v\n", s.Name, c.Name, err)
				bad++
				break
			}
			if i == 0 {
				plain = res
			}
			diff := corpus.Differences(plain, res)
			fmt.Printf("%-12s %-18s %8d %12d  %d\n", s.Name, c.Name, len(res.Passed), res.Records, len(diff))
			for i, d := range diff {
				if i == 20 {
					fmt.Printf("    and %d more\n", len(diff)-i)
					break
				}
				fmt.Printf("    %s\n", d)
			}
			if len(diff) > 0 || c.On && res.Records == 0 || len(res.Passed) == 0 {
				bad++
				os.Stdout.Write(tail(res.Output, 4000))
			}
		}
	}
	return bad, nil
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }
