package evaluate

import (
	"math"

	"liftstream/model"
	"liftstream/model/drift"
)

// mostAlarms bounds the alarms of a result.
const mostAlarms = 1000

// Alarm is a place where the newest records, scores or labels differ from those of the last fit (drift.Watch), by more
// than chance brings in 1 of 100 streams of 100,000 records in anything. Labels count as if they came with their
// records.
type Alarm struct {
	Feature string `json:"feature"` // or one of drift.PropensityColumn and those beside it
	Kind    string `json:"kind"`    // of drift.AlarmKind
	Missing bool   `json:"missing"` // the share of missing values differs
	At      int64  `json:"at"`      // records of the stream up to the alarm
	PSI     Number `json:"psi"`     // null for a log-loss
	// LogLoss is the mean log-loss, null for other kinds. Threshold is that of the PSI or of over_expectation; of the
	// promises it is the promised log-loss.
	LogLoss   Number `json:"log_loss"`
	Threshold Number `json:"threshold"`
}

// watch feeds a drift.Watch with the records of a stream.
type watch struct {
	of      *drift.Watch
	schema  *model.Schema
	version int64
	first   int64 // index of the first record
	begun   bool
	alarms  []Alarm
}

func newWatch(s *model.Schema) *watch {
	of := model.NewWatch(s, drift.DefaultMonitor().FalseAlarms, false)
	return &watch{of: of, schema: s, alarms: []Alarm{}}
}

// lossOf is -ln p of the class, NaN without one.
func lossOf(p []float64, class int32) float64 {
	if class < 0 {
		return math.NaN()
	}
	return -math.Log(clip(p[class]))
}

// add takes the next record and its propensities. version is that of the model that scored it.
func (w *watch) add(r *Record, version int64, p []float64) {
	if w.begun && version != w.version {
		w.of.Refit(math.NaN())
	}
	if !w.begun {
		w.first = r.Index
	}
	w.begun, w.version = true, version
	before, row := w.of.Total(), int32(r.Row)
	model.WatchRecord(w.of, w.schema, r.Batch, r.Row, row, p, r.Class >= 0)
	w.of.Learned(r.Batch.Offset, row, r.Class)
	for _, f := range w.of.Found(before) {
		if len(w.alarms) == mostAlarms {
			break
		}
		nan := Number(math.NaN())
		a := Alarm{Feature: f.Column, Kind: f.Kind.String(), Missing: f.Kind == drift.Gaps, At: w.first + f.Records, PSI: nan,
			LogLoss: nan, Threshold: Number(f.Threshold)}
		if f.Column == drift.LossColumn {
			a.LogLoss = Number(f.Value)
		} else {
			a.PSI = Number(f.Value)
		}
		w.alarms = append(w.alarms, a)
	}
}
