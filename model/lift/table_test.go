package lift

import (
	"math"
	"slices"
	"testing"

	"liftstream/model/wire"
)

// placed is a record in a cell.
type placed struct {
	cell, class int
	weight      float64
}

// stream is a small generated stream of records.
func stream(n int, seed uint64) (records []placed) {
	for i := range n {
		u := mix(seed + uint64(i))
		records = append(records, placed{int(u % 7), int(u >> 16 % 3), float64(1 + u>>8%3)})
	}
	return records
}

// TestMergeOrderAndRetraction: records in any order, in one table or in two that merge, give the same bytes, and
// retracted records leave no trace.
func TestMergeOrderAndRetraction(t *testing.T) {
	records := stream(5000, 7)
	all, a, b, backwards := NewTable(3), NewTable(3), NewTable(3), NewTable(3)
	for i, x := range records {
		all.add(x.cell, x.class, 1, x.weight)
		if i%3 == 0 {
			a.add(x.cell, x.class, 1, x.weight)
		} else {
			b.add(x.cell, x.class, 1, x.weight)
		}
		y := records[len(records)-1-i]
		backwards.add(y.cell, y.class, 1, y.weight)
	}
	a.Merge(b)
	extra := stream(50, 99)
	again := all.Clone()
	for _, x := range extra {
		again.add(x.cell+7, x.class, 1, x.weight)
	}
	for _, x := range extra {
		again.add(x.cell+7, x.class, -1, x.weight)
	}
	want := string(appendTable(nil, all))
	for name, o := range map[string]*Table{"merged": a, "backwards": backwards, "retracted": again} {
		if string(appendTable(nil, o)) != want {
			t.Errorf("%s: counts %v with squares %v, want %v with %v", name, o.n, o.square, all.n, all.square)
		}
	}
}

// TestWeightlessAndForeignExamplesChangeNothing: records without a weight or of a class outside the configuration are
// not counted.
func TestWeightlessAndForeignExamplesChangeNothing(t *testing.T) {
	ev := generated(600, 4)
	o := testOptions()
	_, part := fitPart(t, o, ev, nil)
	c := serve(t, o, ev, part, 0, nil)
	before := c.AppendState(nil)
	ex := *exampleOf(ev, 0)
	for _, x := range []struct {
		class  int32
		weight float64
	}{{0, 0}, {-1, 1}, {int32(len(ev.Schema.Classes)), 1}, {0, math.NaN()}, {0, -1}} {
		ex.Class, ex.Weight = x.class, x.weight
		c.Learn(&ex)
		c.Retract(&ex)
		c.Learn(&ex)
	}
	if !slices.Equal(c.AppendState(nil), before) {
		t.Error("the state changed")
	}
	ex.Class, ex.Weight = 0, 1
	if c.Learn(&ex); slices.Equal(c.AppendState(nil), before) {
		t.Error("a record with a weight and a class changed nothing: the test would say nothing")
	}
}

// TestATableWithABaseIsRefused: the form has room for the base of a table that forgets, as none does.
func TestATableWithABaseIsRefused(t *testing.T) {
	table := NewTable(3)
	table.add(1, 2, 1, 4)
	b := appendTable(nil, table)
	if _, err := decodeTable(wire.NewReader(b), 3, 7); err != nil {
		t.Fatal(err)
	}
	for _, base := range []float64{1, -300, math.NaN(), math.Inf(1)} {
		copy(b, wire.AppendFloat(nil, base))
		if got, err := decodeTable(wire.NewReader(b), 3, 7); err == nil {
			t.Errorf("base %v: decoded as %v", base, got.n)
		}
	}
}

// TestMillionRecordsDoNotDrift: a million records of whole weights, some of them taken back and learnt again, leave the
// exact sums.
func TestMillionRecordsDoNotDrift(t *testing.T) {
	n := 1000000
	if testing.Short() {
		n = 100000
	}
	const cells, classes = 5, 3
	table, exact := NewTable(classes), make([]float64, cells*classes)
	for i := range n {
		u := mix(uint64(i))
		x, y, w := int(u%cells), int(u>>8%classes), float64(1+u>>16%4)
		table.add(x, y, 1, w)
		exact[x*classes+y] += w
		if i%1000 == 7 {
			table.add(x, y, -1, w)
			table.add(x, y, 1, w)
		}
	}
	if !slices.Equal(table.Counts(), exact) {
		t.Errorf("counts %v, want %v", table.Counts(), exact)
	}
}
