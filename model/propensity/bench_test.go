package propensity

import (
	"path/filepath"
	"testing"
)

// BenchmarkRecord scores and learns one bank record, in all or in parts.
func BenchmarkRecord(b *testing.B) {
	d := load(b, "class", "yes", nil, filepath.Join("testdata", "bank_sample.csv.gz"))
	for _, part := range []string{"both", "score", "late", "effects", "explain"} {
		b.Run(part, func(b *testing.B) {
			s := open(d, Default(), standard, 1000)
			prequential(s, d, 0)
			prob, pending := make([]float64, 2), make([]float64, s.PendingLen())
			reasons := explain(s, d.rows[0], pending, 1, nil)
			clock := len(d.rows)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				k := i % len(d.rows)
				ex := d.example(k)
				ex.Clock = float64(clock + i)
				s.Score(d.rows[k], nil, pending, prob)
				switch part {
				case "both":
					s.LearnScored(&ex, nil, pending)
				case "late":
					s.memoryOf(pending).learnt[0] = -1
					s.LearnScored(&ex, nil, pending)
				case "effects": // and the lifts of the five reasons that a stage publishes
					reasons = s.Effects(d.rows[k], pending, 1, reasons[:0])
					for f := range 5 {
						reasons[f].Lift = s.Lift(pending, 1, f)
					}
				case "explain":
					reasons = explain(s, d.rows[k], pending, 1, reasons[:0])
				}
			}
		})
	}
}
