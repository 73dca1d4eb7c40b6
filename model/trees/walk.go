package trees

import (
	"math"

	"liftstream/model"
)

// step is a node as the way of a row needs it, in 16 bytes: a tree of 16 leaves takes four cache lines.
type step struct {
	cut     float64 // of levels the bits of the mask
	feature int32   // -1 of a leaf
	right   int16
	kind    kind
	missing bool
}

// kind says which values a node asks for.
type kind uint8

const (
	numbers kind = iota
	levels
	specials // the numbers of special codes
)

// piece of the way to a leaf is the change of the tree's value by one feature.
type piece struct {
	feature int32
	by      float64
}

// walker finds the leaves of rows. It keeps those of the last row, since a record is scored, explained and learnt in
// one go.
type walker struct {
	steps [][]step    // by tree
	way   [][][]piece // by tree and leaf node, on demand
	row   model.Row   // the last row
	known bool
	leaf  []int32 // of the last row, by tree: the node
}

func newWalker(trees []tree, features int) *walker {
	w := &walker{row: make(model.Row, features), leaf: make([]int32, len(trees)), way: make([][][]piece, len(trees))}
	for i := range trees {
		t := &trees[i]
		steps := make([]step, len(t.nodes))
		for k := range t.nodes {
			n := &t.nodes[k]
			steps[k] = step{n.cut, n.feature, int16(n.right), n.kind(), n.missing}
			if n.nominal {
				steps[k].cut = math.Float64frombits(n.mask)
			}
		}
		w.steps = append(w.steps, steps)
	}
	return w
}

// to returns the leaves of the row.
func (w *walker) to(row model.Row) []int32 {
	if w.known && same(w.row, row) {
		return w.leaf
	}
	w.known = true
	copy(w.row, row)
	for k, steps := range w.steps {
		i := int32(0)
		for {
			s := &steps[i]
			if s.feature < 0 {
				break
			}
			v := row[s.feature]
			left := v <= s.cut
			if s.kind != numbers || v != v {
				left = s.side(v)
			}
			j := int32(s.right)
			if left {
				j = i + 1
			}
			i = j
		}
		w.leaf[k] = i
	}
	return w.leaf
}

func (n *node) kind() kind {
	switch {
	case n.special:
		return specials
	case n.nominal:
		return levels
	}
	return numbers
}

// side says whether a level, a special code or a missing value, goes left.
func (s *step) side(v float64) bool {
	most := float64(maxLevels)
	if s.kind == specials {
		v, most = float64(model.SpecialOf(v)), maxCodes
	}
	if s.kind != numbers && v >= 0 && v < most {
		return math.Float64bits(s.cut)>>uint(v)&1 == 1
	}
	return s.missing
}

// same reports whether two rows have the same bits.
func same(a, b model.Row) bool {
	if len(a) != len(b) {
		return false
	}
	for i, v := range a {
		if math.Float64bits(v) != math.Float64bits(b[i]) {
			return false
		}
	}
	return true
}

// parts returns the way from the root of tree k to a leaf, a part for each feature on it.
func (w *walker) parts(t *tree, k int, leaf int32) []piece {
	if w.way[k] == nil {
		w.way[k] = make([][]piece, len(t.nodes))
		var walk func(i int32, way []piece)
		walk = func(i int32, way []piece) {
			n := &t.nodes[i]
			if n.feature < 0 {
				w.way[k][i] = way
				return
			}
			for _, j := range [2]int32{i + 1, n.right} {
				walk(j, extend(way, piece{n.feature, t.nodes[j].value - n.value}))
			}
		}
		walk(0, []piece{})
	}
	return w.way[k][leaf]
}

// extend returns a way that goes on by x.
func extend(way []piece, x piece) []piece {
	out := append(make([]piece, 0, len(way)+1), way...)
	for i := range out {
		if out[i].feature == x.feature {
			out[i].by += x.by
			return out
		}
	}
	return append(out, x)
}
