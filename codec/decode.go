package codec

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/model"
)

// maxStreams bounds the schemas that a Decoder remembers.
const maxStreams = 64

// Decoder reads messages of one contract. It keeps readers of schemas that it has seen, so a message of few rows does
// not pay for its schema. It is not safe for concurrent use.
type Decoder struct {
	o       Options
	missing map[string]bool
	numbers []float64 // texts of Missing that are numbers

	in     input
	events map[*arrow.Schema]*plan // of tables; those of messages hang at their stream

	levels      []levelColumn
	classes     classColumn
	scratch     []byte
	text        []byte
	ends        []int32
	bad         []RowError
	deadLetters streamEncoder
}

// NewDecoder returns a Decoder. It fails when the options contradict each other, such as one column in two roles.
func NewDecoder(o Options) (*Decoder, error) {
	if o.Schema == nil {
		return nil, errors.New("making decoder: no schema")
	}
	roles := map[string]string{}
	take := func(name, role string) error {
		if other, ok := roles[name]; ok {
			return fmt.Errorf("making decoder: column %q is both %s and %s", name, other, role)
		}
		roles[name] = role
		return nil
	}
	for _, r := range []struct{ name, role string }{{o.ID, "id"}, {o.Time, "time"}, {o.Weight, "weight"},
		{o.Label, "label"}} {
		if r.name == "" {
			continue
		}
		if err := take(r.name, r.role); err != nil {
			return nil, err
		}
	}
	for i := range o.Schema.Features {
		// An id, time or weight may serve as a feature too; a label may not.
		name := o.Schema.Features[i].Name
		if roles[name] == "label" || roles[name] == "feature" {
			if err := take(name, "feature"); err != nil {
				return nil, err
			}
		}
		roles[name] = "feature"
	}
	d := &Decoder{o: o, missing: map[string]bool{}, events: map[*arrow.Schema]*plan{}}
	d.in.init(o.MaxMessage)
	for _, t := range o.Missing {
		t = string(trim([]byte(t)))
		d.missing[t] = true
		if v, err := strconv.ParseFloat(t, 64); err == nil {
			d.numbers = append(d.numbers, v)
		}
	}
	d.levels = make([]levelColumn, len(o.Schema.Features))
	for f := range d.levels {
		d.levels[f].missing = d.missing
	}
	d.classes = classColumn{schema: o.Schema, missing: d.missing}
	return d, nil
}

// Decode reads an events message into b, whose buffers it reuses; Partition and Offset are set from m. Bad rows are
// left out of b and listed in bad, in order. When err is not nil it is a *MessageError, the whole message is dead, and
// b holds nothing. bad, the texts of b.ID and the content of c are valid until the next call. c receives the
// columns that a ScoreEncoder hands on; nil when none are needed.
func (d *Decoder) Decode(m *Message, b *model.Batch, c *Carry) (bad []RowError, err error) {
	b.N = 0
	merr := d.in.guarded(func() *MessageError {
		s, recs, e := d.in.read(m)
		if e != nil {
			return e
		}
		if s.events == nil {
			s.events = d.planEvents(s.schema)
		}
		bad, e = d.contract(s.events, recs, 0, m, b, c)
		return e
	})
	if merr != nil {
		b.N = 0
		return nil, merr
	}
	return bad, nil
}

// DecodeTable reads rows that did not come as a message, such as those of a file, under the same contract. The rows are
// numbered from first; of m all but Value and Headers are used. The table takes the place of the last message for
// AppendRow.
func (d *Decoder) DecodeTable(t *Table, first int32, m *Message, b *model.Batch, c *Carry) (bad []RowError, err error) {
	b.N = 0
	merr := d.in.guarded(func() *MessageError {
		s := t.rec.Schema()
		p := d.events[s]
		if p == nil {
			if len(d.events) >= maxStreams {
				clear(d.events)
			}
			p = d.planEvents(s)
			d.events[s] = p
		}
		d.in.budget.left = math.MaxInt64
		d.in.last = append(d.in.last[:0], t.rec)
		var e *MessageError
		bad, e = d.contract(p, d.in.last, first, m, b, c)
		return e
	})
	if merr != nil {
		b.N = 0
		return nil, merr
	}
	return bad, nil
}

func (d *Decoder) contract(p *plan, recs []arrow.Record, first int32, m *Message, b *model.Batch, c *Carry) ([]RowError,
	*MessageError) {
	if p.err != nil {
		return nil, p.err
	}
	rows := 0
	for _, r := range recs {
		rows += int(r.NumRows())
	}
	features := d.o.Schema.Features
	if !d.in.budget.take(int64(rows) * int64(8*len(features)+64)) {
		return nil, dead(ReasonTooLarge, "%d rows of %d features", rows, len(features))
	}
	d.bad = d.bad[:0]
	b.Partition, b.Offset = m.Partition, m.Offset
	b.Columns = resize(b.Columns, len(features))
	for f := range features {
		col := &b.Columns[f]
		if features[f].Kind == model.Continuous {
			col.Float, col.Code, col.Levels = resize(col.Float, rows), nil, nil
			at := 0
			for _, r := range recs {
				n := int(r.NumRows())
				if err := d.fillContinuous(col.Float[at:at+n], r.Column(p.features[f])); err != nil {
					return nil, &MessageError{Reason: ReasonDamaged, Column: features[f].Name, Err: err}
				}
				at += n
			}
			continue
		}
		col.Code, col.Float = resize(col.Code, rows), nil
		lc := &d.levels[f]
		lc.begin(col.Levels)
		at := 0
		for _, r := range recs {
			n := int(r.NumRows())
			if err := d.fillLevels(lc, col.Code[at:at+n], r.Column(p.features[f])); err != nil {
				return nil, &MessageError{Reason: ReasonDamaged, Column: features[f].Name, Err: err}
			}
			at += n
		}
		col.Levels = lc.levels
	}
	b.Label = resize(b.Label, rows)
	b.Row = resize(b.Row, rows)
	for i := range b.Row {
		b.Row[i] = first + int32(i)
	}
	d.fillLabels(b.Label, recs, p.label)
	b.ID = d.fillIDs(b.ID, recs, p.id, rows, first)
	b.Time = d.fillTimes(b.Time, recs, p.time, rows, first, m)
	var err error
	if b.Weight, err = d.fillWeights(b.Weight, recs, p.weight, rows, first); err != nil {
		return nil, &MessageError{Reason: ReasonDamaged, Column: d.o.Weight, Err: err}
	}
	b.N = rows
	d.orderBad()
	if c != nil {
		c.recs = append(c.recs[:0], recs...)
		c.plan, c.bad = p, c.bad[:0]
		for i := range d.bad {
			c.bad = append(c.bad, d.bad[i].Row-first)
		}
		c.rows = rows - len(c.bad)
	}
	if len(d.bad) > 0 {
		dropRows(b, d.bad)
	}
	return d.bad, nil
}

// orderBad sorts by row and keeps the first reason of each.
func (d *Decoder) orderBad() {
	slices.SortStableFunc(d.bad, func(a, b RowError) int { return cmp.Compare(a.Row, b.Row) })
	d.bad = slices.CompactFunc(d.bad, func(a, b RowError) bool { return a.Row == b.Row })
}

func dropRows(b *model.Batch, bad []RowError) {
	b.Keep(func(i int) bool {
		_, found := slices.BinarySearchFunc(bad, b.Row[i], func(e RowError, row int32) int { return cmp.Compare(e.Row, row) })
		return !found
	})
}

// DeadRow returns the value of a row's dead letter: the row as AppendRow writes it, or, where it cannot be written, the
// whole message, which is better than nothing. message is the value of the last message decoded.
func (d *Decoder) DeadRow(message []byte, row int32) []byte {
	value, err := d.AppendRow(nil, row)
	if err != nil {
		return message
	}
	return value
}

// AppendRow appends to dst the given row of the last message decoded, as an Arrow stream of that message's schema: the
// value of a dead letter. It serves bad rows of Decode and DecodeLabels until the next call of either.
func (d *Decoder) AppendRow(dst []byte, row int32) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = dst, fmt.Errorf("encoding row %d: %v", row, p)
		}
	}()
	at := int64(row)
	for _, r := range d.in.last {
		if at >= r.NumRows() {
			at -= r.NumRows()
			continue
		}
		one, err := cutRow(r, at)
		if err == nil {
			out, err = d.deadLetters.encode(dst, one)
		}
		if err != nil {
			return dst, fmt.Errorf("encoding row %d: %w", row, err)
		}
		return out, nil
	}
	return dst, fmt.Errorf("encoding row %d: the last message has no such row", row)
}
