package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
)

func scoreCommand(a *app) *cobra.Command {
	var s scoring
	c := a.command(groupFiles, "score -c FILE --model MODEL DATA... [--out OUT] [--explain | --record N]", `Score files with a fitted model
Scores records with the model that 'fit' wrote. Nothing is learnt on the way: the labels of the files, if there are
any, are not looked at, and every record gets the score that the model alone gives it (only percentile looks at the
records before). A model that 'fit' wrote speaks of all its records alike: the mean of its propensities over them is
their rate. One of 'fit --as-of end' speaks as of the last of them: with short half-lives (propensity.half_lives) it
follows the latest base rates, so it suits what comes next better than what lies far back. 'inspect' tells which one it
is. To see how a model does that learns as it goes, use 'eval'.

Each record's scores are one line of JSON on standard output, or a row of the file --out, whose extension says the
format: .jsonl .csv .arrow .arrows .feather .parquet. source_row is the number of the record, over all files from 0.
With --explain, 'why' holds every contribution to the log-odds of 'target', the named terms in parentheses among
them; they sum to the log-odds of its propensity.

--record N explains one record instead, that of source_row N: its score, and feature by feature what its value tells about
the class beyond chance, in nats: alone (the class shares around the value against the base rates) and beside the others (the
class shares of the nearest records that agree in it against those of all the nearest), - where chance explains it; the place
in the record's subspace, whose relevance is the larger of the two; and the mean and standard deviation of the curve by which
the neighbours' distance selects features.`,
		`liftstream fit -c cmd/liftstream/examples/bank.yaml cmd/liftstream/examples/bank.csv --model bank.model
liftstream score -c cmd/liftstream/examples/bank.yaml --model bank.model cmd/liftstream/examples/bank.csv --out scores.csv
liftstream score -c cmd/liftstream/examples/bank.yaml --model bank.model cmd/liftstream/examples/bank.csv --record 178`,
		needs(1, -1, "data files"), func(ctx context.Context, data []string) error { return s.run(ctx, a, data) })
	configFlag(c, &s.config)
	c.Flags().StringVarP(&s.model, "model", "m", "", "model `FILE` that fit wrote (required)")
	c.Flags().StringVarP(&s.out, "out", "o", "-", "write to `OUT`; - is JSON lines on standard output")
	c.Flags().BoolVar(&s.explain, "explain", false, "give every contribution, not only the largest")
	c.Flags().Int64Var(&s.record, "record", -1, "explain the record with source_row `N`, feature by feature")
	s.one = func() bool { return c.Flags().Changed("record") }
	return c
}

type scoring struct {
	config, model, out string
	explain            bool
	record             int64
	one                func() bool // whether one record is asked for
	batch              int         // records of a batch; 0 = the reader's own
}

func (s *scoring) run(ctx context.Context, a *app, data []string) error {
	if s.model == "" {
		return usagef("the model is missing: give it with --model FILE; 'liftstream fit' writes one")
	}
	if err := apart(places(data, place{"config", s.config}, place{"model", s.model}), place{"out", s.out}); err != nil {
		return err
	}
	if s.out != "-" {
		if _, _, err := file.KindOf(s.out); err != nil {
			return err
		}
	}
	if s.one != nil && s.one() && (s.explain || s.out != "-") {
		return usagef("--record explains one record on standard output: it goes with neither --explain nor --out")
	}
	c, err := a.loadOffline(s.config)
	if err != nil {
		return err
	}
	stage, err := assemble.New(c)
	if err != nil {
		return fmt.Errorf("%s: %w", s.config, err)
	}
	if s.explain {
		stage.Spec.Options.Why = -1
	}
	// Nothing waits for a label here.
	stage.Spec.Options.WaitBytes = 0
	m, err := readModel(s.model, stage.Spec.Schema)
	if err != nil {
		return err
	}
	p := model.NewPartition(stage.Spec, 0)
	if err := p.Swap(m); err != nil {
		return foreignModel(s.model, err)
	}
	columns := stage.Codec
	columns.Label = ""
	if s.one != nil && s.one() {
		return s.explainRecord(ctx, a, data, file.Options{Codec: columns, Rows: 1}, stage.Spec.Schema, p)
	}
	r, bar, err := a.open("scoring", data, file.Options{Codec: columns, Rows: s.batch})
	if err != nil {
		return err
	}
	defer r.Close()
	defer bar.done()
	encoder, err := codec.NewScoreEncoder(stage.Codec)
	if err != nil {
		return err
	}
	var n int64
	start := time.Now()
	feed := func(write func(t *codec.Table) error) error {
		var b model.Batch
		var carry codec.Carry
		var scores model.Scores
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := r.Next(&b, &carry)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			// The position of a record is its number over all files, whatever batches they are read in.
			b.Offset = n >> 31
			for i := range b.N {
				b.Row[i] = int32((n + int64(i)) & math.MaxInt32)
			}
			p.Events(&b, &scores)
			t, err := encoder.Table(&b, &scores, p.Levels(), &carry)
			if err != nil {
				return fmt.Errorf("writing scores: %w", err)
			}
			if err := write(t); err != nil {
				return err
			}
			n += int64(b.N)
		}
	}
	if err := a.writeTables(s.out, feed); err != nil {
		return err
	}
	bar.done()
	a.notef("%s scored%s with model %d (%s)", count(int(n), "record"), to(s.out), m.Version, rate(n, time.Since(start)))
	return nil
}

// to says where results went, unless it was standard output.
func to(out string) string {
	if out == "-" {
		return ""
	}
	return " to " + out
}

func rate[N int | int64](n N, d time.Duration) string {
	return fmt.Sprintf("%.0f/s", float64(n)/max(d.Seconds(), 1e-9))
}

// writeTables writes what feed gives it to a file in the format of its name, or as JSON lines to standard output. The
// name shows the whole file or nothing.
func (a *app) writeTables(path string, feed func(write func(t *codec.Table) error) error) error {
	if path == "-" {
		w := bufio.NewWriterSize(a.out, 1<<16)
		var line []byte
		err := feed(func(t *codec.Table) error {
			for i := range t.Rows() {
				line = append(t.AppendJSON(line[:0], i), '\n')
				if _, err := w.Write(line); err != nil {
					return environment(err)
				}
			}
			return nil
		})
		return errors.Join(err, environment(w.Flush()))
	}
	return replaceFile(path, func(name string) error {
		w, err := file.Create(name)
		if err != nil {
			return err
		}
		err = feed(func(t *codec.Table) error {
			if err := w.Write(t); err != nil {
				return environment(fmt.Errorf("writing %s: %w", path, err))
			}
			return nil
		})
		if closing := w.Close(); err == nil && closing != nil {
			err = environment(fmt.Errorf("writing %s: %w", path, closing))
		}
		return err
	})
}

// readModel reads a model file under the schema of the configuration, or its own when schema is nil.
func readModel(path string, schema *model.Schema) (*model.Model, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading model: %w", err)
	}
	m, err := model.DecodeModel(schema, b)
	if err != nil {
		return nil, foreignModel(path, err)
	}
	return m, nil
}

// foreignModel adds the place and the remedy to an error of reading or taking a model.
func foreignModel(path string, err error) error {
	if errors.Is(err, model.ErrModelForeign) {
		return fmt.Errorf("%s does not belong to the configuration: %w; fit it again with 'liftstream fit -c FILE DATA... --model %s', or take the configuration that it was fitted with (record, lift, propensity and fit.seed count)", path, err, path)
	}
	return fmt.Errorf("%s: %w; it must be a file that 'liftstream fit --model' wrote", path, err)
}

// open opens data files with a progress bar.
func (a *app) open(what string, data []string, o file.Options) (*file.Reader, *progress, error) {
	size, err := file.Size(data)
	if err != nil {
		return nil, nil, err
	}
	bar := a.progressBytes(what, size)
	o.Progress = bar.add
	r, err := file.Open(data, o)
	if err != nil {
		bar.done()
		return nil, nil, err
	}
	return r, bar, nil
}
