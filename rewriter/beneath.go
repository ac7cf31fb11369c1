package rewriter

import "strings"

// beneath lists the packages of the standard library that -std does not hook, with the reasons: the
// hooks depend on them. An entry that ends in a slash is a tree.
var beneath = []struct{ path, reason string }{
	{"runtime", "the hooks' bodies live in it"},
	{"runtime/cgo", "it runs on threads that are not Go's yet"},
	{"runtime/race", "the race detector calls it"},
	{"runtime/msan", "the sanitizer calls it"},
	{"runtime/asan", "the sanitizer calls it"},
	{"internal/runtime/", "package runtime stands on it, and calls it on g0 and with locks held"},
	{"internal/abi", "package runtime stands on it"},
	{"internal/asan", "package runtime stands on it"},
	{"internal/bytealg", "package runtime stands on it"},
	{"internal/byteorder", "package runtime stands on it"},
	{"internal/chacha8rand", "package runtime stands on it"},
	{"internal/coverage/rtcov", "package runtime stands on it"},
	{"internal/cpu", "package runtime stands on it"},
	{"internal/goarch", "package runtime stands on it"},
	{"internal/godebugs", "package runtime stands on it"},
	{"internal/goexperiment", "package runtime stands on it"},
	{"internal/goos", "package runtime stands on it"},
	{"internal/msan", "package runtime stands on it"},
	{"internal/profilerecord", "package runtime stands on it"},
	{"internal/race", "package runtime stands on it"},
	{"internal/strconv", "package runtime stands on it"},
	{"internal/stringslite", "package runtime stands on it"},
	{"internal/trace/tracev2", "package runtime stands on it"},
	{"math/bits", "package runtime stands on it"},
	{"sync/atomic", "the library calls it in its hooks"},
	{"crypto/internal/fips140/", "its integrity check allows no relocations in its data"},
	{"unsafe", "it has no functions"},
}

// underHooks returns the reason why -std does not hook a package of the standard library, or "".
func underHooks(path string) string {
	for _, b := range beneath {
		if path == strings.TrimSuffix(b.path, "/") || strings.HasSuffix(b.path, "/") && strings.HasPrefix(path, b.path) {
			return b.reason
		}
	}
	return ""
}
