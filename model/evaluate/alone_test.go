package evaluate_test

import (
	"testing"

	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/modeltest"
)

func TestAloneConformance(t *testing.T) {
	modeltest.Suite{
		Schema:        modeltest.Schema(),
		Records:       300,
		New:           func(s *model.Schema) model.Factory { return modeltest.Scorecard(evaluate.Alone(s)) },
		PathDependent: true,
	}.Run(t)
}
