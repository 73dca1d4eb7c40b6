package trees

import (
	"math/bits"
	"slices"

	"liftstream/model"
)

var _ model.Carrier = (*Factory)(nil)

// CarryState keeps every tree that mentions no removed feature, and the counts of its leaves, each number as it was. A
// new level goes right at every split, and a new feature or class is in no tree until the next fit. A state of two
// classes that becomes one of more has other margins: its trees are dropped, and so are trees whose "(other)" has no
// room among the codes any more.
func (f *Factory) CarryState(c *model.Change, state []byte) ([]byte, []int, error) {
	old := &Component{schema: c.From}
	if err := old.LoadState(state); err != nil {
		return nil, nil, err
	}
	n := &Component{schema: f.schema}
	if old.structure == nil {
		return nil, []int{}, nil
	}
	s, from, to := &structure{run: old.structure.run, halfLife: old.structure.halfLife}, len(c.From.Classes),
		len(c.To.Classes)
	if old.counts == nil || from == 2 && to > 2 || to > mostClasses {
		n.install(s, nil)
		return n.AppendState(nil), []int{}, nil
	}
	s.base = slices.Clone(old.structure.base)
	counts := old.counts.clone()
	counts.slot = nil
	for range to - from { // a class that the fit has not seen
		s.base, counts.class = append(s.base, newShare), append(counts.class, 0)
	}
	at := 0
	for i := range old.structure.trees {
		t := &old.structure.trees[i]
		if moved, ok := t.carry(c); ok && moved.slots(c.To) == len(t.share) {
			s.trees = append(s.trees, moved)
			counts.slot = append(counts.slot, old.counts.slot[at:at+2*len(t.share)]...)
		}
		at += 2 * len(t.share)
	}
	if len(s.trees) == 0 {
		s.base = nil
		n.install(s, nil)
		return n.AppendState(nil), []int{}, nil
	}
	s.stamp = s.hash()
	n.install(s, counts)
	return n.AppendState(nil), []int{0}, nil
}

// newShare is the class share of a class that a fit has not seen.
const newShare = .5

// carry returns the tree as one of the other schema; ok is false where it mentions a removed feature.
func (t *tree) carry(c *model.Change) (out tree, ok bool) {
	out = tree{margin: t.margin, nodes: append([]node(nil), t.nodes...), share: t.share}
	for i := range out.nodes {
		n := &out.nodes[i]
		if n.feature < 0 {
			continue
		}
		f := c.Index(int(n.feature))
		if f < 0 {
			return out, false
		}
		was := n.mask
		n.feature = int32(f)
		if !n.nominal || n.special { // the special codes of a feature that is carried over are the same
			continue
		}
		n.mask = 0
		for m := was; m != 0; m &= m - 1 {
			code := c.Code(f, float64(bits.TrailingZeros64(m)))
			if code >= maxLevels {
				return out, false
			}
			n.mask |= 1 << uint(code)
		}
	}
	return out, true
}
