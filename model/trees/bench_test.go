package trees

import (
	"testing"

	"liftstream/model"
)

// BenchmarkRecord is the cost of the trees for a record: its input, its contributions, and learning it.
func BenchmarkRecord(b *testing.B) {
	rows, class := table(5000, 10, 5, xor)
	ev := numbered(rows, class)
	p, part := fitted(b, Default(), ev)
	c := &Component{schema: ev.Schema}
	if err := c.Rebase(&model.Rebase{Part: part}); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d trees, a part of %d bytes, a state of %d", len(p.trees), len(part), len(c.AppendState(nil)))
	dst, of := make([]float64, 2), make([]float64, 20)
	b.Run("inputs", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			c.Inputs(rows[i%len(rows)], dst)
		}
	})
	b.Run("attribute", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			c.Attribute(rows[i%len(rows)], of)
		}
	})
	b.Run("learn", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			k := i % len(rows)
			c.Learn(&model.Example{Row: rows[k], Class: class[k], Weight: 1, Clock: float64(i)})
		}
	})
	b.Run("inputs after learning", func(b *testing.B) {
		for i := range b.N {
			c.Inputs(rows[i%len(rows)], dst)
		}
	})
}

// BenchmarkFit is the cost of a fit where the trees help, and where they do not.
func BenchmarkFit(b *testing.B) {
	for name, p := range map[string]func([]float64) float64{"helps": xor, "noise": noise} {
		rows, class := table(10000, 10, 5, p)
		ev := numbered(rows, class)
		f := New(Default(), ev.Schema)
		b.Run(name, func(b *testing.B) {
			b.ReportMetric(f.steps(10, 10000), "steps")
			for range b.N {
				if _, err := f.Fit(b.Context(), ev, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
