package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/kernel"
	"liftstream/model/lift"
	"liftstream/model/local"
)

func evalCommand(a *app) *cobra.Command {
	e := evaluation{}
	c := a.command(groupFiles, "eval -c FILE DATA... [--delay N] [--partitions P] [--protocol P] [--method M]... [--json OUT] [--scores OUT]", `Measure how good the scores are
Runs the stage over files as it would run over a topic, and compares its propensities with what happened.

Under the protocol prequential every record is scored before it, or any later one, is learnt; with --delay N its label
comes N records later. Models are re-fitted as fit.records says. The first --skip records are not counted. Under folds
the stage is fitted to all folds but one, as 'fit' does it, and scores that one, frozen; folds are drawn at random
(--folds) or read from a column (--fold-column; records without a value there are only learnt from).

Under triples the kernel alone is fitted to comparisons of the records outside of a fold, 'i is more like j than like k',
and asked for those of the records inside: whether it finds i and j more alike than either and k. Triples are drawn from
the classes, kernel.triples of them to fit and 1,000 to ask, or read from a file (--triples): to fit, those without a
record of the fold; to ask, those with one. Methods are kernel, as the stage has it; directions, which adds kernels along
sums of features; euclidean, the plain distance.

Methods: all is the whole stage; lift, lift+local and lift+kernel the stage with these components alone; local and
kernel each component by itself, without the scorecard; knn the plain nearest neighbours on all standardised features,
among the same prototypes; prior the base rates. The log-losses of the others are compared
with that of all on the same records.

--scores OUT writes the scores that are measured, those of the method all or else of the first one, in the columns and
formats of 'score': each as it was before its record was learnt. source_row is the number of the record, over all files
from 0; under prequential the rows stand in stream order, those of the first --skip records among them, under folds
fold by fold. The subspaces and propensities in it have not seen their own labels, so a classifier can be fed them.`,
		`liftstream eval -c cmd/liftstream/examples/bank.yaml cmd/liftstream/examples/bank.csv --delay 100`,
		needs(1, -1, "data files"), func(ctx context.Context, data []string) error { return e.run(ctx, a, data) })
	e.changed = c.Flags().Changed
	configFlag(c, &e.config)
	f := c.Flags()
	f.StringVar(&e.protocol, "protocol", "prequential", "`PROTOCOL`: prequential, folds or triples")
	f.IntVar(&e.delay, "delay", 0, "let a label come `N` records late (prequential)")
	f.IntVar(&e.skip, "skip", 1000, "do not count the first `N` records (prequential)")
	f.IntVar(&e.partitions, "partitions", 1, "split the input into `P` partitions, each learning alone between re-fits (prequential)")
	f.StringVar(&e.foldColumn, "fold-column", "", "`COLUMN` that holds the fold of a record (folds, triples)")
	f.IntVar(&e.folds, "folds", 10, "draw `K` folds (folds, triples)")
	f.StringVar(&e.triples, "triples", "", "compare the records of `FILE`, lines of three ids i,j,k (triples)")
	f.StringSliceVar(&e.methods, "method", nil, "`METHOD`: all, lift, lift+local, lift+kernel, local, kernel, knn or prior; may be repeated (default: all, lift, prior)")
	f.StringVar(&e.json, "json", "", "write the result as JSON to `OUT`; - is standard output, in place of the table")
	f.StringVar(&e.scores, "scores", "", "write the scores of the records to `OUT`: .jsonl .csv .arrow .arrows .feather .parquet (prequential, folds)")
	return c
}

// evalReasons is the number of first reasons of a record in which conflicts between effect and lift are counted.
const evalReasons = 5

type evaluation struct {
	config, protocol, foldColumn, json, triples string
	scores                                      string
	delay, skip, partitions, folds              int
	methods                                     []string
	changed                                     func(flag string) bool // whether it was given
	foldNames                                   []string               // of the values of the fold column
}

func (e *evaluation) check() error {
	names := tripleMethods
	if e.protocol != "triples" {
		names = nil
		for _, m := range methods {
			names = append(names, m.name)
		}
	}
	for _, m := range e.methods {
		if !slices.Contains(names, m) {
			return usagef("--method %s: under --protocol %s it is one of %s", m, e.protocol, strings.Join(names, ", "))
		}
	}
	switch e.protocol {
	case "prequential", "folds", "triples":
	default:
		return usagef("--protocol %s: it is one of prequential, folds, triples", e.protocol)
	}
	other := map[string][]string{"prequential": {"fold-column", "folds", "triples"}, "folds": {"delay", "skip", "partitions", "triples"}, "triples": {"delay", "skip", "partitions", "scores"}}
	for _, flag := range other[e.protocol] {
		if e.changed(flag) {
			return usagef("--%s means nothing under --protocol %s", flag, e.protocol)
		}
	}
	for _, x := range []struct {
		flag            string
		value, min, max int
	}{{"delay", e.delay, 0, 10_000_000}, {"skip", e.skip, 0, math.MaxInt}, {"partitions", e.partitions, 1, 10_000}, {"folds", e.folds, 2, 100_000}} {
		switch {
		case x.value < x.min:
			return usagef("--%s %d: it must be at least %d", x.flag, x.value, x.min)
		case x.value > x.max: // each takes memory, whatever the data
			return usagef("--%s %d: it must be at most %d", x.flag, x.value, x.max)
		}
	}
	if e.scores != "" {
		if _, _, err := file.KindOf(e.scores); err != nil {
			return err
		}
	}
	return nil
}

func (e *evaluation) run(ctx context.Context, a *app, data []string) error {
	if err := e.check(); err != nil {
		return err
	}
	if err := apart(places(data, place{"config", e.config}, place{"triples", e.triples}), place{"json", e.json}, place{"scores", e.scores}); err != nil {
		return err
	}
	c, err := a.loadOffline(e.config)
	if err != nil {
		return err
	}
	stage, err := assemble.New(c)
	if err != nil {
		return fmt.Errorf("%s: %w", e.config, err)
	}
	if e.protocol == "triples" {
		return e.compare(ctx, a, stage, data)
	}
	spec := stage.Spec
	methods := e.drive(stage, func(s *model.Spec) {
		if e.scores == "" {
			s.Options.Why = evalReasons
		}
		s.Options.WaitBytes, s.Options.WaitWindow, s.Options.Correct = 0, 0, false
		if e.delay > 0 {
			// Labels come when the protocol says: nothing may leave the room before.
			s.Options.WaitBytes = math.MaxInt64 / 2
		}
	})
	start := time.Now()
	var run evaluate.Run
	var ev *evaluate.Evaluation
	files := &source{a: a, ctx: ctx, data: data, options: file.Options{Codec: stage.Codec, RequireLabel: true}}
	measure := func(sink func(ev *evaluate.Evaluation) evaluate.Sink) error {
		if e.protocol == "folds" {
			k, fold, err := e.foldsOf(ctx, a, data, files.options, spec.Options.Seed)
			if err != nil {
				return err
			}
			ev = evaluate.NewEvaluation(spec.Schema, methods, 0, spec.Options.Seed)
			files.passes = 2 * k
			run, err = evaluate.Folds(ctx, spec.Schema, files.batches, methods, k, fold, sink(ev))
			return plain(err)
		}
		ev = evaluate.NewEvaluation(spec.Schema, methods, int64(e.skip), spec.Options.Seed)
		files.passes = 1
		var err error
		run, err = evaluate.Prequential(ctx, spec.Schema, files.batches, methods,
			evaluate.Options{Delay: e.delay, Partitions: e.partitions, Refit: c.Fit.Records}, sink(ev))
		return plain(err)
	}
	if e.scores == "" {
		err = measure(func(ev *evaluate.Evaluation) evaluate.Sink { return ev.Add })
	} else {
		err = a.writeTables(e.scores, func(write func(t *codec.Table) error) error {
			rows, err := newScoreRows(stage.Codec, methods, write)
			if err != nil {
				return err
			}
			err = measure(func(ev *evaluate.Evaluation) evaluate.Sink {
				return func(r *evaluate.Record) error { return errors.Join(ev.Add(r), rows.add(r)) }
			})
			if err != nil {
				return err
			}
			return rows.flush()
		})
	}
	if err != nil {
		return err
	}
	if e.protocol == "prequential" && run.Records > 0 && run.Records <= int64(e.skip) {
		return fmt.Errorf("%s: %s, and the first %d are not counted; give a smaller --skip, or cross-validate with --protocol folds",
			joined(data), count(int(run.Records), "record"), e.skip)
	}
	result, err := ev.Result(run)
	if err != nil {
		return err
	}
	elapsed := time.Since(start)
	if run.Records == 0 {
		return fmt.Errorf("%s: no records", joined(data))
	}
	if result.Scored == 0 {
		return fmt.Errorf("%s: no record that counts has one of the classes %s in column %q", joined(data), strings.Join(spec.Schema.Classes, ", "), c.Record.Label.Column)
	}
	result.RecordsPerSecond = evaluate.Number(float64(run.Records) / elapsed.Seconds())
	if e.protocol == "prequential" && run.Learnt < int64(c.Fit.Warmup)*int64(e.partitions) {
		a.notef("note: %d labelled records are learnt, and a partition builds its first structure after fit.warmup = %d: scores before that are base rates", run.Learnt, c.Fit.Warmup)
	}
	if e.json != "" {
		err := a.writeFile(e.json, func(w io.Writer) error {
			return writeJSON(w, result)
		})
		if err != nil || e.json == "-" {
			return err
		}
	}
	return e.print(a.out, data, run, result)
}

// methods are what eval can run, in the order of its table: by name, the components under the whole scorecard, or one
// component alone.
var methods = []struct {
	name       string
	components []string // under the scorecard
	alone      string
}{
	{name: evaluate.MethodAll, components: []string{lift.Name, local.Name, kernel.Name}},
	{name: "lift", components: []string{lift.Name}},
	{name: "lift+local", components: []string{lift.Name, local.Name}},
	{name: "lift+kernel", components: []string{lift.Name, kernel.Name}},
	{name: "local", alone: local.Name},
	{name: "kernel", alone: kernel.Name},
	{name: "knn", alone: assemble.Neighbours},
	{name: "prior"},
}

// drive returns the methods to run, all first.
func (e *evaluation) drive(stage *assemble.Stage, frozen func(*model.Spec)) []evaluate.Method {
	wanted := e.methods
	if len(wanted) == 0 {
		wanted = []string{evaluate.MethodAll, "lift", "prior"}
	}
	var out []evaluate.Method
	for _, m := range methods {
		if !slices.Contains(wanted, m.name) {
			continue
		}
		var spec *model.Spec
		switch {
		case m.alone != "":
			spec = stage.Alone(m.alone)
		case m.components != nil:
			spec = stage.Scoring(m.components...)
		default:
			out = append(out, evaluate.Prior(stage.Spec.Schema))
			continue
		}
		frozen(spec)
		out = append(out, evaluate.Stage(m.name, spec))
	}
	return out
}

// maxFolds bounds the values of a fold column.
const maxFolds = 1000

// foldsOf returns the number of folds and the maker of the function that assigns them.
func (e *evaluation) foldsOf(ctx context.Context, a *app, data []string, o file.Options, seed uint64) (int, func() evaluate.Fold, error) {
	if e.foldColumn == "" {
		return e.folds, evaluate.StratifiedFolds(e.folds, seed), nil
	}
	o.Beside = []string{e.foldColumn}
	var values []string
	r, bar, err := a.open("folds", data, o)
	if err != nil {
		return 0, nil, err
	}
	defer r.Close()
	defer bar.done()
	var b model.Batch
	for {
		if err := ctx.Err(); err != nil {
			return 0, nil, err
		}
		err := r.Next(&b, nil)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, nil, err
		}
		for _, v := range r.Beside(0) {
			values = append(values, strings.Clone(v))
		}
	}
	order := slices.Compact(slices.Sorted(slices.Values(values)))
	order = slices.DeleteFunc(order, func(v string) bool { return v == "" })
	if len(order) < 2 || len(order) > maxFolds {
		return 0, nil, fmt.Errorf("%s: column %q has %s, and folds are 2 to %d", joined(data), e.foldColumn, count(len(order), "value"), maxFolds)
	}
	of := map[string]int{"": -1}
	for i, v := range order {
		of[v] = i
	}
	e.foldNames = order
	fold := func(index int64, _ int32) int { return of[values[index]] }
	return len(order), func() evaluate.Fold { return fold }, nil
}

// source reads the files once for each pass that a protocol makes.
type source struct {
	a       *app
	ctx     context.Context
	data    []string
	options file.Options
	passes  int
	bar     *progress
	opened  int
}

func (s *source) batches(yield func(*model.Batch, error) bool) {
	if s.bar == nil {
		size, err := file.Size(s.data)
		if err != nil {
			yield(nil, err)
			return
		}
		s.bar = s.a.progressBytes("evaluating", size*int64(s.passes))
	}
	s.options.Progress = s.bar.add
	s.opened++
	r, err := file.Open(s.data, s.options)
	if err != nil {
		yield(nil, err)
		return
	}
	defer func() {
		r.Close()
		if s.opened == s.passes {
			s.bar.done()
		}
	}()
	var b model.Batch
	for {
		err := s.ctx.Err()
		if err == nil {
			err = r.Next(&b, nil)
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		if !yield(&b, nil) {
			return
		}
	}
}

// plain unwraps an error of a file, which says where it is better than the protocol that met it.
func plain(err error) error {
	var f *file.Error
	if errors.As(err, &f) {
		return f
	}
	return err
}

// print writes the table of results.
func (e *evaluation) print(w io.Writer, data []string, run evaluate.Run, r *evaluate.Result) error {
	fmt.Fprintf(w, "%s of %s: %s, %d scored and counted", r.Protocol, joined(data), count(int(r.Records), "record"), r.Scored)
	if r.Positive != "" {
		fmt.Fprintf(w, ", positive class %s", r.Positive)
	}
	if r.Delay > 0 {
		fmt.Fprintf(w, ", labels %s late", count(r.Delay, "record"))
	}
	if r.Partitions > 1 {
		fmt.Fprintf(w, ", %d partitions", r.Partitions)
	}
	fmt.Fprint(w, "\n\n")
	heading := []string{""}
	var columns []*evaluate.Metrics
	var against []*evaluate.Difference
	for _, method := range methods {
		if m, ok := r.Methods[method.name]; ok {
			heading = append(heading, " "+method.name)
			columns = append(columns, m)
			against = append(against, r.Against[method.name])
		}
	}
	var rows [][]string
	row := func(name string, value func(m *evaluate.Metrics) string) {
		cells := []string{name}
		for _, m := range columns {
			cells = append(cells, value(m))
		}
		rows = append(rows, cells)
	}
	figure := func(name string, of func(m *evaluate.Metrics) evaluate.Number) {
		row(name, func(m *evaluate.Metrics) string { return decimals(float64(of(m)), 4) })
	}
	figure("log-loss", func(m *evaluate.Metrics) evaluate.Number { return m.LogLoss })
	row("  95 % interval", func(m *evaluate.Metrics) string { return interval(m.LogLossInterval) })
	figure("AUC", func(m *evaluate.Metrics) evaluate.Number { return m.AUC })
	figure("AUC inside blocks", func(m *evaluate.Metrics) evaluate.Number { return m.AUCBlocks })
	figure("average precision", func(m *evaluate.Metrics) evaluate.Number { return m.AveragePrecision })
	figure("Brier", func(m *evaluate.Metrics) evaluate.Number { return m.Brier })
	figure("accuracy", func(m *evaluate.Metrics) evaluate.Number { return m.Accuracy })
	figure("  standard error", func(m *evaluate.Metrics) evaluate.Number { return m.AccuracyError })
	figure("KS", func(m *evaluate.Metrics) evaluate.Number { return m.KS })
	figure("calibration error", func(m *evaluate.Metrics) evaluate.Number { return m.CalibrationError })
	figure("  slope", func(m *evaluate.Metrics) evaluate.Number { return m.CalibrationSlope })
	figure("  intercept", func(m *evaluate.Metrics) evaluate.Number { return m.CalibrationIntercept })
	shares := map[string]bool{}
	for _, m := range columns {
		for s := range m.LiftAt {
			shares[s] = true
		}
	}
	for _, s := range sorted(shares) {
		share, err := strconv.ParseFloat(s, 64)
		if err != nil {
			continue
		}
		row(fmt.Sprintf("lift in the top %g %%", share*100), func(m *evaluate.Metrics) string {
			v, ok := m.LiftAt[s]
			if !ok {
				return "-"
			}
			return decimals(float64(v), 2)
		})
	}
	row("features a record", func(m *evaluate.Metrics) string { return decimals(float64(m.MeanSubspace), 1) })
	share := func(n, all int64) string {
		if all == 0 {
			return "-"
		}
		return percent(float64(n) / float64(all))
	}
	row("reasons with a lift", func(m *evaluate.Metrics) string { return share(m.Reasons, m.Reasons+m.Untold) })
	row("  of these against it", func(m *evaluate.Metrics) string { return share(m.Conflicts, m.Reasons) })
	if r.Methods[evaluate.MethodAll] != nil && len(columns) > 1 {
		difference, bounds := []string{"log-loss of all less this"}, []string{"  95 % interval"}
		for i := range columns {
			if d := against[i]; d != nil {
				difference, bounds = append(difference, decimals(float64(d.LogLoss), 4)), append(bounds, interval(d.Interval))
			} else {
				difference, bounds = append(difference, ""), append(bounds, "")
			}
		}
		rows = append(rows, difference, bounds)
	}
	if err := table(w, "", heading, rows); err != nil {
		return err
	}
	if len(r.Gains) > 0 {
		rows = nil
		for _, g := range r.Gains {
			if g.Share > 0.505 {
				break
			}
			rows = append(rows, []string{fmt.Sprintf("%.0f %%", g.Share*100), number(float64(g.N)), number(float64(g.Positives)), decimals(100*float64(g.Capture), 1) + " %",
				decimals(float64(g.Lift), 2), decimals(float64(g.MeanPropensity), 3)})
		}
		fmt.Fprintf(w, "\nGains: the records of the highest propensity\n")
		if err := table(w, "", []string{" top", " records", " positives", " of all", " lift", " propensity"}, rows); err != nil {
			return err
		}
	}
	if len(r.Curve) > 1 {
		rows = nil
		for _, p := range r.Curve {
			rows = append(rows, []string{strconv.FormatInt(p.Records, 10), decimals(float64(p.LogLoss), 4), decimals(float64(p.AUC), 4)})
		}
		fmt.Fprintf(w, "\nLearning curve: the records since the line before\n")
		if err := table(w, "", []string{" up to", " log-loss", " AUC"}, rows); err != nil {
			return err
		}
	}
	rows = nil
	for _, d := range r.Drift {
		if d.PSI >= 0.1 && d.PSI > d.Threshold && len(rows) < 8 {
			rows = append(rows, []string{d.Feature, decimals(float64(d.PSI), 2), strconv.FormatInt(d.At, 10), decimals(float64(d.Last), 2)})
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(w, "\nDrift: what moved most since the first %d records (population stability index; .1 a shift, .25 a large one)\n", evaluate.DriftRecords)
		if err := table(w, "", []string{"", " largest", " at record", " last"}, rows); err != nil {
			return err
		}
	}
	rows = nil
	for _, f := range r.Fits {
		if f.Method == r.Fits[0].Method {
			rows = append(rows, []string{strconv.FormatInt(f.Learnt, 10), f.Reason, decimals(float64(f.LogLoss), 4), decimals(float64(f.Serving), 4),
				signed(float64(f.Difference)), signedInterval(f.Interval), strconv.Itoa(f.Records)})
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(w, "\nGate: models of %s on records that neither they nor the serving model had learnt; worse than it by more than %s is refused\n",
			r.Fits[0].Method, strconv.FormatFloat(float64(r.Fits[0].Gate), 'g', -1, 64))
		if err := table(w, "", []string{" labelled", "verdict", " log-loss", " serving", " difference", "95 % interval", " records"}, rows); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	if run.Fits > 0 {
		fmt.Fprintf(w, "%s", count(run.Fits, "fit"))
		if run.Refused > 0 {
			fmt.Fprintf(w, ", %d more refused by the gate", run.Refused)
		}
		if s := r.Stability; !math.IsNaN(float64(s.MeanChange)) {
			fmt.Fprintf(w, "; a re-fit moved propensities by %s on average, and %s of the segments", decimals(float64(s.MeanChange), 4), percent(float64(s.SegmentChanged)))
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "%.0f records/s, reading included\n", float64(r.RecordsPerSecond))
	return environment(err)
}

// signed writes a difference with its sign.
func signed(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return fmt.Sprintf("%+.4f", v)
}

func signedInterval(i evaluate.Interval) string {
	if math.IsNaN(float64(i[0])) || math.IsNaN(float64(i[1])) {
		return "-"
	}
	return fmt.Sprintf("[%s, %s]", signed(float64(i[0])), signed(float64(i[1])))
}

func interval(i evaluate.Interval) string {
	if math.IsNaN(float64(i[0])) || math.IsNaN(float64(i[1])) {
		return "-"
	}
	return fmt.Sprintf("[%.4f, %.4f]", float64(i[0]), float64(i[1]))
}

func percent(v float64) string { return decimals(100*v, 1) + " %" }
