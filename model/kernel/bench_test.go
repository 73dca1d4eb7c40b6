package kernel

import (
	"context"
	"fmt"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// BenchmarkInputs scores records of 16 features, half of them nominal, all with weight.
func BenchmarkInputs(b *testing.B) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for f := range 16 {
		s.Features = append(s.Features, model.Feature{Name: fmt.Sprint("f", f),
			Kind: []model.Kind{model.Continuous, model.Nominal}[f%2]})
	}
	l, ex := modeltest.Generate(s, 4000, 1)
	ev := modeltest.Evidence(s, l, ex)
	o := Default()
	o.Gamma1, o.Gamma2 = .01, .01
	p := fitted(b, context.Background(), o, ev, nil)
	c := &Component{schema: s, curves: p.curves}
	dst := make([]float64, 2)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c.Inputs(ex[i%len(ex)].Row, dst)
		i++
	}
	b.ReportMetric(float64(len(p.curves)), "curves")
}

// BenchmarkFit fits a whole part on 20,000 records.
func BenchmarkFit(b *testing.B) {
	ev := generated(20000)
	for b.Loop() {
		fitted(b, context.Background(), Default(), ev, nil)
	}
}
