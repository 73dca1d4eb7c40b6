package assemble

import (
	"math"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

const crossed = `
name: test
record:
  label: {column: y, classes: [no, yes], positive: yes}
  features: [{name: a, kind: continuous}, {name: b, kind: continuous}, {name: n, kind: continuous}]
fit: {warmup: 100}
`

// crossedRows are n records whose class is the XOR of two thresholds, wrong for a tenth.
func crossedRows(from, n int) *model.Batch {
	b := &model.Batch{N: n, Offset: int64(from), Columns: make([]model.Column, 3), Time: make([]int64, n)}
	for i := from; i < from+n; i++ {
		x := [3]float64{}
		for f := range x {
			x[f] = float64(model.Hash(9, uint64(i), uint64(f)) % 1000)
			b.Columns[f].Float = append(b.Columns[f].Float, x[f])
		}
		y := int32(0)
		if (x[0] > 500) != (x[1] > 300) != (model.Hash(9, uint64(i))%10 == 0) {
			y = 1
		}
		b.Label, b.Row = append(b.Label, y), append(b.Row, int32(i-from))
	}
	return b
}

// TestTreesInAStage: trees are kept where the class hangs on two features together, they tell it, and their
// contributions are those of the features: all of them sum to the log-odds. Where effects follow lifts, they are one
// term.
func TestTreesInAStage(t *testing.T) {
	modeltest.Computes(t)
	for _, follow := range []bool{false, true} {
		text := crossed
		if follow {
			text += "propensity: {sign: follow}\n"
		}
		s := stage(t, text)
		p := model.NewPartition(s.Spec, 0)
		var out model.Scores
		p.Events(crossedRows(0, 3000), &out)
		m, err := model.Fit(t.Context(), s.Spec, model.Held{0: p.Snapshot()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Swap(m); err != nil {
			t.Fatal(err)
		}
		p.Events(crossedRows(3000, 1000), &out)
		spec := *s.Spec
		spec.Options.Why = -1
		if p, err = model.RestorePartition(&spec, p.Snapshot()); err != nil {
			t.Fatal(err)
		}
		rows := crossedRows(4000, 1000)
		p.Events(rows, &out)
		sums := map[string]float64{}
		loss := 0.
		for i := range out.N {
			odds, sum := out.P[2*i+1], 0.
			for _, r := range out.WhyOf(i) {
				sum += r.Effect
				sums[out.TermName(spec.Schema, r.Feature)] += math.Abs(r.Effect) / float64(out.N)
			}
			if want := math.Log(odds / (1 - odds)); !(math.Abs(sum-want) <= 1e-9) {
				t.Fatalf("follow %v: record %d: contributions sum to %v, the log-odds are %v", follow, i, sum, want)
			}
			loss -= math.Log(out.P[2*i+int(rows.Label[i])]) / float64(out.N)
		}
		if !(loss < .45) { // .325 can be known, .693 is known of each feature alone
			t.Errorf("follow %v: log-loss %v", follow, loss)
		}
		if !follow && !(sums["(trees)"] < .2 && sums["a"] > .5 && sums["b"] > .5 && sums["n"] < .3) ||
			follow && !(sums["(trees)"] > .5) {
			t.Errorf("follow %v: mean contributions %v", follow, sums)
		}
		if follow {
			continue
		}
		remarks := ""
		for _, x := range s.Spec.Components {
			if f, ok := x.(model.Remarker); ok {
				r, err := f.Remark(m.Parts[x.Name()])
				if err != nil {
					t.Fatal(err)
				}
				remarks += r.Text + "\n"
			}
		}
		if !strings.Contains(remarks, "trees lower the log-loss") {
			t.Errorf("remarks %q", remarks)
		}
	}
}
