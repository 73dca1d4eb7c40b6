package committed

import (
	"context"
	"slices"
	"strings"
	"testing"

	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// TestACommittedOffsetWithinItsTopic: at each end of the topic, and one beyond.
func TestACommittedOffsetWithinItsTopic(t *testing.T) {
	rebuild := Policies{InputLost: Rebuild, TopicRecreated: Rebuild}
	for _, c := range []struct {
		committed int64
		b         Bounds
		want      int64 // with the policies on rebuild
		cause     Cause
		words     []string // of the problem
	}{
		{-1, Bounds{First: 5, High: 9}, -1, None, nil}, {-1, Bounds{First: 5, High: 9, Likeness: Other}, -1, None, nil},
		{0, Bounds{High: 9}, 0, None, nil}, {0, Bounds{High: 9, Likeness: Other}, 0, None, nil}, {0, Bounds{}, 0, None, nil},
		{0, Bounds{First: 5, High: 9}, 5, InputLost, []string{"records 0 to 5 of the topic were deleted"}},
		{4, Bounds{First: 5, High: 9}, 5, InputLost, []string{"records 4 to 5 of the topic"}},
		{5, Bounds{First: 5, High: 9}, 5, None, nil}, {9, Bounds{First: 5, High: 9}, 9, None, nil},
		{10, Bounds{First: 5, High: 9}, -1, TopicRecreated, []string{"offset 10", "end of the topic, 9"}},
		{1, Bounds{High: 9, Likeness: Other}, -1, TopicRecreated, []string{"the topic below the committed offset 1"}},
		{1, Bounds{High: 9, Likeness: Same}, 1, None, nil}, {1, Bounds{High: 9, Likeness: Untold}, 1, None, nil},
	} {
		c.b.Topic = "the topic"
		var lenient, strict Plan
		got := lenient.within(c.committed, c.b, rebuild)
		lost := []Cause(nil)
		if c.cause != None {
			lost = []Cause{c.cause}
		}
		if got != c.want || lenient.Stop != nil || !slices.Equal(lenient.Lost, lost) {
			t.Errorf("%d in %+v: %d, lost %v; want %d, %v", c.committed, c.b, got, lenient.Lost, c.want, lost)
		}
		got = strict.within(c.committed, c.b, Policies{})
		switch {
		case c.cause == None:
			if got != c.want || strict.Stop != nil {
				t.Errorf("%d in %+v: %d, %+v", c.committed, c.b, got, strict.Stop)
			}
		case strict.Stop == nil || strict.Stop.Cause != c.cause || len(strict.Lost) > 0:
			t.Errorf("%d in %+v: stop %+v, want %v", c.committed, c.b, strict.Stop, c.cause)
		default:
			for _, word := range c.words {
				if !strings.Contains(strict.Stop.Text, word) {
					t.Errorf("%q lacks %q", strict.Stop.Text, word)
				}
			}
		}
	}
}

// TestTheFirstTransactionMayBeForgotten by a broker: it answers nothing, so nothing is lost with its offsets.
func TestTheFirstTransactionMayBeForgotten(t *testing.T) {
	for _, c := range []struct {
		number         uint64
		events, labels int64 // of the group
		untold         bool
		want           string
	}{
		{1, -1, -1, true, ""}, {2, -1, -1, true, "of events"}, {2, 100, -1, true, "of labels"}, {2, 100, 20, true, ""},
		{2, -1, -1, false, ""},
	} {
		f := ordinary()
		f.Done.Number = c.number
		f.Group.Events, f.Group.Labels = txn.GroupOffset{Offset: c.events}, txn.GroupOffset{Offset: c.labels}
		if !c.untold {
			f.Events.Likeness, f.Labels.Likeness = Same, Same
		}
		if got := f.forgotten(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}

// TestSnapshotsAtTheEdgesOfTheTopics: a snapshot needs each event and label from its own position on, and none before.
func TestSnapshotsAtTheEdgesOfTheTopics(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(f *Facts, p *Plan)
		cause  Cause
		words  []string
	}{
		{"as it was written", func(*Facts, *Plan) {}, None, nil},
		{"the first event is the one that it needs", func(_ *Facts, p *Plan) { p.First.Events = 80 }, None, nil},
		{"that one is gone", func(_ *Facts, p *Plan) { p.First.Events = 81 }, InputLost, []string{"events 80 to 81"}},
		{"and it needs none", func(_ *Facts, p *Plan) { p.First.Events, p.Target.Events = 81, 80 }, None, nil},
		{"the first label is the one that it needs", func(_ *Facts, p *Plan) { p.First.Labels = 10 }, None, nil},
		{"that label is gone", func(_ *Facts, p *Plan) { p.First.Labels = 11 }, InputLost, []string{"labels 10 to 11"}},
		{"and it needs no label", func(_ *Facts, p *Plan) { p.First.Labels, p.Target.Labels = 11, 10 }, None, nil},
		{"without a topic of labels", func(f *Facts, p *Plan) { f.Group.HasLabels, p.First.Labels = false, 11 }, None, nil},
		{"at the committed offset", func(_ *Facts, p *Plan) { p.Target.Events = 80 }, None, nil},
		{"behind it", func(_ *Facts, p *Plan) { p.Target.Events = 79 }, TopicRecreated, []string{"offset (79", "state, 80"}},
		{"behind that of labels", func(_ *Facts, p *Plan) { p.Target.Labels = 9 }, TopicRecreated,
			[]string{"offset of labels (9", "state, 10"}},
		{"no label is committed", func(_ *Facts, p *Plan) { p.Target.Labels = -1 }, TopicRecreated, []string{"labels (-1"}},
	} {
		f, p := ordinary(), &Plan{Target: state.Position{Events: 100, Labels: 20}}
		c.change(f, p)
		got, _ := f.misfit(f.Manifests[0], p, Policies{})
		if got.Cause != c.cause {
			t.Errorf("%s: %+v, want %v", c.name, got, c.cause)
		}
		for _, word := range c.words {
			if !strings.Contains(got.Text, word) {
				t.Errorf("%s: %q lacks %q", c.name, got.Text, word)
			}
		}
	}
}

// TestAMessageThatIsNoLongerThereSaysNothingAgainstItsTopic, and one beyond the end of all says all.
func TestAMessageThatIsNoLongerThereSaysNothingAgainstItsTopic(t *testing.T) {
	b := &Bounds{First: 5, Stable: 8, High: 9}
	for at, want := range map[int64]Likeness{-1: Untold, 0: Same, 4: Same, 8: Untold, 9: Other, 10: Other} {
		if got, err := (&Reader{}).compare(context.Background(), b, state.Message{Next: at + 1}); err != nil || got != want {
			t.Errorf("a message at %d: %v, want %v; %v", at, got, want, err)
		}
	}
}
