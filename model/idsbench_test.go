package model_test

import (
	"fmt"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// BenchmarkSumID is the SHA-256 of a learnt record's id: the cost of ids where no duplicate is looked for and nobody is
// forgotten.
func BenchmarkSumID(b *testing.B) {
	for _, n := range []int{10, 36, 100} {
		id := fmt.Sprintf("%0*d", n, 7)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			start := modeltest.Processor()
			for range b.N {
				model.SumID(id)
			}
			b.ReportMetric(float64((modeltest.Processor()-start).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}
