package modeltest

import (
	"testing"

	"liftstream/model"
)

// testAllocations: the methods that run for each record allocate nothing once they have run. Growth of a table or a
// window now and then is allowed: it is less than one allocation in ten records.
func testAllocations(t *testing.T, x *fixture) {
	c := x.live(t, x.part, 0, x.examples)
	dst := make([]float64, c.InputCount()*len(x.Schema.Classes))
	for _, m := range []struct {
		name string
		call func(ex *model.Example)
	}{
		{"Learn", func(ex *model.Example) { c.Learn(ex) }},
		{"Retract", func(ex *model.Example) { c.Retract(ex) }},
		{"Inputs", func(ex *model.Example) { c.Inputs(ex.Row, dst) }},
	} {
		// AllocsPerRun runs the function once before it measures.
		per := testing.AllocsPerRun(1, func() {
			for i := range x.examples {
				m.call(&x.examples[i])
			}
		})
		if per > float64(len(x.examples))/10 {
			t.Errorf("%s makes %v allocations for %d records", m.name, per, len(x.examples))
		}
	}
}
