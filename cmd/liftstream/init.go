package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/describe"
)

func initCommand(a *app) *cobra.Command {
	o := describe.Options{Taken: codec.ScoreNames}
	c := a.command(groupFiles, "init DATA --label COL [--positive CLASS] [--id COL] [--time COL]", `Look at a data file and write a configuration for it
Reads a data file and prints a commented configuration: the kind of every column, the texts that mean missing, the
classes. It warns of columns that look like ids, of those that give the outcome away, and of whatever else its owner
should look at. Features that give the outcome away get 'use: never': one that alone ranks the classes far better than
all others together, one with a value for each class, one that is filled in for one class only, and times after the
event. A good feature beside other good ones stays in, with a comment. The configuration is valid as it is; read the
comments, and decide about the features marked there.`,
		`liftstream init cmd/liftstream/examples/bank.csv --label class --positive yes > bank.yaml`,
		needs(1, 1, "one data file"), func(ctx context.Context, data []string) error { return runInit(ctx, a, data[0], o) })
	f := c.Flags()
	f.StringVar(&o.Label, "label", "", "column `COL` of the outcome (required)")
	f.StringVar(&o.Positive, "positive", "", "`CLASS` that is asked for, such as a purchase; the rarer of two unless given")
	f.StringVar(&o.ID, "id", "", "column `COL` that says who a record is about")
	f.StringVar(&o.Time, "time", "", "column `COL` of the record's time")
	f.StringVar(&o.Name, "name", "", "`NAME` of the configuration; that of the file unless given")
	return c
}

func runInit(ctx context.Context, a *app, data string, o describe.Options) error {
	if o.Label == "" {
		return usagef("the column of the outcome is missing: give it with --label COLUMN")
	}
	if o.Name == "" {
		o.Name = nameOf(data)
	}
	columns, err := columnsOf(data)
	if err != nil {
		return err
	}
	for _, x := range []struct{ flag, column string }{{"label", o.Label}, {"id", o.ID}, {"time", o.Time}} {
		if x.column != "" && !slices.Contains(columns, x.column) {
			return fmt.Errorf("%s: there is no column %q for --%s; it has %s", data, x.column, x.flag, some(columns, 40))
		}
	}
	size, err := file.Size([]string{data})
	if err != nil {
		return err
	}
	bar := a.progressBytes("reading", 2*size)
	defer bar.done()
	d, err := describe.Describe(describe.Table{Columns: columns, Rows: texts(ctx, data, columns, bar)}, o)
	if err != nil {
		var f *file.Error
		if errors.As(err, &f) {
			return f
		}
		return fmt.Errorf("%s: %w", data, err)
	}
	bar.done()
	for _, w := range d.Warnings {
		if w.Column == "" {
			a.notef("warning: %s", w.Text)
		} else {
			a.notef("warning: %s: %s", w.Column, w.Text)
		}
	}
	text := d.YAML()
	var problems config.Problems
	if _, _, err := config.Parse(o.Name+".yaml", text, nil); errors.As(err, &problems) {
		return fmt.Errorf("%s: no valid configuration follows from this file: %s", data, problems[0].Message)
	}
	_, err = a.out.Write(text)
	return environment(err)
}

// columnsOf returns the names of the columns of a data file that has records.
func columnsOf(path string) ([]string, error) {
	r, err := file.OpenTables([]string{path}, file.TableOptions{Missing: []string{}})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := r.Next()
	if errors.Is(err, io.EOF) || err == nil && t.Rows() == 0 {
		return nil, fmt.Errorf("%s: %w; a configuration is inferred from records", path, describe.ErrNoRecords)
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range t.Columns() {
		names = append(names, c.Name)
	}
	return names, nil
}

// texts yields the cells of a data file as text, exactly as they stand in a text file; null is the empty text.
func texts(ctx context.Context, path string, columns []string, bar *progress) iter.Seq2[[]string, error] {
	s := &model.Schema{}
	for _, c := range columns {
		s.Features = append(s.Features, model.Feature{Name: c, Kind: model.Nominal})
	}
	return func(yield func([]string, error) bool) {
		r, err := file.OpenTables([]string{path}, file.TableOptions{Codec: codec.Options{Schema: s}, Missing: []string{}, Progress: bar.add})
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Close()
		at := make([]int, len(columns))
		cells := make([]string, len(columns))
		for {
			t, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for i, c := range columns {
				at[i] = t.Column(c)
			}
			for row := range t.Rows() {
				for i := range cells {
					cells[i] = ""
					if at[i] >= 0 {
						cells[i], _ = t.Text(at[i], row)
					}
				}
				if !yield(cells, nil) {
					return
				}
			}
		}
	}
}

// nameOf makes the name of a configuration from that of a data file: lower case, letters, digits, dots, underscores and
// hyphens, without the extensions.
func nameOf(path string) string {
	name := strings.ToLower(filepath.Base(path))
	name, _, _ = strings.Cut(name, ".")
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, name)
	if name = strings.Trim(name, "-"); name == "" {
		return "stage"
	}
	return name[:min(len(name), 100)]
}
