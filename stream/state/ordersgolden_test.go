package state

import (
	"bytes"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/wire"
)

// goldenOrders are the orders of the golden file: each verb, and each wish.
func goldenOrders() (out []Order) {
	for i, o := range []Order{
		{Verb: "pin", Serve: 3, Return: true}, {Verb: "unpin", Serve: 7, Until: 7}, {Verb: "rollback", Serve: 2, Until: 7,
			Return: true}, {Verb: "freeze", Frozen: true, Still: true}, {Verb: "unfreeze"}, {Verb: "publish"},
		{Verb: VerbTrust},
	} {
		o.Number, o.Time = uint64(i+1), time.Unix(1_700_000_000, int64(i)).UTC()
		o.Client, o.Why = "somebody@somewhere", "a reason — "+o.Verb
		out = append(out, o)
	}
	return out
}

// goldenVerdicts are the verdicts of the golden file: each reason.
func goldenVerdicts() (out []GateVerdict) {
	for i, reason := range model.VerdictReasons() {
		v := GateVerdict{Number: uint64(i + 1), Fingerprint: 9, Previous: int64(i), Clocks: map[int32]float64{0: 1000, 1: 2},
			Verdict: model.Verdict{Reason: reason, Records: 1000, New: .3, Old: .31, Gate: .005, Low: -.02, High: math.Inf(1)}}
		if v.Accepted() {
			v.Version = int64(i + 1)
		}
		if reason > model.Worse {
			v.Note, v.Since = "because", 6000
		}
		out = append(out, v)
	}
	return out
}

// goldenObeyed are the obeyed orders of the golden file, beside the journal records 1, 2 and so on.
var goldenObeyed = []Obeyed{{Returned: true}, {Learning: Off}, {Learning: On}, {Returned: true, Learning: On}}

// TestOrdersOfFormat1AreReadForEver: orders of people, the records of obeyed orders, and verdicts of each reason are
// read as an earlier build has written them, and are written as then. LIFTSTREAM_GOLDEN=write makes the file anew:
// right for bytes that no build of main has written, and for no others.
func TestOrdersOfFormat1AreReadForEver(t *testing.T) {
	name := filepath.Join("testdata", "format-1", "orders.bin")
	values := map[string][]byte{}
	for _, o := range goldenOrders() {
		r := o.Record("models")
		values[string(r.Key)] = r.Value
	}
	for _, v := range goldenVerdicts() {
		values[verdictKey(v.Number)] = v.encode(1)
	}
	for i, o := range goldenObeyed {
		n := uint64(i + 1)
		values[ObeyedKey(n)] = o.Encode(n, 1)
		values[JournalKey(n)] = JournalEntry{Number: n, Position: Position{Events: 10, Model: 3}, Format: 1}.Encode()
	}
	b := wire.AppendUvarint(nil, uint64(len(values)))
	for _, k := range slices.Sorted(maps.Keys(values)) {
		b = wire.AppendBytes(wire.AppendString(b, k), values[k])
	}
	if os.Getenv("LIFTSTREAM_GOLDEN") == "write" {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(raw, b) {
		t.Error("orders, verdicts or obeyed records are written otherwise: that is another format")
	}
	log, models := applied(t, raw)
	orders, verdicts := models.Orders(), models.Verdicts()
	if want := goldenOrders(); len(orders) != len(want) {
		t.Fatalf("%d orders are read", len(orders))
	}
	for i, want := range goldenOrders() {
		if *orders[i] != want {
			t.Errorf("order %d is %+v, want %+v", i+1, *orders[i], want)
		}
	}
	if want := goldenVerdicts(); len(verdicts) != len(want) {
		t.Fatalf("%d verdicts are read", len(verdicts))
	}
	for i, want := range goldenVerdicts() {
		if got := verdicts[i]; got.Verdict != want.Verdict || got.Number != want.Number || got.Version != want.Version ||
			got.Previous != want.Previous || got.Note != want.Note || got.Since != want.Since ||
			!maps.Equal(got.Clocks, want.Clocks) {
			t.Errorf("verdict %d is %+v, want %+v", i+1, got, want)
		}
	}
	entries, err := log.Journal(1)
	if err != nil || len(entries) != len(goldenObeyed) {
		t.Fatalf("%d journal records, %v", len(entries), err)
	}
	for i, want := range goldenObeyed {
		if entries[i].Obeyed != want {
			t.Errorf("obeyed beside journal record %d: %+v, want %+v", i+1, entries[i].Obeyed, want)
		}
	}
}
