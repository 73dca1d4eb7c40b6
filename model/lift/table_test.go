package lift

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"liftstream/model"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > tolerance {
		t.Errorf("%s = %.15g, want %.15g within %g", what, got, want, tolerance)
	}
}

// golden holds the paper's printed count tables with the measures that an independent program computed from them.
type golden struct {
	Counts   [][]float64 `json:"counts"`
	Eta      float64     `json:"eta"`
	EtaCells []float64   `json:"eta_cells"`
	Lift     [][]float64 `json:"lift"`
}

func loadGolden(t *testing.T) map[string]golden {
	t.Helper()
	b, err := os.ReadFile("testdata/tables.json")
	if err != nil {
		t.Fatal(err)
	}
	var g map[string]golden
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g golden) flat() []float64 {
	var n []float64
	for _, r := range g.Counts {
		n = append(n, r...)
	}
	return n
}

func TestPaperTables(t *testing.T) {
	for name, g := range loadGolden(t) {
		s := Summarise(g.flat(), len(g.Counts[0]), 0)
		near(t, name+" eta", s.Eta(), g.Eta, 1e-9)
		all := make([]int, len(g.Counts))
		for x := range g.Counts {
			all[x] = x
			near(t, name+" cell eta", s.CellEta(x), g.EtaCells[x], 1e-9)
			sum := 0.0
			for y := range g.Counts[x] {
				near(t, name+" lift", s.Lift(x, y), g.Lift[x][y], 1e-9)
				low, high := s.LiftInterval(x, y)
				if l := s.Lift(x, y); !(low <= l && l <= high) || low < 0 || high > s.N/s.NY[y]+1e-9 {
					t.Errorf("%s: lift %v of cell %d class %d outside its interval [%v, %v]", name, l, x, y, low, high)
				}
				sum += s.NY[y] / s.N * s.Lift(x, y)
			}
			near(t, name+" sum_y h L", sum, 1, 1e-12)
		}
		for y := 0; y < s.Classes; y++ {
			sum := 0.0
			for x := range g.Counts {
				sum += s.NX[x] / s.N * s.Lift(x, y)
			}
			near(t, name+" sum_x g L", sum, 1, 1e-12)
		}
		near(t, name+" window of all cells", s.WindowEta(all), s.Eta(), 1e-15)
	}
}

func TestMeasuresAreInvariantToScale(t *testing.T) {
	g := loadGolden(t)["T1"]
	n := g.flat()
	a := Summarise(n, 3, 0)
	scaled := make([]float64, len(n))
	for i := range n {
		scaled[i] = n[i] * 1e-40
	}
	b := Summarise(scaled, 3, a.N)
	near(t, "eta", b.Eta(), a.Eta(), 1e-13)
	near(t, "corrected eta", b.EtaCorrected(), a.EtaCorrected(), 1e-13)
	low, high := a.LiftInterval(0, 1)
	low2, high2 := b.LiftInterval(0, 1)
	near(t, "low", low2, low, 1e-12)
	near(t, "high", high2, high, 1e-12)
}

func TestEtaCorrectedTakesTheBiasAway(t *testing.T) {
	// I - (K_x-1)(K_y-1)/(2n) over H, computed here from the definition.
	n := []float64{30, 10, 12, 28, 0, 0, 9, 11}
	s := Summarise(n, 2, 0)
	var mi, hy float64
	for x := 0; x < 4; x++ {
		for y := 0; y < 2; y++ {
			if f := n[2*x+y] / 100; f > 0 {
				mi += f * math.Log(f/(s.NX[x]/100*s.NY[y]/100))
			}
		}
	}
	for _, v := range s.NY {
		hy -= v / 100 * math.Log(v/100)
	}
	near(t, "corrected", s.EtaCorrected(), (mi-2.0*1/200)/hy, 1e-12)
	if e := Summarise([]float64{10, 10, 10, 10}, 2, 0).EtaCorrected(); e != 0 {
		t.Errorf("corrected eta of independent counts %v, want 0", e)
	}
}

func TestUndefinedUntilTwoClasses(t *testing.T) {
	for _, n := range [][]float64{nil, {0, 0}, {5, 0, 7, 0}} {
		s := Summarise(n, 2, 0)
		near(t, "eta", s.Eta(), math.NaN(), 0)
		near(t, "corrected", s.EtaCorrected(), math.NaN(), 0)
		if len(n) > 0 {
			near(t, "cell", s.CellEta(0), math.NaN(), 0)
			near(t, "lift", s.Lift(0, 0), math.NaN(), 0)
		}
	}
	// A class that was never seen among three leaves the others defined.
	s := Summarise([]float64{5, 0, 1, 0, 0, 0, 1, 0, 5}, 3, 0)
	near(t, "lift of the unseen class", s.Lift(0, 1), math.NaN(), 0)
	near(t, "lift of an empty cell", s.Lift(1, 0), math.NaN(), 0)
	low, high := s.LiftInterval(1, 0)
	near(t, "low of an empty cell", low, 0, 0)
	near(t, "high of an empty cell", high, 2, 1e-12)
}

// TestLiftInterval compares with the ratio intervals that maximising the likelihood numerically gives (scipy), turned
// into lifts; statsmodels' confint_proportions_2indep(22, 90, 8, 10, compare="ratio", method="score", correction=False)
// gives the first one, too.
func TestLiftInterval(t *testing.T) {
	for _, c := range []struct{ nxy, nx, ny, n, low, high float64 }{
		{8, 10, 30, 100, 1.6869256912184218, 3.6133318270206805},
		{20, 20, 120, 1000, 7.013223880881477, 9.715919343135175},
		{0, 15, 40, 400, 0, 1.9231318160020412},
		{15, 15, 15, 200, 10.659097347706881, 200.0 / 15},
		{3, 50, 300, 5000, 0.3442356959249225, 2.6739902814022094},
		{0, 0, 40, 400, 0, 10},
		{40, 400, 40, 400, 1, 1},
	} {
		low, high := liftInterval(c.nxy, c.nx, c.ny, c.n, 1)
		near(t, "low", low, c.low, 1e-6)
		near(t, "high", high, c.high, 1e-6)
		// Twice the counts at half the scale are the same data.
		low2, high2 := liftInterval(2*c.nxy, 2*c.nx, 2*c.ny, 2*c.n, .5)
		near(t, "low at half the scale", low2, low, 1e-9)
		near(t, "high at half the scale", high2, high, 1e-9)
	}
	// The lift is inside, and more records make it narrower, whatever the counts.
	for seed := uint64(0); seed < 2000; seed++ {
		n := 2 + float64(mix(seed)%500)
		nx := math.Floor(n * float64(mix(seed+1)%100) / 100)
		nxy := math.Floor(nx * float64(mix(seed+2)%101) / 100)
		ny := nxy + math.Floor((n-nx)*float64(mix(seed+3)%101)/100)
		low, high := liftInterval(nxy, nx, ny, n, 1)
		if ny == 0 {
			if low == low || high == high {
				t.Fatalf("interval [%v, %v] of a class that was not seen", low, high)
			}
			continue
		}
		lift := nxy / nx * n / ny
		if !(low >= 0 && low <= high && !math.IsInf(high, 0)) || nx > 0 && (lift < low || lift > high) {
			t.Fatalf("n_xy %v n_x %v n_y %v n %v: lift %v, interval [%v, %v]", nxy, nx, ny, n, lift, low, high)
		}
		if nx > 0 && nx < n {
			l, h := liftInterval(nxy, nx, ny, n, 10)
			if l < low-1e-9 || h > high+1e-9 {
				t.Fatalf("n_xy %v n_x %v n_y %v n %v: [%v, %v], of ten times the records [%v, %v]", nxy, nx, ny, n, low, high, l, h)
			}
		}
	}
}

func example(class int32, weight, clock float64) *model.Example {
	return &model.Example{Class: class, Weight: weight, Clock: clock, Time: int64(clock * 1e9)}
}

// stream is a small generated stream of cells and examples.
func stream(n int, seed uint64) (cells []int, exs []*model.Example) {
	for i := 0; i < n; i++ {
		u := mix(seed + uint64(i))
		cells = append(cells, int(u%7))
		w := float64(1 + u>>8%3)
		exs = append(exs, example(int32((u>>16)%3), w, float64(i)))
	}
	return cells, exs
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func TestDecayIsTheWeightedBatch(t *testing.T) {
	const n = 20000
	cells, exs := stream(n, 1)
	half := math.Ln2 / .02 // 577 half-lives in all: rescales
	live := NewTable(3, model.HalfLife{Records: half})
	batch := make([]float64, 21)
	var sum, square float64
	for i, ex := range exs {
		live.Add(cells[i], ex)
		w := ex.Weight * math.Exp2((ex.Clock-n)/half)
		batch[cells[i]*3+int(ex.Class)] += w
		sum += w
		square += w * w
	}
	if live.base == 0 {
		t.Fatal("the test never rescaled")
	}
	a, b := Summarise(live.Counts(), 3, live.Effective()), Summarise(batch, 3, sum*sum/square)
	near(t, "eta", a.Eta(), b.Eta(), 1e-12)
	near(t, "effective", a.Effective/b.Effective, 1, 1e-12)
	near(t, "lift", a.Lift(2, 1), b.Lift(2, 1), 1e-12)
	var total float64
	for _, v := range live.Counts() {
		total += v
	}
	for i, v := range live.Counts() {
		near(t, "share", v/total, batch[i]/sum, 1e-12)
	}
}

func TestRetractAfterRescaleTakesBackWhatWasAdded(t *testing.T) {
	table := NewTable(3, model.HalfLife{Records: 10})
	first := example(1, 3, 4.25)
	table.Add(2, first)
	for c := 0.0; c < 4000; c += 100 {
		table.Add(1, example(0, 1, c))
	}
	table.Sub(2, first)
	if v := table.Counts()[2*3+1]; v != 0 {
		t.Errorf("left %v of a record that was taken back", v)
	}
}

func TestMergeOrderAndRetraction(t *testing.T) {
	cells, exs := stream(5000, 7)
	for _, half := range []model.HalfLife{{}, {Records: 6}, {Duration: 6e9}} {
		all, a, b := NewTable(3, half), NewTable(3, half), NewTable(3, half)
		backwards := NewTable(3, half)
		for i, ex := range exs {
			all.Add(cells[i], ex)
			if i%3 == 0 {
				a.Add(cells[i], ex)
			} else {
				b.Add(cells[i], ex)
			}
			j := len(exs) - 1 - i
			backwards.Add(cells[j], exs[j])
		}
		tolerance := 0.0
		if half != (model.HalfLife{}) {
			tolerance = 1e-12
		}
		// The older shard takes the newer one's base whichever merges whichever.
		merged := a.Clone()
		merged.Merge(b)
		for name, o := range map[string]*Table{"merged": merged, "backwards": backwards} {
			x, y := Summarise(all.Counts(), 3, all.Effective()), Summarise(o.Counts(), 3, o.Effective())
			for i := range all.n {
				near(t, name, o.n[i]/y.N, all.n[i]/x.N, tolerance)
			}
			near(t, name+" n_eff", o.Effective()/all.Effective(), 1, tolerance)
		}
		before := string(appendTable(nil, all))
		extraCells, extra := stream(50, 99)
		for i, ex := range extra {
			ex.Clock += 5000
			ex.Time += 5000e9
			all.Add(extraCells[i], ex)
		}
		for i, ex := range extra {
			all.Sub(extraCells[i], ex)
		}
		if half == (model.HalfLife{}) && before != string(appendTable(nil, all)) {
			t.Error("learning and retracting left a trace")
		}
	}
}

func TestWeightlessAndForeignExamplesChangeNothing(t *testing.T) {
	table := NewTable(2, model.HalfLife{})
	for _, ex := range []*model.Example{example(0, 0, 1), example(-1, 1, 1), example(2, 1, 1), example(0, math.NaN(), 1)} {
		table.Add(0, ex)
	}
	if table.Cells() != 0 || table.Effective() != 0 {
		t.Errorf("table changed: %v", table.Counts())
	}
}

// TestMillionRecordsDoNotDrift: after a million records, growing weights and their rescaling leave the counts at what
// the records alive sum up to, and counts without decay exact.
func TestMillionRecordsDoNotDrift(t *testing.T) {
	n := 1000000
	if testing.Short() {
		n = 100000
	}
	const half, cells, classes = 700.0, 5, 3
	decayed, whole := NewTable(classes, model.HalfLife{Records: half}), NewTable(classes, model.HalfLife{})
	want := make([]float64, cells*classes) // decayed to now, by the recursion n <- n/2^(1/half) + w
	exact := make([]float64, cells*classes)
	fade := math.Exp2(-1 / half)
	for i := range n {
		u := mix(uint64(i))
		x, y := int(u%cells), int(u>>8%classes)
		ex := example(int32(y), float64(1+u>>16%4), float64(i))
		decayed.Add(x, ex)
		whole.Add(x, ex)
		if i >= n-60*half { // older records weigh less than 1e-18
			for j := range want {
				want[j] *= fade
			}
			want[x*classes+y] += ex.Weight
		}
		exact[x*classes+y] += ex.Weight
		if i%1000 == 7 { // what is taken back leaves no trace
			decayed.Sub(x, ex)
			decayed.Add(x, ex)
		}
	}
	now := math.Exp2(float64(n-1)/half - decayed.base)
	total := 0.0
	for _, v := range want {
		total += v
	}
	for j, v := range decayed.Counts() {
		if math.Abs(v/now-want[j]) > 1e-12*total {
			t.Errorf("count %d is %v, want %v", j, v/now, want[j])
		}
	}
	if !slices.Equal(whole.Counts(), exact) {
		t.Errorf("counts %v, want %v", whole.Counts(), exact)
	}
}
