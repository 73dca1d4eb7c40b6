package measure

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/records"
	"liftstream/cmd/liftstream/internal/show"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/kernel"
	"liftstream/model/report/text"
)

// tripleMethods are the methods of the protocol triples, in the order of its table.
var tripleMethods = []string{"kernel", "directions", euclidean}

// euclidean is the method without a kernel.
const euclidean = "euclidean"

// askedTriples is the number of triples that are drawn to ask for in each fold (model/kernel/METHOD.md 1).
const askedTriples = 1000

// compare runs the protocol triples.
func (e *Evaluation) compare(ctx context.Context, a *cli.App, stage *assemble.Stage, data []string) error {
	c := &comparison{Evaluation: e, app: a, stage: stage, data: text.Joined(data), tallies: map[string]*tally{}}
	for _, m := range tripleMethods {
		if len(e.Methods) > 0 && !slices.Contains(e.Methods, m) {
			continue
		}
		if err := stage.Has(kernel.Name); err != nil && m != euclidean {
			return fmt.Errorf("%s: method %s: %w", e.first(), m, err)
		}
		c.methods = append(c.methods, m)
	}
	if e.Triples != "" {
		var err error
		if c.given, err = records.ReadComparisons(e.Triples); err != nil {
			return err
		}
	}
	k, err := c.read(ctx, data)
	if err != nil {
		return err
	}
	a.Step("fitting %s", text.Count(k, "fold"))
	for f := range k {
		if err := c.fold(ctx, f); err != nil {
			return fmt.Errorf("%s: fold %s: %w", c.data, e.foldName(f), err)
		}
	}
	for m, t := range c.tallies {
		c.result.Methods[m] = t.metrics(stage.Spec.Schema)
	}
	if e.JSON != "" {
		err := a.WriteFile(e.JSON, func(w io.Writer) error { return cli.WriteJSON(w, c.result) })
		if err != nil || e.JSON == "-" {
			return err
		}
	}
	return show.Triples(a.Out, data, c.methods, c.result)
}

// comparison is an Evaluation that runs under the protocol triples.
type comparison struct {
	*Evaluation
	app     *cli.App
	stage   *assemble.Stage
	data    string // names of the files
	methods []string
	given   *records.Comparisons // nil = the triples are drawn

	evidence *model.Evidence
	folds    []int // by record of the evidence
	triples  [][3]int32
	tallies  map[string]*tally
	result   *show.TriplesResult
}

// read reads the records and the given triples, and returns the number of folds.
func (c *comparison) read(ctx context.Context, data []string) (int, error) {
	spec := c.stage.Spec
	options := file.Options{Codec: c.stage.Codec, RequireLabel: true}
	k, maker, err := c.foldsOf(ctx, c.app, data, options, spec.Options.Seed)
	if err != nil {
		return 0, err
	}
	fold := maker()
	builder := model.NewBuilder(spec)
	n, err := records.Gather(ctx, c.app, data, options, builder, c.given, func(row int64, class, index int32) {
		if f := fold(row, class); index >= 0 {
			c.folds = append(c.folds, f)
		}
	})
	if err != nil {
		return 0, records.Plain(err)
	}
	if builder.Len() == 0 {
		return 0, fmt.Errorf("%s: no record has one of the classes %s in column %q", c.data,
			text.Some(spec.Schema.Classes, 6), c.stage.Config.Record.Label.Column)
	}
	c.evidence = builder.Evidence()
	c.result = &show.TriplesResult{Protocol: triples, Records: n, Labelled: c.evidence.Len(), Classes: spec.Schema.Classes,
		Triples: "drawn", Methods: map[string]*show.TripleMetrics{}}
	for i := range spec.Schema.Features {
		if spec.Schema.Features[i].Use != model.UseReport {
			c.result.Features++
		}
	}
	for _, m := range c.methods {
		c.tallies[m] = &tally{splits: make([]int, len(spec.Schema.Features))}
	}
	if c.given != nil {
		c.result.Triples = c.Triples
		c.triples, err = c.given.Indices(data)
	}
	return k, err
}

// fold fits the methods without the records of a fold and measures them on its triples.
func (c *comparison) fold(ctx context.Context, fold int) error {
	s, err := c.split(fold)
	if err != nil {
		return err
	}
	row := show.TripleSplit{Fold: c.foldName(fold), Train: len(s.Train), Test: len(s.Test),
		TrainTriples: len(s.TrainTriples), TestTriples: len(s.TestTriples), Methods: map[string]*show.TripleTrial{}}
	for _, m := range c.methods {
		t, err := c.trial(ctx, s, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		c.tallies[m].add(t)
		row.Methods[m] = &show.TripleTrial{Both: evaluate.Number(t.Both), Single: evaluate.Number(t.Single),
			Train: evaluate.Number(t.Train.Both), Features: t.Features, Gamma1: evaluate.Number(t.Gamma1),
			Gamma2: evaluate.Number(t.Gamma2), Value: evaluate.Number(t.Upper), Bound: evaluate.Number(t.Lower)}
	}
	c.result.Splits = append(c.result.Splits, row)
	return nil
}

// split divides records and triples by a fold.
func (c *comparison) split(fold int) (*kernel.Split, error) {
	var train, test []int32
	for i, f := range c.folds {
		if f == fold {
			test = append(test, int32(i))
		} else {
			train = append(train, int32(i))
		}
	}
	var s *kernel.Split
	from := "can be drawn from"
	if c.given == nil {
		most := c.stage.Config.Kernel.Triples
		s = kernel.Draw(c.evidence, train, test, most, askedTriples, c.evidence.Seed+2*uint64(fold))
	} else {
		s, from = &kernel.Split{Train: train, Test: test}, "of "+c.Triples+" belongs to"
		for _, t := range c.triples {
			if slices.ContainsFunc(t[:], func(i int32) bool { return c.folds[i] == fold }) {
				s.TestTriples = append(s.TestTriples, t)
			} else {
				s.TrainTriples = append(s.TrainTriples, t)
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

func countOf(rows []int32) string { return text.Count(len(rows), "labelled record") }

// foldName is the value of the fold's column, or its number.
func (e *Evaluation) foldName(f int) string {
	if e.foldNames != nil {
		return e.foldNames[f]
	}
	return fmt.Sprint(f + 1)
}

// trial measures one method on one fold.
func (c *comparison) trial(ctx context.Context, s *kernel.Split, method string) (*kernel.Trial, error) {
	if method == euclidean {
		return kernel.EvaluateEuclidean(c.evidence, s)
	}
	k, given := c.stage.Kernel(), c.given != nil
	o := kernel.ProtocolOptions{Mode: k.Mode, Widths: k.Widths, Gamma1: k.Gamma1, Gamma2: k.Gamma2, Mirror: !given,
		Given: given, Seed: c.evidence.Seed}
	if method == "directions" {
		o.Family = kernel.Rich
	}
	return kernel.EvaluateTriples(ctx, c.evidence, s, o)
}

// tally collects the trials of a method.
type tally struct {
	both, single, features []float64
	splits                 []int // by feature: the splits that use it
}

func (m *tally) add(t *kernel.Trial) {
	m.both, m.single, m.features = append(m.both, t.Both), append(m.single, t.Single),
		append(m.features, float64(t.Features))
	for _, f := range t.Used {
		m.splits[f]++
	}
}

func (m *tally) metrics(s *model.Schema) *show.TripleMetrics {
	r := &show.TripleMetrics{Used: usedFeatures(s, m.splits)}
	r.Both, r.BothError = meanError(m.both)
	r.Single, r.SingleError = meanError(m.single)
	r.Features, r.FeaturesError = meanError(m.features)
	return r
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

// usedFeatures orders features by the splits that use them, then as in the configuration.
func usedFeatures(s *model.Schema, splits []int) []show.UsedFeature {
	out := []show.UsedFeature{}
	for f, n := range splits {
		if n > 0 {
			out = append(out, show.UsedFeature{Feature: s.Features[f].Name, Splits: n})
		}
	}
	slices.SortStableFunc(out, func(a, b show.UsedFeature) int { return b.Splits - a.Splits })
	return out
}
