package propensity

import (
	"math"
	"testing"

	"liftstream/model/modeltest"
)

// TestThresholds runs four streams (METHOD.md 6.1) prequentially with one configuration, cells from the first 1,000
// records, which are not counted, and wants log-loss and area under the curve no worse than the figures reached.
func TestThresholds(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	for _, c := range []struct {
		name, label, positive string
		drop                  []string
		files                 []string
		delay                 int
		loss, auc             float64
	}{
		{"bank without duration", "class", "yes", []string{"duration"}, []string{"bank_full.csv.gz"}, 0, .2805, .8070},
		{"bank without duration, late", "class", "yes", []string{"duration"},
			[]string{"bank_full.csv.gz"}, 1000, .3080, .7620},
		{"bank", "class", "yes", nil, []string{"bank_full.csv.gz"}, 0, .1892, .9413},
		{"bank, late", "class", "yes", nil, []string{"bank_full.csv.gz"}, 1000, .2340, .9055},
		{"elec2", "class", "UP", nil, []string{"elec2.csv.gz"}, 0, .1860, .9775},
		{"elec2, late", "class", "UP", nil, []string{"elec2.csv.gz"}, 1000, .4990, .8380},
		{"adult", "class", ">50K", nil, []string{"adult_train.csv.gz", "adult_test.csv.gz"}, 0, .2965, .9178},
		{"telco", "class", "Yes", []string{"customerID"}, []string{"telco_churn.csv"}, 0, .4180, .8435},
		{"telco, late", "class", "Yes", []string{"customerID"}, []string{"telco_churn.csv"}, 1000, .4240, .8388},
	} {
		t.Run(c.name, func(t *testing.T) {
			var paths []string
			for _, f := range c.files {
				paths = append(paths, modeltest.Shared(t, "data/"+f))
			}
			d := load(t, c.label, c.positive, c.drop, paths...)
			p := prequential(open(d, Default(), standard, 1000), d, c.delay)
			var loss float64
			for i := 1000; i < len(p); i++ {
				if d.class[i] == 1 {
					loss -= math.Log(p[i])
				} else {
					loss -= math.Log(1 - p[i])
				}
			}
			loss /= float64(len(p) - 1000)
			area := auc(p[1000:], d.class[1000:])
			t.Logf("log-loss %.4f, AUC %.4f", loss, area)
			if loss > c.loss {
				t.Errorf("log-loss %.4f, at most %.4f", loss, c.loss)
			}
			if area < c.auc {
				t.Errorf("AUC %.4f, at least %.4f", area, c.auc)
			}
		})
	}
}
