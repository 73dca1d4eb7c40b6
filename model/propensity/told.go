package propensity

// Whether a lift can be told from 1, without its variance to the last bit: few lifts are so near the bound.

import "math"

// everyRecord holds the figures of all records, by horizon, that spread takes of each feature alike. They hold until
// the next record is learnt.
type everyRecord struct {
	known    bool
	number   []float64 // of all records, those of the prior among them
	horizons []everyHorizon
	both     []float64 // horizons x horizons: overlap of all records, the shorter horizon innermost
}

// everyHorizon holds the figures of one horizon.
type everyHorizon struct {
	records float64 // inverse weight of a record that is learnt now: it makes records of the counts
	share   float64 // the same over the number of all records: it makes shares of the counts
	recent  float64 // the share of the evidence that still holds, where labels come late (recent)
	logit   float64 // base log-odds of class 1, two classes
}

func newEveryRecord(horizons int) everyRecord {
	return everyRecord{number: make([]float64, horizons), horizons: make([]everyHorizon, horizons),
		both: make([]float64, horizons*horizons)}
}

// everyOf returns the figures of all records.
func everyOf(s *counts) *everyRecord {
	r := &s.every
	if r.known {
		return r
	}
	r.known = true
	H := s.horizons
	for h := range H {
		n := allOf(s, h)
		v := everyHorizon{records: 1 / (s.unit * s.clock.now[h]), recent: 1, logit: s.rates[h].logit}
		if s.lag > 0 && s.late > 0 {
			v.recent = s.recent(h)
		}
		v.share = v.records / n
		r.horizons[h], r.number[h] = v, n
		below := 0.
		for j, short := range r.number[:h+1] {
			r.both[h*H+j] = s.overlap(j, h, below, short, n)
			below = short
		}
	}
	return r
}

// allOf is the number of all records over horizon h, those of the prior among them.
func allOf(s *counts, h int) (n float64) {
	for _, v := range s.cur.class[h*s.classes : (h+1)*s.classes] {
		n += v
	}
	return (n + float64(s.classes)*s.pseudo(h)) / (s.unit * s.clock.now[h])
}

// known is the knowledge that one horizon has of the record's cell of a feature. With t the part of the neighbouring
// cell it is that of the two in one: their records, each by its part, and by the square of it.
type known struct {
	once, twice float64 // (1-t) cell + t side, (1-t)^2 cell + t^2 side
	share       float64 // of all records: once over these
	weight      float64 // of a record of the cell in the mean log-lift
}

// rounding bounds the relative rounding errors of the sums of about spread.
const rounding = 1e-10

// sums are two sums of positive terms whose difference is spread of a feature, up to rounding times their sum. ok says
// that they are known.
type sums struct {
	plus, minus float64
	ok          bool
}

// about returns the sums of feature i. They are not known where an order pools cells, nor where some half-lives are
// times and others numbers of records, of which overlap is no mean of its records.
func about(s *weights, i int, weight float64) (out sums) {
	if s.order[i] != nil || s.way == nil {
		return out
	}
	out.ok = true
	every, t := everyOf(&s.counts), s.parts[i]
	C, n := s.classes, len(s.half)*s.classes
	count := s.cur.feat[i].count
	cell, side := count[s.cells[i]*n:(s.cells[i]+1)*n], count[:n]
	if k := s.far[i]; k >= 0 {
		cell = s.cur.feat[i].further.at(k)
	}
	if t > 0 {
		side = count[s.sides[i]*n : (s.sides[i]+1)*n]
	}
	for h := range s.known {
		var in, beside float64
		for _, v := range cell[h*C : h*C+C] {
			in += v
		}
		once, twice := in, in
		if t > 0 {
			for _, v := range side[h*C : h*C+C] {
				beside += v
			}
			once = (1-t)*in + t*beside
			twice = (1-t)*(1-t)*in + t*t*beside
		}
		r := &every.horizons[h]
		k := known{once: once * r.records, twice: twice * r.records, share: once * r.share}
		k.weight = s.perHorizon[h] / (weight * (k.once + s.opt.Prior)) * r.recent
		s.known[h] = k
	}
	H := s.horizons
	for h := range s.known {
		p := &s.known[h]
		both, way := every.both[h*H:h*H+H], s.way[h*H:h*H+H]
		var below known
		var more, less float64
		for j := range s.known[:h+1] {
			o, by := &s.known[j], way[j]
			once, twice := below.once+by*(o.once-below.once), below.twice+by*(o.twice-below.twice)
			w := o.weight
			if j < h {
				w *= 2
			}
			more += w * (twice + o.share*p.share*both[j])
			less += w * (o.share + p.share) * once
			below.once, below.twice = o.once, o.twice
		}
		out.plus += p.weight * more
		out.minus += p.weight * less
	}
	return out
}

// tells reports whether the change of the target's log-odds from its base rate is more than told of the standard
// deviations that it has in a cell of feature i that says nothing (shownLift), of which quick has what about knows.
func tells(s *weights, i int, weight, change, base float64, quick sums) bool {
	if quick.ok {
		if is, sure := beyond(change*change*base*(1-base), s.told*s.told, quick); sure {
			return is
		}
	}
	return change*change > s.told*s.told*s.spread(i, weight)/(base*(1-base))
}

// shows reports whether a change or its first order (surely), whichever is less, tells. fall is exp(-change) where it
// does.
func shows(s *weights, i int, weight, change, base float64) (told bool, fall float64) {
	quick := about(s, i, weight)
	if quick.ok {
		if is, sure := beyond(change*change*base*(1-base), s.told*s.told, quick); sure && !is {
			return false, 0 // nor does less
		}
	}
	fall = math.Exp(-change)
	return tells(s, i, weight, surely(change, fall, base), base, quick), fall
}

// beyond reports whether got is more than bound times a variance of at least 0, the difference of two sums as about
// returns them, and whether it is sure in spite of their rounding.
func beyond(got, bound float64, of sums) (is, sure bool) {
	variance, off := max(of.plus-of.minus, 0), rounding*(of.plus+of.minus)
	is = got*(1-rounding) > bound*(variance+off)
	return is, is || got*(1+rounding) < bound*(variance-off)
}

// ways returns between by pairs with the shorter horizon innermost, 1 where the longer horizon forgets nothing: overlap
// is below + way (m - below). nil where it is not so of some pair.
func ways(between []float64, horizons, forever int) []float64 {
	out := make([]float64, horizons*horizons)
	for h := range horizons {
		for j := range h + 1 {
			t := between[j*horizons+h]
			if h == forever {
				t = 1
			}
			if t < 0 {
				return nil
			}
			out[h*horizons+j] = t
		}
	}
	return out
}
