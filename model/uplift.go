package model

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model/wire"
)

// Uplift is the effect of the treatment on the chance of the positive class: the rate of treated records less that of
// untreated ones, with a 95 % interval. All are NaN where nothing is known yet.
type Uplift struct{ Value, Low, High float64 }

const (
	// upliftSize bounds the cells of all features, with one for the mean effect.
	upliftSize = 128
	// upliftCells bounds the cells of one feature.
	upliftCells = 8
	// upliftMean is the standard deviation that the mean effect has before any record, upliftSpread that of the sum of
	// all deviations from it.
	upliftMean   = .5
	upliftSpread = .1
)

// uplift is a linear regression of the outcome on the treatment in the cells of the features (MODEL.md 8).
type uplift struct {
	fewCells           // of the first features of the schema
	size     int       // 1 + features * cells
	mean     []float64 // of the effects
	cov      []float64 // of them, size x size, the lower triangle
	square   float64   // sum of squared residuals
	n        float64   // records learnt

	at   []int // cells of the row in hand
	gain []float64
}

func newUplift(s *Schema) *uplift {
	used := min(len(s.Features), (upliftSize-1)/2)
	cells := min(max((upliftSize-1)/max(used, 1), 2), upliftCells)
	u := &uplift{fewCells: fewCells{schema: s, cells: cells, apart: true}, size: 1 + used*cells}
	for f := range used {
		u.of = append(u.of, f)
	}
	u.mean, u.gain = make([]float64, u.size), make([]float64, u.size)
	u.cov = make([]float64, u.size*u.size)
	u.cov[0] = upliftMean * upliftMean
	for i := 1; i < u.size; i++ {
		u.cov[i*u.size+i] = upliftSpread * upliftSpread / float64(used)
	}
	return u
}

// leastNoise bounds the weight of one record: rounding would make a variance negative beyond it.
const leastNoise = 1e-10

// place finds the effects of a row.
func (u *uplift) place(row Row, levels *Levels) {
	u.at = append(u.at[:0], 0)
	for f := range u.of {
		if u.schema.Features[f].Use == UseScore {
			u.at = append(u.at, 1+f*u.cells+u.cell(f, row, levels))
		}
	}
}

// entry is the covariance of two effects.
func (u *uplift) entry(i, j int) float64 {
	if i < j {
		i, j = j, i
	}
	return u.cov[i*u.size+j]
}

// effect is the mean and the variance of the effect at the cells in hand.
func (u *uplift) effect() (mean, variance float64) {
	for _, i := range u.at {
		mean += u.mean[i]
		for _, j := range u.at {
			variance += u.entry(i, j)
		}
	}
	return mean, max(variance, 0)
}

// score is the effect of a row.
func (u *uplift) score(row Row, levels *Levels) Uplift {
	if !u.ready() {
		nan := math.NaN()
		return Uplift{nan, nan, nan}
	}
	u.place(row, levels)
	mean, variance := u.effect()
	reach := 1.959964 * math.Sqrt(variance)
	clamp := func(x float64) float64 { return min(max(x, -1), 1) }
	return Uplift{clamp(mean), clamp(mean - reach), clamp(mean + reach)}
}

// learn takes a record in: whether it is positive, its propensity p, whether it was treated, the chance that a record
// of its score is, and its weight.
func (u *uplift) learn(row Row, levels *Levels, positive bool, p float64, t Treatment, chance, weight float64) {
	if !u.ready() || !(p >= 0 && p <= 1) || weight <= 0 {
		return
	}
	y, d := 0., -chance
	if positive {
		y = 1
	}
	if t == Treated {
		d++
	}
	if math.Abs(d) < 1e-3 {
		return // such a record says nothing
	}
	u.place(row, levels)
	mean, variance := u.effect()
	r := y - p - d*mean
	noise := max((u.square+.25)/(u.n+1)/weight, leastNoise)
	u.square += (y - p) * (y - p)
	u.n++
	// Kalman's gain of an observation d z with the given noise.
	total := noise + d*d*variance
	for i := range u.size {
		u.gain[i] = 0
		for _, j := range u.at {
			u.gain[i] += u.entry(i, j)
		}
	}
	for i := range u.size {
		g := u.gain[i] * d / total
		u.mean[i] += g * r
		for j := range i + 1 {
			u.cov[i*u.size+j] -= float64(g * (u.gain[j] * d))
		}
	}
}

// sectionUplift is the name of the section of the uplift; states of stages without it have none.
const sectionUplift = "uplift"

// upliftFormat is the version of the binary form of that section, hashedUplift the one before, in which levels do not
// stand apart.
const (
	upliftFormat = 2
	hashedUplift = 1
)

func (u *uplift) append(b []byte) []byte {
	format := uint64(upliftFormat)
	if !u.apart {
		format = hashedUplift
	}
	b = wire.AppendUvarint(b, format)
	b = u.fewCells.append(b)
	b = wire.AppendFloats(b, u.mean)
	var lower []float64
	for i := range u.size {
		lower = append(lower, u.cov[i*u.size:i*u.size+i+1]...)
	}
	b = wire.AppendFloats(b, lower)
	return wire.AppendFloat(wire.AppendFloat(b, u.square), u.n)
}

func (u *uplift) read(b []byte) error {
	r := wire.NewReader(b)
	format := r.Uvarint()
	if r.Err() == nil && format != upliftFormat && format != hashedUplift {
		return fmt.Errorf("format %d, this build reads %d and %d", format, hashedUplift, upliftFormat)
	}
	first, cuts := r.Floats(), r.Floats()
	lower := make([]float64, u.size*(u.size+1)/2)
	r.FloatsInto(u.mean)
	r.FloatsInto(lower)
	u.square, u.n = r.Float(), r.Float()
	if err := r.Done(); err != nil {
		return err
	}
	for _, values := range [][]float64{u.mean, lower, {u.square, u.n}} {
		for _, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("a number is %v", v)
			}
		}
	}
	if u.square < 0 || u.n < 0 {
		return fmt.Errorf("%v records of squares %v", u.n, u.square)
	}
	if err := u.take(first, cuts); err != nil {
		return err
	}
	u.apart = format == upliftFormat
	for i, at := 0, 0; i < u.size; i++ {
		at += copy(u.cov[i*u.size:], lower[at:at+i+1])
		if u.cov[i*u.size+i] < 0 {
			return fmt.Errorf("variance %v of effect %d", u.cov[i*u.size+i], i)
		}
	}
	return nil
}

// load reads the section of a state, where both the state and the options have it; else nothing is known.
func (u *uplift) load(names []string, read reader) error {
	if u == nil || !slices.Contains(names, sectionUplift) {
		return nil
	}
	if err := read(sectionUplift, u.read); err != nil {
		return fmt.Errorf("decoding %s: %w", sectionUplift, err)
	}
	return nil
}
