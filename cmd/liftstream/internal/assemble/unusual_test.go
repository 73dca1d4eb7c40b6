package assemble

import (
	"bytes"
	"slices"
	"testing"

	"liftstream/model"
)

const unusualConfig = `
name: x
record:
  label: {column: y, classes: [no, yes], positive: yes}
  features: [{name: a, kind: continuous}, {name: b, kind: nominal}]
local: off
kernel: off
trees: off
fit: {warmup: 100}
`

// TestUnusualChangesNothingElse: with output.unusual states and models have one part more and scores one column more;
// all else keeps its bytes. A restored state finds the same records, and states and models without the part are read.
func TestUnusualChangesNothingElse(t *testing.T) {
	plain, with := stage(t, unusualConfig), stage(t, unusualConfig+"output: {unusual: 10%}\n")
	batch := func(from, n int, label bool) *model.Batch {
		b := &model.Batch{N: n, Columns: make([]model.Column, 2), Time: make([]int64, n), Row: make([]int32, n),
			Label: make([]int32, n), Offset: int64(from)}
		b.Columns[1].Levels = []string{"p", "q", "new"}
		for i := range n {
			h := model.Hash(7, uint64(from+i))
			b.Columns[0].Float = append(b.Columns[0].Float, float64(h%1000))
			b.Columns[1].Code = append(b.Columns[1].Code, uint32(h>>20%2))
			if b.Label[i] = int32(h % 1000 / 600); !label {
				b.Label[i] = model.Unlabelled
			}
		}
		return b
	}
	odd := batch(5000, 3, false)
	odd.Columns[0].Float[1], odd.Columns[1].Code[2] = 5000, 2
	var models [2]*model.Model
	var sections [2]map[string][]byte
	var scores [2]model.Scores
	for k, s := range []*Stage{plain, with} {
		builder := model.NewBuilder(s.Spec)
		builder.Add(batch(0, 3000, true))
		m, err := builder.Fit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m.Version = 1
		models[k] = m
		p := model.NewPartition(s.Spec, 0)
		if err := p.Swap(m); err != nil {
			t.Fatal(err)
		}
		p.Events(batch(4000, 50, true), &scores[k])
		sections[k] = p.Snapshot()
		p.Events(odd, &scores[k])
	}
	if plain.Spec.Options.Fingerprint != with.Spec.Options.Fingerprint {
		t.Error("the fingerprint is another one")
	}
	if len(scores[0].Unusual) != 0 || !slices.Equal(scores[1].Unusual, []int32{-1, 0, 1}) {
		t.Errorf("unusual are %v and %v", scores[0].Unusual, scores[1].Unusual)
	}
	if !slices.Equal(scores[0].P, scores[1].P) {
		t.Errorf("propensities %v and %v", scores[0].P, scores[1].P)
	}
	same := func(what string, without, with map[string][]byte, more string) {
		if _, ok := with[more]; !ok || len(with) != len(without)+1 {
			t.Errorf("%s: %d parts, %d without", what, len(with), len(without))
		}
		for name, b := range without {
			if !bytes.Equal(b, with[name]) {
				t.Errorf("%s: %s is another one", what, name)
			}
		}
	}
	same("model", models[0].Parts, models[1].Parts, "unusual")
	same("state", sections[0], sections[1], "model/unusual")
	for name, c := range map[string]struct {
		spec     *model.Spec
		sections map[string][]byte
		want     []int32
	}{
		"restored":           {with.Spec, sections[1], []int32{-1, 0, 1}},
		"of a build without": {with.Spec, sections[0], []int32{-1, -1, -1}},
		"switched off":       {plain.Spec, sections[1], nil},
	} {
		p, err := model.RestorePartition(c.spec, c.sections)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got model.Scores
		p.Events(odd, &got)
		if !slices.Equal(got.Unusual, c.want) || !slices.Equal(got.P, scores[0].P) {
			t.Errorf("%s: unusual are %v, want %v; propensities %v", name, got.Unusual, c.want, got.P)
		}
	}
	p := model.NewPartition(with.Spec, 0)
	if err := p.Swap(models[0]); err != nil {
		t.Errorf("a model without the part: %v", err)
	}
}
