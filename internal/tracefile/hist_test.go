package tracefile

import (
	"math/rand/v2"
	"testing"
)

func TestBucket(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 100000 {
		d := uint64(i)
		if i > 1000 {
			d = r.Uint64() >> (24 + r.IntN(40))
		}
		b := int(Bucket(d))
		if b < 0 || b >= HistBuckets {
			t.Fatalf("%d is in bucket %d", d, b)
		}
		if lo, hi := bucketStart(b), bucketStart(b+1); d > 0 && d < 1<<42 && (float64(d) < lo || float64(d) >= hi || hi > lo*1.13) {
			t.Fatalf("%d is in bucket %d: %v to %v", d, b, lo, hi)
		}
	}
}

func TestPercentile(t *testing.T) {
	hist := make([]uint32, HistBuckets)
	for d := range uint64(1000) {
		hist[Bucket(d+1)]++
	}
	for _, q := range []float64{1, 10, 50, 90, 99} {
		if p := Percentile(hist, q); p < q*10/1.13 || p > q*10*1.13 {
			t.Errorf("%v %% of 1 to 1000 do not exceed %v", q, p)
		}
	}
	if p := Percentile(hist[:0], 50); p != 0 {
		t.Errorf("half of nothing does not exceed %v", p)
	}
}
