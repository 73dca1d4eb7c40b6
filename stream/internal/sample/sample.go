// Package sample has the specification and the records that the tests of a stage share: a continuous and a nominal
// feature, and a class that depends on the first.
package sample

import (
	"liftstream/model"
	"liftstream/model/propensity"
)

// Schema is the schema of the records.
var Schema = &model.Schema{
	Features: []model.Feature{{Name: "x", Kind: model.Continuous}, {Name: "c", Kind: model.Nominal}},
	Classes:  []string{"no", "yes"}, Positive: 1,
}

// Spec returns a specification without components and with small bounds.
func Spec() *model.Spec {
	return &model.Spec{Schema: Schema, Scorecard: propensity.New(propensity.Default(), Schema), Options: model.Options{
		Fingerprint: 9, Warmup: 50, TailBytes: 1 << 20, ReservoirRecords: 100, ReservoirBytes: 1 << 20, Correct: true,
		Why: 3, WaitBytes: 1 << 20, ExpireAs: model.Unlabelled, Gate: 0.01, Seed: 1,
	}}
}

// Records returns n records from number from on. The same number is always the same record.
func Records(from, n int) *model.Batch {
	b := &model.Batch{N: n, Columns: make([]model.Column, 2), Offset: int64(from)}
	b.Columns[1].Levels = []string{"a", "b"}
	for i := from; i < from+n; i++ {
		h := model.Hash(3, uint64(i))
		x := float64(h>>40) / (1 << 24)
		y := int32(0)
		if float64(h&0xffff)/(1<<16) < x {
			y = 1
		}
		b.Columns[0].Float = append(b.Columns[0].Float, x)
		b.Columns[1].Code = append(b.Columns[1].Code, uint32(h>>20&1))
		b.Label = append(b.Label, y)
		b.Time = append(b.Time, int64(i))
	}
	return b
}
