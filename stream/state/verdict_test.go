package state

import (
	"testing"

	"liftstream/model"
)

// FuzzVerdicts decodes values of any origin.
func FuzzVerdicts(f *testing.F) {
	f.Add((&GateVerdict{Number: 3, Clocks: map[int32]float64{0: 1}}).encode(1))
	f.Add((&GateVerdict{Verdict: model.Verdict{Reason: model.Inverted}, Since: 7, Note: "because"}).encode(1))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decodeVerdict(b, Format)
		if err == nil && v.Reason > model.Failed {
			t.Errorf("%+v", v)
		}
	})
}
