package unusual_test

import (
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
	"liftstream/model/unusual"
)

func TestConformance(t *testing.T) {
	modeltest.Suite{
		PathDependent: true, // it learns in a fit alone
		Golden:        "testdata/format-1.gz",
		Schema:        modeltest.Special(),
		New:           func(s *model.Schema) model.Factory { return unusual.New(.1, s) },
	}.Run(t)
}
