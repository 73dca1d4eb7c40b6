package lift

import (
	"context"
	"slices"
	"testing"

	"liftstream/model"
)

// TestEachFigureOfAWindow is that of the records in its cells, counted anew: the interval is that of as many sets as
// were tried.
func TestEachFigureOfAWindow(t *testing.T) {
	ev := generated(1500, 9)
	for name, change := range map[string]func(o *WindowOptions){
		"plain": func(*WindowOptions) {}, "folded": func(o *WindowOptions) { o.Fold = true },
		"with mass": func(o *WindowOptions) { o.MinMass = .2 }, "contiguous": func(o *WindowOptions) { o.Contiguous = true },
	} {
		o := testOptions()
		o.Windows.Top = 8
		change(&o.Windows)
		p, _ := fitPart(t, o, ev, nil)
		if len(p.Windows) == 0 || p.Tried < 30 {
			t.Fatalf("%s: %d windows, %d sets tried", name, len(p.Windows), p.Tried)
		}
		row := make(model.Row, len(ev.Columns))
		for _, w := range p.Windows {
			table, inside, all := NewTable(3), 0., 0.
			for i := range ev.Class {
				ev.Row(i, row)
				x := w.Set.Cell(row)
				if x < 0 {
					continue
				}
				table.add(x, int(ev.Class[i]), 1, ev.Weight[i])
				if all += ev.Weight[i]; slices.Contains(w.Cells, x) {
					inside += ev.Weight[i]
				}
			}
			m := Summarise(table.n, 3, table.Effective())
			low, high := m.WindowInterval(w.Cells, p.Tried)
			near(t, name+": records", w.N, inside, 1e-9)
			near(t, name+": mass", w.Mass, inside/all, 1e-12)
			near(t, name+": eta", w.Eta, m.WindowEta(w.Cells), 1e-12)
			near(t, name+": corrected eta", w.Corrected, m.WindowEtaCorrected(w.Cells), 1e-12)
			near(t, name+": low", w.Low, low, 1e-12)
			near(t, name+": high", w.High, high, 1e-12)
			if o.Windows.MinMass > 0 && w.Mass <= o.Windows.MinMass {
				t.Errorf("%s: a window of mass %v", name, w.Mass)
			}
		}
	}
}

// TestFoldedWindowsAreCountedAtTheBetterOne: a window goes to the first shown one with which it shares more than half
// of the records in either; those behind the last shown one do not count.
func TestFoldedWindowsAreCountedAtTheBetterOne(t *testing.T) {
	ev := generated(900, 9)
	o := testOptions()
	o.Windows.Top = 80
	s := newSetSearch(newSample(ev), &o, nil)
	if err := s.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	found := slices.Clone(s.windows)
	row := make(model.Row, len(ev.Columns))
	var want []*Window
	var sets [][]bool
	var times []int
	elsewhere := 0
	const top = 5
	for _, w := range found {
		in := make([]bool, ev.Len())
		for i := range in {
			ev.Row(i, row)
			in[i] = slices.Contains(w.Cells, w.Set.Cell(row))
		}
		at := overlapping(sets, in)
		if at >= 0 {
			times[at]++
			if at > 0 && at < len(sets)-1 {
				elsewhere++
			}
			continue
		}
		if want, sets, times = append(want, w), append(sets, in), append(times, 0); len(want) == top {
			break
		}
	}
	if elsewhere == 0 {
		t.Error("every window goes to the first or the last: the test would say nothing")
	}
	s.options.Windows = WindowOptions{Top: top, Fold: true}
	got := s.foldWindows()
	if !slices.Equal(got, want) {
		t.Fatalf("%d windows are shown, want %d", len(got), len(want))
	}
	for i, w := range got {
		if w.Folded != times[i] {
			t.Errorf("window %d: %d are folded into it, want %d", i, w.Folded, times[i])
		}
	}
}

// TestWindowsThatTellNothing are shown where sets are ranked as the paper does, and not where they are ranked on
// records left out.
func TestWindowsThatTellNothing(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "x", Kind: model.Nominal}}, Classes: []string{"no", "yes"}}
	var rows [][]string
	for i := range 80 {
		rows = append(rows, []string{[]string{"a", "b"}[i%2], s.Classes[i/2%2]})
	}
	for by, want := range map[Rank]bool{ByEta: true, ByLeaveOneOut: false} {
		o := testOptions()
		o.Sets.Rank = by
		p, _ := fitPart(t, o, evidenceOf(s, rows), nil)
		if (len(p.Windows) > 0) != want || len(p.Sets) != 1 || p.Rank != by {
			t.Errorf("rank %d: %d windows of %d sets", by, len(p.Windows), len(p.Sets))
		}
	}
}

// TestAWindowAmongManyHasAWiderInterval: of many sets the windows that lead do so by chance, too, and each interval
// holds at the share of its set. None, and one, ask for the same.
func TestAWindowAmongManyHasAWiderInterval(t *testing.T) {
	s := Summarise([]float64{160, 40, 130, 170, 90, 110, 20, 280}, 2, 0)
	for _, cells := range [][]int{{0}, {3}, {0, 3}, {1, 2}} {
		low, high := s.WindowInterval(cells, 1)
		if l, h := s.WindowInterval(cells, 0); l != low || h != high {
			t.Errorf("cells %v: [%v, %v] among none, [%v, %v] of one", cells, l, h, low, high)
		}
		for _, sets := range []int{10, 100, 10_000} {
			l, h := s.WindowInterval(cells, sets)
			if !(l < low || l == 0 && low == 0) || !(h > high || h == 1 && high == 1) {
				t.Errorf("cells %v: [%v, %v] among %d sets, [%v, %v] among fewer", cells, l, h, sets, low, high)
			}
			low, high = l, h
		}
	}
}
