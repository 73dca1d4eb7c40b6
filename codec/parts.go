package codec

import (
	"fmt"

	"liftstream/model"
)

// Parts are the scores messages that answer one events message: one, or several where one would exceed the limit of its
// topic; of FormatJSON and FormatAvro one for each row, and none for a message without rows. The values lie one after
// the other in one buffer.
type Parts struct {
	limit int
	carry *Carry
	list  []Part
	lost  []int
	open  bool // the last part takes more rows
}

// Part is one scores message.
type Part struct {
	Start, End  int // of its value in the buffer
	First, Rows int // its rows, counted over the records of the message
}

// ChunkRows is the number of records of a message that are scored and encoded at a time. Their scores lie in memory
// beside the encoded ones.
const ChunkRows = 1 << 16

// Begin begins the scores of one message. No value will be larger than limit; 0 = there is no limit. c is the Carry of
// the message, as in Encode.
func (e *ScoreEncoder) Begin(c *Carry, limit int) {
	if c != nil && len(c.recs) == 0 {
		c = nil // no batches, so no rows
	}
	e.in = nil
	e.parts = Parts{limit: limit, carry: c, list: e.parts.list[:0]}
}

// Add appends the scores of the next records of the message: b and s hold those from the record from on. Of a message
// of at most ChunkRows records one call takes all, and if they fit makes the bytes that Encode makes.
func (e *ScoreEncoder) Add(dst []byte, b *model.Batch, s *model.Scores, levels *model.Levels, from int) (
	[]byte, error,
) {
	p := &e.parts
	if p.carry != nil && e.in == nil {
		if !e.made || p.carry.plan != e.plan {
			e.makeSchema(p.carry)
		}
		var err error
		if e.in, err = e.inputs(p.carry); err != nil {
			return dst, err
		}
	}
	t, err := e.table(b, s, levels, p.carry, from)
	if err != nil {
		return dst, err
	}
	if p.open {
		// grow writes over the end of the last part before it knows whether the rows fit. Where it does not add them, only
		// its own result has that end back: dst may have had too little room, and is then another buffer.
		var fits bool
		if dst, fits, err = e.grow(dst, t, from); err != nil || fits {
			return dst, err
		}
	}
	return e.split(dst, t, from, 0, t.Rows())
}

// grow adds a table to the last part, if it fits. The caller goes on with out in place of dst.
func (e *ScoreEncoder) grow(dst []byte, t *Table, from int) (out []byte, fits bool, err error) {
	p := &e.parts
	last := &p.list[len(p.list)-1]
	if last.First+last.Rows != from {
		return dst, false, nil
	}
	if e.o.Format == FormatJSONL {
		out = appendLines(dst, t, 0, t.Rows())
	} else if out, err = e.stream.more(dst, t.rec); err != nil {
		return out, false, err
	}
	if p.limit > 0 && len(out)-last.Start > p.limit {
		p.open = false
		if e.o.Format != FormatJSONL {
			// The batch has taken the place of the end mark, and the writer has counted it.
			out = append(out[:last.End-len(endOfStream)], endOfStream...)
			e.stream.w = nil
		}
		return out[:last.End], false, nil
	}
	last.End, last.Rows = len(out), last.Rows+t.Rows()
	return out, true, nil
}

// split appends rows [lo, hi) of a table as one part, or as several where they exceed the limit. A record that exceeds
// it alone is left out.
func (e *ScoreEncoder) split(dst []byte, t *Table, from, lo, hi int) (out []byte, err error) {
	if e.o.Format.Single() {
		return e.singles(dst, t, from)
	}
	p := &e.parts
	start := len(dst)
	if out, err = e.rows(dst, t, lo, hi); err != nil {
		return dst, err
	}
	size := len(out) - start
	if p.limit <= 0 || size <= p.limit {
		p.list = append(p.list, Part{start, len(out), from + lo, hi - lo})
		p.open = true
		return out, nil
	}
	out = out[:start]
	if hi-lo <= 1 {
		p.open = false
		p.lost = append(p.lost, from+lo)
		return out, nil
	}
	// Rows are of similar sizes mostly: a tenth more pieces than their average asks for.
	n := min(max(size*11/10/p.limit+1, 2), hi-lo)
	for i := range n {
		if out, err = e.split(out, t, from, lo+(hi-lo)*i/n, lo+(hi-lo)*(i+1)/n); err != nil {
			return dst, err
		}
	}
	return out, nil
}

// singles appends each row of a table as a part of its own. One that exceeds the limit is left out.
func (e *ScoreEncoder) singles(dst []byte, t *Table, from int) (out []byte, err error) {
	p := &e.parts
	for i := range t.Rows() {
		start := len(dst)
		if dst, err = e.rows(dst, t, i, i+1); err != nil {
			return dst, err
		}
		if p.limit > 0 && len(dst)-start > p.limit {
			dst = dst[:start]
			p.lost = append(p.lost, from+i)
			continue
		}
		p.list = append(p.list, Part{start, len(dst), from + i, 1})
	}
	return dst, nil
}

// rows appends rows [lo, hi) of a table as one message. Those of FormatJSON and FormatAvro are one row.
func (e *ScoreEncoder) rows(dst []byte, t *Table, lo, hi int) ([]byte, error) {
	switch e.o.Format {
	case FormatJSONL:
		return appendLines(dst, t, lo, hi), nil
	case FormatJSON:
		return t.AppendJSON(e.o.Frame.append(dst), lo), nil
	case FormatAvro:
		return e.appendAvro(e.o.Frame.append(dst), t, lo), nil
	}
	rec := t.rec
	if lo > 0 || hi < t.Rows() {
		rec = rec.NewSlice(int64(lo), int64(hi))
	}
	return e.stream.encode(dst, rec)
}

func appendLines(dst []byte, t *Table, lo, hi int) []byte {
	for i := lo; i < hi; i++ {
		dst = append(t.AppendJSON(dst, i), '\n')
	}
	return dst
}

// Parts returns the messages, in order. lost are the records whose scores alone exceed the limit. Both are valid until
// the next Begin.
func (e *ScoreEncoder) Parts() (parts []Part, lost []int) {
	e.in = nil
	return e.parts.list, e.parts.lost
}

// TooLarge is the error of such a record, row r of a message.
func (e *ScoreEncoder) TooLarge(r int32) RowError {
	return RowError{Row: r, Reason: ReasonTooLarge, Value: fmt.Sprintf("scores of more than %d bytes", e.parts.limit)}
}
