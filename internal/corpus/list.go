package corpus

import "regexp"

// Modules are modules whose tests pass plainly on linux/amd64 with Go 1.26, without a network. What is skipped needs one, or another user
// than root, or a nested module.
var Modules = []Suite{
	{Name: "cobra", Module: "github.com/spf13/cobra@v1.10.2", Args: []string{"-skip=^(TestFailGenFishCompletionFile)$", "./..."}},
	{Name: "zap", Module: "go.uber.org/zap@v1.28.0", Args: []string{"-skip=^(TestStacktraceFiltersVendorZap)$", "./..."}},
	{Name: "chroma", Module: "github.com/alecthomas/chroma/v2@v2.27.0", Args: []string{"./..."}},
	{Name: "bbolt", Module: "go.etcd.io/bbolt@v1.5.0", Args: []string{"-short", ".", "./internal/...", "./cmd/..."}},
	{Name: "goja", Module: "github.com/dop251/goja@v0.0.0-20260917113740-793a2a65c13b", Args: []string{"./..."}},
	{Name: "gojq", Module: "github.com/itchyny/gojq@v0.12.17", Args: []string{"./..."}},
	{Name: "chi", Module: "github.com/go-chi/chi/v5@v5.5.0", Args: []string{"-skip=^TestThrottle", "./..."}},
	{Name: "echo", Module: "github.com/labstack/echo/v4@v4.16.0", Args: []string{"./..."}},
	{Name: "testify", Module: "github.com/stretchr/testify@v1.12.1", Args: []string{"./..."}},
	{Name: "golang-lru", Module: "github.com/hashicorp/golang-lru/v2@v2.0.7", Args: []string{"./..."}},
	{Name: "btree", Module: "github.com/tidwall/btree@v1.8.2", Args: []string{"-skip=^(TestContiguous.*|TestGenericRandom|TestBTree)$", "./..."}},
	{Name: "roaring", Module: "github.com/RoaringBitmap/roaring/v2@v2.30.0", Args: []string{"./..."}},
	{Name: "go-sqlite3", Module: "github.com/mattn/go-sqlite3@v1.14.52", Args: []string{"."}},
	{Name: "expr", Module: "github.com/expr-lang/expr@v1.17.8", Args: []string{"./..."}},
	{Name: "hcl", Module: "github.com/hashicorp/hcl/v2@v2.25.0", Args: []string{"./..."}},
	{Name: "sh", Module: "mvdan.cc/sh/v3@v3.14.1", Args: []string{"-skip=^TestRunnerRun$/^#13(2[6-9]|30)$", "./..."}},
	{Name: "toml", Module: "github.com/BurntSushi/toml@v1.6.0", Args: []string{"./..."}},
	{Name: "goccy-json", Module: "github.com/goccy/go-json@v0.12.0", Args: []string{"-skip=^(TestDetect.*|TestVMDispatchIsJumpTable|TestDecodedFootprintAsEncodingJSON|TestEncodeMaxDepth|TestMarshalDepthOfNestedEncodings)$", "./..."}},
	{Name: "protobuf", Module: "google.golang.org/protobuf@v1.36.12", Args: []string{"./..."}},
	{Name: "fasthttp", Module: "github.com/valyala/fasthttp@v1.70.0", Args: []string{"-skip=^(TestDialer_GetDialFunc)$", "./..."}},
	{Name: "x-net", Module: "golang.org/x/net@v0.62.0", Args: []string{"./html/...", "./http2/...", "./idna", "./publicsuffix", "./trace", "./websocket", "./webdav/...", "./dns/dnsmessage"}},
	{Name: "conc", Module: "github.com/sourcegraph/conc@v0.3.0", Args: []string{"./..."}},
	{Name: "compress", Module: "github.com/klauspost/compress@v1.20.3", Args: []string{"-short", "-skip=^(TestConcurrentBlocks_Regression|TestIndex|TestSharedDecoderTrainedDictRace|TestEncoderRegression|TestEncoder_SmallDict.*|Fuzz.*)$", "./zstd/...", "./flate", "./s2", "./huff0", "./fse"}},
	{Name: "dst", Module: "github.com/dave/dst@v0.28.0", Args: []string{"-skip=^TestLoadStdLibAll$", "./..."}},
}

// Std are packages of the standard library whose tests pass plainly. What is skipped needs a network.
var Std = []Suite{
	{Name: "archive/tar", Module: "std", Args: []string{"archive/tar"}},
	{Name: "archive/zip", Module: "std", Args: []string{"archive/zip"}},
	{Name: "bufio", Module: "std", Args: []string{"bufio"}},
	{Name: "bytes", Module: "std", Args: []string{"bytes"}},
	{Name: "compress/bzip2", Module: "std", Args: []string{"compress/bzip2"}},
	{Name: "compress/flate", Module: "std", Args: []string{"compress/flate"}},
	{Name: "compress/gzip", Module: "std", Args: []string{"compress/gzip"}},
	{Name: "container/...", Module: "std", Args: []string{"container/..."}},
	{Name: "context", Module: "std", Args: []string{"context"}},
	{Name: "crypto/sha256", Module: "std", Args: []string{"crypto/sha256"}},
	{Name: "crypto/tls", Module: "std", Args: []string{"-skip=^(TestBogoSuite|TestVerifyHostname|TestRealResumption)$", "crypto/tls"}},
	{Name: "database/sql", Module: "std", Args: []string{"database/sql"}},
	{Name: "encoding/asn1", Module: "std", Args: []string{"encoding/asn1"}},
	{Name: "encoding/base64", Module: "std", Args: []string{"encoding/base64"}},
	{Name: "encoding/binary", Module: "std", Args: []string{"encoding/binary"}},
	{Name: "encoding/csv", Module: "std", Args: []string{"encoding/csv"}},
	{Name: "encoding/gob", Module: "std", Args: []string{"encoding/gob"}},
	{Name: "encoding/hex", Module: "std", Args: []string{"encoding/hex"}},
	{Name: "encoding/json", Module: "std", Args: []string{"encoding/json"}},
	{Name: "encoding/xml", Module: "std", Args: []string{"encoding/xml"}},
	{Name: "errors", Module: "std", Args: []string{"errors"}},
	{Name: "fmt", Module: "std", Args: []string{"fmt"}},
	{Name: "go/ast", Module: "std", Args: []string{"go/ast"}},
	{Name: "go/constant", Module: "std", Args: []string{"go/constant"}},
	{Name: "go/doc", Module: "std", Args: []string{"go/doc"}},
	{Name: "go/format", Module: "std", Args: []string{"go/format"}},
	{Name: "go/parser", Module: "std", Args: []string{"go/parser"}},
	{Name: "go/printer", Module: "std", Args: []string{"go/printer"}},
	{Name: "go/scanner", Module: "std", Args: []string{"go/scanner"}},
	{Name: "go/types", Module: "std", Args: []string{"go/types"}},
	{Name: "html", Module: "std", Args: []string{"html"}},
	{Name: "html/template", Module: "std", Args: []string{"html/template"}},
	{Name: "image/...", Module: "std", Args: []string{"image/..."}},
	{Name: "io/...", Module: "std", Args: []string{"io/..."}},
	{Name: "iter", Module: "std", Args: []string{"iter"}},
	{Name: "log", Module: "std", Args: []string{"log"}},
	{Name: "log/slog/...", Module: "std", Args: []string{"log/slog/..."}},
	{Name: "maps", Module: "std", Args: []string{"maps"}},
	{Name: "math/...", Module: "std", Args: []string{"math/..."}},
	{Name: "mime/...", Module: "std", Args: []string{"mime/..."}},
	{Name: "net/mail", Module: "std", Args: []string{"net/mail"}},
	{Name: "net/netip", Module: "std", Args: []string{"net/netip"}},
	{Name: "net/textproto", Module: "std", Args: []string{"net/textproto"}},
	{Name: "net/url", Module: "std", Args: []string{"net/url"}},
	{Name: "os", Module: "std", Args: []string{"os"}},
	{Name: "os/exec", Module: "std", Args: []string{"os/exec"}},
	{Name: "path/...", Module: "std", Args: []string{"path/..."}},
	{Name: "reflect", Module: "std", Args: []string{"reflect"}},
	{Name: "regexp/...", Module: "std", Args: []string{"regexp/..."}},
	{Name: "slices", Module: "std", Args: []string{"slices"}},
	{Name: "sort", Module: "std", Args: []string{"sort"}},
	{Name: "strconv", Module: "std", Args: []string{"strconv"}},
	{Name: "strings", Module: "std", Args: []string{"strings"}},
	{Name: "sync", Module: "std", Args: []string{"sync"}},
	{Name: "sync/atomic", Module: "std", Args: []string{"sync/atomic"}},
	{Name: "testing", Module: "std", Args: []string{"testing"}},
	{Name: "text/template/...", Module: "std", Args: []string{"text/template/..."}},
	{Name: "time", Module: "std", Args: []string{"time"}},
	{Name: "unicode/...", Module: "std", Args: []string{"unicode/..."}},
	{Name: "net/http", Module: "std", Args: []string{"-short", "net/http"}},
	{Name: "expvar", Module: "std", Args: []string{"-short", "expvar"}},
	{Name: "flag", Module: "std", Args: []string{"-short", "flag"}},
	{Name: "hash/...", Module: "std", Args: []string{"-short", "hash/..."}},
	{Name: "text/tabwriter", Module: "std", Args: []string{"-short", "text/tabwriter"}},
	{Name: "text/scanner", Module: "std", Args: []string{"-short", "text/scanner"}},
	{Name: "unique", Module: "std", Args: []string{"-short", "unique"}},
	{Name: "weak", Module: "std", Args: []string{"-short", "weak"}},
	{Name: "cmp", Module: "std", Args: []string{"-short", "cmp"}},
	{Name: "index/suffixarray", Module: "std", Args: []string{"-short", "index/suffixarray"}},
}

// An Exception is a test that need not pass as it does plainly.
type Exception struct {
	Suite, Column string // "" is every column
	Test          *regexp.Regexp
	Reason        string
}

// Exceptions are all that there are.
var Exceptions = []Exception{
	{"test", "", regexp.MustCompile(`^(maymorestack|noinit)\.go$`), "it counts the initializers of package main: the table is registered by one"},
	{"test/fixedbugs/issue", "on", regexp.MustCompile(`issue20780b\.go$`), "stack depth: arguments of 100 MB are there three times while traced"},
}
