// Package selftest tests what the kernel tests of its function tracer: the boot self-tests
// (kernel/trace/trace_selftest.c), the scripts of selftests/ftrace, and what is promised beyond
// them.
//
//	ftgo test ./internal/selftest/...
//
// Without hooks, as in go test ./..., its tests are skipped. docs/tests.md says which test is
// which of the kernel's.
package selftest
