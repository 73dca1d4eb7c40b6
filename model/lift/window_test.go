package lift

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

func oneFeature(levels int) *model.Schema {
	return &model.Schema{Features: []model.Feature{{Name: "a", Kind: model.Nominal}}, Classes: make([]string, 3), Positive: -1}
}

func TestWindowRankingOfTable7(t *testing.T) {
	g := loadGolden(t)["T7"]
	s := Summarise(g.flat(), 7, 0)
	set := newSet(oneFeature(5), []int32{0}, Mahalanobis, nil)
	want := []struct {
		cells []int
		eta   float64
	}{
		{[]int{4}, .38133}, {[]int{0, 4}, .36063}, {[]int{0}, .34628}, {[]int{0, 1, 4}, .34413},
		{[]int{1, 4}, .34230}, {[]int{0, 3, 4}, .33374}, {[]int{0, 2, 4}, .32790}, {[]int{0, 1}, .32673},
	}
	got := bestWindows(set, s, len(want), 0, nil)
	for i, w := range want {
		if !slices.Equal(got[i].Cells, w.cells) {
			t.Errorf("window %d is %v, want %v", i, got[i].Cells, w.cells)
		}
		near(t, "eta", got[i].Eta, w.eta, 5e-6)
	}
	near(t, "mass", got[0].Mass, 116203.0/581012, 1e-12)
}

// TestBestWindowsAgainstEnumeration compares with all subsets, ties and all.
func TestBestWindowsAgainstEnumeration(t *testing.T) {
	for seed := uint64(0); seed < 300; seed++ {
		cells := 1 + int(mix(seed)%7)
		n := make([]float64, cells*3)
		for i := range n {
			n[i] = float64(mix(seed*1000+uint64(i)) % 4)
		}
		set := newSet(oneFeature(cells), []int32{0}, Mahalanobis, nil)
		s := Summarise(n, 3, 0)
		var occupied []int
		for x := range s.NX {
			if s.NX[x] > 0 {
				occupied = append(occupied, x)
			}
		}
		for _, mass := range []float64{0, .3} {
			var all []*Window
			for m := 1; m < 1<<len(occupied); m++ {
				var w []int
				for i, x := range occupied {
					if m>>i&1 == 1 {
						w = append(w, x)
					}
				}
				if v := newWindow(set, s, w); s.Seen > 1 && v.N > mass*s.N {
					all = append(all, v)
				}
			}
			slices.SortFunc(all, compareWindows)
			got := bestWindows(set, s, 10, mass, nil)
			if len(got) != min(10, len(all)) {
				t.Fatalf("seed %d mass %v: %d windows, want %d", seed, mass, len(got), min(10, len(all)))
			}
			for i, w := range got {
				if !slices.Equal(w.Cells, all[i].Cells) {
					t.Fatalf("seed %d mass %v: window %d is %v (%v), want %v (%v)", seed, mass, i, w.Cells, w.Eta, all[i].Cells, all[i].Eta)
				}
			}
		}
	}
}

func TestWindowsBelowTheWorstAreNotSearched(t *testing.T) {
	g := loadGolden(t)["T7"]
	set := newSet(oneFeature(5), []int32{0}, Mahalanobis, nil)
	worst := &Window{Set: set, Cells: []int{0}, Eta: .35, N: 1}
	got := bestWindows(set, Summarise(g.flat(), 7, 0), 10, 0, worst)
	if len(got) != 2 {
		t.Errorf("%d windows of eta above .35, want 2", len(got))
	}
	worst.Eta = math.Nextafter(.5, 1)
	if got := bestWindows(set, Summarise(g.flat(), 7, 0), 10, 0, worst); got != nil {
		t.Errorf("%v above .5", got)
	}
}

// TestWindowsOfManyPureCells: a feature that is almost an id ties at eta 1 everywhere; the windows of most records win.
func TestWindowsOfManyPureCells(t *testing.T) {
	const cells = 600
	n := make([]float64, cells*3)
	for x := 0; x < cells; x++ {
		n[x*3+x%3] = float64(1 + x%5)
	}
	s := Summarise(n, 3, 0)
	got := bestWindows(newSet(oneFeature(cells), []int32{0}, Mahalanobis, nil), s, 4, 0, nil)
	for i, w := range got {
		// All cells, then all but one of the cells of one record, the last ones first.
		want := s.N
		if i > 0 {
			want--
		}
		if w.Eta != 1 || w.N != want || i > 0 && slices.Contains(w.Cells, []int{0, 595, 590, 585}[i]) {
			t.Errorf("window %d has eta %v and %v records", i, w.Eta, w.N)
		}
	}
}
