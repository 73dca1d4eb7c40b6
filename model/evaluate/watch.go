package evaluate

import (
	"math"

	"liftstream/model"
	"liftstream/model/drift"
)

// mostAlarms bounds the alarms of a result.
const mostAlarms = 1000

// Alarm is a place where the newest records differ from those of the last fit (drift.Monitor), by more than chance
// brings in 1 of 100 streams of 100,000 records in any column. Beside the features stand "(propensity)" as in Drift,
// and "(loss)", the log-loss of the record, whose missing values are records without a label: both are compared with
// the records just before, for they change with the model.
type Alarm struct {
	Feature   string `json:"feature"`
	Missing   bool   `json:"missing"` // the share of missing values differs; else the others do
	At        int64  `json:"at"`      // records of the stream up to the alarm
	PSI       Number `json:"psi"`
	Threshold Number `json:"threshold"`
}

// watch feeds a drift.Monitor with the records of a stream.
type watch struct {
	monitor *drift.Monitor
	levels  []bool // of the features: they have levels
	version int64
	first   int64 // index of the first record
	begun   bool
	alarms  []Alarm
}

func newWatch(s *model.Schema) *watch {
	w := &watch{alarms: []Alarm{}}
	var columns []drift.Column
	for _, f := range s.Features {
		kind := drift.Numbers
		if f.Kind != model.Continuous {
			kind = drift.Levels
		}
		columns = append(columns, drift.Column{Name: f.Name, Kind: kind})
		w.levels = append(w.levels, kind == drift.Levels)
	}
	columns = append(columns, drift.Column{Name: "(propensity)", OfModel: true},
		drift.Column{Name: "(loss)", OfModel: true})
	w.monitor = drift.NewMonitor(columns, drift.DefaultMonitor())
	return w
}

// add takes the next record, its propensity, and its loss, NaN where it has no label. version is that of the model that
// scored it.
func (w *watch) add(r *Record, version int64, propensity, loss float64) {
	if w.begun && version != w.version {
		w.monitor.Refit()
	}
	if !w.begun {
		w.first = r.Index
	}
	w.begun, w.version = true, version
	for f, levels := range w.levels {
		v := &r.Batch.Columns[f]
		if !levels {
			w.monitor.Number(f, v.Float[r.Row])
		} else if code := v.Code[r.Row]; code == model.MissingCode {
			w.monitor.Level(f, "", false)
		} else {
			w.monitor.Level(f, v.Levels[code], true)
		}
	}
	w.monitor.Number(len(w.levels), propensity)
	w.monitor.Number(len(w.levels)+1, loss)
	for _, a := range w.monitor.Next() {
		if len(w.alarms) < mostAlarms {
			w.alarms = append(w.alarms, Alarm{Feature: a.Column, Missing: a.Missing, At: w.first + a.Records,
				PSI: Number(a.PSI), Threshold: Number(a.Threshold)})
		}
	}
}

// lossOf is -ln p of the class, NaN without one.
func lossOf(p []float64, class int32) float64 {
	if class < 0 {
		return math.NaN()
	}
	return -math.Log(clip(p[class]))
}
