package txn

import (
	"testing"

	"liftstream/model/murmur2"
)

// TestMurmur2: the vectors of Apache Kafka's own UtilsTest.
func TestMurmur2(t *testing.T) {
	for key, want := range map[string]int32{
		"21":                         -973932308,
		"foobar":                     -790332482,
		"a-little-bit-long-string":   -985981536,
		"a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107,
	} {
		if got := int32(murmur2.Sum(key)); got != want {
			t.Errorf("%q: got %d, want %d", key, got, want)
		}
		for _, n := range []int{1, 3, 12} {
			if got := Partition([]byte(key), n); got != int(want&0x7fffffff)%n {
				t.Errorf("%q of %d: got partition %d", key, n, got)
			}
		}
	}
}
