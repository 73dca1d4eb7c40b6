package show

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/model"
	"liftstream/model/drift"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// published is a topic with a model of another configuration, a damaged one and two refused ones, out of order.
func published() *state.Published {
	at := func(minute int) time.Time { return time.Date(2026, 3, 4, 5, minute, 6, 0, time.UTC) }
	m, other, nan := shownModel(), shownModel(), math.NaN()
	other.Fingerprint = 1
	worse := model.Verdict{Reason: model.Worse, Records: 80, New: .35, Old: .3, Low: .01, High: .09, Gate: .005}
	return &state.Published{Serving: 7, Versions: []state.ModelVersion{
		{Version: 6, Time: at(1), Bytes: 300 << 10, Packed: 100 << 10, Model: other},
		{Version: 7, Time: at(3), Bytes: 301 << 10, Packed: 101 << 10, Model: m},
		{Version: 8, Bytes: 1, Packed: 2, Err: errors.New("torn")},
	}, Verdicts: []*state.GateVerdict{
		{Number: 1, Version: 7, Time: at(3), Verdict: m.Info.Verdict},
		{Number: 2, Previous: 7, Time: at(5), Fingerprint: 0xabc, Clocks: map[int32]float64{0: 900, 1: 300}, Verdict: worse},
		{Number: 0, Previous: 6, Time: at(2), Clocks: map[int32]float64{0: 400}, Verdict: worse},
		{Number: 3, Previous: 7, Time: at(6), Clocks: map[int32]float64{0: 1900}, Note: "labels look inverted: as\x1bso",
			Verdict: model.Verdict{Reason: model.Inverted, Records: 80, New: .2, Old: .3, Low: -.1, High: -.09, Gate: .005}},
		{Number: 4, Previous: 7, Time: at(7), Clocks: map[int32]float64{0: 2900}, Note: "the fit took longer than 20s",
			Verdict: model.Verdict{Reason: model.Failed, New: nan, Old: nan, Low: nan, High: nan, Gate: .005}},
	}, Orders: []*state.Order{
		{Number: 1, Verb: "pin", Serve: 6, Return: true, Time: at(7), Client: "anna@host", Why: "a\x1breason"},
		{Number: 3, Verb: "trust", Serve: 6, Return: true, Time: at(9), Client: "bob@host"},
		{Number: 2, Verb: "freeze", Serve: 6, Return: true, Frozen: true, Still: true, Time: at(8), Client: "bob@host"},
	}, Alarms: []*state.Alarms{{Partition: 2, Total: 18, Time: at(9), Found: []drift.Found{
		{Number: 17, Column: "a\x1bge", Records: 4250, Value: .35, Threshold: .12},
		{Number: 18, Kind: drift.OverPromise, Column: drift.LossColumn, Records: 4500, Value: .4, Threshold: .3}}}}}
}

// TestPageOfAModelTopic: versions and refused models by their time, each with its figures; which one serves.
func TestPageOfAModelTopic(t *testing.T) {
	var b strings.Builder
	for _, p := range []*state.Published{published(), {}} {
		if err := Published(&b, p, 0xabc); err != nil {
			t.Fatal(err)
		}
		b.WriteString("----\n")
	}
	for _, v := range []int{1, 3, 4} {
		if err := Refused(&b, published().Verdicts[v]); err != nil {
			t.Fatal(err)
		}
	}
	b.WriteString("----\n")
	if err := cli.WriteJSON(&b, PublishedJSON(published())); err != nil {
		t.Fatal(err)
	}
	written(t, "published", b.String())
}

// TestTailOfVerdictsAndOrders: accepted, refused and failed models with their reasons, and orders, as a table and as
// JSON lines; damaged records are passed over.
func TestTailOfVerdictsAndOrders(t *testing.T) {
	p, m := published(), state.NewModels(nil, "m", nil)
	var records []txn.Record
	for _, v := range p.Verdicts {
		records = append(records, m.Pronounce(v, sentAt, 1))
	}
	for _, o := range p.Orders {
		records = append(records, o.Record("m"))
	}
	records = append(records, txn.Record{Key: []byte("order/1"), Value: []byte("torn")},
		txn.Record{Key: []byte("verdict/1")})
	written(t, "model_topic", printed(t, Topic{Format: "table"}, "model", records...)+
		printed(t, Topic{Format: "jsonl"}, "model", records...))
}

// TestDifferentLines are those outside a longest common subsequence, in their order.
func TestDifferentLines(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"", "", ""}, {"a b", "a b", ""}, {"a b c", "a c", "-b"}, {"a c", "a b c", "+b"}, {"a", "b", "-a +b"},
		{"a b c d", "x b y d", "-a +x -c +y"}, {"", "a b", "+a +b"}, {"a b", "", "-a -b"}, {"a b a", "b a b", "-a +b"},
	} {
		got := strings.ReplaceAll(strings.Join(difference(strings.Fields(c.a), strings.Fields(c.b)), "|"), " ", "")
		if got = strings.ReplaceAll(got, "|", " "); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.a, c.b, got, c.want)
		}
	}
	long := make([]string, 5000)
	for i := range long {
		long[i] = string(rune('a' + i%7))
	}
	other := append(append([]string{"x"}, long...), "y")
	if got := difference(long, other); len(got) != 2*len(long)+2 {
		t.Errorf("%d lines beyond the bound, want all of both", len(got))
	}
	a, b := shownModel(), shownModel()
	b.Version = a.Version + 1
	var page strings.Builder
	if err := ModelDiff(&page, a, b, nil); err != nil || strings.Count(page.String(), "\n") != 4 {
		t.Errorf("%v\n%s", err, page.String())
	}
}

// TestOrdersBeforeTheFirstModelAreShown: a freeze may be the reason why there is none.
func TestOrdersBeforeTheFirstModelAreShown(t *testing.T) {
	var out strings.Builder
	p := &state.Published{Orders: []*state.Order{{Number: 1, Verb: "freeze", Frozen: true}}}
	if err := Published(&out, p, 0); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "no model was published yet") || !strings.Contains(got, "freeze") {
		t.Error(got)
	}
}
