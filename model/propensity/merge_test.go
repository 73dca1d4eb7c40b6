package propensity

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// cluster is a few partitions of one stream and the model that they share.
type cluster struct {
	t      *testing.T
	f      model.ScorecardFactory
	schema *model.Schema
	levels *model.Levels
	live   []*Scorecard
	seen   [][]model.Example
	part   []byte
	keys   [][]uint64 // of the inputs that the next fit offers
}

func newCluster(t *testing.T, s *model.Schema, l *model.Levels, n int) *cluster {
	c := &cluster{t: t, f: New(Default(), s), schema: s, levels: l, seen: make([][]model.Example, n)}
	for range n {
		c.live = append(c.live, c.f.New(l).(*Scorecard))
	}
	return c
}

// learn gives a record to a partition, on its own clock.
func (c *cluster) learn(p int, ex model.Example) {
	ex.Clock = float64(len(c.seen[p]))
	c.seen[p] = append(c.seen[p], ex)
	c.live[p].LearnScored(&ex, nil, nil)
}

// fit makes the next model from all partitions and lets it serve everywhere.
func (c *cluster) fit() {
	c.t.Helper()
	var all []model.Example
	var partition []int32
	for p := range c.seen {
		all = append(all, c.seen[p]...)
		partition = append(partition, slices.Repeat([]int32{int32(p)}, len(c.seen[p]))...)
	}
	ev := modeltest.Evidence(c.schema, c.levels, all)
	ev.Partition = partition
	states := map[int32][]byte{}
	for p, s := range c.live {
		states[int32(p)] = s.AppendState(nil)
	}
	ev.States, ev.Recodes, ev.Models = model.HeldStates(states), map[int32]model.Recode{}, map[int32]int64{}
	part, err := c.f.Fit(context.Background(), ev, &model.Offer{Keys: c.keys}, c.part)
	if err != nil {
		c.t.Fatal(err)
	}
	c.part = part
	for p, s := range c.live {
		if err := s.Rebase(&model.Rebase{Part: part, Self: int32(p), Clock: float64(len(c.seen[p]))}); err != nil {
			c.t.Fatal(err)
		}
	}
}

// total is the never-forgetting weight of a class in every partition.
func (c *cluster) total(class int32) (w float64) {
	for p := range c.seen {
		for _, ex := range c.seen[p] {
			if ex.Class == class {
				w += ex.Weight
			}
		}
	}
	return w
}

// TestPartitionsShare: after a fit every partition knows the counts of all, once, and another fit without news
// changes next to nothing.
func TestPartitionsShare(t *testing.T) {
	for name, schema := range schemas() {
		t.Run(name, func(t *testing.T) {
			l, ex := modeltest.Generate(schema, 1500, 3)
			c := newCluster(t, schema, l, 3)
			at := 0
			feed := func(n int) {
				for range n {
					c.learn(int(model.Hash(9, uint64(at))%3), ex[at])
					at++
				}
			}
			// The first structure comes from the untrained states: Fit runs the evidence.
			feed(600)
			for range 3 {
				c.fit()
				first := c.live[0].AppendState(nil)
				for round := range 2 {
					for p, s := range c.live {
						for y := range int32(s.classes) {
							got := s.cur.class[s.forever*s.classes+int(y)]
							if want := c.total(y); math.Abs(got-want) > 1e-6*want {
								t.Fatalf("round %d, partition %d: weight %v of class %d, want %v", round, p, got, y, want)
							}
						}
						var sum float64
						for cell := 0; cell < s.cellCount(&s.cur.feat[0]); cell++ {
							for y := range s.classes {
								sum += s.cur.feat[0].count[(cell*len(s.half)+s.forever)*s.classes+y]
							}
						}
						var want float64
						for y := range int32(s.classes) {
							want += c.total(y)
						}
						if math.Abs(sum-want) > 1e-6*want {
							t.Fatalf("round %d, partition %d: weight %v in the cells of a feature, want %v", round, p, sum, want)
						}
					}
					c.fit()
				}
				p, q := make([]float64, c.live[0].classes), make([]float64, c.live[0].classes)
				before := newScorecard(c.live[0].plan)
				if err := before.LoadState(first); err != nil {
					t.Fatal(err)
				}
				tolerance := 1e-6
				if before.bound {
					tolerance = 1e-2 // order moves cells that never learnt, and differently in each partition
				}
				for i := range ex {
					c.live[0].Score(ex[i].Row, nil, nil, p)
					before.Score(ex[i].Row, nil, nil, q)
					for y := range p {
						if math.Abs(p[y]-q[y]) > tolerance {
							t.Fatalf("record %d: propensity %v, before fits without news %v", i, p[y], q[y])
						}
					}
				}
				feed(300)
			}
		})
	}
}

// TestSharedWeights: weights of partitions are averaged by their sums of squared gradients, which they keep.
func TestSharedWeights(t *testing.T) {
	schema := schemas()["two"]
	l, ex := modeltest.Generate(schema, 900, 5)
	c := newCluster(t, schema, l, 2)
	for i := range ex {
		c.learn(i%2, ex[i])
		if i == 300 {
			c.fit()
		}
	}
	x, y := c.live[0].cur.in[3], c.live[1].cur.in[3]
	c.fit()
	got, other := c.live[0].cur.in[3], c.live[1].cur.in[3]
	for k := range cards {
		w := (x.g[k]*x.w[k] + y.g[k]*y.w[k]) / (x.g[k] + y.g[k])
		if math.Abs(got.w[k]-w) > 1e-12 || math.Abs(other.w[k]-w) > 1e-12 {
			t.Errorf("card %d: weights %v and %v, want %v", k, got.w[k], other.w[k], w)
		}
		if got.g[k] != x.g[k] || other.g[k] != y.g[k] {
			t.Errorf("card %d: sums of squared gradients moved", k)
		}
	}
}

// TestRestructure: when the cells of a feature change, the others keep their counts and weights bit for bit, and the
// changed one has counts of all records.
func TestRestructure(t *testing.T) {
	for _, name := range []string{"two", "many"} {
		schema := schemas()[name]
		l, ex := modeltest.Generate(schema, 1200, 4)
		c := newCluster(t, schema, l, 1)
		for i := range 400 {
			c.learn(0, ex[i])
		}
		c.fit()
		s := c.live[0]
		for i := 400; i < 1200; i++ {
			ex[i].Row[0] += 5 + float64(i)/400 // drifts out of its cells
			c.learn(0, ex[i])
		}
		was, kept := s.axes[0], s.cur.clone()
		c.fit()
		if s.axes[0].same(&was) {
			t.Fatal("cells of a feature that moved away are kept")
		}
		if !slices.Equal(s.cur.feat[5].count, kept.feat[5].count) || !slices.EqualFunc(s.cur.in, kept.in, besideTheBatch) {
			t.Error("a feature whose cells are adequate changed")
		}
		C := len(s.half) * s.classes
		for h := range s.half {
			var got, want float64
			for i, v := range s.cur.feat[0].count {
				if i%C/s.classes == h {
					got += v
				}
			}
			for i, v := range s.cur.feat[5].count {
				if i%C/s.classes == h {
					want += v
				}
			}
			if math.Abs(got-want) > 1e-9*want {
				t.Errorf("%s: horizon %d: weight %v in the new cells, want %v", name, h, got, want)
			}
		}
		check(t, "after", s, ex[1100].Row, nil)
	}
}

// besideTheBatch compares pairs but for the weight that a batch moves.
func besideTheBatch(a, b pair) bool {
	a.w[batchCard], b.w[batchCard] = 0, 0
	return a == b
}

// TestSince: a new structure learns the records that came after the model's share.
func TestSince(t *testing.T) {
	schema := schemas()["two"]
	l, ex := modeltest.Generate(schema, 700, 6)
	f := New(Default(), schema)
	whole, _ := f.Fit(context.Background(), modeltest.Evidence(schema, l, ex[:500]), nil, nil)
	since := func(yield func(*model.Example) bool) {
		for i := 500; i < 700; i++ {
			if !yield(&ex[i]) {
				return
			}
		}
	}
	a, b := f.New(l).(*Scorecard), f.New(l).(*Scorecard)
	if err := a.Rebase(&model.Rebase{Part: whole, Clock: 700, Since: since}); err != nil {
		t.Fatal(err)
	}
	if err := b.Rebase(&model.Rebase{Part: whole, Clock: 500}); err != nil {
		t.Fatal(err)
	}
	for i := 500; i < 700; i++ {
		b.LearnScored(&ex[i], nil, nil)
	}
	if !bytes.Equal(a.AppendState(nil), b.AppendState(nil)) {
		t.Error("learning since and learning live differ")
	}
}

// TestShareOfAnotherClock: a share may know more records than the partition has learnt, as that of files does, or that
// of a state which is lost. Its counts are those of now, and the partition forgets them by its own clock.
func TestShareOfAnotherClock(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	for name, schema := range schemas() {
		l, ex := modeltest.Generate(schema, 3000, 6)
		f := New(Default(), schema)
		fit := func(from int) []byte {
			part, err := f.Fit(context.Background(), modeltest.Evidence(schema, l, ex[from:]), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			return part
		}
		s := f.New(l).(*Scorecard)
		if err := s.Rebase(&model.Rebase{Part: fit(0), Clock: 10}); err != nil {
			t.Fatal(err)
		}
		C := s.classes
		learn := func(from, n, class int) {
			for i := range n {
				x := ex[i]
				x.Class, x.Weight, x.Clock, x.Time = int32(class), 1, float64(from+i), ex[len(ex)-1].Time
				s.LearnScored(&x, nil, nil)
			}
			if got := s.cur.class[class] / total(s.cur.class[:C]); got < .99 {
				t.Errorf("%s: after %d records of class %d the memory of 20 records holds %.3f of it", name, n, class, got)
			}
		}
		learn(10, 200, 1)
		for i := range ex {
			ex[i].Row[0] += 5
		}
		if err := s.Rebase(&model.Rebase{Part: fit(500), Clock: 210}); err != nil {
			t.Fatal(err)
		}
		if got := s.cur.feat[0].count; len(got) > 0 {
			var n float64
			for i := 0; i < len(got); i += len(s.half) * C {
				n += total(got[i : i+C])
			}
			if n /= s.clock.now[0]; n > 200 {
				t.Errorf("%s: the memory of 20 records holds %v records of one feature", name, n)
			}
		}
		learn(210, 200, 0)
	}
}

func total(v []float64) (sum float64) {
	for _, x := range v {
		sum += x
	}
	return sum
}

// TestRecode: renaming levels at a Rebase moves cells, not scores.
func TestRecode(t *testing.T) {
	schema := schemas()["many"]
	l, ex := modeltest.Generate(schema, 800, 8)
	c := newCluster(t, schema, l, 1)
	for i := range ex {
		c.learn(0, ex[i])
	}
	c.fit()
	s := c.live[0]
	n := l.Count(2)
	rc := make(model.Recode, len(schema.Features))
	rc[2] = make([]uint32, n)
	for k := range rc[2] {
		rc[2][k] = uint32((k + 2) % (n + 1)) // leaves a gap: the model knows a level that this partition does not
	}
	before := make([][]float64, len(ex))
	for i := range ex {
		before[i] = check(t, "before", s, ex[i].Row, nil)
	}
	if err := s.Rebase(&model.Rebase{Part: c.part, Recode: rc, Clock: 800}); err != nil {
		t.Fatal(err)
	}
	for i := range ex {
		row := slices.Clone(ex[i].Row)
		row[2] = rc.Value(2, row[2])
		for y, v := range check(t, "after", s, row, nil) {
			if math.Abs(v-before[i][y]) > 1e-12 {
				t.Fatalf("record %d: propensity %v, before %v", i, v, before[i][y])
			}
		}
	}
}

// TestNeighboursAtTheEndsOfNumbers: the share of the neighbouring cell is one, however near to each other or far apart
// the cells are.
func TestNeighboursAtTheEndsOfNumbers(t *testing.T) {
	for _, unit := range []float64{5e-324, 1e-320, 1e-300, 1, 4e307} {
		a := axis{edges: []float64{-4 * unit, -2 * unit, 0, 2 * unit, 4 * unit},
			gap: []int32{1, 2, 3, 4, 5, 6}, at: []int32{1, 2, 3, 4, 5}, cells: 7, smooth: true, scale: 1}
		near := a.neighbourhoods()
		for _, v := range []float64{-math.MaxFloat64, -4 * unit, -3 * unit, -unit, 0, unit,
			2 * unit, 3 * unit, 4 * unit, math.MaxFloat64} {
			_, at := a.place(v)
			if cell, part := near[at].beside(v); !(part >= 0 && part <= 1) || part > 0 && cell == cellMissing {
				t.Errorf("units of %v: of %v the share of cell %d is %v", unit, v, cell, part)
			}
		}
	}
}

func TestCells(t *testing.T) {
	p := fitter{newPlan(Default(), schemas()["two"])}
	values, weights := []float64{}, []float64{}
	for i := range 1000 {
		v := float64(i)
		if i%5 == 0 {
			v = 0
		}
		if i%50 == 1 {
			v = math.NaN()
		}
		values, weights = append(values, v), append(weights, 1)
	}
	a := p.cut(values, weights, false)
	mass := make([]int, a.cells)
	for _, v := range values {
		mass[a.find(v)]++
	}
	if mass[cellMissing] != 20 || mass[a.find(0)] != 200 {
		t.Errorf("missing %d, zeros %d", mass[cellMissing], mass[a.find(0)])
	}
	if a.cells != 1+15+1 {
		t.Errorf("%d cells, want missing, an atom and 15", a.cells)
	}
	for c, n := range mass {
		if c > 0 && c < 16 && (n < 50 || n > 54) {
			t.Errorf("cell %d holds %d of 780", c, n)
		}
	}
	if !p.adequate(&a, values, weights) {
		t.Error("cells are inadequate for what they were cut from")
	}
	for i := range values {
		values[i] += 700
	}
	if p.adequate(&a, values, weights) {
		t.Error("cells are adequate for what lies outside")
	}
	for _, e := range a.edges {
		for _, v := range []float64{e, math.Nextafter(e, math.Inf(1)), math.Nextafter(e, math.Inf(-1))} {
			if c := a.find(v); c < cellFirst || c >= a.cells {
				t.Errorf("cell %d of %v", c, v)
			}
		}
	}
}

// fuzzed returns factories of small states, so that mutations hit the numbers that matter.
func fuzzed() []model.ScorecardFactory {
	opt := Options{Cells: 2, HalfLives: []model.HalfLife{{Records: 20}}, Linear: true, Calibration: Calibration{Knots: 2}}
	var out []model.ScorecardFactory
	for _, classes := range [][]string{{"no", "yes"}, {"no", "maybe", "yes"}} {
		out = append(out, New(opt, &model.Schema{Classes: classes, Positive: 1, Features: []model.Feature{
			{Name: "a", Kind: model.Continuous, Monotone: model.Up}, {Name: "b", Kind: model.Nominal}}}))
	}
	return out
}

// fuzzRows are rows of the schemas of fuzzed.
var fuzzRows = []model.Row{{1, 0}, {2, 1}, {math.NaN(), math.NaN()}, {-3, 2}, {0, model.MaxLevels},
	{0, model.Cell(model.MaxLevels + 7)}}

func FuzzLoadState(f *testing.F) {
	for _, fac := range fuzzed() {
		ev := &model.Evidence{Columns: make([][]float64, 2), Schema: &model.Schema{
			Features: make([]model.Feature, 2), Classes: make([]string, fac.(factory).classes)}}
		for i := range 20 {
			row := fuzzRows[i%len(fuzzRows)]
			ev.Columns[0], ev.Columns[1] = append(ev.Columns[0], row[0]+float64(i)), append(ev.Columns[1], row[1])
			ev.Class, ev.Weight = append(ev.Class, int32(i%2)), append(ev.Weight, 1)
		}
		part, err := fac.Fit(context.Background(), ev, nil, nil)
		if err != nil {
			f.Fatal(err)
		}
		s := fac.New(nil).(*Scorecard)
		if err := s.Rebase(&model.Rebase{Part: part, Clock: 20}); err != nil {
			f.Fatal(err)
		}
		f.Add(s.AppendState(nil))
		f.Add(part)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, fac := range fuzzed() {
			s := fac.New(nil).(*Scorecard)
			if s.LoadState(b) != nil {
				s = fac.New(nil).(*Scorecard)
				if s.Rebase(&model.Rebase{Part: b}) != nil {
					continue
				}
			}
			p := make([]float64, s.classes)
			for i, row := range fuzzRows {
				s.Score(row, nil, nil, p)
				s.LearnScored(&model.Example{Row: row, Class: int32(i % 2), Weight: 1, Clock: float64(i)}, nil, nil)
			}
			again := newScorecard(s.plan)
			_ = again.LoadState(s.AppendState(nil))
		}
	})
}
