package propensity_test

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strconv"
	"testing"

	"liftstream/model"
	"liftstream/model/propensity"
)

// table is a file of one feature with levels, one number and a class, with the rows in an order of its own.
type table struct {
	level  []int
	number []float64
	class  []int32
}

func drawn(n int, levels int, odds func(level int, x float64) float64) *table {
	t := &table{}
	for i := range n {
		u := func(k uint64) float64 { return float64(model.Hash(7, uint64(i), k)>>11) / (1 << 53) }
		l, x := int(u(1)*float64(levels)), math.Round(u(2)*40)
		y := int32(0)
		if u(3) < 1/(1+math.Exp(-odds(l, x))) {
			y = 1
		}
		t.level, t.number, t.class = append(t.level, l), append(t.number, x), append(t.class, y)
	}
	return t
}

// batch returns the rows in the order given; levels are met in it.
func (t *table) batch(order []int) *model.Batch {
	b := &model.Batch{N: len(order), Columns: make([]model.Column, 2)}
	seen := map[int]uint32{}
	for _, i := range order {
		c, ok := seen[t.level[i]]
		if !ok {
			c = uint32(len(seen))
			seen[t.level[i]] = c
			b.Columns[0].Levels = append(b.Columns[0].Levels, "level "+strconv.Itoa(t.level[i]))
		}
		b.Columns[0].Code = append(b.Columns[0].Code, c)
		b.Columns[1].Float = append(b.Columns[1].Float, t.number[i])
		b.Label, b.Time = append(b.Label, t.class[i]), append(b.Time, int64(1+len(b.Row)))
		b.Row = append(b.Row, int32(len(b.Row)))
	}
	return b
}

func fileSpec(o propensity.Options) *model.Spec {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1,
		Features: []model.Feature{{Name: "a", Kind: model.Nominal}, {Name: "x"}}}
	return &model.Spec{Schema: s, Scorecard: propensity.New(o, s),
		Options: model.Options{TailBytes: 1 << 20, ReservoirRecords: 1000, ReservoirBytes: 1 << 20, Seed: 1}}
}

func upTo(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

func fitted(t *testing.T, spec *model.Spec, x *table, order []int) *model.Model {
	t.Helper()
	b := model.NewBuilder(spec)
	b.Add(x.batch(order))
	m, err := b.Fit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// scores returns the propensities of class 1 under the model.
func scores(t *testing.T, spec *model.Spec, m *model.Model, x *table) []float64 {
	t.Helper()
	p := model.NewPartition(spec, 0)
	if err := p.Swap(m); err != nil {
		t.Fatal(err)
	}
	b := x.batch(upTo(len(x.class)))
	for i := range b.Label {
		b.Label[i] = model.Unlabelled
	}
	var out model.Scores
	p.Events(b, &out)
	var y []float64
	for i := range x.class {
		y = append(y, out.P[2*i+1])
	}
	return y
}

// TestFilesHaveNoOrder: the same records sorted by label, by level and number, backwards and as they came give the same
// model, byte for byte.
func TestFilesHaveNoOrder(t *testing.T) {
	x := drawn(3000, 6, func(l int, x float64) float64 { return float64(l)/3 - 2 + x/40 })
	orders := map[string][]int{"by label": upTo(3000), "by value": upTo(3000), "backwards": upTo(3000)}
	slices.SortStableFunc(orders["by label"], func(a, b int) int { return int(x.class[b] - x.class[a]) })
	slices.SortStableFunc(orders["by value"], func(a, b int) int {
		return (x.level[b]-x.level[a])*100 + int(x.number[a]-x.number[b])
	})
	slices.Reverse(orders["backwards"])
	spec := fileSpec(propensity.Default())
	want := fitted(t, spec, x, upTo(3000)).AppendBinary(nil)
	for name, order := range orders {
		if !bytes.Equal(fitted(t, spec, x, order).AppendBinary(nil), want) {
			t.Errorf("%s: another model", name)
		}
	}
}

// TestMeanOfAFileIsItsRate: for any rate down to one in a thousand, and any change along the file.
func TestMeanOfAFileIsItsRate(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	for _, base := range []float64{-8, -3, 0} {
		x := drawn(20000, 6, func(l int, x float64) float64 { return base + float64(l)/4 + x/40 })
		order := upTo(len(x.class))
		slices.SortStableFunc(order, func(a, b int) int { return int(x.class[a] - x.class[b]) })
		spec := fileSpec(propensity.Default())
		p := scores(t, spec, fitted(t, spec, x, order), x)
		var mean, rate float64
		for i, y := range x.class {
			mean, rate = mean+p[i]/20000, rate+float64(y)/20000
		}
		if math.Abs(mean/rate-1) > .01 {
			t.Errorf("mean propensity %.5f, rate %.5f", mean, rate)
		}
	}
}

// TestLevelsOfNoMeaningAreFlat: five levels of the same rate have the same propensity, its rate, as far as their counts
// agree.
func TestLevelsOfNoMeaningAreFlat(t *testing.T) {
	x := drawn(20000, 5, func(int, float64) float64 { return -.85 })
	for i := range x.number {
		x.number[i] = float64(x.level[i])
	}
	spec := fileSpec(propensity.Default())
	p := scores(t, spec, fitted(t, spec, x, upTo(len(x.class))), x)
	var n, hit, sum [5]float64
	var rate float64
	for i, l := range x.level {
		n[l], hit[l], sum[l] = n[l]+1, hit[l]+float64(x.class[i]), sum[l]+p[i]
		rate += float64(x.class[i]) / 20000
	}
	for l := range n {
		if math.Abs(sum[l]/n[l]-rate) > .01 || math.Abs(sum[l]/n[l]-rate) > math.Abs(hit[l]/n[l]-rate)+.001 {
			t.Errorf("level %d: propensity %.4f, share %.4f, rate %.4f", l, sum[l]/n[l], hit[l]/n[l], rate)
		}
	}
}

// TestFilesFadeNowhere: the half-lives of a model of a file have no part in its scores.
func TestFilesFadeNowhere(t *testing.T) {
	x := drawn(3000, 6, func(l int, x float64) float64 { return float64(l)/3 - 2 + x/40 })
	var want []float64
	for _, half := range [][]model.HalfLife{{{}}, {{Records: 20}, {Records: 200}, {}}, {{Records: 3}, {Duration: 1000}}} {
		o := propensity.Default()
		o.HalfLives = half
		spec := fileSpec(o)
		got := scores(t, spec, fitted(t, spec, x, upTo(3000)), x)
		if want == nil {
			want = got
		}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-9 {
				t.Fatalf("half-lives %v: record %d has %v, without any %v", half, i, got[i], want[i])
			}
		}
	}
}
