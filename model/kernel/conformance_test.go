package kernel

import (
	"testing"

	"liftstream/model"
	"liftstream/model/kernel/lp"
	"liftstream/model/modeltest"
)

func TestConformance(t *testing.T) {
	two := modeltest.Schema()
	two.Classes, two.Positive = []string{"no", "yes"}, 1
	for name, c := range map[string]struct {
		schema *model.Schema
		change func(*Options)
	}{
		"nonneg":  {modeltest.Schema(), func(*Options) {}},
		"two":     {two, func(o *Options) { o.Input = Sum }},
		"fixed":   {two, func(o *Options) { o.Gamma1, o.Gamma2, o.Input = 1, 1, Sum }},
		"ridge":   {two, func(o *Options) { o.Mode, o.Gamma1, o.Gamma2, o.Triples, o.Input = lp.Ridge, 1, .1, 60, Sum }},
		"single":  {two, func(o *Options) { o.Single, o.Shape, o.Input = true, Triangular, Sum }},
		"sum":     {modeltest.Schema(), func(o *Options) { o.Input = Sum }},
		"product": {modeltest.Schema(), func(o *Options) { o.Input = Product }},
		"full":    {modeltest.Schema(), func(o *Options) { o.Full = true }},
		"poly":    {two, func(o *Options) { o.Full, o.Shape = true, Polynomial }},
		"linear":  {modeltest.Schema(), func(o *Options) { o.Full, o.Shape = true, Linear }},
	} {
		t.Run(name, func(t *testing.T) {
			o := Default()
			o.Triples = 300
			c.change(&o)
			golden := map[string]string{
				"nonneg": "testdata/format-1.gz", "sum": "testdata/format-2.gz", "product": "testdata/format-3.gz",
				"full": "testdata/format-4.gz",
			}[name]
			modeltest.Suite{
				Golden:        golden,
				Schema:        c.schema,
				New:           func(s *model.Schema) model.Factory { return New(o, s) },
				PathDependent: true, // nothing is learnt between fits, so there is nothing to take back or to add up
			}.Run(t)
		})
	}
}
