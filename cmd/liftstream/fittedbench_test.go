package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// BenchmarkFittedRecord is one bank record learnt, scored and explained under a model that was fitted to all of them,
// by some components and by all, messages of 1,000 records. Other load moves the mean: fifth-ns/op is the processor
// time of the message at a fifth of all messages by that time, and moved 2 % on two busy cores.
func BenchmarkFittedRecord(b *testing.B) {
	stage, batches := bankBatches(b)
	for _, names := range []string{"lift", "lift+kernel", "lift+trees", "all"} {
		b.Run(names, func(b *testing.B) {
			spec := *stage.Spec
			if names != "all" {
				spec = *stage.Scoring(strings.Split(names, "+")...)
			}
			spec.Options.WaitBytes = 0
			p := model.NewPartition(&spec, 0)
			var out model.Scores
			for _, batch := range batches {
				p.Events(batch, &out)
			}
			m, err := model.Fit(context.Background(), &spec, model.Held{0: p.Snapshot()}, nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := p.Swap(m); err != nil {
				b.Fatal(err)
			}
			var took []float64
			b.ReportAllocs()
			b.ResetTimer()
			for i, n := 0, 0; n < b.N; i++ {
				batch := batches[i%len(batches)]
				start := modeltest.Processor()
				p.Events(batch, &out)
				took = append(took, float64((modeltest.Processor()-start).Nanoseconds())/float64(batch.N))
				n += batch.N
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/5], "fifth-ns/op")
		})
	}
}
