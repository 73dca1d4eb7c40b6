package codec

import (
	"testing"

	"liftstream/model"
)

// BenchmarkScoreFormats writes the scores of 1,000 bank records, in each format.
func BenchmarkScoreFormats(b *testing.B) {
	const rows = 1000
	formats := scoredFormats()
	formats["jsonl"] = func(o *Options) { o.Format = FormatJSONL }
	for name, set := range formats {
		b.Run(name, func(b *testing.B) {
			o := bankOptions()
			set(&o)
			e, err := NewScoreEncoder(o)
			if err != nil {
				b.Fatal(err)
			}
			s, levels := bankScores(rows), model.NewLevels(o.Schema)
			batch := &model.Batch{N: rows, ID: make([]string, rows), Time: make([]int64, rows), Row: make([]int32, rows)}
			var value []byte
			for b.Loop() {
				e.Begin(nil, 0)
				if value, err = e.Add(value[:0], batch, s, levels, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(value))/rows, "bytes/record")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/record")
		})
	}
}
