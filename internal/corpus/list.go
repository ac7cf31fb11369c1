package corpus

// Suites are modules whose tests pass plainly on linux/amd64 with Go 1.26, without a network. What is skipped needs one, or another user
// than root.
var Suites = []Suite{
	{"cobra", "github.com/spf13/cobra@v1.10.2", []string{"-skip=^(TestFailGenFishCompletionFile)$", "./..."}},
	{"zap", "go.uber.org/zap@v1.28.0", []string{"-skip=^(TestStacktraceFiltersVendorZap)$", "./..."}},
	{"chroma", "github.com/alecthomas/chroma/v2@v2.27.0", []string{"./..."}},
	{"bbolt", "go.etcd.io/bbolt@v1.5.0", []string{"-short", ".", "./internal/...", "./cmd/..."}},
	{"goja", "github.com/dop251/goja@v0.0.0-20260917113740-793a2a65c13b", []string{"./..."}},
}
