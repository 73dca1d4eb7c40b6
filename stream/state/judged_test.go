package state

import "testing"

// TestJudgementsHoldForTheirMessagesAlone: each event and each label has the time of its own transaction, at the ends
// of the ranges too, where one transaction follows another at once, and none between them.
func TestJudgementsHoldForTheirMessagesAlone(t *testing.T) {
	log := NewLog()
	for _, j := range []Judgement{
		{Number: 9, EventsFrom: 20, EventsTo: 20, LabelsFrom: 7, LabelsTo: 9, Now: 33},
		{Number: 7, EventsFrom: 5, EventsTo: 9, LabelsFrom: 2, LabelsTo: 4, Now: 11},
		{Number: 8, EventsFrom: 9, EventsTo: 12, LabelsFrom: 4, LabelsTo: 5, Now: 22},
	} {
		log.Apply([]byte(JudgedKey(j.Number)), j.Encode(Format))
	}
	js := log.Judgements()
	for _, c := range []struct {
		name string
		of   func(offset int64) int64
		want map[int64]int64
	}{
		{"event", js.Event, map[int64]int64{4: 0, 5: 11, 8: 11, 9: 22, 11: 22, 12: 0, 19: 0, 20: 0, 21: 0}},
		{"label", js.Label, map[int64]int64{1: 0, 2: 11, 3: 11, 4: 22, 5: 0, 6: 0, 7: 33, 8: 33, 9: 0}},
	} {
		for offset, want := range c.want {
			if got := c.of(offset); got != want {
				t.Errorf("%s %d was judged by %d, want %d", c.name, offset, got, want)
			}
		}
	}
}
