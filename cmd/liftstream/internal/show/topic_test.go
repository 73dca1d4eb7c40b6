package show

import (
	"bufio"
	"bytes"
	"testing"

	"liftstream/stream/txn"
)

// TestAMessageGivesNoMoreRowsThanAreAsked, one of JSON lines neither: a message holds many.
func TestAMessageGivesNoMoreRowsThanAreAsked(t *testing.T) {
	const value = "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n"
	for limit, want := range map[int]string{1: value[:11], 2: value[:22], 3: value, 4: value} {
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		p, err := Topic{Format: "jsonl"}.Printer(w, "scores")
		if err != nil {
			t.Fatal(err)
		}
		n, err := p.Print(&txn.Record{Value: []byte(value)}, limit)
		if w.Flush(); err != nil || n != min(limit, 3) || b.String() != want {
			t.Errorf("at most %d: %d rows, %v, %q", limit, n, err, b.String())
		}
	}
}
