package deadletter_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/deadletter"
	"liftstream/stream/internal/sample"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// received returns a message of three records, its decoder, and a bad row of it.
func received(t *testing.T) (*codec.Decoder, *txn.Record, []codec.RowError) {
	t.Helper()
	w := &streamtest.World{T: t}
	d, err := codec.NewDecoder(codec.Options{Schema: sample.Schema, ID: "id", Label: "y"})
	if err != nil {
		t.Fatal(err)
	}
	r := &txn.Record{Key: []byte("key"), Value: w.Message(0, 0, 3, true), Offset: 12,
		Time: time.UnixMilli(5000), Headers: []txn.Header{{Key: "trace", Value: []byte("7")}}}
	if _, err := d.DecodeLabels(&codec.Message{Value: r.Value}, &model.Labels{}); err != nil {
		t.Fatal(err)
	}
	return d, r, []codec.RowError{{Row: 1, Reason: codec.ReasonDamaged, Column: "x"}}
}

func TestLettersOfRows(t *testing.T) {
	d, r, bad := received(t)
	from := deadletter.Origin{Name: "s", Topic: "labels", Stage: codec.StageLabels, Partition: 4}
	var got []deadletter.Letter
	deadletter.Make(d, r, from, bad, nil, time.Unix(9, 0), func(l deadletter.Letter) { got = append(got, l) })
	if len(got) != 1 || got[0].ID != (deadletter.ID{Topic: "labels", Offset: 12, Row: 1}) {
		t.Fatalf("%+v", got)
	}
	x := got[0].Record
	if string(x.Key) != "key" || !x.Time.Equal(r.Time) || len(x.Value) >= len(r.Value) || len(x.Value) == 0 {
		t.Errorf("%+v", x)
	}
	h := map[string]string{}
	for _, e := range x.Headers {
		h[e.Key] = string(e.Value)
	}
	for k, want := range map[string]string{
		"trace": "7", codec.HeaderName: "s", codec.DeadReason: string(codec.ReasonDamaged), codec.DeadStage: "labels",
		codec.DeadTopic:     "labels",
		codec.DeadPartition: "4", codec.DeadOffset: "12", codec.DeadRow: "1", codec.DeadFirstSeen: "1970-01-01T00:00:09Z",
	} {
		if h[k] != want {
			t.Errorf("header %s: %q, want %q", k, h[k], want)
		}
	}
}

func TestLetterOfAMessage(t *testing.T) {
	d, r, bad := received(t)
	refused := &codec.MessageError{Reason: codec.ReasonTooLarge, Err: errors.New("by the test")}
	for err, want := range map[error]codec.Reason{refused: codec.ReasonTooLarge, errors.New("x"): codec.ReasonDamaged} {
		n := 0
		deadletter.Make(d, r, deadletter.Origin{Topic: "events"}, bad, err, time.Time{}, func(l deadletter.Letter) {
			n++
			if l.Reason != want || l.Row != -1 || string(l.Record.Value) != string(r.Value) {
				t.Errorf("%v: %+v", err, l)
			}
			for _, h := range l.Record.Headers {
				if h.Key == codec.DeadRow {
					t.Errorf("%v: a whole message has row %s", err, h.Value)
				}
			}
		})
		if n != 1 {
			t.Errorf("%v: %d letters", err, n)
		}
	}
}

func TestBound(t *testing.T) {
	d, r, bad := received(t)
	many := make([]codec.RowError, 1000)
	for i := range many {
		many[i] = bad[0]
	}
	each := int64(deadletter.Bytes + len(r.Key) + len(d.DeadRow(r.Value, 1)) + len("trace") + len("7"))
	for _, x := range []struct {
		name    string
		bad     []codec.RowError
		largest int64
		refused bool
	}{
		{"no bad row", nil, 1, false},
		{"all fit", many, 250 * each, false},
		{"a byte too many", many, 250*each - 1, true},
		{"the default", many, 0, false},
	} {
		err := deadletter.Bound(d, r, x.bad, x.largest)
		var m *codec.MessageError
		if errors.As(err, &m) != x.refused || x.refused && (m.Reason != codec.ReasonTooLarge ||
			!strings.Contains(err.Error(), "1000 rows")) {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}

func TestReadFindsTheLettersOfItsPartition(t *testing.T) {
	c := streamtest.NewTopic(t, "d")
	d, r, bad := received(t)
	var out []txn.Record
	write := func(l deadletter.Letter) {
		l.Record.Topic = "d"
		out = append(out, l.Record)
	}
	for partition := range 3 {
		from := deadletter.Origin{Name: "s", Topic: "events", Partition: partition}
		deadletter.Make(d, r, from, bad, nil, time.Time{}, write)
		deadletter.Make(d, r, from, nil, errors.New("x"), time.Time{}, write)
	}
	other := deadletter.Origin{Name: "t", Topic: "events", Partition: 1}
	deadletter.Make(d, r, other, bad, nil, time.Time{}, write)
	out = append(out, txn.Record{Topic: "d", Value: []byte("somebody else's")})
	if err := c.Produce(t.Context(), out, txn.None); err != nil {
		t.Fatal(err)
	}
	if got, err := deadletter.Read(t.Context(), c, "d", 0, "t", 0, 1); err != nil || len(got.IDs) != 1 {
		t.Errorf("of the other stage: %v, %v", got, err)
	}
	for from, want := range map[int64]int{0: 2, 2: 2, 3: 1, 4: 0, 100: 0} {
		got, err := deadletter.Read(t.Context(), c, "d", 0, "s", from, 1)
		if err != nil || len(got.IDs) != want || len(got.Judged) != 0 {
			t.Errorf("from %d: %v, %v", from, got, err)
		}
		if want == 2 && !got.IDs[deadletter.ID{Topic: "events", Offset: 12, Row: 1}] {
			t.Errorf("from %d: %v", from, got)
		}
	}
}
