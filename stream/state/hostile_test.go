package state

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/wire"
	"liftstream/stream/internal/sample"
)

// FuzzUnpack: sections and models lie in pieces that somebody else may have written, lengths and checksums included.
func FuzzUnpack(f *testing.F) {
	raw := bytes.Repeat([]byte("section "), 100)
	s, frames := NewPacker().pack(raw, 1)
	packed, _, err := Unseal(frames[0], 1)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s.AppendBinary(nil), packed, []byte{})
	f.Add(s.AppendBinary(nil), packed[:9], packed[9:])
	f.Add(Blob{Chunks: 1, Packed: len(packed), Length: maxSection, CRC: s.CRC}.AppendBinary(nil), packed, []byte{})
	f.Fuzz(func(t *testing.T, b, one, two []byte) {
		r := wire.NewReader(b)
		s := readBlob(r)
		if r.Err() != nil {
			return
		}
		raw, err := unpack(s, 1, func(i int) []byte {
			switch i {
			case 0:
				return Seal(one, 1)
			case 1:
				return Seal(two, 1)
			}
			return nil
		})
		if err == nil && len(raw) != s.Length {
			t.Errorf("%d bytes, announced were %d", len(raw), s.Length)
		}
		if _, err = unpack(s, 1, func(int) []byte { return one }); err == nil && s.Length > 0 && len(one) < 5 {
			t.Error("a piece without a frame is taken")
		}
	})
}

// FuzzStateTopic puts values of any origin, whole frames included, between those of a stage, and goes the way of a
// restore.
func FuzzStateTopic(f *testing.F) {
	log, _, _ := drive(f, 2, -1)
	keys := slices.Sorted(maps.Keys(log.values))
	f.Add([]byte{0}, []byte("x"), []byte{1}, []byte("y"), true)
	for i, k := range keys {
		if payload, _, err := Unseal(log.values[k], 1); err == nil && len(payload) < 4096 {
			f.Add([]byte{byte(i)}, payload, []byte{byte(i + 1)}, payload, true)
		}
	}
	f.Add([]byte("done"), Done{Number: 3, Events: 9}.Encode(1),
		[]byte("journal/7"), JournalEntry{Number: 1 << 60}.Encode(), false)
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 []byte, framed bool) {
		l := NewLog()
		l.Limit = 64 << 20
		for k, v := range log.values {
			l.Apply([]byte(k), v)
		}
		for _, x := range [][2][]byte{{k1, v1}, {k2, v2}} {
			key, value := x[0], x[1]
			if len(key) == 1 { // one of the stage's own keys
				key = []byte(keys[int(key[0])%len(keys)])
			}
			if framed {
				value = Seal(value, 1)
			}
			l.Apply(key, value)
		}
		if l.bytes > l.Limit {
			t.Errorf("%d bytes are held, the limit is %d", l.bytes, l.Limit)
		}
		_, _ = l.Done()
		found, _ := l.Manifests()
		for _, m := range found {
			sections, err := l.Sections(m)
			if err != nil {
				continue
			}
			if section, ok := sections[model.SectionSchema]; ok {
				_, _, _ = model.Origin(section)
			}
			if m.Fingerprint == 9 {
				if p, err := model.RestorePartition(sample.Spec(), sections); err == nil {
					var s model.Scores
					p.Events(sample.Records(0, 3), &s)
				}
			}
			if _, err := l.Journal(m.Journal); err == nil && l.JournalEnd() > MaxNumber {
				t.Error("a number that no stage counts to")
			}
		}
		l.Orphans(found...)
	})
}
