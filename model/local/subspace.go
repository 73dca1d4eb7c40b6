package local

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"liftstream/model"
)

// The published subspace of a record holds the features whose values tell about the class there, beyond chance:
//
//   - alone: the class shares P of the records around the value differ from the class shares p of all records. Around a
//     level or a missing value are the records that share it, around a number those under the kernel of width h. The
//     relevance is KL(P || p), P drawn towards p by one record. For an uninformative feature 2 n_eff KL has a
//     chi-square distribution with classes - 1 degrees of freedom; it must exceed the quantile 1 - level / m, m being
//     the number of features.
//   - beside the others: take the prototypes nearest to a prototype by all other features of the neighbours' distance.
//     The ones among them that agree with it in this feature have more of their most frequent class than chance
//     explains: the one-sided hypergeometric tail is at most level / (m regions). The relevance is KL(P || P'), P'
//     being the class shares of the nearest prototypes and P those of the agreeing ones, both at the base rates of the
//     stream. A record takes the mean over its own neighbours with which it agrees, if they are at least a quarter of
//     all. Prototypes as far as the last neighbour share its part, as they share its vote.
//
// A feature that is independent of the class and of all other features passes by chance alone, at those levels: the
// prototypes were chosen without it, so their classes are exchangeable between the agreeing ones and the others.
//
// A fit tabulates both from all counts of the time, so that scoring is a look-up. Records learnt since then move the
// scorecard at once and the subspaces at the next fit. Levels and missing values are an exception: their relevance
// alone is also computed from the present counts, and the larger relevance holds. P and p are always of the same
// records, with the same memory: a rate that drifts moves both.
const level = .05

// regions are the numbers of nearest prototypes in which a feature is tried beside the others, ascending.
var regions = [...]int{32, 96}

// leastShare is the share of a record's neighbours that must find a feature telling beside the others.
const leastShare = .25

// critical is the quantile 1 - level / m of the chi-square distribution with classes - 1 degrees of freedom.
func critical(classes, m int) float64 {
	if classes < 2 || m < 1 {
		return math.Inf(1)
	}
	return 2 * mathext.GammaIncRegCompInv(float64(classes-1)/2, level/float64(m))
}

// told is the number of used features.
func (s *structure) told() (n int) {
	for j := range s.features {
		if f := &s.features[j]; f.bins > 0 || f.nominal {
			n++
		}
	}
	return n
}

// alone tabulates the relevance of the values of a feature alone: 0 where it is not beyond chance.
func (x *fitter) alone(f *feature, near *around, g *histogram, critical float64) {
	f.tells = make([]float64, len(near.squares))
	for i, s := range near.squares {
		f.tells[i] = tells(near.mass[i*x.classes:(i+1)*x.classes], g.total, s, critical)
	}
	single(f.tells)
	f.missing = g.tells(g.missing, critical)
}

// tells returns the relevance of a cell of these class masses if it is beyond chance, else 0. all are the class masses
// of all records.
func tells(mass, all []float64, squares, limit float64) float64 {
	gamma := total(mass)
	if !(squares > 0) || !(gamma > 0) {
		return 0
	}
	r := relevanceOf(mass, all, squares)
	if !(2*gamma*gamma/squares*r > limit) {
		return 0
	}
	return float64(float32(r))
}

// tells is the relevance of a cell with these class counts.
func (g *histogram) tells(cell []float64, limit float64) float64 {
	squares := 0.0
	for y, v := range cell {
		if v > 0 {
			squares += v * g.weight(y)
		}
	}
	return tells(cell, g.total, squares, limit)
}

// live is the relevance alone of a level or a missing value by the present counts of this partition; 0 of a number.
func (g *histogram) live(f *feature, v, limit float64) float64 {
	if _, ok := f.value(v); !ok {
		return g.tells(g.missing, limit)
	}
	n := len(g.total)
	if at := int(v) * n; f.nominal && at+n <= len(g.n) {
		return g.tells(g.n[at:at+n], limit)
	}
	return 0
}

// alone is the relevance of a cell of a Row alone, in nats: of a number, at the nearest bin.
func (f *feature) alone(v float64) float64 {
	x, ok := f.value(v)
	switch {
	case !ok:
		return f.missing
	case f.nominal:
		if int(v) >= len(f.tells) {
			return 0
		}
		return f.tells[int(v)]
	case len(f.tells) == 0:
		return 0
	}
	bin, above := f.split(x)
	if above >= .5 {
		bin++
	}
	return f.tells[bin]
}

// alone is the relevance of feature j of the row alone, in nats. For a level or a missing value it is the larger of
// those by the counts of the fit and of the present, so that a new level becomes relevant as soon as its counts allow.
func (s *structure) alone(row model.Row, j int, own []*histogram) float64 {
	f := &s.features[j]
	if f.bins == 0 && !f.nominal {
		return 0
	}
	return max(f.alone(row[j]), own[j].live(f, row[j], s.critical))
}

// agreement returns the largest difference of two places of a feature at which their values agree: that of a window as
// wide as the kernel of width h, sqrt(pi/2) h either way. Levels agree when they are equal.
func (s *structure) agreement(j int) float64 {
	c := &s.prototypes.columns[j]
	if c.nominal || !(c.sd > 0) {
		return 0
	}
	return math.Sqrt(math.Pi/2) * s.width * s.features[j].scale / c.sd * unit
}

// besideTerms bounds the terms of distances that a fit computes for the relevance beside others. Beyond it only some of
// the prototypes, evenly spread, are tried.
const besideTerms = 4e9

// beside tabulates the relevance of every feature beside the others at each of the prototypes.
func (x *fitter) beside(ctx context.Context, s *structure) error {
	n, m := len(s.prototypes.class), len(s.features)
	s.prototypes.beside = make([]float32, n*m)
	if x.options.Plain || n <= regions[0] {
		return nil
	}
	step := 1
	for float64(n)*float64(n)*float64(m) > besideTerms*float64(step) {
		step++
	}
	// The logarithms of k! for the tails.
	factorial := make([]float64, n+1)
	for k := 1; k <= n; k++ {
		factorial[k] = factorial[k-1] + math.Log(float64(k))
	}
	alpha := level / float64(s.told()*len(regions))
	begin := func(context.Context) func(k int) error {
		t := newTrier(s, factorial, alpha)
		row := make(model.Row, m)
		return func(k int) error {
			i := k * step
			x.ev.Row(x.rows[i], row)
			t.try(row, i, s.prototypes.beside[i*m:(i+1)*m])
			return nil
		}
	}
	if err := x.ev.Share(ctx, (n+step-1)/step, begin); err != nil {
		return fmt.Errorf("trying features beside others: %w", err)
	}
	return nil
}

// trier is the working memory of one goroutine that tries features beside others.
type trier struct {
	s         *structure
	w         *scratch
	terms     [][]int64 // of each feature, by prototype
	sum, rest []int64
	order     []int64
	near      []int32 // candidates
	all, same []float64
	factorial []float64
	alpha     float64
}

func newTrier(s *structure, factorial []float64, alpha float64) *trier {
	n := len(s.prototypes.class)
	t := &trier{
		s: s, w: newScratch(s), factorial: factorial, alpha: alpha,
		terms: make([][]int64, len(s.features)), sum: make([]int64, n), rest: make([]int64, n),
		all: make([]float64, len(s.base)), same: make([]float64, len(s.base)),
	}
	for j := range t.terms {
		t.terms[j] = make([]int64, n)
	}
	return t
}

// try writes the relevance of each feature beside the others at prototype i, whose row is given.
func (t *trier) try(row model.Row, i int, out []float32) {
	s := t.s
	p := &s.prototypes
	s.query(row, s.measure, &s.limits, t.w)
	clear(t.sum)
	for k := range t.w.terms {
		q := t.w.terms[k : k+1]
		to := t.terms[q[0].feature]
		clear(to)
		add1(&q[0], to)
		correct(q, to)
		for k, d := range to {
			t.sum[k] += d
		}
	}
	t.sum[i] = beyond
	// Without one feature no distance is longer than with it, so that the k-th of the nearest lies no farther than by the
	// whole distance.
	t.order = append(t.order[:0], t.sum...)
	slices.Sort(t.order)
	bound := t.order[min(regions[len(regions)-1], len(t.order)-1)-1]
	for k := range t.w.terms {
		q := &t.w.terms[k]
		j := int(q.feature)
		t.near, t.order = t.near[:0], t.order[:0]
		for k, d := range t.sum {
			if d -= t.terms[j][k]; d <= bound && k != i {
				t.near, t.order = append(t.near, int32(k)), append(t.order, d)
				t.rest[k] = d
			}
		}
		slices.Sort(t.order)
		best := 0.0
		for _, r := range regions {
			if r >= len(p.class) {
				break
			}
			limit := t.order[r-1] // equal ones are all in
			clear(t.all)
			clear(t.same)
			for _, k := range t.near {
				if t.rest[k] <= limit {
					t.all[p.class[k]]++
					if v := p.places[int(k)*p.stride+j]; v != absent && math.Abs(float64(v)-q.q) <= s.agree[j] {
						t.same[p.class[k]]++
					}
				}
			}
			best = max(best, t.tells())
		}
		out[j] = float32(best)
	}
}

// tells compares the classes of t.same, some of the prototypes counted in t.all, with the classes of t.all. The most
// frequent class is the one with the largest excess over the prior of the prototypes. tells returns the relevance in
// nats, 0 where t.same has no more of that class than chance explains.
func (t *trier) tells() float64 {
	p := &t.s.prototypes
	n, a := total(t.all), total(t.same)
	top, y := math.Inf(-1), 0
	for c, v := range t.all {
		if e := v - n*p.prior[c]; e > top {
			top, y = e, c
		}
	}
	if t.same[y]*n <= t.all[y]*a || t.tail(n, t.all[y], a, t.same[y]) > t.alpha {
		return 0
	}
	var without, with float64
	for c, q := range p.prior {
		if q > 0 {
			without += (t.all[c] + q) / q * t.s.base[c]
			with += (t.same[c] + q) / q * t.s.base[c]
		}
	}
	sum := 0.0
	for c, q := range p.prior {
		if q > 0 && t.s.base[c] > 0 {
			v := (t.same[c] + q) / q * t.s.base[c] / with
			sum += v * math.Log(v*without/((t.all[c]+q)/q*t.s.base[c]))
		}
	}
	return max(0, sum)
}

// tail is the chance that of a records drawn from n, r of which are of a class, at least k are.
func (t *trier) tail(n, r, a, k float64) float64 {
	choose := func(n, k float64) float64 { return t.factorial[int(n)] - t.factorial[int(k)] - t.factorial[int(n-k)] }
	p := 0.0
	for ; k <= min(r, a); k++ {
		if a-k <= n-r {
			p += math.Exp(choose(r, k) + choose(n-r, a-k) - choose(n, a))
		}
	}
	return p
}

// beside is the relevance of feature j of the row beside the others, in nats: the mean over those of the found nearest
// prototypes in w.near, and of their w.ties, at which it has one and with which the row agrees in it.
func (s *structure) beside(row model.Row, j, found int, w *scratch) float64 {
	p := &s.prototypes
	c := &p.columns[j]
	if found == 0 || len(c.at) == 0 {
		return 0
	}
	q := c.place(s.features[j].clean(row, int32(j)))
	if q == absent {
		return 0
	}
	closer, share := tied(w.near[:found], w.ties)
	var sum, n, far, others float64
	add := func(k int32, sum, n *float64) {
		at := int(k)*len(s.features) + j
		b := p.beside[at]
		if b == 0 {
			return
		}
		if v := p.places[int(k)*p.stride+j]; v != absent && math.Abs(float64(v)-float64(q)) <= s.agree[j] {
			*sum += float64(b)
			*n++
		}
	}
	for _, x := range w.near[:closer] {
		add(x.index, &sum, &n)
	}
	for _, x := range w.near[closer:found] {
		add(x.index, &far, &others)
	}
	for _, k := range w.ties {
		add(k, &far, &others)
	}
	sum, n = sum+share*far, n+share*others
	if n < leastShare*float64(found) {
		return 0
	}
	return sum / n
}

// published appends the features of the record's subspace, the most relevant first, equal ones in their order, and
// their relevance in nats. own are the counts of this partition; found is the number of the record's neighbours in
// w.near.
func (s *structure) published(row model.Row, own []*histogram, found int, w *scratch, features []int32,
	relevance []float32) ([]int32, []float32) {
	from := len(features)
	for j := range s.features {
		r := float32(max(s.alone(row, j, own), s.beside(row, j, found, w)))
		if !(r > 0) {
			continue
		}
		features, relevance = append(features, int32(j)), append(relevance, r)
		at := len(features) - 1
		for ; at > from && relevance[at-1] < r; at-- {
			features[at], relevance[at] = features[at-1], relevance[at-1]
		}
		features[at], relevance[at] = int32(j), r
	}
	return features, relevance
}
