package modeltest

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestFiguresDiffer: lines differ by texts, whole numbers and numbers beyond the tolerance, and lines that are gone or
// new are named.
func TestFiguresDiffer(t *testing.T) {
	var f Figures
	f.Add("a", 1, .25, "x y", []float64{math.NaN(), 1. / 3})
	f.Add("b", true)
	f.Add("b", 1.)
	if want := []string{"a = 1 0.25 x y [NaN 0.333333333]", "b = true", "b = 1"}; !slices.Equal(f.lines, want) {
		t.Fatalf("lines %q", f.lines)
	}
	for _, c := range []struct {
		want []string
		says string
	}{
		{f.lines, ""},
		{[]string{"a = 1 0.2500001 x y [NaN 0.333333333]", "b = true", "b = 1.00000000001"}, ""},
		{[]string{"a = 1 0.250001 x y [NaN 0.333333333]", "b = true", "b = 1"}, "got  a"},
		{[]string{"a = 2 0.25 x y [NaN 0.333333333]", "b = true", "b = 1"}, "got  a"},
		{[]string{"a = 1 0.25 x z [NaN 0.333333333]", "b = true", "b = 1"}, "got  a"},
		{[]string{"a = 1 0.25 x y [NaN 0.333333333]", "b = true"}, "new: b = 1"},
		{append(slices.Clone(f.lines), "c = 3"), "gone: c = 3"},
	} {
		got := strings.Join(Differences(f.lines, c.want), "\n")
		if !strings.HasPrefix(got, c.says) || (c.says == "") != (got == "") {
			t.Errorf("against %q: %q, want %q", c.want, got, c.says)
		}
	}
	if whole := "n = 1700000000000000001"; sameFigures(whole, "n = 1700000000000000002") {
		t.Error("whole numbers of many digits are one")
	}
}

// TestInsideReachesFields: fields that are not exported, lists, maps, pointers and interfaces are walked,
// in an order that does not change, and a change of one value among many changes its line.
func TestInsideReachesFields(t *testing.T) {
	type leaf struct {
		v float64
		n []int
	}
	type root struct {
		leaves []leaf
		byName map[string]*leaf
		any    any
		own    *root
		bytes  []byte
	}
	one := &leaf{1, nil}
	x := &root{leaves: []leaf{{2, []int{1, 2, 3}}, {math.Inf(1), []int{4, -5}}},
		byName: map[string]*leaf{"b": {4, nil}, "a": {3, nil}}, any: one, bytes: []byte{1}}
	x.own = x
	lines := func() []string {
		var f Figures
		f.Inside("x", x)
		return f.lines
	}
	want := []string{"x.leaves[].v = [2 +Inf]", "x.leaves[].n[] = 5 whole 1 5 5", "x.byName{key} = [a b]",
		"x.byName{}.v = [3 4]", "x.any(modeltest.leaf).v = [1]"}
	if got := lines(); !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	x.leaves[0].n[0], x.leaves[0].n[1] = 2, 1
	if got := lines(); len(Differences(got, want)) != 1 {
		t.Errorf("two values have changed places: %q", got)
	}
}
