package model_test

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"liftstream/model"
)

// sureModel is fitted to a file of n records of a campaign, forwards or backwards.
func sureModel(t *testing.T, n int, level float64, backwards bool) (*model.Spec, *model.Model) {
	t.Helper()
	spec := campaignSpec(model.Control{Share: .2, Seed: 3})
	spec.Options.Interval = level
	b := model.NewBuilder(spec)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if backwards {
		slices.Reverse(order)
	}
	draw := func(i, what int) float64 { return float64(model.Hash(6, uint64(i), uint64(what))>>11) / (1 << 53) }
	for _, i := range order {
		one := (&campaign{}).batch(i, 1, draw)
		one.Label[0] = int32(model.Hash(7, uint64(i)) % 2)
		if one.Columns[0].Float[0] > 0 {
			one.Label[0] = int32(min(model.Hash(7, uint64(i))%4, 1))
		}
		b.Add(one)
	}
	m, err := b.Fit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return spec, m
}

// intervals are those of 50 further records.
func intervals(t *testing.T, p *model.Partition) []model.Interval {
	t.Helper()
	draw := func(i, what int) float64 { return float64(model.Hash(9, uint64(i), uint64(what))>>11) / (1 << 53) }
	var out model.Scores
	p.Events((&campaign{}).batch(9000, 50, draw), &out)
	return slices.Clone(out.Intervals)
}

// TestAModelOfFilesHasItsMisfit: a model of a file tells how far its propensities are off, where intervals are asked
// for: whatever the order of the records, and without the values of any. A partition that has learnt nothing goes on
// from there; one that has stays with its own; a model without it, as of a former build, has narrower intervals.
func TestAModelOfFilesHasItsMisfit(t *testing.T) {
	for _, n := range []int{200, 2000} {
		spec, m := sureModel(t, n, .95, false)
		part := m.Parts[model.PartMisfit]
		if _, back := sureModel(t, n, .95, true); !bytes.Equal(part, back.Parts[model.PartMisfit]) {
			t.Errorf("%d records: another order makes another misfit", n)
		}
		if _, plain := sureModel(t, n, 0, false); plain.Parts[model.PartMisfit] != nil {
			t.Errorf("%d records: a misfit that nobody asked for", n)
		}
		if len(part) < 10 || part[2] != 0 { // format, features, number of first values
			t.Errorf("%d records: the part begins with %v: it holds values of records", n, part[:min(len(part), 10)])
		}
		if model.MayHoldRecords(spec, &model.Model{Parts: map[string][]byte{model.PartMisfit: part}}) {
			t.Error("the misfit is said to hold records")
		}
		with, without := model.NewPartition(spec, 0), model.NewPartition(spec, 0)
		former := *m
		former.Parts = maps.Clone(m.Parts)
		delete(former.Parts, model.PartMisfit)
		for p, of := range map[*model.Partition]*model.Model{with: m, without: &former} {
			if err := p.Swap(of); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(with.Snapshot()["misfit"], part) {
			t.Errorf("%d records: the partition does not go on from the misfit of the model", n)
		}
		a, b := intervals(t, with), intervals(t, without)
		wider := 0
		for i := range a {
			if a[i].Low < b[i].Low && b[i].High < a[i].High {
				wider++
			}
		}
		if n == 200 && wider < 45 {
			t.Errorf("%d of 50 intervals are wider for the misfit", wider)
		}
		changed := with.Snapshot()["misfit"] // the contributions of the records that were scored are in it
		learnt := model.NewPartition(spec, 0)
		run := campaign{n: 1500, seed: 4, treat: func(_, _, _, _ float64) bool { return false }}
		run.run(t, learnt)
		own := learnt.Snapshot()["misfit"]
		if err := model.Return(learnt, m, 1); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(learnt.Snapshot()["misfit"], own) {
			t.Error("a partition gives up the misfit that it has learnt")
		}
		former.Parts[model.PartMisfit] = part[:len(part)-1]
		broken := model.NewPartition(spec, 0)
		if err := broken.Swap(&former); err == nil || broken.Trained() {
			t.Errorf("a broken misfit is read: %v", err)
		}
		if err := with.Swap(&former); err == nil || !bytes.Equal(with.Snapshot()["misfit"], changed) {
			t.Errorf("a broken misfit changes a state: %v", err)
		}
	}
}
