package trees

import (
	"testing"

	"liftstream/model"
)

// TestValuesWithoutARecordGoWithMost: a split sends levels and missing values of which the node has no record to the
// side of more records, whether that is the left one or not (METHOD.md 3).
func TestValuesWithoutARecordGoWithMost(t *testing.T) {
	const n = 400
	for _, kind := range []model.Kind{model.Continuous, model.Nominal} {
		for _, most := range []int32{0, 1} { // the class of the larger side
			var rows [][]float64
			var class []int32
			for i := range n {
				y := most
				if i%4 == 0 {
					y = 1 - most
				}
				rows, class = append(rows, []float64{2 * float64(y)}), append(class, y) // of level 1 there is none
			}
			ev := numbered(rows, class)
			ev.Schema.Features[0].Kind = kind
			x := newGrower(newEnsemble(coded(ev), -1), shape{leaves: 2, least: 1, ridge: 1, rate: .1})
			if _, err := x.round(t.Context()); err != nil {
				t.Fatal(err)
			}
			root := &x.trees[0].nodes[0]
			c := &x.columns[root.column]
			side := func(bin uint8) bool {
				one := *c
				one.bin = []uint8{bin}
				return root.goesLeft(&one, 0)
			}
			larger := side(c.bin[1])
			if larger == side(c.bin[0]) {
				t.Fatalf("%v: the classes are not split: %+v", kind, root)
			}
			if side(0) != larger {
				t.Errorf("%v, most of class %d: missing values go to the side of fewer records", kind, most)
			}
			if kind == model.Nominal && side(2) != larger {
				t.Errorf("%v, most of class %d: a level without a record goes to the side of fewer", kind, most)
			}
		}
	}
}
