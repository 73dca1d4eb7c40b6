package gp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// spent is the variance from which an observation says nothing: that of a score which is anything between 0 and 1 has
// at most this one.
const spent = .25

// Dated is an observation with the clock at which it was made, and the effective number of records behind it, above 0.
type Dated struct {
	Observation
	Records, Clock float64
}

func (d *Dated) check() error {
	if err := d.Observation.check(); err != nil {
		return err
	}
	if !(d.Records > 0) || math.IsInf(d.Records, 0) || math.IsNaN(d.Clock) || math.IsInf(d.Clock, 0) {
		return fmt.Errorf("%w: an observation of %v records at %v", ErrInput, d.Records, d.Clock)
	}
	return nil
}

// order puts the newest observations first, among them the most certain ones.
func order(a, b Dated) int {
	return cmp.Or(cmp.Compare(b.Clock, a.Clock), cmp.Compare(a.Tau2, b.Tau2), cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y),
		cmp.Compare(a.Records, b.Records))
}

// Pool keeps observations of one curve from fit to fit (METHOD.md 6), at most a given number of them: the first ones in
// the order of clock (newest first), variance, place and value. It is a function of the multiset of its observations;
// the order and the pieces in which they came do not matter. A variance doubles with each half-life. The zero value
// holds nothing and takes nothing.
type Pool struct {
	half float64
	most int
	obs  []Dated
}

// NewPool returns an empty pool of at most most observations. A half-life of 0 ages none.
func NewPool(half float64, most int) *Pool { return &Pool{half: half, most: most} }

// Observations returns the observations in their order; the caller must not change them.
func (p *Pool) Observations() []Dated { return p.obs }

// Append adds observations, in O(n log n). An observation that is not finite, or of no record, is an error, and then
// none is added.
func (p *Pool) Append(obs ...Dated) error {
	for i := range obs {
		if err := obs[i].check(); err != nil {
			return err
		}
	}
	p.obs = append(p.obs, obs...)
	slices.SortFunc(p.obs, order)
	p.obs = slices.Clip(p.obs[:min(len(p.obs), p.most)])
	return nil
}

// Merge adds the observations of another pool.
func (p *Pool) Merge(o *Pool) error { return p.Append(o.obs...) }

// ages is the number of half-lives from the observation to now; 0 of one that is newer than now.
func (p *Pool) ages(d *Dated, now float64) float64 {
	if !(p.half > 0) {
		return 0
	}
	return max(0, (now-d.Clock)/p.half)
}

// Age drops the observations whose aged variance says nothing now, 1/4 and more.
func (p *Pool) Age(now float64) {
	p.obs = slices.DeleteFunc(p.obs, func(d Dated) bool { return d.Tau2*math.Exp2(p.ages(&d, now)) >= spent })
}

// At returns one observation for each place that has any, by rising place: the mean of its observations, weighted by
// their records aged, and its variance,
//
//	w_i = n_i 2^-a_i     y = sum w_i y_i / sum w_i     tau^2 = sum w_i^2 tau_i^2 2^a_i / (sum w_i)^2
//
// a_i being the half-lives since. Weights do not depend on the scores: weights by the estimated variances would prefer
// the scores that happen to look certain. place gives the input of an observation, and NaN to leave it out.
func (p *Pool) At(now float64, place func(x float64) float64) []Observation {
	type sums struct{ w, y, v float64 }
	at := map[float64]*sums{}
	var places []float64
	for i := range p.obs {
		d := &p.obs[i]
		x := place(d.X)
		if math.IsNaN(x) {
			continue
		}
		s := at[x]
		if s == nil {
			s = &sums{}
			at[x] = s
			places = append(places, x)
		}
		a := p.ages(d, now)
		w := d.Records * math.Exp2(-a)
		s.w += w
		s.y += w * d.Y
		s.v += w * d.Records * d.Tau2 // w^2 2^a
	}
	slices.Sort(places)
	out := make([]Observation, 0, len(places))
	for _, x := range places {
		if s := at[x]; s.w > 0 && s.v/s.w/s.w < spent {
			out = append(out, Observation{x, s.y / s.w, s.v / s.w / s.w})
		}
	}
	return out
}
