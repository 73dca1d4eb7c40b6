package page

import (
	"cmp"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/evaluate"
)

const (
	// movedRecords is the number of records at which the counts of the reasons are halved: older ones fade.
	movedRecords = 20_000
	shownMovers  = 12
)

// Mover is a feature, or a term of the score, and how much it moves the scores in whose reasons it is.
type Mover struct {
	Feature string `json:"feature"`
	// Share is that of the newest records among whose reasons it is: each record has its strongest ones alone.
	Share evaluate.Number `json:"share"`
	// Effect is the mean size of its contribution to the log-odds there, Up the share of the raising ones.
	Effect evaluate.Number `json:"mean_effect"`
	Up     evaluate.Number `json:"share_up"`
}

// moved counts the reasons of the newest records of a partition. The zero value is empty.
type moved struct {
	records float64
	of      map[int32]*effects
}

type effects struct {
	name        string // of the feature or term
	n, up, size float64
}

// add counts the reasons of record i.
func (m *moved) add(schema *model.Schema, s *model.Scores, i int) {
	if m.of == nil {
		m.of = map[int32]*effects{}
	}
	if m.records++; m.records >= movedRecords {
		m.records /= 2
		for _, e := range m.of {
			e.n, e.up, e.size = e.n/2, e.up/2, e.size/2
		}
	}
	for _, w := range s.WhyOf(i) {
		if math.IsNaN(w.Effect) || math.IsInf(w.Effect, 0) {
			continue
		}
		e := m.of[w.Feature]
		if e == nil {
			e = &effects{name: s.TermName(schema, w.Feature)}
			m.of[w.Feature] = e
		}
		e.n++
		e.size += math.Abs(w.Effect)
		if w.Effect > 0 {
			e.up++
		}
	}
}

// merge adds the counts of another partition.
func (m *moved) merge(o *moved) {
	if m.of == nil {
		m.of = map[int32]*effects{}
	}
	m.records += o.records
	for f, e := range o.of {
		own := m.of[f]
		if own == nil {
			own = &effects{name: e.name}
			m.of[f] = own
		}
		own.n, own.up, own.size = own.n+e.n, own.up+e.up, own.size+e.size
	}
}

// movers are the strongest features by the sum of the sizes of their effects.
func (m *moved) movers() []Mover {
	order := make([]int32, 0, len(m.of))
	for f := range m.of {
		order = append(order, f)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(m.of[b].size, m.of[a].size), cmp.Compare(a, b))
	})
	out := []Mover{}
	for _, f := range order[:min(len(order), shownMovers)] {
		e := m.of[f]
		out = append(out, Mover{Feature: e.name, Share: evaluate.Number(e.n / m.records),
			Effect: evaluate.Number(e.size / e.n), Up: evaluate.Number(e.up / e.n)})
	}
	return out
}
