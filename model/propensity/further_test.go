package propensity

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// beyondCode is the cell of a Row of a further level by its number.
func beyondCode(k int) float64 {
	return model.Cell(model.MaxLevels + 1 + uint32(model.Hash(7, uint64(k))%model.MostFurther))
}

// crowd is a stream of a number and a level, of which low numbers come often: 3,000 levels by 1/rank. Of planted levels
// each has log-odds of its own. code gives the cell of the Row for a level.
func crowd(n, classes int, planted bool, code func(k int) float64) (*model.Schema, []model.Example) {
	s := &model.Schema{Positive: -1, Features: []model.Feature{{Name: "x", Kind: model.Continuous},
		{Name: "u", Kind: model.Nominal}}}
	for y := range classes {
		s.Classes = append(s.Classes, fmt.Sprint("c", y))
	}
	out := make([]model.Example, n)
	for i := range out {
		u := func(what uint64) float64 { return float64(model.Hash(3, uint64(i), what)>>11) / (1 << 53) }
		k := int(math.Exp(u(1)*math.Log(3000))) - 1
		z := 2 * (u(2) - .5)
		if planted {
			z += 6 * (float64(model.Hash(4, uint64(k))>>11)/(1<<53) - .5)
		}
		ex := &out[i]
		ex.Row, ex.Weight, ex.Clock, ex.Time = model.Row{u(2), code(k)}, 1, float64(i), int64(i)
		if u(3) < sigmoid(z) {
			ex.Class = 1 + int32(model.Hash(5, uint64(k))%uint64(classes-1))
		}
	}
	return s, out
}

// lossOf is the log-loss of a stream behind its first 1,000 records, the first 500 of which a model was fitted on.
func lossOf(t *testing.T, s *model.Schema, ex []model.Example) (sum float64) {
	t.Helper()
	c := newCluster(t, s, model.NewLevels(s), 1)
	p := make([]float64, len(s.Classes))
	for i := range ex {
		if i == 500 {
			c.fit()
		}
		if c.live[0].Score(ex[i].Row, nil, nil, p); i >= 1000 {
			sum -= math.Log(p[ex[i].Class])
		}
		c.learn(0, ex[i])
	}
	return sum / float64(len(ex)-1000)
}

// TestFurtherLevelsTell: levels without a code of their own score nearly as well as with one where they tell the class,
// and cost next to nothing where they tell nothing. Counts of all levels, few enough here for codes of their own, are
// the oracle.
func TestFurtherLevelsTell(t *testing.T) {
	own := func(k int) float64 { return float64(k) }
	other := func(int) float64 { return model.MaxLevels }
	for _, c := range []struct {
		classes  int
		planted  bool
		gain     float64 // at least, over one cell for all levels
		cost     float64 // at most, beside the oracle and beside one cell for all levels
		fromBest float64
	}{{2, true, .04, 0, .003}, {4, true, .04, 0, .01}, {2, false, 0, .0005, .0005}} {
		loss := func(code func(int) float64) float64 {
			s, ex := crowd(12000, c.classes, c.planted, code)
			return lossOf(t, s, ex)
		}
		oracle, one, got := loss(own), loss(other), loss(beyondCode)
		t.Logf("%d classes, planted %v: %.4f, oracle %.4f, one cell %.4f", c.classes, c.planted, got, oracle, one)
		if got > one-c.gain+c.cost || got > oracle+c.fromBest {
			t.Errorf("%d classes, planted %v: log-loss %.4f, of the oracle %.4f, of one cell %.4f", c.classes, c.planted, got,
				oracle, one)
		}
	}
}

// TestTheInputsOfAFurtherLevel follow the formula of METHOD.md 1.5 from its first record on, over the half-life that
// never fades, with counts kept here.
func TestTheInputsOfAFurtherLevel(t *testing.T) {
	for _, classes := range []int{2, 3} {
		s, ex := crowd(3000, classes, true, beyondCode)
		c := newCluster(t, s, model.NewLevels(s), 1)
		for i := range 500 {
			c.learn(0, ex[i])
		}
		c.fit()
		live := c.live[0]
		byLevel, others, all := map[float64][]float64{}, make([]float64, classes), make([]float64, classes)
		count := func(ex *model.Example) {
			if byLevel[ex.Row[1]] == nil {
				byLevel[ex.Row[1]] = make([]float64, classes)
			}
			for _, n := range [][]float64{byLevel[ex.Row[1]], others, all} {
				n[ex.Class]++
			}
		}
		for i := range 500 {
			count(&ex[i])
		}
		checked := 0
		pending, p := make([]float64, live.PendingLen()), make([]float64, classes)
		for i := 500; i < len(ex); i++ {
			live.Score(ex[i].Row, nil, pending, p)
			n, records := byLevel[ex[i].Row[1]], 0.
			if n == nil {
				n = make([]float64, classes)
			}
			for _, v := range n {
				records += v
			}
			sum := 0.
			for _, v := range all {
				sum += v + 1.1 // the pseudo-record, and rateFloor
			}
			level := make([]float64, classes) // log-lifts
			for y := range level {
				h := (all[y] + 1.1) / sum
				q := (others[y] + 5*h) / (float64(i) + 5)
				level[y] = math.Log((n[y] + 5*q) / (records + 5) / h)
			}
			H := live.horizons
			m := live.memoryOf(pending)
			got := m.input(1*H+H-1, live.margins)
			for y := range got {
				want := level[y]
				if classes == 2 {
					want = level[1] - level[0]
				}
				if records > 0 {
					checked++
				}
				if live.cur.feat[1].further.find(live.features[1].beyond(live.levels, ex[i].Row[1])) < 0 && records > 0 {
					t.Fatalf("record %d: a level of %v records has no cell", i, records)
				}
				if records > 0 && math.Abs(got[y]-want) > 1e-6 {
					t.Fatalf("%d classes, record %d, margin %d: input %v, want %v", classes, i, y, got[y], want)
				}
			}
			c.learn(0, ex[i])
			count(&ex[i])
		}
		if checked < 1000 {
			t.Errorf("%d inputs of known levels", checked)
		}
	}
}

// furtherWeight is the weight of a level over the half-life that never fades, by class.
func furtherWeight(s *Scorecard, v float64) []float64 {
	n := s.cur.feat[1].further.counts(s.features[1].beyond(s.levels, v))
	if n == nil {
		return make([]float64, s.classes)
	}
	return n[s.forever*s.classes : (s.forever+1)*s.classes]
}

// TestFurtherLevelsOfPartitions: after a fit every partition knows the records of all, once, and knows them still after
// another fit without news.
func TestFurtherLevelsOfPartitions(t *testing.T) {
	s, ex := crowd(3000, 3, true, beyondCode)
	c := newCluster(t, s, model.NewLevels(s), 3)
	want := map[float64][]float64{}
	at := 0
	for _, n := range []int{900, 700, 0, 700} {
		for range n {
			c.learn(int(model.Hash(9, uint64(at))%3), ex[at])
			if v := ex[at].Row[1]; want[v] == nil {
				want[v] = make([]float64, 3)
			}
			want[ex[at].Row[1]][ex[at].Class]++
			at++
		}
		c.fit()
		c.fit()
		for p, live := range c.live {
			for v, w := range want {
				for y, got := range furtherWeight(live, v) {
					if math.Abs(got-w[y]) > 1e-9*(1+w[y]) {
						t.Fatalf("%d records, partition %d, level %v, class %d: weight %v, want %v", at, p, v, y, got, w[y])
					}
				}
			}
		}
	}
}

// TestRetractedFurtherLevels: a record that is taken back leaves the counts of its level as they were, and a level
// without a cell loses nothing that is not its own.
func TestRetractedFurtherLevels(t *testing.T) {
	s, ex := crowd(1500, 2, true, beyondCode)
	c := newCluster(t, s, model.NewLevels(s), 1)
	for i := range ex {
		if i == 500 {
			c.fit()
		}
		c.learn(0, ex[i])
	}
	live := c.live[0]
	before := live.share(0).t
	for i := range 100 {
		e := ex[i*7]
		e.Class, e.Clock = 1-e.Class, live.clock.records
		live.Learn(&e)
		live.Retract(&e)
	}
	never := model.Example{Row: model.Row{.5, beyondCode(1 << 20)}, Class: 1, Weight: 1, Clock: live.clock.records}
	live.Retract(&never)
	after := live.share(0).t
	x, y := before.feat[1].further, after.feat[1].further
	for i, level := range x.level {
		if y.level[i] != level {
			t.Fatalf("cell %d holds level %d, it was %d", i, y.level[i], level)
		}
		for k := range live.classes {
			at := live.forever*live.classes + k
			if got, want := y.at(i)[at], x.at(i)[at]; got != want && level != 0 {
				t.Errorf("level %d, class %d: weight %v, it was %v", level, k, got, want)
			}
		}
	}
}

// TestALevelKeepsItsCell: a level that comes once in 40 records has its cell at each of them but the first, beside
// any number of others; the table does not grow.
func TestALevelKeepsItsCell(t *testing.T) {
	const n = 60000
	p := newPlan(Options{HalfLives: []model.HalfLife{{Records: 2000}, {}}}, manyLevels(1, 2))
	s := newScorecard(p)
	s.axes = []axis{{}}
	p.startCells(s.cur, s.axes)
	s.derive()
	lost := 0
	for i := range n {
		v := beyondCode(1000 + i)
		if i%40 == 0 {
			v = beyondCode(i / 40 % 10)
		}
		s.locate(model.Row{v})
		if i%40 == 0 && i >= 400 && s.far[0] < 0 {
			lost++
		}
		s.Learn(&model.Example{Row: model.Row{v}, Class: int32(i % 2), Weight: 1, Clock: float64(i)})
	}
	used := 0
	for _, level := range s.cur.feat[0].further.level {
		if level != 0 {
			used++
		}
	}
	if lost > 0 || used > p.further || used < p.further*9/10 || p.further != 1<<14 {
		t.Errorf("frequent levels had no cell at %d records; %d of %d cells are used", lost, used, p.further)
	}
	var others float64
	for _, v := range s.cur.feat[0].count[(cellOther*2+s.forever)*2 : (cellOther*2+s.forever)*2+2] {
		others += v
	}
	if others != n {
		t.Errorf("the others count %v records, want %d", others, n)
	}
}

// TestRoomForALevel: the weakest level of a set loses its cell, the first of equals, and only to a stronger one.
func TestRoomForALevel(t *testing.T) {
	p := newPlan(Default(), manyLevels(1, 2))
	x := newFurther(&p.layout)
	sets := uint32(len(x.level) / furtherWays)
	at := 0
	for _, h := range p.half[:p.forever] {
		if h.Records < 2000 {
			at += 2
		}
	}
	for i := range uint32(furtherWays) {
		cell, lost := x.room(5+i*sets, 0)
		if cell != x.set(5)+int(i) || lost != 0 {
			t.Fatalf("level %d gets cell %d and takes it from %d", i, cell, lost)
		}
		x.at(cell)[at] = []float64{9, 3, 7, 3, 8, 8, 8, 8}[i]
	}
	for _, c := range []struct {
		strength float64
		cell     int
	}{{3, -1}, {3.1, 1}, {3.1, 1}, {math.Inf(1), 1}} {
		was := x.level[x.set(5)+1]
		cell, lost := x.room(5+100*sets, c.strength)
		if want := c.cell; want >= 0 && (cell != x.set(5)+want || lost != was) || want < 0 && (cell != -1 || lost != 0) {
			t.Errorf("strength %v: cell %d of %d, lost by %d", c.strength, cell, x.set(5)+want, lost)
		}
	}
	if x.find(5+sets) >= 0 || x.find(5) < 0 || x.find(0) >= 0 {
		t.Error("the weakest level still has a cell, or the strongest none")
	}
	for _, c := range []struct{ features, classes, want int }{{1, 2, 1 << 14}, {64, 2, 1 << 13}, {1, 26, 1 << 10},
		{1000, 2, 1 << 9}, {1000, 1000, furtherWays}} {
		if p := newPlan(Default(), manyLevels(c.features, c.classes)); p.further != c.want {
			t.Errorf("%d features, %d classes: %d cells, want %d", c.features, c.classes, p.further, c.want)
		}
	}
}

// TestCodesWithoutACell: with many classes a code beyond those with a cell is a further level. It keeps its counts when
// its code changes, and when a code becomes a further level.
func TestCodesWithoutACell(t *testing.T) {
	p := newPlan(Default(), manyLevels(20, 30))
	s := newScorecard(p)
	s.axes = make([]axis, 20)
	p.startCells(s.cur, s.axes)
	s.derive()
	row := make(model.Row, 20)
	for k, v := range []float64{2000, 2000, 2000, 7, 7, beyondCode(1)} {
		for f := range row {
			row[f] = v
		}
		s.Learn(&model.Example{Row: row, Class: 4, Weight: 1, Clock: float64(k)})
	}
	codes := make([]uint32, model.MaxLevels)
	for i := range codes {
		codes[i] = uint32(i)
	}
	codes[2000], codes[10], codes[7] = 10, 2000, model.MaxLevels+77
	rc := make(model.Recode, 20)
	for f := range rc {
		rc[f] = codes
	}
	at := s.forever*30 + 4
	weight := func(v float64) float64 {
		f := &s.features[3]
		if level := f.beyond(s.levels, v); level != 0 {
			if n := s.cur.feat[3].further.counts(level); n != nil {
				return n[at]
			}
			return 0
		}
		c := s.level(f, v)
		if c >= s.cellCount(&s.cur.feat[3]) {
			return 0
		}
		return s.cur.feat[3].count[c*len(s.half)*30+at]
	}
	check := func(when string, want map[float64]float64) {
		t.Helper()
		for v, w := range want {
			if got := weight(v); got != w {
				t.Errorf("%s: level %v has the weight %v, want %v", when, v, got, w)
			}
		}
	}
	check("before", map[float64]float64{2000: 3, 7: 2, beyondCode(1): 1, 10: 0, model.MaxLevels: 4})
	s.recode(rc)
	check("after", map[float64]float64{2000: 0, 7: 0, beyondCode(1): 1, 10: 3, model.Cell(model.MaxLevels + 77): 2,
		model.MaxLevels: 3})
}

// TestFormsOfFurtherLevels: states and parts with further levels are read back, and those of the golden file; forms
// without them keep their numbers; bytes that are cut off are errors.
func TestFormsOfFurtherLevels(t *testing.T) {
	const path = "testdata/format-7.gz"
	s, ex := crowd(1600, 2, true, beyondCode)
	c := newCluster(t, s, model.NewLevels(s), 1)
	for i := range ex {
		if i == 500 || i == 1500 {
			c.fit()
		}
		c.learn(0, ex[i])
	}
	state := c.live[0].AppendState(nil)
	if state[0] != furtherState || c.part[0] != furtherPart {
		t.Errorf("a state of format %d and a part of format %d", state[0], c.part[0])
	}
	if os.Getenv("LIFTSTREAM_GOLDEN") == "write" {
		modeltest.WriteGolden(t, path, model.NewLevels(s), c.part, state)
	}
	_, goldenPart, goldenState := modeltest.ReadGolden(t, s, path)
	for what, forms := range map[string][2][]byte{"own": {c.part, state}, "golden": {goldenPart, goldenState}} {
		again := newScorecard(c.live[0].plan)
		if err := again.LoadState(forms[1]); err != nil || !bytes.Equal(again.AppendState(nil), forms[1]) {
			t.Errorf("%s: a state is not read and written as it was: %v", what, err)
		}
		m, err := again.readPart(forms[0])
		if err != nil || !bytes.Equal(again.appendPart(nil, m), forms[0]) {
			t.Errorf("%s: a part is not read and written as it was: %v", what, err)
		}
		if n := furtherWeight(again, ex[1501].Row[1]); !(n[0]+n[1] > 0) {
			t.Errorf("%s: the level of a record has no counts", what)
		}
	}
	for cut := 0; cut < len(state); cut += 1 + len(state)/500 {
		if newScorecard(c.live[0].plan).LoadState(state[:cut]) == nil {
			t.Fatalf("a state of %d of %d bytes is read", cut, len(state))
		}
	}
	// Other blocks name themselves, and further levels stay.
	opt := Default()
	opt.Founding = []Block{}
	opt.Blocks = []Block{{Name: "lift", Inputs: 2}}
	named := New(opt, s).New(nil).(*Scorecard)
	if err := named.Rebase(&model.Rebase{Part: rebuilt(t, opt, s, ex), Clock: 1600}); err != nil {
		t.Fatal(err)
	}
	b := named.AppendState(nil)
	again := newScorecard(named.plan)
	if err := again.LoadState(b); err != nil || b[0] != namedFurtherState || !bytes.Equal(again.AppendState(nil), b) {
		t.Errorf("a named state of format %d is not read as it was: %v", b[0], err)
	}
	// Without a further level nothing is new.
	s, ex = crowd(1600, 2, true, func(k int) float64 { return float64(k) })
	plain := newCluster(t, s, model.NewLevels(s), 1)
	for i := range ex {
		if i == 500 {
			plain.fit()
		}
		plain.learn(0, ex[i])
	}
	if b := plain.live[0].AppendState(nil); b[0] != stateFormat || plain.part[0] != partFormat {
		t.Errorf("without further levels a state of format %d and a part of format %d", b[0], plain.part[0])
	}
}

// rebuilt is the part of a fit to the records under other options.
func rebuilt(t *testing.T, opt Options, s *model.Schema, ex []model.Example) []byte {
	t.Helper()
	part, err := New(opt, s).Fit(context.Background(), modeltest.Evidence(s, model.NewLevels(s), ex), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if part[0] != namedFurtherPart {
		t.Errorf("a named part of format %d", part[0])
	}
	return part
}

// TestCarriedFurtherLevels: further levels keep their counts under a schema with another class, by class.
func TestCarriedFurtherLevels(t *testing.T) {
	s, ex := crowd(1500, 2, true, beyondCode)
	c := newCluster(t, s, model.NewLevels(s), 1)
	for i := range ex {
		if i == 500 {
			c.fit()
		}
		c.learn(0, ex[i])
	}
	to := *s
	to.Classes = []string{"c0", "c1", "c2"}
	change, err := model.Relate(s, &to)
	if err != nil {
		t.Fatal(err)
	}
	carrier := New(Default(), &to).(model.Carrier)
	state, _, err := carrier.CarryState(change, c.live[0].AppendState(nil))
	if err != nil {
		t.Fatal(err)
	}
	n := newScorecard(newPlan(Default(), &to))
	if err := n.LoadState(state); err != nil {
		t.Fatal(err)
	}
	for i := range ex {
		was, is := furtherWeight(c.live[0], ex[i].Row[1]), furtherWeight(n, ex[i].Row[1])
		if was[0] != is[0] || was[1] != is[1] || is[2] != 0 {
			t.Fatalf("record %d: weights %v, they were %v", i, is, was)
		}
	}
}
