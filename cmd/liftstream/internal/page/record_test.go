package page

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"liftstream/model/evaluate"
)

// TestARecordOfThePageShowsItsScore, field by field; no two of them are alike.
func TestARecordOfThePageShowsItsScore(t *testing.T) {
	s := schema(1, "no", "yes", "maybe")
	board := NewBoard(s, 0)
	b, out, l := scored(s, 2, 40, 1)
	out.P[0], out.P[1], out.P[2] = .2, .3, .5
	out.Segment[0], out.Target[0] = 2, 1
	out.BaseRate[0], out.Lift[0], out.Percentile[0] = .125, 2.4, .75
	out.Profile[0], out.ProfileLift[0] = "job=student", 3.5
	b.Label[0], b.Row[0], b.ID[0], b.Time[0] = 0, 9, "c17", 1_700_000_000_000_000_000
	board.Scores(2, b, out, l)
	const want = `{"who":"c17","source_partition":2,"source_offset":40,"source_row":9,"time":"2023-11-14T22:13:20Z",` +
		`"model":7,"status":"ok","segment":"maybe","target":"yes","propensity":0.3,"base_rate":0.125,"lift":2.4,` +
		`"percentile":0.75,"profile":"job=student","label":"no",` +
		`"why":[{"feature":"job","value":"\u003cb\u003estudent\u003c/b\u003e","effect":1.5,"lift":2,"n":10},` +
		`{"feature":"age","value":null,"effect":-0.2,"lift":null,"n":0}]}`
	v := board.View()
	for list, records := range map[string][]Record{"the newest": v.Last, "the call list": v.Calls} {
		got, err := json.Marshal(records[0])
		if err != nil {
			t.Fatal(err)
		}
		if len(records) != 1 || string(got) != want {
			t.Errorf("%s holds\n%s\nwant\n%s", list, got, want)
		}
	}
	out.Control = []bool{true}
	var again kept
	if again.of(s, 2, b, out, l, 0); !again.shown(s).Control {
		t.Error("a record of the control share is not shown as one")
	}
}

// TestQualityWeighsRecords: as the evaluation does, by the weight of the batch.
func TestQualityWeighsRecords(t *testing.T) {
	s := schema(1, "no", "yes")
	board, set := NewBoard(s, 0), evaluate.NewSet(2)
	for m := range int64(30) {
		b, out, l := scored(s, 0, m, 90)
		b.Weight = make([]float64, b.N)
		for i := range b.Weight {
			b.Weight[i] = 1
			if b.Label[i] == 1 && out.P[2*i+1] < .6 {
				b.Weight[i] = 5 // wrong scores count for more
			}
			if err := set.Add(m*90+int64(i), out.P[2*i:2*i+2], b.Label[i], b.Weight[i]); err != nil {
				t.Fatal(err)
			}
		}
		board.Scores(0, b, out, l)
	}
	q, want := board.View().Quality, set.Metrics(1, 1)
	for _, x := range []struct {
		figure    string
		got, want evaluate.Number
		tolerance float64
	}{
		{"log-loss", q.LogLoss, want.LogLoss, 1e-12},
		{"AUC", q.AUC, want.AUC, 1e-3}, // near scores are tied
		{"AUC of blocks", q.AUCBlocks, want.AUCBlocks, 1e-12},
		{"lift of the best tenth", q.Lift, want.LiftAt["0.1"], .03},
	} {
		if !(math.Abs(float64(x.got-x.want)) <= x.tolerance) {
			t.Errorf("%s is %v, want %v", x.figure, x.got, x.want)
		}
	}
}

// TestCallListHasNobodyTwice: of the records of an id only the newest stands there, though an older one ranks higher.
func TestCallListHasNobodyTwice(t *testing.T) {
	s := schema(1, "no", "yes")
	for _, rising := range []bool{false, true} {
		board := NewBoard(s, 0)
		for offset := range int64(2) {
			b, out, l := scored(s, 0, offset, 4)
			for i := range b.ID {
				b.ID[i] = fmt.Sprint("customer ", []int{0, 1, 0, 2}[i])
				p := .9 - .1*float64(4*offset+int64(i))
				if rising {
					p = 1 - p
				}
				out.P[2*i], out.P[2*i+1] = 1-p, p
			}
			board.Scores(0, b, out, l)
		}
		var got []string
		for _, r := range board.View().Calls {
			got = append(got, fmt.Sprintf("%s at %d/%d", r.Who, r.Offset, r.Row))
		}
		want := []string{"customer 1 at 1/1", "customer 0 at 1/2", "customer 2 at 1/3"} // the highest first
		if rising {
			slices.Reverse(want)
		}
		if !slices.Equal(got, want) {
			t.Errorf("call %q, want %q", got, want)
		}
	}
}

// TestCallListBeginsWithInfiniteLifts: a class of base rate 0 is the largest lift, also of a record that came before
// others and of one that is restored, and it is shown without a number.
func TestCallListBeginsWithInfiniteLifts(t *testing.T) {
	s := schema(-1, "a", "b", "c")
	live, restored := NewBoard(s, 0), NewBoard(s, 0)
	for offset := range int64(20) {
		b, out, l := scored(s, 0, offset, callsKept)
		for i := range b.ID {
			out.BaseRate[i], out.Lift[i] = .25, out.P[3*i+int(out.Target[i])]/.25
		}
		if offset == 3 {
			out.BaseRate[5], out.Lift[5] = 0, math.Inf(1)
		}
		live.Scores(0, b, out, l)
		for _, r := range live.View().Calls {
			restored.Restore(Past{P: []float64{.2, .3, .5}, Trained: true, Rank: live.rank(r.Propensity, r.Lift, r.BaseRate),
				Record: func() Record { return r }})
		}
	}
	for name, board := range map[string]*Board{"live": live, "restored": restored} {
		if r := board.View().Calls[0]; r.Offset != 3 || r.Row != 5 || r.Lift != 0 {
			t.Errorf("%s: the first is %d/%d of lift %v", name, r.Offset, r.Row, r.Lift)
		}
	}
}

// TestRestoredScoresCountAsTheyDidWhenTheyWereMade: without the first ones, which are skipped.
func TestRestoredScoresCountAsTheyDidWhenTheyWereMade(t *testing.T) {
	const skip, n = 5, 12
	s := schema(1, "no", "yes")
	board, restored := NewBoard(s, skip), NewBoard(s, skip)
	b, out, l := scored(s, 0, 0, n)
	board.Scores(0, b, out, l)
	for i := range n {
		restored.Restore(Past{Class: b.Label[i], P: out.P[2*i : 2*i+2], Trained: true, Rank: math.NaN()})
	}
	got, want := restored.View().Quality, board.View().Quality
	if got.Records != n-skip || got.Records != want.Records || got.LogLoss != want.LogLoss {
		t.Errorf("%d records of log-loss %v, want %d of %v", got.Records, got.LogLoss, want.Records, want.LogLoss)
	}
}

// TestTheNewestModelIsShown: of all partitions, in any order of their swaps.
func TestTheNewestModelIsShown(t *testing.T) {
	for _, models := range [][]int64{{7, 8}, {8, 7}} {
		s := schema(1, "no", "yes")
		board := NewBoard(s, 0)
		for p, version := range models {
			b, out, l := scored(s, int32(p), 0, 3)
			out.Model = version
			board.Scores(int32(p), b, out, l)
		}
		if got := board.View().Model; got != 8 {
			t.Errorf("partitions at %v: model %d is shown", models, got)
		}
	}
}

// TestCaptureTakesAPartOfTheBucketAtTheCut: records that tie there are as good as their mean.
func TestCaptureTakesAPartOfTheBucketAtTheCut(t *testing.T) {
	var h histogram
	for _, x := range []struct{ p, pos, neg float64 }{{.9, 4, 1}, {.5, 5, 15}, {.1, 1, 74}} {
		h.add(x.p, true, x.pos)
		h.add(x.p, false, x.neg)
	}
	for _, c := range []struct{ share, want float64 }{{.05, .4}, {.1, .4 + .5*5./20}, {.25, .9}, {1, 1}} {
		if got := h.capture(c.share); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("the best %v hold %v of the positives, want %v", c.share, got, c.want)
		}
	}
}

// TestRecordsOfTheListsStayApart: lists use their memory again as blocks turn over, and each record keeps its own
// reasons, texts and propensities, those of restored scores among them. A record takes the place of one of the past,
// and nothing of that one is left there.
func TestRecordsOfTheListsStayApart(t *testing.T) {
	s := schema(1, "no", "yes")
	board := NewBoard(s, 0)
	texts := func(r Record) string { return fmt.Sprint(r.Who, r.Profile, r.Propensity, r.Why, r.Why[0].Effect) }
	want := map[string]string{}
	for offset := range int64(400) {
		b, out, l := scored(s, 0, offset, 1+int(offset%41))
		for i := range out.N {
			job := l.Code(1, fmt.Sprintf("job %d", (offset+int64(i))%7))
			out.Why[2*i].Value, out.Why[2*i].Effect = float64(job), float64(offset)+float64(i)/100
			out.Profile[i] = fmt.Sprintf("profile %d", (offset*3+int64(i))%11)
			var e entry
			e.fill(s, 0, b, out, l, i)
			want[b.ID[i]] = texts(e.record(s))
			if offset%5 == 0 {
				board.Restore(Past{Offset: offset, Class: b.Label[i], P: out.P[2*i : 2*i+2], Trained: true,
					Rank: out.P[2*i+1], Newest: i%3 == 0, Record: func() Record { return e.record(s) }})
			}
		}
		if offset%5 != 0 {
			board.Scores(0, b, out, l)
		}
		v := board.View()
		for _, r := range append(v.Calls, v.Last...) {
			if got := texts(r); got != want[r.Who] {
				t.Fatalf("after message %d: %s, want %s", offset, got, want[r.Who])
			}
		}
		for name, list := range map[string][]Record{"calls": v.Calls, "last": v.Last} {
			held := map[string]bool{}
			for _, r := range list {
				if held[r.Who] {
					t.Fatalf("after message %d: %s is twice among the %s", offset, r.Who, name)
				}
				held[r.Who] = true
			}
			if newest := b.ID[out.N-1]; name == "last" && offset%5 != 0 && !held[newest] {
				t.Fatalf("after message %d: %s is not among the last", offset, newest)
			}
		}
	}
}
