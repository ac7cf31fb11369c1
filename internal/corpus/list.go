package corpus

// Suites are modules whose tests pass plainly on linux/amd64 with Go 1.26, without a network. What is skipped needs one, or another user
// than root, or a nested module.
var Suites = []Suite{
	{"cobra", "github.com/spf13/cobra@v1.10.2", []string{"-skip=^(TestFailGenFishCompletionFile)$", "./..."}},
	{"zap", "go.uber.org/zap@v1.28.0", []string{"-skip=^(TestStacktraceFiltersVendorZap)$", "./..."}},
	{"chroma", "github.com/alecthomas/chroma/v2@v2.27.0", []string{"./..."}},
	{"bbolt", "go.etcd.io/bbolt@v1.5.0", []string{"-short", ".", "./internal/...", "./cmd/..."}},
	{"goja", "github.com/dop251/goja@v0.0.0-20260917113740-793a2a65c13b", []string{"./..."}},
	{"gojq", "github.com/itchyny/gojq@v0.12.17", []string{"./..."}},
	{"chi", "github.com/go-chi/chi/v5@v5.5.0", []string{"-skip=^TestThrottle", "./..."}},
	{"echo", "github.com/labstack/echo/v4@v4.16.0", []string{"./..."}},
	{"testify", "github.com/stretchr/testify@v1.12.1", []string{"./..."}},
	{"golang-lru", "github.com/hashicorp/golang-lru/v2@v2.0.7", []string{"./..."}},
	{"btree", "github.com/tidwall/btree@v1.8.2", []string{"-skip=^(TestContiguous.*|TestGenericRandom|TestBTree)$", "./..."}},
	{"roaring", "github.com/RoaringBitmap/roaring/v2@v2.30.0", []string{"./..."}},
	{"go-sqlite3", "github.com/mattn/go-sqlite3@v1.14.52", []string{"."}},
	{"expr", "github.com/expr-lang/expr@v1.17.8", []string{"./..."}},
	{"hcl", "github.com/hashicorp/hcl/v2@v2.25.0", []string{"./..."}},
	{"sh", "mvdan.cc/sh/v3@v3.14.1", []string{"-skip=^TestRunnerRun$/^#13(2[6-9]|30)$", "./..."}},
	{"toml", "github.com/BurntSushi/toml@v1.6.0", []string{"./..."}},
	{"goccy-json", "github.com/goccy/go-json@v0.12.0", []string{"-skip=^(TestDetect.*|TestVMDispatchIsJumpTable|TestDecodedFootprintAsEncodingJSON|TestEncodeMaxDepth|TestMarshalDepthOfNestedEncodings)$", "./..."}},
	{"protobuf", "google.golang.org/protobuf@v1.36.12", []string{"./..."}},
	{"fasthttp", "github.com/valyala/fasthttp@v1.70.0", []string{"-skip=^(TestDialer_GetDialFunc)$", "./..."}},
	{"x-net", "golang.org/x/net@v0.62.0", []string{"./html/...", "./http2/...", "./idna", "./publicsuffix", "./trace", "./websocket", "./webdav/...", "./dns/dnsmessage"}},
	{"conc", "github.com/sourcegraph/conc@v0.3.0", []string{"./..."}},
	{"compress", "github.com/klauspost/compress@v1.20.3", []string{"-short", "-skip=^(TestConcurrentBlocks_Regression|TestIndex|TestSharedDecoderTrainedDictRace|TestEncoderRegression|TestEncoder_SmallDict.*|Fuzz.*)$", "./zstd/...", "./flate", "./s2", "./huff0", "./fse"}},
	{"dst", "github.com/dave/dst@v0.28.0", []string{"-skip=^TestLoadStdLibAll$", "./..."}},
}
