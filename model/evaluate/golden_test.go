package evaluate

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// goldenCase is a row of golden.json, which testdata/golden.py writes with scikit-learn and numpy.
type goldenCase struct {
	Name     string
	N        int
	Classes  int
	Grid     float64
	Signal   float64
	Seed     uint64
	Weighted bool
	Metrics  Metrics
	Gains    []Gain
}

// uniform and set are the formulas of golden.py.
func uniform(seed uint64, i, k int) float64 {
	return float64(mix(mix(seed)+uint64(16*i+k))>>11) / (1 << 53)
}

func (c *goldenCase) set(t testing.TB) *Set {
	s := NewSet(c.Classes)
	p := make([]float64, c.Classes)
	for i := range c.N {
		for k := range p {
			p[k] = math.Floor(uniform(c.Seed, i, k)*c.Grid) / c.Grid
		}
		if c.Classes == 2 {
			p[0] = 1 - p[1]
		} else {
			total := 0.0
			for k := range p {
				p[k] += 0.01
				total += p[k]
			}
			for k := range p {
				p[k] /= total
			}
		}
		y := 0
		if uniform(c.Seed, i, 8) < c.Signal {
			for u := uniform(c.Seed, i, 9); y < c.Classes-1 && u >= p[y]; y++ {
				u -= p[y]
			}
		} else {
			y = int(uniform(c.Seed, i, 10) * float64(c.Classes))
		}
		w := 1.0
		if c.Weighted {
			w = math.Floor(uniform(c.Seed, i, 11)*8) / 4
		}
		if err := s.Add(int64(i), p, int32(y), w); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func golden(t testing.TB) []goldenCase {
	b, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatal("golden.json holds no case")
	}
	return cases
}

func near(t *testing.T, what string, got, want Number, tolerance float64) {
	t.Helper()
	if !(math.Abs(float64(got-want)) <= tolerance) {
		t.Errorf("%s: got %.17g, want %.17g", what, got, want)
	}
}

func TestGolden(t *testing.T) {
	for _, c := range golden(t) {
		t.Run(c.Name, func(t *testing.T) {
			s := c.set(t)
			got, want := s.Metrics(-1, 7), c.Metrics
			const exact = 1e-12
			near(t, "log_loss", got.LogLoss, want.LogLoss, exact)
			near(t, "auc", got.AUC, want.AUC, exact)
			near(t, "AUC()", Number(s.AUC()), want.AUC, exact)
			near(t, "auc_blocks", got.AUCBlocks, want.AUCBlocks, exact)
			near(t, "average_precision", got.AveragePrecision, want.AveragePrecision, exact)
			near(t, "brier", got.Brier, want.Brier, exact)
			near(t, "accuracy", got.Accuracy, want.Accuracy, exact)
			near(t, "kappa", got.Kappa, want.Kappa, exact)
			near(t, "ks", got.KS, want.KS, exact)
			near(t, "calibration_error", got.CalibrationError, want.CalibrationError, exact)
			// The reference's optimiser stops at a gradient of 1e-13 of the mean, far from 1e-12 of the coefficients.
			near(t, "calibration_slope", got.CalibrationSlope, want.CalibrationSlope, 1e-8)
			near(t, "calibration_intercept", got.CalibrationIntercept, want.CalibrationIntercept, 1e-8)
			if len(got.LiftAt) != 4 || len(want.LiftAt) != 4 {
				t.Fatalf("lift_at: got %v, want %v", got.LiftAt, want.LiftAt)
			}
			for share, v := range want.LiftAt {
				near(t, "lift_at "+share, got.LiftAt[share], v, exact)
			}
			for k := range want.LogLossInterval {
				near(t, "log_loss_interval", got.LogLossInterval[k], want.LogLossInterval[k], exact)
			}
			gains := s.Gains(-1)
			for _, g := range c.Gains {
				h := gains[int(math.Round(g.Share*20))-1]
				near(t, "gains share", Number(h.Share), Number(g.Share), 0)
				near(t, "gains n", h.N, g.N, 1e-9)
				near(t, "gains positives", h.Positives, g.Positives, 1e-9)
				near(t, "gains capture", h.Capture, g.Capture, exact)
				near(t, "gains lift", h.Lift, g.Lift, exact)
				near(t, "gains mean_propensity", h.MeanPropensity, g.MeanPropensity, exact)
			}
		})
	}
}
