package propensity

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/wire"
)

const (
	mostFurther = 1 << 14 // cells of the further levels of one feature
	furtherWays = 8       // cells in which a further level can lie
)

// further holds counts of the frequent and the latest further levels of a feature (METHOD.md 1.5). All of their records
// are in the counts of the cell "other" besides, so that a level without a cell here is one of the others.
// A further level is known by its model.Further or, where it has a code that gets no cell of its own, by firstCode and
// its code.
type further struct {
	p     *layout
	level []uint32  // of each cell, 0 = free
	count []float64 // cells x half-lives x classes
}

// firstCode is the number of the further level of code 0.
const firstCode = model.MostFurther + 1

// beyond returns the number of the further level of a value, 0 when it is none; levels is that of the layout.
func (f *feature) beyond(levels int, v float64) uint32 {
	if !f.open() || !(v >= float64(levels)) {
		return 0
	}
	if v < model.MaxLevels {
		return firstCode + uint32(v)
	}
	return model.Further(v)
}

// valueOf is the value of a further level.
func valueOf(level uint32) float64 {
	if level >= firstCode {
		return float64(level - firstCode)
	}
	return model.Cell(model.MaxLevels + level)
}

// settle adds the counts of a further level, which are among those of the others, to the cell of its value, which may
// be one of its own.
func (t *cellTable) settle(p *layout, f *feature, v float64, counts []float64, with pair) {
	if level := f.beyond(p.levels, v); level != 0 {
		t.addLevel(p, level, counts, ones(len(p.half)))
	} else if c := p.level(f, v); c >= cellLevels {
		p.resize(t, c+1, with)
		n := len(counts)
		addFloats(t.count[c*n:(c+1)*n], counts, 1)
		others := t.count[cellOther*n : (cellOther+1)*n]
		addFloats(others, counts, -1)
		floor(others)
	}
}

// furtherCells is the number of cells of the further levels of each nominal feature: the largest power of two up to
// mostFurther with which one feature keeps to maxTable and all of them keep to maxTables.
func furtherCells(features []feature, classes int) int {
	open := 0
	for i := range features {
		if features[i].open() {
			open++
		}
	}
	n := mostFurther
	for n > furtherWays && (n*classes > maxTable || n*classes*open > maxTables) {
		n /= 2
	}
	return n
}

func newFurther(p *layout) *further {
	return &further{p, make([]uint32, p.further), make([]float64, p.further*len(p.half)*p.classes)}
}

func (x *further) clone() *further {
	if x == nil {
		return nil
	}
	return &further{x.p, slices.Clone(x.level), slices.Clone(x.count)}
}

// levels returns the level of each cell, 0 = free.
func (x *further) levels() []uint32 {
	if x == nil {
		return nil
	}
	return x.level
}

// set returns the first of the cells in which a level can lie.
func (x *further) set(level uint32) int {
	return int(level) % (len(x.level) / furtherWays) * furtherWays
}

// find returns the cell of a level, -1 when it has none.
func (x *further) find(level uint32) int {
	if x == nil || level == 0 {
		return -1
	}
	at := x.set(level)
	for i, l := range x.level[at : at+furtherWays] {
		if l == level {
			return at + i
		}
	}
	return -1
}

// at returns the counts of a cell: half-lives x classes.
func (x *further) at(cell int) []float64 {
	n := len(x.count) / len(x.level)
	return x.count[cell*n : (cell+1)*n]
}

// counts returns the counts of a level, nil when it has no cell.
func (x *further) counts(level uint32) []float64 {
	if i := x.find(level); i >= 0 {
		return x.at(i)
	}
	return nil
}

func (x *further) drop(level uint32) {
	if i := x.find(level); i >= 0 {
		x.level[i] = 0
		clear(x.at(i))
	}
}

// strength is the weight by which a level keeps its cell: that of its records over the longest half-life that fades.
func (x *further) strength(counts []float64) (sum float64) {
	h := x.p.forever
	for k := range x.p.half {
		if k != x.p.forever {
			h = k
		}
	}
	for _, v := range counts[h*x.p.classes : (h+1)*x.p.classes] {
		sum += v
	}
	return sum
}

// room returns an empty cell for a level that has none and is of that strength, and the level that lost it, 0 for none.
// That is the weakest of its cells, the first of equals. The cell is -1 when none of them is weaker.
func (x *further) room(level uint32, strength float64) (cell int, lost uint32) {
	at := x.set(level)
	cell, weakest := -1, strength
	for i := at; i < at+furtherWays; i++ {
		if x.level[i] == 0 {
			x.level[i] = level
			return i, 0
		}
		if s := x.strength(x.at(i)); s < weakest {
			cell, weakest = i, s
		}
	}
	if cell >= 0 {
		lost, x.level[cell] = x.level[cell], level
		clear(x.at(cell))
	}
	return cell, lost
}

// take returns the cell of a level whose record is being learnt, with the level that lost it, 0 for none.
func (t *cellTable) take(p *layout, level uint32) (cell int, lost uint32) {
	if t.further == nil {
		t.further = newFurther(p)
	}
	if cell = t.further.find(level); cell < 0 {
		cell, lost = t.further.room(level, math.Inf(1))
	}
	return cell, lost
}

// addLevel adds the counts of a level, each multiplied by now of its half-life, unless all of its cells belong to
// stronger ones.
func (t *cellTable) addLevel(p *layout, level uint32, counts, now []float64) {
	if t.further == nil {
		t.further = newFurther(p)
	}
	cell := t.further.find(level)
	if cell < 0 {
		own := make([]float64, len(counts))
		p.addCounts(own, counts, now)
		cell, _ = t.further.room(level, t.further.strength(own))
	}
	if cell >= 0 {
		p.addCounts(t.further.at(cell), counts, now)
	}
}

// addFurther adds all levels of src.
func (t *cellTable) addFurther(p *layout, src *further, now []float64) {
	for i, level := range src.levels() {
		if level != 0 {
			t.addLevel(p, level, src.at(i), now)
		}
	}
}

// exchangeFurther takes out the former contribution of the others, old, and adds their present one. It leaves in add
// the levels with a cell here.
func (t *cellTable) exchangeFurther(p *layout, add *cellTable, old *further) {
	if x := t.further; x != nil && (old != nil || add.further != nil) {
		zero := make([]float64, len(p.half)*p.classes)
		for i, level := range x.level {
			if level == 0 {
				continue
			}
			a, o := add.further.counts(level), old.counts(level)
			if a == nil {
				a = zero
			}
			if o == nil {
				o = zero
			}
			own := x.at(i)
			if exchange(own, a, o); !slices.ContainsFunc(own, func(v float64) bool { return v > 0 }) {
				x.level[i] = 0
			}
		}
	}
	if add.further == nil {
		return
	}
	one := ones(len(p.half))
	for i, level := range add.further.level {
		if level != 0 && t.further.find(level) < 0 {
			t.addLevel(p, level, add.further.at(i), one)
		}
	}
	add.further.keepOnly(t.further)
}

// keepOnly drops the levels that have no cell in held.
func (x *further) keepOnly(held *further) {
	for _, level := range x.levels() {
		if level != 0 && held.find(level) < 0 {
			x.drop(level)
		}
	}
}

// hasFurther reports whether any feature has counts of further levels.
func (t *tables) hasFurther() bool {
	return t != nil && slices.ContainsFunc(t.feat, func(c cellTable) bool { return c.further != nil })
}

// append appends the levels that have a cell.
func (x *further) append(b []byte) []byte {
	if x == nil {
		return wire.AppendUvarint(b, 0)
	}
	b = wire.AppendUvarint(b, uint64(len(x.level)))
	used := 0
	for _, level := range x.level {
		if level != 0 {
			used++
		}
	}
	b = wire.AppendUvarint(b, uint64(used))
	next := 0
	for i, level := range x.level {
		if level == 0 {
			continue
		}
		b = wire.AppendUvarint(b, uint64(i-next))
		b = wire.AppendUvarint(b, uint64(level))
		for _, v := range x.at(i) {
			b = wire.AppendFloat(b, v)
		}
		next = i + 1
	}
	return b
}

// readFurther reads the form of append.
func readFurther(p *layout, r *wire.Reader) *further {
	n := r.Int(p.further)
	if n == 0 || r.Err() != nil {
		return nil
	}
	if n != p.further {
		r.Fail(fmt.Errorf("%d cells of further levels where %d should be", n, p.further))
		return nil
	}
	x := newFurther(p)
	next := 0
	for used := r.Int(n); used > 0 && r.Err() == nil; used-- {
		i, level := next+r.Int(n), uint32(r.Int(firstCode+model.MaxLevels-1))
		if r.Err() != nil {
			break
		}
		if i >= n || level == 0 || x.set(level) != i-i%furtherWays || x.find(level) >= 0 {
			r.Fail(fmt.Errorf("a further level %d in cell %d", level, i))
			break
		}
		x.level[i], next = level, i+1
		own := x.at(i)
		for k := range own {
			if own[k] = r.Float(); !(own[k] >= 0 && own[k] < 1e60) {
				r.Fail(errNumber)
			}
		}
	}
	return x
}
