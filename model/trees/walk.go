package trees

import (
	"math"

	"liftstream/model"
)

// step is a node as the way of a row needs it, in 16 bytes: a tree of 16 leaves takes eight cache lines.
type step struct {
	cut     float64 // of levels the bits of the mask
	feature int32   // of a leaf ^k, k being its number among the ends
	right   int16   // steps from here to the right child; the left one is the next
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

// end is a leaf as scoring and learning need it.
type end struct {
	value, share float64
	slot         int32 // its first number in counts.slot
	margin       int32
}

// walker finds the leaves of rows. It keeps those of the last row, since a record is scored, explained and learnt in
// one go.
type walker struct {
	steps []step
	root  []int32   // by tree: its first step
	ends  []end     // the leaves of all trees
	way   [][]piece // by leaf, on demand
	row   model.Row // the last row
	known bool
	leaf  []int32 // of the last row, by tree: the number among the ends
}

func newWalker(trees []tree, features int) *walker {
	w := &walker{row: make(model.Row, features), leaf: make([]int32, len(trees))}
	at := int32(0)
	for i := range trees {
		t := &trees[i]
		w.root = append(w.root, int32(len(w.steps)))
		for k := range t.nodes {
			n := &t.nodes[k]
			s := step{n.cut, n.feature, int16(int(n.right) - k), n.kind(), n.missing}
			if n.nominal {
				s.cut = math.Float64frombits(n.mask)
			}
			if n.feature < 0 {
				s = step{feature: ^int32(len(w.ends))}
				e := end{value: n.value, margin: int32(t.margin)}
				if int(n.slot) < len(t.share) {
					e.share, e.slot = t.share[n.slot], at+2*n.slot
				}
				w.ends = append(w.ends, e)
			}
			w.steps = append(w.steps, s)
		}
		at += 2 * int32(len(t.share))
	}
	w.way = make([][]piece, len(w.ends))
	return w
}

// to returns the leaves of the row.
func (w *walker) to(row model.Row) []int32 {
	if w.known && same(w.row, row) {
		return w.leaf
	}
	w.known = true
	copy(w.row, row)
	steps := w.steps
	for k, i := range w.root {
		for {
			s := &steps[i]
			if s.feature < 0 {
				w.leaf[k] = ^s.feature
				break
			}
			v := row[s.feature]
			left := v <= s.cut
			if s.kind != numbers || v != v {
				left = s.side(v)
			}
			j := int32(s.right)
			if left {
				j = 1
			}
			i += j
		}
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

// parts returns the way from the root of a tree to a leaf, a part for each feature on it. k is the number of the tree,
// to which t belongs.
func (w *walker) parts(t *tree, k int, leaf int32) []piece {
	if w.way[leaf] == nil {
		var walk func(i int32, way []piece)
		walk = func(i int32, way []piece) {
			n := &t.nodes[i]
			if n.feature < 0 {
				w.way[^w.steps[w.root[k]+i].feature] = way
				return
			}
			for _, j := range [2]int32{i + 1, n.right} {
				walk(j, extend(way, piece{n.feature, t.nodes[j].value - n.value}))
			}
		}
		walk(0, []piece{})
	}
	return w.way[leaf]
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
