package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/codec/file"
	"liftstream/model"
)

func fitCommand(a *app) *cobra.Command {
	var f fitting
	c := a.command(groupFiles, "fit -c FILE DATA... [--model OUT] [--report OUT.json]", `Fit a model to files, exactly
Reads all labelled records of the files and finds the sets of features that tell the classes apart, the windows and
the profiles in which a class is over-represented, and a scorecard of them: one exact fit over every record.

--model writes the model, with which 'score' scores. --report writes all that was found as JSON; without it a short
summary goes to standard output. 'lift [low, high]' is the lift with its 95 % interval, 'validated' the lift of the
same profile on later records that took no part in finding it.`,
		`liftstream fit -c cmd/liftstream/examples/votes.yaml cmd/liftstream/examples/votes.csv --model votes.model`,
		needs(1, -1, "data files"), func(ctx context.Context, data []string) error { return f.run(ctx, a, data) })
	configFlag(c, &f.config)
	c.Flags().StringVarP(&f.model, "model", "m", "", "write the model to `OUT`")
	c.Flags().StringVarP(&f.report, "report", "r", "", "write the report to `OUT.json`; - is standard output")
	return c
}

type fitting struct{ config, model, report string }

func (f *fitting) run(ctx context.Context, a *app, data []string) error {
	c, err := a.load(f.config)
	if err != nil {
		return err
	}
	stage, err := assemble.New(c)
	if err != nil {
		return fmt.Errorf("%s: %w", f.config, err)
	}
	start := time.Now()
	builder := model.NewBuilder(stage.Spec)
	records, err := a.collect(ctx, data, file.Options{Codec: stage.Codec, RequireLabel: true}, builder.Add)
	if err != nil {
		return err
	}
	read := time.Since(start)
	start = time.Now()
	m, err := builder.Fit(ctx)
	if err != nil {
		return err
	}
	fitted := time.Since(start)
	if f.model != "" {
		b := m.AppendBinary(nil)
		if err := a.writeFile(f.model, func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
			return err
		}
	}
	_, _, _ = records, read, fitted
	return nil
}

// collect reads all records of the files and gives them to add, batch by batch. It returns their number.
func (a *app) collect(ctx context.Context, data []string, o file.Options, add func(b *model.Batch)) (int, error) {
	r, bar, err := a.open("reading", data, o)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	defer bar.done()
	n := 0
	var b model.Batch
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		err := r.Next(&b, nil)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return n, err
		}
		add(&b)
		n += b.N
	}
	if n == 0 {
		return 0, fmt.Errorf("%s: no records", joined(data))
	}
	return n, nil
}

// joined lists file names in a message.
func joined(data []string) string {
	if len(data) > 3 {
		return fmt.Sprintf("%s and %d more files", data[0], len(data)-1)
	}
	return strings.Join(data, ", ")
}
