package trees_test

import (
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
	"liftstream/model/trees"
)

func TestConformance(t *testing.T) {
	for name, o := range map[string]trees.Options{
		"counts for ever": {Rounds: 6, Leaves: 5, Rate: .3, Gate: -1e9},
		"stumps":          {Rounds: 3, Leaves: 2, Rate: .3, Gate: -1e9},
	} {
		t.Run(name, func(t *testing.T) {
			golden := ""
			if name == "counts for ever" {
				golden = "testdata/format-1.gz"
			}
			modeltest.Suite{
				Golden: golden,
				Schema: modeltest.Schema(),
				New:    func(s *model.Schema) model.Factory { return trees.New(o, s) },
			}.Run(t)
		})
	}
}

// TestConformanceOfSpecialCodes: trees that split on special codes.
func TestConformanceOfSpecialCodes(t *testing.T) {
	modeltest.Suite{
		Golden: "testdata/special-1.gz",
		Schema: modeltest.Special(),
		New: func(s *model.Schema) model.Factory {
			return trees.New(trees.Options{Rounds: 12, Leaves: 6, Rate: .3, Gate: -1e9}, s)
		},
	}.Run(t)
}

// TestConformanceWithoutTrees: a part without trees, whose component learns nothing.
func TestConformanceWithoutTrees(t *testing.T) {
	modeltest.Suite{
		PathDependent: true,
		Schema:        modeltest.Schema(),
		New: func(s *model.Schema) model.Factory {
			return trees.New(trees.Options{Rounds: 3, Leaves: 4, Rate: .3, Gate: 1e9}, s)
		},
	}.Run(t)
}
