package assemble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/codec/number"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/kernel"
	"liftstream/model/kernel/lp"
	"liftstream/model/lift"
	"liftstream/model/local"
	"liftstream/model/propensity"
	"liftstream/model/report"
	"liftstream/model/unusual"
)

// other has another value than the default for every key that reaches a model or the contract of columns, no two alike.
const other = `
name: shop
record:
  id: customer
  time: {column: seen_at, unit: us}
  weight: w
  missing: ["-"]
  label: {column: outcome, classes: [no, later, yes], positive: later}
  features:
    - {name: age, kind: continuous, nullable: never, special: [-1, -3], cuts: [18, 25]}
    - {name: income, kind: continuous, bins: {min: 0.125}}
    - {name: plan, kind: ordinal, levels: [basic, plus], nullable: column}
    - {name: region, kind: nominal}
format: {decimal: ",", thousands: ".", percent: true, currency: [EUR]}
lift:
  quantiles: 6
  joint: product
  sets: {min: 2, max: 4, search: exhaustive, rank: eta, top: 21}
  windows: {top: 11, min_mass: 0.16, contiguous: true, overlapping: keep}
  profiles: {top: 22, min_support: 0.006, max_features: 5, of: [yes], rank: validated, validate: 0.3, redundant: keep}
propensity:
  cells: 16
  half_lives: [4, 36h]
  prior: 6
  step: 0.2
  linear: false
  sign: follow
  residuals: off
  calibration: {knots: 26, half_life: 3001, prior: 23}
  monotone: {age: down}
  base_rates: {no: 0.5, later: 0.25, yes: 0.25}
local: {theta: 0.25, neighbours: 9, prototypes: 1025, newest: 2049, width: 0.07, observation: record, score: hit,
  redundancy: max, divergence: to_reference, reference_sd: 0.06, observations: 65, half_life: 301,
  pool: {bytes: 2MiB, half_life: 5h}}
kernel: {mode: literal, widths: [0.3, 3], gamma1: 0.125, gamma2: 0.375, triples: 1501}
drift: {false_alarms: 0.5}
fit: {records: 5001, warmup: 501, reservoir: {records: 65537, bytes: 65MiB}, gate: 0.0625, seed: 8}
labels: {window: 3h, on_expiry: yes, late: ignore, correct: 5h, match: first, max_bytes: 3MiB}
dedup: {window: 2h, max_bytes: 5MiB}
control: {share: 0.125, by: record, seed: 9, treated: called, learn: control}
memory: {tail: 33MiB, fit: 513MiB, message: 17MiB, decoded: 300MiB}
policy: {future: 6m, past: 90d}
output: {features: all, format: jsonl, why: 4, interval: 90%, unusual: 2%}
`

// TestEveryKeyReachesItsOption and no other one.
func TestEveryKeyReachesItsOption(t *testing.T) {
	s := stage(t, other)
	c := s.Config
	scorecard, err := scorecardOptions(c)
	if err != nil {
		t.Fatal(err)
	}
	columns := s.Codec
	schema, budget := columns.Schema, columns.Budget
	columns.Schema, columns.Budget = nil, nil
	for _, x := range []struct{ got, want any }{
		{s.Spec.Options, model.Options{Fingerprint: c.Fingerprint(), Frame: c.Frame(), Warmup: 501, TailBytes: 33 << 20,
			FitBytes: 513 << 20, ReservoirRecords: 65537, ReservoirBytes: 65 << 20, WaitBytes: 3 << 20,
			WaitWindow: int64(3 * time.Hour), ExpireAs: 2, CorrectFor: int64(5 * time.Hour), Match: model.MatchFirst,
			Why: 4, MinCount: 20, Interval: .9, Gate: .0625, Seed: 8, DedupWindow: int64(2 * time.Hour), DedupBytes: 5 << 20,
			BaseRates: []float64{3, 1.5, 1.5}, FalseAlarms: .5,
			Control: model.Control{Share: .125, ByRecord: true, Seed: 9, Learn: model.LearnControl}}},
		{columns, codec.Options{ID: "customer", Time: "seen_at", TimeUnit: time.Microsecond, Weight: "w", Label: "outcome",
			Missing: []string{"-"}, MaxMessage: 17 << 20, Nullable: map[string]bool{"age": false, "plan": true},
			Numbers: number.Format{Decimal: ",", Thousands: ".", Percent: true, Currency: []string{"EUR"}},
			Future:  6 * time.Minute, Past: 90 * 24 * time.Hour, Dedup: true, Control: true, Treated: "called",
			Features: codec.FeaturesAll, Format: codec.FormatJSONL, Interval: true, Unusual: true}},
		{liftOptions(c, schema), lift.Options{Quantiles: 6, Joint: lift.Product, Enter: true,
			Sets:    lift.SetOptions{Min: 2, Max: 4, Search: lift.Exhaustive, Rank: lift.ByEta, Top: 21},
			Windows: lift.WindowOptions{Top: 11, MinMass: .16, Contiguous: true},
			Profiles: lift.ProfileOptions{Top: 22, MinSupport: .006, MaxFeatures: 5, Of: []int32{2}, KeepRedundant: true,
				Rank: lift.ByValidated, Validate: .3, MinCount: 20}}},
		{scorecard, propensity.Options{Cells: 16, Prior: 6, Step: .2, Follow: true, Alone: true,
			HalfLives:   []model.HalfLife{{Records: 4}, {Duration: 36 * time.Hour}},
			Calibration: propensity.Calibration{Knots: 26, HalfLife: 3001, Prior: 23}}},
		{localOptions(c), local.Options{Theta: .25, Neighbours: 9, Prototypes: 1025, Newest: 2049, Width: .07,
			Observation: local.PerRecord, Redundancy: local.Max, Divergence: local.ToReference, ReferenceSD: .06,
			Observations: 65, HalfLife: model.HalfLife{Records: 301},
			Pool: local.Pool{Bytes: 2 << 20, HalfLife: model.HalfLife{Duration: 5 * time.Hour}}}},
		{s.Kernel(), kernel.Options{Mode: lp.Literal, Widths: []float64{.3, 3}, Gamma1: .125, Gamma2: .375, Triples: 1501}},
		{schema, &model.Schema{Classes: []string{"no", "later", "yes"}, Positive: 1, Features: []model.Feature{
			{Name: "age", Monotone: model.Down, Special: []float64{-3, -1}, Cuts: []float64{18, 25}},
			{Name: "income", Least: .125},
			{Name: "plan", Kind: model.Ordinal, Levels: []string{"basic", "plus"}},
			{Name: "region", Kind: model.Nominal}}}},
	} {
		if !reflect.DeepEqual(x.got, x.want) {
			t.Errorf("%T: got\n%+v\nwant\n%+v", x.got, x.got, x.want)
		}
	}
	d, err := codec.NewDecoder(s.Codec)
	if err != nil || budget.InUse() != 0 {
		t.Fatal(err)
	}
	d.Release()
}

// TestTheSecondOfTwoChoices is taken where a key has three.
func TestTheSecondOfTwoChoices(t *testing.T) {
	s := stage(t, strings.NewReplacer("literal", "ridge", "exhaustive", "beam", "rank: validated", "rank: lower",
		"features: all", "features: selected", "age: down", "age: up", "hit", "balanced",
		"to_reference", "lower_bound").Replace(other))
	l := liftOptions(s.Config, s.Codec.Schema)
	if s.Kernel().Mode != lp.Ridge || l.Sets.Search != lift.Beam || l.Profiles.Rank != lift.ByLower ||
		s.Codec.Features != codec.FeaturesSelected || s.Codec.Schema.Features[0].Monotone != model.Up ||
		localOptions(s.Config).Score != local.Balanced || localOptions(s.Config).Divergence != local.LowerBound {
		t.Errorf("%+v, %+v, %+v", s.Kernel(), l, s.Codec)
	}
	d := config.Default("x")
	if o := localOptions(d); o.Theta != local.Auto || o.Redundancy == local.Max || o.Observation == local.PerRecord ||
		o.Divergence != local.FromReference || o.ReferenceSD != .05 {
		t.Errorf("by default %+v", o)
	}
}

// TestUnderAnotherSchema: all else is as before, and the memory for decoded messages is the one of the stage.
func TestUnderAnotherSchema(t *testing.T) {
	s := stage(t, other)
	schema := *s.Codec.Schema
	schema.Features = schema.Features[1:]
	spec, columns, err := s.Under(&schema, 77)
	if err != nil {
		t.Fatal(err)
	}
	if columns.Budget != s.Codec.Budget || columns.Schema != &schema || spec.Schema != &schema {
		t.Errorf("%+v", columns)
	}
	want := s.Spec.Options
	if want.Fingerprint == 77 {
		t.Fatal("the fingerprint of the stage has changed")
	}
	want.Fingerprint = 77
	if !reflect.DeepEqual(spec.Options, want) || len(spec.Components) != len(s.Spec.Components) {
		t.Errorf("%+v, want %+v", spec.Options, want)
	}
}

// TestMethodsHaveTheirComponents: all has each of them, the others the base and one more or one alone, and a method of
// a component that is switched off is refused by name.
func TestMethodsHaveTheirComponents(t *testing.T) {
	s := stage(t, other)
	off := stage(t, strings.Replace(other, "kernel: {mode: literal, widths: [0.3, 3], gamma1: 0.125, gamma2: 0.375, "+
		"triples: 1501}", "kernel: off", 1))
	var names []string
	for _, m := range Methods() {
		names = append(names, m.Name)
		seen := 0
		x, err := s.Method(m, func(*model.Spec) { seen++ })
		if err != nil || x.Name != m.Name || (x.Spec == nil) != (m.Name == "prior") || x.Spec != nil != (seen == 1) {
			t.Fatalf("%s: %+v, %v", m.Name, x, err)
		}
		_, err = off.Method(m, func(*model.Spec) {})
		has := m.Name == "kernel" || m.Name == "lift+kernel"
		if has != (err != nil) || has && err.Error() != "method "+m.Name+": the configuration switches kernel off" {
			t.Errorf("%s without the kernel: %v", m.Name, err)
		}
		if x.Spec == nil {
			continue
		}
		var got []string
		for _, f := range x.Spec.Components {
			got = append(got, f.Name())
		}
		want := strings.Split(m.Name, "+")
		switch m.Name {
		case evaluate.MethodAll:
			want = nil
			for _, f := range s.Spec.Components {
				if f.Name() != unusual.Name {
					want = append(want, f.Name())
				}
			}
		case Neighbours:
			want = []string{local.Name}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", m.Name, got, want)
		}
	}
	if names[0] != evaluate.MethodAll || names[1] != lift.Name || names[len(names)-1] != "prior" ||
		names[len(names)-2] != Neighbours || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Errorf("methods %q", names)
	}
	if s.Alone(Neighbours).Scorecard.Name() == s.Spec.Scorecard.Name() {
		t.Error("neighbours stand under the scorecard of the stage")
	}
	if err := off.Compare(new([][3]int32)); err == nil {
		t.Error("triples were taken without a kernel")
	}
}

const small = `
name: x
record:
  label: {column: y, classes: [no, yes], positive: yes}
  features: [{name: a, kind: continuous}, {name: b, kind: continuous}, {name: c, kind: continuous}]
kernel: {triples: 100, gamma1: 0, gamma2: 0}
`

// gathered is a builder with n records in the order of at; a tells the class.
func gathered(spec *model.Spec, at []int, weight bool) *model.Builder {
	b := &model.Batch{N: len(at), Columns: make([]model.Column, 3), Time: make([]int64, len(at))}
	for _, i := range at {
		for f := range 3 {
			b.Columns[f].Float = append(b.Columns[f].Float, float64(i*(3+4*f)%(11+2*f)))
		}
		b.Label = append(b.Label, int32(i*3%11/6))
		if weight {
			b.Weight = append(b.Weight, float64(1+3*(i*3%11/6)))
		}
	}
	builder := model.NewBuilder(spec)
	builder.Add(b)
	return builder
}

// TestGivenTriplesSpeakOfTheRecordsAsRead: a fit puts the records into an order of its own; the same triples of the
// same records give the same kernel in any order of reading, and other triples another one.
func TestGivenTriplesSpeakOfTheRecordsAsRead(t *testing.T) {
	const n = 60
	forth, back := make([]int, n), make([]int, n)
	for i := range n {
		forth[i], back[i] = i, n-1-i
	}
	fit := func(order []int, triples [][3]int32) []byte {
		s := stage(t, small)
		if err := s.Compare(&triples); err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(triples)
		m, err := gathered(s.Spec, order, false).Fit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(before, triples) {
			t.Error("the triples of the caller have changed")
		}
		return m.Parts[kernel.Name]
	}
	var triples, turned, others [][3]int32
	for i := range int32(n - 12) {
		x := [3]int32{i, i + 11, i + 5}
		triples = append(triples, x)
		turned = append(turned, [3]int32{n - 1 - x[0], n - 1 - x[1], n - 1 - x[2]})
		others = append(others, [3]int32{i, i + 5, i + 11})
	}
	one := fit(forth, triples)
	if !bytes.Equal(one, fit(back, turned)) {
		t.Error("the kernel depends on the order in which the records were read")
	}
	if bytes.Equal(one, fit(forth, others)) {
		t.Error("the kernel does not depend on the triples")
	}
}

// TestReportOfAFit: base rates are those of the weights, each step has its time, and a part that cannot be read is
// named.
func TestReportOfAFit(t *testing.T) {
	s := stage(t, small)
	timing := s.Time()
	order := make([]int, 110)
	for i := range order {
		order[i] = i
	}
	b := gathered(s.Spec, order, true)
	m, err := b.Fit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Report("x", 123, b.Evidence(), m)
	if err != nil {
		t.Fatal(err)
	}
	// 50 records of weight 4, 60 of weight 1.
	if r.Name != "x" || r.Records != 123 || r.Labelled != 110 || len(r.Features) != 3 ||
		math.Abs(float64(r.BaseRates[1])-200./260) > 1e-12 || math.Abs(float64(r.BaseRates[0])-60./260) > 1e-12 {
		t.Errorf("%s, %d records, %d labelled, rates %v", r.Name, r.Records, r.Labelled, r.BaseRates)
	}
	if r.Kernel == nil || r.Local == nil || len(r.Sets) == 0 {
		t.Error("a section lacks")
	}
	seconds := timing.Seconds(1500 * time.Millisecond)
	if len(seconds) != 1+len(s.Spec.Components) || seconds[0] != (report.Second{Step: "read", Seconds: 1.5}) {
		t.Errorf("%+v", seconds)
	}
	for i, f := range s.Spec.Components {
		if x := seconds[1+i]; x.Step != f.Name() || !(x.Seconds > 0) {
			t.Errorf("step %d: %+v", i, x)
		}
	}
	if list := s.ShortList(m); len(list) == 0 || list[0] != "a" {
		t.Errorf("the short list is %q", list)
	}
	if text := strings.Join(s.Summary(r), "\n"); !strings.Contains(text, "Kernel") || !strings.Contains(text, "Local") {
		t.Errorf("summary %q", text)
	}
	m.Parts[kernel.Name] = []byte("torn")
	if _, err := s.Report("x", 1, b.Evidence(), m); err == nil || !strings.Contains(err.Error(), "part kernel") {
		t.Errorf("a torn part: %v", err)
	}
	m.Parts[lift.Name] = []byte("torn")
	if err := PrintParts(&strings.Builder{}, m); err == nil || !strings.Contains(err.Error(), "part lift") {
		t.Errorf("a torn part: %v", err)
	}
	if len(s.ShortList(m)) > 0 {
		t.Error("a torn part has a short list")
	}
}

// TestATimedFitKeepsItsError, and the time until then.
func TestATimedFitKeepsItsError(t *testing.T) {
	s := stage(t, small)
	timing := s.Time()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := gathered(s.Spec, []int{0, 1, 2, 3, 4, 5, 6}, false).Fit(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled fit: %v", err)
	}
	if got := fmt.Sprint(timing.Seconds(0)[0].Step); got != "read" {
		t.Errorf("the first step is %s", got)
	}
}

// TestWhatIsLearntOfAControlSection: each value reaches the partition, and the columns of the scores.
func TestWhatIsLearntOfAControlSection(t *testing.T) {
	for _, c := range []struct {
		text string
		want model.Control
	}{
		{"", model.Control{}},
		{"control: {by: record}\n", model.Control{Share: .05, ByRecord: true, Seed: 1}},
		{"control: {by: record, learn: control}\n",
			model.Control{Share: .05, ByRecord: true, Seed: 1, Learn: model.LearnControl}},
		{"control: {by: record, treated: t, learn: untreated, uplift: on}\n",
			model.Control{Share: .05, ByRecord: true, Seed: 1, Learn: model.LearnUntreated, Uplift: true}},
	} {
		text, want := c.text, c.want
		s := stage(t, full+text)
		treated := ""
		if want.Uplift {
			treated = "t"
		}
		if s.Spec.Options.Control != want || s.Codec.Control != (want.Share > 0) || s.Codec.Uplift != want.Uplift ||
			s.Codec.Treated != treated {
			t.Errorf("%q: %+v, columns %+v", text, s.Spec.Options.Control, s.Codec)
		}
	}
}
