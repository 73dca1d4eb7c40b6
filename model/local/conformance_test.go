package local_test

import (
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/local"
	"liftstream/model/modeltest"
)

func TestConformance(t *testing.T) {
	for name, o := range map[string]local.Options{
		"auto":      {Theta: local.Auto},
		"threshold": {Theta: .25},
		"all":       {Theta: 0},
		"record": {Theta: .3, Observation: local.PerRecord, Score: local.Balanced, Redundancy: local.Max,
			Divergence: local.LowerBound},
		"pools": {Theta: .25, Prototypes: 60, Neighbours: 3, Pool: local.Pool{Bytes: 1 << 14,
			HalfLife: model.HalfLife{Records: 500}}},
		"timed":  {Theta: local.Auto, HalfLife: model.HalfLife{Duration: 150 * time.Second}, Prototypes: 200},
		"newest": {Theta: local.Auto, Prototypes: 60, Neighbours: 3, Newest: 600},
		"few":    {Theta: local.Auto, Prototypes: 60, Neighbours: 3},
	} {
		t.Run(name, func(t *testing.T) {
			golden := map[string]string{"few": "testdata/format-3.gz", "newest": "testdata/format-4.gz",
				"pools": "testdata/format-64.gz"}[name]
			modeltest.Suite{
				Golden:  golden,
				Schema:  modeltest.Schema(),
				Records: 600,
				// Counts that fade are taken back to rounding, not to the last bit (TestHalfLifeOfTime). A pool depends on the
				// fits that filled it.
				PathDependent: o.HalfLife != model.HalfLife{} || o.Pool.Bytes > 0,
				New:           func(s *model.Schema) model.Factory { return local.New(o, s) },
			}.Run(t)
		})
	}
}
