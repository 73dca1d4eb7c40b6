package lift

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"liftstream/model"
	"liftstream/model/wire"
)

// Joint says how the continuous features of a set become cells.
type Joint uint8

const (
	// Mahalanobis cuts the distance of the raw vector to the origin, sqrt(x' S^-1 x) with the covariance S about the
	// mean, at its quantiles: the paper's rule. It is not invariant to shifts of a feature (METHOD.md 2.1).
	Mahalanobis Joint = iota
	// Product crosses the quantile cells of each continuous feature.
	Product
)

// maxCells bounds the cells of one set, maxCounts its cells times classes as long as minCells are left. A set of many
// features with levels may have twice as many, as each of them needs two.
const (
	maxCells  = 4096
	maxCounts = 32768
	minCells  = 64
)

// maxSetFeatures bounds the features of one set.
const maxSetFeatures = 64

// Set is a feature set with the definition of its cells (METHOD.md 2). It is immutable and may be shared.
//
// The continuous features form one part (Mahalanobis, or a single feature) or one part each (Product); a part has one
// cell more than cuts, right-closed. A feature with levels has a cell a level; a record's cell is the product.
//
// The index of a level is its code, or the last index for every code from there on: the unseen texts of a feature with
// fixed levels, and the levels beyond the room that the bounds on cells leave to a feature with learnt levels. So new
// levels get cells of their own as they come, and the definition does not change.
type Set struct {
	features []int32
	joint    Joint
	parts    []part
	levels   []levelTerm
	cells    int
	key      []byte // binary form: equal keys are equal definitions
}

// part is a group of continuous features with common cells.
type part struct {
	features []int32
	factor   []float64 // see factorise; nil for a single feature
	cuts     []float64
	stride   int32
}

// levelTerm is a feature with levels in a set.
type levelTerm struct {
	feature int32
	cap     int32 // indices below cap-1 are codes; cap-1 is everything from there on
	stride  int32
}

// newSet lays the cells of the definition out. features ascend; parts come in the order of their first features. nil
// when the bound on cells leaves no room for it.
func newSet(s *model.Schema, features []int32, joint Joint, parts []part) *Set {
	parts = slices.Clone(parts)
	t := &Set{features: features, joint: joint, parts: parts}
	room := max(min(maxCells, maxCounts/max(len(s.Classes), 1)), minCells)
	budget := room
	stride := int32(1)
	for i := range parts {
		parts[i].stride = stride
		if stride *= int32(len(parts[i].cuts) + 1); int(stride) > room {
			return nil
		}
	}
	budget /= int(stride)
	var open []int
	for _, f := range features {
		if s.Features[f].Kind == model.Continuous {
			continue
		}
		l := levelTerm{feature: f}
		if n := len(s.Features[f].Levels); n > 0 {
			l.cap = int32(n + 1)
		} else {
			l.cap = maxCells
		}
		open = append(open, len(t.levels))
		t.levels = append(t.levels, l)
	}
	// A feature that needs less than an equal share of the room keeps its need; the others share the rest.
	for len(open) > 0 {
		share := max(int32(math.Pow(float64(budget), 1/float64(len(open)))+1e-9), 2)
		rest := open[:0:0]
		for _, i := range open {
			if t.levels[i].cap <= share {
				budget /= int(t.levels[i].cap)
			} else {
				rest = append(rest, i)
			}
		}
		if len(rest) == len(open) {
			for _, i := range open {
				t.levels[i].cap = share
			}
			break
		}
		open = rest
	}
	for i := len(t.levels) - 1; i >= 0; i-- {
		t.levels[i].stride = stride
		if stride *= t.levels[i].cap; int(stride) > 2*room {
			return nil
		}
	}
	t.cells = int(stride)
	t.key = t.appendBinary(nil)
	return t
}

// Features returns the indices of the set's features, ascending; the caller must not change it.
func (t *Set) Features() []int32 { return t.features }

// ordered reports whether neighbouring cells are neighbours in value: one part alone, or one ordinal feature.
func (t *Set) ordered(s *model.Schema) bool {
	switch {
	case len(t.levels) == 0:
		return len(t.parts) == 1
	case len(t.parts) == 0:
		return len(t.levels) == 1 && s.Features[t.levels[0].feature].Kind == model.Ordinal
	}
	return false
}

// Cells is one more than the highest cell that Cell returns.
func (t *Set) Cells() int { return t.cells }

// Cell returns the cell of the row, -1 when a feature of the set is missing.
func (t *Set) Cell(row model.Row) int {
	x := int32(0)
	for i := range t.parts {
		c := t.parts[i].cell(row)
		if c < 0 {
			return -1
		}
		x += c * t.parts[i].stride
	}
	for i := range t.levels {
		v := row[t.levels[i].feature]
		if v != v {
			return -1
		}
		x += min(int32(v), t.levels[i].cap-1) * t.levels[i].stride
	}
	return int(x)
}

func (p *part) cell(row model.Row) int32 {
	if p.factor == nil {
		v := row[p.features[0]]
		if v != v {
			return -1
		}
		return cellOf(p.cuts, v)
	}
	d := p.distance(row)
	if d != d {
		return -1
	}
	return cellOf(p.cuts, d)
}

// distance is the Mahalanobis distance of the row's raw values to the origin, NaN when one is missing. Products are
// rounded before they are added, here and in the lattice, so that both give the same bits on every machine.
func (p *part) distance(row model.Row) float64 {
	if len(p.features) == 2 {
		z := row[p.features[0]] * p.factor[0]
		v := (row[p.features[1]] - float64(p.factor[1]*z)) * p.factor[2]
		return math.Sqrt(float64(z*z) + float64(v*v))
	}
	var z [maxSetFeatures]float64
	sum := 0.0
	for i, f := range p.features {
		l := p.factor[i*(i+1)/2:]
		v := row[f]
		for j := 0; j < i; j++ {
			v -= float64(l[j] * z[j])
		}
		v *= l[i]
		z[i] = v
		sum += float64(v * v)
	}
	return math.Sqrt(sum)
}

// inputKey is the key under which the scorecard knows the set, see model.Keyed: a hash of the names and kinds of its
// features, in the order of their names, and of the joint rule.
func (t *Set) inputKey(s *model.Schema) uint64 {
	names := make([]string, len(t.features))
	for i, f := range t.features {
		names[i] = s.Features[f].Name + string(rune('0'+s.Features[f].Kind))
	}
	slices.Sort(names)
	h := model.Hash(uint64(len(names)), uint64(t.joint))
	for _, n := range names {
		h = model.Hash(h, uint64(len(n)))
		for i := range len(n) {
			h = model.Hash(h, uint64(n[i]))
		}
	}
	return h | model.FirstKey
}

// split returns the indices of a cell in each part and each feature with levels.
func (t *Set) split(cell int, parts, levels []int32) {
	x := int32(cell)
	for i := range t.levels {
		levels[i] = x / t.levels[i].stride
		x %= t.levels[i].stride
	}
	for i := len(t.parts) - 1; i >= 0; i-- {
		parts[i] = x / t.parts[i].stride
		x %= t.parts[i].stride
	}
}

// recode moves the counts of a table from the codes before the recoding to those after it.
func (t *Set) recode(table *Table, r model.Recode) {
	changes := false
	for i := range t.levels {
		for old, c := range recodeOf(r, t.levels[i].feature) {
			changes = changes || uint32(old) != c
		}
	}
	if !changes {
		return
	}
	old := table.n
	table.n = make([]float64, 0, len(old))
	parts, levels := make([]int32, len(t.parts)), make([]int32, len(t.levels))
	for x := 0; x < len(old)/table.classes; x++ {
		t.split(x, parts, levels)
		to := int32(0)
		for i := range t.parts {
			to += parts[i] * t.parts[i].stride
		}
		for i, l := range t.levels {
			if m := recodeOf(r, l.feature); levels[i] < l.cap-1 && int(levels[i]) < len(m) {
				levels[i] = min(int32(m[levels[i]]), l.cap-1)
			}
			to += levels[i] * l.stride
		}
		for y, v := range old[x*table.classes : (x+1)*table.classes] {
			if v != 0 {
				if i := int(to)*table.classes + y; i >= len(table.n) {
					table.grow(int(to) + 1)
				}
				table.n[int(to)*table.classes+y] += v
			}
		}
	}
}

// Label names a cell: the levels by name and the part by its quantile, "Q1" the lowest, in the order of the features.
func (t *Set) Label(l *model.Levels, cell int) string {
	parts, levels := make([]int32, len(t.parts)), make([]int32, len(t.levels))
	t.split(cell, parts, levels)
	var names []string
	for _, f := range t.features {
		for i := range t.parts {
			if t.parts[i].features[0] == f {
				names = append(names, fmt.Sprintf("Q%d", parts[i]+1))
			}
		}
		for i := range t.levels {
			switch {
			case t.levels[i].feature != f:
			case levels[i] == t.levels[i].cap-1:
				names = append(names, "(other)")
			default:
				names = append(names, l.Text(int(f), float64(levels[i])))
			}
		}
	}
	return strings.Join(names, " & ")
}

// Cuts returns the cut points of the parts, one part after the other.
func (t *Set) Cuts() []float64 {
	var c []float64
	for i := range t.parts {
		c = append(c, t.parts[i].cuts...)
	}
	return c
}

// equal reports whether the two have the same cells.
func (t *Set) equal(o *Set) bool { return bytes.Equal(t.key, o.key) }

// appendBinary appends the features, the joint rule, and for each part its factor and its cuts; the parts' features
// follow from the schema.
func (t *Set) appendBinary(b []byte) []byte {
	b = wire.AppendInts(b, t.features)
	b = append(b, byte(t.joint))
	for i := range t.parts {
		b = wire.AppendFloats(b, t.parts[i].factor)
		b = wire.AppendFloats(b, t.parts[i].cuts)
	}
	return b
}

// decodeSet reads the bytes of appendBinary.
func decodeSet(r *wire.Reader, s *model.Schema) (*Set, error) {
	features := wire.Ints[int32](r)
	joint := Mahalanobis
	if r.Bool() {
		joint = Product
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	if len(features) == 0 || len(features) > maxSetFeatures {
		return nil, r.Fail(fmt.Errorf("set of %d features", len(features)))
	}
	for i, f := range features {
		if f < 0 || int(f) >= len(s.Features) || i > 0 && f <= features[i-1] {
			return nil, r.Fail(fmt.Errorf("feature %d of a set is out of place", f))
		}
	}
	parts := partsOf(s, features, joint)
	cells := 1
	for i := range parts {
		p := &parts[i]
		factor, cuts := r.Floats(), r.Floats()
		k, want := len(p.features), 0
		if k > 1 {
			want = k * (k + 1) / 2
			p.factor = factor
		}
		if r.Err() == nil && len(factor) != want {
			return nil, r.Fail(fmt.Errorf("factor of %d numbers where %d should be", len(factor), want))
		}
		for _, v := range factor {
			if !finite(v) {
				return nil, r.Fail(fmt.Errorf("factor %v is not finite", v))
			}
		}
		if p.cuts = cuts; len(cuts) == 0 {
			p.cuts = nil
		}
		for j, v := range cuts {
			if !finite(v) || j > 0 && v <= cuts[j-1] {
				return nil, r.Fail(fmt.Errorf("cut point %v is out of order", v))
			}
		}
		if cells *= len(cuts) + 1; cells > maxCells {
			return nil, r.Fail(fmt.Errorf("set of more than %d cells", maxCells))
		}
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	t := newSet(s, features, joint, parts)
	if t == nil {
		return nil, r.Fail(fmt.Errorf("set of %d features has too many cells", len(features)))
	}
	return t, nil
}

// partsOf groups the continuous features of a set, the cells not yet defined.
func partsOf(s *model.Schema, features []int32, joint Joint) []part {
	var parts []part
	for _, f := range features {
		if s.Features[f].Kind != model.Continuous {
			continue
		}
		if joint == Mahalanobis && len(parts) == 1 {
			parts[0].features = append(parts[0].features, f)
		} else {
			parts = append(parts, part{features: []int32{f}})
		}
	}
	return parts
}

func recodeOf(r model.Recode, f int32) []uint32 {
	if r == nil {
		return nil
	}
	return r[f]
}
