package stream

import (
	"bytes"
	"testing"

	"liftstream/model"
	"liftstream/model/wire"
)

// FuzzUnpack: sections and models lie in pieces that somebody else may have written, lengths and checksums included.
func FuzzUnpack(f *testing.F) {
	raw := bytes.Repeat([]byte("section "), 100)
	s, frames := newPacker().pack(raw, 1)
	packed, _, err := open(frames[0], 1)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s.append(nil), packed, []byte{})
	f.Add(s.append(nil), packed[:9], packed[9:])
	f.Add(blob{chunks: 1, packed: len(packed), length: maxSection, crc: s.crc}.append(nil), packed, []byte{})
	f.Fuzz(func(t *testing.T, b, one, two []byte) {
		r := wire.NewReader(b)
		s := readBlob(r)
		if r.Err() != nil {
			return
		}
		raw, err := unpack(s, 1, func(i int) []byte {
			switch i {
			case 0:
				return seal(one, 1)
			case 1:
				return seal(two, 1)
			}
			return nil
		})
		if err == nil && len(raw) != s.length {
			t.Errorf("%d bytes, announced were %d", len(raw), s.length)
		}
		if _, err = unpack(s, 1, func(int) []byte { return one }); err == nil && s.length > 0 && len(one) < 5 {
			t.Error("a piece without a frame is taken")
		}
	})
}

// FuzzStateTopic puts values of any origin, whole frames included, between those of a stage, and goes the way of a
// restore.
func FuzzStateTopic(f *testing.F) {
	log, _, _ := drive(f, 2, -1)
	keys := sortedKeys(log.values)
	f.Add([]byte{0}, []byte("x"), []byte{1}, []byte("y"), true)
	for i, k := range keys {
		if payload, _, err := open(log.values[k], 1); err == nil && len(payload) < 4096 {
			f.Add([]byte{byte(i)}, payload, []byte{byte(i + 1)}, payload, true)
		}
	}
	f.Add([]byte("done"), doneRecord{number: 3, events: 9}.encode(1), []byte("journal/7"), journalEntry{number: 1 << 60}.encode(), false)
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 []byte, framed bool) {
		l := newStateLog()
		l.limit = 64 << 20
		for k, v := range log.values {
			l.apply([]byte(k), v)
		}
		for _, x := range [][2][]byte{{k1, v1}, {k2, v2}} {
			key, value := x[0], x[1]
			if len(key) == 1 { // one of those that are there
				key = []byte(keys[int(key[0])%len(keys)])
			}
			if framed {
				value = seal(value, 1)
			}
			l.apply(key, value)
		}
		if l.bytes > l.limit {
			t.Errorf("%d bytes are held, the limit is %d", l.bytes, l.limit)
		}
		_, _ = l.done()
		found, _ := l.manifests()
		for _, m := range found {
			sections, err := l.sections(m)
			if err != nil {
				continue
			}
			if section, ok := sections[model.SectionSchema]; ok {
				_, _, _ = model.Origin(section)
			}
			if m.fingerprint == 9 {
				if p, err := model.RestorePartition(testSpec(), sections); err == nil {
					var s model.Scores
					p.Events(some(0, 3), &s)
				}
			}
			if _, err := l.journal(m.journal); err == nil && l.journalEnd() > maxNumber {
				t.Error("a number that no stage counts to")
			}
		}
		l.orphans(found...)
	})
}
