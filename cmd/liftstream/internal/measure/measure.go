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
	"liftstream/config"
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

// Evaluation holds the flags of eval.
type Evaluation struct {
	Config   string
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
	// Changed reports whether a flag was given.
	Changed func(flag string) bool

	foldNames []string // of the values of the fold column
}

// Run evaluates the data files and prints the result.
func (e *Evaluation) Run(ctx context.Context, a *cli.App, data []string) error {
	if err := e.check(); err != nil {
		return err
	}
	inputs := cli.Places(data, cli.Place{Flag: "config", Path: e.Config}, cli.Place{Flag: "triples", Path: e.Triples})
	if err := cli.Apart(inputs, cli.Place{Flag: "json", Path: e.JSON},
		cli.Place{Flag: "scores", Path: e.Scores}); err != nil {
		return err
	}
	stage, err := assemble.Load(a.LoadOffline, e.Config)
	if err != nil {
		return err
	}
	c := stage.Config
	if e.Protocol == triples {
		return e.compare(ctx, a, stage, data)
	}
	methods, err := e.drive(stage, e.frozen)
	if err != nil {
		return fmt.Errorf("%s: %w", e.Config, err)
	}
	m := &measurement{Evaluation: e, app: a, config: c, stage: stage, methods: methods}
	m.files = &records.Source{App: a, Context: ctx, Data: data, Options: file.Options{Codec: stage.Codec,
		RequireLabel: true}}
	start := time.Now()
	if err := m.measure(ctx); err != nil {
		return err
	}
	result, err := m.result(start)
	if err != nil {
		return err
	}
	if e.JSON != "" {
		err := a.WriteFile(e.JSON, func(w io.Writer) error { return cli.WriteJSON(w, result) })
		if err != nil || e.JSON == "-" {
			return err
		}
	}
	return show.Evaluation(a.Out, data, methodNames(), m.run, result)
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
	config  *config.Config
	stage   *assemble.Stage
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
		if err := m.protocol(ctx, rows.add); err != nil {
			return err
		}
		return rows.flush()
	})
}

// protocol runs the protocol and calls sink with each record after it is counted.
func (m *measurement) protocol(ctx context.Context, sink evaluate.Sink) error {
	schema, seed := m.stage.Spec.Schema, m.stage.Spec.Options.Seed
	both := func(r *evaluate.Record) error {
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
		m.files.Passes = 2 * k
		m.run, err = evaluate.Folds(ctx, schema, m.files.Batches, m.methods, k, fold, both)
		return records.Plain(err)
	}
	m.figures = evaluate.NewEvaluation(schema, m.methods, int64(m.Skip), seed)
	m.files.Passes = 1
	o := evaluate.Options{Delay: m.Delay, Partitions: m.Partitions, Refit: m.config.Fit.Records}
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
	if result.Scored == 0 {
		return nil, fmt.Errorf("%s: no record that counts has one of the classes %s in column %q", data,
			strings.Join(m.stage.Spec.Schema.Classes, ", "), m.config.Record.Label.Column)
	}
	result.RecordsPerSecond = evaluate.Number(float64(run.Records) / elapsed.Seconds())
	if warmup := m.config.Fit.Warmup; m.Protocol == prequential && run.Learnt < int64(warmup)*int64(m.Partitions) {
		m.app.Notef("note: %d labelled records are learnt, and a partition builds its first structure "+
			"after fit.warmup = %d: "+
			"scores before that are base rates", run.Learnt, warmup)
	}
	return result, nil
}

func (e *Evaluation) check() error {
	names := tripleMethods
	if e.Protocol != triples {
		names = methodNames()
	}
	for _, m := range e.Methods {
		if !slices.Contains(names, m) {
			return cli.Usagef("--method %s: under --protocol %s it is one of %s", m, e.Protocol, strings.Join(names, ", "))
		}
	}
	switch e.Protocol {
	case prequential, folds, triples:
	default:
		return cli.Usagef("--protocol %s: it is one of prequential, folds, triples", e.Protocol)
	}
	other := map[string][]string{
		prequential: {"fold-column", "folds", "triples"},
		folds:       {"delay", "skip", "partitions", "triples"},
		triples:     {"delay", "skip", "partitions", "scores"},
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
	if e.Scores != "" {
		if _, _, err := file.KindOf(e.Scores); err != nil {
			return err
		}
	}
	return nil
}
