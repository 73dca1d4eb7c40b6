package stream

import (
	"testing"

	"liftstream/model/drift"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
)

// TestAnAlarmIsShownAndTold: labels that stop give alarm in the status and the metrics, and the trainer writes it into
// the model topic; the next owner of the partition does not count it again, and a replay gives the same.
func TestAnAlarmIsShownAndTold(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		options := func() Options {
			o := w.options(w.Client)
			spec := *o.Spec
			spec.Options.FalseAlarms = .01
			o.Spec, o.Log = &spec, streamtest.WithoutErrors(t)
			return o
		}
		stopped := func(found []drift.Found) bool {
			for _, f := range found {
				if f.Column == drift.LabelledColumn && f.Kind == drift.Gaps && f.Records > 3000 {
					return true
				}
			}
			return false
		}
		o := options()
		r := w.run(o)
		w.Produce(3000, 50, true)
		w.caught(r)
		if n := counted(o.Metrics.Drift.WithLabelValues("missing")); n != 0 {
			t.Errorf("%v alarms before the change", n)
		}
		w.Produce(1000, 50, false)
		w.caught(r)
		r.await(t, "no alarm is shown", func(s Status) bool {
			return len(s.Partitions) == 1 && stopped(s.Partitions[0].Alarms) && s.Partitions[0].Watch.Labels > 0
		})
		// Where the last labels come behind many records, their share falls in two steps, with an alarm each.
		shown := 0
		for _, f := range r.stage.Status().Partitions[0].Alarms {
			if f.Kind == drift.Gaps {
				shown++
			}
		}
		if n := counted(o.Metrics.Drift.WithLabelValues("missing")); n != float64(shown) {
			t.Errorf("%v alarms are counted, %d shown", n, shown)
		}
		r.await(t, "the model topic does not have the alarm", func(Status) bool {
			for _, a := range r.stage.models.Alarms() {
				if a.Partition == 0 && stopped(a.Found) {
					return true
				}
			}
			return false
		})
		r.end(t)
		verdicts, err := verified(t.Context(), options())
		if err != nil || len(verdicts) == 0 {
			t.Errorf("a replay: %v", err)
		}
		for _, v := range verdicts {
			if len(v.Problems) > 0 || v.States == 0 {
				t.Errorf("a replay differs: %+v", v)
			}
		}
		next := options()
		r = w.run(next)
		r.await(t, "the alarm is lost", func(s Status) bool {
			return s.Ready && len(s.Partitions) == 1 && stopped(s.Partitions[0].Alarms)
		})
		if n := counted(next.Metrics.Drift.WithLabelValues("missing")); n != 0 {
			t.Errorf("%v alarms are counted again", n)
		}
		r.end(t)
	})
}

// TestRisenLossesAlone ask for an early fit, as far as they are new.
func TestRisenLossesAlone(t *testing.T) {
	for kind, want := range map[drift.AlarmKind]bool{drift.Values: false, drift.Gaps: false, drift.OverPromise: true,
		drift.UnderPromise: false, drift.OverExpectation: true} {
		found := []drift.Found{{Number: 3, Kind: drift.Values}, {Number: 4, Kind: kind}}
		if worse(found, 3) != want || worse(found, 4) {
			t.Errorf("%v: %v before it, %v behind it", kind, worse(found, 3), worse(found, 4))
		}
	}
}

// TestAnAlarmAsksForAnEarlyFit of fewer records, once.
func TestAnAlarmAsksForAnEarlyFit(t *testing.T) {
	f := &trainer{s: &Stage{o: Options{FitRecords: 5000}}}
	if n := enough(f); n != 4000 {
		t.Errorf("a fit takes %v records", n)
	}
	f.early = true
	if n := enough(f); n != 1000 {
		t.Errorf("an early fit takes %v records", n)
	}
}

// TestAlarmsOfAStateThatBeganAnew are all new, though it has had as many as the one before.
func TestAlarmsOfAStateThatBeganAnew(t *testing.T) {
	alarms := func(total uint64, records ...int64) *state.Alarms {
		a := &state.Alarms{Total: total}
		for i, n := range records {
			a.Found = append(a.Found, drift.Found{Number: total - uint64(len(records)-1-i), Records: n})
		}
		return a
	}
	before := newest(alarms(3, 500, 700, 1000))
	for name, c := range map[string]struct {
		now  *state.Alarms
		told uint64
	}{
		"the same":                 {alarms(3, 500, 700, 1000), 3},
		"as many of another state": {alarms(3, 250, 500, 750), 0},
		"more":                     {alarms(5, 500, 700, 1000, 1300, 1400), 3},
		"more of another state":    {alarms(5, 250, 500, 750, 1000, 1250), 0},
		"more than are kept":       {alarms(9, 2000, 2200), 3},
		"fewer":                    {alarms(2, 500, 700), 0},
	} {
		if got := before.of(c.now); got != c.told {
			t.Errorf("%s: %d are told already, want %d", name, got, c.told)
		}
	}
	if n := (told{}).of(alarms(2, 10, 20)); n != 0 {
		t.Errorf("of a topic without alarms %d are told", n)
	}
}
