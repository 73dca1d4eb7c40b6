package evaluate

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"liftstream/model"
)

// scripted scores record i of the stream, whose time is i, by p, and explains it by why; it learns nothing.
type scripted struct {
	p   func(i int) float64
	why func(i int) (why []model.Reason, subspace int)
}

func (s scripted) Events(b *model.Batch, out *model.Scores) {
	out.Reset(b.N, 2)
	for r := range b.N {
		i := int(b.Time[r])
		out.P[2*r], out.P[2*r+1] = 1-s.p(i), s.p(i)
		if s.why != nil {
			why, n := s.why(i)
			out.Why = append(out.Why, why...)
			for f := range n {
				out.Subspace, out.Relevance = append(out.Subspace, int32(f)), append(out.Relevance, 1)
			}
		}
		out.WhyEnd[r], out.SubspaceEnd[r] = int32(len(out.Why)), int32(len(out.Subspace))
	}
}

func (scripted) Labels(l *model.Labels) model.LabelCounts { return model.LabelCounts{Learnt: l.N} }

func script(name string, s scripted) Method {
	return Method{Name: name, New: func(int32) Learner { return s }}
}

// TestAnEvaluationByHand: skipped records count nowhere, records without a class in the drift alone; gains, curve and
// drift are those of the method all wherever it stands, and the differences are all less the other.
func TestAnEvaluationByHand(t *testing.T) {
	const n, skip = 3 * DriftRecords, 100
	nan := math.NaN()
	good := func(i int) float64 { return .1 + .8*uniform(31, i, 1) }
	poor := func(i int) float64 { return .5 + .1*(good(i)-.5) }
	why := func(i int) ([]model.Reason, int) {
		return []model.Reason{
			{Feature: 0, Effect: .2, Lift: 2}, {Feature: 1, Effect: -.2, Lift: 2}, // counts; is in conflict as well
			{Feature: 0, Effect: .2, Lift: nan}, {Feature: 0, Effect: .05, Lift: .5}, // has no lift; does not matter
			{Feature: model.TermIntercept, Effect: 3, Lift: nan},
		}[:1+i%5], i % 3
	}
	methods := []Method{script("poor", scripted{poor, nil}), script(MethodAll, scripted{good, why})}
	for _, positive := range []int{1, 0, -1} {
		s := testSchema()
		s.Positive = positive
		e := NewEvaluation(s, methods, skip, 5)
		sets := [2]*Set{NewSet(2), NewSet(2)}
		drift := NewDriftMeter(s, skip, DriftRecords)
		var selected, reasons, conflicts, untold float64
		target := positive
		if target < 0 {
			target = 1
		}
		run, err := Prequential(t.Context(), s, stream(n, 100, true, false), methods, Options{}, func(r *Record) error {
			i := int(r.Index)
			if i >= skip {
				class := ""
				if r.Class >= 0 {
					class = s.Classes[r.Class]
				}
				drift.Add(r.Batch, r.Row, class, []float64{1 - good(i), good(i)}[target])
			}
			if i >= skip && r.Class >= 0 {
				for k, p := range []float64{poor(i), good(i)} {
					if err := sets[k].Add(r.Index, []float64{1 - p, p}, r.Class, r.Weight); err != nil {
						return err
					}
				}
				k := 1 + i%5
				selected += float64(i % 3)
				reasons += float64(min(k, 2))
				conflicts += float64(min(k, 2) - 1)
				untold += float64(min(max(k-2, 0), 1))
			}
			return e.Add(r)
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Result(run)
		if err != nil {
			t.Fatal(err)
		}
		m := got.Methods[MethodAll]
		if m.Reasons != int64(reasons) || m.Conflicts != int64(conflicts) || m.Untold != int64(untold) ||
			m.MeanSubspace != Number(selected/float64(sets[1].Len())) || got.Methods["poor"].Reasons != 0 {
			t.Errorf("positive %d: %d reasons, %d conflicts, %d without a lift, %v features; want %v, %v, %v of %v records",
				positive, m.Reasons, m.Conflicts, m.Untold, m.MeanSubspace, reasons, conflicts, untold, sets[1].Len())
		}
		if got.Records != n || got.Scored != int64(sets[1].Len()) || got.Protocol != "prequential" || got.Partitions != 1 {
			t.Errorf("positive %d: %d records, %d scored, %s", positive, got.Records, got.Scored, got.Protocol)
		}
		if !reflect.DeepEqual(got.Drift, drift.Report()) || len(got.Drift) != 4 {
			t.Errorf("positive %d: drift %+v, want %+v", positive, got.Drift, drift.Report())
		}
		if want := map[int]string{1: "yes", 0: "no", -1: ""}[positive]; got.Positive != want {
			t.Errorf("positive %d is %q", positive, got.Positive)
		}
		gains := sets[1].Gains(positive)
		if len(gains) > 0 {
			gainsIntervals(sets[1], gains, sets[1].target(positive), Value{}, 5)
		}
		sameGini(t, got, sets, positive)
		if !reflect.DeepEqual(got.Gains, gains) || !reflect.DeepEqual(got.Curve, sets[1].Curve()) {
			t.Errorf("positive %d: gains or curve are not those of %s", positive, MethodAll)
		}
		d := got.Against["poor"]
		near(t, "difference", d.LogLoss, Number(sets[1].LogLoss()-sets[0].LogLoss()), 1e-15)
		if !(d.Interval[0] < d.LogLoss && d.LogLoss < d.Interval[1]) || len(got.Against) != 1 || d.LogLoss == 0 {
			t.Errorf("positive %d: against %+v", positive, got.Against)
		}
	}
}

// TestFoldsLeaveDriftOut, whose records come fold by fold; they count each labelled record that was learnt.
func TestFoldsLeaveDriftOut(t *testing.T) {
	s := testSchema()
	methods := []Method{Prior(s)}
	const n, k = 3 * DriftRecords, 3
	e := NewEvaluation(s, methods, 0, 1)
	labelled := int64(0)
	run, err := Folds(t.Context(), s, stream(n, 100, false, false), methods, k, StratifiedFolds(k, 1),
		func(r *Record) error {
			if r.Class >= 0 {
				labelled++
			}
			return e.Add(r)
		})
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Result(run)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Drift) != 0 || r.Drift == nil || run.Learnt != labelled*(k-1) || run.Fits != 0 || r.Records != n ||
		r.Protocol != "folds" || !math.IsNaN(float64(r.Stability.MeanChange)) {
		t.Errorf("drift %v, %d of %d labelled records learnt; %+v", r.Drift, run.Learnt, labelled, run)
	}
}

// TestErrorsNameMethodAndRecord: a learner that gives no propensity, and methods that scored other records.
func TestErrorsNameMethodAndRecord(t *testing.T) {
	s := testSchema()
	bad := script("bad", scripted{func(i int) float64 {
		if i == 7 {
			return 1.5
		}
		return .5
	}, nil})
	e := NewEvaluation(s, []Method{Prior(s), bad}, 0, 1)
	_, err := Prequential(t.Context(), s, stream(20, 20, false, false), []Method{Prior(s), bad}, Options{}, e.Add)
	if err == nil || !strings.Contains(err.Error(), "method bad: adding record 7: propensity") {
		t.Errorf("%v", err)
	}
	e = NewEvaluation(s, []Method{{Name: "one"}, {Name: MethodAll}}, 0, 1)
	_ = e.Set("one").Add(1, []float64{1, 0}, 0, 1)
	if _, err := e.Result(Run{}); !errors.Is(err, errUnpaired) || !strings.Contains(err.Error(), "comparing one") {
		t.Errorf("%v", err)
	}
	if e.Set("two") != nil {
		t.Error("a method that does not exist has a set")
	}
}

// TestAFitTellsItsVerdict names each figure by its side.
func TestAFitTellsItsVerdict(t *testing.T) {
	v := FitVerdict{Method: "lift", Learnt: 900, Verdict: model.Verdict{Reason: model.Worse, Records: 40, New: .5, Old: .3,
		Gate: .01, Low: .1, High: .25}}
	want := Fit{Method: "lift", Learnt: 900, Reason: "worse", Records: 40, LogLoss: .5, Serving: .3, Difference: .2,
		Interval: Interval{.1, .25}, Gate: .01}
	if got := NewFit(&v); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	v.Reason = model.Better
	if got := NewFit(&v); !got.Accepted || got.Reason != "better" {
		t.Errorf("%+v", got)
	}
	s := testSchema()
	r, err := NewEvaluation(s, []Method{Prior(s)}, 0, 1).Result(Run{Verdicts: []FitVerdict{v, {Method: "second"}}})
	if err != nil || len(r.Fits) != 2 || r.Fits[0] != NewFit(&v) || r.Fits[1].Method != "second" {
		t.Errorf("%v, fits %+v", err, r.Fits)
	}
}

// TestDriftByHand: levels of 1 % of the reference have a bin, the others share one with new ones; missing is a bin; the
// place is that of the first of equal windows. With one window after the reference the expected PSI is the mean of
// chi2 with a degree of freedom for each further bin, and the threshold its quantile.
func TestDriftByHand(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "level", Kind: model.Nominal}, {Name: "number"}},
		Classes: []string{"no", "yes"}, Positive: 1}
	const n = DriftRecords
	levels := []string{"common", "share", "rare", "new"}
	// Of each window the number of records of each level, and of missing ones.
	windows := [][5]int{{1900, 20, 19, 0, 61}, {1800, 100, 0, 60, 40}, {1800, 100, 60, 0, 40}, {1900, 20, 9, 10, 61}}
	want := func(w int) float64 {
		bins := func(x [5]int) []float64 {
			return []float64{float64(x[2] + x[3]), float64(x[4]), float64(x[0]), float64(x[1])}
		}
		var sum float64
		now := bins(windows[w])
		for k, v := range bins(windows[0]) {
			p, q := (v+.5)/(n+2), (now[k]+.5)/(n+2)
			sum += (q - p) * math.Log(q/p)
		}
		return sum
	}
	for count := 1; count <= len(windows); count++ {
		d := NewDriftMeter(s, 300, DriftRecords)
		for w := range count {
			at := 0
			for k, m := range windows[w] {
				for range m {
					code := uint32(k)
					if k == 4 {
						code = model.MissingCode
					}
					b := &model.Batch{N: 1, Columns: []model.Column{{Code: []uint32{code}, Levels: levels},
						{Float: []float64{float64(at % 40)}}}}
					if at%8 == 7 {
						b.Columns[1].Float[0] = math.Inf(1) // as missing
					}
					d.Add(b, 0, s.Classes[at%2], math.NaN())
					at++
				}
			}
		}
		report := d.Report()
		if count == 1 {
			if len(report) != 0 {
				t.Errorf("without a window after the reference: %+v", report)
			}
			continue
		}
		if len(report) != 4 || report[0].Feature != "level" {
			t.Fatalf("%d windows: %+v", count, report)
		}
		r := report[0]
		near(t, "psi", r.PSI, Number(want(1)), 1e-12)
		near(t, "last psi", r.Last, Number(want(count-1)), 1e-12)
		if r.At != 300+2*n {
			t.Errorf("%d windows: at %d, want the first of equal ones", count, r.At)
		}
		if count == 2 {
			chi := distuv.ChiSquared{K: 3}
			near(t, "expected", r.Expected, 2./n*3, 1e-8)
			near(t, "threshold", r.Threshold, Number(2./n*chi.Quantile(1-.05/4)), 1e-9)
		}
		for _, r := range report[1:] {
			if r.PSI != 0 || r.Last != 0 {
				t.Errorf("%d windows: %s moves by %v", count, r.Feature, r.PSI)
			}
			if r.Feature == "(propensity)" && (r.Expected != 0 || r.Threshold != 0) {
				t.Errorf("a column of one bin: %+v", r)
			}
		}
	}
}

// TestDriftIsListedByItsLargest value, not by its last.
func TestDriftIsListedByItsLargest(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "steady"}, {Name: "later"}, {Name: "once"}},
		Classes: []string{"no", "yes"}, Positive: 1}
	d := NewDriftMeter(s, 0, DriftRecords)
	b := &model.Batch{N: 1, Columns: []model.Column{{Float: make([]float64, 1)}, {Float: make([]float64, 1)},
		{Float: make([]float64, 1)}}}
	for i := range 3 * DriftRecords {
		v, window := float64(i%100), i/DriftRecords
		b.Columns[0].Float[0], b.Columns[1].Float[0], b.Columns[2].Float[0] = v, v, v
		switch window {
		case 1:
			b.Columns[2].Float[0] += 60
		case 2:
			b.Columns[1].Float[0] += 30
		}
		d.Add(b, 0, s.Classes[i%2], v/100)
	}
	r := d.Report()
	if r[0].Feature != "once" || r[1].Feature != "later" || r[0].Last >= r[1].Last || r[0].PSI <= r[1].PSI ||
		r[2].Feature != "steady" { // equal ones in the order of the configuration
		t.Errorf("%+v", r)
	}
}

// TestBlocksOfTheBootstrap: a fiftieth of the records, at most 1,000 of them; a rest of half a block or more is one.
func TestBlocksOfTheBootstrap(t *testing.T) {
	for _, c := range []struct{ n, blocks, last int }{
		{0, 0, 0}, {1, 1, 1}, {49, 49, 1}, {99, 99, 1}, {100, 50, 2}, {101, 51, 1}, {2000, 50, 40}, {2019, 50, 59},
		{2020, 51, 20}, {2040, 51, 40}, {60_499, 60, 1499}, {60_500, 61, 500},
	} {
		s := NewSet(2)
		for i := range c.n {
			if err := s.Add(int64(i), []float64{.5, .5}, 0, 2); err != nil {
				t.Fatal(err)
			}
		}
		blocks := s.blocks(func(int) float64 { return .25 })
		if len(blocks) != c.blocks || c.n > 0 && blocks[len(blocks)-1] != (sums{float64(c.last) / 2, 2 * float64(c.last)}) {
			t.Errorf("%d records: %d blocks, want %d, the last of %d records", c.n, len(blocks), c.blocks, c.last)
		}
		low, high := interval(blocks, 1)[0], interval(blocks, 1)[1]
		if len(blocks) >= 2 && (math.Abs(float64(low)-.25) > 1e-12 || math.Abs(float64(high)-.25) > 1e-12) ||
			len(blocks) < 2 && !(math.IsNaN(float64(low)) && math.IsNaN(float64(high))) {
			t.Errorf("%d records that all lose .25: interval %v to %v", c.n, low, high)
		}
	}
	// Records without weight do not divide by it.
	if x := interval([]sums{{0, 0}, {1, 1}}, 1); x != (Interval{1, 1}) {
		t.Errorf("interval %v", x)
	}
	for q, want := range map[float64]float64{0: 1, .5: 2.5, .25: 1.75, 1: 4} {
		if got := quantile([]float64{1, 2, 3, 4}, q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}

// TestSortingKeepsTheCounts that are of the whole set, and an empty set has no figures.
func TestSortingKeepsTheCounts(t *testing.T) {
	s := NewSet(2)
	for i := range 4 {
		if err := s.Add(int64(3-i), []float64{.5, .5}, int32(i%2), float64(i)); err != nil {
			t.Fatal(err)
		}
	}
	s.Selected, s.Reasons, s.Conflicts, s.Untold = 6, 5, 4, 3
	s.Sort()
	m := s.Metrics(1, 1)
	if m.Reasons != 5 || m.Conflicts != 4 || m.Untold != 3 || m.MeanSubspace != 1.5 ||
		!slices.Equal(s.Weight, []float64{3, 2, 1, 0}) {
		t.Errorf("%+v, weights %v", m, s.Weight)
	}
	m = NewSet(3).Metrics(-1, 1)
	v := reflect.ValueOf(*m)
	for i := range v.NumField() {
		if x, ok := v.Field(i).Interface().(Number); ok && !math.IsNaN(float64(x)) {
			t.Errorf("%s of nothing is %v", v.Type().Field(i).Name, x)
		}
	}
}

// TestTheTopIsAtLeastOneRecord, and by weight a share of the mass.
func TestTheTopIsAtLeastOneRecord(t *testing.T) {
	for _, c := range []struct {
		n         int
		weight    float64
		share     float64
		top, mean float64
	}{
		{30, 1, .01, 1, 29}, {30, 1, .1, 3, 28}, {30, 1, .099, 2, 28.5}, {30, 1, 1, 30, 14.5}, {10, 1, .3, 3, 8},
		{30, 2, .01, .6, 29}, {30, 2, .1, 6, 28},
	} {
		r := ranked(c.n, func(i int) (float64, bool, float64) { return float64(i), i >= c.n-2, c.weight })
		top := r.Top(c.share)
		if math.Abs(top.N-c.top) > 1e-12 || math.Abs(top.Score-c.mean) > 1e-12 ||
			math.Abs(top.Positives-min(top.N, 2*c.weight)) > 1e-12 {
			t.Errorf("%+v: %+v", c, top)
		}
	}
	r := ranked(3, func(i int) (float64, bool, float64) {
		return []float64{1, 2, math.NaN()}[i], i == 0, []float64{1, 0, 1}[i]
	})
	if len(r.steps) != 1 || !math.IsNaN(r.AUC()) || r.Top(1).N != 1 {
		t.Errorf("records of no weight and no score are kept: %+v", r.steps)
	}
}

// TestRowsOfAMessage: each has its number and, where the source has none, its place in the stream as the time; ids are
// there for all rows or for none.
func TestRowsOfAMessage(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "x"}, {Name: "job", Kind: model.Nominal}}}
	batch := func(ids, times bool, levels ...string) *model.Batch {
		b := &model.Batch{N: 2, Columns: []model.Column{{Float: []float64{1, 2}}, {Code: []uint32{0, 1}, Levels: levels}},
			Label: []int32{0, 1}}
		if ids {
			b.ID = []string{"a", "b"}
		}
		if times {
			b.Time = []int64{70, 80}
		}
		return b
	}
	m := newMessage(3, s)
	for round, want := range []string{
		"[1 2 1] [0 1 1] [p q] [5 6 80] [0 1 2] []", // the second batch has no ids
		"[1 2 2] [0 1 0] [q p] [70 80 9] [0 1 2] [a b a]",
	} {
		m.from(batch(true, round == 1, []string{"p", "q"}[round], []string{"q", "p"}[round]))
		m.add(5, 0, 1)
		m.add(6, 1, 1)
		if round == 0 {
			m.from(batch(false, true, "q", "r"))
			m.source.Columns[0].Float[1], m.source.Columns[1].Code[1] = 1, 0
			m.add(7, 1, 1)
			m.from(batch(true, true, "x", "y")) // ids begin again with the next message
		} else {
			m.from(batch(true, false, "q", "r"))
			m.source.Columns[0].Float[0] = 2
			m.add(9, 0, 1)
		}
		b := &m.batch
		got := fmt.Sprint(b.Columns[0].Float, b.Columns[1].Code, b.Columns[1].Levels, b.Time, b.Row, b.ID)
		if got != want || b.N != 3 || b.Partition != 3 || !slices.Equal(b.Weight, []float64{1, 1, 1}) {
			t.Errorf("message %d: %s, want %s", round, got, want)
		}
		if m.reset(); b.N != 0 || len(b.Label)+len(b.Time)+len(b.Columns[1].Levels) != 0 {
			t.Errorf("message %d is not empty: %+v", round, b)
		}
	}
}

// sameGini: the interval of Gini is that of each method by itself, though the one of the gains has it of their
// resamples.
func sameGini(t *testing.T, got *Result, sets [2]*Set, positive int) {
	t.Helper()
	for k, method := range []string{"poor", MethodAll} {
		if got, want := got.Methods[method].GiniInterval, sets[k].Metrics(positive, 5).GiniInterval; got != want {
			t.Errorf("positive %d: %s has Gini in %v, want %v", positive, method, got, want)
		}
	}
}
