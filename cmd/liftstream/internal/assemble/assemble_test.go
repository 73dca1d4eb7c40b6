package assemble

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/kernel"
	"liftstream/model/modeltest"
	"liftstream/model/propensity"
	"liftstream/model/trees"
)

const full = `
name: shop
record:
  id: customer
  time: seen_at
  weight: w
  missing: ["", "-"]
  label: {column: outcome, classes: [no, later, yes], positive: yes}
  features:
    - {name: age, kind: continuous}
    - {name: calls, kind: continuous, use: never}
    - {name: plan, kind: ordinal, levels: [basic, plus]}
    - {name: region, kind: nominal, use: report}
lift: {joint: product, sets: {max: 2, search: beam}, profiles: {of: [yes, no], redundant: keep}}
propensity: {half_lives: [50, 24h, 0], monotone: {age: up, plan: auto}, calibration: {half_life: 0}}
fit: {seed: 7, warmup: 30, gate: 0.5}
memory: {tail: 1MiB}
output: {features: selected, format: jsonl, why: 3}
`

func stage(t testing.TB, text string) *Stage {
	t.Helper()
	c, _, err := config.Parse("test.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchemaHasWhatIsLookedAt(t *testing.T) {
	s := stage(t, full).Spec.Schema
	want := []model.Feature{
		{Name: "age", Kind: model.Continuous, Monotone: model.Up},
		{Name: "plan", Kind: model.Ordinal, Levels: []string{"basic", "plus"}, Monotone: model.Auto},
		{Name: "region", Kind: model.Nominal, Use: model.UseReport},
	}
	if len(s.Features) != len(want) {
		t.Fatalf("%d features, want %d: use: never is not among them", len(s.Features), len(want))
	}
	for i, w := range want {
		g := s.Features[i]
		if g.Name != w.Name || g.Kind != w.Kind || g.Use != w.Use || g.Monotone != w.Monotone ||
			strings.Join(g.Levels, " ") != strings.Join(w.Levels, " ") {
			t.Errorf("feature %d is %+v, want %+v", i, g, w)
		}
	}
	if s.Positive != 2 {
		t.Errorf("positive class %d, want 2", s.Positive)
	}
}

func TestOptionsFollowTheConfiguration(t *testing.T) {
	s := stage(t, full)
	o := s.Spec.Options
	if o.Fingerprint != s.Config.Fingerprint() || o.Warmup != 30 || o.TailBytes != 1<<20 || o.Gate != .5 || o.Seed != 7 ||
		o.Why != 3 ||
		o.ReservoirRecords != 65536 || o.ReservoirBytes != 64<<20 {
		t.Errorf("options %+v", o)
	}
	if o.WaitBytes != 0 || o.ExpireAs != model.Unlabelled {
		t.Errorf("records wait for labels (%d bytes) though no label topic is configured", o.WaitBytes)
	}
}

func TestColumnsFollowTheConfiguration(t *testing.T) {
	c := stage(t, full).Codec
	if c.ID != "customer" || c.Time != "seen_at" || c.Weight != "w" || c.Label != "outcome" || len(c.Missing) != 2 ||
		c.Features != codec.FeaturesSelected ||
		c.Format != codec.FormatJSONL || c.Future != 5*time.Minute || c.MaxMessage != 16<<20 {
		t.Errorf("columns %+v", c)
	}
}

func TestOptionsOfTheModelsFollowTheConfiguration(t *testing.T) {
	s := stage(t, full)
	p, err := scorecardOptions(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	if h := p.HalfLives; len(h) != 3 || h[0].Records != 50 || h[1].Duration != 24*time.Hour ||
		h[2] != (model.HalfLife{}) || !math.IsInf(p.Calibration.HalfLife, 1) {
		t.Errorf("scorecard %+v", p)
	}
	l := liftOptions(s.Config, s.Spec.Schema)
	if !l.Profiles.KeepRedundant || len(l.Profiles.Of) != 2 || l.Profiles.Of[0] != 2 || l.Profiles.Of[1] != 0 ||
		l.Sets.Max != 2 || l.Quantiles != 5 {
		t.Errorf("lift %+v", l)
	}
}

func TestDefaultsAreThoseOfTheModels(t *testing.T) {
	p, err := scorecardOptions(config.Default("x"))
	if err != nil {
		t.Fatal(err)
	}
	want := propensity.Default()
	if len(p.HalfLives) != len(want.HalfLives) {
		t.Fatalf("half-lives %v, want %v", p.HalfLives, want.HalfLives)
	}
	for i := range want.HalfLives {
		if p.HalfLives[i] != want.HalfLives[i] {
			t.Errorf("half-life %d is %v, want %v", i, p.HalfLives[i], want.HalfLives[i])
		}
	}
	if p.Cells != want.Cells || p.Prior != want.Prior || p.Step != want.Step || p.Linear != want.Linear ||
		p.Calibration != want.Calibration {
		t.Errorf("defaults of the configuration %+v, of the scorecard %+v", p, want)
	}
	// As text, where NaN equals NaN.
	got, of := fmt.Sprintf("%+v", kernelOptions(config.Default("x"))), fmt.Sprintf("%+v", kernel.Default())
	if got != of {
		t.Errorf("defaults of the configuration %s, of the kernel %s", got, of)
	}
	if got, of := treesOptions(config.Default("x")), trees.Default(); got != of {
		t.Errorf("defaults of the configuration %+v, of the trees %+v", got, of)
	}
}

func TestRecordsWaitOnlyWithALabelTopic(t *testing.T) {
	o := stage(t, full+"labels: {window: 1h, on_expiry: no, late: ignore, max_bytes: 1MiB}\n").Spec.Options
	if o.WaitBytes != 1<<20 || o.WaitWindow != int64(time.Hour) || o.ExpireAs != 0 || o.Correct {
		t.Errorf("options %+v", o)
	}
	o = stage(t, full+"topics: {labels: outcomes}\n").Spec.Options
	if o.WaitBytes != 320<<20 || o.ExpireAs != model.Unlabelled || !o.Correct {
		t.Errorf("options %+v", o)
	}
}

func TestLocalCountsForgetAsTheConfigurationSays(t *testing.T) {
	for text, want := range map[string]model.HalfLife{"": {}, "local: {half_life: 0}\n": {},
		"local: {half_life: 3000}\n": {Records: 3000}, "local: {half_life: 24h}\n": {Duration: 24 * time.Hour}} {
		if o := localOptions(stage(t, full+text).Config); o.HalfLife != want {
			t.Errorf("%q: a half-life of %+v, want %+v", text, o.HalfLife, want)
		}
	}
}

func TestWhatTheBuildLacksIsRefused(t *testing.T) {
	c, _, err := config.Parse("test.yaml",
		[]byte(strings.Replace(full, "calibration: {half_life: 0}", "calibration: {half_life: 24h}", 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), "propensity.calibration.half_life") {
		t.Errorf("error %v, want one that names propensity.calibration.half_life", err)
	}
}

// TestScoringGivesTheSamePropensities drives the whole stage and its scoring part over the same records.
func TestScoringGivesTheSamePropensities(t *testing.T) {
	const text = `
name: test
record:
  label: {column: y, classes: [no, yes], positive: yes}
  features: [{name: x, kind: continuous}, {name: l, kind: nominal}]
fit: {warmup: 100}
`
	s := stage(t, text)
	whole, part := model.NewPartition(s.Spec, 0), model.NewPartition(s.Scoring(), 0)
	var a, b model.Scores
	for offset := range int64(20) {
		batch := &model.Batch{N: 50, Offset: offset, Columns: []model.Column{{Float: make([]float64, 50)},
			{Code: make([]uint32, 50), Levels: []string{"a", "b"}}},
			Label: make([]int32, 50), Time: make([]int64, 50), Row: make([]int32, 50)}
		for i := range 50 {
			h := model.Hash(1, uint64(offset), uint64(i))
			batch.Columns[0].Float[i], batch.Columns[1].Code[i] = float64(h%100), uint32(h>>8%2)
			if h>>16%100 < h%100 {
				batch.Label[i] = 1
			}
			batch.Row[i] = int32(i)
		}
		whole.Events(batch, &a)
		part.Events(batch, &b)
		for i := range a.P {
			if math.Float64bits(a.P[i]) != math.Float64bits(b.P[i]) {
				t.Fatalf("batch %d: propensity %d is %v by the stage, %v by its scoring part", offset, i, a.P[i], b.P[i])
			}
		}
	}
	if !whole.Trained() {
		t.Fatal("never trained")
	}
	for i, f := range s.Spec.Components {
		if n, most := whole.Component(f.Name()).InputCount(), s.Spec.Contribution(i).Inputs; n > most {
			t.Errorf("%s offers %d inputs, at most %d were announced", f.Name(), n, most)
		}
	}
}

// TestReasonsNameEachTermOnce guards the order of the blocks: an input block without a term of its own would speak of
// the first feature.
func TestReasonsNameEachTermOnce(t *testing.T) {
	s := stage(t, strings.Replace(full, "why: 3", "why: 5", 1))
	spec := *s.Spec
	spec.Options.Why = -1
	p := model.NewPartition(&spec, 0)
	b := &model.Batch{N: 200, Columns: make([]model.Column, 3), Label: make([]int32, 200), Time: make([]int64, 200)}
	b.Columns[1].Levels, b.Columns[2].Levels = []string{"plus", "basic"}, []string{"north", "south"}
	for i := range b.N {
		b.Columns[0].Float = append(b.Columns[0].Float, float64(20+i%50))
		b.Columns[1].Code = append(b.Columns[1].Code, uint32(i%2))
		b.Columns[2].Code = append(b.Columns[2].Code, uint32(i/3%2))
		b.Label[i] = int32(i % 3)
	}
	var out model.Scores
	p.Events(b, &out)
	seen := map[int32]int{}
	for _, r := range out.WhyOf(199) {
		seen[r.Feature]++
	}
	if !p.Trained() || seen[0] != 1 || seen[1] != 1 || seen[model.TermIntercept] != 1 || seen[model.TermCalibration] != 1 {
		t.Errorf("reasons by feature and term: %v", seen)
	}
	features, _ := out.SubspaceOf(199)
	for _, f := range features {
		if f < 0 {
			t.Errorf("%s is in the subspace", out.TermName(s.Spec.Schema, f))
		}
	}
}

// TestAChangedFeatureListKeepsTheState: with all components that a stage has, from one configuration to another.
func TestAChangedFeatureListKeepsTheState(t *testing.T) {
	modeltest.Computes(t)
	const first = `
name: shop
record:
  label: {column: outcome, classes: [no, yes], positive: yes}
  features: [{name: age, kind: continuous}, {name: plan, kind: nominal}]
fit: {warmup: 100}
`
	second := strings.Replace(first, "features: [", "features: [{name: visits, kind: continuous}, ", 1)
	a, b := stage(t, first), stage(t, second)
	if a.Spec.Options.Fingerprint == b.Spec.Options.Fingerprint || a.Spec.Options.Frame != b.Spec.Options.Frame {
		t.Fatal("another list of features must be another fingerprint in the same frame")
	}
	for _, other := range []string{"lift: {quantiles: 4}\n", "propensity: {half_lives: [30, 0]}\n",
		"fit: {warmup: 100, seed: 3}\n"} {
		if stage(t, strings.Replace(first, "fit: {warmup: 100}\n", other, 1)).Spec.Options.Frame == a.Spec.Options.Frame {
			t.Errorf("%s: the same frame", other)
		}
	}
	take := func(p *model.Partition, features, from, to int) {
		x := &model.Batch{N: to - from, Columns: make([]model.Column, features), Offset: int64(from)}
		plan := &x.Columns[features-1]
		plan.Levels = []string{"basic", "plus"}
		for i := from; i < to; i++ {
			h := model.Hash(3, uint64(i))
			age := float64(h>>40) / (1 << 24)
			x.Columns[features-2].Float = append(x.Columns[features-2].Float, age)
			plan.Code = append(plan.Code, uint32(h&1))
			if features == 3 {
				x.Columns[0].Float = append(x.Columns[0].Float, float64(h>>8&31))
			}
			y := int32(0)
			if float64(h>>16&0xffff)/(1<<16) < age {
				y = 1
			}
			x.Label = append(x.Label, y)
			x.Row = append(x.Row, int32(i))
		}
		var s model.Scores
		p.Events(x, &s)
	}
	fit := func(spec *model.Spec, p *model.Partition, version int64) {
		t.Helper()
		m, err := model.Fit(t.Context(), spec, model.Held{0: p.Snapshot()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Version = version
		if err := p.Swap(m); err != nil {
			t.Fatal(err)
		}
	}
	p := model.NewPartition(a.Spec, 0)
	take(p, 2, 0, 2000)
	fit(a.Spec, p, 1)
	take(p, 2, 2000, 2500)

	// As a stage does: from the bytes of the state alone.
	state := p.Snapshot()
	schema, frame, err := model.Origin(state[model.SectionSchema])
	if err != nil || frame != b.Spec.Options.Frame {
		t.Fatal(err, frame)
	}
	spec, columns, err := b.Under(schema, a.Spec.Options.Fingerprint)
	if err != nil || columns.Schema != schema {
		t.Fatal(err)
	}
	old, err := model.RestorePartition(spec, state)
	if err != nil {
		t.Fatal(err)
	}
	q, change, err := old.Carry(b.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := change.String(); got != "kept: age, plan; new: visits; gone: ; new classes: " {
		t.Errorf("%q", got)
	}
	take(q, 3, 2500, 3500)
	fit(b.Spec, q, 2)
	take(q, 3, 3500, 3600)
	if q.Labelled() != 3600 || !q.Trained() {
		t.Errorf("%v records, trained %v", q.Labelled(), q.Trained())
	}
}
