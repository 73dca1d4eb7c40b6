package lift

import (
	"testing"

	"liftstream/model"
)

// TestMinCountIsOfRecordsAndNotOfWeights: the weights of the records of a profile say nothing of their number.
func TestMinCountIsOfRecordsAndNotOfWeights(t *testing.T) {
	for _, weight := range []float64{.01, 1, 100} {
		for records, want := range map[float64]bool{19: false, 20: true} {
			f := &Profile{Text: "x", Q: .01, Tally: Tally{NX: records * weight, Effective: records},
				Validation: Tally{N: 100, NX: 20, NXY: 20, NY: 50, Effective: 20}}
			c := &Component{profiles: []*Profile{f}, ofClass: []int{0, 1}, minCount: 20}
			if !f.Confirmed() {
				t.Fatal("it is not confirmed: the test would say nothing")
			}
			if text, _ := c.Profile(model.Row{}, 0); (text != "") != want {
				t.Errorf("%v records of weight %v: %q", records, weight, text)
			}
		}
	}
}
