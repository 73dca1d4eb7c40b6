package evaluate

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"liftstream/model/report"
)

// Value is the worth of a hit and the cost of a contact; Hit of 0 = none is given.
type Value struct {
	Hit     float64 `json:"hit"`
	Contact float64 `json:"contact"`
}

// Given reports whether there is one: profit is computed.
func (v Value) Given() bool { return v.Hit > 0 }

// Pays reports whether a contact is expected to bring its cost at a propensity p.
func (v Value) Pays(p float64) bool { return p*v.Hit >= v.Contact }

// Profit is that of talking to the records of the highest propensities: hits * hit - records * contact, by the labels.
type Profit struct {
	Value
	// Best is the share of the highest profit, of the distinct propensities. It is found among the same labels, so its
	// profit is too good: that of Paying is not.
	Best       Number `json:"best_share"`
	BestProfit Number `json:"best_profit"`
	// Paying is the share whose propensity times hit is at least the contact, the cut of 'liftstream audience'.
	Paying         Number   `json:"paying_share"`
	PayingProfit   Number   `json:"paying_profit"`
	PayingInterval Interval `json:"paying_interval"`
	All            Number   `json:"all_profit"` // of talking to everybody
}

// gainsWork bounds the visits of records, over all resamples, for the intervals of one method.
const gainsWork = 50_000_000

const fewestResamples = 200

// resamples is the number of resamples of an interval over n records: Replicates, fewer where they would take more than
// gainsWork, but at least fewestResamples.
func resamples(n int) int { return max(fewestResamples, min(Replicates, gainsWork/max(1, n))) }

// descending is a one-against-the-rest problem in descending order of the scores, for resamples by block.
type descending struct {
	score  []float64
	weight []float64
	hit    []float64 // the weight of a positive, else 0
	block  []int32
	blocks int
	ends   []int32 // of each run of one score, the place behind its last record
}

// descend sorts the records of weight by the propensity of class c. Ties are in stream order, and no figure depends on
// it.
func descend(s *Set, c int) *descending {
	r := &descending{}
	order := make([]int32, 0, s.Len())
	block := make([]int32, s.Len())
	n := blockLength(s.Len())
	for i := range s.Class {
		if i%n == 0 && (r.blocks == 0 || s.Len()-i >= (n+1)/2) { // as Set.blocks
			r.blocks++
		}
		block[i] = int32(r.blocks - 1)
		if s.Weight[i] > 0 {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Compare(s.P[int(b)*s.Classes+c], s.P[int(a)*s.Classes+c])
	})
	for _, i := range order {
		r.score = append(r.score, s.P[int(i)*s.Classes+c])
		r.weight = append(r.weight, s.Weight[i])
		hit := 0.
		if int(s.Class[i]) == c {
			hit = s.Weight[i]
		}
		r.hit = append(r.hit, hit)
		r.block = append(r.block, block[i])
	}
	for i, score := range r.score {
		if i+1 == len(r.score) || r.score[i+1] != score {
			r.ends = append(r.ends, int32(i+1))
		}
	}
	return r
}

// draw counts how often each block is in a resample; the draws are those of interval.
func (r *descending) draw(times []float64, seed, replicate uint64) {
	clear(times)
	base := mix(seed + mix(replicate))
	for k := range uint64(r.blocks) {
		j, _ := bits.Mul64(mix(base+k), uint64(r.blocks))
		times[j]++
	}
}

// curve is the gains curve of a resample: after each run of one score the weights of records and of positives.
type curve struct {
	n, pos []float64
	auc    float64 // NaN where one side is empty
}

// at fills the curve for a resample; times is the number of times that each block counts. It is most of the work of an
// evaluation of few records.
func (c *curve) at(r *descending, times []float64) {
	c.n, c.pos = slices.Grow(c.n[:0], len(r.ends))[:len(r.ends)], slices.Grow(c.pos[:0], len(r.ends))[:len(r.ends)]
	weight, hit, block := r.weight, r.hit[:len(r.weight)], r.block[:len(r.weight)]
	var n, pos, pairs float64
	i := 0
	for k, end := range r.ends {
		var stepN, stepPos float64
		for ; i < int(end); i++ {
			t := times[block[i]]
			stepN += weight[i] * t
			stepPos += hit[i] * t
		}
		// negatives of this run score below all positives before, and tie with those of the run
		pairs += (stepN - stepPos) * (pos + stepPos/2)
		n, pos = n+stepN, pos+stepPos
		c.n[k], c.pos[k] = n, pos
	}
	c.auc = pairs / (pos * (n - pos))
}

// total is the weight of all records, and of the positives.
func (c *curve) total() (n, pos float64) { return c.first(len(c.n)) }

// top is the weight of the positives among the records of the highest scores, of the weight want. Of a run at the edge
// a share is taken, as Ranking.Top does it. from is the place of the last run of a call with a smaller weight, 0 for
// the first.
func (c *curve) top(want float64, from int) (pos float64, at int) {
	for at = from; at < len(c.n) && c.n[at] < want; at++ {
	}
	var n float64
	if at > 0 {
		n, pos = c.n[at-1], c.pos[at-1]
	}
	if at == len(c.n) {
		return pos, at
	}
	return pos + (c.pos[at]-pos)*(want-n)/(c.n[at]-n), at
}

// profit is that of the records of the highest scores as a share of the weight of all.
func (v Value) profit(n, pos, total float64) float64 { return (v.Hit*pos - v.Contact*n) / total }

// paying is the number of runs before the cut by propensity.
func (r *descending) paying(v Value) (runs int) {
	for runs < len(r.ends) && v.Pays(r.score[r.ends[runs]-1]) {
		runs++
	}
	return runs
}

// first is the weight of the records and of the positives of the first runs.
func (c *curve) first(runs int) (n, pos float64) {
	if runs == 0 {
		return 0, 0
	}
	return c.n[runs-1], c.pos[runs-1]
}

// spread gathers the resamples of one figure.
type spread []float64

func (s *spread) add(v float64) {
	if !math.IsNaN(v) {
		*s = append(*s, v)
	}
}

// interval is the 95 % percentile interval, times scale; NaN without resamples.
func (s spread) interval(scale float64) Interval {
	slices.Sort(s)
	return Interval{Number(scale * quantile(s, 0.025)), Number(scale * quantile(s, 0.975))}
}

// with is the interval with two further bounds, all times scale: blocks know no other records than those that came, so
// of few positives, or none, they alone know too little. NaN without resamples.
func (s spread) with(low, high, scale float64) Interval {
	x := s.interval(scale)
	if math.IsNaN(low) || math.IsNaN(high) {
		return x
	}
	return Interval{min(x[0], Number(scale*low)), max(x[1], Number(scale*high))}
}

// captured is the interval of the share of the positives among the n first records: what Wilson's of it and Wilson's of
// the rate among these records have in common, of as many records as their weights are worth. Alone the one knows
// nothing of the number of the records, and the other nothing of that of the positives.
func (r *descending) captured(hits, n, total, positives float64) (low, high float64) {
	var sum, squares, square float64
	for i, w := range r.weight {
		square += w * w
		if r.hit[i] > 0 {
			sum += w
			squares += w * w
		}
	}
	low, high = report.Wilson(hits/positives, sum*sum/squares)
	l, h := report.Wilson(hits/n, total*n/square)
	return max(low, l*n/positives), min(high, h*n/positives)
}

// giniInterval is the block bootstrap interval of 2 AUC - 1, the mean over classes as in Set.AUC. NaN for fewer than
// two blocks. Where even 200 resamples of all classes would take more than gainsWork, it is that of the linear part.
func giniInterval(s *Set, positive int, seed uint64) Interval {
	classes := []int{s.target(positive)}
	if s.Classes > 2 {
		classes = classes[:0]
		for c := range s.Classes {
			classes = append(classes, c)
		}
	}
	if len(classes) > 1 && fewestResamples*len(classes)*s.Len() > gainsWork {
		return linearGini(s, seed)
	}
	var means []mean
	for _, c := range classes {
		r := descend(s, c)
		if r.blocks < 2 {
			break
		}
		if means == nil {
			means = make([]mean, resamples(s.Len()*len(classes)))
		}
		times, k := make([]float64, r.blocks), &curve{}
		for rep := range means {
			r.draw(times, seed, uint64(rep))
			k.at(r, times)
			means[rep].add(2*k.auc - 1)
		}
	}
	var all spread
	for i := range means {
		all.add(means[i].value())
	}
	return all.interval(1)
}

// linearGini is giniInterval by the first derivatives of the AUCs by the weights of the blocks, the infinitesimal
// jackknife (Efron 1982, chapter 6; for blocks Obuchowski 1997, section 2). The records are visited once for each
// class, as for the AUC itself, and not once more for each resample.
func linearGini(s *Set, seed uint64) Interval {
	var slope, of []float64 // of the sum over classes, and of a class
	var sum mean
	var r *descending
	for c := range s.Classes {
		if r = descend(s, c); r.blocks < 2 {
			return Interval{Number(math.NaN()), Number(math.NaN())}
		}
		if slope == nil {
			slope, of = make([]float64, r.blocks), make([]float64, r.blocks)
		}
		clear(of)
		if auc := r.derivatives(of); !math.IsNaN(auc) {
			sum.add(2*auc - 1)
			for k, v := range of {
				slope[k] += 2 * v
			}
		}
	}
	var all spread
	times := make([]float64, r.blocks)
	for rep := range Replicates {
		r.draw(times, seed, uint64(rep))
		v := 0.
		for k, n := range times {
			v += n * slope[k]
		}
		all.add(max(-1, min(sum.value()+v/float64(sum.n), 1))) // a line may leave the bounds of the figure
	}
	return all.interval(1)
}

// derivatives adds the derivatives of the AUC by the weight of each block to those in by, and returns the AUC, NaN
// where one side is empty. A positive adds the share of the negatives below it, and a negative that of the positives
// above it, both less the AUC; ties count half.
func (r *descending) derivatives(by []float64) float64 {
	var all curve
	once := make([]float64, r.blocks)
	for k := range once {
		once[k] = 1
	}
	all.at(r, once)
	n, pos := all.total()
	if math.IsNaN(all.auc) {
		return all.auc
	}
	var n0, pos0 float64 // of the runs above
	run := 0
	for i := range r.score {
		if i == int(r.ends[run]) {
			n0, pos0 = all.n[run], all.pos[run]
			run++
		}
		above, side := pos0+(all.pos[run]-pos0)/2, n-pos
		if r.hit[i] > 0 {
			above, side = n-pos-(n0-pos0)-(all.n[run]-n0-all.pos[run]+pos0)/2, pos
		}
		by[r.block[i]] += r.weight[i] * (above/(n-side) - all.auc) / side
	}
	return all.auc
}

// gainsIntervals adds the intervals to a gains table of class c, those of the block bootstrap and of Wilson together,
// and returns the profits with v, nil where none is given. Profits are scaled to the weight of all records. gini is the
// interval of 2 AUC - 1 of the class by the same resamples: that of giniInterval where there are two classes.
func gainsIntervals(s *Set, gains []Gain, c int, v Value, seed uint64) (profit *Profit, gini Interval) {
	r := descend(s, c)
	once := make([]float64, r.blocks)
	for i := range once {
		once[i] = 1
	}
	k := &curve{}
	k.at(r, once)
	total, positives := k.total()
	unit := !slices.ContainsFunc(r.weight, func(w float64) bool { return w != 1 })
	lifts, captures, profits := make([]spread, len(gains)), make([]spread, len(gains)), make([]spread, len(gains))
	var paying, ginis spread
	runs := r.paying(v)
	times := make([]float64, r.blocks)
	for rep := range resamples(s.Len()) {
		if r.blocks < 2 {
			break
		}
		r.draw(times, seed, uint64(rep))
		k.at(r, times)
		ginis.add(2*k.auc - 1)
		n, pos := k.total()
		at := 0
		for g := range gains {
			want := gains[g].Share * n
			if unit {
				want = max(1, math.Floor(want+1e-9))
			}
			var hits float64
			hits, at = k.top(want, at)
			lifts[g].add(hits / want * n / pos)
			captures[g].add(hits / pos)
			profits[g].add(v.profit(want, hits, n))
		}
		paid, hits := k.first(runs)
		paying.add(v.profit(paid, hits, n))
	}
	for g := range gains {
		x := &gains[g]
		share, low, high := float64(x.N)/total, math.NaN(), math.NaN()
		if x.Share < 1 && share < 1 { // the positives among all records are all
			low, high = r.captured(float64(x.Positives), float64(x.N), total, positives)
		}
		x.LiftInterval, x.CaptureInterval = lifts[g].with(low/share, high/share, 1), captures[g].with(low, high, 1)
		if v.Given() {
			profit := Number(v.Hit*float64(x.Positives) - v.Contact*float64(x.N))
			n := share * total
			interval := profits[g].with(v.profit(n, low*positives, total), v.profit(n, high*positives, total), total)
			x.Profit, x.ProfitInterval = &profit, &interval
		}
	}
	gini = ginis.interval(1)
	if !v.Given() {
		return nil, gini
	}
	k.at(r, once)
	p := &Profit{Value: v, PayingInterval: paying.interval(total), All: Number(total * v.profit(total, positives, total))}
	for i := range k.n { // nobody is a choice too, of profit 0
		if profit := Number(total * v.profit(k.n[i], k.pos[i], total)); profit > p.BestProfit {
			p.BestProfit, p.Best = profit, Number(k.n[i]/total)
		}
	}
	n, pos := k.first(runs)
	p.Paying, p.PayingProfit = Number(n/total), Number(total*v.profit(n, pos, total))
	return p, gini
}
