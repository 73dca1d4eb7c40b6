// Package measure runs an evaluation over data files: it scores every record by each of the methods before it is
// learnt, under one of three protocols, and prints how good the scores were. Begin at Evaluation.
package measure

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/records"
	"liftstream/cmd/liftstream/internal/show"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/report/text"
)

// reasons is the number of first reasons of a record in which conflicts between effect and lift are counted.
const reasons = 5

// Names of the protocols.
const (
	prequential = "prequential"
	folds       = "folds"
	triples     = "triples"
)

// onControl has the figures taken on the control share alone.
const onControl = "control"

// Evaluation holds the flags of eval.
type Evaluation struct {
	Configs  []string // the first, and its challengers
	Protocol string
	Delay    int // prequential: records after which a label comes
	Skip     int // prequential: first records that are not counted
	// Partitions is the number of partitions, each learning alone between re-fits (prequential).
	Partitions int
	FoldColumn string // folds, triples: the column that holds the fold of a record
	Folds      int    // folds, triples: the number of folds that are drawn
	Triples    string // triples: the file of the triples
	Methods    []string
	JSON       string
	Scores     string
	On         string // prequential, folds: the records that are measured, "" = all
	// Changed reports whether a flag was given.
	Changed func(flag string) bool

	foldNames []string // of the values of the fold column
}

// Run evaluates the data files and prints the result.
func (e *Evaluation) Run(ctx context.Context, a *cli.App, data []string) error {
	if err := e.check(); err != nil {
		return err
	}
	inputs := cli.Places(data, cli.Place{Flag: "triples", Path: e.Triples})
	for _, c := range e.Configs {
		inputs = append(inputs, cli.Place{Flag: "config", Path: c})
	}
	if err := cli.Apart(inputs, cli.Place{Flag: "json", Path: e.JSON},
		cli.Place{Flag: "scores", Path: e.Scores}); err != nil {
		return err
	}
	first, err := assemble.Load(a.LoadOffline, e.first())
	if err != nil {
		return err
	}
	if e.Protocol == triples {
		return e.compare(ctx, a, first, data)
	}
	all := []*measurement{{Evaluation: e, app: a, name: e.first(), stage: first, seed: first.Spec.Options.Seed}}
	for _, name := range e.Configs[min(1, len(e.Configs)):] {
		m, err := e.challenger(a, name, first)
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	if e.On == onControl && first.Config.Control == nil {
		return fmt.Errorf("%s: --on control needs the section control, the share of the records that stay untargeted",
			e.first())
	}
	for _, m := range all {
		m.control = first.Spec.Options.Control
		if m.methods, err = m.drive(m.stage, e.frozen); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	var result *evaluate.Result
	for i, m := range all {
		m.files = &records.Source{App: a, Context: ctx, Data: data, Options: file.Options{Codec: m.stage.Codec,
			RequireLabel: true}}
		start := time.Now()
		if err := m.measure(ctx); err != nil {
			return m.named(err)
		}
		r, err := m.result(start)
		if err != nil {
			return m.named(err)
		}
		if i == 0 {
			result = r
			continue
		}
		pairs, err := all[0].figures.Against(m.figures)
		if err != nil {
			return fmt.Errorf("comparing %s with %s: %w", e.first(), m.name, err)
		}
		m.figures = nil // its scores are no longer needed
		result.Challengers = append(result.Challengers, evaluate.Challenger{Config: m.name, Result: r, Against: pairs})
	}
	if e.JSON != "" {
		err := a.WriteFile(e.JSON, func(w io.Writer) error { return cli.WriteJSON(w, result) })
		if err != nil || e.JSON == "-" {
			return err
		}
	}
	if err := show.Evaluation(a.Out, data, MethodNames(), all[0].run, result); err != nil {
		return err
	}
	return show.Challengers(a.Out, e.first(), MethodNames(), result)
}

// first is the configuration that the others are compared with, "" where none is given.
func (e *Evaluation) first() string {
	if len(e.Configs) == 0 {
		return ""
	}
	return e.Configs[0]
}

// challenger loads a further configuration. It writes no scores, and without --method it runs the whole stage alone.
func (e *Evaluation) challenger(a *cli.App, name string, first *assemble.Stage) (*measurement, error) {
	stage, err := assemble.Load(a.LoadOffline, name)
	if err != nil {
		return nil, err
	}
	if got, want := stage.Spec.Schema.Classes, first.Spec.Schema.Classes; !slices.Equal(got, want) {
		return nil, fmt.Errorf("%s: its classes are %s, those of %s %s; configurations are compared with the same classes "+
			"in one order", name, text.Some(got, 6), e.first(), text.Some(want, 6))
	}
	its := *e
	its.Scores = ""
	if len(its.Methods) == 0 {
		its.Methods = []string{evaluate.MethodAll}
	}
	return &measurement{Evaluation: &its, app: a, name: name, stage: stage, seed: first.Spec.Options.Seed}, nil
}

// named says which of several configurations an error is about.
func (m *measurement) named(err error) error {
	if len(m.Configs) < 2 {
		return err
	}
	return fmt.Errorf("%s: %w", m.name, err)
}

// frozen changes a Spec for the protocol: labels come when it says so.
func (e *Evaluation) frozen(s *model.Spec) {
	if e.Scores == "" {
		s.Options.Why = reasons
	}
	s.Options.WaitBytes, s.Options.WaitWindow, s.Options.Correct = 0, 0, false
	if e.Delay > 0 {
		s.Options.WaitBytes = math.MaxInt64 / 2 // no record may leave the pending store before its label comes
	}
}

// measurement is an Evaluation that runs under prequential or folds.
type measurement struct {
	*Evaluation
	app     *cli.App
	name    string // of the configuration
	stage   *assemble.Stage
	seed    uint64        // of the first configuration, which draws the folds and the resamples of all
	control model.Control // of the first configuration
	methods []evaluate.Method
	files   *records.Source

	figures *evaluate.Evaluation
	run     evaluate.Run
}

// measure runs the protocol, and writes the scores that it measures to a file if asked to.
func (m *measurement) measure(ctx context.Context) error {
	if m.Scores == "" {
		return m.protocol(ctx, func(*evaluate.Record) error { return nil })
	}
	return records.WriteTables(m.app, m.Scores, func(write func(t *codec.Table) error) error {
		rows, err := newScoreRows(m.stage.Codec, m.methods, write)
		if err != nil {
			return err
		}
		rows.control = m.stage.Spec.Options.Control
		if err := m.protocol(ctx, rows.add); err != nil {
			return err
		}
		return rows.flush()
	})
}

// protocol runs the protocol and calls sink with each record after it is counted.
func (m *measurement) protocol(ctx context.Context, sink evaluate.Sink) error {
	schema, seed := m.stage.Spec.Schema, m.seed
	grouped := evaluate.GroupOptions{Segments: m.stage.Segments, Least: m.stage.Config.MinCount}
	both := func(r *evaluate.Record) error {
		if m.On == onControl && !m.control.Of(r.Batch, r.Row) {
			return nil
		}
		if err := m.figures.Add(r); err != nil {
			return err
		}
		return sink(r)
	}
	if m.Protocol == folds {
		k, fold, err := m.foldsOf(ctx, m.app, m.files.Data, m.files.Options, seed)
		if err != nil {
			return err
		}
		m.figures = evaluate.NewEvaluation(schema, m.methods, 0, seed)
		m.figures.Group(grouped)
		m.figures.Goals(m.stage.GoalNames(), m.stage.GoalValues())
		m.figures.Value = m.stage.Value()
		m.files.Passes = 2 * k
		m.run, err = evaluate.Folds(ctx, schema, m.files.Batches, m.methods, k, fold, both)
		return records.Plain(err)
	}
	m.figures = evaluate.NewEvaluation(schema, m.methods, int64(m.Skip), seed)
	m.figures.Group(grouped)
	m.figures.Goals(m.stage.GoalNames(), m.stage.GoalValues())
	m.figures.Value = m.stage.Value()
	m.files.Passes = 1
	o := evaluate.Options{Delay: m.Delay, Partitions: m.Partitions, Refit: m.stage.Config.Fit.Records}
	var err error
	m.run, err = evaluate.Prequential(ctx, schema, m.files.Batches, m.methods, o, both)
	return records.Plain(err)
}

// result gathers the figures; it fails where no record counts.
func (m *measurement) result(start time.Time) (*evaluate.Result, error) {
	data, run := text.Joined(m.files.Data), &m.run
	if m.Protocol == prequential && run.Records > 0 && run.Records <= int64(m.Skip) {
		return nil, fmt.Errorf("%s: %s, and the first %d are not counted; give a smaller --skip, "+
			"or cross-validate with --protocol folds", data, text.Count(int(run.Records), "record"), m.Skip)
	}
	result, err := m.figures.Result(*run)
	if err != nil {
		return nil, err
	}
	elapsed := time.Since(start)
	if run.Records == 0 {
		return nil, fmt.Errorf("%s: no records", data)
	}
	if result.Scored == 0 && m.On == onControl {
		return nil, fmt.Errorf("%s: no labelled record that counts is in the control share of %v", data,
			m.control.Share)
	}
	if result.Scored == 0 {
		return nil, fmt.Errorf("%s: no record that counts has one of the classes %s in column %q", data,
			strings.Join(m.stage.Spec.Schema.Classes, ", "), m.stage.Config.Record.Label.Column)
	}
	result.RecordsPerSecond = evaluate.Number(float64(run.Records) / elapsed.Seconds())
	if warmup := m.stage.Config.Fit.Warmup; m.Protocol == prequential && run.Learnt < int64(warmup)*int64(m.Partitions) {
		m.app.Notef("note: %d labelled records are learnt, and a partition builds its first structure "+
			"after fit.warmup = %d: "+
			"scores before that are base rates", run.Learnt, warmup)
	}
	return result, nil
}

func (e *Evaluation) check() error {
	names := tripleMethods
	if e.Protocol != triples {
		names = MethodNames()
	}
	for _, m := range e.Methods {
		if !slices.Contains(names, m) {
			return cli.Usagef("--method %s: under --protocol %s it is one of %s", m, e.Protocol, strings.Join(names, ", "))
		}
	}
	if e.Protocol == triples && len(e.Configs) > 1 {
		return cli.Usagef("-c %s: under --protocol triples there is one configuration", e.Configs[1])
	}
	switch e.Protocol {
	case prequential, folds, triples:
	default:
		return cli.Usagef("--protocol %s: it is one of prequential, folds, triples", e.Protocol)
	}
	other := map[string][]string{
		prequential: {"fold-column", "folds", "triples"},
		folds:       {"delay", "skip", "partitions", "triples"},
		triples:     {"delay", "skip", "partitions", "scores", "on"},
	}
	for _, flag := range other[e.Protocol] {
		if e.Changed(flag) {
			return cli.Usagef("--%s means nothing under --protocol %s", flag, e.Protocol)
		}
	}
	for _, x := range []struct {
		flag            string
		value, min, max int
	}{{"delay", e.Delay, 0, 10_000_000}, {"skip", e.Skip, 0, math.MaxInt}, {"partitions", e.Partitions, 1, 10_000},
		{"folds", e.Folds, 2, 100_000}} {
		switch {
		case x.value < x.min:
			return cli.Usagef("--%s %d: it must be at least %d", x.flag, x.value, x.min)
		case x.value > x.max: // each takes memory, also with few records
			return cli.Usagef("--%s %d: it must be at most %d", x.flag, x.value, x.max)
		}
	}
	if e.On != "" && e.On != onControl {
		return cli.Usagef("--on %s: it is control, or left out for all records", e.On)
	}
	if e.Scores != "" {
		if _, _, err := file.KindOf(e.Scores); err != nil {
			return err
		}
	}
	return nil
}
