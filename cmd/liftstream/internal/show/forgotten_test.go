package show

import (
	"encoding/json"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/stream/orders"
)

// TestForgottenByStore: each store has the number of its own records.
func TestForgottenByStore(t *testing.T) {
	f := Forgotten{Order: 1, IDs: 1, Partitions: 1, Running: true}
	f.Take([]orders.Answer{{Obeyed: true, Clean: true, Found: model.Forgotten{Waiting: 11, Tail: 12, Reservoir: 13,
		Counts: 14, Prototypes: 15, Sieve: 16, Recency: 17}}})
	var b strings.Builder
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  waiting store  11\n", "  tail           12\n", "  reservoir      13\n",
		"  prototypes     15\n", "  dedup          16\n", "  recency        17 of the ids that", "  counts         14 of"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	got, err := json.Marshal(f.JSON().(map[string]any)["removed"])
	const want = `{"counts":14,"dedup":16,"prototypes":15,"recency":17,"reservoir":13,"tail":12,"waiting_store":11}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
