package lift

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

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
		// The older shard takes the base of the newer one, in either order of merging.
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

// TestMillionRecordsDoNotDrift: after a million records, growing weights and their rescaling leave the counts at the
// sums over the records alive, and counts without decay exact.
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
		if i%1000 == 7 { // a record that is taken back leaves no trace
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
