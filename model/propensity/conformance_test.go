package propensity

import (
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// schemas are those over which the suite and the property tests run.
func schemas() map[string]*model.Schema {
	many := modeltest.Schema()
	two := modeltest.Schema()
	two.Classes, two.Positive = []string{"no", "yes"}, 1
	turned := modeltest.Schema()
	turned.Classes, turned.Positive = []string{"yes", "no"}, 0
	bound := func(s *model.Schema) *model.Schema {
		c := *s
		c.Features = append([]model.Feature(nil), s.Features...)
		c.Features[0].Monotone = model.Up
		c.Features[1].Monotone = model.Auto
		c.Features[3].Monotone = model.Down
		c.Features[4].Monotone = model.Up
		return &c
	}
	return map[string]*model.Schema{"many": many, "two": two, "turned": turned, "many monotone": bound(many),
		"two monotone": bound(two), "turned monotone": bound(turned), "special": modeltest.Special(),
		"special monotone": bound(modeltest.Special())}
}

// TestConformanceOfOptions runs the suite with effects that follow lifts, and without recent residuals.
func TestConformanceOfOptions(t *testing.T) {
	for option, set := range map[string]func(*Options){
		"follow": func(o *Options) { o.Follow = true },
		"alone":  func(o *Options) { o.Alone = true },
	} {
		for _, name := range []string{"two", "many"} {
			t.Run(option+", "+name, func(t *testing.T) {
				modeltest.Suite{
					Schema: schemas()[name],
					New: func(s *model.Schema) model.Factory {
						opt := Default()
						set(&opt)
						return modeltest.Scorecard(New(opt, s))
					},
					PathDependent: true,
				}.Run(t)
			})
		}
	}
}

func TestConformance(t *testing.T) {
	for name, s := range schemas() {
		t.Run(name, func(t *testing.T) {
			records := 0
			if s.Features[0].Monotone != model.Free {
				records = 400 // pooling makes these slow
			}
			golden := ""
			if name == "two" {
				golden = "testdata/format-5.gz"
			}
			if name == "special" {
				golden = "testdata/special-5.gz"
			}
			if name == "two" || name == "many" {
				records = 1800 // enough for a batch
			}
			modeltest.Suite{
				Golden:        golden,
				Schema:        s,
				Records:       records,
				New:           func(s *model.Schema) model.Factory { return modeltest.Scorecard(New(Default(), s)) },
				PathDependent: true,
			}.Run(t)
		})
	}
}
