package state

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/drift"
	"liftstream/stream/internal/sample"
)

// goldenAlarms is the value of one alarm in format 1, which is read for ever.
const goldenAlarms = "01068089d7809fedbad73002010201036167658827000000000000d03f9a9999999999b93f"

// TestAlarmsAreRead as they were written; damaged ones, those of another partition and long ones are not.
func TestAlarmsAreRead(t *testing.T) {
	l := NewModels(nil, "models", sample.Schema)
	want := &Alarms{Partition: 3, Total: 2, Time: time.Unix(1754000000, 123456).UTC(),
		Found: []drift.Found{{Number: 2, Kind: drift.Gaps, Column: "age", Records: 2500, Value: .25, Threshold: .1}}}
	r := want.Record("models", 1)
	if got := hex.EncodeToString(r.Value[:len(r.Value)-4]); got != goldenAlarms {
		t.Errorf("bytes %s, want %s", got, goldenAlarms)
	}
	l.apply(string(r.Key), r.Value)
	if got := l.Alarms(); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	for name, value := range map[string][]byte{"damaged": append(bytes.Clone(r.Value[:len(r.Value)-1]), 1),
		"long": make([]byte, alarmBytes+1), "empty": {}} {
		if l.apply("alarm/3", value); len(l.Alarms()) != 1 {
			t.Errorf("%s: alarms were lost", name)
		}
	}
	for _, key := range []string{"alarm/4", "alarm/-1", "alarm/100000", "alarm/", "alarm/03"} {
		if l.apply(key, r.Value); len(l.Alarms()) != 1 {
			t.Errorf("%s was taken", key)
		}
	}
	for range 20 {
		want.Found = append(want.Found, drift.Found{Number: 9, Kind: drift.OverExpectation, Column: strings.Repeat("é", 900)})
	}
	r = want.Record("models", 1)
	if l.apply("alarm/3", r.Value); len(r.Value) > alarmBytes || len(l.Alarms()[0].Found) != drift.KeptAlarms {
		t.Errorf("%d bytes, %d alarms", len(r.Value), len(l.Alarms()[0].Found))
	}
	if l.apply("alarm/3", nil); len(l.Alarms()) != 0 {
		t.Error("a tombstone leaves them")
	}
}

// TestAlarmsOfASnapshot without a watch are none.
func TestAlarmsOfASnapshot(t *testing.T) {
	spec := sample.Spec()
	s := &Snapshot{&Manifest{}, NewLog()}
	if a, err := AlarmsOf(spec, s, 0, time.Time{}); a != nil || err != nil {
		t.Errorf("%+v, %v", a, err)
	}
	watched := *spec
	watched.Options.FalseAlarms = .01
	if model.Watch(model.NewPartition(&watched, 0)) == nil {
		t.Error("nothing is watched")
	}
	if a, err := AlarmsOf(&watched, s, 0, time.Time{}); a != nil || err != nil {
		t.Errorf("%+v, %v", a, err)
	}
}
