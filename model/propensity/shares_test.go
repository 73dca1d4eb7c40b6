package propensity

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// sumsOf are the counts, moments and masses that a share must hold, summed record by record under the axes of a part,
// each record weighed by its age beside one that the partition learns next.
func sumsOf(p *plan, axes []axis, seen []model.Example) contribution {
	c := contribution{t: p.newTables(), prior: make([]float64, len(p.half)), records: float64(len(seen))}
	for _, ex := range seen {
		c.time = max(c.time, ex.Time)
	}
	age := func(h int, clock float64, time int64) float64 {
		switch {
		case p.half[h].Records > 0:
			return math.Exp2((clock - c.records) / p.half[h].Records)
		case p.half[h].Duration > 0:
			return math.Exp2(float64(time-c.time) / float64(p.half[h].Duration))
		}
		return 1
	}
	for h := range p.half {
		c.prior[h] = age(h, 0, seen[0].Time)
	}
	C, n := p.classes, len(p.half)*p.classes
	for _, ex := range seen {
		w := min(ex.Weight, model.MaxWeight)
		c.mass.weight, c.mass.square = c.mass.weight+w, c.mass.square+w*w
		for h := range p.half {
			by := w * age(h, ex.Clock, ex.Time)
			c.t.class[h*C+int(ex.Class)] += by
			for i := range p.features {
				f := &p.features[i]
				cell := fitter{p}.cell(f, &axes[i], ex.Row[f.index])
				p.resize(&c.t.feat[i], cell+1, pair{})
				c.t.feat[i].count[cell*n+h*C+int(ex.Class)] += by
			}
		}
		for i := range p.features {
			if f := &p.features[i]; f.linear >= 0 && f.number(ex.Row[f.index]) {
				u := (ex.Row[f.index] - axes[i].center) / axes[i].scale
				for k, v := range [3]float64{w, w * u, w * u * u} {
					c.t.mom[3*f.linear+k] += v
				}
			}
		}
	}
	return c
}

// sameSums compares counts, moments and masses; cells without records need not be there.
func sameSums(t *testing.T, what string, got, want *contribution) {
	t.Helper()
	compare := func(name string, a, b []float64) {
		t.Helper()
		for i := range max(len(a), len(b)) {
			x, y := 0., 0.
			if i < len(a) {
				x = a[i]
			}
			if i < len(b) {
				y = b[i]
			}
			if !(math.Abs(x-y) <= 1e-7*(1+math.Abs(y))) {
				t.Fatalf("%s: %s %d is %v, want %v", what, name, i, x, y)
			}
		}
	}
	compare("count of class", got.t.class, want.t.class)
	for f := range want.t.feat {
		compare("count of a feature", got.t.feat[f].count, want.t.feat[f].count)
	}
	compare("moment", got.t.mom, want.t.mom)
	compare("pseudo-record", got.prior, want.prior)
	compare("mass, records, time, of", []float64{got.mass.weight, got.mass.square, got.records, float64(got.time)},
		[]float64{want.mass.weight, want.mass.square, want.records, float64(want.time)})
}

// TestSharesAreThoseOfTheRecords: every share of a part holds the sums of its partition's records under the part's
// cells, whether the partition had a structure or not, and whether the cells are old or new. A partition that begins
// with the part goes on like the one that has learnt the records.
func TestSharesAreThoseOfTheRecords(t *testing.T) {
	for _, name := range []string{"two", "many", "two monotone"} {
		schema := schemas()[name]
		l, ex := modeltest.Generate(schema, 1400, 29)
		opt := Default()
		opt.HalfLives = []model.HalfLife{{Records: 30}, {Duration: 40e9}, {Duration: 500e9}, {}}
		c := newCluster(t, schema, l, 2)
		c.f = New(opt, schema)
		for p := range c.live {
			c.live[p] = c.f.New(l).(*Scorecard)
		}
		changed := 0
		for i := range ex {
			e := ex[i]
			e.Time += 1e9
			if i%400 == 7 {
				e.Weight = 4 * model.MaxWeight
				e.Time -= 5e9 // older than the records before
			}
			if i > 900 && i%2 == 0 { // the first feature moves away in one partition
				e.Row[0] += 6
			}
			if i%7 != 0 {
				c.learn(i%2, e)
			} else {
				c.learn(0, e)
			}
			if i != 300 && i != 850 && i != len(ex)-1 {
				continue
			}
			was := c.live[0].axes
			c.fit()
			for f := range was {
				if !was[f].same(&c.live[0].axes[f]) {
					changed++
				}
			}
			m, err := c.live[0].readPart(c.part)
			if err != nil {
				t.Fatal(err)
			}
			for p := range c.live {
				s := c.live[p]
				want := sumsOf(s.plan, m.axes, c.seen[p])
				sameSums(t, name+": share of the part", &m.shares[p], &want)
				own := s.share(int32(p))
				sameSums(t, name+": share of the partition that took the part", &own, &want)
				begun := c.f.New(l).(*Scorecard)
				rb := &model.Rebase{Part: c.part, Self: int32(p), Clock: float64(len(c.seen[p])), Time: want.time}
				if err := begun.Rebase(rb); err != nil {
					t.Fatal(err)
				}
				other := begun.share(int32(p))
				sameSums(t, name+": share of a partition that begins with the part", &other, &want)
				if begun.lag != s.lag || begun.mix.own != s.mix.own || !slices.Equal(begun.mix.away, s.mix.away) ||
					begun.others != s.others || begun.unit != s.unit {
					t.Errorf("%s: begun with the part: lag %v, mixture %v, others %v; the partition had %v, %v, %v", name,
						begun.lag, begun.mix, begun.others, s.lag, s.mix, s.others)
				}
			}
		}
		comesLate(t, name, c, ex)
		if changed == 0 {
			t.Errorf("%s: no cells changed: the test says nothing of new ones", name)
		}
	}
}

// comesLate lets partition 1 take a model that is older than its newest records: these are learnt under the cells of
// the model, and the clock is the partition's.
func comesLate(t *testing.T, name string, c *cluster, ex []model.Example) {
	t.Helper()
	s, behind := c.live[1], []byte(nil)
	seen := len(c.seen[1])
	for i := range 200 {
		e := ex[i]
		e.Row = slices.Clone(e.Row)
		e.Row[0] -= 9
		e.Time = int64(2000+i) * 1e9
		if i%50 == 3 {
			e.Weight = 2 * model.MaxWeight
		}
		c.learn(1, e)
		if i == 120 {
			was := slices.Clone(c.live[0].axes)
			c.live[1] = newScorecard(s.plan)
			if err := c.live[1].LoadState(s.AppendState(nil)); err != nil {
				t.Fatal(err)
			}
			c.fit()
			behind, seen = c.part, len(c.seen[1])
			if was[0].same(&c.live[0].axes[0]) {
				t.Fatalf("%s: the cells of the first feature did not change", name)
			}
			c.live[1] = s
		}
	}
	since := func(yield func(*model.Example) bool) {
		for i := seen; i < len(c.seen[1]) && yield(&c.seen[1][i]); i++ {
		}
	}
	rb := &model.Rebase{Part: behind, Self: 1, Clock: float64(len(c.seen[1]) + 5), Since: since}
	if err := s.Rebase(rb); err != nil {
		t.Fatal(err)
	}
	if want := float64(len(c.seen[1]) + 5); s.clock.records != want {
		t.Errorf("%s: the clock of the partition is %v, want %v", name, s.clock.records, want)
	}
	want := sumsOf(s.plan, s.axes, c.seen[1])
	own := s.share(1)
	for h, half := range s.half { // the clock went on by five records
		by := 1.
		if half.Records > 0 {
			by = math.Exp2(-5 / half.Records)
		}
		for i := range want.t.class[h*s.classes : (h+1)*s.classes] {
			want.t.class[h*s.classes+i] *= by
		}
		for f := range want.t.feat {
			for i := range want.t.feat[f].count {
				if i/s.classes%len(s.half) == h {
					want.t.feat[f].count[i] *= by
				}
			}
		}
		want.prior[h] *= by
	}
	want.records += 5
	sameSums(t, name+": share after a model that came late", &own, &want)
}

// TestAPartitionForgetsByItsOwnTime: a share of a time that a partition has not reached is taken to be of its time.
func TestAPartitionForgetsByItsOwnTime(t *testing.T) {
	schema := schemas()["two"]
	l, ex := modeltest.Generate(schema, 400, 31)
	opt := Default()
	opt.HalfLives = []model.HalfLife{{Duration: 50e9}, {}}
	f := New(opt, schema)
	for i := range ex {
		ex[i].Time += 1e12
	}
	part, err := f.Fit(t.Context(), modeltest.Evidence(schema, l, ex), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, now := range []int64{200e9, 5e12} {
		s := f.New(l).(*Scorecard)
		if err := s.Rebase(&model.Rebase{Part: part, Clock: 400, Time: now}); err != nil {
			t.Fatal(err)
		}
		was := s.share(0)
		if want := min(now, ex[len(ex)-1].Time); s.clock.time != want {
			t.Errorf("at %d the partition is at the time %d, want %d", now, s.clock.time, want)
		}
		next := ex[0]
		next.Clock, next.Time = 400, s.clock.time+50e9 // a half-life later
		s.Learn(&next)
		is := s.share(0)
		for y := range 2 {
			want := was.t.class[y] / 2
			if y == int(next.Class) {
				want += next.Weight
			}
			if got := is.t.class[y]; math.Abs(got-want) > 1e-9*want {
				t.Errorf("at %d: class %d weighs %v a half-life later, want %v", now, y, got, want)
			}
		}
	}
}

// TestNewCellsBeginWithTheWeightsOfTheirValues: each new cell has the weights that some value of it had before.
func TestNewCellsBeginWithTheWeightsOfTheirValues(t *testing.T) {
	p := newPlan(Default(), schemas()["many"])
	values, weights := make([]float64, 600), slices.Repeat([]float64{1}, 600)
	cutOf := func(shift, atom float64) axis {
		for i := range values {
			values[i] = shift + math.Sin(float64(i))*10
			if i%4 == 0 {
				values[i] = atom
			}
		}
		return fitter{p}.cut(values, weights, false)
	}
	axes := []axis{{gap: []int32{1}, cells: 2, scale: 1}, cutOf(0, 3), cutOf(4, -1), cutOf(0, -10)}
	for a := range axes {
		for b := range axes {
			from, to := &axes[a], &axes[b]
			K := p.margins
			src, dst := make([]pair, from.cells*K), make([]pair, to.cells*K)
			for i := range src {
				src[i] = pair{w: [cards]float64{float64(i), 1}, g: [cards]float64{2, float64(i)}}
			}
			p.inherit(dst, src, from, to)
			ok := make([]bool, to.cells)
			try := func(v float64) {
				c, o := to.find(v), from.find(v)
				ok[c] = ok[c] || slices.Equal(dst[c*K:(c+1)*K], src[o*K:(o+1)*K])
			}
			try(math.NaN())
			for v := -30.; v <= 30; v += .01 {
				try(v)
			}
			for _, e := range slices.Concat(from.edges, to.edges) {
				for _, v := range []float64{math.Nextafter(e, -100), e, math.Nextafter(e, 100)} {
					try(v)
				}
			}
			if c := slices.Index(ok, false); c >= 0 {
				t.Errorf("axes %d to %d: cell %d begins with %v, the weights of none of its values", a, b, c, dst[c*K])
			}
		}
	}
}

// TestRenamedLevelsKeepTheirCounts: under new codes every level has the counts of before, its own and those of other
// partitions; the levels that lose their cells are added up in the cell of the others.
func TestRenamedLevelsKeepTheirCounts(t *testing.T) {
	c, _ := grown(t, schemas()["many"], 2)
	for _, limit := range []int{1 << 10, 3} {
		s := newScorecard(c.live[0].plan)
		if err := s.LoadState(c.live[0].AppendState(nil)); err != nil {
			t.Fatal(err)
		}
		small := *s.plan
		small.levels = limit
		s.plan = &small
		f := slices.IndexFunc(s.features, func(x feature) bool { return x.kind == model.Nominal && x.fixed == 0 })
		n := s.cellCount(&s.cur.feat[f]) - cellLevels
		if n < 5 {
			t.Fatalf("%d levels are too few", n)
		}
		rc := make(model.Recode, len(s.schema.Features))
		at := s.features[f].index
		for k := range n {
			rc[at] = append(rc[at], uint32((k*3+1)%(n+2))) // some codes are another partition's
		}
		wide := len(s.half) * s.classes
		all, own := [2][]float64{}, s.share(0).t.feat[f].count
		for k, t := range []*tables{s.cur, s.away} {
			all[k] = slices.Clone(t.feat[f].count)
		}
		if !s.recode(rc) {
			t.Fatal("nothing was renamed")
		}
		check := func(what string, got, was []float64) {
			t.Helper()
			want := make([]float64, len(was)+(n+4)*wide)
			for cell := range len(was) / wide {
				to := cell
				if cell >= cellLevels {
					to = cellLevels + int(rc[at][cell-cellLevels])
					if to-cellLevels >= limit {
						to = cellOther
					}
				}
				addFloats(want[to*wide:(to+1)*wide], was[cell*wide:(cell+1)*wide], 1)
			}
			for i, v := range want {
				x := 0.
				if i < len(got) {
					x = got[i]
				}
				if math.Abs(x-v) > 1e-9*(1+v) {
					t.Fatalf("at most %d levels: %s: count %d is %v, want %v", limit, what, i, x, v)
				}
			}
		}
		check("all", s.cur.feat[f].count, all[0])
		check("of the others", s.away.feat[f].count, all[1])
		check("its own", s.share(0).t.feat[f].count, own)
	}
}
