package evaluate

import (
	"liftstream/model"
)

// Learner is one input partition of a method, as the protocols drive it: *model.Partition is one.
type Learner interface {
	// Events scores the batch and learns its labelled records, row by row, each scored before it or a later one is
	// learnt. out is valid until the next call; the batch belongs to the caller.
	Events(b *model.Batch, out *model.Scores)
	// Labels learns labels of earlier records, by position.
	Labels(l *model.Labels) model.LabelCounts
}

// Method is one way to score, compared with others on the same records. It has a Spec or a New.
type Method struct {
	Name string
	// Spec makes the partitions of a stage, which are re-fitted as the stage does it.
	Spec *model.Spec
	// New returns the empty learner of an input partition; it learns from records alone.
	New func(partition int32) Learner
}

// MethodAll is the name of the method that the others are compared with.
const MethodAll = "all"

// Stage is the method of a whole stage.
func Stage(name string, spec *model.Spec) Method {
	return Method{Name: name, Spec: spec}
}

// Prior is the method that knows the base rates and nothing else: (n_c + u) / (n + C u) of the weights learnt so far, u
// being the weight of one record's worth of evidence, model.Unit.
func Prior(s *model.Schema) Method {
	return Method{Name: "prior", New: func(int32) Learner {
		return &prior{schema: s, n: make([]float64, len(s.Classes)), waiting: map[position]float64{}}
	}}
}

type position struct {
	offset int64
	row    int32
}

type prior struct {
	schema  *model.Schema
	n       []float64
	total   float64
	square  float64
	waiting map[position]float64 // weights, other than 1, of records that wait for their labels
}

func (q *prior) learn(class int32, w float64) {
	q.n[class] += w
	q.total += w
	q.square += w * w
}

func (q *prior) Events(b *model.Batch, out *model.Scores) {
	k := len(q.n)
	out.Reset(b.N, k)
	for i := range b.N {
		p, unit := out.P[i*k:(i+1)*k], model.Unit(q.total, q.square)
		for c := range p {
			p[c] = (q.n[c] + unit) / (q.total + unit*float64(k))
		}
		out.Segment[i] = int32(segment(p))
		out.Target[i] = out.Segment[i]
		if q.schema.Positive >= 0 {
			out.Target[i] = int32(q.schema.Positive)
		}
		out.BaseRate[i], out.Lift[i] = p[out.Target[i]], 1
		w := weightOf(b, i)
		switch y := b.Label[i]; {
		case y >= 0:
			q.learn(y, w)
		case y == model.Unlabelled && w != 1:
			q.waiting[position{b.Offset, b.Row[i]}] = w
		}
	}
}

func (q *prior) Labels(l *model.Labels) (c model.LabelCounts) {
	for i, y := range l.Class {
		w, at := 1.0, position{l.Offset[i], l.Row[i]}
		if v, ok := q.waiting[at]; ok {
			w = v
			delete(q.waiting, at)
		}
		if y >= 0 {
			q.learn(y, w)
			c.Learnt++
		}
	}
	return c
}
