package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/factsheet"
	"liftstream/cmd/liftstream/internal/portable"
	"liftstream/model"
	"liftstream/model/report"
	"liftstream/model/report/text"
)

func reportCommand(a *cli.App) *cobra.Command {
	var r reporting
	c := a.Command(cli.Command{
		Group: cli.GroupFiles,
		Use:   "report MODEL [-c FILE] [--eval JSON] [--fit JSON] [--html OUT] [--svg DIR]",
		About: `Write a model down for people, as a page or as pictures
Writes what a model file holds in plain sentences, figures and tables: how frequent the classes are, which features
act together, the lifts of the best sets, profiles and windows with their intervals, the curves of the features, the
kernel and the trees.

A model file does not know everything. --eval adds the result of 'eval --json': how good the scores are (gains, profit,
calibration), which features matter and what each value does, groups and segments, and what changed along the stream.
--fit adds the report of 'fit --report': each feature by itself, warnings, and without --eval the features that matter.
-c adds the effects of the scorecard and its points, of two classes. All three must belong to the model.

--html writes one file that asks for nothing else: it can be sent by mail, read on a telephone, in the dark, printed,
and read aloud. --svg writes the figures, each as a file NAME.svg in the directory DIR, which is made if it is missing;
files of the same names are replaced. The same input gives the same bytes. Long lists are cut, and say so.`,
		Example: `
liftstream fit -c cmd/liftstream/examples/bank.yaml cmd/liftstream/examples/bank.csv --model bank.model
liftstream eval -q -c cmd/liftstream/examples/bank.yaml cmd/liftstream/examples/bank.csv --json bank-eval.json
liftstream report bank.model --eval bank-eval.json --html bank.html --svg bank-figures`,
		Args: cli.Needs(1, 1, "a model file"),
		Run:  func(_ context.Context, args []string) error { return r.run(a, args[0]) },
	})
	cli.ConfigFlag(c, &r.config)
	c.Flags().Lookup("config").Usage = "configuration `FILE` that the model was fitted with"
	c.Flags().StringVar(&r.eval, "eval", "", "result `JSON` of 'liftstream eval --json'")
	c.Flags().StringVar(&r.fit, "fit", "", "report `JSON` of 'liftstream fit --report'")
	c.Flags().StringVar(&r.html, "html", "", "write the page to `OUT`; - is standard output")
	c.Flags().StringVar(&r.svg, "svg", "", "write the figures into the directory `DIR`")
	return c
}

type reporting struct{ config, eval, fit, html, svg string }

func (r *reporting) run(a *cli.App, path string) error {
	if r.html == "" && r.svg == "" {
		return cli.Usagef("report needs --html OUT, for a page, or --svg DIR, for the figures")
	}
	if err := cli.Apart(cli.Places([]string{path}, cli.Place{Flag: "config", Path: r.config},
		cli.Place{Flag: "eval", Path: r.eval}, cli.Place{Flag: "fit", Path: r.fit}),
		cli.Place{Flag: "html", Path: r.html}); err != nil {
		return err
	}
	in, err := r.input(a, path)
	if err != nil {
		return err
	}
	sheet := factsheet.New(*in)
	if r.svg != "" {
		if err := writeFigures(a, r.svg, sheet.Figures()); err != nil {
			return err
		}
		a.Notef("%s to %s", text.Count(len(sheet.Figures()), "figure"), r.svg)
	}
	if r.html == "" {
		return nil
	}
	if err := a.WriteFile(r.html, sheet.HTML); err != nil {
		return err
	}
	if r.html != "-" {
		a.Notef("page to %s", r.html)
	}
	return nil
}

// input reads the model and the files that belong to it.
func (r *reporting) input(a *cli.App, path string) (*factsheet.Input, error) {
	in := &factsheet.Input{Name: strings.TrimSuffix(filepath.Base(path), ".model"), Report: &report.Report{}}
	var stage *assemble.Stage
	var schema *model.Schema
	var err error
	if r.config != "" {
		if stage, err = assemble.Load(a.LoadOffline, r.config); err != nil {
			return nil, err
		}
		in.Name, schema = stage.Config.Name, stage.Spec.Schema
	}
	if in.Model, err = assemble.ReadModel(path, schema); err != nil {
		return nil, err
	}
	sections := func() error { return assemble.Found(in.Model, in.Report) }
	if stage != nil {
		if in.Model.Fingerprint != stage.Spec.Options.Fingerprint {
			return nil, assemble.Foreign(path, model.ErrModelForeign)
		}
		sections = func() error { return stage.Sections(in.Model, in.Report) }
		if in.Card, err = portable.New(stage, in.Model); err != nil {
			in.NoCard = err.Error()
		}
	}
	if err := sections(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.fit != "" {
		if in.Fit, err = factsheet.ReadFit(r.fit, in.Model); err != nil {
			return nil, err
		}
		if stage == nil && in.Fit.Name != "" {
			in.Name = in.Fit.Name
		}
	}
	if r.eval != "" {
		if in.Evaluation, err = factsheet.ReadEvaluation(r.eval, in.Model); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// writeFigures writes each figure into the directory, which it makes if it is missing. After a failure the directory
// has none of the files that were not there before.
func writeFigures(a *cli.App, dir string, figures []*factsheet.Figure) (err error) {
	if dir == "-" {
		return cli.Usagef("--svg writes several files: name a directory")
	}
	made := false
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.Mkdir(dir, 0o777); err != nil {
			return cli.Environment(err)
		}
		made = true
	case err != nil:
		return cli.Environment(err)
	case !info.IsDir():
		return cli.Usagef("--svg %s is a file: name a directory", dir)
	}
	var written []string
	defer func() {
		if err == nil {
			return
		}
		for _, name := range written {
			_ = os.Remove(name)
		}
		if made {
			_ = os.Remove(dir)
		}
	}()
	for _, f := range figures {
		name := filepath.Join(dir, f.Name+".svg")
		_, before := os.Lstat(name)
		write := func(w io.Writer) error { _, err := io.WriteString(w, f.Drawing.File()); return err }
		if err := a.WriteFile(name, write); err != nil {
			return err
		}
		if errors.Is(before, fs.ErrNotExist) {
			written = append(written, name)
		}
	}
	return nil
}
