package assemble

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
)

// tellingFeatures is the number of features of tellingRecords.
const tellingFeatures = 12

// tellingRecords is records of numbers 0 to 3 that tell nothing of the class, or, if planted, of which f3 and f7 do.
func tellingRecords(n int, planted bool) *model.Batch {
	b := &model.Batch{N: n, Columns: make([]model.Column, tellingFeatures)}
	for i := range n {
		u := func(k uint64) float64 { return float64(model.Hash(5, uint64(i), k)>>11) / (1 << 53) }
		p := .1
		for f := range tellingFeatures {
			v := math.Floor(4 * u(uint64(f)))
			b.Columns[f].Float = append(b.Columns[f].Float, v)
			switch {
			case !planted:
			case f == 3 && v == 3:
				p += .15
			case f == 7 && v == 0:
				p += .3
			}
		}
		y := int32(0)
		if u(tellingFeatures) < p {
			y = 1
		}
		b.Label, b.Row = append(b.Label, y), append(b.Row, int32(i))
	}
	return b
}

// TestSubspacesWithoutNeighbours: with local: off a subspace has the features whose values tell of the class beyond
// chance, best first, in nats, and of records without meaning it is empty.
func TestSubspacesWithoutNeighbours(t *testing.T) {
	const n = 3000
	var text strings.Builder
	text.WriteString("name: shop\nrecord:\n  label: {column: y, classes: [\"no\", \"yes\"], positive: \"yes\"}\n" +
		"  features:\n")
	for f := range tellingFeatures {
		fmt.Fprintf(&text, "    - {name: f%d, kind: continuous}\n", f)
	}
	spec := stage(t, text.String()+"fit: {warmup: 400}\n"+alone).Spec
	for _, planted := range []bool{false, true} {
		b := tellingRecords(n, planted)
		builder := model.NewBuilder(spec)
		builder.Add(b)
		m, err := builder.Fit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p := model.NewPartition(spec, 0)
		if err := p.Swap(m); err != nil {
			t.Fatal(err)
		}
		b.Label = slices.Repeat([]int32{model.Unlabelled}, n)
		var out model.Scores
		p.Events(b, &out)
		noise, told, both := 0, 0, 0
		for i := range n {
			found, nats := out.SubspaceOf(i)
			if slices.ContainsFunc(found, func(f int32) bool { return !planted || f != 3 && f != 7 }) {
				noise++
			}
			for k, v := range nats {
				if v <= 0 || v > 1 || k > 0 && v > nats[k-1] {
					t.Fatalf("record %d: %v, %v", i, found, nats)
				}
			}
			if b.Columns[3].Float[i] == 3 && b.Columns[7].Float[i] == 0 {
				both++
				if len(found) > 1 && found[0] == 7 && found[1] == 3 {
					told++
				}
			}
		}
		t.Logf("planted %v: features of noise in %d of %d, both in %d of %d", planted, noise, n, told, both)
		if noise > n/8 { // one cell of a feature is a quarter of the records
			t.Errorf("planted %v: features without meaning in %d of %d subspaces", planted, noise, n)
		}
		if planted && told < both*9/10 {
			t.Errorf("both features in %d of %d subspaces that have both", told, both)
		}
	}
}
