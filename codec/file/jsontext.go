package file

import (
	"bytes"
	"io"
	"iter"

	"liftstream/codec"
)

// JSONTables yields tables of a text of JSON lines in memory, as OpenTables does those of a file; only Codec, Missing
// and Rows of the options count. Nested values are JSON text. An empty text has no table. After an error it ends.
func JSONTables(value []byte, o TableOptions) iter.Seq2[*codec.Table, error] {
	return func(yield func(*codec.Table, error) bool) {
		if len(bytes.TrimSpace(value)) == 0 {
			return
		}
		w := wants{by: map[string]want{}}
		if o.Codec.Schema != nil {
			w = wantsOf(o.Codec)
		}
		if o.Missing != nil {
			w.missing = missingSet(o.Missing)
		}
		var changes codec.Changes
		w.changes = &changes
		if o.Rows <= 0 {
			o.Rows = DefaultRows
		}
		room := min(len(value)+64, lineRoom) // a message may be one short row
		j, err := openLines(&stored{r: bytes.NewReader(value)}, room, o.Rows, &w)
		if err != nil {
			yield(nil, err)
			return
		}
		for {
			t, err := j.next()
			if err == io.EOF { // one that wraps it is damage
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}
