package codec

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/model"
)

// plan says where the columns of the contract are in a schema; -1 = absent.
type plan struct {
	err                     *MessageError
	id, time, weight, label int
	features                []int
	partition, offset, row  int
}

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
	if p.label, p.err = findAny(s, d.o.Label, wantText, textual); p.err != nil {
		return p
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
	p := &plan{id: -1, time: -1, partition: -1, offset: -1, row: -1}
	if p.label, p.err = find(s, d.o.Label, wantText, textual); p.err != nil {
		return p
	}
	if d.o.Time != "" {
		if p.time, p.err = findAny(s, d.o.Time, wantTime, temporal); p.err != nil {
			return p
		}
	}
	if d.o.ID != "" {
		if p.id, p.err = findAny(s, d.o.ID, wantText, textual); p.err != nil || p.id >= 0 {
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

// findAny is find, -1 without an error where there is no column of that name.
func findAny(s *arrow.Schema, name, want string, fits func(arrow.DataType) bool) (int, *MessageError) {
	if i, err := lookup(s, name); err != nil || i < 0 {
		return -1, err
	}
	return find(s, name, want, fits)
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
	wantTime   = "a timestamp, a date, a number since 1970 or RFC 3339 text is needed"
)
