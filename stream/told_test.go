package stream

import (
	"errors"
	"testing"

	"liftstream/model"
)

// TestAlarmsWhosePublicationFailsAreToldAgain by the next step, of the same snapshots, and ask for no early fit before.
func TestAlarmsWhosePublicationFailsAreToldAgain(t *testing.T) {
	f := newFitter(t, 2, func(o *Options) {
		spec := *o.Spec
		spec.Options.FalseAlarms = .01
		o.Spec, o.EarlyFits = &spec, true
	})
	f.looked = map[int32]uint64{}
	f.learns(0, 900)
	f.works("the first model")
	f.serves()
	f.learns(0, 3000)
	f.learns(1, 3000)
	f.label = func(int32) int32 { return 0 }
	f.learns(0, 3000)
	f.learns(1, 3000)
	f.lost("the alarms")
	if n := len(f.s.models.Alarms()); n != 0 || f.early {
		t.Fatalf("%d partitions have alarms in the topic, an early fit is asked for: %v", n, f.early)
	}
	if err := f.step(t.Context()); err != nil && !errors.Is(err, errNotYet) {
		t.Fatal(err)
	}
	if err := f.s.models.Reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	alarms := f.s.models.Alarms()
	if len(alarms) != 2 {
		t.Errorf("%d partitions have alarms in the topic, want both", len(alarms))
	}
	for _, a := range alarms {
		if len(a.Found) == 0 || a.Total != model.Watch(f.parts[a.Partition]).Total() {
			t.Errorf("partition %d: %+v, the state has %d", a.Partition, a, model.Watch(f.parts[a.Partition]).Total())
		}
	}
}
