// Command ftgo is ftrace for Go programs: it compiles hooks into them, and traces them.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ftgo/ftgo/rewriter"
)

func main() { os.Exit(run(os.Args[1:])) }

// run does what the arguments say, and returns the exit status. The go command calls a toolexec program with its own flags and the
// absolute path of a tool; whatever else comes is a command.
func run(args []string) int {
	flags, rest, err := rewriter.ParseFlags(args)
	if err == nil && len(rest) > 0 && filepath.IsAbs(rest[0]) {
		return rewriter.Tool(flags, rest)
	}
	fmt.Fprintln(os.Stderr, "ftgo:", err)
	return 2
}
