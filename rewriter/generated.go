package rewriter

import (
	"fmt"
	"strings"

	"github.com/ftgo/ftgo/internal/hook"
)

// Generated functions are named hook.Prefix, a kind, and a name or a number. The wrapper that a
// function has for itself is of no kind: ftgo_F, ftgo_T_M.
const (
	kindHidden = hook.HiddenKind // wrapper of a function that may be inlined with its hook
	kindSelf   = "1"             // the hooked function itself, by linkname
	kindKeep   = "2"             // runtime.ftgo_keep and its kin, with the type of a result
	kindSame   = "3_"            // runtime.ftgo_same, with the types of parameters
	kindCall   = "4_"            // a shared wrapper, with the types of a function
	kindShared = "w"             // a shared wrapper, by the letters of its types (wrappers.go)
)

// generated returns the name of a generated function.
func generated(kind, name string) string { return hook.Prefix + kind + name }

// ofWrapper returns the name of a function that goes with a wrapper, such as the wrapped function
// itself.
func ofWrapper(kind, wrapper string) string {
	return generated(kind, strings.TrimPrefix(wrapper, hook.Prefix))
}

// Generated parameters, results and labels are named hook.Prefix, a kind, and a number from 0; a
// receiver has no number.
const (
	localReceiver  = "r"
	localParam     = "p"
	localTypeParam = "t"
	localResult    = "r" // of a wrapper
	localNamed     = "o" // a result of a hooked function that had no name
	localLoop      = "b" // the label of a loop
)

// local returns the name of a generated parameter, result or label.
func local(kind string, n int) string { return fmt.Sprintf("%s%s%d", hook.Prefix, kind, n) }

// A site is a hooked function with its number in the package's table.
type site struct {
	Func
	num int
}

// on returns the condition that a tracer wants the function.
func (s site) on() string { return fmt.Sprintf("ftgo_mask[%d] != 0", s.num) }

// addr returns the argument that tells hooks the function.
func (s site) addr() string { return fmt.Sprintf("&ftgo_sites[%d]", s.num) }
