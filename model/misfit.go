package model

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model/wire"
)

const (
	misfitAlone    = 100   // most features that are looked at, the first that are scored
	misfitFeatures = 20    // most of them of which pairs are looked at
	misfitCells    = 5     // of a feature, the last for missing values
	misfitHalf     = 5000. // labelled records after which a residual weighs half
	misfitBlock    = 64    // labelled records between two looks
	misfitEffect   = .0625 // mean square of the contributions of a feature before any record
	misfitNoise    = 1     // mean square of the error that may hide in the noise, times the information
	misfitHeld     = 8     // likewise where no record of before a fit adds its larger error
	misfitMost     = 4     // largest mean square of the error
	misfitLean     = 3     // largest slope
	misfitMet      = 20.   // records for which that stands
)

// misfit tells how far propensities are off, beyond the number of their records (MODEL.md 9). It belongs to the
// partition; a Model of files has one as well (PartMisfit).
type misfit struct {
	fewCells           // of the first scored features
	effect   []float64 // of each scored feature: the mean square of its contributions
	met      float64   // records in effect
	sums     []misfitSum
	scores   []misfitScore // of all records, and of the cells of single features, in the order of sums
	spread   float64       // sum of the information of each record times the square of its log-odds
	along    misfitAlong   // the residuals along the log-odds
	n        float64       // labelled records
	whole    bool          // nothing fades, and nobody looks until the end
	square   float64       // mean square of the error of the log-odds that the cells see, as of the last look
	slope    float64       // by which the log-odds ought to be steeper about center, or deviate from that; likewise
	center   float64       // mean of the log-odds, likewise

	at    []int     // cells of the row in hand
	alone []float64 // misfit of each feature: room to work
}

// misfitSum holds of the labelled records in a cell the sums of the residuals w (y - p), of their squares and of the
// information w p (1 - p), all fading.
type misfitSum struct{ residual, square, information float64 }

// misfitAlong holds the sums of the residuals, of these times the log-odds z, of the squares of the residuals, and of
// these times z and times z^2.
type misfitAlong struct{ residual, times, square, once, twice float64 }

// misfitScore holds of the labelled records in a cell the sums of the information and of it times the log-odds.
type misfitScore struct{ information, moment float64 }

func newMisfit(s *Schema) *misfit {
	d := &misfit{fewCells: fewCells{schema: s, cells: misfitCells}, met: misfitMet}
	for f := range s.Features {
		if s.Features[f].Use != UseScore {
			continue
		}
		d.effect = append(d.effect, misfitEffect)
		if len(d.of) < misfitAlone {
			d.of = append(d.of, f)
		}
	}
	d.resize(len(d.of))
	return d
}

// resize has the first n features looked at, by empty sums.
func (d *misfit) resize(n int) {
	d.of = d.of[:n]
	d.alone = make([]float64, n)
	pairs := min(n, misfitFeatures)
	d.scores = make([]misfitScore, 1+n*misfitCells)
	d.sums = make([]misfitSum, len(d.scores)+pairs*(pairs-1)/2*misfitCells*misfitCells)
}

// meet takes note of a record that was scored: its values for the cuts, and the contributions of its features, the
// first of the reasons; nil where a model is missing.
func (d *misfit) meet(row Row, reasons []Reason) {
	d.fewCells.meet(row, nil)
	if len(reasons) < len(d.effect) {
		return
	}
	d.met++
	for i := range d.effect {
		d.effect[i] += (reasons[i].Effect*reasons[i].Effect - d.effect[i]) / min(d.met, misfitHalf)
	}
}

// learn takes in a labelled record, whose outcome y is 1 for the target, else 0, and for which p was foretold. A record
// of weight 0, and one before there are cells, changes nothing.
func (d *misfit) learn(row Row, levels *Levels, y, p, weight float64) {
	if !d.ready() || !(weight > 0) {
		return
	}
	d.at = d.at[:0]
	for i := range d.of {
		d.at = append(d.at, d.cell(i, row, levels))
	}
	r, v, z := weight*(y-p), weight*p*(1-p), math.Log(p/(1-p))
	d.sums[0].add(r, v)
	d.scores[0].add(z, v)
	d.spread += v * z * z
	d.along.residual += r
	d.along.times += r * z
	d.along.square += r * r
	d.along.once += r * r * z
	d.along.twice += r * r * z * z
	next := len(d.scores)
	for i, a := range d.at {
		d.sums[1+i*misfitCells+a].add(r, v)
		d.scores[1+i*misfitCells+a].add(z, v)
		if i >= misfitFeatures {
			continue
		}
		for _, b := range d.at[:i] {
			d.sums[next+a*misfitCells+b].add(r, v)
			next += misfitCells * misfitCells
		}
	}
	if d.n++; int64(d.n)%misfitBlock == 0 && !d.whole {
		d.look()
		d.fade()
	}
}

func (s *misfitScore) add(z, information float64) {
	s.moment += information * z
	s.information += information
}

func (s *misfitSum) add(residual, information float64) {
	s.residual += residual
	s.square += residual * residual
	s.information += information
}

// look computes the misfit. With R, Q and I the sums of a cell, a constant error b of the
// log-odds in it makes R = b I but for noise of the square Q, so that (R^2 - Q)/I^2 is b^2 on average. The misfit of a
// set of cells is the mean of it by I,
//
//	T = sum (R^2 - Q)/I / sum I
//
// and the mean square of the error is, where it is a sum of a constant, of functions of one feature and of functions of
// two, about
//
//	T_0 + sum_f (T_f - T_0)/A + sum_fg (T_fg - T_f - T_g + T_0)
//
// with T_0 over all records, T_f, T_fg over the cells of one and of two features (the analysis of variance), and A of
// seen. An error of misfitNoise, or misfitHeld, over the information of all records is added: noise may hide it. Each
// of the three is a mean square and counts as 0 where noise has made it negative: of a rare class the sum over all
// pairs is so far below 0 that it would hide the other two.
func (d *misfit) look() {
	mean := misfitOf(d.sums[:1])
	one, two := 0., 0.
	next := len(d.scores)
	for i := range d.alone {
		d.alone[i] = misfitOf(d.sums[1+i*misfitCells:][:misfitCells]) - mean
		one += d.alone[i]
		if i >= misfitFeatures {
			continue
		}
		for j := range i {
			two += misfitOf(d.sums[next:][:misfitCells*misfitCells]) - d.alone[i] - d.alone[j] - mean
			next += misfitCells * misfitCells
		}
	}
	d.square = max(mean, 0) + max(one, 0)/d.seen() + max(two, 0)
	if n := d.sums[0].information; n > leastInformation {
		noise := misfitNoise / n
		if d.whole {
			noise = misfitHeld / n
		}
		d.square += noise
	}
	d.square = min(d.square, misfitMost)
	d.slope, d.center = d.lean()
}

// lean returns the slope b of the error of the log-odds along them, and their mean c. An error b (z - c) of the
// log-odds z makes R = sum w (y - p)(z - c) = b I but for noise of the square Q, with the information
// I = sum w p(1-p)(z - c)^2, so that (R^2 - Q)/I^2 is b^2 on average (Cox, D. R. (1958). Two further applications of a
// model for binary regression. Biometrika 45): weights that a penalty holds back make it positive. A slope that noise
// explains is 0.
func (d *misfit) lean() (slope, center float64) {
	all, s := d.scores[0], d.along
	if !(all.information > leastInformation) {
		return 0, 0
	}
	c := all.moment / all.information
	of := d.spread - c*c*all.information
	r := s.times - c*s.residual
	q := max(s.twice-2*c*s.once+c*c*s.square, 0)
	if !(of > level*d.spread) || !(r*r > q) {
		return 0, c
	}
	return math.Copysign(min(math.Sqrt(r*r-q)/of, misfitLean), r), c
}

// seen is the factor by which the cells of single features see more than a sum of functions of them, as the log-odds of
// the scores are about one: features that go together see the same of it each.
func (d *misfit) seen() float64 {
	all := d.scores[0]
	if !(all.information > leastInformation) {
		return 1
	}
	mean := all.moment / all.information
	of, cells := d.spread/all.information-mean*mean, 0.
	for _, c := range d.scores[1:] {
		if c.information > 0 {
			off := c.moment/c.information - mean
			cells += c.information * off * off
		}
	}
	if !(of > level*d.spread/all.information) {
		return 1
	}
	return min(max(cells/all.information/of, 1), float64(len(d.of)))
}

// fade lets the sums fade, by the half-life of half the records so far, at most misfitHalf.
func (d *misfit) fade() {
	fade := math.Exp2(-misfitBlock / min(misfitHalf, max(d.n, 2*misfitBlock)/2))
	for i := range d.sums {
		s := &d.sums[i]
		s.residual *= fade
		s.square *= fade * fade
		s.information *= fade
	}
	for i := range d.scores {
		d.scores[i].information *= fade
		d.scores[i].moment *= fade
	}
	d.spread *= fade
	d.along.residual *= fade
	d.along.times *= fade
	d.along.square *= fade * fade
	d.along.once *= fade * fade
	d.along.twice *= fade * fade
}

// level is the part of the mean square of the log-odds that their variance exceeds where they are not all the same.
const level = 1e-9

// leastInformation is that of a cell which counts: the square of the noise of fewer records is anything.
const leastInformation = 1

// misfitOf is T of look, 0 without information.
func misfitOf(cells []misfitSum) float64 {
	var sum, all float64
	for i := range cells {
		s := &cells[i]
		all += s.information
		if s.information > leastInformation {
			sum += float64((s.residual*s.residual - s.square) / s.information)
		}
	}
	if !(all > 0) {
		return 0
	}
	return sum / all
}

// sectionMisfit is the name of the section of the misfit; states of stages without intervals have none.
const sectionMisfit = "misfit"

// misfitFormat is the version of the binary form of that section.
const misfitFormat = 2

func (d *misfit) append(b []byte) []byte {
	b = wire.AppendUvarint(b, misfitFormat)
	b = wire.AppendUvarint(b, uint64(len(d.of)))
	b = d.fewCells.append(b)
	b = wire.AppendFloats(b, d.effect)
	for i := range d.sums {
		s := &d.sums[i]
		b = wire.AppendFloat(wire.AppendFloat(wire.AppendFloat(b, s.residual), s.square), s.information)
	}
	for _, s := range d.scores {
		b = wire.AppendFloat(wire.AppendFloat(b, s.information), s.moment)
	}
	x := &d.along
	for _, v := range [...]float64{d.spread, x.residual, x.times, x.square, x.once, x.twice, d.met, d.n, d.square, d.slope,
		d.center} {
		b = wire.AppendFloat(b, v)
	}
	return b
}

// read replaces the misfit by that of append, also of format 1, which knows the first misfitFeatures features and no
// sums of scores.
func (d *misfit) read(b []byte) error {
	r := wire.NewReader(b)
	f, features := r.Uvarint(), uint64(min(len(d.of), misfitFeatures))
	if r.Err() == nil && (f < 1 || f > misfitFormat) {
		return fmt.Errorf("format %d, this build reads 1 to %d", f, misfitFormat)
	}
	if f > 1 {
		features = r.Uvarint()
	}
	if r.Err() == nil && (features > uint64(len(d.of)) || features < uint64(min(len(d.of), misfitFeatures))) {
		return fmt.Errorf("%d features", features)
	}
	d.resize(int(features))
	first, cuts := r.Floats(), r.Floats()
	r.FloatsInto(d.effect)
	ok := d.readSums(r, f > 1)
	d.met, d.n, d.square, d.slope, d.center = r.Float(), r.Float(), r.Float(), 0, 0
	if f > 1 {
		d.slope, d.center = r.Float(), r.Float()
		ok = ok && d.square >= 0 && d.square <= misfitMost && math.Abs(d.slope) <= misfitLean && math.Abs(d.center) < 1e60
	}
	d.square = min(d.square, misfitMost)
	if err := r.Done(); err != nil {
		return err
	}
	for _, v := range slices.Concat(d.effect, []float64{d.square}) {
		ok = ok && math.Abs(v) <= math.MaxFloat64
	}
	for _, v := range slices.Concat(d.effect, []float64{d.met, d.n}) {
		ok = ok && v >= 0 && v < 1e60
	}
	if !ok || d.n != math.Trunc(d.n) || d.n >= 1<<53 {
		return fmt.Errorf("a number that no state can hold")
	}
	return d.take(first, cuts)
}

// readSums reads the sums, and reports whether a state can hold them.
func (d *misfit) readSums(r *wire.Reader, scores bool) (ok bool) {
	ok = true
	take := func(v *float64, least float64) {
		*v = r.Float()
		ok = ok && *v >= least && *v < 1e60
	}
	for i := range d.sums {
		s := &d.sums[i]
		take(&s.residual, -1e60)
		take(&s.square, 0)
		take(&s.information, 0)
	}
	if !scores {
		return ok
	}
	for i := range d.scores {
		take(&d.scores[i].information, 0)
		take(&d.scores[i].moment, -1e60)
	}
	take(&d.spread, 0)
	x := &d.along
	take(&x.residual, -1e60)
	take(&x.times, -1e60)
	take(&x.square, 0)
	take(&x.once, -1e60)
	take(&x.twice, 0)
	return ok
}

// load reads the section of a state, where both the state and the options have it; else nothing is known.
func (d *misfit) load(names []string, read reader) error {
	if d == nil || !slices.Contains(names, sectionMisfit) {
		return nil
	}
	if err := read(sectionMisfit, d.read); err != nil {
		return fmt.Errorf("decoding %s: %w", sectionMisfit, err)
	}
	return nil
}
