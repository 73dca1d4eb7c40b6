package local

import (
	"math"
	"slices"

	"liftstream/model"
)

// Keys returns the key of the prototype that is the example, if there is one.
func (c *Component) Keys(ex *model.Example) (keys []uint64) {
	s := c.structure
	if s == nil || len(s.prototypes.clock) == 0 {
		return nil
	}
	x := *ex
	for y := range c.schema.Classes { // the class of the record may have been corrected since the fit
		x.Class = int32(y)
		if k := s.itself(&x, c.work); k >= 0 {
			keys = append(keys, s.prototypes.key(k))
		}
	}
	return keys
}

// Forget takes the prototypes of these keys out of the structure, and returns their number. The other fields of the
// structure stay: curves, weights and priors of the classes, each a sum over all prototypes.
func (c *Component) Forget(keys []uint64) (found int) {
	if c.structure == nil || len(c.structure.prototypes.clock) == 0 {
		return 0
	}
	old := &c.structure.prototypes
	kept := make([]int, 0, len(old.class))
	for k := range old.class {
		if !slices.Contains(keys, old.key(k)) {
			kept = append(kept, k)
		}
	}
	if found = len(old.class) - len(kept); found == 0 {
		return 0
	}
	next, m := *c.structure, len(old.columns)
	p := prototypes{prior: old.prior, columns: make([]column, m)}
	for _, k := range kept {
		p.class, p.clock = append(p.class, old.class[k]), append(p.clock, old.clock[k])
		p.beside = append(p.beside, old.beside[k*m:(k+1)*m]...)
	}
	for j := range p.columns {
		was := &old.columns[j]
		p.columns[j] = column{nominal: was.nominal, mean: was.mean, sd: was.sd}
		all, values := was.values(), []int32(nil)
		for _, k := range kept {
			if len(all) > 0 {
				values = append(values, all[k])
			}
		}
		p.columns[j].set(values)
	}
	next.prototypes = p
	next.prepare()
	c.structure, c.work = &next, newScratch(&next)
	c.newest.rebase(c.structure, nil) // the cells of its records are cut by prototypes
	return found
}

// key hashes class, clock and places of a prototype: in all partitions that serve a model it is the same.
func (p *prototypes) key(k int) uint64 {
	h := model.Hash(uint64(p.class[k]), math.Float64bits(p.clock[k]))
	for _, v := range p.places[k*p.stride:][:len(p.columns)] {
		h = model.Hash(h, uint64(uint32(v)))
	}
	return h
}

var _ model.Forgetter = (*Component)(nil)
