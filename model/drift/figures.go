package drift

import (
	"encoding/json"
	"math"
	"slices"
)

// Figures are the quality of the newest scores: the one that they promise before any label is there, and the one that
// labels tell. NaN where there is nothing to tell it from.
type Figures struct {
	Records int64 // scored so far
	Alarms  uint64
	// Estimated is the mean log-loss, in nats, that the propensities of the newest 2,000 scored records promise (CBPE):
	// that of labels drawn by them. EstimatedAUC is the AUC that they promise of the target.
	Estimated, EstimatedAUC float64
	Labels                  int // the newest labelled records, at most 2,000, of the three figures below
	// LogLoss is their mean log-loss by the propensities that they were scored with, Promised the one that these promised.
	LogLoss, Promised, AUC float64
	// Expected is the log-loss that is expected of the serving model, see losses.
	Expected float64
}

// MarshalJSON writes null for NaN.
func (f Figures) MarshalJSON() ([]byte, error) {
	n := func(x float64) *float64 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		return &x
	}
	return json.Marshal(struct {
		Records   int64    `json:"records"`
		Alarms    uint64   `json:"alarms"`
		Estimated *float64 `json:"estimated_log_loss"`
		AUC       *float64 `json:"estimated_auc"`
		Labels    int      `json:"labels"`
		LogLoss   *float64 `json:"log_loss"`
		Promised  *float64 `json:"promised_log_loss"`
		Told      *float64 `json:"auc"`
		Expected  *float64 `json:"expected_log_loss"`
	}{f.Records, f.Alarms, n(f.Estimated), n(f.EstimatedAUC), f.Labels, n(f.LogLoss), n(f.Promised), n(f.AUC),
		n(f.Expected)})
}

// Figures computes the figures of the state as it is: whole steps of the losses.
func (w *Watch) Figures() Figures {
	f := Figures{Records: w.records.records, Alarms: w.total, Expected: w.losses.expect}
	s := w.filling
	for _, b := range w.scored {
		s.n, s.loss = s.n+b.n, s.loss+b.loss
	}
	f.Estimated = s.loss / s.n
	l := w.losses.newest(w.o.Reference)
	if l.n == 0 {
		l = w.losses.filling
	}
	f.Labels, f.LogLoss, f.Promised = int(l.n), l.loss/l.n, l.expected/l.n
	f.EstimatedAUC, f.AUC = math.NaN(), math.NaN()
	if w.o.Target < 0 {
		return f
	}
	var all []weighed
	for _, v := range w.given.v {
		p := float64(v)
		all = append(all, weighed{p, p, 1 - p})
	}
	f.EstimatedAUC = auc(all)
	all = all[:0]
	for _, v := range w.pairs.v {
		if v > 0 {
			all = append(all, weighed{float64(v), 1, 0})
		} else {
			all = append(all, weighed{-float64(v), 0, 1})
		}
	}
	f.AUC = auc(all)
	return f
}

// weighed is a score with its weight among positives and negatives.
type weighed struct{ score, pos, neg float64 }

// auc is the chance that a positive scores higher than a negative, ties by half; NaN without both. It orders all.
func auc(all []weighed) float64 {
	slices.SortFunc(all, func(a, b weighed) int {
		switch {
		case a.score < b.score:
			return -1
		case a.score > b.score:
			return 1
		}
		return 0
	})
	var below, pos, sum float64
	for i := 0; i < len(all); {
		var p, n float64
		for j := i; i < len(all) && all[i].score == all[j].score; i++ {
			p, n = p+all[i].pos, n+all[i].neg
		}
		sum += p * (below + n/2)
		pos, below = pos+p, below+n
	}
	return sum / (pos * below)
}
