package show

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/report"
	"liftstream/stream/state"
	"liftstream/stream/verify"
)

// written compares a page with a file of testdata that was checked by hand.
func written(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the page differs from %s:\n%s", path, got)
	}
}

// numbered gives every number inside v another value, from first on, so that no two figures can be exchanged unseen.
func numbered(v reflect.Value, step float64, next *float64) {
	switch v.Kind() {
	case reflect.Pointer:
		numbered(v.Elem(), step, next)
	case reflect.Struct:
		for i := range v.NumField() {
			numbered(v.Field(i), step, next)
		}
	case reflect.Array:
		for i := range v.Len() {
			numbered(v.Index(i), step, next)
		}
	case reflect.Float64:
		v.SetFloat(*next)
		*next += step
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*next * 1000))
		*next += step
	default: // texts and maps stay as they are
	}
}

var none = evaluate.Number(nan)

func evaluation() (*evaluate.Result, evaluate.Run) {
	all, lift := &evaluate.Metrics{}, &evaluate.Metrics{}
	next := .1
	numbered(reflect.ValueOf(all), .01, &next)
	numbered(reflect.ValueOf(lift), .01, &next)
	all.LiftAt = map[string]evaluate.Number{"0.1": 3.5, "0.05": 4.25}
	lift.LiftAt = map[string]evaluate.Number{"0.1": 2.75}
	profit, profits := evaluate.Number(1234.5), evaluate.Interval{-10, 2000}
	r := &evaluate.Result{Protocol: "prequential", Delay: 1, Partitions: 3, Records: 1234, Scored: 987,
		Classes: []string{"no", "yes"}, Positive: "yes",
		Methods: map[string]*evaluate.Metrics{"all": all, "lift": lift},
		Against: map[string]*evaluate.Difference{"lift": {LogLoss: -.0123, Interval: evaluate.Interval{-.02, -.003}}},
		Gains: []evaluate.Gain{{Share: .1, N: 100, Positives: 40, Capture: .25, Lift: 2.5, MeanPropensity: .375,
			LiftInterval: evaluate.Interval{2.25, 2.75}, CaptureInterval: evaluate.Interval{.2, .3}, Profit: &profit,
			ProfitInterval: &profits},
			{Share: .5, N: 500, Positives: 120, Capture: .75, Lift: 1.5, MeanPropensity: .25,
				LiftInterval: evaluate.Interval{none, none}, Profit: &profit, ProfitInterval: &profits},
			{Share: .55, N: 550, Positives: 130, Capture: .8125, Lift: 1.4, MeanPropensity: .2}},
		Profit: &evaluate.Profit{Value: evaluate.Value{Hit: 40, Contact: 1.5}, Best: .375, BestProfit: 2500, Paying: .25,
			PayingProfit: 2400, PayingInterval: evaluate.Interval{1900, 2900}, All: -300},
		Curve: []evaluate.CurvePoint{{Records: 600, AUC: .7, LogLoss: .4, ExpectedAUC: .75, ExpectedLogLoss: .35},
			{Records: 1234, AUC: .8, LogLoss: .3, ExpectedAUC: .85, ExpectedLogLoss: .2, Parted: true}},
		Drift: []evaluate.Drift{{Feature: "age", PSI: .35, At: 900, Last: .15, Expected: .01, Threshold: .05,
			Cells: []evaluate.DriftCell{{Cell: "(-inf, 30]", Expected: .5, Actual: .4, Part: .02},
				{Cell: "(30, inf)", Expected: .5, Actual: .9, Part: .33}}},
			{Feature: "at the bound", PSI: .1, At: 800, Last: .09, Threshold: .05},
			{Feature: "little", PSI: .09, At: 700, Last: .08, Threshold: .05},
			{Feature: "by chance", PSI: .2, At: 600, Last: .07, Threshold: .2}},
		DriftRecords: 200, Baselines: &evaluate.Baselines{NoChange: .7125, Majority: .8125},
		DriftPoints: []evaluate.DriftPoint{{At: 320, Since: 300, Before: .25, After: .5}, {At: 950, Since: 900, Before: .5,
			After: none}},
		Alarms: []evaluate.Alarm{{Feature: "age", Kind: "values", At: 700, PSI: .35, LogLoss: none, Threshold: .12},
			{Feature: "(loss)", Kind: "over_promise", At: 750, PSI: none, LogLoss: .31, Threshold: .28},
			{Feature: "age", Kind: "values", At: 1200, PSI: .5, LogLoss: none, Threshold: .12}},
		Stability: evaluate.Stability{MeanChange: .0125, SegmentChanged: .0625},
		Fits: []evaluate.Fit{{Method: "all", Learnt: 400, Accepted: true, Reason: "nothing_to_compare", LogLoss: none,
			Serving: none, Difference: none, Interval: evaluate.Interval{none, none}, Gate: .005},
			{Method: "lift", Learnt: 450, Reason: "better", Records: 5, Gate: .25},
			{Method: "all", Learnt: 800, Reason: "worse", Records: 90, LogLoss: .35, Serving: .3, Difference: .05,
				Interval: evaluate.Interval{-.01, .11}, Gate: .005}},
		RecordsPerSecond: 4567.8,
	}
	return r, evaluate.Run{Fits: 1, Refused: 2}
}

// TestPageOfAnEvaluation: each figure of the result stands in its row, under its method.
func TestPageOfAnEvaluation(t *testing.T) {
	r, run := evaluation()
	var b strings.Builder
	if err := Evaluation(&b, []string{"a.csv", "b.csv"}, []string{"all", "absent", "lift"}, run, r); err != nil {
		t.Fatal(err)
	}
	written(t, "evaluation", b.String())
}

// TestPageOfChallengers: figures of both and their differences, for the methods that both have.
func TestPageOfChallengers(t *testing.T) {
	r, _ := evaluation()
	m, p := &evaluate.Metrics{}, &evaluate.Pair{}
	next := .05
	numbered(reflect.ValueOf(m), .01, &next)
	numbered(reflect.ValueOf(p), .01, &next)
	r.Challengers = []evaluate.Challenger{{Config: "b.yaml", Against: map[string]*evaluate.Pair{"all": p},
		Result: &evaluate.Result{Methods: map[string]*evaluate.Metrics{"all": m}}}}
	var b strings.Builder
	if err := Challengers(&b, "a.yaml", []string{"all", "absent", "lift"}, r); err != nil {
		t.Fatal(err)
	}
	written(t, "challengers", b.String())
}

// TestPageOfAnEvaluationWithoutMore: a single method, no positive class, no re-fit, and figures that there are none of.
func TestPageOfAnEvaluationWithoutMore(t *testing.T) {
	m := &evaluate.Metrics{LogLoss: .5, AUC: none, LogLossInterval: evaluate.Interval{none, none}, Reasons: 0, Untold: 4}
	r := &evaluate.Result{Protocol: "folds", Partitions: 1, Records: 1, Scored: 1,
		Methods: map[string]*evaluate.Metrics{"prior": m}, Curve: []evaluate.CurvePoint{{Records: 1}},
		Stability: evaluate.Stability{MeanChange: none, SegmentChanged: none}, RecordsPerSecond: 10}
	var b strings.Builder
	if err := Evaluation(&b, []string{"a.csv"}, []string{"all", "prior"}, evaluate.Run{}, r); err != nil {
		t.Fatal(err)
	}
	written(t, "evaluation_one", b.String())
}

func reported() *report.Report {
	r := &report.Report{Name: "bank", Records: 1, Labelled: 900, Classes: []string{"no", "yes"},
		BaseRates: []report.Number{.883, .117}}
	for f := range 12 {
		name := string(rune('a' + f))
		r.Features = append(r.Features, report.Feature{Name: name, AUC: report.Number(.5 + .01*float64(f)),
			InformationValue: report.Number(.2 - .01*float64(f))})
		r.Sets = append(r.Sets, report.Set{Features: []string{name, "x"}, EtaLeaveOneOut: report.Number(.3 - .01*float64(f)),
			Eta: .4, EtaCorrected: .35, N: report.Number(800 + f), Levels: make([]string, f+1)})
		r.Windows = append(r.Windows, report.Window{Features: []string{name, "z"}, Levels: []string{"1", "2", "3", "4", "5"},
			Eta: .25, EtaCorrected: .2, EtaLow: .125, EtaHigh: .375, N: report.Number(100 + f), Mass: .15})
	}
	r.Features[2].Warnings = []string{"known only afterwards"}
	for k := range 13 {
		p := report.Profile{Class: "no", Profile: report.Tests{{Feature: "k", Cell: string(rune('a' + k))}}, Lift: 1.25,
			NX: report.Number(50 + k), NXY: report.Number(20 + k), ValidatedLift: none2, ValidatedAmong: 4}
		if k == 12 {
			p.Confirmed, p.ValidatedLift, p.ValidatedLow, p.ValidatedHigh = true, 1.5, .75, 2.25
			p.Profile = append(p.Profile, report.Test{Feature: "age", Cell: "(30, 40]"})
		}
		r.Profiles = append(r.Profiles, p)
	}
	r.Profiles = append(r.Profiles, report.Profile{Class: "yes", Profile: report.Tests{{Feature: "job", Cell: "(other)"}},
		Lift: 3, NX: 70, NXY: 60, ValidatedLift: none2})
	return r
}

var (
	nan   = math.NaN()
	none2 = report.Number(nan)
)

// TestPageOfAReport: features by AUC, sets, windows and profiles in the order of the report, the positive class first.
func TestPageOfAReport(t *testing.T) {
	var b strings.Builder
	if err := Report(&b, reported(), "yes", []string{"The kernel uses nothing.", "The curves are flat."}); err != nil {
		t.Fatal(err)
	}
	written(t, "report", b.String())
}

// TestReportShowsTheProfilesOfSixClasses, half as many of each, and counts the others.
func TestReportShowsTheProfilesOfSixClasses(t *testing.T) {
	for n, want := range map[int]string{2: "", 6: "", 7: "Profiles of 1 more classes", 9: "Profiles of 3 more classes"} {
		r, rows := &report.Report{}, 10
		if n > 2 {
			rows = 5
		}
		for c := range n {
			for k := range 11 {
				r.Profiles = append(r.Profiles, report.Profile{Class: string(rune('A' + c)), Profile: report.Tests{{Feature: "f",
					Cell: string(rune('a' + k))}}})
			}
		}
		var b strings.Builder
		if err := reportProfiles(&b, r, "B"); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		more := strings.Contains(text, "more classes")
		if got := strings.Count(text, "f="); got != rows*min(n, 6) || more != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%d classes: %d profiles are shown, want %d of each of six and %q:\n%s", n, got, rows, want, text)
		}
		if strings.Index(text, "Profiles of B") > strings.Index(text, "Profiles of A") {
			t.Errorf("%d classes: the positive one is not the first", n)
		}
	}
}

func shownModel() *model.Model {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1, Features: []model.Feature{{Name: "age"},
		{Name: "plan", Kind: model.Ordinal, Levels: []string{"basic", "plus"}, Use: model.UseReport},
		{Name: "job", Kind: model.Nominal}}}
	levels := model.NewLevels(s)
	for _, job := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		levels.Code(2, job)
	}
	return &model.Model{Version: 7, Fingerprint: 0xabc, Levels: levels,
		Marks: map[int32]model.Mark{1: {Offset: 30, Clock: 12.5}, 0: {Offset: 40, Clock: 20}},
		Parts: map[string][]byte{"zeta": make([]byte, 2048), "alpha": make([]byte, 20<<10)},
		Info: model.Info{Records: 33, Weight: 32.5, Previous: 6, Verdict: model.Verdict{Reason: model.WithinGate, Records: 9,
			New: .31, Old: .3, Gate: .02, Low: -.004, High: .024}}}
}

// TestPageOfAModel, of a stage and of files.
func TestPageOfAModel(t *testing.T) {
	m := shownModel()
	var b strings.Builder
	if err := Model(&b, "bank.model", m, nil); err != nil {
		t.Fatal(err)
	}
	m.Info = model.Info{Records: 33, Weight: 32.5, Exchangeable: true, Verdict: model.Verdict{New: nan, Old: nan, Low: nan,
		High: nan}}
	m.Marks, m.Schema().Positive = nil, -1
	age := &m.Schema().Features[0]
	age.Special, age.Cuts, age.Least = []float64{-999, -99.9}, []float64{18, 25.5}, .05
	b.WriteString("----\n")
	if err := Model(&b, "bank.model", m, nil); err != nil {
		t.Fatal(err)
	}
	written(t, "model", strings.ReplaceAll(b.String(), fmt.Sprintf("format %d\n", model.ModelFormat), "format N\n"))
}

// TestPageOfDerivedFeatures shows the expressions, behind the levels of an ordinal one.
func TestPageOfDerivedFeatures(t *testing.T) {
	m := shownModel()
	s := m.Schema()
	s.Features[0].Derived, s.Features[2].Derived = "log(income)", "bucket(x, 1)"
	var b strings.Builder
	if err := Model(&b, "bank.model", m, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  log(income)\n", "; bucket(x, 1)\n"} {
		if strings.Count(b.String(), want) != 1 {
			t.Errorf("there is no %q in\n%s", want, b.String())
		}
	}
}

// TestPageOfStates: the snapshots newest first, parts of the newest alone, labels only where there is a topic of them.
func TestPageOfStates(t *testing.T) {
	states := []state.StateInfo{{Partition: 0, Snapshots: []state.SnapshotInfo{
		{Number: 9, Fingerprint: 5, Events: 100, Labels: 50, Model: 3, Labelled: 40.5, Replayed: 2,
			Sections: []state.SectionSize{{Name: "tail", Bytes: 30 << 10, Packed: 11 << 10}}},
		{Number: 8, Fingerprint: 6, Events: 90, Labels: -1, Model: 2, Labelled: 30, Replayed: 12,
			Sections: []state.SectionSize{{Name: "older", Bytes: 1, Packed: 1}}},
		{Number: 7, Fingerprint: 6, Events: -1, Err: errors.New("torn")},
	}}, {Partition: 1}}
	var b strings.Builder
	for _, labels := range []bool{true, false} {
		if err := States(&b, states, 5, labels); err != nil {
			t.Fatal(err)
		}
		b.WriteString("----\n")
	}
	written(t, "states", b.String())
}

// TestPageOfVersionsAndVerdicts: a model that cannot be read keeps its row, and a refused one is no version.
func TestPageOfVersionsAndVerdicts(t *testing.T) {
	m, other := shownModel(), shownModel()
	other.Fingerprint = 1
	var b strings.Builder
	if err := Versions(&b, []state.ModelVersion{{Version: 6, Bytes: 300 << 10, Packed: 100 << 10, Model: other},
		{Version: 7, Bytes: 301 << 10, Packed: 101 << 10, Model: m},
		{Version: 8, Bytes: 1, Packed: 2, Err: errors.New("torn")}}, 0xabc); err != nil {
		t.Fatal(err)
	}
	if err := Verdicts(&b, nil); err != nil {
		t.Fatal(err)
	}
	if err := Verdicts(&b, []*state.GateVerdict{
		{Number: 1, Version: 1, Verdict: model.Verdict{New: nan, Old: nan, Low: nan, High: nan}},
		{Number: 2, Version: 0, Previous: 1, Verdict: model.Verdict{Reason: model.Worse, Records: 80, New: .35, Old: .3,
			Low: .01, High: .09}},
		{Number: 3, Version: 2, Previous: 1, Verdict: model.Verdict{Reason: model.Better, Records: 81, New: .25, Old: .3,
			Low: -.09, High: -.01}},
	}); err != nil {
		t.Fatal(err)
	}
	written(t, "versions", b.String())
}

// TestPageOfAVerification: only a problem is a difference; a partition that was compared says with how much.
func TestPageOfAVerification(t *testing.T) {
	same := verify.Verdict{Partition: 1, From: 10, To: 20, Start: "snapshot 4", Messages: 5, Records: 70, Swaps: 2,
		Labels: 33, States: 3}
	unread := same
	unread.Partition, unread.Unread = 2, 1
	bad := same
	bad.Partition, bad.Because, bad.More = 3, "of an earlier build", 6
	bad.Problems = []string{"scores differ", "state differs"}
	for _, c := range []struct {
		name    string
		found   []verify.Verdict
		differs bool
	}{{"verification", []verify.Verdict{{Partition: 0}, same, unread}, false},
		{"verification_bad", []verify.Verdict{same, bad, {Partition: 4, Problems: []string{"no state"}}, {Partition: 5,
			Because: "said for nothing"}}, true}} {
		var b strings.Builder
		if differs := Verification(&b, c.found); differs != c.differs {
			t.Errorf("%s: differs is %v", c.name, differs)
		}
		written(t, c.name, b.String())
	}
}

// TestPageOfTriples: the figures of each method under its name, with their errors where there are any.
func TestPageOfTriples(t *testing.T) {
	kernel, plain := &TripleMetrics{}, &TripleMetrics{}
	next := .125
	numbered(reflect.ValueOf(kernel), .0625, &next)
	numbered(reflect.ValueOf(plain), .0625, &next)
	kernel.Features, kernel.FeaturesError = 3.5, .25
	kernel.Used = []UsedFeature{{"age", 3}, {"job", 1}}
	plain.BothError = none
	r := &TriplesResult{Records: 50, Labelled: 40, Features: 6, Triples: "drawn", Splits: make([]TripleSplit, 1),
		Methods: map[string]*TripleMetrics{"kernel": kernel, "euclidean": plain}}
	var b strings.Builder
	if err := Triples(&b, []string{"a.csv"}, []string{"kernel", "euclidean"}, r); err != nil {
		t.Fatal(err)
	}
	r.Triples, r.Splits, kernel.Used = "given.csv", make([]TripleSplit, 4), nil
	b.WriteString("----\n")
	if err := Triples(&b, []string{"a.csv"}, []string{"euclidean", "kernel"}, r); err != nil {
		t.Fatal(err)
	}
	written(t, "triples", b.String())
}

// TestFailingOutputIsNoticed: a page that cannot be written is an error and no success.
func TestFailingOutputIsNoticed(t *testing.T) {
	r, run := evaluation()
	for name, page := range map[string]func(w *bufio.Writer) error{
		"evaluation": func(w *bufio.Writer) error { return Evaluation(w, nil, []string{"all"}, run, r) },
		"report":     func(w *bufio.Writer) error { return Report(w, reported(), "yes", []string{"x"}) },
		"states":     func(w *bufio.Writer) error { return States(w, []state.StateInfo{{}}, 1, true) },
		"triples": func(w *bufio.Writer) error {
			return Triples(w, nil, nil, &TriplesResult{Methods: map[string]*TripleMetrics{}})
		},
		"model": func(w *bufio.Writer) error { return Model(w, "x", shownModel(), nil) },
	} {
		if err := page(bufio.NewWriterSize(full{}, 1)); !errors.Is(err, errFull) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

var errFull = errors.New("no space left")

// full is an output that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
