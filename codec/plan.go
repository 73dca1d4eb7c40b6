package codec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"liftstream/model"
)

// plan says where the columns of the contract are in a schema; -1 = absent.
type plan struct {
	err                     *MessageError
	id, time, weight, label int
	treated                 int
	goals                   []int // nil without goals
	features                []int
	sources                 []int // of derived features
	partition, offset, row  int
}

func (d *Decoder) planEvents(s *arrow.Schema) *plan {
	p := &plan{id: -1, time: -1, weight: -1, label: -1, treated: -1, features: make([]int, len(d.o.Schema.Features))}
	var err *MessageError
	var differences []*MessageError
	for _, c := range []struct {
		name, want string
		at         *int
		fits       func(arrow.DataType) bool
	}{{d.o.ID, wantText, &p.id, textual}, {d.o.Time, wantTime, &p.time, temporal}, {d.o.Weight, wantNumber, &p.weight,
		numeric}} {
		if c.name == "" {
			continue
		}
		if *c.at, err = find(s, c.name, c.want, c.fits); err != nil {
			differences = append(differences, err)
		}
	}
	if p.label, err = findAny(s, d.o.Label, wantLevel, level); err != nil {
		differences = append(differences, err)
	}
	if err = planGoals(d, s, p); err != nil {
		differences = append(differences, err)
	}
	if d.o.Treated != "" {
		if p.treated, err = findAny(s, d.o.Treated, wantText, textual); err != nil {
			differences = append(differences, err)
		}
	}
	for i := range d.o.Schema.Features {
		f := &d.o.Schema.Features[i]
		if p.features[i] = -1; f.Derived != "" {
			continue
		}
		want, fits := wantLevel, level
		if f.Kind == model.Continuous {
			want, fits = wantNumber, numeric
			if !d.o.Numbers.Plain() {
				fits = numericOrWritten
			}
		}
		nullable, said := d.o.Nullable[f.Name]
		if said && nullable {
			p.features[i], err = findAny(s, f.Name, want, fits)
		} else {
			p.features[i], err = find(s, f.Name, want, fits)
		}
		if err != nil {
			if said && !nullable {
				err.Err = fmt.Errorf("%w (it must not be null)", err.Err)
			}
			differences = append(differences, err)
		}
	}
	p.err = together(d.derive.plan(d, s, p, differences))
	return p
}

// named is how many differences an error names.
const named = 8

// together makes one error of all differences between the contract and a schema: the first, and the others in words.
func together(differences []*MessageError) *MessageError {
	if len(differences) < 2 {
		return slices.Concat(differences, []*MessageError{nil})[0]
	}
	all := *differences[0]
	for i, e := range differences[1:] {
		if i+1 == named {
			all.Err = fmt.Errorf("%w; and %d more columns", all.Err, len(differences)-named)
			break
		}
		all.Err = fmt.Errorf("%w; column %q: %w", all.Err, e.Column, e.Err)
	}
	return &all
}

// alike returns in words the columns whose names differ from a missing one by capitals and spaces alone, or the record
// that has it.
func alike(s *arrow.Schema, name string) string {
	if s.NumFields() > 1000 {
		return "" // each missing column is compared with all
	}
	fold := func(t string) string { return strings.ToLower(strings.Join(strings.Fields(t), "")) }
	for _, f := range s.Fields() {
		if fold(f.Name) == fold(name) {
			return fmt.Sprintf("; there is a column %q", cut(f.Name))
		}
	}
	for i := range name {
		if name[i] != '.' {
			continue
		}
		if k := s.FieldIndices(name[:i]); len(k) > 0 && s.Field(k[0]).Type.ID() == arrow.STRUCT {
			return fmt.Sprintf("; %q is a record, whose fields input.nested: on makes columns", cut(name[:i]))
		}
	}
	return ""
}

func (d *Decoder) planLabels(s *arrow.Schema) *plan {
	p := &plan{id: -1, time: -1, weight: -1, treated: -1, partition: -1, offset: -1, row: -1}
	if p.err = planClasses(d, s, p); p.err != nil {
		return p
	}
	if d.o.Time != "" {
		if p.time, p.err = findAny(s, d.o.Time, wantTime, temporal); p.err != nil {
			return p
		}
	}
	if d.o.Treated != "" {
		if p.treated, p.err = findAny(s, d.o.Treated, wantText, textual); p.err != nil {
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
		if *c.at, p.err = find(s, c.name, wantWhole, whole); p.err != nil {
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
		return -1, &MessageError{Reason: ReasonSchema, Column: name, Err: errors.New("missing" + alike(s, name))}
	}
	if f := s.Field(i); !fits(f.Type) {
		null := ""
		if !f.Nullable {
			null = " not null"
		}
		return -1, &MessageError{Reason: ReasonSchema, Column: name,
			Err: fmt.Errorf("of type %s%s; %s", cut(f.Type.String()), null, want)}
	}
	return i, nil
}

const (
	wantNumber = "a number is needed"
	wantWhole  = "an integer is needed"
	wantText   = "text, a number or a boolean is needed"
	wantLevel  = "text, a number, a boolean, a timestamp or a date is needed"
	wantTime   = "a timestamp, a date, a number since 1970 or RFC 3339 text is needed"
)
