package lift

import (
	"context"
	"fmt"
	"math"
	"slices"

	"liftstream/model"
)

// Name is the factory's name: the key of its part in models and of its section in snapshots.
const Name = "lift"

// Options choose the sets, windows and profiles to search for and to keep.
type Options struct {
	Quantiles int // cells of a continuous part
	Joint     Joint
	Sets      SetOptions
	Windows   WindowOptions
	Profiles  ProfileOptions
	// Enter chooses sets that feed the scorecard; see MaxEntered.
	Enter bool
}

// SetOptions choose the feature sets.
type SetOptions struct {
	Min, Max int // features of a set
	Search   Search
	Rank     Rank
	Top      int // sets that are kept and counted live
}

// WindowOptions choose the windows.
type WindowOptions struct {
	Top int
	// MinMass is the share of a set's records that a window must exceed.
	MinMass float64
	// Contiguous asks for windows of neighbouring cells where the cells of a set have an order.
	Contiguous bool
	// Fold keeps, of windows that share most of their records, the best one.
	Fold bool
}

// ProfileOptions choose the profiles.
type ProfileOptions struct {
	Top         int     // of each class
	MinSupport  float64 // share of the complete cases that a profile must exceed
	MaxFeatures int     // lowered where trying all sets is not affordable; see Part.Depth
	Of          []int32 // classes; empty = all
	// KeepRedundant keeps profiles that add tests to another one and cover the same records, or nearly the same.
	KeepRedundant bool
	Rank          ProfileRank
	// Validate is the share of the newest records that the search leaves alone, and on which the profiles found are
	// validated. 0 searches all records; nothing is then validated, and no score carries a profile.
	Validate float64
	// MinCount is the least effective number of the records that meet a profile in a score; there are at least as many of
	// any weights. 0 = any.
	MinCount int
}

// Factory makes the lift component of a schema.
type Factory struct {
	options Options
	schema  *model.Schema
}

// New returns the factory for the schema.
func New(o Options, s *model.Schema) *Factory { return &Factory{options: o, schema: s} }

var _ model.Factory = (*Factory)(nil)

// Name is "lift".
func (f *Factory) Name() string { return Name }

// Contribution is that of the entered sets, under the term "(sets)".
func (f *Factory) Contribution() model.Contribution {
	return model.Contribution{Term: "(sets)", Inputs: MaxEntered, Fitted: true}
}

// New returns an empty component, which counts nothing until its first Rebase.
func (f *Factory) New(*model.Levels) model.Component {
	return &Component{schema: f.schema, minCount: float64(f.options.Profiles.MinCount)}
}

// Fit searches the feature sets, windows and profiles (Algorithms 1, 2 and 3) and returns them as the bytes of a Part,
// with the counts of every partition. The counts come from the partition's state where it has a set with the same
// cells, otherwise from the partition's records in the evidence.
//
// Profiles are searched on the older part of the evidence and validated on the newest Validate of it. With fewer than
// 50 records there, they are searched on everything and not validated. Exchangeable records have no newest ones: there
// the share is drawn at random.
func (f *Factory) Fit(ctx context.Context, ev *model.Evidence, previous []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	serving, err := model.Before(ev, previous, f.setsOfPart, f.setsOfState)
	if err != nil {
		return nil, err
	}
	s := newSample(ev)
	if err := f.narrow(ctx, ev, s); err != nil {
		return nil, err
	}
	var entered []*Entered
	if f.options.Enter {
		if entered, err = enter(ctx, s); err != nil {
			return nil, err
		}
	}
	search := newSetSearch(s, &f.options, serving)
	if err := search.run(ctx); err != nil {
		return nil, err
	}
	p := &Part{Rank: f.options.Sets.Rank, Entered: entered, Windows: search.windows,
		Exhausted: search.exhausted, Tried: search.tried, Inexact: search.inexact}
	if err := f.count(ev, search, p); err != nil {
		return nil, err
	}
	o := &f.options.Profiles
	n := s.n - int(o.Validate*float64(s.n))
	if s.n-n < minValidation {
		n = s.n
	}
	p.Depth = o.MaxFeatures
	if f.options.Sets.Search != Exhaustive {
		p.Depth = affordableDepth(len(s.fields), s.n, o.MaxFeatures, s.visits)
	}
	if o.Top > 0 {
		m := newMiner(s, n, ev.Levels, func(f int32) *Set { return search.define([]int32{f}) }, o)
		if !o.KeepRedundant || o.Rank == ByValidated {
			m.top *= foldPool
		}
		if err := m.run(ctx, p.Depth); err != nil {
			return nil, err
		}
		p.Profiles = m.show(o, ev.Levels)
	}
	return p.appendBinary(nil), nil
}

// setsOfPart returns the sets of a part.
func (f *Factory) setsOfPart(b []byte) ([]*Set, error) {
	p, err := DecodePart(f.schema, b)
	if err != nil {
		return nil, err
	}
	var sets []*Set
	for i := range p.Sets {
		sets = append(sets, p.Sets[i].Set)
	}
	return sets, nil
}

// setsOfState returns the sets that a state counts.
func (f *Factory) setsOfState(b []byte) ([]*Set, error) {
	c := &Component{schema: f.schema}
	if err := c.LoadState(b); err != nil {
		return nil, err
	}
	var sets []*Set
	for i := range c.sets {
		sets = append(sets, c.sets[i].set)
	}
	return sets, nil
}

// count fills the shares of the partitions for the best sets.
func (f *Factory) count(ev *model.Evidence, search *setSearch, p *Part) error {
	partitions := ev.Parties()
	alone := len(partitions) == 1 && len(ev.States.Partitions()) == 0 && ev.Recent == 0
	for _, t := range search.top {
		m := PartSet{Set: t.set}
		if alone && search.serving(t.set.features) == nil {
			p.Sets = append(p.Sets, PartSet{Set: t.set, Shares: []Share{{Partition: partitions[0], Table: t.table}}})
			continue
		}
		m.RankError = search.rankError(t.set, ev)
		search.fill(t.set)
		m.Shares = make([]Share, len(partitions))
		for i := range m.Shares {
			m.Shares[i] = Share{Partition: partitions[i], Table: NewTable(search.classes)}
		}
		for i, x := range search.cells {
			if x >= 0 {
				at, _ := slices.BinarySearch(partitions, ev.Partition[i])
				m.Shares[at].Table.add(int(x), int(ev.Class[i]), 1, ev.Weight[i])
				m.Shares[at].Estimated = m.Shares[at].Estimated || ev.StandsFor(i)
			}
		}
		p.Sets = append(p.Sets, m)
	}
	empty := func() *Component { return &Component{schema: f.schema} }
	return model.Visit(ev, empty, func(n int32, c *Component) error {
		at, _ := slices.BinarySearch(partitions, n)
		for i := range p.Sets {
			set := p.Sets[i].Set
			if own := c.find(set); own != nil {
				share := &p.Sets[i].Shares[at]
				share.Table, share.Estimated = own.own.Clone(), own.estimated
				set.recode(share.Table, ev.Recodes[n])
			}
		}
		return nil
	})
}

// Component counts the classes of one partition by the cells of the monitored sets. It is a model.Component and a
// model.Profiler; its inputs are the values of the entered sets. Learn and Retract cost one look-up a monitored set and
// allocate only when a new level needs a cell.
type Component struct {
	schema   *model.Schema
	sets     []liveSet
	profiles []*Profile // by class, then by rank
	ofClass  []int      // profiles[ofClass[y]:ofClass[y+1]] are those of class y
	entered  []*Entered
	minCount float64 // see ProfileOptions

	// The sets share the cells of distinct parts and the codes of distinct features, in this order in slots; each is
	// computed once a row.
	parts  []*part
	fields []int32
	slots  []int32
	terms  []term
}

// liveSet is a monitored set: the counts of this partition, and those of the others as of the Model.
type liveSet struct {
	set         *Set
	own, others *Table
	// estimated and othersEstimated say that the tables began as estimates; see Share.
	estimated, othersEstimated bool
	from, to                   int32 // terms
}

// term adds to the cell of a set the slot, bounded, times the stride.
type term struct {
	slot, cap, stride int32
}

var (
	_ model.Component = (*Component)(nil)
	_ model.Excluder  = (*Component)(nil)
	_ model.Profiler  = (*Component)(nil)
)

func (c *Component) find(t *Set) *liveSet {
	for i := range c.sets {
		if c.sets[i].set.equal(t) {
			return &c.sets[i]
		}
	}
	return nil
}

// compile lays out the parts, features and terms that Learn visits.
func (c *Component) compile() {
	c.parts, c.fields, c.terms = nil, nil, nil
	for i := range c.sets {
		for j := range c.sets[i].set.parts {
			if p := &c.sets[i].set.parts[j]; c.partSlot(p) < 0 {
				c.parts = append(c.parts, p)
			}
		}
	}
	for i := range c.sets {
		s := &c.sets[i]
		s.from = int32(len(c.terms))
		for j := range s.set.parts {
			p := &s.set.parts[j]
			c.terms = append(c.terms, term{int32(c.partSlot(p)), math.MaxInt32, p.stride})
		}
		for _, l := range s.set.levels {
			at := slices.Index(c.fields, l.feature)
			if at < 0 {
				at = len(c.fields)
				c.fields = append(c.fields, l.feature)
			}
			c.terms = append(c.terms, term{int32(len(c.parts) + at), l.cap, l.stride})
		}
		s.to = int32(len(c.terms))
	}
	c.slots = make([]int32, len(c.parts)+len(c.fields))
}

func (c *Component) partSlot(p *part) int {
	return slices.IndexFunc(c.parts, func(o *part) bool {
		return slices.Equal(o.features, p.features) && slices.Equal(o.factor, p.factor) && slices.Equal(o.cuts, p.cuts)
	})
}

// Learn adds the example to the cell of every monitored set of which it has all features.
func (c *Component) Learn(ex *model.Example) { c.count(ex, 1, c.sets) }

// Retract takes the example out of the counts again.
func (c *Component) Retract(ex *model.Example) { c.count(ex, -1, c.sets) }

func (c *Component) count(ex *model.Example, sign float64, sets []liveSet) {
	if !(ex.Weight > 0) || uint32(ex.Class) >= uint32(len(c.schema.Classes)) {
		return
	}
	for i, p := range c.parts {
		c.slots[i] = p.cell(ex.Row)
	}
	codes := c.slots[len(c.parts):]
	for i, f := range c.fields {
		v := ex.Row[f]
		if v != v {
			codes[i] = -1
		} else {
			codes[i] = int32(v)
		}
	}
	class, weight := int(ex.Class), min(ex.Weight, model.MaxWeight)
next:
	for i := range sets {
		s := &sets[i]
		x := int32(0)
		for _, t := range c.terms[s.from:s.to] {
			v := c.slots[t.slot]
			if v < 0 {
				continue next
			}
			x += min(v, t.cap-1) * t.stride
		}
		s.own.add(int(x), class, sign, weight)
	}
}

// InputCount is the number of entered sets.
func (c *Component) InputCount() int { return len(c.entered) }

// InputKeys appends the key of each entered set. It follows from the names and kinds of the set's features and stays
// when the cells change.
func (c *Component) InputKeys(dst []uint64) []uint64 {
	for _, e := range c.entered {
		dst = append(dst, e.Set.inputKey(c.schema))
	}
	return dst
}

// Inputs writes, for each entered set, the log-odds that it adds for each class to the effects of its features one by
// one; 0 where the row lacks a feature of the set or the cell has no value.
func (c *Component) Inputs(row model.Row, dst []float64) {
	clear(dst)
	k := len(c.schema.Classes)
	for i, e := range c.entered {
		copy(dst[i*k:(i+1)*k], e.value(row, k))
	}
}

// InputsWithout writes the Inputs of a record as if it had not been among the records on which the entered sets were
// fitted: without the record's own share in the value of its cell. The choice of the sets, and the fit of the single
// features beside them, keep the record.
func (c *Component) InputsWithout(ex *model.Example, dst []float64) {
	k := len(c.schema.Classes)
	for i, e := range c.entered {
		e.without(ex.Row, ex.Class, ex.Weight, dst[i*k:(i+1)*k])
	}
}

// Profile returns the text and the validated lift of the first confirmed profile of the class that the row meets, in
// the order of their rank; "" and NaN when it meets none. The rank looks at the searched records alone (except
// ByValidated), so that no profile is picked for the chance in its validated lift.
func (c *Component) Profile(row model.Row, class int32) (text string, lift float64) {
	if class < 0 || int(class)+1 >= len(c.ofClass) {
		return "", math.NaN()
	}
	for _, p := range c.profiles[c.ofClass[class]:c.ofClass[class+1]] {
		if p.Confirmed() && p.Tally.Effective >= c.minCount && p.meets(row) {
			return p.Text, p.Validation.Lift()
		}
	}
	return "", math.NaN()
}

// setProfiles orders the profiles by class for Profile; those of a class stay in their order.
func (c *Component) setProfiles(profiles []*Profile) {
	c.profiles = slices.Clone(profiles)
	slices.SortStableFunc(c.profiles, func(a, b *Profile) int { return int(a.Class) - int(b.Class) })
	c.ofClass = make([]int, len(c.schema.Classes)+1)
	for y := range c.schema.Classes {
		c.ofClass[y+1] = c.ofClass[y]
		for c.ofClass[y+1] < len(c.profiles) && int(c.profiles[c.ofClass[y+1]].Class) == y {
			c.ofClass[y+1]++
		}
	}
}

// Rebase takes over the sets and profiles of the part. A set whose cells are the same keeps its own counts; another one
// starts from the part's share for Self and learns Since.
func (c *Component) Rebase(rb *model.Rebase) error {
	p, err := DecodePart(c.schema, rb.Part)
	if err != nil {
		return fmt.Errorf("reading the part: %w", err)
	}
	classes := len(c.schema.Classes)
	var kept, fresh []liveSet
	order := make([]*Set, len(p.Sets))
	for i := range p.Sets {
		s := &p.Sets[i]
		order[i] = s.Set
		live := liveSet{set: s.Set, others: NewTable(classes)}
		share := NewTable(classes)
		for j := range s.Shares {
			if s.Shares[j].Partition == rb.Self {
				share, live.estimated = s.Shares[j].Table, s.Shares[j].Estimated
			} else {
				live.others.Merge(s.Shares[j].Table)
				live.othersEstimated = live.othersEstimated || s.Shares[j].Estimated
			}
		}
		if old := c.find(s.Set); old != nil {
			live.own, live.estimated = old.own, old.estimated
			s.Set.recode(live.own, rb.Recode)
			kept = append(kept, live)
		} else {
			live.own = share
			fresh = append(fresh, live)
		}
	}
	if len(fresh) > 0 {
		d := &Component{schema: c.schema, sets: fresh}
		d.compile()
		rb.Since(func(ex *model.Example) bool {
			d.Learn(ex)
			return true
		})
	}
	c.sets = c.sets[:0:0]
	for _, t := range order {
		for _, from := range [][]liveSet{kept, fresh} {
			for i := range from {
				if from[i].set == t {
					c.sets = append(c.sets, from[i])
				}
			}
		}
	}
	c.compile()
	c.setProfiles(p.Profiles)
	c.entered = p.Entered
	return nil
}

// Live returns the sets in their order of rank at the fit with their counts of now: all partitions' as of the Model and
// this one's own since.
func (c *Component) Live() []Counted {
	out := make([]Counted, len(c.sets))
	for i := range c.sets {
		t := c.sets[i].others.Clone()
		t.Merge(c.sets[i].own)
		out[i] = Counted{c.sets[i].set, t, c.sets[i].estimated || c.sets[i].othersEstimated, math.NaN()}
	}
	return out
}

// Counted is a feature set with its counts.
type Counted struct {
	Set   *Set
	Table *Table
	// Estimated says that a part of the counts began as an estimate; see Share.
	Estimated bool
	// RankError is that of PartSet; NaN of live counts, as records since the fit have no say in it.
	RankError float64
}
