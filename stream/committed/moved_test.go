package committed

import (
	"strings"
	"testing"

	"liftstream/stream/scores"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// Offsets that another program has moved, deleted or let expire, and states of other stages.
func TestDecideOnNamesAndOffsets(t *testing.T) {
	fail := Policies{}
	skip, rescore := Policies{OffsetMoved: OffsetSkip}, Policies{OffsetMoved: OffsetRescore}
	anew, lost := Policies{TopicRecreated: Rebuild}, Policies{ModelLost: Rebuild}
	const usual = " claimed answered 100 numbered #7"
	const unnumbered = "snapshot of 5 after 5,4 to 100/20 claimed answered 100 #7"
	events := func(offset int64) func(f *Facts) {
		return func(f *Facts) { f.Group.Events = txn.GroupOffset{Offset: offset} }
	}
	labels := func(offset int64) func(f *Facts) {
		return func(f *Facts) { f.Group.Labels = txn.GroupOffset{Offset: offset} }
	}
	both := func(a, b func(f *Facts)) func(f *Facts) { return func(f *Facts) { a(f); b(f) } }
	expired := both(events(-1), labels(-1))
	known := func(e, l Likeness) func(f *Facts) {
		return func(f *Facts) { f.Events.Likeness, f.Labels.Likeness = e, l }
	}
	owned := func(stage, events, labels string) func(f *Facts) {
		return func(f *Facts) { f.Owner = state.Owner{Stage: stage, Events: events, Labels: labels} }
	}
	for _, c := range []struct {
		name     string
		policies Policies
		change   func(f *Facts)
		want     string
	}{
		{"events set ahead", fail, events(110), "stop offset_moved"},
		{"skip", skip, events(110), "snapshot of 5 after 5,4 to 110/20 #7 moved"},
		{"rescore", rescore, events(110), unnumbered + " moved"},
		{"events set back", fail, events(60), "stop offset_moved"},
		{"skip", skip, events(60), unnumbered + " moved"},
		{"rescore", rescore, events(60), "offset_moved to 60/20 #7 problem offset_moved moved"},
		{"labels set ahead", fail, labels(25), "stop offset_moved"},
		{"skip", skip, labels(25), unnumbered + " passed 25 moved"},
		{"rescore", rescore, labels(25), unnumbered + " moved"},
		{"labels set back", fail, labels(6), "stop offset_moved"},
		{"skip", skip, labels(6), unnumbered + " moved"},
		{"rescore", rescore, labels(6), "offset_moved to 100/6 #7 problem offset_moved moved"},
		{"both ways at once", fail, both(events(110), labels(6)), "stop offset_moved"},
		{"skip", skip, both(events(110), labels(6)), "snapshot of 5 after 5,4 to 110/20 #7 moved"},
		{"rescore", rescore, both(events(110), labels(6)), "offset_moved to 100/6 #7 problem offset_moved moved"},
		{"set ahead of the end", skip, events(130), "stop topic_recreated"},
		{"other policies allow no move", Policies{InputLost: Rebuild, TopicRecreated: Rebuild, SchemaChanged: Rebuild,
			ModelLost: Rebuild}, events(60), "stop offset_moved"},
		{"an older version went on, its snapshot says", fail,
			both(events(110), func(f *Facts) { f.Manifests = append([]*state.Manifest{manifest(6, 110, 20)}, f.Manifests...) }),
			"snapshot of 6 after 6,5 to 110/20 #7"},
		{"an older version went on, its scores say", fail,
			both(events(110), func(f *Facts) { f.Scores = scores.Tail{Next: 110, Known: true} }),
			"snapshot of 5 after 5,4 to 110/20 #7"},

		{"offsets expired", fail, both(expired, known(Same, Same)), unnumbered},
		{"those of labels alone", fail, both(labels(-1), known(Same, Same)), unnumbered},
		{"offsets expired, and nothing tells the topic", fail, expired, "stop topic_recreated"},
		{"which is allowed", anew, expired, "topic_recreated to -1/-1 #7 problem topic_recreated"},
		{"offsets expired, and nothing tells the topic of labels", fail, both(expired, known(Same, Untold)),
			"stop topic_recreated"},
		{"offsets expired, no label was ever read", fail,
			both(both(expired, known(Same, Untold)), func(f *Facts) {
				f.Done.Labels, f.Done.LabelsFrom = 0, 0
				f.Manifests[0].Labels = 0
			}), "snapshot of 5 after 5,4 to 100/-1 claimed answered 100 #7"},
		{"offsets expired with the first events", fail, both(both(expired, known(Same, Same)),
			func(f *Facts) { f.Events.First = 105 }), "stop input_lost"},

		{"events made anew and grown beyond the offset", fail, known(Other, Same), "stop topic_recreated"},
		{"which is allowed", anew, known(Other, Same),
			"topic_recreated to -1/20 numbered #7 lost [topic_recreated] problem topic_recreated"},
		{"labels made anew and grown beyond the offset", fail, known(Same, Other), "stop topic_recreated"},
		{"which is allowed", anew, known(Same, Other),
			"topic_recreated to 100/-1" + usual + " lost [topic_recreated] problem topic_recreated"},

		{"the same stage", fail, owned("s", "e", "l"), "snapshot of 5 after 5,4 to 100/20" + usual},
		{"another stage", fail, owned("other", "e", "l"), "foreign"},
		{"which no policy allows", anew, owned("other", "e", "l"), "foreign"},
		{"a stage of that name with other events", fail, owned("s", "other", "l"), "stop topic_recreated"},
		{"which is allowed", anew, both(owned("s", "other", "l"), expired),
			"topic_recreated to -1/-1 #7 problem topic_recreated"},
		{"a stage of that name with other labels", fail, owned("s", "e", "other"), "stop topic_recreated"},
		{"labels that are named later", fail, owned("s", "e", ""), "snapshot of 5 after 5,4 to 100/20" + usual},

		{"scores made anew", fail, func(f *Facts) { f.Scores = scores.Tail{Next: -1, Anew: true} },
			"snapshot of 5 after 5,4 to 100/20" + usual + " scores anew"},
		{"a model is lost", fail, func(f *Facts) { f.ModelLost = "gone" }, "stop model_lost"},
		{"which is allowed", lost, func(f *Facts) { f.ModelLost = "gone" },
			"model_lost to 100/20" + usual + " problem model_lost"},
	} {
		f := ordinary()
		f.Stage = state.Owner{Stage: "s", Events: "e", Labels: "l", State: "t"}
		c.change(f)
		if got := summary(Decide(f, c.policies)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestOtherStagesAreNamed(t *testing.T) {
	f := ordinary()
	f.Stage = state.Owner{Stage: "s", Events: "e", Labels: "l", State: "t"}
	f.Owner = state.Owner{Stage: "other", Events: "x"}
	for _, name := range []string{"t", "other", "x", "s", "e and l"} {
		if text := Decide(f, Policies{}).Foreign; !strings.Contains(text, name) {
			t.Errorf("%q does not name %s", text, name)
		}
	}
	f.Owner = state.Owner{Stage: "s", Events: "x", Labels: "l"}
	p := Decide(f, Policies{})
	for _, name := range []string{"t", "x and l", "s", "e and l"} {
		if p.Stop == nil || !strings.Contains(p.Stop.Text, name) {
			t.Errorf("%+v does not name %s", p.Stop, name)
		}
	}
}
