package model_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"liftstream/model"
	"liftstream/model/propensity"
)

var schema = &model.Schema{
	Features: []model.Feature{
		{Name: "age", Kind: model.Continuous},
		{Name: "job", Kind: model.Nominal},
		{Name: "grade", Kind: model.Ordinal, Levels: []string{"low", "mid", "high"}},
	},
	Classes:  []string{"no", "yes"},
	Positive: 1,
}

func newSpec(change func(o *model.Options)) *model.Spec {
	s := &model.Spec{Schema: schema, Scorecard: propensity.New(propensity.Default(), schema), Options: model.Options{
		Fingerprint: 42, Warmup: 100, TailBytes: 1 << 20, ReservoirRecords: 500, ReservoirBytes: 1 << 20, WaitBytes: 1 << 20,
		WaitWindow: int64(time.Hour), ExpireAs: model.Unlabelled, Correct: true, Why: -1, Gate: 0.005, Seed: 1,
	}}
	if change != nil {
		change(&s.Options)
	}
	return s
}

// rows makes n records from the given position on: age drives the class, a tenth of each value is missing, levels come
// as the stream goes on.
func rows(from, n int) *model.Batch {
	b := &model.Batch{N: n, Columns: make([]model.Column, 3), Offset: int64(from)}
	b.Columns[1].Levels = []string{"clerk", "nurse", "smith", "late"}
	b.Columns[2].Levels = []string{"high", "low", "mid"}
	u := func(i, what int) float64 { return float64(model.Hash(7, uint64(i), uint64(what))>>11) / (1 << 53) }
	for i := from; i < from+n; i++ {
		age, job, grade := 20+60*u(i, 0), uint32(4*u(i, 1)), uint32(3*u(i, 2))
		if job == 3 && i < 300 {
			job = 0
		}
		class := int32(0)
		if u(i, 3) < 1/(1+math.Exp(-(age-60)/8)) {
			class = 1
		}
		for f, p := range []func(){
			func() { age = math.NaN() }, func() { job = model.MissingCode }, func() { grade = model.MissingCode },
		} {
			if u(i, 4+f) < 0.1 {
				p()
			}
		}
		b.Columns[0].Float = append(b.Columns[0].Float, age)
		b.Columns[1].Code = append(b.Columns[1].Code, job)
		b.Columns[2].Code = append(b.Columns[2].Code, grade)
		b.Label = append(b.Label, class)
		b.ID = append(b.ID, fmt.Sprint("c", i))
		b.Time = append(b.Time, int64(i)*int64(time.Second))
		b.Row = append(b.Row, int32(i-from))
	}
	return b
}

func state(p *model.Partition) []byte {
	s := p.Snapshot()
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(s)) {
		b = append(append(b, name...), s[name]...)
	}
	return b
}

// feed gives records [from, to) in batches of size, with row positions that do not depend on it, and collects the
// propensities.
func feed(p *model.Partition, from, to, size int, edit func(b *model.Batch)) (out []float64) {
	var s model.Scores
	for i := from; i < to; i += size {
		b := rows(i, min(size, to-i))
		for k := range b.Row {
			b.Row[k] = int32(i + k)
		}
		b.Offset = 0
		if edit != nil {
			edit(b)
		}
		p.Events(b, &s)
		out = append(out, s.P...)
	}
	return out
}

func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// withhold takes the label from every k-th record.
func withhold(b *model.Batch, k int) {
	for i := range b.Label {
		if i%k == 0 {
			b.Label[i] = model.Unlabelled
		}
	}
}
