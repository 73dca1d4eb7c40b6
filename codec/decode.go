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
	Findings Findings

	o       Options
	clocks  clocks
	missing map[string]bool
	numbers []float64 // texts of Missing that are numbers

	in      input
	changes Changes
	events  map[*arrow.Schema]*plan // of tables; those of messages hang at their stream

	derive      *deriver // nil where no feature is derived
	levels      []levelColumn
	classes     classColumn
	goals       []classColumn
	outcomes    []int32 // of a goal
	scratch     []byte
	text        []byte
	ends        []int32
	ids         idTexts
	bad         []RowError
	intake      intake
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
		{o.Label, "label"}, {o.Treated, "treatment"}} {
		if r.name == "" {
			continue
		}
		if err := take(r.name, r.role); err != nil {
			return nil, err
		}
	}
	for _, g := range o.Goals {
		if err := take(g.Column, "label"); err != nil {
			return nil, err
		}
	}
	for i := range o.Schema.Features {
		// An id, time or weight may serve as a feature too; label and treatment may not.
		name := o.Schema.Features[i].Name
		if roles[name] == "label" || roles[name] == "treatment" || roles[name] == "feature" {
			if err := take(name, "feature"); err != nil {
				return nil, err
			}
		}
		roles[name] = "feature"
	}
	if err := o.Numbers.Check(); err != nil {
		return nil, fmt.Errorf("making decoder: %w", err)
	}
	d := &Decoder{o: o, clocks: clocks{int64(o.Future), int64(o.Past)}, missing: map[string]bool{},
		events: map[*arrow.Schema]*plan{}}
	d.in.init(o.MaxMessage, o.Budget)
	d.intake.d = d
	var err error
	if d.derive, err = newDeriver(&d.o); err != nil {
		return nil, err
	}
	for _, t := range o.Missing {
		t = string(trim([]byte(t)))
		d.missing[t] = true
		d.missing[string(model.CanonicalText(nil, []byte(t)))] = true
		if v, err := strconv.ParseFloat(t, 64); err == nil {
			d.numbers = append(d.numbers, v)
		}
	}
	d.levels = make([]levelColumn, len(o.Schema.Features))
	for f := range d.levels {
		d.levels[f].missing, d.levels[f].account = d.missing, &d.in.account
		d.levels[f].found, d.levels[f].name = &d.Findings, o.Schema.Features[f].Name
		for _, t := range o.Schema.Features[f].Levels {
			if d.levels[f].fixed == nil {
				d.levels[f].fixed = map[string]bool{}
			}
			d.levels[f].fixed[t] = true
		}
	}
	goalColumns(d)
	d.classes = classColumn{known: model.NewClassIndex(o.Schema.Classes), missing: d.missing, account: &d.in.account,
		found: &d.Findings}
	return d, nil
}

// Decode reads an events message into b, whose buffers it reuses; Partition and Offset are set from m. Bad rows are
// left out of b and listed in bad, in order. When err is a *MessageError the whole message is dead; the only other
// error is ErrStopped. b holds nothing then. bad, the texts of b.ID and the content of c are valid until the next
// call. c receives the columns that a ScoreEncoder hands on; nil when none are needed.
func (d *Decoder) Decode(m *Message, b *model.Batch, c *Carry) (bad []RowError, err error) {
	b.N, d.changes = 0, Changes{}
	merr := d.in.guarded(func() *MessageError {
		p, recs, e := d.intake.read(m, StageEvents)
		if e != nil {
			return e
		}
		bad, e = d.contract(p, recs, 0, m, b, c)
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
	b.N, d.changes = 0, Changes{}
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
		d.intake.reset()
		d.in.account.begin(nil)
		limit, shared := d.in.account.limit, d.in.account.shared
		d.in.account.limit, d.in.account.shared = math.MaxInt64, nil
		defer func() { d.in.account.limit, d.in.account.shared = limit, shared }()
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
	if err := d.clocks.timely(m); err != nil {
		return nil, err
	}
	rows := 0
	for _, r := range recs {
		rows += int(r.NumRows())
	}
	features := d.o.Schema.Features
	if !d.in.account.take(int64(rows) * int64(8*len(features)+64)) {
		return nil, d.in.account.refusal()
	}
	d.bad = append(d.bad[:0], d.intake.early...)
	b.Partition, b.Offset = m.Partition, m.Offset
	b.Columns = resize(b.Columns, len(features))
	for f := range features {
		if features[f].Derived != "" {
			continue
		}
		if err := d.fillFeature(&b.Columns[f], f, recs, p.features[f], rows, first); err != nil {
			return nil, &MessageError{Reason: ReasonDamaged, Column: features[f].Name, Err: err}
		}
		if !d.in.account.running() {
			return nil, d.in.account.refusal()
		}
	}
	b.Label = resize(b.Label, rows)
	b.Row = resize(b.Row, rows)
	for i := range b.Row {
		b.Row[i] = first + int32(i)
	}
	d.fillLabels(b.Label, recs, p.label)
	b.Outcomes = fillGoals(d, b.Outcomes, recs, p, rows)
	b.ID = d.fillIDs(b.ID, recs, p.id, rows, first)
	b.Time = d.fillTimes(b.Time, recs, p.time, rows, first, m)
	var err error
	if b.Weight, err = d.fillWeights(b.Weight, recs, p.weight, rows, first); err != nil {
		return nil, &MessageError{Reason: ReasonDamaged, Column: d.o.Weight, Err: err}
	}
	b.Treated = d.fillTreated(b.Treated, recs, p.treated, rows, first)
	if err := d.derive.fill(d, b, recs, p, rows, first); err != nil {
		return nil, err
	}
	b.N = rows
	d.bad = inOrder(d.bad)
	if c != nil {
		c.recs = append(c.recs[:0], recs...)
		c.plan, c.bad = p, c.bad[:0]
		for i := range d.bad {
			c.bad = append(c.bad, d.bad[i].Row-first)
		}
		c.rows = rows - len(c.bad)
		if err := d.derive.keep(d, c, b); err != nil {
			return nil, err
		}
		if err := c.prepare(&d.o, &d.in.account); err != nil {
			return nil, err
		}
	}
	if len(d.bad) > 0 {
		dropRows(b, d.bad)
	}
	return d.bad, nil
}

// fillFeature fills the column of feature f; col is -1 where the message lacks it.
func (d *Decoder) fillFeature(c *model.Column, f int, recs []arrow.Record, col, rows int, first int32) error {
	lc := &d.levels[f]
	if d.o.Schema.Features[f].Kind == model.Continuous {
		c.Float, c.Code, c.Levels = resize(c.Float, rows), nil, nil
		lc = nil
	} else {
		c.Code, c.Float = resize(c.Code, rows), nil
		lc.begin(c.Levels)
	}
	if col < 0 {
		d.changes.Absent += rows
		for i := range c.Float {
			c.Float[i] = math.NaN()
		}
		for i := range c.Code {
			c.Code[i] = model.MissingCode
		}
		if lc != nil {
			c.Levels = lc.levels
		}
		return nil
	}
	name := d.o.Schema.Features[f].Name
	nullable, said := d.o.Nullable[name]
	at := 0
	for _, r := range recs {
		n, a := int(r.NumRows()), r.Column(col)
		var err error
		if lc == nil && written(a.DataType()) {
			d.fillWritten(c.Float[at:at+n], a, name, first+int32(at))
		} else if lc == nil {
			err = d.fillContinuous(c.Float[at:at+n], d.o.Schema.Features[f].Special, a)
		} else {
			err = d.fillLevels(lc, c.Code[at:at+n], a)
		}
		if err != nil {
			return err
		}
		for i := at; said && !nullable && i < at+n; i++ {
			if lc == nil && c.Float[i] != c.Float[i] || lc != nil && c.Code[i] == model.MissingCode {
				d.reject(first+int32(i), ReasonNull, name, a, i-at)
			}
		}
		at += n
	}
	if lc != nil {
		c.Levels = lc.levels
		d.changes.Text += lc.replaced
		d.changes.Shortened += lc.shortened
	}
	return nil
}

// inOrder sorts by row and keeps the first reason of each.
func inOrder(bad []RowError) []RowError {
	slices.SortStableFunc(bad, func(a, b RowError) int { return cmp.Compare(a.Row, b.Row) })
	return slices.CompactFunc(bad, func(a, b RowError) bool { return a.Row == b.Row })
}

func dropRows(b *model.Batch, bad []RowError) {
	b.Keep(func(i int) bool {
		_, found := slices.BinarySearchFunc(bad, b.Row[i], func(e RowError, row int32) int { return cmp.Compare(e.Row, row) })
		return !found
	})
}

// Changes counts the values of the last message that the batch holds otherwise than they were sent.
func (d *Decoder) Changes() Changes { return d.changes }

// Release gives back the memory of the last message: its share of Options.Budget, and buffers that grew large for it.
// AppendRow, DeadRow and the Carry of that message must not be used afterwards. A decoder with a Budget must be
// released after each message. It reports whether the message was so large that its batch is not worth keeping either.
func (d *Decoder) Release() (large bool) {
	large = d.in.account.spent > keptBytes
	d.in.account.begin(nil)
	clear(d.in.last)
	d.in.last = d.in.last[:0]
	d.intake.reset()
	if large {
		d.text, d.scratch, d.ends, d.bad, d.ids = nil, nil, nil, nil, idTexts{}
		d.intake = intake{d: d}
		d.in.buffers, d.in.frames = nil, nil
		d.derive.forget()
		for f := range d.levels {
			d.levels[f].forget()
		}
	}
	d.in.values = nil
	return large
}

// keptBytes is the size of a message whose buffers are worth keeping for the next one.
const keptBytes = 8 << 20

// DeadRow returns the value of a row's dead letter: the row as AppendRow writes it, or, where it cannot be written, the
// whole message, which is better than nothing. message is the value of the last message decoded.
func (d *Decoder) DeadRow(message []byte, row int32) []byte {
	value, err := d.AppendRow(nil, row)
	if err != nil {
		return message
	}
	return value
}

// AppendRow appends to dst the given row of the last message decoded: the value of a dead letter. It is an Arrow stream
// of that message's schema, or the bytes of the row where the message is none. It serves bad rows of Decode and
// DecodeLabels until the next call of either.
func (d *Decoder) AppendRow(dst []byte, row int32) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = dst, fmt.Errorf("encoding row %d: %v", row, p)
		}
	}()
	if line := d.intake.line(row); line != nil {
		return append(dst, line...), nil
	}
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
