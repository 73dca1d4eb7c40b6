package stream

import (
	"context"
	"maps"
	"math"
	"slices"

	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/model/drift"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// Alarms of drift are part of the state of a partition: a replay gives the same ones. Its task shows the new ones; the
// trainer, which reads the states, writes them into the model topic and fits early where the log-loss has risen.

// figuresEvery is the number of scored records after which the figures of a watch are shown anew.
const figuresEvery = 250

// watched takes the alarms and the figures of a partition for the board.
type watched struct {
	alarms  uint64 // that a transaction has, or were shown by a former owner
	records int64  // of the figures that the last transaction with figures has
}

// inherit takes the alarms of a restored state for shown.
func (w *watched) inherit(p *model.Partition) {
	*w = watched{records: math.MinInt64}
	if x := model.Watch(p); x != nil {
		w.alarms = x.Total()
	}
}

// stand takes the alarms that are new since the last call, and the figures where there are enough new records. A model
// may begin a watch, and a state that began anew has had no alarm.
func (w *watched) stand(p *model.Partition, now *standing) {
	x := model.Watch(p)
	if x == nil {
		return
	}
	now.shown = min(w.alarms, now.alarms)
	if now.alarms != now.shown || x.Records() >= w.records+figuresEvery {
		f := x.Figures()
		w.records = x.Records()
		now.figures, now.found = &f, append([]drift.Found(nil), x.Found(0)...)
	}
	w.alarms = now.alarms
}

// standAt takes the alarms that are new since the last call, up to now.alarms, of a state that has later ones.
func (w *watched) standAt(p *model.Partition, now *standing) {
	now.shown = min(w.alarms, now.alarms)
	if x := model.Watch(p); x != nil && now.alarms > now.shown {
		now.found = slices.DeleteFunc(slices.Clone(x.Found(0)), func(f drift.Found) bool { return f.Number > now.alarms })
	}
	w.alarms = now.alarms
}

// alarmed shows the alarms and figures of a committed transaction.
func (b *board) alarmed(now *standing) {
	for _, f := range now.found {
		if f.Number <= now.shown {
			continue
		}
		b.o.Metrics.Drift.WithLabelValues(f.Kind.String()).Inc()
		b.log.Warn("drift", zap.String("column", f.Column), zap.Stringer("kind", f.Kind), zap.Int64("record", f.Records),
			zap.Float64("value", f.Value), zap.Float64("threshold", f.Threshold), zap.Uint64("alarm", f.Number))
	}
	if f := now.figures; f != nil {
		b.o.Metrics.quality(b.id, f)
		b.mu.Lock()
		b.status.Watch, b.status.Alarms = f, now.found
		b.mu.Unlock()
	}
}

// told is the newest alarm of a partition that the model topic has: its number, and the records of the state before it.
type told struct {
	number  uint64
	records int64
}

func newest(a *state.Alarms) told {
	x := told{number: a.Total}
	if n := len(a.Found); n > 0 {
		x.records = a.Found[n-1].Records
	}
	return x
}

// of returns the number of the alarms that are told already: none of a state that began anew, of which an alarm of that
// number came after other records.
func (x told) of(a *state.Alarms) uint64 {
	for _, f := range a.Found {
		if f.Number == x.number && f.Records != x.records {
			return 0
		}
	}
	if x.number > a.Total {
		return 0
	}
	return x.number
}

// tellAlarms writes the alarms of the snapshots that the model topic does not have into it, and asks for an early fit
// where the log-loss has risen (Options.EarlyFits).
func tellAlarms(ctx context.Context, t *trainer, snaps map[int32]*state.Manifest) error {
	o := &t.s.o
	if !(o.Spec.Options.FalseAlarms > 0) {
		return nil
	}
	if t.alarms == nil {
		t.alarms = map[int32]told{}
		for _, a := range t.s.models.Alarms() {
			t.alarms[a.Partition] = newest(a)
		}
	}
	var records []txn.Record
	now, urgent := map[int32]told{}, false
	for _, p := range slices.Sorted(maps.Keys(snaps)) {
		m := snaps[p]
		if t.looked[p] == m.Number+1 {
			continue
		}
		a, err := state.AlarmsOf(o.Spec, &state.Snapshot{Manifest: m, Log: t.logs[p]}, p, o.Now())
		if err != nil {
			o.Log.Debug("reading the alarms of a snapshot", zap.Int32("partition", p), zap.Error(err))
			continue
		}
		t.looked[p] = m.Number + 1
		if a == nil {
			t.alarms[p] = told{}
			continue
		}
		now[p] = newest(a)
		if n := t.alarms[p].of(a); n != a.Total {
			records = append(records, a.Record(o.Topics.Model, t.s.format()))
			if o.EarlyFits && worse(a.Found, n) {
				urgent = true
				o.Log.Info("the log-loss has risen: the next model is fitted early", zap.Int32("partition", p),
					zap.Uint64("alarms", a.Total))
			}
		}
	}
	if len(records) == 0 {
		return nil
	}
	if err := t.publish(ctx, nil, nil, records...); err != nil {
		clear(t.looked)
		return err
	}
	maps.Copy(t.alarms, now)
	t.early = t.early || urgent
	return nil
}

// worse reports whether one of the alarms after the first n says that scores are worse than promised or expected. Other
// changes ask for no early fit: the scores may follow them, and a model of few new records may be the worse one.
func worse(found []drift.Found, n uint64) bool {
	return slices.ContainsFunc(found, func(f drift.Found) bool {
		return f.Number > n && (f.Kind == drift.OverPromise || f.Kind == drift.OverExpectation)
	})
}

// enough is the number of new labelled records of a fit: fewer after an alarm.
func enough(t *trainer) float64 {
	n := model.Compared(t.s.o.FitRecords)
	if t.early {
		return float64(n)
	}
	return float64(t.s.o.FitRecords - n)
}
