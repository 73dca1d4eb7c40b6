package model

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model/wire"
)

const (
	doubtFeatures = 20    // most features of which pairs are looked at, the first that are scored
	doubtCells    = 5     // of a feature, the last for missing values
	doubtHalf     = 5000. // labelled records after which a residual weighs half
	doubtBlock    = 64    // labelled records between two looks
	doubtEffect   = .0625 // mean square of the contributions of a feature before any record
	doubtMet      = 20.   // records for which that stands
)

// doubt tells how far propensities are off, beyond the number of their records (MODEL.md 9). It belongs to the
// partition alone and is no part of a Model.
type doubt struct {
	fewCells           // of the first scored features, whose pairs are looked at
	effect   []float64 // of each scored feature: the mean square of its contributions
	met      float64   // records in effect
	sums     []doubtSum
	n        float64 // labelled records
	misfit   float64 // mean square of the error of the log-odds that the cells see, as of the last look; may be below 0

	at    []int     // cells of the row in hand
	alone []float64 // misfit of each feature: room to work
}

// doubtSum holds of the labelled records in a cell the sums of the residuals w (y - p), of their squares and of the
// information w p (1 - p), all fading.
type doubtSum struct{ residual, square, information float64 }

func newDoubt(s *Schema) *doubt {
	d := &doubt{fewCells: fewCells{schema: s, cells: doubtCells}, met: doubtMet}
	for f := range s.Features {
		if s.Features[f].Use != UseScore {
			continue
		}
		d.effect = append(d.effect, doubtEffect)
		if len(d.of) < doubtFeatures {
			d.of = append(d.of, f)
		}
	}
	n := len(d.of)
	d.alone = make([]float64, n)
	d.sums = make([]doubtSum, 1+n*doubtCells+n*(n-1)/2*doubtCells*doubtCells)
	return d
}

// meet takes note of a record that was scored: its values for the cuts, and the contributions of its features, the
// first of the reasons; nil where a model is missing.
func (d *doubt) meet(row Row, reasons []Reason) {
	d.fewCells.meet(row)
	if len(reasons) < len(d.effect) {
		return
	}
	d.met++
	for i := range d.effect {
		d.effect[i] += (reasons[i].Effect*reasons[i].Effect - d.effect[i]) / min(d.met, doubtHalf)
	}
}

// learn takes in a labelled record, whose outcome y is 1 for the target, else 0, and for which p was foretold. A record
// of weight 0, and one before there are cells, changes nothing.
func (d *doubt) learn(row Row, levels *Levels, y, p, weight float64) {
	if !d.ready() || !(weight > 0) {
		return
	}
	d.at = d.at[:0]
	for i := range d.of {
		d.at = append(d.at, d.cell(i, row, levels))
	}
	r, v := weight*(y-p), weight*p*(1-p)
	d.sums[0].add(r, v)
	next := 1 + len(d.of)*doubtCells
	for i, a := range d.at {
		d.sums[1+i*doubtCells+a].add(r, v)
		for _, b := range d.at[:i] {
			d.sums[next+a*doubtCells+b].add(r, v)
			next += doubtCells * doubtCells
		}
	}
	if d.n++; int64(d.n)%doubtBlock == 0 {
		d.look()
	}
}

func (s *doubtSum) add(residual, information float64) {
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
// with T_0 over all records and T_f, T_fg over the cells of one and of two features (the analysis of variance).
func (d *doubt) look() {
	mean := misfitOf(d.sums[:1])
	d.misfit = mean
	next := 1 + len(d.of)*doubtCells
	for i := range d.alone {
		d.alone[i] = misfitOf(d.sums[1+i*doubtCells:][:doubtCells]) - mean
		d.misfit += d.alone[i]
		for j := range i {
			d.misfit += misfitOf(d.sums[next:][:doubtCells*doubtCells]) - d.alone[i] - d.alone[j] - mean
			next += doubtCells * doubtCells
		}
	}
	fade := math.Exp2(-doubtBlock / doubtHalf)
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
func misfitOf(cells []doubtSum) float64 {
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

// sectionDoubt is the name of the section of the doubt; states of stages without intervals have none.
const sectionDoubt = "doubt"

// doubtFormat is the version of the binary form of that section.
const doubtFormat = 1

func (d *doubt) append(b []byte) []byte {
	b = wire.AppendUvarint(b, doubtFormat)
	b = d.fewCells.append(b)
	b = wire.AppendFloats(b, d.effect)
	for i := range d.sums {
		s := &d.sums[i]
		b = wire.AppendFloat(wire.AppendFloat(wire.AppendFloat(b, s.residual), s.square), s.information)
	}
	return wire.AppendFloat(wire.AppendFloat(wire.AppendFloat(b, d.met), d.n), d.misfit)
}

func (d *doubt) read(b []byte) error {
	r := wire.NewReader(b)
	if f := r.Uvarint(); r.Err() == nil && f != doubtFormat {
		return fmt.Errorf("format %d, this build reads %d", f, doubtFormat)
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
	d.met, d.n, d.misfit = r.Float(), r.Float(), r.Float()
	if err := r.Done(); err != nil {
		return err
	}
	for _, v := range slices.Concat(d.effect, []float64{d.misfit}) {
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
func (d *doubt) load(names []string, read reader) error {
	if d == nil || !slices.Contains(names, sectionDoubt) {
		return nil
	}
	if err := read(sectionDoubt, d.read); err != nil {
		return fmt.Errorf("decoding %s: %w", sectionDoubt, err)
	}
	return nil
}
