package codec

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"

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

	levels  []levelColumn
	classes classColumn
	scratch []byte
	text    []byte
	ends    []int32
	bad     []RowError
	letters streamEncoder
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

// Carry is what of a batch's input the scores hand on, in the Arrow types of the input: id, time, features. It belongs
// to the caller; a Decode given it replaces what it holds, and it stays valid until then.
type Carry struct {
	recs []arrow.Record
	rows int
	bad  []int32 // rows left out, ascending, counted over recs from 0
	plan *plan
}

// column returns the values of a column for the rows that are in the batch, in the type of the input, but plain where
// the dictionaries of several batches do not fit together.
func (c *Carry) column(i int) (arrow.Array, error) {
	if len(c.recs) == 1 && len(c.bad) == 0 {
		return rebased(c.recs[0].Column(i)), nil
	}
	var parts []arrow.Array
	base, bad := int64(0), c.bad
	for _, rec := range c.recs {
		col, from := rec.Column(i), int64(0)
		for ; len(bad) > 0 && int64(bad[0]) < base+rec.NumRows(); bad = bad[1:] {
			if at := int64(bad[0]) - base; at > from {
				parts = append(parts, array.NewSlice(col, from, at))
			}
			from = int64(bad[0]) - base + 1
		}
		if from < rec.NumRows() {
			parts = append(parts, array.NewSlice(col, from, rec.NumRows()))
		}
		base += rec.NumRows()
	}
	if len(parts) == 0 {
		return array.NewSlice(c.recs[0].Column(i), 0, 0), nil
	}
	whole, err := array.Concatenate(parts, memory.DefaultAllocator)
	if _, ok := parts[0].(*array.Dictionary); ok && err != nil {
		return plain(parts)
	}
	return whole, err
}

// plan says where the columns of the contract are in a schema; -1 = absent.
type plan struct {
	err                     *MessageError
	id, time, weight, label int
	features                []int
	partition, offset, row  int
}

func lookup(s *arrow.Schema, name string) (int, *MessageError) {
	k := s.FieldIndices(name)
	switch len(k) {
	case 0:
		return -1, nil
	case 1:
		return k[0], nil
	}
	return -1, &MessageError{Reason: ReasonSchema, Column: name, Err: fmt.Errorf("there %d times", len(k))}
}

func find(s *arrow.Schema, name, want string, fits func(arrow.DataType) bool) (int, *MessageError) {
	i, err := lookup(s, name)
	if err != nil {
		return -1, err
	}
	if i < 0 {
		return -1, &MessageError{Reason: ReasonSchema, Column: name, Err: errors.New("missing")}
	}
	if t := s.Field(i).Type; !fits(t) {
		return -1, &MessageError{Reason: ReasonSchema, Column: name, Err: fmt.Errorf("of type %s; %s", t, want)}
	}
	return i, nil
}

const (
	wantNumber = "a number is needed"
	wantText   = "text, a number or a boolean is needed"
	wantTime   = "a timestamp, a date, integer Unix milliseconds or RFC 3339 text is needed"
)

func (d *Decoder) planEvents(s *arrow.Schema) *plan {
	p := &plan{id: -1, time: -1, weight: -1, label: -1, features: make([]int, len(d.o.Schema.Features))}
	for _, c := range []struct {
		name, want string
		at         *int
		fits       func(arrow.DataType) bool
	}{{d.o.ID, wantText, &p.id, textual}, {d.o.Time, wantTime, &p.time, temporal}, {d.o.Weight, wantNumber, &p.weight,
		numeric}} {
		if c.name == "" {
			continue
		}
		if *c.at, p.err = find(s, c.name, c.want, c.fits); p.err != nil {
			return p
		}
	}
	if p.label, p.err = lookup(s, d.o.Label); p.err != nil {
		return p
	}
	if p.label >= 0 {
		if p.label, p.err = find(s, d.o.Label, wantText, textual); p.err != nil {
			return p
		}
	}
	for i := range d.o.Schema.Features {
		f := &d.o.Schema.Features[i]
		want, fits := wantText, textual
		if f.Kind == model.Continuous {
			want, fits = wantNumber, numeric
		}
		if p.features[i], p.err = find(s, f.Name, want, fits); p.err != nil {
			return p
		}
	}
	return p
}

func (d *Decoder) planLabels(s *arrow.Schema) *plan {
	p := &plan{id: -1, partition: -1, offset: -1, row: -1}
	if p.label, p.err = find(s, d.o.Label, wantText, textual); p.err != nil {
		return p
	}
	if d.o.Time != "" {
		if p.time, p.err = lookup(s, d.o.Time); p.err != nil {
			return p
		}
		if p.time >= 0 {
			if p.time, p.err = find(s, d.o.Time, wantTime, temporal); p.err != nil {
				return p
			}
		}
	} else {
		p.time = -1
	}
	if d.o.ID != "" {
		if p.id, p.err = lookup(s, d.o.ID); p.err != nil {
			return p
		}
		if p.id >= 0 {
			p.id, p.err = find(s, d.o.ID, wantText, textual)
			return p
		}
	}
	whole := func(t arrow.DataType) bool { return arrow.IsInteger(t.ID()) }
	for _, c := range []struct {
		name string
		at   *int
	}{{ColumnPartition, &p.partition}, {ColumnOffset, &p.offset}, {ColumnRow, &p.row}} {
		if *c.at, p.err = find(s, c.name, "an integer is needed", whole); p.err != nil {
			if d.o.ID != "" && len(s.FieldIndices(c.name)) == 0 {
				p.err.Err = fmt.Errorf("missing, and so is the id column %q", d.o.ID)
			}
			return p
		}
	}
	return p
}

// Decode reads an events message into b, whose buffers it reuses; Partition and Offset are set from m. Bad rows are
// left out of b and listed in bad, in order. When err is not nil it is a *MessageError, the whole message is dead, and
// b holds nothing. bad, the texts of b.ID and what c holds are valid until the next call. c receives what a
// ScoreEncoder hands on of the input; nil when nobody will ask.
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

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
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
	keep := func(i int) bool {
		_, found := slices.BinarySearchFunc(bad, b.Row[i], func(e RowError, row int32) int { return cmp.Compare(e.Row, row) })
		return !found
	}
	k := 0
	for i := range b.N {
		if !keep(i) {
			continue
		}
		for f := range b.Columns {
			if c := &b.Columns[f]; c.Float != nil {
				c.Float[k] = c.Float[i]
			} else {
				c.Code[k] = c.Code[i]
			}
		}
		b.Label[k], b.Time[k] = b.Label[i], b.Time[i]
		if b.ID != nil {
			b.ID[k] = b.ID[i]
		}
		if b.Weight != nil {
			b.Weight[k] = b.Weight[i]
		}
		// Row last: keep reads it at positions that are still to come only.
		b.Row[k] = b.Row[i]
		k++
	}
	b.N = k
	for f := range b.Columns {
		if c := &b.Columns[f]; c.Float != nil {
			c.Float = c.Float[:k]
		} else {
			c.Code = c.Code[:k]
		}
	}
	b.Label, b.Time, b.Row = b.Label[:k], b.Time[:k], b.Row[:k]
	if b.ID != nil {
		b.ID = b.ID[:k]
	}
	if b.Weight != nil {
		b.Weight = b.Weight[:k]
	}
}

func (d *Decoder) fillContinuous(dst []float64, a arrow.Array) error {
	if err := fillFloats(dst, a); err != nil {
		return err
	}
	switch a.DataType().ID() {
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.DICTIONARY:
		for i, v := range dst {
			if math.IsInf(v, 0) {
				dst[i] = math.NaN()
			}
		}
	}
	for _, miss := range d.numbers {
		for i, v := range dst {
			if v == miss {
				dst[i] = math.NaN()
			}
		}
	}
	return nil
}

var errOffsets = errors.New("a value lies outside its buffer")

func (d *Decoder) fillLevels(c *levelColumn, dst []uint32, a arrow.Array) error {
	switch a := a.(type) {
	case *array.String:
		return eachText(a, a.ValueOffsets(), func(i int, t []byte) { dst[i] = c.lookup(t) },
			func(i int) { dst[i] = model.MissingCode })
	case *array.Dictionary:
		// By value, and only those that occur: levels are numbered by the rows.
		const unseen = model.MissingCode - 1
		values := a.Dictionary()
		codes := make([]uint32, values.Len())
		for i := range codes {
			codes[i] = unseen
		}
		for i := range dst {
			dst[i] = model.MissingCode
			if a.IsNull(i) {
				continue
			}
			k := a.GetValueIndex(i)
			if k < 0 || k >= len(codes) {
				return errOffsets
			}
			if codes[k] == unseen {
				codes[k] = model.MissingCode
				t, ok := appendText(d.scratch[:0], values, k)
				d.scratch = t
				if ok {
					codes[k] = c.lookup(t)
				}
			}
			dst[i] = codes[k]
		}
		return nil
	}
	for i := range dst {
		t, ok := appendText(d.scratch[:0], a, i)
		d.scratch = t
		dst[i] = model.MissingCode
		if ok {
			dst[i] = c.lookup(t)
		}
	}
	return nil
}

// eachText calls value for every text of a and null for every null, after it has checked that the offsets never go back
// nor outside.
func eachText(a *array.String, offsets []int32, value func(i int, t []byte), null func(i int)) error {
	n := a.Len()
	if n == 0 {
		return nil
	}
	if len(offsets) < n+1 {
		return errOffsets
	}
	data := a.Data().Buffers()[2]
	var all []byte
	if data != nil {
		all = data.Bytes()
	}
	var bitmap []byte
	if a.NullN() > 0 {
		bitmap = a.NullBitmapBytes()
	}
	off := a.Data().Offset()
	lo := offsets[0]
	if lo < 0 {
		return errOffsets
	}
	for i, hi := range offsets[1 : n+1] {
		if hi < lo || int(hi) > len(all) {
			return errOffsets
		}
		if bitmap != nil && !bitutil.BitIsSet(bitmap, off+i) {
			null(i)
		} else {
			value(i, all[lo:hi])
		}
		lo = hi
	}
	return nil
}

func (d *Decoder) fillLabels(dst []int32, recs []arrow.Record, col int) {
	if col < 0 {
		for i := range dst {
			dst[i] = model.Unlabelled
		}
		return
	}
	d.classes.begin()
	for _, r := range recs {
		a := r.Column(col)
		for i := range a.Len() {
			t, ok := appendText(d.scratch[:0], a, i)
			d.scratch = t
			dst[i] = model.Unlabelled
			if ok {
				dst[i] = d.classes.lookup(t)
			}
		}
		dst = dst[a.Len():]
	}
}

func (d *Decoder) reject(row int32, r Reason, column string, a arrow.Array, i int) {
	e := RowError{Row: row, Reason: r, Column: column}
	if !isNull(a, i) {
		t, _ := appendText(nil, a, i)
		if len(t) == 0 {
			t = append(t, a.ValueStr(i)...)
		}
		e.Value = cut(string(t))
	}
	d.bad = append(d.bad, e)
}

func (d *Decoder) fillIDs(dst []string, recs []arrow.Record, col, rows int, first int32) []string {
	if col < 0 {
		return nil
	}
	// One string holds the texts of all ids: one allocation a batch.
	d.text, d.ends = d.text[:0], d.ends[:0]
	row := first
	for _, r := range recs {
		a := r.Column(col)
		for i := range a.Len() {
			n := len(d.text)
			t, ok := appendText(d.text, a, i)
			d.text = t
			if !ok || len(t) == n {
				d.reject(row, ReasonID, d.o.ID, a, i)
			}
			d.ends = append(d.ends, int32(len(d.text)))
			row++
		}
	}
	all, from := string(d.text), int32(0)
	dst = resize(dst, rows)
	for i, to := range d.ends {
		dst[i] = all[from:to]
		from = to
	}
	return dst
}

func (d *Decoder) fillTimes(dst []int64, recs []arrow.Record, col, rows int, first int32, m *Message) []int64 {
	dst = resize(dst, rows)
	limit := int64(math.MaxInt64)
	if d.o.Future > 0 && m.Now != 0 && m.Now < math.MaxInt64-int64(d.o.Future) {
		limit = m.Now + int64(d.o.Future)
	}
	if col < 0 {
		for i := range dst {
			dst[i] = m.Time
		}
		return dst
	}
	at := 0
	for _, r := range recs {
		a := r.Column(col)
		for i := range a.Len() {
			t := m.Time
			if !isNull(a, i) {
				v, ok := unixNano(a, i)
				switch {
				case !ok:
					if !d.missingText(a, i) {
						d.reject(first+int32(at), ReasonTime, d.o.Time, a, i)
					}
				case v > limit:
					d.reject(first+int32(at), ReasonFuture, d.o.Time, a, i)
				default:
					t = v
				}
			}
			dst[at] = t
			at++
		}
	}
	return dst
}

// missingText reports whether a value is null, not finite, or one of the texts that mean missing.
func (d *Decoder) missingText(a arrow.Array, i int) bool {
	t, ok := appendText(d.scratch[:0], a, i)
	d.scratch = t
	return !ok || d.missing[string(trim(t))]
}

func (d *Decoder) fillWeights(dst []float64, recs []arrow.Record, col, rows int, first int32) ([]float64, error) {
	if col < 0 {
		return nil, nil
	}
	dst = resize(dst, rows)
	at := 0
	for _, r := range recs {
		a := r.Column(col)
		part := dst[at : at+a.Len()]
		if err := fillFloats(part, a); err != nil {
			return dst, err
		}
		for i, w := range part {
			if !(w >= 0) || math.IsInf(w, 1) {
				d.reject(first+int32(at+i), ReasonWeight, d.o.Weight, a, i)
			}
		}
		at += a.Len()
	}
	return dst, nil
}

// DecodeLabels reads a labels message into l, whose buffers it reuses. A row names its record by the id column when the
// options have one and the message carries it, else by source_partition, source_offset and source_row. Rows without a
// known class are bad. Time is that of the configured column when the message has it, else the message's.
func (d *Decoder) DecodeLabels(m *Message, l *model.Labels) (bad []RowError, err error) {
	l.N = 0
	merr := d.in.guarded(func() *MessageError {
		s, recs, e := d.in.read(m)
		if e != nil {
			return e
		}
		if s.labels == nil {
			s.labels = d.planLabels(s.schema)
		}
		if s.labels.err != nil {
			return s.labels.err
		}
		bad, e = d.labels(s.labels, recs, m, l)
		return e
	})
	if merr != nil {
		l.N = 0
		return nil, merr
	}
	return bad, nil
}

func (d *Decoder) labels(p *plan, recs []arrow.Record, m *Message, l *model.Labels) ([]RowError, *MessageError) {
	rows := 0
	for _, r := range recs {
		rows += int(r.NumRows())
	}
	if !d.in.budget.take(int64(rows) * 64) {
		return nil, dead(ReasonTooLarge, "%d rows", rows)
	}
	d.bad = d.bad[:0]
	l.Class = resize(l.Class, rows)
	d.fillLabels(l.Class, recs, p.label)
	at := int32(0)
	for _, r := range recs {
		a := r.Column(p.label)
		for i := range a.Len() {
			if l.Class[at] < 0 {
				d.reject(at, ReasonLabel, d.o.Label, a, i)
			}
			at++
		}
	}
	l.ID = d.fillIDs(l.ID, recs, p.id, rows, 0)
	l.Time = d.fillTimes(l.Time, recs, p.time, rows, 0, m)
	l.Partition, l.Offset, l.Row = l.Partition[:0], l.Offset[:0], l.Row[:0]
	if p.id < 0 {
		d.positions(p, recs, l)
	} else {
		l.Partition, l.Offset, l.Row = nil, nil, nil
	}
	l.N = rows
	d.orderBad()
	if len(d.bad) > 0 {
		dropLabels(l, d.bad)
	}
	return d.bad, nil
}

func (d *Decoder) positions(p *plan, recs []arrow.Record, l *model.Labels) {
	row := int32(0)
	for _, r := range recs {
		part, off, pos := r.Column(p.partition), r.Column(p.offset), r.Column(p.row)
		for i := range int(r.NumRows()) {
			get := func(a arrow.Array, name string, limit int64) int64 {
				if !isNull(a, i) {
					if v, ok := integer(a, i); ok && v >= 0 && v <= limit {
						return v
					}
				}
				d.reject(row, ReasonRecord, name, a, i)
				return -1
			}
			l.Partition = append(l.Partition, int32(get(part, ColumnPartition, math.MaxInt32)))
			l.Offset = append(l.Offset, get(off, ColumnOffset, math.MaxInt64))
			l.Row = append(l.Row, int32(get(pos, ColumnRow, math.MaxInt32)))
			row++
		}
	}
}

func dropLabels(l *model.Labels, bad []RowError) {
	k := 0
	for i := range l.N {
		if len(bad) > 0 && bad[0].Row == int32(i) {
			bad = bad[1:]
			continue
		}
		l.Class[k], l.Time[k] = l.Class[i], l.Time[i]
		if l.ID != nil {
			l.ID[k] = l.ID[i]
		} else {
			l.Partition[k], l.Offset[k], l.Row[k] = l.Partition[i], l.Offset[i], l.Row[i]
		}
		k++
	}
	l.N = k
	l.Class, l.Time = l.Class[:k], l.Time[:k]
	if l.ID != nil {
		l.ID = l.ID[:k]
	} else {
		l.Partition, l.Offset, l.Row = l.Partition[:k], l.Offset[:k], l.Row[:k]
	}
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
			out, err = d.letters.encode(dst, one)
		}
		if err != nil {
			return dst, fmt.Errorf("encoding row %d: %w", row, err)
		}
		return out, nil
	}
	return dst, fmt.Errorf("encoding row %d: the last message has no such row", row)
}
