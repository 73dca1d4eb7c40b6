package trees

import "liftstream/model"

// node is a node of a tree as it serves. Nodes stand in preorder: the left child is the next one.
type node struct {
	feature int32 // -1 of a leaf
	right   int32
	slot    int32 // of a leaf: where its records are counted
	nominal bool
	special bool    // of a nominal one: its levels are the numbers of the feature's special codes
	missing bool    // missing values, and levels from maxLevels on, go left; of special codes also all numbers
	cut     float64 // numbers up to it go left
	mask    uint64  // levels that go left
	value   float64 // of an inner node: the mean of its leaves
}

// tree adds its value to a margin.
type tree struct {
	margin int
	nodes  []node
	share  []float64 // of each slot: share of the margin's class among the records of the fit, in (0, 1)
}

// slots numbers the places where the records of the leaves are counted, and returns how many there are. The leaves
// below a split of a feature whose levels are learnt from the stream share one: their codes may change when a model
// starts to serve, and such counts do not depend on them (METHOD.md 6).
func (t *tree) slots(s *model.Schema) int {
	next := int32(0)
	var walk func(i, shared int32)
	walk = func(i, shared int32) {
		n := &t.nodes[i]
		n.slot = shared
		if n.feature < 0 {
			if shared < 0 {
				n.slot = next
				next++
			}
			return
		}
		if f := &s.Features[n.feature]; shared < 0 && f.Kind == model.Nominal && f.Levels == nil {
			shared = next
			next++
		}
		walk(i+1, shared)
		walk(n.right, shared)
	}
	walk(0, -1)
	return int(next)
}

// serving turns a grown tree into one that serves.
func (t *grown) serving(r *records, s *model.Schema) tree {
	out := tree{margin: t.margin}
	var from []int32 // node of t of each node
	var add func(i int32)
	add = func(i int32) {
		at := len(out.nodes)
		g := &t.nodes[i]
		n := node{feature: -1, value: g.value}
		from = append(from, i)
		if g.left > 0 {
			c := &r.columns[g.column]
			n.feature, n.nominal, n.special, n.missing = c.feature, c.nominal, c.special, g.missingLeft
			if c.nominal {
				n.mask = g.mask
			} else {
				n.cut = lowest
				if g.bin > 0 {
					n.cut = c.cuts[g.bin-1]
				}
			}
		}
		out.nodes = append(out.nodes, n)
		if g.left > 0 {
			add(g.left)
			out.nodes[at].right = int32(len(out.nodes))
			add(g.right)
		}
	}
	add(0)
	n := out.slots(s)
	weight, class := make([]float64, n), make([]float64, n)
	for i := range out.nodes {
		if x := &out.nodes[i]; x.feature < 0 {
			g := &t.nodes[from[i]]
			weight[x.slot] += g.weight
			class[x.slot] += g.class
		}
	}
	for k := range weight {
		out.share = append(out.share, (class[k]+.5)/(weight[k]+1))
	}
	return out
}
