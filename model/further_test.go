package model

import (
	"fmt"
	"testing"
)

// TestCellsOfFurtherLevels: a code above MaxLevels is a cell whose whole part is Levels.Other, exactly; few of many
// further levels share a code; and partitions agree on the code without a table.
func TestCellsOfFurtherLevels(t *testing.T) {
	s := &Schema{Features: []Feature{{Name: "job", Kind: Nominal}}}
	full := func(prefix string) *Levels {
		l := NewLevels(s)
		for i := range MaxLevels {
			l.Code(0, fmt.Sprint(prefix, i))
		}
		return l
	}
	l, o := full("x"), full("y")
	for _, code := range []uint32{0, 7, MaxLevels, MaxLevels + 1, MaxLevels + 12345, MaxLevels + MostFurther} {
		v := Cell(code)
		if further := Further(v); code <= MaxLevels && (further != 0 || v != float64(code)) ||
			code > MaxLevels && (further != code-MaxLevels || int(v) != MaxLevels) {
			t.Errorf("code %d is the cell %v, further level %d", code, v, further)
		}
	}
	// Of 5,000 further levels next to none share a code: 0.7 pairs are expected.
	codes := map[uint32]bool{}
	for i := range 5000 {
		codes[l.Code(0, fmt.Sprint("level ", i))] = true
	}
	if len(codes) < 4993 {
		t.Errorf("5000 further levels have %d codes", len(codes))
	}
	if l.Code(0, "new") != o.Code(0, "new") {
		t.Error("two tables give a further level two codes")
	}
	// The levels of a full table become further levels of another one, and further levels stay.
	rc := l.Merge(o)
	v := Cell(l.Code(0, "new"))
	if got, want := rc.Value(0, 3), Cell(o.Merge(l)[0][3]); got != Cell(l.Code(0, "y3")) || Further(got) == 0 ||
		Further(want) == 0 || rc.Value(0, v) != v {
		t.Errorf("level y3 is the cell %v, level new %v", got, rc.Value(0, v))
	}
}

// TestAStreamOfMoreLevels: records of further levels wait, are kept, restored and recoded like any other.
func TestAStreamOfMoreLevels(t *testing.T) {
	s := &Schema{Features: []Feature{{Name: "job", Kind: Nominal}}, Classes: []string{"a", "b"}}
	c := newCoder(s)
	l := NewLevels(s)
	cells := map[float64]bool{}
	for i := range MaxLevels + 50 {
		b := &Batch{N: 1, Columns: []Column{{Code: []uint32{0}, Levels: []string{fmt.Sprint("t", i)}}}, Label: []int32{0}}
		c.start(b)
		c.code(l, b, 0)
		if cells[c.row[0]] = true; !s.possible(c.row, 0) {
			t.Fatalf("level %d has the impossible cell %v", i, c.row[0])
		}
	}
	if l.Count(0) != MaxLevels || len(cells) != MaxLevels+50 {
		t.Errorf("%d levels with a code, %d cells", l.Count(0), len(cells))
	}
}
