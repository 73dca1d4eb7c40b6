package state

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"liftstream/stream/txn"
)

func TestOwnerRecordBytes(t *testing.T) {
	o := Owner{Stage: "s", Events: "e", Scores: "sc", Dead: "d", State: "st", Models: "m"}
	const want = "010173016500027363016402737401" + "6d"
	if got := hex.EncodeToString(o.Encode()); !strings.HasPrefix(got, want) || len(got) != len(want)+8 {
		t.Errorf("got %s, want %s and a checksum", got, want)
	}
	if back, err := DecodeOwner(o.Encode(), 1); err != nil || back != o {
		t.Errorf("got %+v, %v", back, err)
	}
	for _, bad := range []Owner{{}, {Stage: "s"}, {Events: "e"}} {
		if _, err := DecodeOwner(bad.Encode(), 1); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestSeenRecordBytes(t *testing.T) {
	r := &txn.Record{Offset: 299, Time: time.UnixMilli(1_700_000_000_000), Key: []byte("k"), Value: []byte("v")}
	s := Seen{Events: MessageOf(r), Labels: Message{Next: 7, Sum: 1<<32 - 1}}
	if back, err := DecodeSeen(s.Encode(), 1); err != nil || back != s || s.Events.Next != 300 {
		t.Errorf("got %+v, %v", back, err)
	}
	if n := len(s.Encode()); n > JournalBytes {
		t.Errorf("%d bytes", n)
	}
	for name, change := range map[string]func(r *txn.Record){
		"time": func(r *txn.Record) { r.Time = r.Time.Add(time.Millisecond) }, "key": func(r *txn.Record) { r.Key = nil },
		"value": func(r *txn.Record) { r.Value = []byte("w") }, "offset": func(r *txn.Record) { r.Offset++ },
		"no time": func(r *txn.Record) { r.Time = time.Time{} },
	} {
		x := *r
		change(&x)
		if MessageOf(&x) == s.Events {
			t.Errorf("another %s is not seen", name)
		}
	}
	for _, bad := range []Seen{{Events: Message{Next: -1}}, {Labels: Message{Next: MaxNumber}}} {
		if _, err := DecodeSeen(bad.Encode(), 1); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// A reader that misses the tombstones of a former state must not take it for the present one.
func TestBeginDropsTheFormerState(t *testing.T) {
	l := NewLog()
	put := func(key string, value []byte) { l.Apply([]byte(key), value) }
	m := &Manifest{Format: 1, Number: 3}
	put(m.Key(), m.Encode())
	put(JournalKey(4), JournalEntry{Number: 4, Format: 1}.Encode())
	put(DoneKey, Done{Number: 9}.Encode(1))
	put(BeginKey, EncodeBegin(10))
	if found, problems := l.Manifests(); len(found)+len(problems) > 0 || l.JournalEnd() != 0 || len(l.History()) > 0 {
		t.Errorf("%v, %v, journal to %d", found, problems, l.JournalEnd())
	}
	if d, err := l.Done(); err != nil || d.Number != 9 {
		t.Errorf("the done record: %+v, %v", d, err)
	}
	put(JournalKey(0), JournalEntry{Format: 1}.Encode())
	if l.JournalEnd() != 1 {
		t.Errorf("journal to %d", l.JournalEnd())
	}
	if l.Foreign > 0 {
		t.Errorf("%d values are foreign", l.Foreign)
	}
}

func FuzzOwnerAndSeenRecords(f *testing.F) {
	f.Add(Owner{Stage: "s", Events: "e"}.Encode())
	f.Add(Seen{Events: Message{3, 4}}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, v := range [][]byte{b, Seal(b, 1)} {
			if o, err := DecodeOwner(v, 1); err == nil {
				if again, err := DecodeOwner(o.Encode(), 1); err != nil || again != o {
					t.Errorf("%+v comes back as %+v, %v", o, again, err)
				}
			}
			if s, err := DecodeSeen(v, 1); err == nil {
				if again, err := DecodeSeen(s.Encode(), 1); err != nil || again != s {
					t.Errorf("%+v comes back as %+v, %v", s, again, err)
				}
			}
		}
	})
}
