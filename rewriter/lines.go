package rewriter

import (
	"fmt"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

// A lineDirective is a //line or /*line*/ comment of the input. cgo, cmd/cover and parser
// generators write them.
type lineDirective struct {
	off  int
	name string // as written: the compiler and go/scanner make it absolute in different ways
}

// lineDirectives returns the directives of a file in order. If join is set, it joins their file
// names with the file's directory. The directives' form is described in cmd/compile, "Compiler
// Directives".
func lineDirectives(f *file, join bool) (list []lineDirective, err error) {
	for _, g := range f.tree.Comments {
		for _, c := range g.List {
			text := c.Text
			start := f.off(c.Pos()) + len("//line ")
			switch {
			case strings.HasPrefix(text, "//line ") && f.tok.PositionFor(c.Pos(), false).Column == 1:
				text = text[len("//line "):]
			case strings.HasPrefix(text, "/*line "):
				text = strings.TrimSuffix(text[len("/*line "):], "*/")
			default:
				continue
			}
			name, n, ok := cutNumber(strings.TrimRight(text, "\r"))
			if !ok || n <= 0 {
				continue
			}
			if rest, n, ok := cutNumber(name); ok && n > 0 {
				name = rest
				if name == "" && len(list) > 0 {
					name = list[len(list)-1].name
				} else if name == "" {
					name = f.Name
				}
			}
			// The parser has taken carriage returns out of c.Text.
			raw, _, _ := strings.Cut(string(f.Src[f.off(c.Pos()):]), "\n")
			if strings.Contains(strings.TrimSuffix(raw, "\r"), "\r") || strings.Contains(name, "*/") || strings.Contains(name, "\n") {
				return nil, fmt.Errorf("%s: a line directive names a file that another directive cannot name: %q", f.Name, name)
			}
			if join && name != "" && !filepath.IsAbs(name) && filepath.Dir(f.Name) != "." {
				joined := filepath.Join(filepath.Dir(f.Name), name)
				if strings.HasPrefix(string(f.Src[start:]), name) {
					f.edits.replace(start, start+len(name), joined)
				}
				name = joined
			}
			list = append(list, lineDirective{f.off(c.Pos()), name})
		}
	}
	return list, nil
}

// cutNumber cuts ":N" off the end of s.
func cutNumber(s string) (rest string, n int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	return s[:i], n, err == nil
}

// directive returns a comment that gives the text behind it the position of pos, in the sense of
// the input's own directives. If inline is set, the comment is a /*line*/.
func (f *file) directive(fset *token.FileSet, pos token.Pos, inline bool) string {
	if f.noPositions {
		return ""
	}
	p := fset.PositionFor(pos, true)
	name := ""
	if len(f.lines) > 0 {
		name = f.Name
		for _, l := range f.lines {
			if l.off > f.off(pos) {
				break
			}
			name = l.name
		}
	}
	where := fmt.Sprintf("%s:%d:%d", name, p.Line, p.Column)
	if p.Column == 0 { // the input's directive in force has no columns
		where = fmt.Sprintf("%s:%d", name, p.Line)
	}
	if inline {
		return "/*line " + where + "*/"
	}
	return "//line " + where
}
