package state

import (
	"encoding/hex"
	"testing"
)

func TestDoneRecordBytes(t *testing.T) {
	d := Done{Number: 300, Events: 5000, Labels: 70, EventsFrom: 4990, LabelsFrom: 69, Answered: 4999, ScoresFrom: 12,
		DeadLetters: 2, DeadFrom: 3}
	const want = "01ac02904e8c011402021804067d9f3b18"
	if got := hex.EncodeToString(d.Encode(1)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	back, err := DecodeDone(d.Encode(1), 1)
	if err != nil || back != d {
		t.Errorf("got %+v, %v", back, err)
	}
	for _, bad := range []Done{
		{}, {Number: MaxNumber, Events: 1}, {Number: 1, Events: -1}, {Number: 1, Events: 5, EventsFrom: 6},
		{Number: 1, Events: 5, Answered: 6}, {Number: 1, Labels: 1, LabelsFrom: -1}, {Number: 1, DeadFrom: -1},
		{Number: 1, Events: 5, Labels: 1, LabelsFrom: 2},
	} {
		if _, err := DecodeDone(bad.Encode(1), 1); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	more := Done{Number: 1, Events: 1, Labels: 5, LabelsFrom: 3} // more labels than events
	if back, err := DecodeDone(more.Encode(1), 1); err != nil || back != more {
		t.Errorf("got %+v, %v", back, err)
	}
}

func FuzzDoneRecord(f *testing.F) {
	f.Add(Done{Number: 1, Events: 2}.Encode(1))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, v := range [][]byte{b, Seal(b, 1)} {
			d, err := DecodeDone(v, 1)
			if err != nil {
				continue
			}
			if again, err := DecodeDone(d.Encode(1), 1); err != nil || again != d {
				t.Errorf("%+v comes back as %+v, %v", d, again, err)
			}
		}
	})
}
