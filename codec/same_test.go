package codec

import (
	"bytes"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/model"
)

// TestSameBytes: an encoder that wrote other records and other subspaces before writes the same bytes as a new one.
func TestSameBytes(t *testing.T) {
	for _, format := range []Format{FormatArrow, FormatJSONL} {
		o := bankOptions()
		o.Features, o.Format = FeaturesSelected, format
		var first []byte
		used, err := NewScoreEncoder(o)
		if err != nil {
			t.Fatal(err)
		}
		for round := range 3 {
			d := mustDecoder(t, o)
			encode := func(e *ScoreEncoder, rows int, selected ...int32) []byte {
				var b model.Batch
				var c Carry
				if _, err := d.Decode(&Message{Value: encodeStream(t, []arrow.Record{bankRecord(rows)})}, &b, &c); err != nil {
					t.Fatal(err)
				}
				s := bankScores(rows)
				for i := range s.Subspace {
					s.Subspace[i] = selected[i%len(selected)]
				}
				out, err := e.Encode([]byte("before"), &b, s, model.NewLevels(o.Schema), &c)
				if err != nil || string(out[:6]) != "before" {
					t.Fatal(err)
				}
				return out
			}
			encode(used, 100+round, 0, 3, 5, 8)
			got := encode(used, 7, 5, 6, 7, 9)
			fresh, err := NewScoreEncoder(o)
			if err != nil {
				t.Fatal(err)
			}
			want := encode(fresh, 7, 5, 6, 7, 9)
			if first == nil {
				first = want
			}
			if !bytes.Equal(got, want) || !bytes.Equal(got, first) {
				t.Errorf("format %d, round %d: %d and %d bytes differ", format, round, len(got), len(want))
			}
		}
	}
}
