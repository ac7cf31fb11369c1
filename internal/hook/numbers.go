package hook

// The numbers below are shared by the hooks in assembly language (rewriter/_hooks_amd64.s), which
// know them by way of go_asm.h, the library, and the readers of traces (internal/tracefile).

// HiddenPrefix begins the name of a wrapper for a function that the compiler may inline with its
// hook. A function literal lies between the two; the patched runtime keeps its frame out of stack
// traces as well. HiddenKind is what sets the name apart from the names of other wrappers.
const (
	HiddenKind   = "0"
	HiddenPrefix = Prefix + HiddenKind
)

// A record is two words. The first holds the clock above ClockShift bits and the record's kind in
// them. The second holds the function's number in its lower half, and in its upper half what the
// kind says.
const (
	RecordSize  = 16 // bytes
	RecordFunc  = 8  // offset of the function's number, u32
	RecordUpper = 12 // offset of the upper half of the second word, u32
	ClockShift  = 8
)

// The kinds of records that the hooks make by themselves.
const (
	KindFunction = 1 // upper half: offset of the caller in the text
	KindEntry    = 2 // upper half: depth
	KindReturn   = 3 // upper half: depth
)

// PageCommit is the offset of the commit word in a page's header, u32. A record counts 1 in it.
const PageCommit = 4

// A histogram of durations has a bucket for each value of a duration's exponent and of the first
// HistDigits digits of its mantissa, as a floating point number of 64 bits. HistShift drops the
// other digits, and HistZero is what is left of 1, the start of the first bucket.
const (
	HistDigits  = 3
	HistOctaves = 42
	HistShift   = 52 - HistDigits
	HistZero    = 1023 << HistDigits
	HistBuckets = HistOctaves << HistDigits
	HistLast    = HistBuckets - 1
)
