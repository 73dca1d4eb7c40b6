package evaluate

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"liftstream/model/report"
)

// Places of the figures of a group that are quotients of sums over records.
const (
	ofShare = iota
	ofRate
	ofLift
	ofMean
	ofError
	ofTop
	ofReasons
	groupQuotients = ofReasons + groupReasons
)

// groupSums are sums over records of a group.
type groupSums struct {
	weight, positive, p, top float64
	reasons                  [groupReasons]float64
}

func (s *groupSums) add(o *groupSums, times float64) {
	s.weight += times * o.weight
	s.positive += times * o.positive
	s.p += times * o.p
	s.top += times * o.top
	for k := range s.reasons {
		s.reasons[k] += times * o.reasons[k]
	}
}

// quotients are the figures of a group with these sums, among all records with those.
func (s *groupSums) quotients(all *groupSums) (q [groupQuotients]float64) {
	q[ofShare] = s.weight / all.weight
	q[ofRate], q[ofMean] = s.positive/s.weight, s.p/s.weight
	q[ofTop] = min(1, topShare*(s.top/s.weight)/(all.top/all.weight))
	q[ofLift] = q[ofRate] / (all.positive / all.weight)
	q[ofError] = q[ofMean] - q[ofRate]
	for k := range s.reasons {
		q[ofReasons+k] = s.reasons[k] / s.weight
	}
	return q
}

// members are the records of a group while its figures are taken.
type members struct {
	name    string
	records []int32
	square  float64 // sum of the squared weights
	sums    groupSums
	blocks  []memberBlock // those with any of its records
	reasons []int32       // features of sums.reasons
	draws   [groupQuotients][]float64
}

type memberBlock struct {
	block int
	sums  groupSums
}

// blockCount is the number of blocks of n records, of which each but the last has blockLength(n).
func blockCount(n int) int {
	length := blockLength(n)
	return max(1, (n-(length+1)/2)/length+1)
}

// gather returns the group of the records that in names.
func (m *groupMeter) gather(name string, in func(i int) bool) *members {
	g := &members{name: name}
	counts := map[int32]float64{}
	for i := range m.records {
		if in(i) {
			g.records = append(g.records, int32(i))
			if r := &m.records[i]; r.reason >= 0 {
				counts[r.reason] += r.weight
			}
		}
	}
	for f := range counts {
		g.reasons = append(g.reasons, f)
	}
	slices.SortFunc(g.reasons, func(a, b int32) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	g.reasons = g.reasons[:min(len(g.reasons), groupReasons)]
	length, last := blockLength(len(m.records)), blockCount(len(m.records))-1
	for _, i := range g.records {
		r := &m.records[i]
		one := groupSums{weight: r.weight, p: r.weight * r.p, top: r.weight * r.top}
		if r.positive {
			one.positive = r.weight
		}
		if k := slices.Index(g.reasons, r.reason); k >= 0 {
			one.reasons[k] = r.weight
		}
		b := min(int(i)/length, last)
		if n := len(g.blocks); n == 0 || g.blocks[n-1].block != b {
			g.blocks = append(g.blocks, memberBlock{block: b})
		}
		g.blocks[len(g.blocks)-1].sums.add(&one, 1)
		g.square += r.weight * r.weight
	}
	for k := range g.blocks {
		g.sums.add(&g.blocks[k].sums, 1)
	}
	return g
}

// resample draws blocks as interval does, and fills in the draws of the groups, of which the first is of all records.
func (m *groupMeter) resample(all []*members, seed uint64) {
	blocks := blockCount(len(m.records))
	if blocks < 2 {
		return
	}
	times := make([]float64, blocks)
	for rep := range uint64(Replicates) {
		clear(times)
		base := mix(seed + mix(rep))
		for k := range uint64(blocks) {
			j, _ := bits.Mul64(mix(base+k), uint64(blocks))
			times[j]++
		}
		var whole groupSums
		for k, g := range all {
			var s groupSums
			for b := range g.blocks {
				if n := times[g.blocks[b].block]; n > 0 {
					s.add(&g.blocks[b].sums, n)
				}
			}
			if k == 0 {
				whole = s
			}
			for f, q := range s.quotients(&whole) {
				if !math.IsNaN(q) && !math.IsInf(q, 0) {
					g.draws[f] = append(g.draws[f], q)
				}
			}
		}
	}
}

// hull is the interval of the draws and the bounds together.
func hull(draws []float64, low, high float64) Interval {
	if len(draws) > 0 {
		slices.Sort(draws)
		low, high = min(low, quantile(draws, .025)), max(high, quantile(draws, .975))
	}
	return Interval{Number(low), Number(high)}
}

// noFigures is a group of which nothing is told.
func noFigures(name string) Group {
	nan := Number(math.NaN())
	none := Interval{nan, nan}
	return Group{Group: name, Records: nan, Share: nan, ShareInterval: none, Rate: nan, RateInterval: none, Lift: nan,
		LiftInterval: none, Mean: nan, MeanInterval: none, Error: nan, ErrorInterval: none, Slope: nan, Intercept: nan,
		AUC: nan, AUCInterval: none, Top: nan, TopInterval: none, Reasons: []GroupReason{}}
}

// figures computes those of a group, among all records.
func (m *groupMeter) figures(g, all *members, r *Ranking) Group {
	if len(g.records) < m.o.Least {
		return noFigures(g.name)
	}
	q := g.sums.quotients(&all.sums)
	n := g.sums.weight * g.sums.weight / g.square
	wilson := func(f int) Interval {
		low, high := report.Wilson(q[f], n)
		return hull(g.draws[f], low, high)
	}
	low, high := report.Wilson(q[ofRate], n)
	rate := all.sums.positive / all.sums.weight
	shareLow, shareHigh := report.Wilson(q[ofShare], all.sums.weight*all.sums.weight/all.square)
	x := Group{Group: g.name, Records: Number(len(g.records)),
		Share: Number(q[ofShare]), ShareInterval: hull(g.draws[ofShare], shareLow, shareHigh),
		Rate: Number(q[ofRate]), RateInterval: hull(g.draws[ofRate], low, high),
		Lift: Number(q[ofLift]), LiftInterval: hull(g.draws[ofLift], low/rate, high/rate),
		Mean: Number(q[ofMean]), MeanInterval: hull(g.draws[ofMean], q[ofMean], q[ofMean]),
		Error: Number(q[ofError]), ErrorInterval: hull(g.draws[ofError], q[ofMean]-high, q[ofMean]-low),
		Top: Number(q[ofTop]), TopInterval: wilson(ofTop), Reasons: []GroupReason{}}
	if g == all { // whose share, lift and part of the top are given
		x.ShareInterval, x.TopInterval = Interval{1, 1}, Interval{topShare, topShare}
		x.LiftInterval = Interval{x.Lift, x.Lift}
	}
	if len(g.draws[ofMean]) == 0 {
		x.MeanInterval = Interval{Number(math.NaN()), Number(math.NaN())}
	}
	for k, f := range g.reasons {
		x.Reasons = append(x.Reasons, GroupReason{Feature: m.names[f], Share: Number(q[ofReasons+k]),
			Interval: wilson(ofReasons + k)})
	}
	r.Reset(len(g.records), func(i int) (float64, bool, float64) {
		one := &m.records[g.records[i]]
		return one.p, one.positive, one.weight
	})
	slope, intercept := r.Recalibrate()
	auc := r.AUC()
	x.Slope, x.Intercept, x.AUC = Number(slope), Number(intercept), Number(auc)
	x.AUCInterval = m.aucInterval(g, r, auc)
	return x
}

// aucInterval is a +- 1.96 s in log-odds, with s^2 = B/(B-1) sum_b u_b^2 / (a (1-a))^2 over the B blocks of the stream,
//
//	u_b = sum_{i in b, positive} w_i (F-(p_i) - a) / W+  +  sum_{j in b, negative} w_j (1 - F+(p_j) - a) / W-,
//
// where F is the share of the weight below, ties by half. NaN for fewer than two blocks or two records of a side, and
// for an AUC of 0 or 1, of which the blocks tell nothing.
func (m *groupMeter) aucInterval(g *members, r *Ranking, a float64) Interval {
	none := Interval{Number(math.NaN()), Number(math.NaN())}
	total := blockCount(len(m.records))
	positives := 0
	for _, i := range g.records {
		if m.records[i].positive {
			positives++
		}
	}
	if !(a > 0 && a < 1) || total < 2 || positives < 2 || len(g.records)-positives < 2 {
		return none
	}
	below := make([]step, len(r.steps)) // shares of either side, ties by half
	var pos, neg float64
	for k, s := range r.steps {
		below[k] = step{s.score, (pos + s.pos/2) / r.pos, (neg + s.neg/2) / r.neg}
		pos += s.pos
		neg += s.neg
	}
	length, u := blockLength(len(m.records)), make([]float64, total)
	for _, i := range g.records {
		one := &m.records[i]
		k, ok := slices.BinarySearchFunc(below, one.p, func(s step, p float64) int { return cmp.Compare(s.score, p) })
		if !ok {
			continue // of weight 0
		}
		b := min(int(i)/length, total-1)
		if one.positive {
			u[b] += one.weight * (below[k].neg - a) / r.pos
		} else {
			u[b] += one.weight * (1 - below[k].pos - a) / r.neg
		}
	}
	var square float64
	for _, v := range u {
		square += v * v
	}
	half := report.Normal975 * math.Sqrt(square*float64(total)/float64(total-1)) / (a * (1 - a))
	if math.IsNaN(half) || math.IsInf(half, 0) {
		return none
	}
	odds := math.Log(a / (1 - a))
	at := func(z float64) Number { return Number(1 / (1 + math.Exp(-z))) }
	return Interval{at(odds - half), at(odds + half)}
}

// result computes all figures, nil where there are no groups or no records.
func (m *groupMeter) result(seed uint64) *Groups {
	if m == nil || len(m.records) == 0 {
		return nil
	}
	m.sort()
	m.markTop()
	all := []*members{m.gather("(all)", func(int) bool { return true })}
	out := &Groups{MinCount: m.o.Least, Columns: []GroupColumn{}, Segments: []GroupCurve{}, Changes: []GroupChange{}}
	for k := range m.columns {
		v := &m.columns[k]
		s := v.split(&m.schema.Features[v.feature], m.o.Least)
		out.Columns = append(out.Columns, GroupColumn{Column: m.names[v.feature], Groups: make([]Group, len(s.names))})
		for g, name := range s.names {
			all = append(all, m.gather(name, func(i int) bool { return int(s.of[i]) == g }))
		}
	}
	for k := range m.segments {
		in := m.segments[k]
		all = append(all, m.gather(m.o.Segments[k].Name, func(i int) bool { return in[i] }))
	}
	m.resample(all, seed)
	r, at := &Ranking{}, 1
	out.All = m.figures(all[0], all[0], r)
	for k := range out.Columns {
		for g := range out.Columns[k].Groups {
			out.Columns[k].Groups[g] = m.figures(all[at], all[0], r)
			at++
		}
	}
	for k := range m.segments {
		out.Segments = append(out.Segments, GroupCurve{Group: m.figures(all[at], all[0], r), Curve: m.curve(m.segments[k])})
		at++
	}
	out.Changes = m.changes()
	return out
}
