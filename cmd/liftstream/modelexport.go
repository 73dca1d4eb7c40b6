package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/portable"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/report/text"
	"liftstream/stream/state"
)

func modelExportCommand(a *cli.App) *cobra.Command {
	var x exporting
	c := a.Command(cli.Command{
		Use: "export -c FILE VERSION|--model MODEL [--format " + strings.Join(x.formats(), "|") + "] [--out OUT]",
		About: `Write a model to a file, or its scorecard in a form that other programs read
Writes the bytes of a version to a file, as 'fit --model' does: 'score --model' and 'run --model' read it, 'inspect'
looks into it. Without --out the file is NAME-VERSION.model, NAME being the stage's.

With --format it writes the scorecard instead, of a version or of the model file --model: the effects of the features
and of the sets of features that entered it, and its calibration. csv is a table for people, json has every number of
the formula, sql is one SELECT for a database, onnx a graph for an ONNX
runtime, pmml a document of PMML 4.4. The score is that of 'score --method lift', to 1e-9; of two classes
only. Standard error and the file say what it leaves out; 'eval --method lift --method all' measures the cost of it.
Where that matters, switch the other parts off (local: off, kernel: off, trees: off) and fit again: then the export is
the whole score. The page PORTABLE.md has the formula.`,
		Example: `
liftstream fit -c cmd/liftstream/examples/bank.yaml cmd/liftstream/examples/bank.csv --model bank.model
liftstream model export -c cmd/liftstream/examples/bank.yaml --model bank.model --format sql --out bank.sql`,
		Args: cli.Needs(0, 1, "a version, as 'model list' lists it"),
		Run:  func(ctx context.Context, args []string) error { return x.run(ctx, a, args) },
	})
	cli.ConfigFlag(c, &x.config)
	c.Flags().StringVarP(&x.model, "model", "m", "", "model `FILE` that fit wrote, in place of a version")
	c.Flags().StringVar(&x.format, "format", modelFile, "`FORMAT`: "+strings.Join(x.formats(), ", "))
	c.Flags().StringVarP(&x.out, "out", "o", "", "file `OUT`; - is standard output")
	return c
}

// modelFile is the format of model files.
const modelFile = "model"

type exporting struct{ config, model, format, out string }

func (x *exporting) formats() []string { return append([]string{modelFile}, portable.Formats()...) }

func (x *exporting) run(ctx context.Context, a *cli.App, args []string) error {
	switch {
	case len(args) == 0 && x.model == "":
		return cli.Usagef("export needs a version, as 'liftstream model list' lists it, or a model file by --model FILE")
	case len(args) > 0 && x.model != "":
		return cli.Usagef("export takes a version or --model FILE, not both")
	case x.model != "" && x.format == modelFile:
		return cli.Usagef("%s is a model file already: say --format %s", x.model, strings.Join(portable.Formats(), "|"))
	case !slices.Contains(x.formats(), x.format):
		return cli.Usagef("--format %q: it is one of %s", x.format, strings.Join(x.formats(), ", "))
	}
	if err := cli.Apart([]cli.Place{{Flag: "config", Path: x.config}, {Flag: "model", Path: x.model}},
		cli.Place{Flag: "out", Path: x.out}); err != nil {
		return err
	}
	if x.model != "" {
		stage, err := assemble.Load(a.LoadOffline, x.config)
		if err != nil {
			return err
		}
		m, err := assemble.ReadModel(x.model, stage.Spec.Schema)
		if err != nil {
			return err
		}
		return x.card(a, stage, m, x.model)
	}
	return withVersions(ctx, a, x.config, args, func(c *config.Config, v []*state.ModelVersion) error {
		if x.format != modelFile {
			stage, err := assemble.New(c)
			if err != nil {
				return fmt.Errorf("%s: %w", x.config, err)
			}
			return x.card(a, stage, v[0].Model, fmt.Sprintf("%s-%d", c.Name, v[0].Version))
		}
		if x.out == "" {
			x.out = fmt.Sprintf("%s-%d.model", c.Name, v[0].Version)
		}
		b := v[0].Model.AppendBinary(nil)
		if err := a.WriteFile(x.out, func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
			return err
		}
		a.Notef("model %d to %s (%s)", v[0].Version, x.out, text.Bytes(int64(len(b))))
		return nil
	})
}

// card writes the scorecard of a model, which is named name.
func (x *exporting) card(a *cli.App, stage *assemble.Stage, m *model.Model, name string) error {
	c, err := portable.New(stage, m)
	if err != nil {
		return assemble.Unportable(name, err)
	}
	if x.out == "" {
		x.out = strings.TrimSuffix(name, ".model") + "." + x.format
	}
	if err := a.WriteFile(x.out, func(w io.Writer) error { return c.Write(w, x.format) }); err != nil {
		return err
	}
	for _, s := range c.LeftOut {
		a.Notef("left out: %s", s)
	}
	a.Notef("the cost of it: liftstream eval -c %s DATA --method lift --method all", x.config)
	a.Notef("scorecard of model %d%s: %s, %s", m.Version, toFile(x.out), text.Count(len(c.Features), "feature"),
		text.Count(len(c.Sets), "set"))
	return nil
}
