package model

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model/drift"
)

// sectionWatch is the name of the section of a state that is watched for drift. Other states have none, so that their
// bytes are those of builds that do not know it.
const sectionWatch = "drift"

// newWatch returns an empty watch of a partition, nil where the options ask for none.
func newWatch(spec *Spec) *drift.Watch {
	if !(spec.Options.FalseAlarms > 0) {
		return nil
	}
	return NewWatch(spec.Schema, spec.Options.FalseAlarms, spec.Options.WaitBytes > 0)
}

// NewWatch returns an empty watch of records of the schema, of their scores and labels, with that expected number of
// false alarms in 100,000 records. late says that labels may come after their records. Parts of the date of a record's
// own time (Feature.OfClock) give no alarm.
func NewWatch(s *Schema, falseAlarms float64, late bool) *drift.Watch {
	o := drift.WatchOptions{MonitorOptions: drift.DefaultMonitor(), Classes: s.Classes, Target: s.Positive, Late: late}
	o.FalseAlarms = falseAlarms
	if o.Target < 0 && len(o.Classes) == 2 {
		o.Target = 1
	}
	for i := range s.Features {
		f := &s.Features[i]
		c := drift.Column{Name: f.Name, OfClock: f.OfClock()}
		if f.Kind != Continuous {
			c.Kind = drift.Levels
		}
		o.Features = append(o.Features, c)
	}
	return drift.NewWatch(o)
}

// Watch returns the watch for drift of a partition, nil where there is none. It must not be changed, and is valid until
// the next command.
func Watch(p *Partition) *drift.Watch { return p.watch }

// WatchRecord gives a watch of the schema record i of the batch with its propensities, empty where the score is a base
// rate; labelled says that its label came with it. Special codes count as missing.
func WatchRecord(w *drift.Watch, s *Schema, b *Batch, i int, row int32, p []float64, labelled bool) {
	for f := range b.Columns {
		v := &b.Columns[f]
		if v.Code == nil {
			w.Number(f, s.Features[f].Value(v.Float[i]))
		} else if code := v.Code[i]; code == MissingCode {
			w.Level(f, "", false)
		} else {
			w.Level(f, v.Levels[code], true)
		}
	}
	w.Scored(b.Offset, row, p, labelled)
}

// watched gives the watch the record that was just scored.
func watched(p *Partition, b *Batch, i int, out *Scores) {
	if p.watch == nil {
		return
	}
	var prob []float64
	if p.trained {
		prob = out.P[i*out.Classes : (i+1)*out.Classes]
	}
	WatchRecord(p.watch, p.spec.Schema, b, i, p.rec.row, prob, p.rec.Class >= 0 && !p.store.cohorts)
}

// told gives the watch the class of a record that was scored, or as which it is learnt because it has expired. A record
// without weight tells nothing: its outcome may be that of a treatment, which scores do not foretell.
func told(p *Partition, rec *record, class int32) {
	if p.watch != nil && rec.Weight > 0 {
		p.watch.Learned(rec.offset, rec.row, class)
	}
}

// refitted tells the watch that another model serves. A state of a build without a watch begins one then: a replay
// begins it at the same point.
func refitted(p *Partition, v *Verdict) {
	if p.watch == nil {
		p.watch = newWatch(p.spec)
		return
	}
	difference := math.NaN()
	if v != nil {
		difference = v.Difference()
	}
	p.watch.Refit(difference)
}

// WatchOf returns the watch in the state of a partition; nil where it has none, or the options ask for none.
func WatchOf(spec *Spec, states States, partition int32) (*drift.Watch, error) {
	return loadWatch(spec, states.Sections(partition), func(section string, use func(b []byte) error) error {
		return states.Read(partition, section, use)
	})
}

// loadWatch reads the section of a state that is watched; nil where it has none, or the options ask for none.
func loadWatch(spec *Spec, names []string, read reader) (*drift.Watch, error) {
	w := newWatch(spec)
	if w == nil || !slices.Contains(names, sectionWatch) {
		return nil, nil
	}
	if err := read(sectionWatch, w.Load); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", sectionWatch, err)
	}
	return w, nil
}
