package propensity

import (
	"math"
	"testing"

	"liftstream/model"
)

// TestWithoutCalibrationNothingIsLeftForIt: where the prior of the calibration outweighs all records, the contributions
// of the features and the intercept, with its entropy, make up the log-odds of every class.
func TestWithoutCalibrationNothingIsLeftForIt(t *testing.T) {
	for name, schema := range schemas() {
		opt := Default()
		opt.Calibration.Prior = 1e12
		s, ex := trained(t, schema, 300, opt)
		pending, p := make([]float64, s.PendingLen()), make([]float64, len(schema.Classes))
		for i := 0; i < len(ex); i += 37 {
			s.Score(ex[i].Row, nil, pending, p)
			for y := range p {
				for _, r := range s.Effects(ex[i].Row, pending, int32(y), nil) {
					if r.Feature == model.TermCalibration && !(math.Abs(r.Effect) <= 1e-4) {
						t.Fatalf("%s, record %d, class %d: calibration has the effect %v", name, i, y, r.Effect)
					}
				}
			}
		}
	}
}

// TestPooledCellsHaveTheRecordsThatTheyHave: the prior of every cell of a run is taken off its records, so that the
// runs of an ordered feature together have the records of its cells.
func TestPooledCellsHaveTheRecordsThatTheyHave(t *testing.T) {
	s, _ := trained(t, schemas()["two monotone"], 800, Default())
	pooled := 0
	for i := range s.features {
		if s.order[i] == nil {
			continue
		}
		for h := range s.horizons {
			var got, want float64
			for _, cell := range s.order[i] {
				s.cells[i] = int(cell)
				b, _ := s.pooled(i, int(cell), h)
				if b.n > 1 {
					pooled++
				}
				got += s.sampleOf(i, h).cell / float64(b.n)
				want += s.cellSum(i, int(cell), h) / (s.unit * s.clock.now[h])
			}
			if !(math.Abs(got-want) <= 1e-6*want) {
				t.Errorf("feature %d, horizon %d: %v records, want %v", i, h, got, want)
			}
		}
	}
	if pooled == 0 {
		t.Fatal("no cells are pooled: the test would say nothing")
	}
}
