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
		var changes codec.Changes
		w := wantsOfTexts(&o, &changes)
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

func wantsOfTexts(o *TableOptions, changes *codec.Changes) wants {
	w := wants{by: map[string]want{}}
	if o.Codec.Schema != nil {
		w = wantsOf(o.Codec)
	}
	if o.Missing != nil {
		w.missing = missingSet(o.Missing)
	}
	w.changes = changes
	return w
}

// JSONReader reads short texts of JSON lines, one after the other, as JSONTables does, in the same buffers: texts with
// the keys of the one before cost few allocations, and their tables share a schema where the types are the same. It is
// not safe for concurrent use.
type JSONReader struct {
	o       TableOptions
	wants   wants
	changes codec.Changes
	j       jsonl
	lines   lines
}

// NewJSONReader returns a reader. Only Codec and Missing of the options count.
func NewJSONReader(o TableOptions) *JSONReader {
	r := &JSONReader{o: o}
	r.wants = wantsOfTexts(&r.o, &r.changes)
	r.j = jsonl{l: &r.lines, w: &r.wants, index: map[string]int{}}
	return r
}

// Table returns the first table of a text, of rows records at most, valid until the next call; io.EOF where the text
// has none. The text is UTF-8 without a mark, and is read in place. After an error the reader must not be used again,
// and the columns of its table may be in another order than those of JSONTables.
func (r *JSONReader) Table(text []byte, rows int) (*codec.Table, error) {
	t, err := r.read(text, rows)
	if err != nil {
		return nil, err
	}
	for k := range r.j.cols {
		if !r.j.cols[k].met { // a key of a text before, which this one lacks
			r.j.cols = nil
			clear(r.j.index)
			return r.read(text, rows)
		}
	}
	return t, nil
}

func (r *JSONReader) read(text []byte, rows int) (*codec.Table, error) {
	r.lines = lines{buf: text, hi: len(text), eof: true}
	r.j.rows, r.j.row = rows, 0
	for k := range r.j.cols {
		r.j.cols[k].again()
	}
	t, err := r.j.table()
	r.lines.buf = nil
	return t, err
}
