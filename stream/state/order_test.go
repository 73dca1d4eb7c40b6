package state

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/stream/internal/sample"
	"liftstream/stream/txn"
)

// TestOrdersAndObeyedRecordsAreRead as they were written; damaged ones, those of another slot and long ones are not.
func TestOrdersAndObeyedRecordsAreRead(t *testing.T) {
	l := NewModels(nil, "models", sample.Schema)
	put := func(o Order) { r := o.Record("models"); l.apply(string(r.Key), r.Value) }
	first := Order{Number: 1, Verb: "pin", Serve: 3, Return: true, Frozen: true, Still: true,
		Time: time.Unix(7, 8).UTC(), Client: "me", Why: "because"}
	put(first)
	if got := l.Order(); got != first {
		t.Errorf("%+v, want %+v", got, first)
	}
	for n := uint64(2); n <= keptOrders+5; n++ {
		put(Order{Number: n, Verb: "freeze", Why: strings.Repeat("é", orderText)})
	}
	all := l.Orders()
	if len(all) != keptOrders || all[0].Number != 6 || l.Order().Number != keptOrders+5 {
		t.Errorf("%d orders from %d on, the newest %d", len(all), all[0].Number, l.Order().Number)
	}
	if why := l.Order().Why; len(why) != orderText || !strings.HasSuffix(why, "é") {
		t.Errorf("%d bytes of a reason", len(why))
	}
	r := first.Record("models")
	for name, value := range map[string][]byte{"damaged": append(r.Value[:len(r.Value)-1:len(r.Value)-1], 1),
		"long": make([]byte, orderBytes+1), "empty": {}, "of another slot": r.Value} {
		l.apply("order/9", value)
		if l.orders[9] == nil || l.orders[9].Number != 9 {
			t.Errorf("%s: an order was taken or lost", name)
		}
	}
	l.apply("order/40", r.Value)
	l.apply("order/1", nil)
	if l.orders[1] != nil || len(l.orders) != keptOrders-1 {
		t.Errorf("%d orders", len(l.orders))
	}
	for _, want := range []Obeyed{{}, {Returned: true}, {Learning: Off}, {Returned: true, Learning: On},
		{Returned: true, By: 300}, {Returned: true, Learning: Off, By: 1}} {
		if n, got, err := DecodeObeyed(want.Encode(5, 1), 1); n != 5 || got != want || err != nil {
			t.Errorf("%+v: %d, %+v, %v", want, n, got, err)
		}
	}
	if _, _, err := DecodeObeyed(Obeyed{Learning: 3}.Encode(5, 1), 1); err == nil {
		t.Error("an unknown change is read")
	}
	got, want := (Obeyed{Returned: true, By: 300}).Encode(5, 1)[1:6], []byte{5, 1, 0, 300&127 | 128, 2}
	if !bytes.Equal(got, want) {
		t.Errorf("the number of an order is written as %v, want %v", got, want)
	}
	for _, payload := range [][]byte{{5, 1, 0, 0}, {5, 0, 0, 7}, {5, 1, 0, 7, 7}} {
		if _, o, err := DecodeObeyed(Seal(payload, 1), 1); err == nil {
			t.Errorf("%v is read as %+v", payload, o)
		}
	}
	log := NewLog()
	log.Apply([]byte(JournalKey(4096)), JournalEntry{Number: 4096, Format: 1}.Encode())
	log.Apply([]byte(ObeyedKey(4096)), Obeyed{Learning: Off}.Encode(0, 1)) // of a former round
	if e, err := log.Journal(4096); err != nil || e[0].Obeyed != (Obeyed{}) {
		t.Errorf("%v %+v", err, e)
	}
	log.Apply([]byte(ObeyedKey(4096)), Obeyed{Learning: Off}.Encode(4096, 1))
	if e, err := log.Journal(4096); err != nil || e[0].Learning != Off || len(log.History()) != 2 {
		t.Errorf("%v %+v, history %v", err, e, log.History())
	}
	log.Apply([]byte(ObeyedKey(4096)), []byte("damaged"))
	if _, err := log.Journal(4096); err == nil {
		t.Error("a damaged record is passed over")
	}
}

// TestAnOrderSaysWhichVersionServes, as long as nothing newer ends it and the version can serve.
func TestAnOrderSaysWhichVersionServes(t *testing.T) {
	for _, c := range []struct {
		name         string
		serve, until int64
		want         int64
		ordered      bool
	}{
		{"no order", 0, 0, 4, false}, {"pinned", 2, 0, 2, true}, {"rolled back", 2, 4, 2, true},
		{"a newer one has come", 2, 3, 4, false}, {"of another configuration", 1, 0, 4, false},
		{"not held", 9, 0, 4, false}, {"the newest", 4, 4, 4, true},
	} {
		l := NewModels(nil, "models", sample.Schema)
		l.Fingerprint = 7
		for v := int64(1); v <= 4; v++ {
			m := &model.Model{Version: v, Fingerprint: 7, Levels: model.NewLevels(sample.Schema)}
			if v == 1 {
				m.Fingerprint = 8
			}
			records, err := l.Publication(NewPacker(), m, nil, time.Unix(v, 0), 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				l.apply(string(r.Key), r.Value)
			}
		}
		if c.serve > 0 {
			o := Order{Number: 3, Serve: c.serve, Until: c.until, Return: true}
			r := o.Record("models")
			l.apply(string(r.Key), r.Value)
		}
		got := l.Serves()
		if got.Version != c.want || (got.Order == 3) != c.ordered || got.Return != c.ordered {
			t.Errorf("%s: %+v, want %d", c.name, got, c.want)
		}
	}
}

// TestARollbackKeepsItsNumber in the orders behind it, for a partition returns once for it. A version that is pinned
// when it does not serve does not return.
func TestARollbackKeepsItsNumber(t *testing.T) {
	l := NewModels(nil, "models", sample.Schema)
	for v := int64(1); v <= 3; v++ {
		m := &model.Model{Version: v, Levels: model.NewLevels(sample.Schema)}
		records, err := l.Publication(NewPacker(), m, nil, time.Unix(v, 0), 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			l.apply(string(r.Key), r.Value)
		}
	}
	for _, c := range []struct {
		verb  string
		serve int64
		back  bool
		by    uint64
	}{
		{"pin", 2, false, 0}, {"rollback", 1, true, 2}, {"freeze", 1, true, 2}, {"pin", 1, true, 2},
		{"rollback", 2, true, 5}, {"pin", 3, false, 0},
	} {
		o := Order{Number: newestOrder(l).Number + 1, Verb: c.verb, Serve: c.serve, Return: c.back}
		r := o.Record("models")
		l.apply(string(r.Key), r.Value)
		if got, want := l.Serves(), (Serving{c.serve, o.Number, c.back, c.by}); got != want {
			t.Errorf("%+v: %+v, want %+v", c, got, want)
		}
	}
}

// TestAnOfferWaitsUntilItIsTaken: it is read as it was given, its records leave the topic, and the version that came of
// it serves as it is. Damaged ones and those of another configuration are no models.
func TestAnOfferWaitsUntilItIsTaken(t *testing.T) {
	l := NewModels(nil, "models", sample.Schema)
	l.Fingerprint = 7
	apply := func(records []txn.Record, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			l.apply(string(r.Key), r.Value)
		}
	}
	at := time.Unix(5, 0)
	m := &model.Model{Version: 9, Fingerprint: 7, Levels: model.NewLevels(sample.Schema),
		Parts: map[string][]byte{"x": make([]byte, 300<<10)}}
	for i := range m.Parts["x"] {
		m.Parts["x"][i] = byte(model.Hash(uint64(i)))
	}
	foreign := *m
	foreign.Fingerprint = 8
	if _, err := l.Offer(); l.Offered() || err == nil {
		t.Error("there is an offer in an empty topic")
	}
	apply(Offering(l, NewPacker(), &foreign, at))
	if _, err := l.Offer(); !l.Offered() || !errors.Is(err, model.ErrModelForeign) {
		t.Errorf("of another configuration: %v", err)
	}
	apply(Offering(l, NewPacker(), m, at))
	got, err := l.Offer()
	if err != nil || !bytes.Equal(got.AppendBinary(nil), m.AppendBinary(nil)) {
		t.Fatalf("%v, or other bytes", err)
	}
	for key, value := range map[string][]byte{"offer": []byte("damaged"), "offer/-1": {1}, "offer/x": {1}, "given/0": {1},
		"given/4": []byte("damaged"), "offer/1": make([]byte, chunkBytes+6)} {
		if l.apply(key, value); !l.Offered() || len(l.given) > 0 {
			t.Errorf("%s was taken", key)
		}
	}
	if again, err := l.Offer(); err != nil || again.Version != 9 {
		t.Errorf("%v", err)
	}
	l.apply("offer/0", []byte("damaged"))
	if _, err := l.Offer(); err == nil {
		t.Error("a damaged offer is read")
	}
	next := *m
	next.Version = 3
	apply(l.Publication(NewPacker(), &next, nil, at, 1))
	apply(Taken(l, 3, at), nil)
	if s := l.Serves(); l.Offered() || s.Version != 3 || !s.Return || s.Order == 0 {
		t.Errorf("offered %v, %+v serves", l.Offered(), s)
	}
	for key := range l.values {
		if strings.HasPrefix(key, "offer/") {
			t.Errorf("%s stays", key)
		}
	}
	next.Version = 40
	apply(l.Publication(NewPacker(), &next, nil, at, 1))
	if s := l.Serves(); len(l.given) != 0 || s.Return || s.Version != 40 || l.bytes <= 0 {
		t.Errorf("given %v, %+v serves", l.given, s)
	}
}
