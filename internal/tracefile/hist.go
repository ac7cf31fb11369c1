package tracefile

import "math"

// A histogram of durations has eight buckets for each power of two: a percentile is right to an eighth. A bucket is the exponent and the first
// three digits of the duration as a floating point number, which the hooks have at hand.
const (
	histDigits  = 3
	histOctaves = 42
	HistBuckets = histOctaves << histDigits
)

// Bucket returns the bucket of a duration.
func Bucket(d uint64) uintptr {
	const zero = 1023 << histDigits // the exponent of 1
	b := uintptr(math.Float64bits(float64(d)) >> (52 - histDigits))
	return min(max(b, zero)-zero, HistBuckets-1)
}

// bucketStart returns the shortest duration of a bucket.
func bucketStart(i int) float64 {
	return math.Ldexp(float64(1<<histDigits+i%(1<<histDigits)), i>>histDigits-histDigits)
}

// Percentile returns the duration that q percent of those in a histogram do not exceed. q is 0 to 100.
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
