//go:build g0

package selftest

import _ "unsafe" // for go:linkname

//go:linkname runtimeSystemstack runtime.systemstack
func runtimeSystemstack(fn func())

func init() { systemstack = runtimeSystemstack }
