// Package modeltest is the conformance suite of model.Component: what every implementation keeps, whatever it models.
package modeltest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// Suite says what to test.
type Suite struct {
	Schema *model.Schema
	// New makes the factory under test for a schema: the Suite's, or the same with its features in another order.
	New func(s *model.Schema) model.Factory
	// Records is the number of generated records; 0 = 1,200.
	Records int
	// PathDependent says that the state depends on the order of learning, as a scorecard's weights do: Retract then
	// need not restore it, and states of parts of a stream do not add up.
	PathDependent bool
	// Same compares two live components beyond their Inputs; nil compares just those. tolerance is relative.
	Same func(t *testing.T, what string, got, want model.Component, tolerance float64)
	// Golden is a file with a state and a part as an earlier build has written them, which this one must read; "" = none.
	// LIFTSTREAM_GOLDEN=write makes it anew: right for a format that no release has written, and for no other.
	Golden string
}

// Run runs the suite, each rule as a subtest.
func (s Suite) Run(t *testing.T) {
	if s.Records == 0 {
		s.Records = 1200
	}
	x := newFixture(t, s)
	for _, c := range []struct {
		name string
		test func(*testing.T, *fixture)
	}{
		{"Empty", testEmpty},
		{"LearnKeepsItsInput", testInputKept},
		{"WeightlessChangesNothing", testWeightless},
		{"SameCallsSameBytes", testSameBytes},
		{"FitGivesSameBytes", testFitSameBytes},
		{"FitKeepsEvidence", testFitKeepsEvidence},
		{"FitObeysContext", testFitContext},
		{"FitOnPoorEvidence", testFitPoor},
		{"InputsArePure", testPure},
		{"SnapshotRestoresExactly", testSnapshot},
		{"RetractTakesBack", testRetract},
		{"RebaseKeepsUnchanged", testRebaseKeeps},
		{"RebaseLearnsSince", testRebaseSince},
		{"MergeIsSum", testMerge},
		{"RecodeIsRenaming", testRecode},
		{"FeatureOrderHasNoEffect", testFeatureOrder},
		{"HostileBytesNoPanic", testHostile},
		{"ChangedSchemaCarriesOver", testCarry},
		{"Scorecard", testScorecard},
		{"FormatIsReadForEver", testFormat},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, x) })
	}
}

// fixture is a generated stream with a model fitted on its first two thirds. The tests share it and change nothing in
// it.
type fixture struct {
	Suite
	levels   *model.Levels
	examples []model.Example
	factory  model.Factory
	fitted   int
	part     []byte
}

func newFixture(t *testing.T, s Suite) *fixture {
	t.Helper()
	x := &fixture{Suite: s, factory: s.New(s.Schema)}
	x.levels, x.examples = Generate(s.Schema, s.Records, 1)
	x.fitted = s.Records * 2 / 3
	x.part = x.fit(t, x.factory, x.evidence(x.examples[:x.fitted]), nil)
	return x
}

func (x *fixture) fit(t *testing.T, f model.Factory, ev *model.Evidence, previous []byte) []byte {
	t.Helper()
	part, err := f.Fit(context.Background(), ev, previous)
	if err != nil {
		t.Fatalf("fitting: %v", err)
	}
	return part
}

func (x *fixture) evidence(ex []model.Example) *model.Evidence {
	return Evidence(x.Schema, x.levels, ex)
}

// live returns a component of partition self under the part, which has learnt since.
func (x *fixture) live(t *testing.T, part []byte, self int32, since []model.Example) model.Component {
	t.Helper()
	c := x.factory.New(x.levels)
	rebase(t, c, part, self, nil, since)
	return c
}

func rebase(t *testing.T, c model.Component, part []byte, self int32, r model.Recode, since []model.Example) {
	t.Helper()
	rb := &model.Rebase{Part: part, Self: self, Recode: r, Since: yield(since)}
	if n := len(since); n > 0 {
		rb.Clock = since[n-1].Clock + 1
	}
	if err := c.Rebase(rb); err != nil {
		t.Fatalf("rebasing: %v", err)
	}
}

func yield(ex []model.Example) func(func(*model.Example) bool) {
	return func(yield func(*model.Example) bool) {
		var e model.Example
		for i := range ex {
			e = ex[i]
			e.Row = slices.Clone(ex[i].Row)
			if !yield(&e) {
				return
			}
		}
	}
}

// inputs returns what the component offers for the row; entries that it leaves untouched stay NaN.
func (x *fixture) inputs(c model.Component, row model.Row) []float64 {
	dst := make([]float64, c.InputCount()*len(x.Schema.Classes))
	for i := range dst {
		dst[i] = math.NaN()
	}
	c.Inputs(row, dst)
	return dst
}

func (x *fixture) same(t *testing.T, what string, got, want model.Component, tolerance float64) {
	t.Helper()
	if got.InputCount() != want.InputCount() {
		t.Fatalf("%s: %d inputs, want %d", what, got.InputCount(), want.InputCount())
	}
	for _, ex := range x.examples {
		a, b := x.inputs(got, ex.Row), x.inputs(want, ex.Row)
		for i := range a {
			if math.Abs(a[i]-b[i]) > tolerance*max(1, math.Abs(b[i])) {
				t.Fatalf("%s: input %d is %v, want %v", what, i, a[i], b[i])
			}
		}
	}
	if x.Same != nil {
		x.Same(t, what, got, want, tolerance)
	}
}

func state(c model.Component) []byte { return c.AppendState(nil) }

func learn(c model.Component, ex []model.Example) {
	for i := range ex {
		c.Learn(&ex[i])
	}
}

func testEmpty(t *testing.T, x *fixture) {
	c := x.factory.New(x.levels)
	if c.InputCount() != 0 {
		t.Errorf("offers %d inputs before the first Rebase", c.InputCount())
	}
	learn(c, x.examples[:3])
	d := x.factory.New(x.levels)
	if err := d.LoadState(state(c)); err != nil {
		t.Fatalf("loading the state of an empty component: %v", err)
	}
	if !bytes.Equal(state(d), state(c)) {
		t.Error("an empty component's state does not survive")
	}
}

func testInputKept(t *testing.T, x *fixture) {
	c, d := x.live(t, x.part, 0, nil), x.live(t, x.part, 0, nil)
	scratch := make(model.Row, len(x.Schema.Features))
	for i := range x.examples {
		ex := x.examples[i]
		copy(scratch, ex.Row)
		ex.Row = scratch
		before := fmt.Sprint(ex)
		c.Learn(&ex)
		if after := fmt.Sprint(ex); after != before {
			t.Fatalf("record %d: %s became %s", i, before, after)
		}
		for f := range scratch {
			scratch[f] = math.NaN()
		}
		d.Learn(&x.examples[i])
	}
	if !bytes.Equal(state(c), state(d)) {
		t.Error("a row that is reused after the call changes the state: it was kept by reference")
	}
}

func testWeightless(t *testing.T, x *fixture) {
	c := x.live(t, x.part, 0, x.examples[:100])
	before := state(c)
	for _, ex := range x.examples[100:200] {
		ex.Weight = 0
		c.Learn(&ex)
		c.Retract(&ex)
	}
	if !bytes.Equal(state(c), before) {
		t.Error("records of weight zero change the state")
	}
}

func testSameBytes(t *testing.T, x *fixture) {
	c, d := x.live(t, x.part, 0, nil), x.live(t, x.part, 0, nil)
	for _, o := range []model.Component{c, d} {
		for i := range x.examples {
			o.Learn(&x.examples[i])
		}
	}
	if !bytes.Equal(state(c), state(d)) {
		t.Error("the same calls give different states")
	}
	prefix := []byte("prefix")
	if b := c.AppendState(prefix); !bytes.HasPrefix(b, prefix) || !bytes.Equal(b[len(prefix):], state(c)) {
		t.Error("AppendState does not append")
	}
}

func testFitSameBytes(t *testing.T, x *fixture) {
	ev := x.evidence(x.examples)
	again := x.evidence(x.examples)
	for name, previous := range map[string][]byte{"cold": nil, "warm": x.part} {
		a := x.fit(t, x.factory, ev, previous)
		b := x.fit(t, x.New(x.Schema), again, previous)
		if !bytes.Equal(a, b) {
			t.Errorf("%s: the same evidence gives different parts", name)
		}
	}
}

func testFitKeepsEvidence(t *testing.T, x *fixture) {
	ev := x.evidence(x.examples)
	c := x.live(t, x.part, 0, x.examples)
	ev.States = map[int32][]byte{0: state(c)}
	ev.Recodes = map[int32]model.Recode{0: nil}
	ev.Models = map[int32]int64{0: 1}
	previous := slices.Clone(x.part)
	before := fmt.Sprint(ev.Columns, ev.Class, ev.Weight, ev.Clock, ev.Time, ev.Partition, ev.States)
	x.fit(t, x.factory, ev, previous)
	if fmt.Sprint(ev.Columns, ev.Class, ev.Weight, ev.Clock, ev.Time, ev.Partition, ev.States) != before {
		t.Error("Fit changed the evidence")
	}
	if !bytes.Equal(previous, x.part) {
		t.Error("Fit changed the previous part")
	}
}

func testFitContext(t *testing.T, x *fixture) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := x.factory.Fit(ctx, x.evidence(x.examples), nil); err == nil {
		t.Error("Fit ignores a cancelled context")
	}
}

// testFitPoor: evidence that says nothing gives a part that can serve, or an error; never a panic.
func testFitPoor(t *testing.T, x *fixture) {
	change := func(f func(i int, ex *model.Example)) []model.Example {
		out := slices.Clone(x.examples[:200])
		for i := range out {
			out[i].Row = slices.Clone(out[i].Row)
			f(i, &out[i])
		}
		return out
	}
	for _, c := range []struct {
		name string
		ex   []model.Example
	}{
		{"no record", nil},
		{"one record", x.examples[:1]},
		{"one class", change(func(i int, ex *model.Example) { ex.Class = 0 })},
		{"all missing", change(func(i int, ex *model.Example) {
			for f := range ex.Row {
				ex.Row[f] = math.NaN()
			}
		})},
		{"all equal", change(func(i int, ex *model.Example) { copy(ex.Row, x.examples[0].Row) })},
		{"one feature left", change(func(i int, ex *model.Example) {
			for f := range ex.Row {
				if f > 0 {
					ex.Row[f] = math.NaN()
				}
			}
		})},
		{"huge numbers", change(func(i int, ex *model.Example) {
			for f := range ex.Row {
				if x.Schema.Features[f].Kind == model.Continuous {
					ex.Row[f] *= 1e300
				}
			}
		})},
	} {
		part, err := x.factory.Fit(context.Background(), x.evidence(c.ex), nil)
		if err != nil {
			continue
		}
		live := x.live(t, part, 0, nil)
		learn(live, x.examples)
		for _, v := range x.inputs(live, x.examples[0].Row) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s: input %v", c.name, v)
			}
		}
		d := x.factory.New(x.levels)
		if err := d.LoadState(state(live)); err != nil {
			t.Errorf("%s: loading its own state: %v", c.name, err)
		}
	}
}

func testPure(t *testing.T, x *fixture) {
	c := x.live(t, x.part, 0, x.examples)
	before := state(c)
	row := make(model.Row, len(x.Schema.Features))
	for i := range row {
		row[i] = math.NaN()
	}
	for _, ex := range append([]model.Example{{Row: row}}, x.examples...) {
		a, b := x.inputs(c, ex.Row), x.inputs(c, ex.Row)
		for i, v := range a {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("input %d is %v", i, v)
			}
			if v != b[i] {
				t.Fatalf("input %d is %v, then %v", i, v, b[i])
			}
		}
	}
	if !bytes.Equal(before, state(c)) {
		t.Error("Inputs changes the state")
	}
}

func testSnapshot(t *testing.T, x *fixture) {
	half := len(x.examples) / 2
	c := x.live(t, x.part, 0, x.examples[:half])
	d := x.factory.New(x.levels)
	if err := d.LoadState(state(c)); err != nil {
		t.Fatalf("loading: %v", err)
	}
	if !bytes.Equal(state(d), state(c)) {
		t.Error("a restored state is another")
	}
	x.same(t, "restored", d, c, 0)
	for i := range x.examples[half:] {
		c.Learn(&x.examples[half+i])
		d.Learn(&x.examples[half+i])
	}
	if !bytes.Equal(state(d), state(c)) {
		t.Error("a restored component learns otherwise")
	}
	// The state of before replaces a later one, too.
	e := x.live(t, x.part, 0, x.examples)
	if err := e.LoadState(state(c)); err != nil {
		t.Fatalf("loading: %v", err)
	}
	if !bytes.Equal(state(e), state(c)) {
		t.Error("LoadState leaves something of what was there")
	}
}

func testRetract(t *testing.T, x *fixture) {
	if x.PathDependent {
		return
	}
	c := x.live(t, x.part, 0, x.examples[:300])
	before := state(c)
	learn(c, x.examples[300:])
	if bytes.Equal(before, state(c)) {
		t.Fatal("Learn changes nothing")
	}
	for i := range x.examples[300:] {
		c.Retract(&x.examples[300+i])
	}
	if !bytes.Equal(before, state(c)) {
		t.Error("Learn and Retract of integer weights leave a trace")
	}
}

func testRebaseKeeps(t *testing.T, x *fixture) {
	c := x.live(t, x.part, 0, x.examples)
	before := state(c)
	rebase(t, c, x.part, 0, nil, x.examples)
	if !bytes.Equal(before, state(c)) {
		t.Error("a Rebase to the same structure changes the state")
	}
}

// testRebaseSince: the model's share and what was learnt since make the same as having been there all the time.
func testRebaseSince(t *testing.T, x *fixture) {
	if x.PathDependent {
		return
	}
	mark := x.fitted
	c := x.live(t, x.part, 0, nil)
	ev := x.evidence(x.examples[:mark])
	ev.States, ev.Recodes, ev.Models = map[int32][]byte{0: state(c)}, map[int32]model.Recode{0: nil}, map[int32]int64{0: 1}
	part := x.fit(t, x.factory, ev, x.part)
	learn(c, x.examples[mark:])
	late := x.live(t, part, 0, x.examples[mark:])
	rebase(t, c, part, 0, nil, x.examples[mark:])
	x.same(t, "fresh", late, c, 1e-9)
	// Both must also be the same to the next Fit.
	next := func(c model.Component) model.Component {
		ev := x.evidence(x.examples)
		ev.States, ev.Recodes, ev.Models = map[int32][]byte{0: state(c)}, map[int32]model.Recode{0: nil}, map[int32]int64{0: 2}
		return x.live(t, x.fit(t, x.factory, ev, part), 0, nil)
	}
	x.same(t, "the next generation", next(late), next(c), 1e-9)
}

// testMerge: the model of two partitions that saw parts of a stream is that of one that saw all of it.
func testMerge(t *testing.T, x *fixture) {
	if x.PathDependent {
		return
	}
	ex := x.examples
	all, a, b := x.live(t, x.part, 5, nil), x.live(t, x.part, 5, nil), x.live(t, x.part, 5, nil)
	split := slices.Clone(ex)
	partition := make([]int32, len(ex))
	for i := range ex {
		all.Learn(&ex[i])
		if i%3 == 0 {
			a.Learn(&ex[i])
			continue
		}
		partition[i] = 1
		b.Learn(&ex[i])
	}
	one := x.evidence(ex)
	one.States = map[int32][]byte{0: state(all)}
	one.Recodes, one.Models = map[int32]model.Recode{}, map[int32]int64{0: 1}
	two := x.evidence(split)
	two.Partition = partition
	two.States = map[int32][]byte{0: state(a), 1: state(b)}
	two.Recodes, two.Models = map[int32]model.Recode{}, map[int32]int64{0: 1, 1: 1}
	p1, p2 := x.fit(t, x.factory, one, x.part), x.fit(t, x.factory, two, x.part)
	x.same(t, "merged", x.live(t, p2, 9, nil), x.live(t, p1, 9, nil), 1e-12)
}

// testRecode: a state whose level codes are renamed at a Rebase is that of the renamed records.
func testRecode(t *testing.T, x *fixture) {
	r := make(model.Recode, len(x.Schema.Features))
	any := false
	for f := range x.Schema.Features {
		n := x.levels.Count(f)
		if x.Schema.Features[f].Kind != model.Nominal || len(x.Schema.Features[f].Levels) > 0 || n < 2 {
			continue
		}
		any = true
		r[f] = make([]uint32, n)
		for c := range r[f] {
			r[f][c] = uint32(n - 1 - c)
		}
	}
	if !any || x.PathDependent {
		return
	}
	renamed := slices.Clone(x.examples)
	for i := range renamed {
		renamed[i].Row = slices.Clone(renamed[i].Row)
		for f := range renamed[i].Row {
			renamed[i].Row[f] = r.Value(f, renamed[i].Row[f])
		}
	}
	// The model has no share for partition 77, so the states hold what was learnt here and nothing else.
	c, d := x.live(t, x.part, 77, nil), x.live(t, x.part, 77, nil)
	learn(c, renamed) // the reversal is its own inverse: under the old codes these are the records
	rebase(t, c, x.part, 77, r, nil)
	learn(d, x.examples)
	x.same(t, "recoded", c, d, 1e-9)
	if !bytes.Equal(state(c), state(d)) {
		t.Error("a recoded state is not that of the renamed records")
	}
	// A Fit recodes the states that it reads in the same way.
	e := x.live(t, x.part, 77, nil)
	learn(e, renamed)
	fit := func(c model.Component, r model.Recode) model.Component {
		ev := x.evidence(x.examples)
		for i := range ev.Partition {
			ev.Partition[i] = 77
		}
		ev.States, ev.Recodes, ev.Models = map[int32][]byte{77: state(c)}, map[int32]model.Recode{77: r}, map[int32]int64{77: 1}
		return x.live(t, x.fit(t, x.factory, ev, x.part), 77, nil)
	}
	x.same(t, "recoded by Fit", fit(e, r), fit(d, nil), 1e-9)
}

func testFeatureOrder(t *testing.T, x *fixture) {
	n := len(x.Schema.Features)
	s := *x.Schema
	s.Features = make([]model.Feature, n)
	for f := range s.Features {
		s.Features[f] = x.Schema.Features[n-1-f]
	}
	turned := slices.Clone(x.examples)
	for i := range turned {
		turned[i].Row = slices.Clone(turned[i].Row)
		slices.Reverse(turned[i].Row)
	}
	levels := model.NewLevels(&s)
	for f := range s.Features {
		if s.Features[f].Kind == model.Continuous {
			continue
		}
		for _, text := range x.levels.Names(n - 1 - f) {
			levels.Code(f, text)
		}
	}
	factory := x.New(&s)
	part, err := factory.Fit(context.Background(), Evidence(&s, levels, turned[:x.fitted]), nil)
	if err != nil {
		t.Fatalf("fitting: %v", err)
	}
	c, d := factory.New(levels), x.live(t, x.part, 0, x.examples[x.fitted:])
	rebase(t, c, part, 0, nil, turned[x.fitted:])
	if c.InputCount() != d.InputCount() {
		t.Fatalf("%d inputs, with the features in reverse %d", d.InputCount(), c.InputCount())
	}
	p, q := make([]float64, len(s.Classes)), make([]float64, len(s.Classes))
	for i := range turned {
		if sc, ok := c.(model.Scorecard); ok {
			sd := d.(model.Scorecard)
			sc.Score(turned[i].Row, nil, make([]float64, sc.PendingLen()), p)
			sd.Score(x.examples[i].Row, nil, make([]float64, sd.PendingLen()), q)
			for y := range p {
				if math.Abs(p[y]-q[y]) > 1e-9 {
					t.Fatalf("record %d: propensities %v, with the features in reverse %v", i, q, p)
				}
			}
		}
		a, b := x.inputs(c, turned[i].Row), x.inputs(d, x.examples[i].Row)
		slices.Sort(a)
		slices.Sort(b)
		for j := range a {
			if math.Abs(a[j]-b[j]) > 1e-9*max(1, math.Abs(b[j])) {
				t.Fatalf("record %d: inputs %v, with the features in reverse %v", i, b, a)
			}
		}
	}
}

func testHostile(t *testing.T, x *fixture) {
	c := x.live(t, x.part, 0, x.examples)
	good := state(c)
	use := func(c model.Component) {
		x.inputs(c, x.examples[1].Row)
		learn(c, x.examples[:2])
		c.Retract(&x.examples[0])
		state(c)
	}
	load := func(b []byte) error {
		d := x.factory.New(x.levels)
		err := d.LoadState(b)
		if err == nil {
			use(d)
		}
		return err
	}
	serve := func(b []byte) error {
		d := x.factory.New(x.levels)
		err := d.Rebase(&model.Rebase{Part: b, Since: yield(nil)})
		if err == nil {
			use(d)
		}
		return err
	}
	small := x.evidence(x.examples[:50])
	for _, b := range []struct {
		name string
		data []byte
		read func([]byte) error
	}{{"state", good, load}, {"part", x.part, serve}} {
		if len(b.data) == 0 {
			continue
		}
		step := max(len(b.data)/200, 1)
		for n := 0; n < len(b.data); n += step {
			if b.read(b.data[:n:n]) == nil && n > 0 {
				t.Errorf("%s cut at %d of %d bytes is accepted", b.name, n, len(b.data))
			}
		}
		if b.read(append(slices.Clone(b.data), 0)) == nil {
			t.Errorf("%s with a byte left over is accepted", b.name)
		}
		for i := 0; i < 400; i++ {
			h := model.Hash(3, uint64(i))
			bad := slices.Clone(b.data)
			bad[h%uint64(len(bad))] ^= byte(h>>32) | 1
			_ = b.read(bad)
			if b.name == "part" && i%20 == 0 {
				_, _ = x.factory.Fit(context.Background(), small, bad)
			}
			if b.name == "state" && i%20 == 0 {
				ev := *small
				ev.States, ev.Recodes, ev.Models = map[int32][]byte{0: bad}, map[int32]model.Recode{}, map[int32]int64{0: 1}
				_, _ = x.factory.Fit(context.Background(), &ev, x.part)
			}
		}
	}
}

// testScorecard holds for a model.Scorecard only.
func testScorecard(t *testing.T, x *fixture) {
	s, ok := x.live(t, x.part, 0, nil).(model.Scorecard)
	if !ok {
		return
	}
	o := x.live(t, x.part, 0, nil).(model.Scorecard)
	classes := len(x.Schema.Classes)
	pending, p, again := make([]float64, s.PendingLen()), make([]float64, classes), make([]float64, classes)
	rows := slices.Clone(x.examples)
	missing := make(model.Row, len(x.Schema.Features))
	for f := range missing {
		missing[f] = math.NaN()
	}
	rows = append(rows, model.Example{Row: missing, Class: 0, Weight: 1, Clock: float64(len(rows))})
	for i := range rows {
		ex := &rows[i]
		before := state(s)
		s.Score(ex.Row, nil, pending, p)
		s.Score(ex.Row, nil, make([]float64, len(pending)), again)
		sum := 0.0
		for y, v := range p {
			if !(v > 0 && v < 1) || v != again[y] {
				t.Fatalf("record %d: propensity %v, then %v", i, v, again[y])
			}
			sum += v
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("record %d: propensities sum to %v", i, sum)
		}
		for y := range p {
			effect := 0.0
			for _, r := range s.Explain(ex.Row, pending, int32(y), nil) {
				effect += r.Effect
			}
			if want := math.Log(p[y] / (1 - p[y])); math.Abs(effect-want) > 1e-9*max(1, math.Abs(want)) {
				t.Fatalf("record %d class %d: contributions sum to %v, the log-odds are %v", i, y, effect, want)
			}
		}
		if !bytes.Equal(before, state(s)) {
			t.Fatalf("record %d: scoring changed the state", i)
		}
		s.LearnScored(ex, nil, pending)
		o.LearnScored(ex, nil, nil)
	}
	if !bytes.Equal(state(s), state(o)) {
		t.Error("learning with what Score remembered differs from learning at once")
	}
	rates := 0.0
	for y := range p {
		rates += s.BaseRate(int32(y))
	}
	if math.Abs(rates-1) > 1e-9 {
		t.Errorf("base rates sum to %v", rates)
	}
}
