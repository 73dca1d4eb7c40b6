package trees

import (
	"fmt"
	"math"

	"liftstream/model"
	"liftstream/model/wire"
)

// Versions of the binary forms, which FORMAT.md describes.
const (
	partFormat  = 1
	stateFormat = 1
)

// Bounds of numbers from outside.
const (
	mostNodes = 2*MaxLeaves - 1
	// MaxLeaves bounds the leaves of a tree.
	MaxLeaves = 64
	maxValue  = 1e6
	lowest    = -math.MaxFloat64
)

// info is how the trees of a part came about.
type info struct {
	outcome
	records int // that the fit looked at
}

// share is the counts of one partition at the Model's mark.
type share struct {
	partition int32
	counts    *counts
}

// Part is the tree component's part of a Model.
type Part struct {
	structure
	info   info
	folds  [][]tree // without the records of each fold; none without trees
	shares []share
}

func (p *Part) appendBinary(b []byte) []byte {
	b = wire.AppendUvarint(b, partFormat)
	b = p.appendStructure(b)
	b = wire.AppendUvarint(b, uint64(p.info.records))
	b = wire.AppendUvarint(b, uint64(p.info.rounds))
	for _, v := range []float64{p.info.before, p.info.gain, p.info.stderr} {
		b = wire.AppendFloat(b, v)
	}
	b = wire.AppendUvarint(b, uint64(len(p.folds)))
	for _, trees := range p.folds {
		b = appendTrees(b, trees)
	}
	b = wire.AppendUvarint(b, uint64(len(p.shares)))
	for _, s := range p.shares {
		b = wire.AppendVarint(b, int64(s.partition))
		b = s.counts.appendBinary(b)
	}
	return b
}

func (s *structure) appendStructure(b []byte) []byte {
	b = wire.AppendUvarint(b, s.stamp)
	b = wire.AppendFloat(b, s.run)
	b = wire.AppendFloat(b, s.halfLife)
	return s.appendTrees(b)
}

func (s *structure) appendTrees(b []byte) []byte {
	b = wire.AppendFloats(b, s.base)
	return appendTrees(b, s.trees)
}

// The first byte of a node.
const (
	kindLeaf = iota
	kindNumber
	kindNumberMissing // missing values go left
	kindLevels
	kindLevelsMissing
	kindSpecial // the special codes of a continuous feature
	kindSpecialMissing
)

func appendTrees(b []byte, trees []tree) []byte {
	b = wire.AppendUvarint(b, uint64(len(trees)))
	for i := range trees {
		t := &trees[i]
		b = wire.AppendUvarint(b, uint64(t.margin))
		b = wire.AppendUvarint(b, uint64(len(t.nodes)))
		for k := range t.nodes {
			n := &t.nodes[k]
			if n.feature < 0 {
				b = append(b, kindLeaf)
				b = wire.AppendFloat(b, n.value)
				continue
			}
			kind := byte(kindNumber)
			switch {
			case n.special:
				kind = kindSpecial
			case n.nominal:
				kind = kindLevels
			}
			if n.missing {
				kind++
			}
			b = append(b, kind)
			b = wire.AppendUvarint(b, uint64(n.feature))
			if n.nominal {
				b = wire.AppendUvarint(b, n.mask)
			} else {
				b = wire.AppendFloat(b, n.cut)
			}
			b = wire.AppendFloat(b, n.value)
		}
		b = wire.AppendFloats(b, t.share)
	}
	return b
}

func (c *counts) appendBinary(b []byte) []byte {
	for _, v := range []float64{c.base, c.square, c.total} {
		b = wire.AppendFloat(b, v)
	}
	b = wire.AppendFloats(b, c.class)
	return wire.AppendFloats(b, c.slot)
}

// reader reads the forms of a schema.
type reader struct {
	*wire.Reader
	schema  *model.Schema
	margins int
}

func newReader(s *model.Schema, b []byte) *reader {
	return &reader{wire.NewReader(b), s, marginsOf(s)}
}

// within reads a number from low to high.
func (r *reader) within(low, high float64) float64 {
	v := r.Float()
	if r.Err() == nil && !(v >= low && v <= high) {
		r.Fail(fmt.Errorf("number %v", v))
	}
	return v
}

func (r *reader) structure() (s structure) {
	s.stamp, s.run, s.halfLife = r.Uvarint(), r.within(0, 1e18), r.within(0, 1e18)
	s.base = r.shares(-1)
	s.trees = r.trees()
	if r.Err() == nil && (len(s.trees) == 0) != (len(s.base) == 0) ||
		len(s.base) != 0 && len(s.base) != r.margins {
		r.Fail(fmt.Errorf("%d class shares of %d margins", len(s.base), r.margins))
	}
	if r.Err() == nil && (s.stamp == 0) != (len(s.trees) == 0) {
		r.Fail(fmt.Errorf("%d trees of stamp %d", len(s.trees), s.stamp))
	}
	return s
}

// shares reads n numbers inside (0, 1); n < 0 = any number of them.
func (r *reader) shares(n int) []float64 {
	v := r.Floats()
	if r.Err() == nil && n >= 0 && len(v) != n {
		r.Fail(fmt.Errorf("%d class shares of %d slots", len(v), n))
	}
	for _, x := range v {
		if !(x > 0 && x < 1) {
			r.Fail(fmt.Errorf("a class share of %v", x))
		}
	}
	return v
}

func (r *reader) trees() []tree {
	n := r.Int(mostTrees)
	var out []tree
	for i := 0; i < n && r.Err() == nil; i++ {
		t := tree{margin: r.Int(r.margins - 1)}
		nodes := r.Int(mostNodes)
		if r.Err() == nil && nodes%2 == 0 {
			r.Fail(fmt.Errorf("a tree of %d nodes", nodes))
		}
		for k := 0; k < nodes && r.Err() == nil; k++ {
			t.nodes = append(t.nodes, r.node())
		}
		if r.Err() == nil && !t.link() {
			r.Fail(fmt.Errorf("%d nodes that are no tree", nodes))
		}
		if r.Err() != nil {
			break
		}
		t.share = r.shares(t.slots(r.schema))
		out = append(out, t)
	}
	return out
}

func (r *reader) node() node {
	kind := r.Int(kindSpecialMissing)
	if kind == kindLeaf {
		return node{feature: -1, value: r.within(-maxValue, maxValue)}
	}
	n := node{feature: int32(r.Int(len(r.schema.Features) - 1)), nominal: kind >= kindLevels}
	n.special = kind >= kindSpecial
	n.missing = kind == kindNumberMissing || kind == kindLevelsMissing || kind == kindSpecialMissing
	if r.Err() == nil {
		f := &r.schema.Features[n.feature]
		if n.special && len(f.Special) == 0 || !n.special && n.nominal != (f.Kind == model.Nominal) {
			r.Fail(fmt.Errorf("a split of feature %d of another kind", n.feature))
		}
	}
	if n.nominal {
		n.mask = r.Uvarint()
	} else {
		n.cut = r.within(lowest, math.MaxFloat64)
	}
	n.value = r.within(-maxValue, maxValue)
	return n
}

// link sets the right children of nodes in preorder, and reports whether they are one tree.
func (t *tree) link() bool {
	var open []int32 // inner nodes whose left side is being read
	for i := range t.nodes {
		if t.nodes[i].feature >= 0 {
			open = append(open, int32(i))
			continue
		}
		if len(open) == 0 {
			return i+1 == len(t.nodes)
		}
		t.nodes[open[len(open)-1]].right = int32(i + 1)
		open = open[:len(open)-1]
		if i+1 == len(t.nodes) {
			return false
		}
	}
	return false
}

func (r *reader) counts(s *structure) *counts {
	n := s.newCounts()
	n.base = r.within(-math.MaxFloat64, math.MaxFloat64)
	n.square, n.total = r.count(), r.count()
	r.FloatsInto(n.class)
	r.FloatsInto(n.slot)
	for _, v := range [][]float64{n.class, n.slot} {
		for _, x := range v {
			if !(math.Abs(x) <= mostWeight) {
				r.Fail(fmt.Errorf("a count of %v", x))
			}
		}
	}
	return n
}

// mostWeight bounds a sum of weights.
const mostWeight = 1e150

func (r *reader) count() float64 { return r.within(-mostWeight, mostWeight) }

// DecodePart reads a part of a Model of the schema. Hostile bytes give an error.
func DecodePart(s *model.Schema, b []byte) (*Part, error) {
	r := newReader(s, b)
	if format := r.Uvarint(); r.Err() == nil && format != partFormat {
		return nil, fmt.Errorf("decoding trees: format %d, this build reads %d", format, partFormat)
	}
	p := &Part{structure: r.structure()}
	p.info.records, p.info.rounds = r.Int(math.MaxInt32), r.Int(mostTrees)
	p.info.before, p.info.gain, p.info.stderr = r.count(), r.count(), r.count()
	n := r.Int(folds)
	if r.Err() == nil && n != 0 && n != folds {
		r.Fail(fmt.Errorf("%d folds", n))
	}
	for i := 0; i < n && r.Err() == nil; i++ {
		p.folds = append(p.folds, r.trees())
	}
	for i := r.Int(math.MaxInt32); i > 0 && r.Err() == nil; i-- {
		partition := r.Varint()
		if partition != int64(int32(partition)) {
			r.Fail(fmt.Errorf("partition %d", partition))
		}
		p.shares = append(p.shares, share{int32(partition), r.counts(&p.structure)})
	}
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("decoding trees: %w", err)
	}
	return p, nil
}

// AppendState appends the trees and the counts of their leaves.
func (c *Component) AppendState(b []byte) []byte {
	if c.structure == nil {
		return b
	}
	b = wire.AppendUvarint(b, stateFormat)
	b = c.structure.appendStructure(b)
	if c.counts != nil {
		b = c.counts.appendBinary(b)
	}
	return b
}

// LoadState replaces the state by one that AppendState wrote.
func (c *Component) LoadState(b []byte) error {
	*c = Component{schema: c.schema}
	if len(b) == 0 {
		return nil
	}
	r := newReader(c.schema, b)
	if format := r.Uvarint(); r.Err() == nil && format != stateFormat {
		return fmt.Errorf("decoding the state of trees: format %d, this build reads %d", format, stateFormat)
	}
	s := r.structure()
	var n *counts
	if r.Err() == nil && len(s.trees) > 0 {
		n = r.counts(&s)
	}
	if err := r.Done(); err != nil {
		return fmt.Errorf("decoding the state of trees: %w", err)
	}
	c.install(&s, n)
	return nil
}
