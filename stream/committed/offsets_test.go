package committed

import (
	"testing"

	"liftstream/stream/state"
	"liftstream/stream/txn"
)

func TestWhoseOffsetCounts(t *testing.T) {
	d := state.Done{Number: 7, Events: 100}
	first := state.Done{Number: 1, Events: 100}
	for _, c := range []struct {
		name  string
		d     state.Done
		group txn.GroupOffset
		want  int64
		moved bool
	}{
		{"nothing anywhere", state.Done{}, txn.GroupOffset{Offset: -1}, -1, false},
		{"an older version's group", state.Done{}, txn.GroupOffset{Offset: 50}, 50, false},
		{"the state topic was made anew", state.Done{}, txn.GroupOffset{Offset: 50, Note: "liftstream/3"}, 50, false},
		{"they agree", d, txn.GroupOffset{Offset: 100, Note: "liftstream/7"}, 100, false},
		{"they agree but for the number", d, txn.GroupOffset{Offset: 100}, 100, false},
		{"the broker is a transaction behind", d, txn.GroupOffset{Offset: 90, Note: "liftstream/6"}, 100, false},
		{"the transaction is not in the state", d, txn.GroupOffset{Offset: 110, Note: "liftstream/8"}, 100, false},
		{"moved ahead", d, txn.GroupOffset{Offset: 110}, 110, true},
		{"moved back", d, txn.GroupOffset{Offset: 40}, 100, true},
		{"moved back by a tool that leaves a note", d, txn.GroupOffset{Offset: 40, Note: "liftstream/x"}, 100, true},
		{"deleted or expired", d, txn.GroupOffset{Offset: -1}, 100, false},
		{"the broker has forgotten the first", first, txn.GroupOffset{Offset: -1}, 100, false},
		{"moved back after the first", first, txn.GroupOffset{Offset: 40}, 100, true},
		{"nothing was read", state.Done{Number: 7}, txn.GroupOffset{Offset: -1}, -1, false},
		{"nothing was read, moved ahead", state.Done{Number: 7}, txn.GroupOffset{Offset: 3}, 3, true},
	} {
		got, moved := offset(c.d, c.d.Events, c.group)
		if got != c.want || (moved != Move{}) != c.moved {
			t.Errorf("%s: got %d, %+v", c.name, got, moved)
		}
	}
}
