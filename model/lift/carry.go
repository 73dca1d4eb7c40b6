package lift

import (
	"slices"

	"liftstream/model"
)

var _ model.Carrier = (*Factory)(nil)

// CarryState keeps the sets, profiles and entered sets without a feature that is gone, and all their counts.
//
// A set whose features stand in another order has its cells laid out anew; where that moves the axes of a Mahalanobis
// distance, its distances are the same but for rounding. New levels and classes begin at 0. Where they leave a set too
// little room for its cells, the last of them are joined with "(other)", and a set without any room is dropped.
func (f *Factory) CarryState(c *model.Change, state []byte) ([]byte, []int, error) {
	old := &Component{schema: c.From}
	if err := old.LoadState(state); err != nil {
		return nil, nil, err
	}
	n := &Component{schema: f.schema, minCount: float64(f.options.Profiles.MinCount)}
	for i := range old.sets {
		l := &old.sets[i]
		m := newMove(c, l.set)
		if m == nil || n.find(m.to) != nil {
			continue
		}
		n.sets = append(n.sets, liveSet{set: m.to, own: m.table(l.own), others: m.table(l.others),
			estimated: l.estimated, othersEstimated: l.othersEstimated})
	}
	var profiles []*Profile
	for _, p := range old.profiles {
		if q := carryProfile(c, p); q != nil {
			profiles = append(profiles, q)
		}
	}
	inputs := []int{}
	for i, e := range old.entered {
		m := newMove(c, e.Set)
		if m == nil {
			continue
		}
		from, to := len(c.From.Classes), len(c.To.Classes)
		moved := &Entered{Set: m.to}
		for x := range len(e.Value) / from {
			at := m.cell(x) * to
			for len(moved.Value) < at+to {
				moved.Value = append(moved.Value, 0)
			}
			copy(moved.Value[at:at+from], e.Value[x*from:(x+1)*from])
		}
		n.entered, inputs = append(n.entered, moved), append(inputs, i)
	}
	n.setProfiles(profiles)
	return n.AppendState(nil), inputs, nil
}

// move takes the cells of a set to those of the same set under another schema.
type move struct {
	c             *model.Change
	from, to      *Set
	parts, levels []int // position in to of each part and each feature with levels of from
	p, l          []int32
}

// newMove returns nil when a feature of the set is gone or the set has no room any more.
func newMove(c *model.Change, from *Set) *move {
	features := make([]int32, len(from.features))
	for i, o := range from.features {
		f := c.Index(int(o))
		if f < 0 {
			return nil
		}
		features[i] = int32(f)
	}
	slices.Sort(features)
	m := &move{c: c, from: from, p: make([]int32, len(from.parts)), l: make([]int32, len(from.levels))}
	parts := partsOf(c.To, features, from.joint)
	for i := range from.parts {
		old := &from.parts[i]
		first := int32(c.Index(int(old.features[0])))
		at := slices.IndexFunc(parts, func(x part) bool { return slices.Contains(x.features, first) })
		if at < 0 || len(parts[at].features) != len(old.features) {
			return nil
		}
		parts[at].cuts = old.cuts
		if old.factor != nil {
			order := make([]int, len(old.features)) // of parts[at] in old
			for k, g := range parts[at].features {
				order[k] = slices.Index(old.features, int32(c.Feature[g]))
			}
			parts[at].factor = permute(old.factor, order)
		}
		m.parts = append(m.parts, at)
	}
	if m.to = newSet(c.To, features, from.joint, parts); m.to == nil {
		return nil
	}
	for _, l := range from.levels {
		f := int32(c.Index(int(l.feature)))
		m.levels = append(m.levels, slices.IndexFunc(m.to.levels, func(x levelTerm) bool { return x.feature == f }))
	}
	return m
}

// cell returns the cell of to for a cell of from.
func (m *move) cell(x int) int {
	m.from.split(x, m.p, m.l)
	to := int32(0)
	for i, at := range m.parts {
		to += m.p[i] * m.to.parts[at].stride
	}
	for i, at := range m.levels {
		old, l := &m.from.levels[i], &m.to.levels[at]
		v := min(m.l[i], l.cap-1)
		if m.l[i] == old.cap-1 { // everything from there on
			v = l.cap - 1
		}
		to += v * l.stride
	}
	return int(to)
}

func (m *move) table(t *Table) *Table {
	n := NewTable(len(m.c.To.Classes))
	n.square = t.square
	for x := range t.Cells() {
		if !t.occupied(x) {
			continue
		}
		to := m.cell(x)
		if to >= n.Cells() {
			n.grow(to + 1)
		}
		for y, v := range t.n[x*t.classes : (x+1)*t.classes] {
			n.n[to*n.classes+y] += v
		}
	}
	return n
}

// permute returns the factor (see factorise) of the same covariance with its features in another order: feature i is
// order[i] of before. In their own order it is the same bits.
func permute(factor []float64, order []int) []float64 {
	k := len(order)
	if slices.IsSorted(order) {
		return factor
	}
	at := func(i, j int) float64 {
		switch v := factor[i*(i+1)/2:]; {
		case j > i:
			return 0
		case j == i:
			return 1 / v[i]
		default:
			return v[j]
		}
	}
	cov := make([]float64, k*k)
	for i, a := range order {
		for j, b := range order {
			for m := range k {
				cov[i*k+j] += at(a, m) * at(b, m)
			}
		}
	}
	return factorise(cov, k)
}

// carryProfile returns nil when a feature of the profile is gone.
func carryProfile(c *model.Change, p *Profile) *Profile {
	q := *p
	q.Items = nil
	for _, t := range p.Items {
		f := c.Index(int(t.Feature))
		if f < 0 {
			return nil
		}
		if t.Feature = int32(f); t.Level >= 0 {
			t.Level = int32(c.Code(f, float64(t.Level)))
		}
		q.Items = append(q.Items, t)
	}
	slices.SortFunc(q.Items, func(a, b Item) int { return int(a.Feature) - int(b.Feature) })
	return &q
}
