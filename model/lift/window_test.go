package lift

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

func oneFeature(levels int) *model.Schema {
	return &model.Schema{Features: []model.Feature{{Name: "a", Kind: model.Nominal}},
		Classes: make([]string, 3), Positive: -1}
}

func bestWindows(t *Set, s *Summary, k int, minMass float64, worst *Window) []*Window {
	best, exact := findWindows(t, s, k, minMass, worst, false)
	if !exact {
		panic("the search ended early")
	}
	return best
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

// TestBestWindowsAgainstEnumeration compares with all subsets, ties and all: ten thousand tables of up to 12 cells,
// small counts that tie often, large ones, weights, empty cells and counts of zero.
func TestBestWindowsAgainstEnumeration(t *testing.T) {
	tables := uint64(10000)
	if testing.Short() {
		tables = 1000
	}
	for seed := uint64(0); seed < tables; seed++ {
		cells := 1 + int(mix(seed)%7)
		if seed%16 == 0 {
			cells += 5
		}
		n := make([]float64, cells*3)
		for i := range n {
			h := mix(seed*1000 + uint64(i))
			switch seed % 4 {
			case 0, 1:
				n[i] = float64(h % 4)
			case 2:
				n[i] = float64(h % 1000)
			default:
				n[i] = float64(h%3) * float64(h>>8%100+1) / 7
			}
		}
		set := newSet(oneFeature(cells), []int32{0}, Mahalanobis, nil)
		s := Summarise(n, 3, 0)
		var occupied []int
		for x := range s.NX {
			if s.NX[x] > 0 {
				occupied = append(occupied, x)
			}
		}
		for _, mass := range []float64{0, []float64{.05, .15, .3, .6, .95}[seed%5]} {
			var all []*Window
			for m := 1; m < 1<<len(occupied); m++ {
				var w []int
				for i, x := range occupied {
					if m>>i&1 == 1 {
						w = append(w, x)
					}
				}
				if v := newWindow(set, s, w); s.Seen > 1 && (mass == 0 || exceeds(v.N, mass*s.N)) {
					all = append(all, v)
				}
			}
			slices.SortFunc(all, compareWindows)
			k := 1 + int(mix(seed+7)%20)
			got := bestWindows(set, s, k, mass, nil)
			if len(got) != min(k, len(all)) {
				t.Fatalf("seed %d mass %v: %d windows, want %d", seed, mass, len(got), min(k, len(all)))
			}
			for i, w := range got {
				if !slices.Equal(w.Cells, all[i].Cells) {
					t.Fatalf("seed %d mass %v: window %d is %v (%v), want %v (%v)",
						seed, mass, i, w.Cells, w.Eta, all[i].Cells, all[i].Eta)
				}
			}
		}
	}
}

func TestWindowsBelowTheWorstAreNotSearched(t *testing.T) {
	g := loadGolden(t)["T7"]
	set := newSet(oneFeature(5), []int32{0}, Mahalanobis, nil)
	worst := &Window{Set: set, Cells: []int{0}, rank: .35, N: 1}
	got := bestWindows(set, Summarise(g.flat(), 7, 0), 10, 0, worst)
	if len(got) != 2 {
		t.Errorf("%d windows of eta above .35, want 2", len(got))
	}
	worst.rank = math.Nextafter(.5, 1)
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

// TestMassWindowsOfManyCells: under a minimum mass the best windows of hundreds of cells are found, and none that
// leaves one cell out or takes one more is better.
func TestMassWindowsOfManyCells(t *testing.T) {
	for seed := uint64(0); seed < 8; seed++ {
		cells := 100 + int(mix(seed)%200)
		n := make([]float64, cells*3)
		for i := range n {
			n[i] = float64(mix(seed*5000+uint64(i)) % 200)
		}
		s := Summarise(n, 3, 0)
		set := newSet(oneFeature(cells), []int32{0}, Mahalanobis, nil)
		got := bestWindows(set, s, 3, .15, nil)
		if len(got) != 3 {
			t.Fatalf("seed %d: %d windows", seed, len(got))
		}
		for x := range cells {
			if s.NX[x] == 0 {
				continue
			}
			var w []int
			if i := slices.Index(got[0].Cells, x); i >= 0 {
				w = slices.Delete(slices.Clone(got[0].Cells), i, i+1)
			} else {
				w = append(slices.Clone(got[0].Cells), x)
			}
			if v := newWindow(set, s, w); v != nil && exceeds(v.N, .15*s.N) && compareWindows(v, got[0]) < 0 {
				t.Errorf("seed %d: changing cell %d gives eta %v, above %v", seed, x, v.Eta, got[0].Eta)
			}
		}
	}
	// The cells of the same eta tie; the search ends all the same.
	n := make([]float64, 600*3)
	for x := range 600 {
		n[x*3+x%3] = float64(1 + x%5)
	}
	s := Summarise(n, 3, 0)
	for i, w := range bestWindows(newSet(oneFeature(600), []int32{0}, Mahalanobis, nil), s, 4, .3, nil) {
		if want := s.N - float64(min(i, 1)); w.Eta != 1 || w.N != want {
			t.Errorf("window %d has eta %v and %v records", i, w.Eta, w.N)
		}
	}
}

func BenchmarkMassWindows(b *testing.B) {
	n := make([]float64, 300*3)
	for i := range n {
		n[i] = float64(mix(uint64(i)) % 200)
	}
	s := Summarise(n, 3, 0)
	set := newSet(oneFeature(300), []int32{0}, Mahalanobis, nil)
	for b.Loop() {
		bestWindows(set, s, 10, .15, nil)
	}
}

// TestContiguousWindowsAgainstEnumeration compares with all runs of occupied cells.
func TestContiguousWindowsAgainstEnumeration(t *testing.T) {
	for seed := uint64(0); seed < 500; seed++ {
		cells := 1 + int(mix(seed)%12)
		n := make([]float64, cells*3)
		for i := range n {
			n[i] = float64(mix(seed*1000+uint64(i)) % 5)
		}
		s := Summarise(n, 3, 0)
		set := newSet(oneFeature(cells), []int32{0}, Mahalanobis, nil)
		for _, mass := range []float64{0, .25} {
			var all []*Window
			for i := range cells {
				for j := i; j < cells; j++ {
					var w []int
					for x := i; x <= j; x++ {
						if s.NX[x] > 0 {
							w = append(w, x)
						}
					}
					if len(w) == 0 || s.NX[i] == 0 || s.NX[j] == 0 || s.Seen < 2 {
						continue
					}
					if v := newWindow(set, s, w); mass == 0 || exceeds(v.N, mass*s.N) {
						all = append(all, v)
					}
				}
			}
			slices.SortFunc(all, compareWindows)
			got := contiguousWindows(set, s, 6, mass)
			if len(got) != min(6, len(all)) {
				t.Fatalf("seed %d mass %v: %d windows, want %d", seed, mass, len(got), min(6, len(all)))
			}
			for i, w := range got {
				if !slices.Equal(w.Cells, all[i].Cells) {
					t.Fatalf("seed %d mass %v: window %d is %v, want %v", seed, mass, i, w.Cells, all[i].Cells)
				}
			}
		}
	}
}

// TestContiguousOnlyWhereThereIsAnOrder: an ordinal feature and cells of numbers have neighbours, a nominal one has
// none.
func TestContiguousOnlyWhereThereIsAnOrder(t *testing.T) {
	s := &model.Schema{Classes: []string{"a", "b"}, Features: []model.Feature{{Name: "x"}, {Name: "y"},
		{Name: "o", Kind: model.Ordinal, Levels: []string{"l", "m", "h"}}, {Name: "n", Kind: model.Nominal}}}
	for _, c := range []struct {
		features []int32
		joint    Joint
		want     bool
	}{
		{[]int32{0}, Mahalanobis, true}, {[]int32{0, 1}, Mahalanobis, true}, {[]int32{0, 1}, Product, false},
		{[]int32{2}, Mahalanobis, true}, {[]int32{3}, Mahalanobis, false},
		{[]int32{0, 2}, Mahalanobis, false}, {[]int32{2, 3}, Mahalanobis, false},
	} {
		parts := partsOf(s, c.features, c.joint)
		for i := range parts {
			parts[i].cuts = []float64{1, 2}
			parts[i].factor = make([]float64, len(parts[i].features)*(len(parts[i].features)+1)/2)
		}
		if got := newSet(s, c.features, c.joint, parts).ordered(s); got != c.want {
			t.Errorf("set %v joint %d: ordered %v", c.features, c.joint, got)
		}
	}
	ev := generated(600, 3)
	o := testOptions()
	o.Sets.Max, o.Windows.Top, o.Windows.Contiguous = 1, 200, true
	p, _ := fitPart(t, o, ev, nil)
	some := 0
	for _, w := range p.Windows {
		if !w.Set.ordered(ev.Schema) {
			continue
		}
		some++
		for i, x := range w.Cells {
			if i > 0 && x != w.Cells[i-1]+1 {
				t.Errorf("window %v of set %v has a gap", w.Cells, w.Set.features)
			}
		}
	}
	if some == 0 {
		t.Error("no window of an ordered set")
	}
}

// TestASearchEndsBelowItsFloor: of the windows of the fewest best cells none is made once they rank below the floor,
// however many cells a set has.
func TestASearchEndsBelowItsFloor(t *testing.T) {
	const cells = 2000
	n := make([]float64, cells*3)
	for x := range cells {
		n[3*x], n[3*x+1] = 20, float64(x%20)
	}
	n[0], n[2] = 0, 2000
	s := Summarise(n, 3, 0)
	set := newSet(oneFeature(cells), []int32{0}, Mahalanobis, nil)
	floor := &Window{Set: set, rank: .9999, N: math.Inf(1)}
	var best []*Window
	allocated := testing.AllocsPerRun(3, func() { best, _ = findWindows(set, s, 5, .1, floor, false) })
	if len(best) > 0 || allocated > cells/10 {
		t.Errorf("%d windows, %v allocations", len(best), allocated)
	}
}

// TestTiesOfManyCells: where thousands of cells tie, the best window holds all of them, and not one window for each is
// made on the way.
func TestTiesOfManyCells(t *testing.T) {
	const cells = 2000
	n := make([]float64, cells*3)
	for x := range cells {
		n[3*x+x%2] = 1
	}
	s := Summarise(n, 3, 0)
	set := newSet(oneFeature(cells), []int32{0}, Mahalanobis, nil)
	var best []*Window
	allocated := testing.AllocsPerRun(3, func() { best, _ = findWindows(set, s, 1, .1, nil, true) })
	if len(best) != 1 || len(best[0].Cells) != cells || allocated > cells/10 {
		t.Errorf("%d windows, %v allocations", len(best), allocated)
	}
}
