package demo

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"liftstream/cmd/liftstream/internal/page"
	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/txn"
)

// TestARestoredRecordIsTheOneThatWasShown: a record read from the scores topic has every field that the page had when
// it was scored, of each status, with and without a positive class.
func TestARestoredRecordIsTheOneThatWasShown(t *testing.T) {
	for _, positive := range []int{1, -1} {
		s := &model.Schema{Classes: []string{"no", "yes", "maybe"}, Positive: positive, Features: []model.Feature{
			{Name: "age", Kind: model.Continuous}, {Name: "job", Kind: model.Nominal}}}
		b, scores, levels := some(s)
		board := page.NewBoard(s, 0)
		board.Scores(3, b, scores, levels)
		want := board.View()

		o := codec.Options{Schema: s, ID: "customer", Time: "at", Label: "class"}
		encoder, err := codec.NewScoreEncoder(o)
		if err != nil {
			t.Fatal(err)
		}
		value, err := encoder.Encode(nil, b, scores, levels, nil)
		if err != nil {
			t.Fatal(err)
		}
		l, restored := &Ledger{schema: s, events: map[place]event{}}, page.NewBoard(s, 0)
		l.admit(3, b.Offset, b)
		if err := l.take(&txn.Record{Topic: "scores", Value: value}, o, restored.Restore); err != nil {
			t.Fatal(err)
		}
		for skip, want := range []int{3, 3, 2, 1, 0, 0} { // records 0 and 4 have no label
			if set := l.Set(skip); set.Len() != want {
				t.Errorf("%d records count behind the first %d, want %d", set.Len(), skip, want)
			}
		}
		got := restored.View()
		for i := range want.Last {
			if want.Last[i].Status == "untrained" {
				want.Last[i].Lift = 0 // the topic holds none
			}
		}
		same(t, "newest records", got.Last, want.Last)
		same(t, "call list", got.Calls, want.Calls)
		if got.Degraded != 1 || got.Degraded != want.Degraded || got.Model != 7 || got.Model != want.Model {
			t.Errorf("%d degraded, model %d, want %d and %d", got.Degraded, got.Model, want.Degraded, want.Model)
		}
		if got.Scored != want.Scored || got.Untrained != want.Untrained || len(want.Last) != b.N || len(want.Calls) != b.N-2 {
			t.Errorf("%d scored, %d untrained, %d shown, %d to be called; %+v was shown",
				got.Scored, got.Untrained, len(got.Last), len(got.Calls), want)
		}
	}
}

// TestARestoredInfiniteLiftIsTheFirst: a record over a base rate of 0, of which the topic holds no lift, is the first
// of the restored call list, and keeps no record out that comes after it.
func TestARestoredInfiniteLiftIsTheFirst(t *testing.T) {
	s := &model.Schema{Classes: []string{"no", "yes", "maybe"}, Positive: -1}
	o := codec.Options{Schema: s, ID: "customer"}
	l, restored := &Ledger{schema: s, events: map[place]event{}}, page.NewBoard(s, 0)
	lifts := []float64{1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, math.Inf(1), 5, 5, 5}
	b, out := &model.Batch{N: len(lifts)}, &model.Scores{}
	out.Reset(b.N, 3)
	for i, lift := range lifts {
		b.ID, b.Row = append(b.ID, fmt.Sprint(i)), append(b.Row, int32(i))
		b.Label = append(b.Label, model.Unlabelled)
		copy(out.P[3*i:], []float64{.25, .25, .5})
		out.Target[i], out.BaseRate[i], out.Lift[i], out.ProfileLift[i] = 1, .25/lift, lift, math.NaN()
	}
	encoder, err := codec.NewScoreEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	value, err := encoder.Encode(nil, b, out, model.NewLevels(s), nil)
	if err != nil {
		t.Fatal(err)
	}
	l.admit(0, 0, b)
	if err := l.take(&txn.Record{Topic: "scores", Value: value}, o, restored.Restore); err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string][]page.Record{"board": restored.View().Calls, "ledger": l.Best} {
		var who []string
		for _, r := range list[:4] {
			who = append(who, r.Who)
		}
		if got := strings.Join(who, " "); got != "7 8 9 10" {
			t.Errorf("%s: the first are %s", name, got)
		}
	}
}

func same(t *testing.T, what string, got, want []page.Record) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d, want %d", what, len(got), len(want))
	}
	for i := range want {
		g, err := json.Marshal(got[i])
		if err != nil {
			t.Fatal(err)
		}
		w, err := json.Marshal(want[i])
		if err != nil {
			t.Fatal(err)
		}
		if string(g) != string(w) {
			t.Errorf("%s: record %d is restored as\n%s\nwas\n%s", what, i, g, w)
		}
	}
}

// some is a batch in which no two fields of a record are alike; record 1 is degraded, record 2 came before there was a
// structure.
func some(s *model.Schema) (*model.Batch, *model.Scores, *model.Levels) {
	levels := model.NewLevels(s)
	job := levels.Code(1, "nurse")
	const n = 5
	b := &model.Batch{N: n, Partition: 3, Offset: 41}
	out := &model.Scores{}
	out.Reset(n, 3)
	out.Model = 7
	for i := range n {
		b.ID = append(b.ID, fmt.Sprint("customer ", i))
		b.Time = append(b.Time, time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC).UnixNano())
		b.Row = append(b.Row, int32(2*i))
		b.Label = append(b.Label, int32(i%4-1))
		p := .1 + .05*float64(i)
		out.P[3*i], out.P[3*i+1], out.P[3*i+2] = p, 2*p, 1-3*p
		out.Segment[i], out.Target[i] = 2, 1
		if s.Positive < 0 {
			out.Target[i] = int32(i % 2)
		}
		out.BaseRate[i], out.Lift[i], out.Percentile[i] = .125*float64(i+1), 1.5+float64(i), .25*float32(i)/2
		if i == 2 { // as a partition without a structure leaves it
			out.Status[i], out.Lift[i], out.Percentile[i], out.ProfileLift[i] = model.StatusUntrained, 1, 0, math.NaN()
			continue
		}
		out.Profile[i], out.ProfileLift[i] = "job=nurse", 3.5
		out.Why = append(out.Why, model.Reason{Feature: 1, Value: float64(job), Effect: .75, Lift: 2.5, N: 10},
			model.Reason{Feature: 0, Value: math.NaN(), Effect: -.25, Lift: math.NaN(), N: 4},
			model.Reason{Feature: 0, Value: 33.5, Effect: .5, Lift: .5, N: 8})
	}
	out.WhyEnd = []int32{3, 6, 6, 9, 12}
	out.Status[1], out.Reason[1] = model.StatusDegraded, model.ReasonAllMissing
	return b, out, levels
}
