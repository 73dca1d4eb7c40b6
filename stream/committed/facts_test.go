package committed

import (
	"testing"

	"liftstream/stream/state"
)

// TestSeenMessagesAreOfTheirOwnTopics: the message that the state tells of one input topic says nothing about another
// topic that is read in its place, and goes on to speak for the input that stays.
func TestSeenMessagesAreOfTheirOwnTopics(t *testing.T) {
	seen := state.Seen{Events: state.Message{Next: 5, Sum: 1}, Labels: state.Message{Next: 9, Sum: 2}}
	for _, c := range []struct {
		name  string
		owner state.Owner
		want  state.Seen
	}{
		{"the same topics", state.Owner{Stage: "s", Events: "e", Labels: "l"}, seen},
		{"other events", state.Owner{Stage: "s", Events: "before", Labels: "l"}, state.Seen{Labels: seen.Labels}},
		{"other labels", state.Owner{Stage: "s", Events: "e", Labels: "before"}, state.Seen{Events: seen.Events}},
		{"others both", state.Owner{Stage: "s", Events: "before", Labels: "before"}, state.Seen{}},
		{"no labels so far", state.Owner{Stage: "s", Events: "e"}, seen},
	} {
		log := state.NewLog()
		log.Apply([]byte(state.OwnerKey), c.owner.Encode())
		log.Apply([]byte(state.SeenKey), seen.Encode())
		f := &Facts{Stage: state.Owner{Stage: "s", Events: "e", Labels: "l"}}
		if f.lesser(log); f.Seen != c.want || len(f.Lesser) > 0 {
			t.Errorf("%s: %+v, want %+v, %v", c.name, f.Seen, c.want, f.Lesser)
		}
	}
}
