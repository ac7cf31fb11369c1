package tracefile

import (
	"math"

	"github.com/ftgo/ftgo/internal/hook"
)

// A histogram of durations has eight buckets for each power of two, so a percentile is right to an
// eighth. A bucket's number is the exponent and the first three binary digits of the duration as a
// floating point number. The hooks compute it from the bits of a float64.
const (
	histDigits  = hook.HistDigits
	HistBuckets = hook.HistBuckets
)

// Bucket returns the bucket of a duration.
func Bucket(d uint64) uintptr {
	b := uintptr(math.Float64bits(float64(d)) >> hook.HistShift)
	return min(max(b, hook.HistZero)-hook.HistZero, hook.HistLast)
}

// bucketStart returns the shortest duration of a bucket.
func bucketStart(i int) float64 {
	return math.Ldexp(float64(1<<histDigits+i%(1<<histDigits)), i>>histDigits-histDigits)
}

// Percentile returns the duration that q percent of a histogram's do not exceed. q is 0 to 100.
func Percentile[N uint32 | uint64](hist []N, q float64) float64 {
	var sum uint64
	for _, n := range hist {
		sum += uint64(n)
	}
	left := uint64(float64(sum)*min(max(q, 0), 100)/100 + 0.999999)
	for i, n := range hist {
		if n == 0 {
			continue
		}
		if left <= uint64(n) {
			lo, hi := bucketStart(i), bucketStart(i+1)
			return lo + (hi-lo)*float64(left)/float64(uint64(n)+1)
		}
		left -= uint64(n)
	}
	return 0
}
