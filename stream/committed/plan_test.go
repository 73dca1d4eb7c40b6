package committed

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// ordinary returns the facts of a partition whose last owner ended in order: transaction 7 has committed events below
// 100 and labels below 20, and two snapshots lie before.
func ordinary() *Facts {
	return &Facts{
		Fingerprint: 9, Carries: true,
		Group: Group{HasLabels: true, Events: txn.GroupOffset{Offset: 100, Note: "liftstream/7"},
			Labels: txn.GroupOffset{Offset: 20, Note: "liftstream/7"}},
		Done:   state.Done{Number: 7, Events: 100, Labels: 20, EventsFrom: 90, LabelsFrom: 18, Answered: 100, ScoresFrom: 3},
		Events: Bounds{Topic: "events", Stable: 120, High: 121}, Labels: Bounds{Topic: "labels", Stable: 30, High: 31},
		Scores:    scores.Tail{Next: 100, Known: true},
		Manifests: []*state.Manifest{manifest(5, 80, 10), manifest(4, 50, 0)},
		Journal:   12,
	}
}

func manifest(number uint64, events, labels int64) *state.Manifest {
	return &state.Manifest{Number: number, Fingerprint: 9, Position: state.Position{Events: events, Labels: labels}}
}

// fresh returns the facts of a partition of which nothing was ever committed.
func fresh() *Facts {
	none := txn.GroupOffset{Offset: -1}
	return &Facts{Fingerprint: 9, Carries: true, Group: Group{HasLabels: true, Events: none, Labels: none}, Empty: true,
		Events: Bounds{Topic: "events", Stable: 120, High: 120}, Labels: Bounds{Topic: "labels", Stable: 30, High: 30}}
}

// summary tells a plan in a line, leaving out parts that have nothing to say.
func summary(p Plan) string {
	var out []string
	say := func(when bool, format string, args ...any) {
		if when {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	if p.Newer != nil {
		return "newer"
	}
	if p.Foreign != "" {
		return "foreign"
	}
	if p.Stop != nil {
		return "stop " + p.Stop.Cause.String()
	}
	say(true, "%s", p.Label())
	say(p.Snapshot != nil, "of %d", numberOf(p.Snapshot))
	say(p.Last != nil, "after %d,%d", numberOf(p.Last), numberOf(p.Before))
	say(p.Origin != Kept, "to %d/%d", p.Target.Events, p.Target.Labels)
	say(p.Missing != Nowhere, "missing %d", p.Missing)
	say(p.Claimed, "claimed answered %d", p.Answered)
	say(p.Numbered, "numbered")
	say(p.Done.Number > 0, "#%d", p.Done.Number)
	say(p.Passed > 0, "passed %d", p.Passed)
	say(p.Unscored.To > 0, "unscored %d-%d", p.Unscored.From, p.Unscored.To)
	say(len(p.Lost) > 0, "lost %v", p.Lost)
	for _, x := range p.Problems {
		say(true, "problem %v", x.Cause)
	}
	say(p.Behind, "behind")
	say(p.ScoresAnew, "scores anew")
	say(p.Moved.Any(), "moved")
	return strings.Join(out, " ")
}

func numberOf(m *state.Manifest) uint64 {
	if m == nil {
		return 0
	}
	return m.Number
}

func TestDecide(t *testing.T) {
	fail, rebuild := Policies{}, Policies{InputLost: Rebuild, TopicRecreated: Rebuild, SchemaChanged: Rebuild,
		ModelLost: Rebuild, OffsetMoved: OffsetRescore}
	other := func(number uint64, events, labels int64) *state.Manifest {
		m := manifest(number, events, labels)
		m.Fingerprint = 8
		return m
	}
	newer := &state.FormatError{Format: 2, Newest: 1}
	damaged := errors.New("damaged")
	const usual = " claimed answered 100 numbered #7"
	for _, c := range []struct {
		name     string
		facts    *Facts
		policies Policies
		change   func(f *Facts)
		want     string
	}{
		// The state of this member's own task.
		{"a kept state", ordinary(), fail, func(f *Facts) { f.Left = &f.Done }, "kept"},
		{"a kept state of a topic without labels", ordinary(), fail, func(f *Facts) {
			f.Left, f.Group.HasLabels, f.Group.Labels = &f.Done, false, txn.GroupOffset{}
		}, "kept"},
		{"a kept state, but a transaction was open", ordinary(), fail, func(f *Facts) { f.Left, f.Torn = &f.Done, true },
			"snapshot of 5 after 5,4 to 100/20" + usual},
		{"a kept state, but the group has gone on", ordinary(), fail,
			func(f *Facts) { f.Left = &state.Done{Number: 6, Events: 90, Labels: 20} },
			"snapshot of 5 after 5,4 to 100/20" + usual},
		{"a kept state, but the group's labels have gone on", ordinary(), fail,
			func(f *Facts) { f.Left = &state.Done{Number: 7, Events: 100, Labels: 19} },
			"snapshot of 5 after 5,4 to 100/20" + usual},

		// A newer build.
		{"a newer build has written", ordinary(), rebuild, func(f *Facts) { f.Newer = newer }, "newer"},

		// Nothing is committed.
		{"the first start", fresh(), fail, nil, "empty to -1/-1"},
		{"an older version's offset", fresh(), fail, func(f *Facts) { f.Group.Events.Offset, f.Group.Labels.Offset = 40, 5 },
			"replay to 40/5"},
		{"it ended before the first snapshot", ordinary(), fail, func(f *Facts) { f.Manifests = nil },
			"replay to 100/20" + usual},
		{"and its journal is damaged", ordinary(), fail,
			func(f *Facts) { f.Manifests, f.JournalRefused = nil, true }, "damaged to 100/20" + usual},
		{"and the first events are gone", ordinary(), fail,
			func(f *Facts) { f.Manifests, f.JournalRefused, f.Events.First = nil, true, 1 }, "stop input_lost"},
		{"which is allowed", ordinary(), rebuild,
			func(f *Facts) { f.Manifests, f.JournalRefused, f.Events.First = nil, true, 1 },
			"damaged to 100/20" + usual + " problem input_lost"},
		{"no journal", ordinary(), fail, func(f *Facts) { f.Manifests, f.Journal = nil, 0 }, "replay to 100/20" + usual},

		// Whose offsets count.
		{"the group is a transaction behind", ordinary(), fail,
			func(f *Facts) { f.Group.Events = txn.GroupOffset{Offset: 90, Note: "liftstream/6"} },
			"snapshot of 5 after 5,4 to 100/20" + usual + " behind"},
		{"the group is a transaction ahead", ordinary(), fail, func(f *Facts) {
			f.Group.Events = txn.GroupOffset{Offset: 110, Note: "liftstream/8"}
		}, "snapshot of 5 after 5,4 to 100/20 claimed answered 100 numbered #8 behind"},
		{"an offset without number, the same", ordinary(), fail, func(f *Facts) { f.Group.Events.Note = "" },
			"snapshot of 5 after 5,4 to 100/20 claimed answered 100 #7"},
		{"labels without number", ordinary(), fail, func(f *Facts) { f.Group.Labels.Note = "" },
			"snapshot of 5 after 5,4 to 100/20 claimed answered 100 #7"},
		{"a done record that cannot be read", ordinary(), fail, func(f *Facts) { f.Done, f.DoneErr = state.Done{}, damaged },
			"snapshot of 5 after 5,4 to 100/20 numbered #7 behind"},
		{"a journal without offset", fresh(), fail, func(f *Facts) { f.Journal, f.Empty = 3, false }, "stop topic_recreated"},
		{"which is allowed", fresh(), rebuild, func(f *Facts) { f.Journal, f.Empty = 3, false },
			"topic_recreated to -1/-1 problem topic_recreated"},
		{"an empty state topic", fresh(), fail, func(f *Facts) { f.Group = ordinary().Group }, "stop topic_recreated"},
		{"which is allowed", fresh(), rebuild, func(f *Facts) { f.Group = ordinary().Group },
			"topic_recreated to 100/20 numbered #7 problem topic_recreated behind"},
		{"an empty state topic after the first transaction", fresh(), fail, func(f *Facts) {
			f.Group.Events = txn.GroupOffset{Offset: 100, Note: "liftstream/1"}
			f.Group.Labels = txn.GroupOffset{Offset: 20, Note: "liftstream/1"}
		}, "replay to 100/20 numbered #1 behind"},
		{"an empty state topic, nothing was read", fresh(), fail, func(f *Facts) {
			f.Group, f.Events.First = ordinary().Group, 100
		}, "replay to 100/20 numbered #7 behind"},

		// The offsets that the topics hold.
		{"events end before the offset", ordinary(), fail, func(f *Facts) { f.Events.Stable, f.Events.High = 50, 50 },
			"stop topic_recreated"},
		{"which is allowed", ordinary(), rebuild, func(f *Facts) { f.Events.Stable, f.Events.High = 50, 50 },
			"topic_recreated to -1/20 numbered #7 lost [topic_recreated] problem topic_recreated"},
		{"events end by a marker after the offset", ordinary(), fail,
			func(f *Facts) { f.Events.Stable, f.Events.High = 99, 100 },
			"snapshot of 5 after 5,4 to 100/20" + usual},
		{"labels end before the offset", ordinary(), fail, func(f *Facts) { f.Labels.Stable, f.Labels.High = 5, 5 },
			"stop topic_recreated"},
		{"which is allowed", ordinary(), rebuild, func(f *Facts) { f.Labels.Stable, f.Labels.High = 5, 5 },
			"topic_recreated to 100/-1" + usual + " lost [topic_recreated] problem topic_recreated"},
		{"events were deleted unread", ordinary(), fail, func(f *Facts) { f.Events.First = 105 }, "stop input_lost"},
		{"which is allowed", ordinary(), rebuild, func(f *Facts) { f.Events.First = 105 },
			"input_lost to 105/20 numbered #7 lost [input_lost] problem input_lost"},
		{"labels were deleted unread", ordinary(), fail, func(f *Facts) { f.Labels.First = 25 }, "stop input_lost"},
		{"which is allowed", ordinary(), rebuild, func(f *Facts) { f.Labels.First = 25 },
			"input_lost to 100/20" + usual + " passed 25 lost [input_lost] problem input_lost"},
		{"and the snapshot holds all labels before", ordinary(), rebuild,
			func(f *Facts) { f.Labels.First, f.Manifests[0].Labels = 25, 20 },
			"snapshot of 5 after 5,4 to 100/20" + usual + " passed 25 lost [input_lost]"},

		// The scores of the last transaction.
		{"scores without their state", ordinary(), fail, func(f *Facts) { f.Scores.Next = 104 },
			"snapshot of 5 after 5,4 to 104/20 claimed answered 104 numbered #7"},
		{"a state without its scores", ordinary(), fail, func(f *Facts) { f.Scores.Next = 92 },
			"snapshot of 5 after 5,4 to 100/20 missing 92" + usual},
		{"a state without its scores, the newer snapshot lies behind them", ordinary(), fail,
			func(f *Facts) { f.Scores.Next = 70 }, "snapshot of 4 after 5,4 to 100/20 missing 70" + usual},
		{"both snapshots lie behind them", ordinary(), fail, func(f *Facts) { f.Scores.Next = 40 },
			"snapshot of 5 after 5,4 to 100/20 missing 90" + usual + " unscored 40-90"},
		{"both snapshots lie behind the whole transaction", ordinary(), fail,
			func(f *Facts) { f.Scores.Next, f.Done.EventsFrom = 40, 40 },
			"replay after 5,4 to 100/20 missing 40" + usual},
		{"no scores at all", ordinary(), fail, func(f *Facts) { f.Scores.Next = -1 },
			"snapshot of 5 after 5,4 to 100/20 missing 90" + usual},
		{"scores that retention has taken", ordinary(), fail, func(f *Facts) { f.Scores = scores.Tail{Next: -1} },
			"snapshot of 5 after 5,4 to 100/20" + usual},

		// Snapshots that do not serve.
		{"the newer snapshot is damaged", ordinary(), fail, func(f *Facts) { f.Refused = map[uint64]bool{5: true} },
			"snapshot of 4 after 4,0 to 100/20" + usual},
		{"both are", ordinary(), fail, func(f *Facts) { f.Refused = map[uint64]bool{5: true, 4: true} },
			"damaged to 100/20" + usual},
		{"both are, and the first events are gone", ordinary(), fail,
			func(f *Facts) { f.Refused, f.Events.First = map[uint64]bool{5: true, 4: true}, 3 }, "stop input_lost"},
		{"both are, and they were learnt from files", ordinary(), fail, func(f *Facts) {
			f.Refused, f.Bootstrap = map[uint64]bool{5: true, 4: true}, state.Bootstrap{Number: 1, Records: 9}
		}, "stop input_lost"},
		{"which is allowed too", ordinary(), rebuild, func(f *Facts) {
			f.Refused, f.Bootstrap = map[uint64]bool{5: true, 4: true}, state.Bootstrap{Number: 1, Records: 9}
		}, "damaged to 100/20" + usual + " problem input_lost"},
		{"one of files is whole", ordinary(), fail, func(f *Facts) { f.Bootstrap = state.Bootstrap{Number: 1, Records: 9} },
			"snapshot of 5 after 5,4 to 100/20" + usual},
		{"a manifest cannot be read", ordinary(), fail,
			func(f *Facts) { f.Manifests, f.Unread = f.Manifests[1:], []error{damaged} },
			"snapshot of 4 after 4,0 to 100/20" + usual},
		{"no manifest can be read", ordinary(), fail, func(f *Facts) { f.Manifests, f.Unread = nil, []error{damaged} },
			"damaged to 100/20" + usual},
		{"the snapshot lies behind the group's offset", ordinary(), fail, func(f *Facts) {
			f.Done, f.Group.Events.Offset = state.Done{}, 70
		}, "stop topic_recreated"},
		{"which is allowed", ordinary(), rebuild, func(f *Facts) { f.Done, f.Group.Events.Offset = state.Done{}, 70 },
			"topic_recreated to 70/20 numbered #7 problem topic_recreated behind"},
		{"the snapshot lies behind the group's offset of labels", ordinary(), fail, func(f *Facts) {
			f.Done, f.Group.Labels.Offset = state.Done{}, 7
		}, "stop topic_recreated"},
		{"events that the snapshot needs are gone", ordinary(), fail, func(f *Facts) { f.Events.First = 81 },
			"stop input_lost"},
		{"which is allowed", ordinary(), rebuild, func(f *Facts) { f.Events.First = 81 },
			"input_lost to 100/20" + usual + " problem input_lost"},
		{"labels that the snapshot needs are gone", ordinary(), fail, func(f *Facts) { f.Labels.First = 11 },
			"stop input_lost"},
		{"labels before an offset that another program has moved are gone, none of which the snapshot needs", ordinary(),
			Policies{OffsetMoved: OffsetSkip}, func(f *Facts) {
				f.Manifests[0].Labels, f.Labels.First = 20, 22
				f.Group.Labels = txn.GroupOffset{Offset: 25}
			}, "snapshot of 5 after 5,4 to 100/20 claimed answered 100 #7 passed 25 moved"},
		{"a number that no stage counts to", ordinary(), fail,
			func(f *Facts) { f.Manifests[0].Number, f.Scores.Next = state.MaxNumber, 70 },
			"snapshot of 4 to 100/20 missing 70" + usual},

		// Another schema.
		{"another schema", ordinary(), fail, func(f *Facts) { f.Fingerprint = 10 }, "stop schema_changed"},
		{"which is carried over", ordinary(), rebuild, func(f *Facts) { f.Fingerprint = 10 },
			"carried of 5 after 5,4 to 100/20" + usual},
		{"which is carried over from the older snapshot", ordinary(), rebuild,
			func(f *Facts) { f.Fingerprint, f.Scores.Next = 10, 70 }, "carried of 4 after 5,4 to 100/20 missing 70" + usual},
		{"which cannot be carried over", ordinary(), rebuild, func(f *Facts) { f.Fingerprint, f.NotCarried = 10, true },
			"schema_changed to 100/20" + usual},
		{"which this configuration cannot carry over", ordinary(), rebuild,
			func(f *Facts) { f.Fingerprint, f.Carries = 10, false },
			"schema_changed to 100/20" + usual + " problem schema_changed"},
		{"the schema changed between the snapshots", ordinary(), rebuild, func(f *Facts) {
			f.Manifests[0], f.Scores.Next = other(5, 80, 10), 70
		}, "replay after 5,4 to 100/20 missing 70" + usual},
	} {
		f := c.facts
		if c.change != nil {
			c.change(f)
		}
		plan := Decide(f, c.policies)
		if got := summary(plan); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if plan.Stop == nil {
			continue
		}
		// Its own policy alone decides.
		cause := plan.Stop.Cause
		if p := Decide(f, with(rebuild, cause, Fail)); p.Stop == nil || p.Stop.Cause != cause {
			t.Errorf("%s: where all but %s is allowed, it is %s", c.name, cause, summary(p))
		}
		if p := Decide(f, with(fail, cause, Rebuild)); p.Stop != nil && p.Stop.Cause == cause {
			t.Errorf("%s: it stops for %s, which is allowed", c.name, cause)
		}
	}
}

// with returns the policies with another answer to one cause.
func with(p Policies, cause Cause, answer Reaction) Policies {
	switch cause {
	case InputLost:
		p.InputLost = answer
	case TopicRecreated:
		p.TopicRecreated = answer
	case SchemaChanged:
		p.SchemaChanged = answer
	case ModelLost:
		p.ModelLost = answer
	}
	return p
}
