package state

import (
	"encoding/binary"
	"strings"
	"testing"

	"liftstream/model"
)

// TestASectionAboveOneGiB: a configuration can ask for a section of that size, so a restart reads its manifest.
func TestASectionAboveOneGiB(t *testing.T) {
	m := &Manifest{Format: 1, Number: 1, Sections: []Stored{{Name: "reservoir",
		Blob: Blob{Chunks: 4096, Packed: 1 << 30, Length: 1<<30 + 1}}}}
	got, err := DecodeManifest(m.Encode(), 1)
	if err != nil || got.Sections[0] != m.Sections[0] {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestPiecesFitTheirTopicWithAllThatStandsBesideThem: a broker counts the header of the batch, 61 bytes, and lengths,
// key and headers of the record too. The name of the section is nearly the longest that a log takes.
func TestPiecesFitTheirTopicWithAllThatStandsBesideThem(t *testing.T) {
	var raw []byte // that does not compress
	for i := range uint64(100_000) {
		raw = binary.LittleEndian.AppendUint64(raw, model.Hash(i, 7))
	}
	const batch, record, header = 61, 32, 120
	name := strings.Repeat("n", 240)
	for _, limit := range []int{1_000, 4_096, 60_000, 200_000} {
		p := NewPacker()
		p.Limit = limit
		_, frames := p.pack(raw, 1)
		for _, f := range frames {
			if n := len(modelChunkKey(MaxNumber-1, len(frames))) + len(f) + batch + record + header; n > limit {
				t.Fatalf("a piece of a model takes %d bytes in a topic of %d", n, limit)
			}
		}
		s := NewSnapshotter()
		s.Within(limit)
		s.writing, s.raw = &Manifest{Format: 1}, []rawSection{{name, raw}}
		log := NewLog()
		for whole := false; !whole; {
			var pieces []Change
			pieces, whole = s.Take(1 << 40)
			for _, c := range pieces {
				if n := len(c.Key) + len(c.Value) + batch + record; n > limit {
					t.Fatalf("%s takes %d bytes in a topic of %d", c.Key, n, limit)
				}
				log.Apply([]byte(c.Key), c.Value)
			}
		}
		if len(log.values) < len(frames) || log.Foreign != 0 {
			t.Errorf("limit %d: the log holds %d values, the model has %d pieces; it took %d for others'", limit,
				len(log.values), len(frames), log.Foreign)
		}
	}
}
