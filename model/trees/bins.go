package trees

import (
	"cmp"
	"math"
	"slices"

	"liftstream/model"
)

const (
	maxBins   = 64               // of one feature, that of missing values apart
	maxLevels = 63               // levels of a feature that are told apart; records of further ones count as missing
	maxCodes  = model.MaxSpecial // special codes of a feature, all of which are told apart: the bits of a mask
	baseBins  = 16               // of one feature in the additive model
)

// weightUnit is the grid of weights, of which 1 is the mean.
const weightUnit = 1 << 20

// column is one feature of the coded records: bin 0 holds the missing values, and bin b a level b-1, or the numbers up
// to cuts[b-1] and above the cut before. A feature with special codes has two columns: its numbers, where the codes are
// missing, and its codes as levels, where all else is missing.
type column struct {
	feature int32
	nominal bool
	special bool // levels are the numbers of special codes
	cuts    []float64
	bin     []uint8
	bins    int
	coarse  []uint8 // bin of the additive model, by bin
	cells   int     // of these
}

// records are the coded records of a fit.
type records struct {
	columns []column // by name of the feature, so that the order of the configuration does not matter
	class   []int32
	weight  []float64 // 1 on average
	fold    []uint8
	cluster []uint64 // the run of each record, or its content: records of one depend on each other
	run     float64  // records in a row that share a fold, 0 = folds are by content
	margins int
	classes int
}

// marginsOf is 1 for two classes, else one a class.
func marginsOf(s *model.Schema) int {
	if len(s.Classes) == 2 {
		return 1
	}
	return len(s.Classes)
}

func (r *records) len() int { return len(r.class) }

// use lists the features that trees may split on, by name: the scored ones without a direction, for a tree would not
// keep to it.
func use(s *model.Schema) []int32 {
	var out []int32
	for f := range s.Features {
		if s.Features[f].Use == model.UseScore && !s.Directed(f) {
			out = append(out, int32(f))
		}
	}
	return sorted(s, out)
}

// sorted puts features in the order of their names.
func sorted(s *model.Schema, features []int32) []int32 {
	slices.SortStableFunc(features, func(a, b int32) int { return cmp.Compare(s.Features[a].Name, s.Features[b].Name) })
	return features
}

// code lays out the records of the evidence whose numbers are in rows, all of positive weight.
func code(ev *model.Evidence, features []int32, rows []int32) *records {
	r := &records{classes: len(ev.Schema.Classes), margins: marginsOf(ev.Schema)}
	content := contents(ev, rows)
	if content == nil {
		r.run = runOf(ev, rows)
	}
	total := 0.
	for k, i := range rows {
		w := min(ev.Weight[i], model.MaxWeight)
		r.class, r.weight = append(r.class, ev.Class[i]), append(r.weight, w)
		total += w
		if content != nil {
			r.fold, r.cluster = append(r.fold, uint8(content[k]%folds)), append(r.cluster, content[k])
			continue
		}
		r.fold = append(r.fold, foldOf(r.run, ev.Clock[i]))
		r.cluster = append(r.cluster, uint64(math.Mod(math.Floor(ev.Clock[i]/r.run), 1<<30)))
	}
	for i, w := range r.weight { // on a grid, so that their sums do not depend on the order
		r.weight[i] = math.Round(w*float64(len(rows))/total*weightUnit) / weightUnit
	}
	for _, f := range features {
		c := column{feature: f, nominal: ev.Schema.Features[f].Kind == model.Nominal, bin: make([]uint8, len(rows))}
		if c.nominal {
			c.levels(ev.Columns[f], rows)
		} else {
			c.numbers(ev.Columns[f], rows, r.weight)
		}
		r.add(c)
		if len(ev.Schema.Features[f].Special) > 0 {
			c = column{feature: f, nominal: true, special: true, bin: make([]uint8, len(rows))}
			c.codes(ev.Columns[f], rows)
			r.add(c)
		}
	}
	return r
}

// add takes a column that has more than one bin.
func (r *records) add(c column) {
	if c.bins > 1 {
		c.coarsen(r.weight)
		r.columns = append(r.columns, c)
	}
}

// contents returns the content of each record where folds are by it, else nil. The records of a file have no order, and
// a repeated row must not be scored by trees that have seen it. Where the whole file has a few different rows only,
// each stands for many records, and a fold without it would tell nothing of them.
func contents(ev *model.Evidence, rows []int32) []uint64 {
	if !ev.Exchangeable {
		return nil
	}
	features, row := use(ev.Schema), make(model.Row, len(ev.Columns))
	out, distinct := make([]uint64, len(rows)), map[uint64]bool{}
	for k, i := range rows {
		ev.Row(int(i), row)
		out[k] = contentOf(features, row)
		distinct[out[k]] = true
	}
	if len(distinct) < leastRecords {
		return nil
	}
	return out
}

// contentOf tells the values of the features that trees may split on from others.
func contentOf(features []int32, row model.Row) uint64 {
	h := uint64(0)
	for _, f := range features {
		v := row[f] + 0 // -0 is 0
		if v != v && model.SpecialOf(v) < 0 {
			v = math.NaN()
		}
		h = model.Hash(h, math.Float64bits(v))
	}
	return h
}

// runOf is the number of records in a row that share a fold, by the span of their clocks.
func runOf(ev *model.Evidence, rows []int32) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, i := range rows {
		low, high = min(low, ev.Clock[i]), max(high, ev.Clock[i])
	}
	return max(math.Ceil((high-low+1)/foldRuns), 1)
}

// foldOf is the fold of a record by its clock alone, so that the trees which have not seen it are found again.
func foldOf(run, clock float64) uint8 {
	if k := math.Mod(math.Floor(clock/run), folds); k >= 0 && k < folds {
		return uint8(k)
	}
	return 0
}

func (c *column) levels(values []float64, rows []int32) {
	for k, i := range rows {
		b := uint8(0)
		if v := values[i]; v < maxLevels {
			b = uint8(v) + 1
		}
		c.bin[k] = b
		c.bins = max(c.bins, int(b)+1)
	}
}

// codes is levels of the special codes, of which a mask has a bit for each.
func (c *column) codes(values []float64, rows []int32) {
	for k, i := range rows {
		b := model.SpecialOf(values[i]) + 1
		c.bin[k] = uint8(b)
		c.bins = max(c.bins, b+1)
	}
}

// numbers cuts between values, at most maxBins bins of equal weight; where there are no more values than that, each has
// its own.
func (c *column) numbers(values []float64, rows []int32, weight []float64) {
	order := make([]int32, 0, len(rows))
	total, distinct := 0., 0
	for k, i := range rows {
		if values[i] == values[i] {
			order = append(order, int32(k))
			total += weight[k]
		}
	}
	at := func(k int32) float64 { return values[rows[k]] }
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(at(a), at(b)) })
	for j := range order {
		if j == 0 || at(order[j]) != at(order[j-1]) {
			distinct++
		}
	}
	step := total / maxBins
	if distinct <= maxBins {
		step = 0
	}
	sum, bin := 0., 1
	for j := 0; j < len(order); {
		v, w := at(order[j]), 0.
		for ; j < len(order) && at(order[j]) == v; j++ {
			w += weight[order[j]]
			c.bin[order[j]] = uint8(bin)
		}
		sum += w
		if j < len(order) && bin < maxBins && sum >= float64(bin)*step {
			c.cuts = append(c.cuts, between(v, at(order[j])))
			bin++
		}
	}
	c.bins = 1
	if len(order) > 0 {
		c.bins = len(c.cuts) + 2
	}
}

// between returns a number from a on and below b.
func between(a, b float64) float64 {
	if m := a/2 + b/2; m >= a && m < b {
		return m
	}
	return a
}

// coarsen joins neighbouring bins of numbers to baseBins of equal weight. Levels keep their bins.
func (c *column) coarsen(weight []float64) {
	c.coarse = make([]uint8, c.bins)
	mass, total := make([]float64, c.bins), 0.
	for i, b := range c.bin {
		if mass[b] += weight[i]; b > 0 {
			total += weight[i]
		}
	}
	cell, sum := 1, 0.
	for b := 1; b < c.bins; b++ {
		c.coarse[b] = uint8(cell)
		if sum += mass[b]; c.nominal || c.bins <= baseBins+1 || sum*baseBins >= float64(cell)*total {
			cell++
		}
	}
	c.cells = int(c.coarse[c.bins-1]) + 1
}
