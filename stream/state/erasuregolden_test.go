package state

import (
	"bytes"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/wire"
)

// goldenErasures are the orders to forget of the golden file: one of ids, one of keys, an emptied one.
func goldenErasures() []*Erasure {
	out := []*Erasure{
		{Erasure: model.Erasure{IDs: []model.IDSum{model.SumID("a"), model.SumID("b")}}, Client: "somebody@somewhere",
			Why: "a reason"},
		{Erasure: model.Erasure{Keys: []uint64{7, 1 << 63}}},
		{Emptied: true},
	}
	for i, e := range out {
		e.Number, e.Time = uint64(i+1), time.Unix(1_700_000_000, int64(i)).UTC()
	}
	return out
}

// goldenErased are the records of obeyed ones, beside the journal records 1, 2 and so on.
func goldenErased() []*Erased {
	a := goldenErasures()
	first := &Erased{Journal: 1, Erasure: a[0].Erasure, Found: model.Forgotten{Waiting: 1, Tail: 2, Reservoir: 3,
		Counts: 4, Prototypes: 5, Sieve: 6, Remains: 7}, Keys: []uint64{7, 1 << 63}}
	third := first.Empty()
	third.Journal = 3
	return []*Erased{first, {Journal: 2, Erasure: a[1].Erasure, Found: model.Forgotten{Prototypes: 2}}, third}
}

// TestErasuresOfFormat1AreReadForEver: orders to forget and the records of obeyed ones are read as an earlier build has
// written them, and are written as then. LIFTSTREAM_GOLDEN=write makes the file anew: right for bytes that no build of
// main has written, and for no others.
func TestErasuresOfFormat1AreReadForEver(t *testing.T) {
	name := filepath.Join("testdata", "format-1", "erasures.bin")
	values := map[string][]byte{}
	for _, e := range goldenErasures() {
		r := e.Record("models")
		values[string(r.Key)] = r.Value
	}
	for _, e := range goldenErased() {
		values[ErasedKey(e.Journal)] = e.Encode(1)
		values[JournalKey(e.Journal)] = JournalEntry{Number: e.Journal, Position: Position{Events: 10}, Format: 1}.Encode()
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
		t.Error("orders to forget, or the records of obeyed ones, are written otherwise: that is another format")
	}
	log, models := applied(t, raw)
	if got := Erasures(models); !reflect.DeepEqual(got, goldenErasures()) {
		t.Errorf("orders %+v", got)
	}
	last, open := LastErasure(models)
	if next := NextErasure(models, 1); next == nil || next.Number != 2 || NextErasure(models, 2) != nil || open != 2 ||
		last != 3 {
		t.Errorf("the order after 1 is %+v, the last ones are %d and %d", next, last, open)
	}
	entries, err := log.Journal(1)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d journal records, %v", len(entries), err)
	}
	for i, want := range goldenErased() {
		if got := entries[i].Erased; !reflect.DeepEqual(got, want) {
			t.Errorf("beside journal record %d: %+v, want %+v", i+1, got, want)
		}
	}
	if got := log.Erased(); !reflect.DeepEqual(got, goldenErased()) || len(log.History()) != 6 {
		t.Errorf("obeyed %+v, history %v", got, log.History())
	}
	for key, value := range values { // a damaged one is none, and no byte makes a reader panic
		for n := range value {
			if _, err := decodeErasure(value[:n], Format); err == nil {
				t.Errorf("%s: the first %d bytes are an order", key, n)
			}
			if _, err := DecodeErased(value[:n], Format); err == nil {
				t.Errorf("%s: the first %d bytes are a record", key, n)
			}
		}
	}
	payload, _, err := Unseal(goldenErased()[0].Encode(1), Format)
	if err != nil {
		t.Fatal(err)
	}
	for at := range payload {
		bad := slices.Clone(payload)
		bad[at] ^= 0xff
		_, _ = DecodeErased(Seal(bad, 1), Format)
		_, _ = decodeErasure(Seal(bad, 1), Format)
	}
}

// TestErasedWithRecencyIsReadForEver: a record of an obeyed order that found ids of the recency has their number at its
// end, and is else as before.
func TestErasedWithRecencyIsReadForEver(t *testing.T) {
	name := filepath.Join("testdata", "format-1", "erased-recency.bin")
	want := goldenErased()[0]
	before := want.Encode(1)
	want.Found.Recency = 300
	written := want.Encode(1)
	if os.Getenv("LIFTSTREAM_GOLDEN") == "write" {
		if err := os.WriteFile(name, written, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeErased(raw, Format); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if !bytes.Equal(raw, written) {
		t.Error("the record is written otherwise: that is another format")
	}
	long, _, _ := Unseal(written, Format)
	short, _, _ := Unseal(before, Format)
	if !bytes.HasPrefix(long, short) || len(long) != len(short)+2 {
		t.Errorf("%d bytes without ids of the recency, %d with them", len(short), len(long))
	}
	for name, bad := range map[string][]byte{"none": {0}, "a part of a number": {0x80}, "more": {1, 1}} {
		if _, err := DecodeErased(Seal(append(slices.Clone(short), bad...), 1), Format); err == nil {
			t.Errorf("%s at the end is read", name)
		}
	}
}

// TestTheKeysOfAllPrototypesFit into the record of an obeyed order, and into the order to the other partitions.
func TestTheKeysOfAllPrototypesFit(t *testing.T) {
	ids, keys := make([]model.IDSum, ErasureIDs), make([]uint64, 65_536+512)
	for i := range keys {
		keys[i] = math.MaxUint64 - uint64(i)
	}
	e := &Erased{Erasure: model.Erasure{Number: 1, IDs: ids}, Keys: keys}
	value := e.Encode(1)
	if got, err := DecodeErased(value, Format); err != nil || len(value) > min(stateKeyBound(ErasedKey(0)), 1e6) ||
		!slices.Equal(got.Keys, keys) || len(got.IDs) != len(ids) {
		t.Errorf("%d bytes, read %d keys, %v", len(value), len(got.Keys), err)
	}
	models := NewModels(nil, "models", nil)
	r := (&Erasure{Erasure: model.Erasure{Number: 1, Keys: keys}}).Record("models")
	models.apply(string(r.Key), r.Value)
	if o := NextErasure(models, 0); o == nil || !slices.Equal(o.Keys, keys) {
		t.Errorf("the order is not read with all keys, of %d bytes", len(r.Value))
	}
}
