package codec

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"liftstream/model"
)

// Function is the function of a Derivation.
type Function uint8

const (
	Source  Function = iota // the column, or the time of the record where Column is ""
	Hour                    // hour of the day in Zone, 0 to 23
	Weekday                 // code 0 to 6: Monday to Sunday
	Day                     // day of the month, 1 to 31
	Month                   // code 0 to 11: January to December
	Age                     // (time of the record - time of Of[0]) / Per
	Ratio                   // Of[0] / Of[1]
	Log                     // natural logarithm of Of[0]
	Bucket                  // code of the cell between Cuts: above the cut before and up to its own
)

// Derivation computes a feature from columns of the same record. A missing argument gives a missing value, and so do
// division by zero, the logarithm of a number that is not above 0, and each result that is no finite number. The result
// depends on the row alone, and is the same bits in messages and files.
type Derivation struct {
	Function Function
	Column   string
	Of       []Derivation
	Per      time.Duration  // of an Age
	Unit     time.Duration  // of numbers in a column of times; 0 as in Options.TimeUnit
	Zone     *time.Location // of parts of a date
	Cuts     []float64      // of a Bucket, ascending, at least one
	Special  []float64      // numbers of Column that are codes and no quantities: missing
}

// ofTimes reports whether the arguments are times.
func (f Function) ofTimes() bool { return f >= Hour && f <= Age }

// SourceColumn is a column that derived features are computed from.
type SourceColumn struct {
	Name  string
	Times bool // its values are times, else numbers
}

// Sources returns the columns that the derived features are computed from. A column may be there twice, as times and as
// numbers.
func (o *Options) Sources() (columns []SourceColumn) {
	var walk func(d *Derivation, times bool)
	walk = func(d *Derivation, times bool) {
		if c := (SourceColumn{d.Column, times}); d.Function == Source && c.Name != "" && !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
		for i := range d.Of {
			walk(&d.Of[i], d.Function.ofTimes())
		}
	}
	for i := range o.Schema.Features {
		if d, ok := o.Derived[o.Schema.Features[i].Name]; ok {
			walk(&d, false)
		}
	}
	return columns
}

// noTime stands for a missing time.
const noTime = math.MinInt64

// source is one way in which a column is read.
type source struct {
	name    string
	times   bool
	unit    time.Duration
	special []float64
	feature int // the continuous feature that is this column, -1 = none: its numbers are read already
	numbers []float64
	nanos   []int64
}

// deriveStep is a function with its arguments.
type deriveStep struct {
	Derivation
	source int // of a Source; -1 = the time of the record
	of     []*deriveStep
	out    []float64
}

// deriver computes the derived features of a decoder.
type deriver struct {
	sources []source
	steps   []*deriveStep // by feature, nil for columns
	recent  []bool        // by feature: it tells of former records, and is filled by others
	cells   int64         // numbers that a row takes
}

// newDeriver fails where a derived feature of the schema has no derivation that fits.
func newDeriver(o *Options) (*deriver, error) {
	v := &deriver{steps: make([]*deriveStep, len(o.Schema.Features)), recent: make([]bool, len(o.Schema.Features))}
	any := false
	if o.Recency != nil {
		for i := range o.Recency.Features {
			v.recent[o.Recency.Features[i].Feature] = true
		}
	}
	for f := range o.Schema.Features {
		x := &o.Schema.Features[f]
		if x.Derived == "" {
			continue
		}
		if v.recent[f] && x.Kind == model.Continuous {
			v.cells, any = v.cells+1, true
			continue
		}
		d, ok := o.Derived[x.Name]
		levels := map[Function]int{Weekday: 7, Month: 12, Bucket: len(d.Cuts) + 1}[d.Function]
		if !ok || d.Function == Source || (x.Kind == model.Continuous) != (levels == 0) || len(x.Levels) != levels {
			return nil, fmt.Errorf("making decoder: feature %q is not derived as %s", x.Name, x.Derived)
		}
		v.steps[f], any = v.step(o, &d, false), true
	}
	if !any {
		return nil, nil
	}
	return v, nil
}

// step makes the step of a derivation; times says that it is the argument of a function of times.
func (v *deriver) step(o *Options, d *Derivation, times bool) *deriveStep {
	s := &deriveStep{Derivation: *d, source: -1}
	v.cells++
	if d.Function == Source && d.Column != "" {
		x := source{name: d.Column, times: times, unit: d.Unit, special: d.Special, feature: -1}
		if f := o.Schema.Feature(d.Column); f >= 0 && !times && o.Schema.Features[f].Kind == model.Continuous {
			x.feature = f
		}
		s.source = slices.IndexFunc(v.sources, func(y source) bool {
			return y.name == x.name && y.times == x.times && y.unit == x.unit && slices.Equal(y.special, x.special)
		})
		if s.source < 0 {
			s.source, v.sources = len(v.sources), append(v.sources, x)
		}
	}
	for i := range d.Of {
		s.of = append(s.of, v.step(o, &d.Of[i], d.Function.ofTimes()))
	}
	return s
}

// plan finds the columns of the sources, and adds their differences; a column has one. A nil deriver has no sources.
func (v *deriver) plan(d *Decoder, s *arrow.Schema, p *plan, differences []*MessageError) []*MessageError {
	if v == nil {
		return differences
	}
	p.sources = make([]int, len(v.sources))
	for i := range v.sources {
		x := &v.sources[i]
		if p.sources[i] = -1; x.feature >= 0 {
			continue
		}
		want, fits := wantNumber, numeric
		switch {
		case x.times:
			want, fits = wantTime, temporal
		case !d.o.Numbers.Plain():
			fits = numericOrWritten
		}
		var err *MessageError
		if d.o.Nullable[x.name] {
			p.sources[i], err = findAny(s, x.name, want, fits)
		} else {
			p.sources[i], err = find(s, x.name, want, fits)
		}
		if err != nil && !slices.ContainsFunc(differences, func(e *MessageError) bool { return e.Column == x.name }) {
			err.Err = fmt.Errorf("%w (a derived feature needs it)", err.Err)
			differences = append(differences, err)
		}
	}
	return differences
}

// fill computes the derived features of b, of which times and columns are filled. A value of a source that is read
// neither as a number nor as a time, as its function needs it, makes its row a bad one.
func (v *deriver) fill(d *Decoder, b *model.Batch, recs []arrow.Record, p *plan, rows int, first int32) *MessageError {
	if v == nil {
		return nil
	}
	if !d.in.account.take(8 * int64(rows) * (int64(len(v.sources)) + v.cells)) {
		return d.in.account.refusal()
	}
	for i := range v.sources {
		x := &v.sources[i]
		if err := x.fill(d, b, recs, p.sources[i], rows, first); err != nil {
			return &MessageError{Reason: ReasonDamaged, Column: x.name, Err: err}
		}
		if !d.in.account.running() {
			return d.in.account.refusal()
		}
	}
	for f, s := range v.steps {
		c := &b.Columns[f]
		if v.recent[f] {
			c.Float, c.Code, c.Levels = resize(c.Float, rows), nil, nil
			for i := range c.Float {
				c.Float[i] = math.NaN()
			}
		}
		if s == nil {
			continue
		}
		values := v.run(s, b.Time[:rows])
		if levels := d.o.Schema.Features[f].Levels; len(levels) > 0 {
			c.Float, c.Code, c.Levels = nil, resize(c.Code, rows), append(c.Levels[:0], levels...)
			for i, x := range values {
				if c.Code[i] = model.MissingCode; x == x {
					c.Code[i] = uint32(x)
				}
			}
			continue
		}
		c.Float, c.Code, c.Levels = resize(c.Float, rows), nil, nil
		copy(c.Float, values)
	}
	return nil
}

// fill reads the column.
func (x *source) fill(d *Decoder, b *model.Batch, recs []arrow.Record, col, rows int, first int32) error {
	if x.times {
		x.nanos = resize(x.nanos, rows)
		x.fillNanos(d, recs, col, first)
		return nil
	}
	x.numbers = resize(x.numbers, rows)
	if x.feature >= 0 {
		copy(x.numbers, b.Columns[x.feature].Float)
	} else if err := x.fillNumbers(d, recs, col, first); err != nil {
		return err
	}
	for i, n := range x.numbers {
		if slices.Contains(x.special, n) {
			x.numbers[i] = math.NaN()
		}
	}
	return nil
}

// fillNumbers reads the column as numbers; col is -1 where the message lacks it.
func (x *source) fillNumbers(d *Decoder, recs []arrow.Record, col int, first int32) error {
	if col < 0 {
		for i := range x.numbers {
			x.numbers[i] = math.NaN()
		}
		return nil
	}
	at := 0
	for _, r := range recs {
		a := r.Column(col)
		part := x.numbers[at : at+a.Len()]
		if written(a.DataType()) {
			d.fillWritten(part, a, x.name, first+int32(at))
		} else if err := d.fillContinuous(part, x.special, a); err != nil {
			return err
		}
		at += a.Len()
	}
	return nil
}

// fillNanos reads the column as times; col is -1 where the message lacks it.
func (x *source) fillNanos(d *Decoder, recs []arrow.Record, col int, first int32) {
	for i := range x.nanos {
		x.nanos[i] = noTime
	}
	if col < 0 {
		return
	}
	at := 0
	for _, r := range recs {
		a := r.Column(col)
		for i := range a.Len() {
			if isNull(a, i) {
				at++
				continue
			}
			if t, ok := timeIn(a, i, x.unit); ok {
				x.nanos[at] = t
			} else if !d.missingText(a, i) {
				d.reject(first+int32(at), ReasonTime, x.name, a, i)
			}
			at++
		}
	}
}

// forget gives back the buffers.
func (v *deriver) forget() {
	if v == nil {
		return
	}
	for i := range v.sources {
		v.sources[i].numbers, v.sources[i].nanos = nil, nil
	}
	for _, s := range v.steps {
		s.forget()
	}
}

func (s *deriveStep) forget() {
	if s == nil {
		return
	}
	s.out = nil
	for _, x := range s.of {
		x.forget()
	}
}

// run computes a step for all rows; times are those of the records, 0 = a record has none. The result is valid until
// the next run.
func (v *deriver) run(s *deriveStep, times []int64) []float64 {
	if s.Function == Source {
		return v.sources[s.source].numbers
	}
	s.out = resize(s.out, len(times))
	if s.Function.ofTimes() {
		of := times
		if k := s.of[0].source; k >= 0 {
			of = v.sources[k].nanos
		}
		for i, t := range of {
			s.out[i] = s.ofTime(t, times[i], s.of[0].source < 0)
		}
		return s.out
	}
	var a, b []float64
	if a = v.run(s.of[0], times); s.Function == Ratio {
		b = v.run(s.of[1], times)
	}
	for i, x := range a {
		y := math.NaN()
		switch {
		case s.Function == Ratio && b[i] != 0:
			y = x / b[i]
		case s.Function == Log && x > 0:
			y = logarithm(x)
		case s.Function == Bucket && x == x:
			y = float64(sort.SearchFloat64s(s.Cuts, x))
		}
		if y-y != 0 {
			y = math.NaN()
		}
		s.out[i] = y
	}
	return s.out
}

// logarithm is the natural logarithm of a number above 0. That of package math takes the subnormal numbers, those below
// 2^-1022, for numbers close to it on some processors.
func logarithm(x float64) float64 {
	if x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// ofTime is the value of a function of a time; own says that t is the time of the record, now. A record without a time
// has time 0.
func (s *deriveStep) ofTime(t, now int64, own bool) float64 {
	if own && t == 0 || t == noTime {
		return math.NaN()
	}
	if s.Function == Age {
		switch {
		case now == 0:
			return math.NaN()
		case now < t: // two times may be further apart than an int64 holds
			return -float64(uint64(t)-uint64(now)) / float64(s.Per)
		}
		return float64(uint64(now)-uint64(t)) / float64(s.Per)
	}
	at := time.Unix(0, t).In(s.Zone)
	switch s.Function {
	case Hour:
		return float64(at.Hour())
	case Weekday:
		return float64((int(at.Weekday()) + 6) % 7)
	case Day:
		return float64(at.Day())
	}
	return float64(at.Month() - time.January)
}

// derivedType is the type in which scores hand a derived feature on.
func derivedType(f *model.Feature) arrow.DataType {
	if f.Kind == model.Continuous {
		return arrow.PrimitiveTypes.Float64
	}
	return arrow.BinaryTypes.String
}

// keep copies the derived features of all rows of b into c, for scores that hand features on.
func (v *deriver) keep(d *Decoder, c *Carry, b *model.Batch) *MessageError {
	c.derived = nil
	if v == nil || d.o.Features == FeaturesNone {
		return nil
	}
	c.derived = make([]arrow.Array, len(v.steps))
	for f, s := range v.steps {
		if s == nil {
			continue
		}
		x, longest := &d.o.Schema.Features[f], 8
		for _, l := range x.Levels {
			longest = max(longest, len(l)+5)
		}
		if !d.in.account.take(4 * int64(b.N) * int64(longest)) {
			return d.in.account.refusal()
		}
		if x.Kind == model.Continuous {
			c.derived[f] = numbersOf(b, f)
			continue
		}
		out := array.NewStringBuilder(memory.DefaultAllocator)
		for _, code := range b.Columns[f].Code[:b.N] {
			if code == model.MissingCode {
				out.AppendNull()
			} else {
				out.Append(x.Levels[code])
			}
		}
		c.derived[f] = out.NewArray()
	}
	return nil
}

// numbersOf returns the numbers of a feature of all rows of b.
func numbersOf(b *model.Batch, f int) arrow.Array {
	out := array.NewFloat64Builder(memory.DefaultAllocator)
	for _, y := range b.Columns[f].Float[:b.N] {
		if y == y {
			out.Append(y)
		} else {
			out.AppendNull()
		}
	}
	return out.NewArray()
}

// feature returns the column of a feature for the rows that are in the batch.
func (c *Carry) feature(f int) (arrow.Array, error) {
	if f >= len(c.derived) || c.derived[f] == nil {
		return c.column(c.plan.features[f])
	}
	var parts []arrow.Array
	whole, from := c.derived[f], int64(0)
	for _, bad := range c.bad {
		if int64(bad) > from {
			parts = append(parts, array.NewSlice(whole, from, int64(bad)))
		}
		from = int64(bad) + 1
	}
	if n := int64(whole.Len()); from < n || len(parts) == 0 {
		parts = append(parts, array.NewSlice(whole, min(from, n), n))
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return array.Concatenate(parts, memory.DefaultAllocator)
}
