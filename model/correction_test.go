package model_test

import (
	"bytes"
	"math"
	"testing"

	"liftstream/model"
	"liftstream/model/lift"
	"liftstream/model/local"
	"liftstream/model/modeltest"
)

// TestACorrectedRecordIsCountedUnderItsNewClassAloneInEveryComponent: a partition that learns the wrong class of some
// records, and is then corrected, counts the same as one that learnt the right classes at once.
func TestACorrectedRecordIsCountedUnderItsNewClassAloneInEveryComponent(t *testing.T) {
	modeltest.Computes(t)
	spec := carrySpec(wide)
	right, wrong := model.NewPartition(spec, 0), model.NewPartition(spec, 0)
	const trained, n = 1700, 1800 // the structure of a cold partition changes for the last time at 1,600 records
	b, turned := wideRows(wide, trained, n-trained, true), wideRows(wide, trained, n-trained, true)
	invert(turned)
	var out model.Scores
	for p, batch := range map[*model.Partition]*model.Batch{right: b, wrong: turned} {
		take(t, p, wide, 0, trained)
		p.Events(batch, &out)
	}
	components := []string{"model/" + lift.Name, "model/" + local.Name}
	same := func(section string) bool {
		return bytes.Equal(right.Snapshot()[section], wrong.Snapshot()[section])
	}
	apart := func() float64 {
		rate := func(p *model.Partition) float64 {
			return p.Component(spec.Scorecard.Name()).(model.Scorecard).BaseRate(1)
		}
		return math.Abs(rate(right) - rate(wrong))
	}
	for _, section := range components {
		if same(section) {
			t.Fatalf("%s does not see classes: the test would say nothing", section)
		}
	}
	if apart() < .001 {
		t.Fatalf("the base rates are %v apart: the test would say nothing", apart())
	}
	if c := wrong.Labels(&model.Labels{N: b.N, Class: b.Label, ID: b.ID, Time: b.Time}); c.Corrected != b.N {
		t.Fatalf("%+v", c)
	}
	for _, section := range components {
		if !same(section) {
			t.Errorf("%s still counts corrected records under the wrong class", section)
		}
	}
	if apart() > 1e-12 {
		t.Errorf("the base rate of the scorecard is %v off after the corrections", apart())
	}
}
