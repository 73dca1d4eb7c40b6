package model

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model/wire"
)

const (
	misfitFeatures = 20    // most features of which pairs are looked at, the first that are scored
	misfitCells    = 5     // of a feature, the last for missing values
	misfitHalf     = 5000. // labelled records after which a residual weighs half
	misfitBlock    = 64    // labelled records between two looks
	misfitEffect   = .0625 // mean square of the contributions of a feature before any record
	misfitMet      = 20.   // records for which that stands
)

// misfit tells how far propensities are off, beyond the number of their records (MODEL.md 9). It belongs to the
// partition alone and is no part of a Model.
type misfit struct {
	fewCells           // of the first scored features, whose pairs are looked at
	effect   []float64 // of each scored feature: the mean square of its contributions
	met      float64   // records in effect
	sums     []misfitSum
	n        float64 // labelled records
	square   float64 // mean square of the error of the log-odds that the cells see, as of the last look

	at    []int     // cells of the row in hand
	alone []float64 // misfit of each feature: room to work
}

// misfitSum holds of the labelled records in a cell the sums of the residuals w (y - p), of their squares and of the
// information w p (1 - p), all fading.
type misfitSum struct{ residual, square, information float64 }

func newMisfit(s *Schema) *misfit {
	d := &misfit{fewCells: fewCells{schema: s, cells: misfitCells}, met: misfitMet}
	for f := range s.Features {
		if s.Features[f].Use != UseScore {
			continue
		}
		d.effect = append(d.effect, misfitEffect)
		if len(d.of) < misfitFeatures {
			d.of = append(d.of, f)
		}
	}
	n := len(d.of)
	d.alone = make([]float64, n)
	d.sums = make([]misfitSum, 1+n*misfitCells+n*(n-1)/2*misfitCells*misfitCells)
	return d
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
	r, v := weight*(y-p), weight*p*(1-p)
	d.sums[0].add(r, v)
	next := 1 + len(d.of)*misfitCells
	for i, a := range d.at {
		d.sums[1+i*misfitCells+a].add(r, v)
		for _, b := range d.at[:i] {
			d.sums[next+a*misfitCells+b].add(r, v)
			next += misfitCells * misfitCells
		}
	}
	if d.n++; int64(d.n)%misfitBlock == 0 {
		d.look()
	}
}

func (s *misfitSum) add(residual, information float64) {
	s.residual += residual
	s.square += residual * residual
	s.information += information
}

// look computes the misfit, and lets the sums fade. With R, Q and I the sums of a cell, a constant error b of the
// log-odds in it makes R = b I but for noise of the square Q, so that (R^2 - Q)/I^2 is b^2 on average. The misfit of a
// set of cells is the mean of it by I,
//
//	T = sum (R^2 - Q)/I / sum I
//
// and the mean square of the error is, where it is a sum of a constant, of functions of one feature and of functions of
// two, about
//
//	T_0 + sum_f (T_f - T_0) + sum_fg (T_fg - T_f - T_g + T_0)
//
// with T_0 over all records and T_f, T_fg over the cells of one and of two features (the analysis of variance). Each
// of the three is a mean square and counts as 0 where noise has made it negative: of a rare class the sum over all
// pairs is so far below 0 that it would hide the other two.
func (d *misfit) look() {
	mean := misfitOf(d.sums[:1])
	one, two := 0., 0.
	next := 1 + len(d.of)*misfitCells
	for i := range d.alone {
		d.alone[i] = misfitOf(d.sums[1+i*misfitCells:][:misfitCells]) - mean
		one += d.alone[i]
		for j := range i {
			two += misfitOf(d.sums[next:][:misfitCells*misfitCells]) - d.alone[i] - d.alone[j] - mean
			next += misfitCells * misfitCells
		}
	}
	d.square = max(mean, 0) + max(one, 0) + max(two, 0)
	fade := math.Exp2(-misfitBlock / misfitHalf)
	for i := range d.sums {
		s := &d.sums[i]
		s.residual *= fade
		s.square *= fade * fade
		s.information *= fade
	}
}

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
const misfitFormat = 1

func (d *misfit) append(b []byte) []byte {
	b = wire.AppendUvarint(b, misfitFormat)
	b = d.fewCells.append(b)
	b = wire.AppendFloats(b, d.effect)
	for i := range d.sums {
		s := &d.sums[i]
		b = wire.AppendFloat(wire.AppendFloat(wire.AppendFloat(b, s.residual), s.square), s.information)
	}
	return wire.AppendFloat(wire.AppendFloat(wire.AppendFloat(b, d.met), d.n), d.square)
}

func (d *misfit) read(b []byte) error {
	r := wire.NewReader(b)
	if f := r.Uvarint(); r.Err() == nil && f != misfitFormat {
		return fmt.Errorf("format %d, this build reads %d", f, misfitFormat)
	}
	first, cuts := r.Floats(), r.Floats()
	r.FloatsInto(d.effect)
	ok := true
	for i := range d.sums {
		s := &d.sums[i]
		s.residual, s.square, s.information = r.Float(), r.Float(), r.Float()
		ok = ok && math.Abs(s.residual) < 1e60 && s.square >= 0 && s.square < 1e60 && s.information >= 0 &&
			s.information < 1e60
	}
	d.met, d.n, d.square = r.Float(), r.Float(), r.Float()
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
