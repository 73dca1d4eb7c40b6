package codec

import (
	"math"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/model"
)

// DecodeLabels reads a labels message into l, whose buffers it reuses. A row names its record by the id column when the
// options have one and the message carries it, else by source_partition, source_offset and source_row. Rows without a
// known class, of the label or of a goal, are bad. Time is that of the configured column when the message has it, else
// the message's.
func (d *Decoder) DecodeLabels(m *Message, l *model.Labels) (bad []RowError, err error) {
	l.N, d.changes = 0, Changes{}
	merr := d.in.guarded(func() *MessageError {
		p, recs, e := d.intake.read(m, StageLabels)
		switch {
		case e != nil:
			return e
		case p.err != nil:
			return p.err
		}
		bad, e = d.labels(p, recs, m, l)
		return e
	})
	if merr != nil {
		l.N = 0
		return nil, merr
	}
	return bad, nil
}

func (d *Decoder) labels(p *plan, recs []arrow.Record, m *Message, l *model.Labels) ([]RowError, *MessageError) {
	if err := d.clocks.timely(m); err != nil {
		return nil, err
	}
	rows := 0
	for _, r := range recs {
		rows += int(r.NumRows())
	}
	if !d.in.account.take(int64(rows) * 64) {
		return nil, d.in.account.refusal()
	}
	d.bad = append(d.bad[:0], d.intake.early...)
	l.Class = resize(l.Class, rows)
	d.fillLabels(l.Class, recs, p.label)
	l.Outcomes = fillGoals(d, l.Outcomes, recs, p, rows)
	shown, column := p.label, d.o.Label
	for k, col := range p.goals {
		if shown < 0 {
			shown, column = col, d.o.Goals[k].Column
		}
	}
	at := int32(0)
	for _, r := range recs {
		a := r.Column(shown)
		for i := range a.Len() {
			if !told(l, int(at)) {
				d.reject(at, ReasonLabel, column, a, i)
			}
			at++
		}
	}
	l.Treated = d.fillTreated(l.Treated, recs, p.treated, rows, 0)
	l.ID = d.fillIDs(l.ID, recs, p.id, rows, 0)
	l.Time = d.fillTimes(l.Time, recs, p.time, rows, 0, m)
	l.Partition, l.Offset, l.Row = l.Partition[:0], l.Offset[:0], l.Row[:0]
	if p.id < 0 {
		d.positions(p, recs, l)
	} else {
		l.Partition, l.Offset, l.Row = nil, nil, nil
	}
	l.N = rows
	d.bad = inOrder(d.bad)
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
		if l.Outcomes != nil {
			l.Outcomes[k] = l.Outcomes[i]
		}
		if l.Treated != nil {
			l.Treated[k] = l.Treated[i]
		}
		if l.ID != nil {
			l.ID[k] = l.ID[i]
		} else {
			l.Partition[k], l.Offset[k], l.Row[k] = l.Partition[i], l.Offset[i], l.Row[i]
		}
		k++
	}
	l.N = k
	l.Class, l.Time = l.Class[:k], l.Time[:k]
	if l.Outcomes != nil {
		l.Outcomes = l.Outcomes[:k]
	}
	if l.Treated != nil {
		l.Treated = l.Treated[:k]
	}
	if l.ID != nil {
		l.ID = l.ID[:k]
	} else {
		l.Partition, l.Offset, l.Row = l.Partition[:k], l.Offset[:k], l.Row[:k]
	}
}
