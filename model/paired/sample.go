package paired

import (
	"cmp"
	"math"
	"slices"

	"liftstream/model"
)

// SampleRecords bounds a Sample.
const SampleRecords = 100_000

// Pair is one record of a Sample.
type Pair struct {
	First, Second float64 // propensities of the class of interest
	Known         bool    // the class of the record is known
	Is            bool    // it is the class of interest
	Weight        float64
	key           uint64
}

// Sample keeps the records for the figures that need them all at once: all of them up to SampleRecords, then those of
// the least hashes of their positions, so that neither their order nor their classes decide.
type Sample struct {
	most  int
	pairs []Pair // those beyond most wait to be cut
	all   int64
}

// NewSample returns an empty sample of most records, SampleRecords for 0.
func NewSample(most int) *Sample {
	if most <= 0 {
		most = SampleRecords
	}
	return &Sample{most: most}
}

// Add takes a record; at is its position, which no other record has.
func (s *Sample) Add(p Pair, at ...uint64) {
	p.key = model.Hash(0, at...)
	s.all++
	s.pairs = append(s.pairs, p)
	if len(s.pairs) >= 2*s.most {
		s.cut()
	}
}

// cut leaves the records of the least hashes, in their order.
func (s *Sample) cut() {
	slices.SortFunc(s.pairs, func(a, b Pair) int { return cmp.Compare(a.key, b.key) })
	s.pairs = s.pairs[:min(len(s.pairs), s.most)]
}

// Len is the number of records in the sample.
func (s *Sample) Len() int { return min(len(s.pairs), s.most) }

// All is the number of records that were added.
func (s *Sample) All() int64 { return s.all }

// Tenth is the records of one forecaster between two tenths of its propensities.
type Tenth struct {
	Records int     // of known class
	Mean    float64 // weighted mean propensity; NaN without weight
	Share   float64 // weighted share of the class of interest; NaN without weight
}

// Calibration returns the tenths of the records of known class by the propensities of the first forecaster, or of the
// second, the lowest ones first. Equal propensities are in the order of their hashes. Nil without such records.
func (s *Sample) Calibration(second bool) []Tenth {
	s.cut()
	var known []Pair
	for _, p := range s.pairs {
		if p.Known {
			known = append(known, p)
		}
	}
	if len(known) == 0 {
		return nil
	}
	of := func(p Pair) float64 {
		if second {
			return p.Second
		}
		return p.First
	}
	slices.SortStableFunc(known, func(a, b Pair) int { return cmp.Compare(of(a), of(b)) })
	out := make([]Tenth, 10)
	for t := range out {
		part := known[t*len(known)/10 : (t+1)*len(known)/10]
		var w, p, is float64
		for _, x := range part {
			w += x.Weight
			p += x.Weight * of(x)
			if x.Is {
				is += x.Weight
			}
		}
		out[t] = Tenth{Records: len(part), Mean: p / w, Share: is / w}
	}
	return out
}

// Top is the tenth of all records with the highest propensities of each forecaster.
type Top struct {
	Records int     // in each
	Both    int     // in both
	Lift    Two     // share of the class of interest there, of records of known class, over that among all; or NaN
	Share   float64 // Both over Records; NaN without records
}

// Two is a figure of each forecaster.
type Two struct{ First, Second float64 }

// Top compares the top tenths. Where more records have the least propensity of a tenth than have room, those of the
// least hashes are in it, the same ones for both.
func (s *Sample) Top() Top {
	s.cut()
	n := len(s.pairs) / 10
	a := top(s.pairs, n, func(p *Pair) float64 { return p.First })
	b := top(s.pairs, n, func(p *Pair) float64 { return p.Second })
	t := Top{Records: n}
	for i := range a {
		if a[i] && b[i] {
			t.Both++
		}
	}
	t.Share = float64(t.Both) / float64(n)
	all := rateOf(s.pairs, nil)
	t.Lift = Two{rateOf(s.pairs, a) / all, rateOf(s.pairs, b) / all}
	if n == 0 {
		t.Share, t.Lift = math.NaN(), Two{math.NaN(), math.NaN()}
	}
	return t
}

// top marks the n records of the highest propensities.
func top(pairs []Pair, n int, of func(*Pair) float64) []bool {
	order := make([]int, len(pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(of(&pairs[j]), of(&pairs[i])) })
	in := make([]bool, len(pairs))
	for _, i := range order[:n] {
		in[i] = true
	}
	return in
}

// rateOf is the weighted share of the class of interest among the marked records of known class, all for nil.
func rateOf(pairs []Pair, in []bool) float64 {
	var is, w float64
	for i := range pairs {
		if p := &pairs[i]; p.Known && (in == nil || in[i]) {
			w += p.Weight
			if p.Is {
				is += p.Weight
			}
		}
	}
	return is / w
}
