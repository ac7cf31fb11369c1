package rewriter

import (
	"regexp"
	"strings"

	"github.com/ftgo/ftgo"
	"github.com/ftgo/ftgo/internal/hook"
)

var (
	packageClause = regexp.MustCompile(`(?ms)\A.*^package hook\n+import "unsafe"\n`)
	shapeName     = regexp.MustCompile(`\b(Site|Table|Slot|Goroutine|Processor|Frame|Stat|ModeGraph|ModeFunction|ModeProfile|ModeEntries|Hooks|Runtime|ABI|Prefix)\b`)
	shapeField    = regexp.MustCompile(`(?m)^(\s+)` + hook.Prefix + `ABI `)
)

// shape returns the declarations of internal/hook for use in another package, each name with the prefix.
func shape() string {
	src := packageClause.ReplaceAllString(ftgo.Hook, "")
	src = shapeName.ReplaceAllString(src, hook.Prefix+"$1")
	return shapeField.ReplaceAllString(src, "${1}ABI ") // the fields called ABI keep their name
}

// shapeTypes returns the two types that a hooked package needs.
func shapeTypes() string {
	var b strings.Builder
	for _, name := range []string{"Site", "Table"} {
		head := "type " + hook.Prefix + name + " struct {"
		src := shape()
		i := strings.Index(src, head)
		j := strings.Index(src[i:], "\n}")
		for _, line := range strings.Split(src[i:i+j+3], "\n") {
			line, _, _ = strings.Cut(line, " //")
			b.WriteString(strings.TrimRight(line, " \t"))
			b.WriteByte('\n')
		}
	}
	return b.String()
}
