package trees

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"liftstream/model"
)

// lightGBM is a file of testdata/golden.py.
type lightGBM struct {
	Rows   [][]float64
	Class  []int32
	Weight []float64
	Trees  map[string]struct {
		Tree [][]float64 // preorder: feature and threshold of a split, value of a leaf
		Loss float64     // of thirty trees, on the records that they were grown on
	}
}

// numbered returns a schema of two classes with n continuous features, and the rows as evidence of it.
func numbered(rows [][]float64, class []int32) *model.Evidence {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	ev := &model.Evidence{Schema: s, Seed: 1, Class: class, Levels: model.NewLevels(s)}
	for f := range rows[0] {
		s.Features = append(s.Features, model.Feature{Name: string(rune('a' + f)), Kind: model.Continuous})
		column := make([]float64, len(rows))
		for i := range rows {
			column[i] = rows[i][f]
		}
		ev.Columns = append(ev.Columns, column)
	}
	for i := range rows {
		ev.Weight, ev.Clock = append(ev.Weight, 1), append(ev.Clock, float64(i))
	}
	ev.Levels, ev.Time, ev.Partition = model.NewLevels(s), make([]int64, len(rows)), make([]int32, len(rows))
	return ev
}

// coded codes all records of the evidence.
func coded(ev *model.Evidence) *records {
	rows := make([]int32, ev.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	return code(ev, use(ev.Schema), rows)
}

// TestLightGBM: on the same bins the first tree has the splits of LightGBM's, and its values to 1e-9; thirty trees fit
// the records as well, to 1e-3 of the log-loss: LightGBM keeps gradients in 32 bits, and
// estimates the records of a leaf by their curvature.
func TestLightGBM(t *testing.T) {
	b, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden lightGBM
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	for name, want := range golden.Trees {
		ev := numbered(golden.Rows, golden.Class)
		r := coded(ev)
		if name == "weighted" {
			copy(r.weight, golden.Weight)
		}
		e := newEnsemble(r, -1)
		x := newGrower(e, shape{leaves: 8, least: 1, curvature: 1e-3, ridge: 10, rate: .1})
		for range 30 {
			if _, err := x.round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		got := e.trees[0].serving(r, ev.Schema)
		if len(got.nodes) != len(want.Tree) {
			t.Fatalf("%s: %d nodes, LightGBM has %d", name, len(got.nodes), len(want.Tree))
		}
		for i, n := range got.nodes {
			switch w := want.Tree[i]; {
			case (n.feature < 0) != (len(w) == 1):
				t.Errorf("%s: node %d is %+v, LightGBM's %v", name, i, n, w)
			case n.feature < 0 && !(math.Abs(n.value-w[0]) <= 1e-9):
				t.Errorf("%s: node %d has value %v, LightGBM's %v", name, i, n.value, w[0])
			case n.feature >= 0 && (float64(n.feature) != w[0] || apart(&got, int32(i), golden.Rows, w[1])):
				t.Errorf("%s: node %d splits feature %d at %v, LightGBM's %v", name, i, n.feature, n.cut, w)
			}
		}
		sum, weight := 0., 0.
		for i, y := range r.class {
			sum += r.weight[i] * loss(e.z[i:i+1], y)
			weight += r.weight[i]
		}
		if l := sum / weight; !(math.Abs(l-want.Loss) <= 1e-3) {
			t.Errorf("%s: thirty trees have log-loss %v, LightGBM's %v", name, l, want.Loss)
		}
	}
}

// apart reports whether a row that comes to node at goes to another side by the cut. Cuts between the same values of
// these rows are the same split.
func apart(t *tree, at int32, rows [][]float64, cut float64) bool {
	for _, row := range rows {
		i := int32(0)
		for i != at && t.nodes[i].feature >= 0 {
			i = t.next(i, row)
		}
		if v := row[t.nodes[at].feature]; i == at && (v <= cut) != (v <= t.nodes[at].cut) {
			return true
		}
	}
	return false
}

// next returns the child of inner node i to which the row goes.
func (t *tree) next(i int32, row model.Row) int32 {
	n := &t.nodes[i]
	v := row[n.feature]
	left := n.missing
	if n.nominal {
		if v >= 0 && v < maxLevels {
			left = n.mask>>uint(v)&1 == 1
		}
	} else if v == v {
		left = v <= n.cut
	}
	if left {
		return i + 1
	}
	return n.right
}

// leaf returns the leaf of a row, found by the nodes themselves.
func (t *tree) leaf(row model.Row) *node {
	i := int32(0)
	for t.nodes[i].feature >= 0 {
		i = t.next(i, row)
	}
	return &t.nodes[i]
}
