package lift

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/wire"
)

// partFormat and stateFormat are the versions of the binary forms, which FORMAT.md describes.
const (
	partFormat  = 4
	stateFormat = 3
	// Before these, profiles had no number that their intervals hold for, and windows neither a corrected eta nor an
	// interval.
	oldPartFormat  = 3
	oldStateFormat = 2
)

// Bounds of the lists of a part and of a state.
const (
	maxMonitored  = 10000
	maxWindows    = 1 << 16
	maxProfiles   = 10_000 * 1000 // lift.profiles.top is of each class: the largest one, of the most classes
	maxPartitions = 1 << 16
)

// Part is the lift component's part of a Model.
type Part struct {
	// Rank orders the sets and windows.
	Rank     Rank
	Sets     []PartSet // best first
	Windows  []*Window // best first
	Profiles []*Profile
	Entered  []*Entered // in the order in which they entered
	// Exhausted is the size up to which every feature set was tried, Tried their number, Depth the largest number of
	// features of a profile, Inexact the number of sets whose search for windows of a minimum mass ended early.
	Exhausted, Tried, Depth, Inexact int
}

// PartSet is a monitored set with the counts of each partition at the Model's mark.
type PartSet struct {
	Set *Set
	// RankError bounds, with probability .999, the distance between the rank of any cut point among all records that the
	// partitions have learnt and the quantile that it stands for, as a share of the records that have all features. It is
	// the sum of the distance among the records of the evidence, where cuts of the model before were kept, and the error
	// of these records, Evidence.RankError. 0 when the cuts are exact quantiles of every record, or there are none.
	RankError float64
	Shares    []Share // by ascending partition
}

// Share is the counts of one partition.
type Share struct {
	Partition int32
	Table     *Table
	// Estimated says that the table was, at some time, counted on a sample of the records that the partition had learnt:
	// its counts are unbiased, and its effective number of records is that of the sample.
	Estimated bool
}

// Estimated reports whether the share of any partition is an estimate.
func (s *PartSet) Estimated() bool {
	return slices.ContainsFunc(s.Shares, func(x Share) bool { return x.Estimated })
}

// Total returns the counts of all partitions.
func (s *PartSet) Total(classes int) *Table {
	t := NewTable(classes)
	for i := range s.Shares {
		t.Merge(s.Shares[i].Table)
	}
	return t
}

func (p *Part) appendBinary(b []byte) []byte {
	b = wire.AppendUvarint(b, partFormat)
	b = append(b, byte(p.Rank))
	for _, n := range []int{p.Exhausted, p.Tried, p.Depth, p.Inexact} {
		b = wire.AppendUvarint(b, uint64(n))
	}
	b = wire.AppendUvarint(b, uint64(len(p.Sets)))
	for i := range p.Sets {
		s := &p.Sets[i]
		b = append(b, s.Set.key...)
		b = wire.AppendFloat(b, s.RankError)
		b = wire.AppendUvarint(b, uint64(len(s.Shares)))
		for j := range s.Shares {
			b = wire.AppendVarint(b, int64(s.Shares[j].Partition))
			b = appendTable(b, s.Shares[j].Table)
			b = wire.AppendBool(b, s.Shares[j].Estimated)
		}
	}
	b = wire.AppendUvarint(b, uint64(len(p.Windows)))
	for _, w := range p.Windows {
		b = append(b, w.Set.key...)
		b = wire.AppendInts(b, w.Cells)
		for _, v := range w.floats() {
			b = wire.AppendFloat(b, *v)
		}
		b = wire.AppendUvarint(b, uint64(w.Folded))
	}
	b = appendProfiles(b, p.Profiles)
	b = appendEntered(b, p.Entered)
	for _, e := range p.Entered {
		b = wire.AppendFloat(b, e.Fit.Unit)
		b = wire.AppendFloat(b, e.Fit.Shrink)
		b = wire.AppendFloats(b, e.Fit.Cells)
	}
	return b
}

// readFit reads the EnteredFit of an entered set.
func (e *Entered) readFit(r *wire.Reader, classes int) {
	f := EnteredFit{Unit: r.Float(), Shrink: r.Float(), Cells: r.Floats()}
	k := classes
	if k == 2 {
		k = 1
	}
	if n := len(e.Value) / classes * k * 3; len(f.Cells) != 0 && len(f.Cells) != n {
		r.Fail(fmt.Errorf("%d numbers of a fit where %d should be", len(f.Cells), n))
	}
	for _, v := range append([]float64{f.Unit, f.Shrink}, f.Cells...) {
		if !finite(v) {
			r.Fail(fmt.Errorf("number %v of a fit is not finite", v))
		}
	}
	e.Fit = f
}

func appendEntered(b []byte, entered []*Entered) []byte {
	b = wire.AppendUvarint(b, uint64(len(entered)))
	for _, e := range entered {
		b = append(b, e.Set.key...)
		b = wire.AppendFloats(b, e.Value)
	}
	return b
}

func decodeEntered(r *wire.Reader, s *model.Schema) ([]*Entered, error) {
	var out []*Entered
	for n := r.Int(MaxEntered); n > 0 && r.Err() == nil; n-- {
		set, err := decodeSet(r, s)
		if err != nil {
			return nil, fmt.Errorf("reading entered set %d: %w", len(out), err)
		}
		e := &Entered{Set: set, Value: r.Floats()}
		if len(e.Value)%len(s.Classes) != 0 || len(e.Value)/len(s.Classes) > set.cells {
			return nil, r.Fail(fmt.Errorf("entered set %d: %d values", len(out), len(e.Value)))
		}
		for _, v := range e.Value {
			if !finite(v) {
				return nil, r.Fail(fmt.Errorf("entered set %d: value %v is not finite", len(out), v))
			}
		}
		out = append(out, e)
	}
	return out, r.Err()
}

// DecodePart reads a part that Fit returned for the schema.
func DecodePart(s *model.Schema, b []byte) (*Part, error) {
	r := wire.NewReader(b)
	v := r.Uvarint()
	if r.Err() == nil && v != partFormat && v != oldPartFormat {
		return nil, fmt.Errorf("format %d, this build reads %d and %d", v, oldPartFormat, partFormat)
	}
	old := v == oldPartFormat
	p := &Part{}
	if !old {
		p.Rank = Rank(r.Int(int(ByLeaveOneOut)))
	}
	for _, n := range []*int{&p.Exhausted, &p.Tried, &p.Depth, &p.Inexact} {
		*n = r.Int(math.MaxInt32)
	}
	var err error
	if p.Sets, err = decodePartSets(r, s); err != nil {
		return nil, err
	}
	if p.Windows, err = decodeWindows(r, s, old); err != nil {
		return nil, err
	}
	p.Profiles = decodeProfiles(r, s, old)
	if p.Entered, err = decodeEntered(r, s); err != nil {
		return nil, err
	}
	for _, e := range p.Entered {
		if !old {
			e.readFit(r, len(s.Classes))
		}
	}
	if err := r.Done(); err != nil {
		return nil, err
	}
	return p, nil
}

// decodePartSets reads the monitored sets of a part with their shares.
func decodePartSets(r *wire.Reader, s *model.Schema) ([]PartSet, error) {
	var sets []PartSet
	for n := r.Int(maxMonitored); n > 0 && r.Err() == nil; n-- {
		set, err := decodeSet(r, s)
		if err != nil {
			return nil, fmt.Errorf("reading set %d: %w", len(sets), err)
		}
		m := PartSet{Set: set, RankError: r.Float()}
		if !(m.RankError >= 0 && m.RankError <= 2) {
			return nil, r.Fail(fmt.Errorf("set %d: rank error %v", len(sets), m.RankError))
		}
		for k := r.Int(maxPartitions); k > 0 && r.Err() == nil; k-- {
			n := r.Varint()
			if int64(int32(n)) != n || len(m.Shares) > 0 && int32(n) <= m.Shares[len(m.Shares)-1].Partition {
				return nil, r.Fail(fmt.Errorf("set %d: partition %d is out of order", len(sets), n))
			}
			t, err := decodeTable(r, len(s.Classes), set.cells)
			if err != nil {
				return nil, fmt.Errorf("reading the table of set %d, partition %d: %w", len(sets), n, err)
			}
			m.Shares = append(m.Shares, Share{int32(n), t, r.Bool()})
		}
		sets = append(sets, m)
	}
	return sets, nil
}

// decodeWindows reads windows. Old ones have neither the corrected eta, the interval nor the number of folded ones.
func decodeWindows(r *wire.Reader, s *model.Schema, old bool) ([]*Window, error) {
	var windows []*Window
	for n := r.Int(maxWindows); n > 0 && r.Err() == nil; n-- {
		set, err := decodeSet(r, s)
		if err != nil {
			return nil, fmt.Errorf("reading window %d: %w", len(windows), err)
		}
		w := &Window{Set: set, Cells: wire.Ints[int](r)}
		if old {
			nan := math.NaN()
			w.Eta, w.N, w.Mass, w.Corrected, w.Low, w.High = r.Float(), r.Float(), r.Float(), nan, nan, nan
		} else {
			for _, v := range w.floats() {
				*v = r.Float()
			}
			w.Folded = r.Int(math.MaxInt32)
		}
		for i, x := range w.Cells {
			if x < 0 || x >= set.cells || i > 0 && x <= w.Cells[i-1] {
				return nil, r.Fail(fmt.Errorf("window %d: cell %d is out of place", len(windows), x))
			}
		}
		windows = append(windows, w)
	}
	return windows, nil
}

func (w *Window) floats() []*float64 {
	return []*float64{&w.Eta, &w.N, &w.Mass, &w.Corrected, &w.Low, &w.High}
}

func (t *Tally) floats() []*float64 {
	return []*float64{&t.N, &t.NX, &t.NXY, &t.NY, &t.Effective}
}

func appendProfiles(b []byte, profiles []*Profile) []byte {
	b = wire.AppendUvarint(b, uint64(len(profiles)))
	for _, p := range profiles {
		b = wire.AppendUvarint(b, uint64(p.Class))
		b = wire.AppendUvarint(b, uint64(len(p.Items)))
		for _, t := range p.Items {
			b = wire.AppendVarint(b, int64(t.Feature))
			b = wire.AppendVarint(b, int64(t.Level))
			if t.Level < 0 {
				b = wire.AppendFloat(b, t.Low)
				b = wire.AppendFloat(b, t.High)
			}
		}
		for _, v := range append(p.Tally.floats(), p.Validation.floats()...) {
			b = wire.AppendFloat(b, *v)
		}
		b = wire.AppendFloat(b, p.LiftAll)
		b = wire.AppendFloat(b, p.Q)
		for _, n := range []int{p.Among, p.Refinements, p.Folded} {
			b = wire.AppendUvarint(b, uint64(n))
		}
		b = wire.AppendString(b, p.Text)
	}
	return b
}

// decodeProfiles reads profiles. Old ones do not say how many profiles the validated figures hold for: all of the list.
func decodeProfiles(r *wire.Reader, s *model.Schema, old bool) []*Profile {
	var out []*Profile
	for n := r.Int(maxProfiles); n > 0 && r.Err() == nil; n-- {
		p := &Profile{Class: int32(r.Int(len(s.Classes) - 1))}
		for k := r.Int(min(maxSetFeatures, len(s.Features))); k > 0 && r.Err() == nil; k-- {
			f, level := r.Varint(), r.Varint()
			if r.Err() != nil {
				break
			}
			if f < 0 || f >= int64(len(s.Features)) || level < -1 || level > model.MaxLevels ||
				(s.Features[f].Kind == model.Continuous) != (level < 0) {
				r.Fail(fmt.Errorf("profile %d: test of feature %d, level %d", len(out), f, level))
				break
			}
			t := Item{Feature: int32(f), Level: int32(level)}
			if level < 0 {
				t.Low, t.High = r.Float(), r.Float()
			}
			p.Items = append(p.Items, t)
		}
		for _, v := range append(p.Tally.floats(), p.Validation.floats()...) {
			*v = r.Float()
		}
		p.LiftAll, p.Q = r.Float(), r.Float()
		if !old {
			p.Among = r.Int(math.MaxInt32)
		}
		p.Refinements = r.Int(math.MaxInt32)
		if !old {
			p.Folded = r.Int(math.MaxInt32)
		}
		p.Text = r.String()
		out = append(out, p)
	}
	if old {
		for _, p := range out {
			if p.Validation.N > 0 {
				p.Among = len(out)
			}
		}
	}
	return out
}

// AppendState appends the sets with this partition's counts and the others', the profiles and the entered sets. The
// component goes on from them without its Model.
func (c *Component) AppendState(b []byte) []byte {
	b = wire.AppendUvarint(b, stateFormat)
	b = wire.AppendUvarint(b, uint64(len(c.sets)))
	for i := range c.sets {
		b = append(b, c.sets[i].set.key...)
		b = appendTable(b, c.sets[i].own)
		b = appendTable(b, c.sets[i].others)
		b = wire.AppendBool(b, c.sets[i].estimated)
		b = wire.AppendBool(b, c.sets[i].othersEstimated)
	}
	b = appendProfiles(b, c.profiles)
	return appendEntered(b, c.entered)
}

// LoadState replaces the state by the bytes of AppendState.
func (c *Component) LoadState(b []byte) error {
	r := wire.NewReader(b)
	v := r.Uvarint()
	if r.Err() == nil && v != stateFormat && v != oldStateFormat {
		return fmt.Errorf("format %d, this build reads %d and %d", v, oldStateFormat, stateFormat)
	}
	classes := len(c.schema.Classes)
	c.sets = nil
	for n := r.Int(maxMonitored); n > 0 && r.Err() == nil; n-- {
		set, err := decodeSet(r, c.schema)
		if err != nil {
			return fmt.Errorf("reading set %d: %w", len(c.sets), err)
		}
		if c.find(set) != nil {
			return r.Fail(fmt.Errorf("set %d is there twice", len(c.sets)))
		}
		l := liveSet{set: set}
		for _, t := range []**Table{&l.own, &l.others} {
			if *t, err = decodeTable(r, classes, set.cells); err != nil {
				return fmt.Errorf("reading a table of set %d: %w", len(c.sets), err)
			}
		}
		l.estimated, l.othersEstimated = r.Bool(), r.Bool()
		c.sets = append(c.sets, l)
	}
	profiles := decodeProfiles(r, c.schema, v == oldStateFormat)
	var err error
	if c.entered, err = decodeEntered(r, c.schema); err != nil {
		return err
	}
	if err := r.Done(); err != nil {
		return err
	}
	c.compile()
	c.setProfiles(profiles)
	return nil
}
