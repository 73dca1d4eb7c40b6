package page

import (
	"fmt"
	"math"

	"liftstream/model/drift"
	"liftstream/model/evaluate"
	"liftstream/stream"
)

// Drift has the quality of the newest scores of the partitions of this process, at most 2,000 of each, before and after
// their labels, and their newest alarms. Figures are means over partitions, weighted by their records, null where there
// is nothing to tell them from.
type Drift struct {
	Estimated    evaluate.Number `json:"estimated_log_loss"` // that the propensities promise
	EstimatedAUC evaluate.Number `json:"estimated_auc"`
	Labels       int             `json:"labels"` // of the next three
	LogLoss      evaluate.Number `json:"log_loss"`
	Promised     evaluate.Number `json:"promised_log_loss"` // of the same records
	AUC          evaluate.Number `json:"auc"`
	Expected     evaluate.Number `json:"expected_log_loss"` // of the serving model
	Total        uint64          `json:"alarms"`            // so far, of the states
	Newest       []Alarm         `json:"newest_alarms"`     // newest first, at most shownAlarms of each partition
}

// shownAlarms is the number of newest alarms of a partition on the page.
const shownAlarms = 3

// Alarm is an alarm of drift of a partition.
type Alarm struct {
	Partition int32 `json:"partition"`
	drift.Found
}

// Text says it for people.
func (a Alarm) Text() string {
	at := fmt.Sprintf("partition %d, record %s: ", a.Partition, Count(a.Records))
	switch a.Kind {
	case drift.Values:
		return at + fmt.Sprintf("%s has other values (index %.2f)", a.Column, a.Value)
	case drift.Gaps:
		return at + fmt.Sprintf("%s is missing more or less often (index %.2f)", a.Column, a.Value)
	case drift.OverExpectation:
		return at + fmt.Sprintf("the log-loss %.4f is above the expectation of the model", a.Value)
	default:
		return at + fmt.Sprintf("the log-loss %.4f contradicts the promised %.4f", a.Value, a.Threshold)
	}
}

// mean is a weighted mean; NaN of nothing. Values of NaN are left out.
type mean struct{ sum, weight float64 }

func (m *mean) add(v, weight float64) {
	if !math.IsNaN(v) {
		m.sum, m.weight = m.sum+v*weight, m.weight+weight
	}
}

func (m *mean) number() evaluate.Number { return evaluate.Number(m.sum / m.weight) }

// driftOf joins the partitions; nil where none is watched.
func driftOf(partitions []stream.PartitionStatus) *Drift {
	var d *Drift
	var estimated, estimatedAUC, loss, promised, auc, expected mean
	for i := range partitions {
		p := &partitions[i]
		f := p.Watch
		if f == nil {
			continue
		}
		if d == nil {
			d = &Drift{Newest: []Alarm{}}
		}
		records, labels := float64(min(f.Records, 2000)), float64(f.Labels)
		estimated.add(f.Estimated, records)
		estimatedAUC.add(f.EstimatedAUC, records)
		loss.add(f.LogLoss, labels)
		promised.add(f.Promised, labels)
		auc.add(f.AUC, labels)
		expected.add(f.Expected, records)
		d.Labels += f.Labels
		d.Total += f.Alarms
		for k := range min(shownAlarms, len(p.Alarms)) {
			d.Newest = append(d.Newest, Alarm{p.Partition, p.Alarms[len(p.Alarms)-1-k]})
		}
	}
	if d != nil {
		d.Estimated, d.EstimatedAUC, d.LogLoss = estimated.number(), estimatedAUC.number(), loss.number()
		d.Promised, d.AUC, d.Expected = promised.number(), auc.number(), expected.number()
	}
	return d
}
