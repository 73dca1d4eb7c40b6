package local

import (
	"bytes"
	"cmp"
	"math"
	"reflect"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// serving returns a component with that many newest records and nothing learnt after its fit, and examples.
func serving(t *testing.T, serve int) (*Component, []model.Example) {
	t.Helper()
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 700, 7)
	for i := range ex {
		ex[i].Clock = float64(i)
	}
	c := fit(t, Options{Theta: Auto, Prototypes: 60, Newest: serve}, s, modeltest.Evidence(s, l, ex[:300]))
	for j := range c.structure.weights {
		if c.structure.weights[j] = 0; len(c.structure.prototypes.columns[j].at) > 0 {
			c.structure.weights[j] = []int64{16, 256, 0, 1}[j%4]
		}
	}
	c.structure.prepareNewest()
	return c, ex
}

// slowNewest are the votes of the newest records by definition: the last by clock of the records that were learnt and
// not taken back, sorted by distance and then from new to old.
func slowNewest(s *structure, learnt []model.Example, row model.Row) []float64 {
	last := slices.Clone(learnt)
	slices.SortStableFunc(last, func(a, b model.Example) int { return cmp.Compare(b.Clock, a.Clock) })
	last = last[:min(len(last), s.newest)]
	distance := make([]float64, len(last))
	for k := range last {
		for j := range s.features {
			c := &s.prototypes.columns[j]
			if s.weights[j] == 0 || len(c.at) == 0 {
				continue
			}
			a, b := c.place(s.features[j].clean(row, int32(j))), c.place(s.features[j].clean(last[k].Row, int32(j)))
			switch d := float64(a) - float64(b); {
			case a == absent:
			case b == absent:
				distance[k] += float64(s.weights[j]) * float64(c.expected((&Measure{}).cap(c)))
			case c.nominal:
				distance[k] += float64(s.weights[j]) * min(d*d, nominalTerm)
			default:
				distance[k] += float64(s.weights[j]) * d * d
			}
		}
	}
	order := make([]int, len(last))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(distance[a], distance[b]) })
	order = order[:min(len(order), s.neighbours)]
	p := make([]float64, len(s.base))
	if len(order) == 0 {
		return p
	}
	first, end := distance[order[0]], distance[order[len(order)-1]]
	sum := 0.0
	for _, k := range order {
		v := 1.0
		if distance[k] > first {
			v = (first/5 + end/50) / (distance[k] - first + first/5 + end/50)
		}
		p[last[k].Class] += v
		sum += v
	}
	n := float64(len(order))
	for y := range p {
		p[y] = math.Log((p[y]/sum*n + s.base[y]) / (n + 1) / s.base[y])
	}
	return p
}

// TestTheNewestRecordsVote: the second input is that of the definition, after every step of a life in which records
// leave the ring, are taken back, come back under another class, and come late.
func TestTheNewestRecordsVote(t *testing.T) {
	for _, serve := range []int{1, 7, 40, 1000} {
		c, ex := serving(t, serve)
		var learnt []model.Example
		out := make([]float64, 2*len(c.schema.Classes))
		check := func(step int, what string) {
			t.Helper()
			for q := range 3 {
				row := ex[(step*7+q*31)%len(ex)].Row
				c.Inputs(row, out)
				want := slowNewest(c.structure, learnt, row)
				for y, v := range want {
					if got := out[len(want)+y]; !(math.Abs(got-v) <= 1e-12*max(1, math.Abs(v))) {
						t.Fatalf("%d newest, step %d, %s: %v, want %v", serve, step, what, out[len(want):], want)
					}
				}
			}
		}
		for i := range 400 {
			e := ex[300+i]
			if i%9 == 4 {
				e.Row = slices.Clone(e.Row)
				e.Row[0] = math.NaN()
			}
			c.Learn(&e)
			learnt = append(learnt, e)
			if i%5 == 3 { // a correction of one of the last records
				k := len(learnt) - 1 - i%min(len(learnt), 20)
				c.Retract(&learnt[k])
				learnt[k].Class = int32(i % 3)
				c.Learn(&learnt[k])
			}
			check(i, "learnt")
		}
		for i := range spare {
			last := len(learnt) - 1
			c.Retract(&learnt[last])
			learnt = learnt[:last]
			check(i, "taken back")
		}
		old := ex[0] // older than the ring
		old.Clock = -1
		c.Learn(&old)
		if learnt = append(learnt, old); serve < 300 {
			check(0, "an old one")
		}
		gone := c.AppendState(nil)
		never := ex[650]
		never.Clock = 1e6
		c.Retract(&never)
		if got := c.newest.clock; slices.Contains(got, 1e6) || len(gone) == 0 {
			t.Error("a record that was never learnt was taken back")
		}
	}
}

// TestNewestRecordsAreKept: state, carry-over and rebase keep them, and a record that has left the ring does not come
// back with them.
func TestNewestRecordsAreKept(t *testing.T) {
	c, ex := serving(t, 50)
	for i := range ex[300:] {
		c.Learn(&ex[300+i])
	}
	if c.newest.first == 0 {
		t.Fatal("nothing has left the ring")
	}
	b := c.AppendState(nil)
	again := &Component{schema: c.schema}
	if err := again.LoadState(b); err != nil {
		t.Fatal(err)
	}
	if len(again.newest.class) != 50+spare || !bytes.Equal(again.AppendState(nil), b) {
		t.Errorf("%d records, or other bytes", len(again.newest.class))
	}
	moved, _ := carried(t, c, c.schema)
	if !bytes.Equal(moved.AppendState(nil), b) {
		t.Error("carried over to the same schema the bytes are others")
	}
	part := (&Part{structure: c.structure, shares: []share{{0, c.own}}}).appendBinary(nil)
	never := func(func(*model.Example) bool) { t.Error("records that were learnt already are learnt again") }
	if err := c.Rebase(&model.Rebase{Part: part, Since: never}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(c.AppendState(nil), b) {
		t.Error("a rebase to the same part changes the bytes")
	}
	fresh := &Component{schema: c.schema}
	since := func(yield func(*model.Example) bool) {
		for i := range ex[640:] {
			yield(&ex[640+i])
		}
	}
	if err := fresh.Rebase(&model.Rebase{Part: part, Since: since}); err != nil {
		t.Fatal(err)
	}
	if n := len(fresh.newest.class); n != 60 {
		t.Errorf("a partition without a structure begins with %d newest records, want 60", n)
	}
	row := ex[5].Row
	got, want := make([]float64, 6), make([]float64, 6)
	again.Inputs(row, want)
	c.Inputs(row, got)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("inputs %v, were %v", got, want)
	}
}

// TestARebaseBringsNoRecordBack: after some of the last records were taken back fewer than the ring holds are left, and
// those in front of it stay gone, with the same part and with one of more newest records.
func TestARebaseBringsNoRecordBack(t *testing.T) {
	for _, more := range []int{0, 30} {
		c, ex := serving(t, 50)
		for i := range ex[300:] {
			c.Learn(&ex[300+i])
		}
		for i := range 20 {
			c.Retract(&ex[len(ex)-1-i])
		}
		if c.newest.first < 20 {
			t.Fatalf("%d records have left the ring", c.newest.first)
		}
		want := slices.Clone(c.newest.clock[c.newest.first:])
		next := *c.structure
		next.newest += more
		part := (&Part{structure: &next, shares: []share{{0, c.own}}}).appendBinary(nil)
		if err := c.Rebase(&model.Rebase{Part: part, Since: func(func(*model.Example) bool) {}}); err != nil {
			t.Fatal(err)
		}
		if got := c.newest.clock[c.newest.first:]; !slices.Equal(got, want) {
			t.Errorf("%d more newest records: those of the clocks %v, were %v", more, got, want)
		}
	}
}

// TestStatesBeforeNewestRecords: a state of format 3 has one input and collects no records, and begins to when a
// structure with newest records serves.
func TestStatesBeforeNewestRecords(t *testing.T) {
	s := modeltest.Schema()
	levels, _, state := modeltest.ReadGolden(t, s, "testdata/format-3.gz")
	c := &Component{schema: s}
	if err := c.LoadState(state); err != nil {
		t.Fatal(err)
	}
	_, ex := modeltest.Generate(s, 600, 7)
	c.Learn(&ex[0])
	if n := c.InputCount(); n != 1 || len(c.newest.class) != 0 {
		t.Errorf("%d inputs, %d newest records", n, len(c.newest.class))
	}
	part, err := New(Options{Theta: .25, Newest: 40}, s).Fit(t.Context(), modeltest.Evidence(s, levels, ex), nil)
	if err != nil {
		t.Fatal(err)
	}
	since := func(yield func(*model.Example) bool) { yield(&ex[3]) }
	if err := c.Rebase(&model.Rebase{Part: part, Since: since}); err != nil {
		t.Fatal(err)
	}
	c.Learn(&ex[4])
	if n := c.InputCount(); n != 2 || len(c.newest.class) != 2 {
		t.Errorf("with a new structure %d inputs, %d newest records", n, len(c.newest.class))
	}
}

// TestRenamedLevelsOfNewestRecords: a rebase brings them to the codes of the model.
func TestRenamedLevelsOfNewestRecords(t *testing.T) {
	c, ex := serving(t, 50)
	for i := range 20 {
		c.Learn(&ex[300+i])
	}
	const j = 2
	rc := make(model.Recode, len(c.schema.Features))
	rc[j] = []uint32{2, 0, 1}
	part := (&Part{structure: c.structure}).appendBinary(nil)
	if err := c.Rebase(&model.Rebase{Part: part, Recode: rc}); err != nil {
		t.Fatal(err)
	}
	m := len(c.schema.Features)
	for k := range 20 {
		if got, want := c.newest.rows[k*m+j], rc.Value(j, ex[300+k].Row[j]); got != want && got == got {
			t.Errorf("record %d: level %v, want %v", k, got, want)
		}
	}
}

// plane is evidence of n records of two continuous features that tell the class together, if it is told at all, and
// of noise.
func plane(n, noise int, told bool) (*model.Schema, *model.Evidence) {
	s := &model.Schema{Classes: []string{"a", "b"}, Positive: 1}
	for j := range 2 + noise {
		s.Features = append(s.Features, model.Feature{Name: string(rune('p' - j)), Kind: model.Continuous})
	}
	ex := make([]model.Example, n)
	for i := range ex {
		row := make(model.Row, len(s.Features))
		for j := range row {
			row[j] = float64(model.Hash(9, uint64(i), uint64(j))>>40) / (1 << 24)
		}
		y := int32(model.Hash(3, uint64(i)) >> 63)
		if told {
			y = int32(int(row[0]*3)+int(row[1]*3)) & 1
		}
		ex[i] = model.Example{Row: row, Class: y, Weight: 1, Clock: float64(i)}
	}
	return s, modeltest.Evidence(s, model.NewLevels(s), ex)
}

// TestWeightsFindTheFeaturesThatTell: noise weighs less than the features of a chessboard, and where all is
// noise neighbours have no say.
func TestWeightsFindTheFeaturesThatTell(t *testing.T) {
	s, ev := plane(1500, 4, true)
	c := fit(t, Options{Theta: Auto, Newest: 1000}, s, ev)
	w := c.structure.weights
	for _, v := range w[2:] {
		if 4*v > min(w[0], w[1]) {
			t.Errorf("told: weights %v", w)
		}
	}
	for n := 100; n <= 1600; n *= 2 {
		s, ev := plane(n, 4, false)
		if w := fit(t, Options{Theta: Auto, Newest: 1000}, s, ev).structure.weights; slices.Max(w) > 0 {
			t.Errorf("%d records of noise: weights %v", n, w)
		}
	}
}

// TestLateLabelsAreLateInTheSearch: where the class is that of the record just before, the clock tells it if labels
// come at once, and nothing does if they come late. A label that is five records late in each of five partitions is 25
// late in the stream.
func TestLateLabelsAreLateInTheSearch(t *testing.T) {
	s, ev := plane(1500, 0, false)
	for i := range ev.Class {
		ev.Columns[0][i] = float64(i)
		ev.Class[i] = int32(model.Hash(5, uint64(i/20)) >> 63)
	}
	for _, c := range []struct {
		lag   float64
		parts int32 // partitions, whose records come in turns
		told  bool
	}{{0, 1, true}, {25, 1, false}, {200, 1, false}, {5, 1, true}, {0, 5, true}, {5, 5, false}} {
		ev.Lag = c.lag
		for i := range ev.Partition {
			ev.Partition[i] = int32(i) % c.parts
		}
		w := fit(t, Options{Theta: Auto, Newest: 500}, s, ev).structure.weights
		if told := w[0] > 0 && w[0] >= 4*w[1]; told != c.told {
			t.Errorf("labels %v records late in each of %d partitions: weights %v", c.lag, c.parts, w)
		}
	}
}

// TestNewestRecordsAreBounded in bytes, where records are wide.
func TestNewestRecordsAreBounded(t *testing.T) {
	s := &model.Schema{Features: make([]model.Feature, 1000)}
	x := &fitter{schema: s, options: Options{Newest: 1 << 16}}
	if n := x.room(); n*8*1000 > newestBytes || n < 100 {
		t.Errorf("%d records of 1,000 values", n)
	}
}

// TestNewestRecordsOfNoLevel: a state whose newest records have levels that no record has is refused. A rebase would
// look them up.
func TestNewestRecordsOfNoLevel(t *testing.T) {
	ev := someRecords([]model.Kind{model.Nominal, model.Continuous}, 6, 300, 3)
	x := fit(t, Options{Theta: .2, Prototypes: 100, Newest: 20}, ev.Schema, ev)
	for v, ok := range map[float64]bool{0: true, model.MaxLevels: true, model.Cell(model.MaxLevels + 9): true,
		math.NaN(): true, -1: false, math.Inf(1): false, math.Inf(-1): false, 1e9: false} {
		x.newest = newest{}
		x.remember(&model.Example{Row: model.Row{v, -1e9}, Weight: 1, Clock: 3})
		y := &Component{schema: ev.Schema}
		if err := y.LoadState(x.AppendState(nil)); (err == nil) != ok {
			t.Errorf("level %v: %v", v, err)
		} else if ok {
			y.newest.rebase(y.structure, model.Recode{{0, 2, 1}, nil})
		}
	}
}
