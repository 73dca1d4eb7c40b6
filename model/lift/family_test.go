package lift

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"liftstream/model"
)

// TestLatticeOfManyFeatures: the work of the lattice grows with the sets, not with two to the number of features, and
// it finds the same figures as the evaluation of each set by itself.
func TestLatticeOfManyFeatures(t *testing.T) {
	const features, records = 60, 2500
	s := &model.Schema{Classes: []string{"a", "b"}, Positive: 1}
	ev := &model.Evidence{Schema: s, Class: make([]int32, records), Weight: make([]float64, records)}
	for f := range features {
		s.Features = append(s.Features, model.Feature{Name: fmt.Sprint("f", f), Kind: model.Continuous})
		column := make([]float64, records)
		for i := range column {
			column[i] = float64(model.Hash(uint64(f), uint64(i))>>11) / (1 << 53)
		}
		ev.Columns = append(ev.Columns, column)
	}
	for i := range ev.Class {
		ev.Weight[i] = 1
		if ev.Columns[7][i]+ev.Columns[59][i] > 1 {
			ev.Class[i] = 1
		}
	}
	o := &Options{Quantiles: 5, Sets: SetOptions{Min: 1, Max: 2, Top: 3}}
	search := newSetSearch(newSample(ev), o, nil)
	if err := search.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(search.lattice); n < features*(features-1)/2*9/10 {
		t.Errorf("the lattice has %d sets", n)
	}
	if best := search.top[0].set.features; !slices.Equal(best, []int32{7, 59}) {
		t.Errorf("the best set is %v", best)
	}
	alone := newSetSearch(newSample(ev), o, nil)
	for _, pair := range [][]int32{{7, 59}, {0, 1}, {3, 54}, {53, 54}, {58, 59}} {
		f, _ := alone.evaluate(pair)
		l := search.lattice[keyOf(pair)]
		if l == nil || !slices.Equal(l.cuts, f.set.Cuts()) || !slices.Equal(l.count, f.table.n) {
			t.Errorf("%v: the lattice has %+v", pair, l)
		}
	}
}
