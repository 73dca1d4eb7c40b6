package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"liftstream/model"
)

const (
	featureCells = 10  // quantile cells of one continuous feature
	featureLevel = 50  // levels of one feature that have a cell of their own; the rarer ones share one
	leakAUC      = .85 // inside blocks, of one feature alone
	leakBlock    = 1000
	mostlyGone   = .5 // share of missing values that is worth a warning
)

// Features measures every feature alone on the evidence, in schema order. Continuous features have at most ten cells at
// their weighted quantiles, right-closed, equal ones merged, and joined up to a least share where one is asked for; or
// the cells of model.OptimalCuts where their rates are to go one way; or the cells between their own cuts; and one for
// each special code that occurs. Others have a cell for each of their fifty most frequent levels, most frequent first
// (ordinal ones in the order of their levels), and "(other)"; missing is a cell.
//
// With n_x1 the weight of the positive class (the second of two where none is configured) in cell x, n_x0 that of the
// others, and K cells,
//
//	woe_x = ln[ (n_x1 + 1/2)/(n_1 + K/2) / ((n_x0 + 1/2)/(n_0 + K/2)) ],
//	information value = sum_x (n_x1/n_1 - n_x0/n_0) woe_x,
//
// and both without the halves. A cell without a record of one side has no weight of evidence then, and the information
// value leaves it out: its term would be infinite.
//
// Several classes without a positive one have neither (WOE empty, information value NaN). AUC is that of the records
// ranked by the rate of the class in their cells, on the records that the rates are from; of several classes the mean
// over one against the rest. NaN where only one side was seen.
func Features(ev *model.Evidence) []Feature {
	s := ev.Schema
	positive := positiveOf(s)
	out := make([]Feature, 0, len(s.Features))
	cells := make([]int32, ev.Len())
	for f := range s.Features {
		x := Feature{Name: s.Features[f].Name, WOE: []WOE{}, Warnings: []string{}, InformationValue: Number(math.NaN()),
			InformationValueRaw: Number(math.NaN())}
		labels, ordered, missing := cut(ev, f, cells)
		t := newTally(len(labels), len(s.Classes))
		for i, c := range cells {
			t.add(int(c), int(ev.Class[i]), ev.Weight[i])
		}
		if positive >= 0 {
			t.evidence(labels, positive, &x)
		}
		x.AUC = Number(t.auc(positive, t))
		if blocks := t.blocks(ev, cells, positive); blocks > leakAUC {
			x.Warnings = append(x.Warnings,
				fmt.Sprintf("alone it ranks the outcome with an AUC of %.2f inside blocks of %d records: "+
					"is it known before the outcome?", blocks, leakBlock))
		}
		if s.Directed(f) {
			if against := t.against(&s.Features[f], ordered, positive); against != "" {
				x.Warnings = append(x.Warnings, against)
			}
		}
		if t.n > 0 {
			share := 0.0
			if missing {
				share = t.of(len(labels)-1) / t.n
			}
			switch {
			case share == 1:
				x.Warnings = append(x.Warnings, "always missing")
			case len(labels) == 1:
				x.Warnings = append(x.Warnings, "has one value")
			case share >= mostlyGone:
				x.Warnings = append(x.Warnings, fmt.Sprintf("missing in %.0f %% of the records", 100*share))
			}
		}
		out = append(out, x)
	}
	return out
}

// positiveOf is the positive class, the second of two where none is configured; -1 of more.
func positiveOf(s *model.Schema) int {
	if s.Positive < 0 && len(s.Classes) == 2 {
		return 1
	}
	return s.Positive
}

// cut writes the cell of feature f of every record and returns the names of the cells; the first ones, as many as
// ordered, are in the order of a number or an ordinal feature, and missing says that the last one is that of missing
// values.
func cut(ev *model.Evidence, f int, cells []int32) (labels []string, ordered int, missing bool) {
	column, feature := ev.Columns[f], &ev.Schema.Features[f]
	if feature.Kind == model.Continuous {
		labels = cutNumbers(ev, f, cells)
		ordered = len(labels)
		labels = append(labels, cutSpecial(feature, column, cells, len(labels))...)
	} else {
		labels = cutLevels(ev, f, cells)
		if ordered = len(labels); ordered > 0 && labels[ordered-1] == "(other)" {
			ordered--
		}
	}
	for i, v := range column {
		if math.IsNaN(v) && model.SpecialOf(v) < 0 {
			cells[i] = int32(len(labels))
			missing = true
		}
	}
	if missing {
		labels = append(labels, "(missing)")
	}
	return labels, ordered, missing
}

func cutNumbers(ev *model.Evidence, feature int, cells []int32) []string {
	f, column, weight := &ev.Schema.Features[feature], ev.Columns[feature], ev.Weight
	order := make([]int32, 0, len(column))
	total := 0.0
	for i, v := range column {
		if !math.IsNaN(v) {
			order = append(order, int32(i))
			total += weight[i]
		}
	}
	if len(order) == 0 {
		return nil
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(column[a], column[b]) })
	last := column[order[len(order)-1]]
	var cuts []float64
	sum, next := 0.0, 1
	for _, i := range order {
		sum += weight[i]
		for next < featureCells && sum >= total*float64(next)/featureCells {
			next++
			if v := column[i]; v < last && (len(cuts) == 0 || v > cuts[len(cuts)-1]) {
				cuts = append(cuts, v)
			}
		}
	}
	name := short
	switch {
	case len(f.Cuts) > 0:
		cuts = f.Cuts
		name = func(v float64) string { return string(model.AppendNumber(nil, v, 64)) }
	case f.Trend != model.Free && positiveOf(ev.Schema) >= 0:
		class := int32(positiveOf(ev.Schema))
		cuts = model.OptimalCuts(column, weight, func(i int) bool { return ev.Class[i] == class }, f.Least, f.Trend)
		name = func(v float64) string { return string(model.AppendNumber(nil, v, 64)) }
	case f.Least > 0:
		cuts = model.JoinCells(cuts, column, weight, f.Least)
	}
	for _, i := range order {
		cells[i] = int32(model.CellOf(cuts, column[i]))
	}
	labels := make([]string, len(cuts)+1)
	low := "(-inf, "
	for c, v := range cuts {
		labels[c] = low + name(v) + "]"
		low = "(" + name(v) + ", "
	}
	labels[len(cuts)] = low + "inf)"
	return labels
}

// cutSpecial gives each special code that a record has a cell, from cell number first on, in the order of the codes.
func cutSpecial(f *model.Feature, column []float64, cells []int32, first int) (labels []string) {
	for k := range f.Special {
		seen := false
		for i, v := range column {
			if model.SpecialOf(v) == k {
				cells[i] = int32(first + len(labels))
				seen = true
			}
		}
		if seen {
			labels = append(labels, f.SpecialName(k))
		}
	}
	return labels
}

// short prints a bound: all of a short number, else seven digits.
func short(v float64) string {
	if s := strconv.FormatFloat(v, 'f', -1, 64); len(s) <= 9 {
		return s
	}
	return strconv.FormatFloat(v, 'g', 7, 64)
}

func cutLevels(ev *model.Evidence, f int, cells []int32) []string {
	n := map[float64]float64{}
	for i, v := range ev.Columns[f] {
		if !math.IsNaN(v) {
			n[v] += ev.Weight[i]
		}
	}
	codes := make([]float64, 0, len(n))
	for v := range n {
		codes = append(codes, v)
	}
	slices.SortFunc(codes, func(a, b float64) int {
		if c := cmp.Compare(n[b], n[a]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	pooled := len(codes) > featureLevel
	codes = codes[:min(len(codes), featureLevel)]
	if ev.Schema.Features[f].Kind == model.Ordinal {
		slices.Sort(codes)
	}
	of := make(map[float64]int32, len(codes))
	var labels []string
	for c, v := range codes {
		of[v] = int32(c)
		labels = append(labels, ev.Levels.Text(f, v))
	}
	for i, v := range ev.Columns[f] {
		c, ok := of[v]
		if !ok {
			c = int32(len(codes))
		}
		cells[i] = c
	}
	if pooled {
		labels = append(labels, "(other)")
	}
	return labels
}

// tally holds class weights by cell.
type tally struct {
	cells, classes int
	counts         []float64
	class          []float64
	n, square      float64 // sums of the weights and of their squares
}

func newTally(cells, classes int) *tally {
	return &tally{cells: cells, classes: classes, counts: make([]float64, cells*classes), class: make([]float64, classes)}
}

func (t *tally) add(cell, class int, w float64) {
	t.counts[cell*t.classes+class] += w
	t.class[class] += w
	t.n += w
	t.square += w * w
}

func (t *tally) reset() {
	clear(t.counts)
	clear(t.class)
	t.n, t.square = 0, 0
}

// of is the weight of a cell.
func (t *tally) of(cell int) (n float64) {
	for _, v := range t.counts[cell*t.classes : (cell+1)*t.classes] {
		n += v
	}
	return n
}

// evidence fills in the weights of evidence of the cells and the information values, where both sides were seen.
func (t *tally) evidence(labels []string, positive int, f *Feature) {
	n1 := t.class[positive]
	n0 := t.n - n1
	if n1 == 0 || n0 == 0 {
		return
	}
	one := .5 * model.Unit(t.n, t.square)
	all := float64(t.cells) * one
	sum, raw, out := 0.0, 0.0, make([]WOE, t.cells)
	for x := range out {
		n := t.of(x)
		x1 := t.counts[x*t.classes+positive]
		w := math.Log((x1 + one) / (n1 + all) / ((n - x1 + one) / (n0 + all)))
		sum += (x1/n1 - (n-x1)/n0) * w
		out[x] = WOE{Cell: labels[x], N: Number(n), WOE: Number(w), Raw: Number(math.NaN())}
		if x1 > 0 && n-x1 > 0 {
			w = math.Log(x1 / n1 / ((n - x1) / n0))
			raw += (x1/n1 - (n-x1)/n0) * w
			out[x].Raw = Number(w)
		}
	}
	f.InformationValue, f.InformationValueRaw, f.WOE = Number(sum), Number(raw), out
}

// auc is the chance that a record of the class lies in a cell of higher rate than one of another class, ties counted by
// half, in the counts of o, with the rates of t. class below 0 means the mean over the classes that have both sides.
func (t *tally) auc(class int, o *tally) float64 {
	if class < 0 {
		sum, n := 0.0, 0
		for y := range t.classes {
			if a := t.auc(y, o); !math.IsNaN(a) {
				sum += a
				n++
			}
		}
		return sum / float64(n)
	}
	n1 := o.class[class]
	n0 := o.n - n1
	if n1 <= 0 || n0 <= 0 {
		return math.NaN()
	}
	type side struct{ rate, one, rest float64 }
	var sides []side
	for x := range t.cells {
		n := o.of(x)
		if n == 0 {
			continue
		}
		one := o.counts[x*t.classes+class]
		sides = append(sides, side{t.counts[x*t.classes+class] / t.of(x), one, n - one})
	}
	slices.SortFunc(sides, func(a, b side) int { return cmp.Compare(a.rate, b.rate) })
	below, sum := 0.0, 0.0
	for i := 0; i < len(sides); {
		one, rest, j := 0.0, 0.0, i
		for ; j < len(sides) && sides[j].rate == sides[i].rate; j++ {
			one, rest = one+sides[j].one, rest+sides[j].rest
		}
		sum += one * (below + rest/2)
		below += rest
		i = j
	}
	return sum / (n1 * n0)
}

// blocks is the mean of auc inside full blocks of leakBlock records, blocks of one side left out; all records are the
// one block when they are fewer.
func (t *tally) blocks(ev *model.Evidence, cells []int32, class int) float64 {
	block := newTally(t.cells, t.classes)
	sum, n := 0.0, 0
	size := min(leakBlock, len(cells))
	for i, c := range cells {
		block.add(int(c), int(ev.Class[i]), ev.Weight[i])
		if (i+1)%size == 0 {
			if a := t.auc(class, block); !math.IsNaN(a) {
				sum += a
				n++
			}
			block.reset()
		}
	}
	return sum / float64(n)
}
