package propensity

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model"
)

// Additive is a scorecard of two classes as it stands, as a function of a record alone (METHOD.md 10). With the effects
// E of the features, the values V of the inputs of other components (class 1 less class 0, within 50) and the curves C
//
//	z_m = Intercept_m + sum_f E_fm(x_f) + sum_j Inputs_jm V_j,  log-odds of class 1 = sum_m C_m(z_m)
//
// over its margins m. The last layer (METHOD.md 8) is not in it: it is a memory of recent records. All slices are the
// caller's.
type Additive struct {
	Margins  []Margin
	Features []AdditiveFeature
	// Inputs are the weights of the inputs that the components offer at present: of each block, inputs x margins.
	Inputs [][][]float64
	Class  [2]float64 // never-forgetting rates of the classes
	// Further is the number of levels with counts of their own that are known by a hash alone, and so are not told apart.
	Further int
}

// Margin is a card, or several cards with the same effects. Its curve runs linearly through the points (Z, Value), Z
// ascending, and with the slope Share beyond them.
type Margin struct {
	Intercept float64
	Share     float64 // of the mixture; the margins share 1
	Z, Value  []float64
}

// AdditiveFeature is the effect of one feature on each margin. A feature with levels has Levels, by code, and Other,
// the effect of every code beyond, which is 0 while new levels get cells of their own. A continuous one has Pieces,
// ascending; the last one has no end. Its special codes, which are no numbers, have effects of their own.
type AdditiveFeature struct {
	Feature int // in Schema.Features
	Missing []float64
	Levels  [][]float64
	Other   []float64
	Pieces  []Piece
	Records []float64   // labelled records of the cell, by code or by piece
	Special [][]float64 // in the order of model.Feature.Special, and their labelled records
	Coded   []float64
}

// Piece is the effect on values v up to End, which belongs to it if Closed, u being v - Origin:
//
//	E_m = Constant_m + Slope_m u + sum_t Weight_tm ln((A_t + B_t u) / (1 + C_t u))
type Piece struct {
	End             float64
	Closed          bool
	Origin          float64
	Constant, Slope []float64
	Logs            []LogTerm
}

// LogTerm is a term of a Piece.
type LogTerm struct {
	A, B, C float64
	Weight  []float64
}

// AdditiveOf returns the scorecard as it stands. It fails before there is a structure, with more than two classes, and
// where the effect of a continuous feature is bent to its lift (Options.Follow).
func AdditiveOf(s *Scorecard) (*Additive, error) {
	switch {
	case s.axes == nil:
		return nil, fmt.Errorf("the scorecard has learnt nothing yet")
	case s.margins != 1:
		return nil, fmt.Errorf("the scorecard has %d classes: one of two classes is a sum of effects", s.classes)
	}
	a := &Additive{Class: [2]float64{s.BaseRate(0), s.BaseRate(1)}}
	for i := range s.features {
		f, err := featureOf(s, i)
		if err != nil {
			return nil, err
		}
		a.Features = append(a.Features, f)
		for _, level := range s.cur.feat[i].further.levels() {
			if level != 0 {
				a.Further++
			}
		}
	}
	at, n := s.slots-s.extern, len(s.features)*s.horizons
	intercept := s.cur.own[0].w
	for h := range s.rates {
		for k := range intercept {
			intercept[k] += s.cur.in[n+h].w[k] * s.rates[h].logit
		}
	}
	for _, b := range s.opt.Blocks {
		var in [][]float64
		for _, slot := range s.ext {
			if slot >= at && slot < at+b.Inputs {
				w := s.cur.in[slot].w
				in = append(in, w[:])
			}
		}
		a.Inputs = append(a.Inputs, in)
		at += b.Inputs
	}
	for k := range cards {
		a.Margins = append(a.Margins, marginOf(s, k, intercept[k]))
	}
	a.merge()
	return a, nil
}

// marginOf returns the curve of a card: its shares of the mixture, raw and calibrated, along its margin.
func marginOf(s *Scorecard, k int, intercept float64) Margin {
	m := Margin{Intercept: intercept, Share: s.mix.part[k]}
	table, n := s.cal.table(s.cur.knot, k), len(s.cal.z)
	for j := range n {
		z := -knotEdge + 2*knotEdge*float64(j)/(float64(n)-1.0001) // as place puts them
		if j == n-1 {
			z = knotEdge
		}
		m.Z = append(m.Z, z)
		m.Value = append(m.Value, s.mix.q[2*k]*z+s.mix.q[2*k+1]*s.cal.calibrated(table, z, s.unit))
	}
	return m
}

// merge joins margins with the same effects: their curves add up.
func (a *Additive) merge() {
	for k := 0; k < len(a.Margins); k++ {
		for l := len(a.Margins) - 1; l > k; l-- {
			if !a.alike(k, l) {
				continue
			}
			m, o := &a.Margins[k], &a.Margins[l]
			m.Share += o.Share
			addFloats(m.Value, o.Value, 1)
			a.Margins = slices.Delete(a.Margins, l, l+1)
			a.each(func(v *[]float64, _ bool) { *v = slices.Delete(*v, l, l+1) })
		}
	}
}

// alike reports whether two margins have the same effects but for rounding.
func (a *Additive) alike(k, l int) bool {
	same := steady(a.Margins[k].Intercept, a.Margins[l].Intercept)
	a.each(func(v *[]float64, slope bool) {
		x, y := (*v)[k], (*v)[l]
		same = same && (near(x, y) || !slope && steady(x, y))
	})
	return same
}

// each yields every number by margin but those of the margins themselves, and whether a value is multiplied by it.
func (a *Additive) each(yield func(v *[]float64, slope bool)) {
	for i := range a.Features {
		f := &a.Features[i]
		yield(&f.Missing, false)
		yield(&f.Other, false)
		for j := range f.Levels {
			yield(&f.Levels[j], false)
		}
		for j := range f.Special {
			yield(&f.Special[j], false)
		}
		for j := range f.Pieces {
			p := &f.Pieces[j]
			yield(&p.Constant, false)
			yield(&p.Slope, true)
			for t := range p.Logs {
				yield(&p.Logs[t].Weight, false)
			}
		}
	}
	for _, block := range a.Inputs {
		for j := range block {
			yield(&block[j], false)
		}
	}
}

// near reports whether two numbers differ by rounding alone, steady whether two effects do.
func near(x, y float64) bool { return math.Abs(x-y) <= 1e-13*math.Abs(x) }

func steady(x, y float64) bool { return math.Abs(x-y) <= 1e-13 }

func featureOf(s *Scorecard, i int) (AdditiveFeature, error) {
	f := &s.features[i]
	out := AdditiveFeature{Feature: f.index, Other: make([]float64, cards)}
	out.Missing = effectOf(s, i, cellMissing, math.NaN())
	if f.kind == model.Continuous {
		if s.opt.Follow {
			return out, fmt.Errorf("propensity.sign: follow bends the effect of %s to its lift: it cannot be written as a sum",
				s.schema.Features[f.index].Name)
		}
		out.Pieces = piecesOf(s, i)
		for _, p := range out.Pieces {
			v := min(p.End, math.MaxFloat64)
			if !p.Closed {
				v = math.Nextafter(v, math.Inf(-1))
			}
			out.Records = append(out.Records, s.records(i, s.axes[i].find(v)))
		}
		for k := range s.axes[i].special {
			v := model.SpecialCell(k)
			c := s.axes[i].find(v)
			out.Special = append(out.Special, effectOf(s, i, c, v))
			out.Coded = append(out.Coded, s.records(i, c))
		}
		return out, nil
	}
	n := s.cellCount(&s.cur.feat[i])
	for c := cellLevels; c < n; c++ {
		out.Levels = append(out.Levels, effectOf(s, i, c, float64(c-cellLevels)))
		out.Records = append(out.Records, s.records(i, c))
	}
	limit := s.levels
	if f.fixed > 0 {
		limit = min(f.fixed, limit)
	}
	for c := limit; c < f.fixed; c++ { // levels of a long list have no cells of their own
		out.Levels = append(out.Levels, effectOf(s, i, cellOther, float64(c)))
		out.Records = append(out.Records, s.records(i, cellOther))
	}
	if n >= cellLevels+limit { // every further level is one of the others
		out.Other = effectOf(s, i, cellOther, math.Inf(1))
	}
	return out, nil
}

// effectOf returns the part of feature i in the margin of each card, of a value in a cell without neighbours.
func effectOf(s *Scorecard, i, cell int, v float64) []float64 {
	if cell >= s.cellCount(&s.cur.feat[i]) {
		return make([]float64, cards)
	}
	f := &s.features[i]
	x := make([]float64, len(s.features)*s.horizons)
	s.cells[i], s.far[i], s.parts[i], s.row = cell, -1, 0, s.row[:0]
	own := make([]float64, 1+s.linear)
	if f.linear >= 0 {
		row := make(model.Row, len(s.schema.Features))
		row[f.index] = v
		s.standardise(row, own[1:])
	}
	liftsOf(s, i, cell, x[i*s.horizons:(i+1)*s.horizons])
	s.moves(i, x, own)
	if s.opt.Follow {
		s.towards(i, x)
		s.straight()
	}
	return slices.Clone(s.moved)
}

// liftsOf writes the log-lifts of a cell of feature i as a score uses them, without further levels.
func liftsOf(s *Scorecard, i, cell int, dst []float64) {
	if s.order[i] == nil || !s.lifted(i, cell, dst) {
		n := s.cur.feat[i].count[2*cell*len(s.half):]
		for h := range dst {
			r := &s.rates[h]
			dst[h] = ln((n[2*h+1] + r.a) * r.odds / (n[2*h] + r.b))
		}
	}
	for h := range dst {
		dst[h] *= drawn(&s.counts, h)
	}
}

// drawn is the factor by which age draws the log-lifts of a horizon towards 0.
func drawn(s *counts, h int) float64 {
	if s.lag == 0 || s.late == 0 {
		return 1
	}
	return s.recent(h)
}
