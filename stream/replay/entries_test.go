package replay_test

import (
	"testing"

	"liftstream/stream/replay"
	"liftstream/stream/state"
)

// TestAJournalGoesForward: each record stands at or behind the one before, in events and labels, and none behind the
// position to which a replay leads.
func TestAJournalGoesForward(t *testing.T) {
	at := func(events, labels int64) state.Position { return state.Position{Events: events, Labels: labels} }
	for _, c := range []struct {
		name    string
		journal []state.Position
		to      state.Position
		forward bool
	}{
		{"forward", []state.Position{at(10, 1), at(20, 1), at(30, 2)}, at(30, 2), true},
		{"it stands still", []state.Position{at(10, 1), at(10, 1)}, at(30, 2), true},
		{"events go back", []state.Position{at(20, 1), at(10, 1)}, at(30, 2), false},
		{"labels go back", []state.Position{at(10, 2), at(20, 1)}, at(30, 2), false},
		{"before the snapshot", []state.Position{at(4, 1)}, at(30, 2), false},
		{"events beyond the target", []state.Position{at(10, 1), at(31, 2)}, at(30, 2), false},
		{"labels beyond the target", []state.Position{at(10, 1), at(30, 3)}, at(30, 2), false},
	} {
		log := state.NewLog()
		for i, p := range c.journal {
			e := state.JournalEntry{Number: uint64(i) + 7, Position: p}
			log.Apply([]byte(state.JournalKey(e.Number)), e.Encode())
		}
		found, err := replay.Entries(log, 7, at(5, 1), c.to)
		if (err == nil) != c.forward || c.forward && len(found) != len(c.journal) {
			t.Errorf("%s: %d records, %v", c.name, len(found), err)
		}
	}
}
