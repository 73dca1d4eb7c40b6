package codec

import (
	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/model"
)

// Input is the encoding of the messages of events and labels.
type Input uint8

const (
	InputArrow Input = iota // one Arrow IPC stream
	InputJSONL              // JSON objects, one a line
	InputJSON               // one JSON object, which the frame of a schema registry may precede
	InputAvro               // one Avro record behind the id of its schema, which Options.Schemas has
)

// intake reads the messages of a Decoder, in any encoding.
type intake struct {
	d       *Decoder
	early   []RowError          // of the message, before its columns are looked at
	lines   [][]byte            // of the last message, by row; none where it is Arrow
	objects map[string]*objects // by stage
	avro    map[uint32]*avroStream
	names   map[string]string // of columns, by their names in Avro
	headers *Headers          // of the message in hand
}

// read returns the record batches of a message, in any encoding, and where their columns are.
func (k *intake) read(m *Message, stage string) (*plan, []arrow.Record, *MessageError) {
	k.reset()
	k.headers = &m.Headers
	defer func() { k.headers = nil }()
	if k.d.o.Input == InputArrow {
		return k.readArrow(m, stage)
	}
	announced, err := k.d.in.open(m)
	if err != nil {
		return nil, nil, err
	}
	read := k.readObjects
	if k.d.o.Input == InputAvro {
		read = k.readAvro
	}
	p, rec, err := read(m.Value, stage)
	switch {
	case err != nil:
		return nil, nil, err
	case announced >= 0 && announced != rec.NumRows():
		return nil, nil, dead(ReasonRows, "the header says %d, the message holds %d", announced, rec.NumRows())
	}
	k.d.in.last = append(k.d.in.last[:0], rec)
	return p, k.d.in.last, nil
}

// reset forgets the last message.
func (k *intake) reset() {
	clear(k.lines)
	k.early, k.lines = k.early[:0], k.lines[:0]
}

// line is the bytes of a row of the last message, nil where that is Arrow.
func (k *intake) line(row int32) []byte {
	if int(row) >= len(k.lines) {
		return nil
	}
	return k.lines[row]
}

func (k *intake) readArrow(m *Message, stage string) (*plan, []arrow.Record, *MessageError) {
	s, recs, err := k.d.in.read(m)
	if err != nil {
		return nil, nil, err
	}
	if stage == StageLabels {
		if s.labels == nil {
			s.labels = k.d.planLabels(s.schema)
		}
		return s.labels, recs, nil
	}
	if s.events == nil {
		s.events = k.d.planEvents(s.schema)
	}
	return s.events, recs, nil
}

// refuse makes a row bad while its message is read, with the fault in words.
func (k *intake) refuse(row int32, r Reason, fault string) {
	if k.d.in.account.take(int64(rowErrorCost + len(fault))) {
		k.early = append(k.early, RowError{Row: row, Reason: r, Value: fault})
	}
}

// rolesOf lists the columns that the options name for a stage. Their places in p are set by the caller.
func rolesOf(d *Decoder, p *plan, stage string) []role {
	o := &d.o
	var out []role
	add := func(name string, kind valueKind, needed bool, at *int) {
		if *at = -1; name != "" {
			out = append(out, role{name: name, kind: kind, needed: needed, at: at})
		}
	}
	events := stage == StageEvents
	add(o.ID, valueText, events, &p.id)
	add(o.Time, valueText, events, &p.time)
	add(o.Label, valueText, !events && len(o.Goals) == 0, &p.label)
	p.goals = make([]int, len(o.Goals))
	for k := range o.Goals {
		add(o.Goals[k].Column, valueText, false, &p.goals[k])
	}
	add(o.Treated, valueText, false, &p.treated)
	p.weight = -1
	if !events {
		add(ColumnPartition, valueWhole, false, &p.partition)
		add(ColumnOffset, valueWhole, false, &p.offset)
		add(ColumnRow, valueWhole, false, &p.row)
		return out
	}
	add(o.Weight, valueNumber, true, &p.weight)
	p.features = make([]int, len(o.Schema.Features))
	for i := range o.Schema.Features {
		f := &o.Schema.Features[i]
		if p.features[i] = -1; f.Derived != "" {
			continue
		}
		kind := valueText
		if f.Kind == model.Continuous {
			kind = valueNumber
		}
		add(f.Name, kind, !o.Nullable[f.Name], &p.features[i])
		out[len(out)-1].feature = true
	}
	if d.derive == nil {
		return out
	}
	p.sources = make([]int, len(d.derive.sources))
	for i, x := range d.derive.sources {
		if p.sources[i] = -1; x.feature >= 0 {
			continue
		}
		kind := valueNumber
		if x.times {
			kind = valueText
		}
		add(x.name, kind, !o.Nullable[x.name], &p.sources[i])
	}
	return out
}

// role is a column of the contract.
type role struct {
	name    string
	kind    valueKind
	needed  bool // a row without it is refused
	feature bool
	at      *int
}

type valueKind uint8

const (
	valueText   valueKind = iota // compared by its canonical text
	valueNumber                  // a quantity
	valueWhole                   // a part of a record's position
)
