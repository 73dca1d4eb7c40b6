package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/kernel"
)

// tripleMethods are what the protocol triples can run, in the order of its table.
var tripleMethods = []string{"kernel", "directions", "euclidean"}

// askedTriples is the number of triples that are drawn to ask for in each fold (model/kernel/METHOD.md 1).
const askedTriples = 1000

// tripleResult is what the protocol triples answers.
type tripleResult struct {
	Protocol string                    `json:"protocol"`
	Records  int                       `json:"records"`
	Labelled int                       `json:"labelled"`
	Classes  []string                  `json:"classes"`
	Features int                       `json:"features"` // that may be used
	Triples  string                    `json:"triples"`  // the file that they are from, or "drawn"
	Methods  map[string]*tripleMetrics `json:"methods"`
	Splits   []tripleSplit             `json:"splits"`
}

// tripleMetrics is how well one method finds held-out triples: means over the folds with their standard errors. Both
// asks for the pair to be more alike than either is to the third record (chance 1/3), single for the first record's
// view of it (chance 1/2).
type tripleMetrics struct {
	Both          evaluate.Number `json:"both"`
	BothError     evaluate.Number `json:"both_error"`
	Single        evaluate.Number `json:"single"`
	SingleError   evaluate.Number `json:"single_error"`
	Features      evaluate.Number `json:"features"` // with a weight above .01
	FeaturesError evaluate.Number `json:"features_error"`
	Used          []usedFeature   `json:"used"`

	both, single, features []float64
	splits                 []int
}

// tripleSplit is one fold.
type tripleSplit struct {
	Fold         string                  `json:"fold"`
	Train        int                     `json:"train"`
	Test         int                     `json:"test"`
	TrainTriples int                     `json:"train_triples"`
	TestTriples  int                     `json:"test_triples"`
	Methods      map[string]*tripleTrial `json:"methods"`
}

// tripleTrial is one method on one fold.
type tripleTrial struct {
	Both     evaluate.Number `json:"both"`
	Single   evaluate.Number `json:"single"`
	Train    evaluate.Number `json:"train_both"`
	Features int             `json:"features"`
	Gamma1   evaluate.Number `json:"gamma1"`
	Gamma2   evaluate.Number `json:"gamma2"`
	Value    evaluate.Number `json:"objective"`
	Bound    evaluate.Number `json:"bound"`
}

// compare runs the protocol triples.
func (e *evaluation) compare(ctx context.Context, a *app, stage *assemble.Stage, data []string) error {
	var given *comparisons
	if e.triples != "" {
		var err error
		if given, err = readComparisons(e.triples); err != nil {
			return err
		}
	}
	spec := stage.Spec
	options := file.Options{Codec: stage.Codec, RequireLabel: true}
	k, maker, err := e.foldsOf(ctx, a, data, options, spec.Options.Seed)
	if err != nil {
		return err
	}
	fold := maker()
	var of []int // by record of the evidence
	builder := model.NewBuilder(spec)
	records, err := a.gather(ctx, data, options, builder, given, func(row int64, class, index int32) {
		if f := fold(row, class); index >= 0 {
			of = append(of, f)
		}
	})
	if err != nil {
		return plain(err)
	}
	if builder.Len() == 0 {
		return fmt.Errorf("%s: no record has one of the classes %s in column %q", joined(data), some(spec.Schema.Classes, 6), stage.Config.Record.Label.Column)
	}
	ev := builder.Evidence()
	r := &tripleResult{Protocol: "triples", Records: records, Labelled: ev.Len(), Classes: spec.Schema.Classes, Triples: "drawn",
		Methods: map[string]*tripleMetrics{}}
	for i := range spec.Schema.Features {
		if spec.Schema.Features[i].Use != model.UseReport {
			r.Features++
		}
	}
	var triples [][3]int32
	if given != nil {
		r.Triples = e.triples
		if triples, err = given.indices(data); err != nil {
			return err
		}
	}
	wanted := slices.DeleteFunc(slices.Clone(tripleMethods), func(m string) bool { return len(e.methods) > 0 && !slices.Contains(e.methods, m) })
	for _, m := range wanted {
		r.Methods[m] = &tripleMetrics{splits: make([]int, len(spec.Schema.Features))}
	}
	if onTerminal(a.err) {
		a.notef("fitting %s", count(k, "fold"))
	}
	for f := range k {
		s, err := e.split(ev, of, f, triples, stage.Config.Kernel.Triples)
		if err != nil {
			return fmt.Errorf("%s: fold %s: %w", joined(data), e.foldName(f), err)
		}
		row := tripleSplit{Fold: e.foldName(f), Train: len(s.Train), Test: len(s.Test), TrainTriples: len(s.TrainTriples), TestTriples: len(s.TestTriples),
			Methods: map[string]*tripleTrial{}}
		for _, m := range wanted {
			t, err := trial(ctx, stage, ev, s, m, given != nil)
			if err != nil {
				return fmt.Errorf("%s: fold %s: %s: %w", joined(data), e.foldName(f), m, err)
			}
			r.Methods[m].add(t)
			row.Methods[m] = &tripleTrial{Both: evaluate.Number(t.Both), Single: evaluate.Number(t.Single), Train: evaluate.Number(t.Train.Both), Features: t.Features,
				Gamma1: evaluate.Number(t.Gamma1), Gamma2: evaluate.Number(t.Gamma2), Value: evaluate.Number(t.Upper), Bound: evaluate.Number(t.Lower)}
		}
		r.Splits = append(r.Splits, row)
	}
	for _, m := range wanted {
		r.Methods[m].finish(spec.Schema)
	}
	if e.json != "" {
		if err := a.writeFile(e.json, func(w io.Writer) error { return writeJSON(w, r) }); err != nil || e.json == "-" {
			return err
		}
	}
	return printTriples(a.out, data, wanted, r)
}

// split divides records and triples by a fold.
func (e *evaluation) split(ev *model.Evidence, of []int, fold int, given [][3]int32, count int) (*kernel.Split, error) {
	var train, test []int32
	for i, f := range of {
		if f == fold {
			test = append(test, int32(i))
		} else {
			train = append(train, int32(i))
		}
	}
	var s *kernel.Split
	from := "can be drawn from"
	if given == nil {
		s = kernel.Draw(ev, train, test, count, askedTriples, ev.Seed+2*uint64(fold))
	} else {
		s, from = &kernel.Split{Train: train, Test: test}, "of "+e.triples+" belongs to"
		for _, c := range given {
			inside := slices.ContainsFunc(c[:], func(i int32) bool { return of[i] == fold })
			if inside {
				s.TestTriples = append(s.TestTriples, c)
			} else {
				s.TrainTriples = append(s.TrainTriples, c)
			}
		}
	}
	switch {
	case len(s.TestTriples) == 0:
		return nil, fmt.Errorf("no triple %s its %s; give fewer folds", from, countOf(test))
	case len(s.TrainTriples) == 0:
		return nil, fmt.Errorf("no triple %s the %s outside", from, countOf(train))
	}
	return s, nil
}

func countOf(rows []int32) string { return count(len(rows), "labelled record") }

// foldName is the value of the fold's column, or its number.
func (e *evaluation) foldName(f int) string {
	if e.foldNames != nil {
		return e.foldNames[f]
	}
	return fmt.Sprint(f + 1)
}

// trial measures one method on one fold.
func trial(ctx context.Context, stage *assemble.Stage, ev *model.Evidence, s *kernel.Split, method string, given bool) (*kernel.Trial, error) {
	if method == "euclidean" {
		return kernel.EvaluateEuclidean(ev, s)
	}
	k := stage.Kernel()
	o := kernel.ProtocolOptions{Mode: k.Mode, Widths: k.Widths, Gamma1: k.Gamma1, Gamma2: k.Gamma2, Mirror: !given, Given: given, Seed: ev.Seed}
	if method == "directions" {
		o.Family = kernel.Rich
	}
	return kernel.EvaluateTriples(ctx, ev, s, o)
}

func (m *tripleMetrics) add(t *kernel.Trial) {
	m.both, m.single, m.features = append(m.both, t.Both), append(m.single, t.Single), append(m.features, float64(t.Features))
	for _, f := range t.Used {
		m.splits[f]++
	}
}

func (m *tripleMetrics) finish(s *model.Schema) {
	m.Both, m.BothError = meanError(m.both)
	m.Single, m.SingleError = meanError(m.single)
	m.Features, m.FeaturesError = meanError(m.features)
	m.Used = usedFeatures(s, m.splits)
}

// meanError is the mean of the values and its standard error.
func meanError(values []float64) (mean, err evaluate.Number) {
	var sum, square float64
	n := float64(len(values))
	for _, v := range values {
		sum += v / n
	}
	for _, v := range values {
		square += (v - sum) * (v - sum)
	}
	return evaluate.Number(sum), evaluate.Number(math.Sqrt(square / (n - 1) / n))
}

func printTriples(w io.Writer, data, wanted []string, r *tripleResult) error {
	fmt.Fprintf(w, "triples of %s: %s, %d labelled, %s", joined(data), count(r.Records, "record"), r.Labelled, count(len(r.Splits), "fold"))
	if r.Triples != "drawn" {
		fmt.Fprintf(w, ", triples of %s", r.Triples)
	}
	fmt.Fprint(w, "\n\n")
	heading := []string{""}
	both, single, features := []string{"both views"}, []string{"first view"}, []string{fmt.Sprintf("features of %d", r.Features)}
	pair := func(v, e evaluate.Number, n int) string {
		if math.IsNaN(float64(e)) {
			return decimals(float64(v), n)
		}
		return decimals(float64(v), n) + " +- " + decimals(float64(e), n)
	}
	for _, name := range wanted {
		m := r.Methods[name]
		heading = append(heading, " "+name)
		both = append(both, pair(m.Both, m.BothError, 3))
		single = append(single, pair(m.Single, m.SingleError, 3))
		features = append(features, pair(m.Features, m.FeaturesError, 1))
	}
	if err := table(w, "", heading, [][]string{both, single, features}); err != nil {
		return err
	}
	if m := r.Methods["kernel"]; m != nil {
		var list []string
		for _, u := range m.Used {
			list = append(list, fmt.Sprintf("%s (%d)", u.Feature, u.Splits))
		}
		if len(list) == 0 {
			list = []string{"none"}
		}
		fmt.Fprintf(w, "\nFeatures that the kernel uses, in how many of the folds: %s\n", strings.Join(list, ", "))
	}
	_, err := fmt.Fprint(w, "\nBoth views: the share of held-out triples whose first two records are more alike than either is to the third, guessing gives .333.\n")
	return environment(err)
}
