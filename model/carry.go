package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"liftstream/model/wire"
)

// SectionSchema is the name of the section that says under which schema, and under which options apart from it, a state
// was made. A state without it is read like any other; only Carry needs it.
const SectionSchema = "schema"

// Change relates the schema of a state to another one.
type Change struct {
	From, To *Schema
	// Feature[f] is the index in From of feature f of To; -1 when From has none that its counts could come from. Two are
	// the same if name, kind, use, direction, special codes and expression are, and the fixed levels of From begin those
	// of To: levels that come later are new, and "(other)" stays so.
	Feature []int
	// Inputs[i][j] is the number that input j of component i had, for the scorecard, which knows inputs by their number;
	// nil for a component whose inputs keep their numbers.
	Inputs [][]int
}

// Relate compares two schemas. The classes of the one must begin those of the other, and the positive class stay, else
// nothing of a state can be kept and the error is ErrModelForeign.
func Relate(from, to *Schema) (*Change, error) {
	if len(from.Classes) > len(to.Classes) || !slices.Equal(from.Classes, to.Classes[:len(from.Classes)]) {
		return nil, fmt.Errorf("classes %q do not begin %q: %w", from.Classes, to.Classes, ErrModelForeign)
	}
	if from.Positive != to.Positive {
		return nil, fmt.Errorf("the positive class is another one: %w", ErrModelForeign)
	}
	c := &Change{From: from, To: to, Feature: make([]int, len(to.Features))}
	for f := range to.Features {
		c.Feature[f] = -1
		if o := from.Feature(to.Features[f].Name); o >= 0 && from.Features[o].becomes(&to.Features[f]) {
			c.Feature[f] = o
		}
	}
	return c, nil
}

// becomes reports whether counts of f are counts of g.
func (f *Feature) becomes(g *Feature) bool {
	if f.Kind != g.Kind || f.Use != g.Use || f.Monotone != g.Monotone || (len(f.Levels) == 0) != (len(g.Levels) == 0) ||
		!slices.Equal(f.Special, g.Special) || f.Derived != g.Derived {
		return false
	}
	return len(f.Levels) <= len(g.Levels) && slices.Equal(f.Levels, g.Levels[:len(f.Levels)])
}

// Index returns the index in To of feature o of From, -1 when it is gone.
func (c *Change) Index(o int) int { return slices.Index(c.Feature, o) }

// Code returns the code in To of code v of feature f of To, as From had it: "(other)" stays "(other)".
func (c *Change) Code(f int, v float64) float64 {
	if n := len(c.From.Features[c.Feature[f]].Levels); n > 0 && v >= float64(n) {
		return float64(len(c.To.Features[f].Levels))
	}
	return v
}

// Row returns a record of From as one of To: a feature that From lacks is missing.
func (c *Change) Row(old Row, dst Row) Row {
	dst = dst[:0]
	for f, o := range c.Feature {
		v := math.NaN()
		if o >= 0 {
			if v = old[o]; c.To.Features[f].Kind != Continuous && !math.IsNaN(v) {
				v = c.Code(f, v)
			}
		}
		dst = append(dst, v)
	}
	return dst
}

// String lists the kept, new and gone features by name.
func (c *Change) String() string {
	var kept, added, gone []string
	for f, o := range c.Feature {
		if o >= 0 {
			kept = append(kept, c.To.Features[f].Name)
		} else {
			added = append(added, c.To.Features[f].Name)
		}
	}
	for o := range c.From.Features {
		if c.Index(o) < 0 {
			gone = append(gone, c.From.Features[o].Name)
		}
	}
	return fmt.Sprintf("kept: %s; new: %s; gone: %s; new classes: %s", strings.Join(kept, ", "), strings.Join(added, ", "),
		strings.Join(gone, ", "), strings.Join(c.To.Classes[len(c.From.Classes):], ", "))
}

// appendOrigin appends the section SectionSchema.
func (s *Spec) appendOrigin(b []byte) []byte {
	return wire.AppendUvarint(s.Schema.AppendBinary(b), s.Options.Frame)
}

// Origin reads the section SectionSchema: the schema of a state, and the Options.Frame under which it was made.
func Origin(section []byte) (*Schema, uint64, error) {
	r := wire.NewReader(section)
	s, err := DecodeSchema(r)
	if err != nil {
		return nil, 0, fmt.Errorf("decoding schema: %w", err)
	}
	frame := r.Uvarint()
	if err := r.Done(); err != nil {
		return nil, 0, fmt.Errorf("decoding schema: %w", err)
	}
	for i := range s.Features {
		f := &s.Features[i]
		if s.Feature(f.Name) != i || f.Kind == Continuous && len(f.Levels) > 0 || f.Kind == Ordinal && len(f.Levels) == 0 {
			return nil, 0, fmt.Errorf("decoding schema: feature %d is impossible", i)
		}
	}
	if len(s.Features) == 0 || len(s.Classes) < 2 {
		return nil, 0, fmt.Errorf("decoding schema: %d features and %d classes", len(s.Features), len(s.Classes))
	}
	return s, frame, nil
}

// Carry returns the state as one of spec, whose schema is another and whose Frame is the same: a new state in which
// everything that mentions no feature that is gone, or has become another, stays as it was: counts of feature sets,
// cells and weights of the scorecard, local curves, prototypes and their histograms, curves of the kernel, class
// counts, calibration, level tables, tail, reservoir and pending store, in which new features are missing. The Model
// that served is not carried over: scoring needs only the states of the components, and the next Fit
// starts from these (see Before). Uplift, misfit and the watch for drift begin anew, and the knowledge of a component
// that is no Carrier is lost until the next model. Waiting records keep their values but not the memory of their
// scores. p must not be used afterwards.
func (p *Partition) Carry(spec *Spec) (*Partition, *Change, error) {
	c, err := Relate(p.spec.Schema, spec.Schema)
	if err != nil {
		return nil, nil, err
	}
	n, err := newPartition(spec, p.self)
	if err != nil {
		return nil, nil, err
	}
	n.trained, n.version, n.clock, n.seen, n.next, n.lost = p.trained, p.version, p.clock, p.seen, p.next, p.lost
	n.still, n.untreated, n.given, n.forgot, n.closed = p.still, p.untreated, p.given, p.forgot, p.closed
	copy(n.counts.sum, p.counts.sum)
	n.counts.square = p.counts.square
	n.percent, n.time = p.percent, p.time
	for f, o := range c.Feature {
		if o >= 0 && spec.Schema.Features[f].Kind != Continuous {
			for _, t := range p.levels.names[o] {
				n.levels.exact(f, t)
			}
		}
	}
	n.sample.carry(&p.sample, c)
	n.store.carry(p.store, c)
	n.Sieve.carry(p.Sieve)
	n.Recency.carry(p.Recency)
	components, scorecard, err := newComponents(spec, n.levels)
	if err != nil {
		return nil, nil, err
	}
	for i, x := range append(slices.Clone(components), Component(scorecard)) {
		name := spec.name(i)
		var inputs []int
		carrier := spec.carrier(i)
		if old := p.Component(name); carrier != nil && old != nil {
			var state []byte
			if state, inputs, err = carrier.CarryState(c, old.AppendState(nil)); err == nil {
				err = x.LoadState(state)
			}
			if err != nil {
				return nil, nil, fmt.Errorf("carrying %s over to another schema: %w", name, err)
			}
		}
		c.Inputs = append(c.Inputs, inputs)
	}
	n.scorer = newScorer(spec, components, scorecard)
	return n, c, nil
}
