// Package ftgo carries what the ftgo command puts into the programs it builds: the shape of the hook, and the source of the
// runtime library for programs that do not import it themselves.
//
// Programs import github.com/ftgo/ftgo/runtime (package ftrace), not this package.
package ftgo

import "embed"

// Library holds the runtime library and the packages of this module that it imports, below their paths in the module.
//
//go:embed internal/hook/*.go internal/pattern/*.go internal/tracefile/*.go runtime/*.go
var Library embed.FS
