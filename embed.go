// Package ftgo holds the source of the runtime library, which the ftgo command adds to programs
// that do not import it. The rewriter also takes the shape of the hook from there.
//
// Programs import github.com/ftgo/ftgo/runtime (package ftrace), not this package.
package ftgo

import "embed"

// Library holds the source of the runtime library and of the packages of this module that it
// imports, by their paths in the module.
//
//go:embed internal/hook/*.go internal/pattern/*.go internal/tracefile/*.go runtime/*.go
var Library embed.FS
