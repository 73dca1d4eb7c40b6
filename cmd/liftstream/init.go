package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/records"
	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/config"
	"liftstream/model/describe"
	"liftstream/model/report/text"
)

func initCommand(a *cli.App) *cobra.Command {
	o := describe.Options{Taken: codec.ScoreNames, Units: true}
	c := a.Command(cli.Command{
		Group: cli.GroupFiles,
		Use:   "init DATA --label COL [--positive CLASS] [--goal COL]... [--id COL] [--time COL]",
		About: `Look at a data file and write a configuration for it
Reads a data file and prints a commented configuration: the kind of every column, the texts that mean missing, the
classes. It warns of columns that look like ids, of columns that give the outcome away, and of other findings that its
owner should look at. Features that give the outcome away get 'use: never': one that alone ranks the classes far better
than all others together, one with a value for each class, one that is filled in for one class only, and times after the
event. A good feature beside other good ones stays in, with a comment. The configuration is valid as it is; read the
comments, and decide about the features marked there.

--goal names a further outcome of two classes that a record may have beside the label, such as clicks and leaves beside
buys; give it once for each. Goals share the features and the records, and a feature that gives one of them away is none
of any.`,
		Example: `liftstream init cmd/liftstream/examples/bank.csv --label class --positive yes > bank.yaml`,
		Args:    cli.Needs(1, 1, "one data file"),
		Run:     func(ctx context.Context, data []string) error { return runInit(ctx, a, data[0], o) },
	})
	f := c.Flags()
	f.StringVar(&o.Label, "label", "", "column `COL` of the outcome (required)")
	f.StringVar(&o.Positive, "positive", "",
		"`CLASS` that is asked for, such as a purchase; the rarer of two unless given")
	f.StringArrayVar(&o.Goals, "goal", nil, "column `COL` of a further outcome of two classes; may be repeated")
	f.StringVar(&o.ID, "id", "", "column `COL` that says who a record is about")
	f.StringVar(&o.Time, "time", "", "column `COL` of the record's time")
	f.StringVar(&o.Name, "name", "", "`NAME` of the configuration; that of the file unless given")
	return c
}

func runInit(ctx context.Context, a *cli.App, data string, o describe.Options) error {
	if o.Label == "" {
		return cli.Usagef("the column of the outcome is missing: give it with --label COLUMN")
	}
	if o.Name == "" {
		o.Name = nameOf(data)
	}
	size, err := file.Size([]string{data})
	if err != nil {
		return err
	}
	bar := a.ProgressBytes("reading", (2+int64(len(o.Goals)))*size)
	defer bar.Finish()
	others := append([]string{o.Label, o.ID, o.Time}, o.Goals...)
	table, written, err := records.Described(ctx, data, bar.Add, others...)
	if err != nil {
		return err
	}
	columns := table.Columns
	given := []struct{ flag, column string }{{"label", o.Label}, {"id", o.ID}, {"time", o.Time}}
	for _, goal := range o.Goals {
		given = append(given, struct{ flag, column string }{"goal", goal})
	}
	for _, x := range given {
		if x.column != "" && !slices.Contains(columns, x.column) {
			return fmt.Errorf("%s: there is no column %q for --%s; it has %s", data, x.column, x.flag, text.Some(columns, 40))
		}
	}
	d, err := describe.Describe(table, o)
	if err != nil {
		var f *file.Error
		if errors.As(err, &f) {
			return f
		}
		return fmt.Errorf("%s: %w", data, err)
	}
	bar.Finish()
	for _, w := range d.Warnings {
		if w.Column == "" {
			a.Notef("warning: %s", w.Text)
		} else {
			a.Notef("warning: %s: %s", w.Column, w.Text)
		}
	}
	for _, r := range written.Remarks {
		a.Notef("warning: %s", r)
	}
	text := d.YAML()
	if len(written.Columns) > 0 {
		text = fmt.Appendf(text, "format: %s  # of the numbers in %s\n", written.Format, list(written.Columns))
	}
	var problems config.Problems
	if _, _, err := config.Parse(o.Name+".yaml", text, nil); errors.As(err, &problems) {
		return fmt.Errorf("%s: no valid configuration follows from this file: %s", data, problems[0].Message)
	}
	_, err = a.Out.Write(text)
	return cli.Environment(err)
}

// list writes names of columns into a comment.
func list(columns []string) string {
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = strconv.Quote(c)
	}
	return text.Some(quoted, 10)
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
