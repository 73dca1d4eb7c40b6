package model

import (
	"testing"
	"time"
)

// TestAContradictedGapLosesItsOldestWitness: a record of the present takes back the time ahead that came first, and no
// other. Stream time then moves to the gap that the others tell of.
func TestAContradictedGapLosesItsOldestWitness(t *testing.T) {
	const begin = int64(1_600_000_000) * int64(time.Second)
	var s streamTime
	at := func(d time.Duration) bool { return s.observe(begin + int64(d)) }
	for i := range firstWitnesses {
		at(time.Duration(i) * time.Second)
	}
	at(time.Hour)
	for i := range witnesses - 2 {
		at(48*time.Hour + time.Duration(i)*time.Second)
	}
	if at(10*time.Second) || s.n != witnesses-2 {
		t.Fatalf("%d witnesses of a gap are left of %d, one of which was contradicted", s.n, witnesses-1)
	}
	if at(-time.Hour) || s.n != witnesses-2 {
		t.Errorf("%d witnesses are left after a time that is no nearer to the present than they are", s.n)
	}
	if at(48*time.Hour+10*time.Second) || s.now != begin+int64(10*time.Second) {
		t.Fatalf("stream time passes a gap of %d witnesses", s.n)
	}
	if !at(48*time.Hour+11*time.Second) || s.now != begin+int64(48*time.Hour+11*time.Second) || s.n != 0 {
		t.Errorf("%d witnesses move stream time by %v, %d of them are left", witnesses, time.Duration(s.now-begin), s.n)
	}
}
