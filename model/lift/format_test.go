package lift

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
	"liftstream/model/report"
	"liftstream/model/wire"
)

// TestFormerFormatIsRead: a part of format 3 and a state of format 2 give sets, windows and profiles.
func TestFormerFormatIsRead(t *testing.T) {
	s := modeltest.Schema()
	levels, b, state := modeltest.ReadGolden(t, s, "testdata/part-3-state-2.gz")
	p, err := DecodePart(s, b)
	if err != nil {
		t.Fatal(err)
	}
	c := New(testOptions(), s).New(levels).(*Component)
	if err := c.LoadState(state); err != nil {
		t.Fatal(err)
	}
	if p.Rank != ByEta || len(p.Sets) == 0 || len(p.Windows) == 0 || len(p.Profiles) == 0 ||
		len(c.profiles) != len(p.Profiles) {
		t.Fatalf("rank %d, %d sets, %d windows, %d and %d profiles",
			p.Rank, len(p.Sets), len(p.Windows), len(p.Profiles), len(c.profiles))
	}
	if w := p.Windows[0]; !(w.Eta > 0 && w.N > 0 && w.Mass > 0) || w.Low == w.Low || w.Folded != 0 {
		t.Errorf("window %+v", w)
	}
	if f := p.Profiles[0]; f.Among != len(p.Profiles) || f.Text == "" || f.Folded != 0 {
		t.Errorf("profile %+v", f)
	}
	again, err := DecodePart(s, p.appendBinary(nil))
	if err != nil || len(again.Profiles) != len(p.Profiles) || again.Profiles[0].Tally != p.Profiles[0].Tally {
		t.Errorf("written in the present format it reads back as %v, %v", again, err)
	}
}

func FuzzState(f *testing.F) {
	ev := generated(60, 1)
	o := testOptions()
	o.Sets.Top, o.Windows.Top, o.Profiles.Top = 2, 1, 1 // small seeds: large ones stall the fuzzer
	part, err := New(o, ev.Schema).Fit(context.Background(), ev, nil)
	if err != nil {
		f.Fatal(err)
	}
	c := serve(f, o, ev, part, 0, []int{0, 1, 2})
	f.Add(c.AppendState(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := New(o, ev.Schema).New(ev.Levels).(*Component)
		if d.LoadState(b) != nil {
			return
		}
		d.Learn(exampleOf(ev, 5))
		d.Profile(exampleOf(ev, 5).Row, 2)
		e := New(o, ev.Schema).New(ev.Levels)
		if err := e.LoadState(d.AppendState(nil)); err != nil {
			t.Errorf("loading its own state: %v", err)
		}
	})
}

func FuzzPart(f *testing.F) {
	ev := generated(60, 1)
	o := testOptions()
	o.Sets.Top, o.Windows.Top, o.Profiles.Top = 2, 1, 1 // small seeds: large ones stall the fuzzer
	part, err := New(o, ev.Schema).Fit(context.Background(), ev, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(part)
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodePart(ev.Schema, b)
		if err != nil {
			return
		}
		var r report.Report
		p.Report(ev.Schema, ev.Levels, &r)
		d := New(o, ev.Schema).New(ev.Levels)
		if err := d.Rebase(&model.Rebase{Part: b, Since: func(func(*model.Example) bool) {}}); err != nil {
			t.Errorf("rebasing to a part that decodes: %v", err)
		}
		d.Learn(exampleOf(ev, 5))
	})
}

// TestProfilesOfManyClassesAreRead: lift.profiles.top is of each class, and a part has the profiles of all.
func TestProfilesOfManyClassesAreRead(t *testing.T) {
	const top, classes = 100, 1000
	s := &model.Schema{Features: []model.Feature{{Name: "a", Kind: model.Nominal}}}
	var profiles []*Profile
	for c := range classes {
		s.Classes = append(s.Classes, fmt.Sprint("k", c))
		for k := range top {
			profiles = append(profiles, &Profile{Class: int32(c), Items: []Item{{Feature: 0, Level: int32(k)}}, Text: "a"})
		}
	}
	b := appendProfiles(nil, profiles)
	r := wire.NewReader(b)
	got := decodeProfiles(r, s, false)
	if err := r.Done(); err != nil || len(got) != top*classes || !bytes.Equal(appendProfiles(nil, got), b) {
		t.Errorf("%d of %d profiles: %v", len(got), top*classes, err)
	}
}
