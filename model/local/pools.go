package local

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/gp"
	"liftstream/model/wire"
)

// Pool bounds the observations that are kept from fit to fit, and says how fast they age.
type Pool struct {
	// Bytes bounds the observations of all features together; 0 = none is kept, and each fit observes all counts.
	Bytes int
	// HalfLife is the time in which the variance of an observation doubles: labelled records of all partitions, or stream
	// time; zero = it stays.
	HalfLife model.HalfLife
}

// poolsFormat is the format of a part that has pools; the part without them follows, with its own format. It is far
// from those formats, which count up from 1.
const poolsFormat = 64

const (
	// observationBytes is the size of an observation in a part.
	observationBytes = 5 * 8
	// leastPooled is the effective number of records below which a score is not kept: its correction by leaving out one
	// record at a time would be as large as the score.
	leastPooled = 4
)

// pools are the observations of every curve, in a part.
type pools struct {
	clock float64           // labelled records of all partitions, or stream time
	marks map[int32]float64 // by partition, the clock up to which its records are observed
	of    []*gp.Pool        // by feature; nil for a feature without a curve

	from map[int32]float64 // the marks of before, in a fit
}

// renew returns the pools of this fit, before its scores are appended: those of the previous part, with the clock and
// the marks of the evidence; nil where the options keep none. A partition whose clock is before its mark has another
// history: all of its records count as new ones. A model of files marks none.
func (x *fitter) renew(before *pools, axes []axis) (*pools, error) {
	o := &x.options.Pool
	if o.Bytes <= 0 || x.options.Plain {
		return nil, nil
	}
	p := &pools{marks: map[int32]float64{}, of: make([]*gp.Pool, len(axes)), from: map[int32]float64{}}
	timed := newMemory(o.HalfLife).timed
	last, newest := map[int32]float64{}, int64(0)
	for i, n := range x.ev.Partition {
		last[n] = max(last[n], x.ev.Clock[i]+1)
		if t := x.ev.Time[i]; i == 0 || t > newest {
			newest = t
		}
	}
	if timed {
		p.clock = float64(newest)
	}
	if before != nil {
		p.clock = max(p.clock, before.clock)
		for n, clock := range before.marks {
			p.marks[n] = clock
			if clock <= last[n] {
				p.from[n] = clock
			}
		}
	}
	records := 0.0 // a sum of whole numbers, in any order the same
	for n, clock := range last {
		records += clock - p.from[n]
		p.marks[n] = clock
	}
	if x.ev.Whole {
		clear(p.marks)
	}
	if !timed {
		p.clock += records
	}
	n := 0
	for j := range axes {
		if axes[j].bins > 1 {
			n++
		}
	}
	for j := range axes {
		if axes[j].bins < 2 {
			continue
		}
		p.of[j] = gp.NewPool(newMemory(o.HalfLife).half, o.Bytes/observationBytes/n)
		if before == nil || before.of[j] == nil {
			continue
		}
		if err := p.of[j].Merge(before.of[j]); err != nil {
			return nil, fmt.Errorf("keeping observations: %w", err)
		}
	}
	return p, nil
}

// pooled appends the scores of the records that no former fit has observed to the pool of feature j, ages it, and
// returns the observations from which the curve of the axis is learnt, in units of its range. Scores are corrected by
// leaving out one record at a time: those of few records are too high, and averages of them would stay so (METHOD.md
// 2.4).
func (x *fitter) pooled(j int, a *axis) ([]gp.Observation, error) {
	p := x.pools.of[j]
	g := newHistogram(a, x.classes)
	for i, v := range x.ev.Columns[j] {
		if x.ev.Weight[i] > 0 && x.ev.Clock[i] >= x.pools.from[x.ev.Partition[i]] {
			g.add(a, x.classes, v, x.ev.Class[i], x.ev.Weight[i], 0, 0)
		}
	}
	counts := g.counts(x.classes)
	mass, squares := g.around(a, x.classes, x.options.Width)
	weights := g.weights()
	var made []gp.Dated
	for i := range a.bins {
		m, here := mass[i*x.classes:(i+1)*x.classes], g.n[i*x.classes:(i+1)*x.classes]
		if total(here) == 0 {
			continue
		}
		gamma := total(m)
		d := gp.Dated{Observation: gp.Observation{X: a.at(i)}, Records: gamma * gamma / squares[i], Clock: x.pools.clock}
		if !(d.Records >= leastPooled) {
			continue
		}
		if x.options.Observation == PerRecord {
			d.Y = x.recordScore(m, here, counts, weights)
			d.Tau2 = recordVariance(d.Y, x.options.Score.Neutral(counts), gamma, squares[i])
		} else {
			d.Y = x.options.Score.corrected(m, counts, d.Records)
			d.Tau2 = locationVariance(m, counts, squares[i]) + secondOrder(m, counts, d.Records)
		}
		made = append(made, d)
	}
	if err := p.Append(made...); err != nil {
		return nil, err
	}
	p.Age(x.pools.clock)
	return p.At(x.pools.clock, func(v float64) float64 {
		v, ok := a.value(v)
		if !ok {
			return math.NaN()
		}
		bin, above := a.split(v)
		if above >= .5 {
			bin++
		}
		return (a.at(bin) - a.zero) / a.scale
	}), nil
}

// corrected is the class-averaged score of n effective records, without the bias of order 1/n: Quenouille's jackknife,
//
//	n S - (n - 1) sum_c P_c S_(-c)
//
// with S_(-c) the score without one record of class c. It is exact for the hit form, whose sum P_c^2 is too large by (1
// - sum p_c^2)/n on average. Where a class has less than one record the rest of it is left out.
func (s Score) corrected(mass, counts []float64, n float64) float64 {
	gamma := total(mass)
	one := gamma / n
	without := make([]float64, len(mass))
	mean := 0.0
	for c, m := range mass {
		if m > 0 {
			copy(without, mass)
			without[c] = max(0, m-one)
			mean += m / gamma * s.Location(without, counts)
		}
	}
	return min(max(n*s.Location(mass, counts)-(n-1)*mean, 0), 1)
}

// secondOrder is the variance of a class-averaged score that the delta method leaves out, 2 tr(C^2) with C = (diag P -
// P P')/n: 2 (sum P^2 - 2 sum P^3 + (sum P^2)^2) / n^2. Where the shares are equal it is all of the variance. The
// shares are drawn towards the base rates by one pseudo-record.
func secondOrder(mass, counts []float64, n float64) float64 {
	gamma, all := total(mass), total(counts)
	var two, three float64
	for c, m := range mass {
		p := (n*m/gamma + counts[c]/all) / (n + 1)
		two += p * p
		three += p * p * p
	}
	return 2 * max(0, two-2*three+two*two) / n / n
}

// appendBinary writes the pools before a part.
func (p *pools) appendBinary(b []byte) []byte {
	b = wire.AppendUvarint(b, poolsFormat)
	b = wire.AppendFloat(b, p.clock)
	partitions := make([]int32, 0, len(p.marks))
	for n := range p.marks {
		partitions = append(partitions, n)
	}
	slices.Sort(partitions)
	b = wire.AppendInts(b, partitions)
	for _, n := range partitions {
		b = wire.AppendFloat(b, p.marks[n])
	}
	used := 0
	for _, o := range p.of {
		if o != nil {
			used++
		}
	}
	b = wire.AppendUvarint(b, uint64(used))
	for j, o := range p.of {
		if o == nil {
			continue
		}
		b = wire.AppendUvarint(b, uint64(j))
		all := o.Observations()
		b = wire.AppendUvarint(b, uint64(len(all)))
		for i := range all {
			d := &all[i]
			for _, v := range [...]float64{d.X, d.Y, d.Tau2, d.Records, d.Clock} {
				b = wire.AppendFloat(b, v)
			}
		}
	}
	return b
}

// decodePools reads the form of appendBinary, without the format.
func decodePools(r *wire.Reader, s *model.Schema) *pools {
	p := &pools{clock: finite(r), marks: map[int32]float64{}, of: make([]*gp.Pool, len(s.Features))}
	partitions := wire.Ints[int32](r)
	if len(partitions) > maxPartitions {
		r.Fail(fmt.Errorf("pools of %d partitions", len(partitions)))
		return p
	}
	for i, n := range partitions {
		if i > 0 && n <= partitions[i-1] {
			r.Fail(fmt.Errorf("partition %d is out of order", n))
		}
		p.marks[n] = finite(r)
	}
	last := -1
	for n := r.Int(len(s.Features)); n > 0 && r.Err() == nil; n-- {
		j := r.Int(len(s.Features) - 1)
		f := &s.Features[j]
		if j <= last || f.Use != model.UseScore || f.Kind == model.Nominal {
			r.Fail(fmt.Errorf("a pool of feature %d", j))
			return p
		}
		last = j
		all := make([]gp.Dated, r.Int(r.Rest()/observationBytes))
		for i := range all {
			d := &all[i]
			for _, v := range [...]*float64{&d.X, &d.Y, &d.Tau2, &d.Records, &d.Clock} {
				*v = finite(r)
			}
		}
		if r.Err() != nil {
			return p
		}
		p.of[j] = gp.NewPool(0, len(all))
		if err := p.of[j].Append(all...); err != nil {
			r.Fail(err)
		}
	}
	return p
}
