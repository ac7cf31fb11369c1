package tracefile

import "math/bits"

// A histogram of durations has a bucket for each of the shortest, then eight for each power of two: a percentile is right to an eighth.
const (
	histExact   = 16
	histOctaves = 40
	HistBuckets = histExact + 8*histOctaves
)

// Bucket returns the bucket of a duration.
func Bucket(d uint64) uintptr {
	if d < histExact {
		return uintptr(d)
	}
	n := uintptr(bits.Len64(d)) // from 5
	return min(histExact+8*(n-5)+uintptr(d>>(n-4)&7), HistBuckets-1)
}

// bucketStart returns the shortest duration of a bucket.
func bucketStart(i int) uint64 {
	if i < histExact {
		return uint64(i)
	}
	i -= histExact
	return uint64(8+i%8) << (i/8 + 1)
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
			lo, hi := float64(bucketStart(i)), float64(bucketStart(i+1))
			return lo + (hi-lo)*float64(left)/float64(uint64(n)+1)
		}
		left -= uint64(n)
	}
	return 0
}
