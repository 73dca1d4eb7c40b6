package model

import (
	"fmt"
	"hash/fnv"
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
	// upliftFirst is the number of records of which the cells of continuous features are cut.
	upliftFirst = 256
	// upliftMean is the standard deviation that the mean effect has before any record, upliftSpread that of the sum of
	// all deviations from it.
	upliftMean   = .5
	upliftSpread = .1
)

// uplift is a linear regression of the outcome on the treatment in the cells of the features (MODEL.md 8).
type uplift struct {
	schema *Schema
	cells  int       // of a feature
	used   int       // features, the first of the schema
	first  []float64 // values of the first records, until cuts are made of them; used to a record
	cuts   []float64 // cells-2 to each used feature; empty until they are made
	size   int       // 1 + used * cells
	mean   []float64 // of the effects
	cov    []float64 // of them, size x size, the lower triangle
	square float64   // sum of squared residuals
	n      float64   // records learnt

	at   []int // cells of the row in hand
	gain []float64
}

func newUplift(s *Schema) *uplift {
	u := &uplift{schema: s, used: min(len(s.Features), (upliftSize-1)/2)}
	u.cells = min(max((upliftSize-1)/max(u.used, 1), 2), upliftCells)
	u.size = 1 + u.used*u.cells
	u.mean, u.gain = make([]float64, u.size), make([]float64, u.size)
	u.cov = make([]float64, u.size*u.size)
	u.cov[0] = upliftMean * upliftMean
	for i := 1; i < u.size; i++ {
		u.cov[i*u.size+i] = upliftSpread * upliftSpread / float64(u.used)
	}
	return u
}

// meet takes note of the values of a record for the cuts.
func (u *uplift) meet(row Row) {
	if len(u.cuts) > 0 || u.used == 0 {
		return
	}
	u.first = append(u.first, row[:u.used]...)
	if len(u.first) < upliftFirst*u.used {
		return
	}
	inner := u.cells - 2 // cuts: one cell is for missing values, and n cuts make n+1 cells
	var values []float64
	for f := range u.used {
		values = values[:0]
		for i := f; i < len(u.first); i += u.used {
			if !math.IsNaN(u.first[i]) {
				values = append(values, u.first[i])
			}
		}
		slices.Sort(values)
		for k := range inner {
			cut := 0.
			if len(values) > 0 {
				cut = values[(k+1)*len(values)/(inner+1)]
			}
			u.cuts = append(u.cuts, cut)
		}
	}
	if inner == 0 {
		u.cuts = []float64{0} // none are needed
	}
	u.first = nil
}

// leastNoise bounds the weight of one record: rounding would make a variance negative beyond it.
const leastNoise = 1e-10

// ready reports whether there are cells.
func (u *uplift) ready() bool { return len(u.cuts) > 0 }

// place finds the cells of a row. The last cell of a feature is that of missing values. A nominal value has one by the
// hash of its text, so that another numbering of levels changes nothing.
func (u *uplift) place(row Row, levels *Levels) {
	u.at = append(u.at[:0], 0)
	for f := range u.used {
		cell, v := u.cells-1, row[f]
		switch x := &u.schema.Features[f]; {
		case x.Use != UseScore:
			continue
		case math.IsNaN(v):
		case x.Kind == Continuous:
			cell = 0
			for k := range u.cells - 2 {
				if v >= u.cuts[f*(u.cells-2)+k] {
					cell = k + 1
				}
			}
		case x.Kind == Ordinal:
			cell = min(int(v)*(u.cells-1)/max(len(x.Levels), 1), u.cells-2)
		default:
			h := fnv.New32a()
			h.Write([]byte(levels.Text(f, v)))
			cell = int(Hash(uint64(f), uint64(h.Sum32())) % uint64(u.cells-1))
		}
		u.at = append(u.at, 1+f*u.cells+cell)
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

// upliftFormat is the version of the binary form of that section.
const upliftFormat = 1

func (u *uplift) append(b []byte) []byte {
	b = wire.AppendUvarint(b, upliftFormat)
	b = wire.AppendFloats(b, u.first)
	b = wire.AppendFloats(b, u.cuts)
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
	if f := r.Uvarint(); r.Err() == nil && f != upliftFormat {
		return fmt.Errorf("format %d, this build reads %d", f, upliftFormat)
	}
	first, cuts := r.Floats(), r.Floats()
	lower := make([]float64, u.size*(u.size+1)/2)
	r.FloatsInto(u.mean)
	r.FloatsInto(lower)
	u.square, u.n = r.Float(), r.Float()
	if err := r.Done(); err != nil {
		return err
	}
	want := 0
	if len(cuts) > 0 {
		want = max(u.used*(u.cells-2), 1)
	}
	if len(cuts) != want || len(first) > upliftFirst*u.used || u.used > 0 && len(first)%u.used != 0 {
		return fmt.Errorf("%d cuts and %d first values", len(cuts), len(first))
	}
	for _, values := range [][]float64{cuts, u.mean, lower, {u.square, u.n}} {
		for _, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("a number is %v", v)
			}
		}
	}
	if u.square < 0 || u.n < 0 {
		return fmt.Errorf("%v records of squares %v", u.n, u.square)
	}
	u.first, u.cuts = first, cuts
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
