package lift

import (
	"cmp"
	"context"
	"math"
	"slices"

	"liftstream/model"
)

// MaxEntered bounds the sets that feed the scorecard.
const MaxEntered = 16

// enterRidges are the ridges among which a set chooses, in records of even odds: how alike its cells are.
var enterRidges = [...]float64{10, 50, 250, 1250}

// How sets are chosen to enter.
const (
	enterRecords  = 1 << 16 // newest records that are looked at, evenly thinned
	enterLeast    = 1000    // records below which nothing enters
	enterFolds    = 4       // stretches of time that judge a set fitted on the others
	enterFeatures = 48      // features of highest eta that are combined
	enterFine     = 16      // cells of a continuous feature by itself
	enterCoarse   = 8       // inside a set of several
	enterAlone    = 64      // and as a set of its own, atoms apart
	enterCells    = 2048    // most cells of a set
	enterPasses   = 6       // of the fit of single features
	enterSingle   = 2.      // ridge of the cell weights of single features, in records of even odds times 4
	enterStep     = 1.      // longest step of a cell of a single feature, in log-odds; see bounded
	enterGain     = 1.      // nats by which it must lower the log-loss of all records
	enterCertain  = 2.
)

// Entered is a feature set that feeds the scorecard: by cell and class what the set says beyond its features one by
// one, as log-odds that a softmax adds to those of the single features.
type Entered struct {
	Set   *Set
	Value []float64 // cells x classes; cells beyond its length say nothing
	// Fit is what takes a record out of the value of its cell again; see without. Empty in a state, and in a part of
	// format 3.
	Fit EnteredFit
}

// EnteredFit tells how the values of a set came about: margin by margin (one a class, of two classes that of the
// second) the Newton step -shrink sum g / D of a cell, with D the sum of the curvatures h = p (1-p) and the ridge, and
// g = p - [y].
type EnteredFit struct {
	// Unit is the weight of a record of weight 1 among the sums. Where only every k-th record was looked at it is 1/k of
	// that: no one knows which.
	Unit   float64
	Shrink float64
	Cells  []float64 // cells x margins x (D, mean p, mean h)
}

// without writes into dst what the set says of a record that its values were fitted on, had it not been there: with the
// weight w of the record, the value v of its cell and the mean p and h there,
//
//	v' = (v D + shrink w (p - [y])) / (D - w h)
//
// which depends on the class of the record in no way; p and h of the record itself, which do not either, are taken to
// be those of its cell. 0 where the set says nothing or does not know how it was fitted.
func (e *Entered) without(row []float64, class int32, weight float64, dst []float64) {
	clear(dst)
	classes, x := len(dst), e.Set.Cell(row)
	k := classes
	if k == 2 {
		k = 1
	}
	if x < 0 || (x+1)*classes > len(e.Value) || (x+1)*3*k > len(e.Fit.Cells) {
		return
	}
	w := weight * e.Fit.Unit
	for m := range k {
		at := e.Fit.Cells[3*(x*k+m) : 3*(x*k+m)+3]
		v, hit := e.Value[x*classes+m], 0.
		if k == 1 {
			v = e.Value[x*2+1] - e.Value[x*2]
		}
		if k == 1 && class == 1 || k > 1 && int(class) == m {
			hit = 1
		}
		if rest := at[0] - w*at[2]; rest > 0 {
			dst[m] = (v*at[0] + e.Fit.Shrink*w*(at[1]-hit)) / rest
		}
	}
	if k == 1 {
		dst[0], dst[1] = -dst[0]/2, dst[0]/2
	}
}

// value returns the entered values of the row's cell, nil when it says nothing.
func (e *Entered) value(row []float64, classes int) []float64 {
	x := e.Set.Cell(row)
	if x < 0 || (x+1)*classes > len(e.Value) {
		return nil
	}
	return e.Value[x*classes : (x+1)*classes]
}

// additive is a softmax over the cells of features, of two classes the logistic of the second, fitted by Newton steps
// cell by cell: the scorecard's stand-in while sets are chosen. Gradients and curvatures are those of the weighted
// log-loss, in units of evidence (model.Unit).
type additive struct {
	classes int
	k       int // margins of a record: one a class, 1 of two classes
	n       int // records
	class   []int32
	weight  []float64
	margin  []float64 // records x k
	g, h    []float64 // gradient p_y - [y] and curvature p_y (1 - p_y), times the weight
	shrink  float64   // of a step, as classes move against each other: (K-1)/K, 1 for two
	unit    float64   // what a weight is multiplied by: the mean becomes 1
}

func newAdditive(s *sample, rows []int32) *additive {
	a := &additive{classes: s.classes, k: s.classes, n: len(rows), shrink: float64(s.classes-1) / float64(s.classes)}
	if a.classes == 2 {
		a.k, a.shrink = 1, 1
	}
	a.class, a.weight = make([]int32, a.n), make([]float64, a.n)
	a.margin, a.g, a.h = make([]float64, a.n*a.k), make([]float64, a.n*a.k), make([]float64, a.n*a.k)
	prior := make([]float64, a.classes)
	total, weight, square := 0.0, 0.0, 0.0
	for _, r := range rows {
		weight, square = weight+s.weight[r], square+s.weight[r]*s.weight[r]
	}
	unit := model.Unit(weight, square)
	a.unit = 1 / unit
	for i, r := range rows {
		a.class[i], a.weight[i] = s.class[r], s.weight[r]/unit
		prior[a.class[i]] += a.weight[i]
		total += a.weight[i]
	}
	for y, v := range prior {
		prior[y] = math.Log((v + .5) / (total + .5*float64(a.classes)))
	}
	if a.k == 1 {
		prior = []float64{prior[1] - prior[0]}
	}
	for i := range a.n {
		copy(a.margin[i*a.k:], prior)
	}
	a.refresh()
	return a
}

// refresh computes gradients and curvatures anew.
func (a *additive) refresh() {
	k := a.k
	if k == 1 {
		for i, z := range a.margin {
			w := a.weight[i]
			p := 1 / (1 + math.Exp(-z))
			a.g[i], a.h[i] = w*(p-float64(a.class[i])), w*p*(1-p)
		}
		return
	}
	for i := range a.n {
		z, g, h := a.margin[i*k:(i+1)*k], a.g[i*k:(i+1)*k], a.h[i*k:(i+1)*k]
		w := a.weight[i]
		top := slices.Max(z)
		sum := 0.0
		for y := range z {
			g[y] = math.Exp(z[y] - top)
			sum += g[y]
		}
		for y := range z {
			p := g[y] / sum
			g[y], h[y] = w*p, w*p*(1-p)
		}
		g[a.class[i]] -= w
	}
}

// step returns the Newton step of every cell and margin, shrunk by a ridge.
func (a *additive) step(cell []int32, cells int, ridge float64) []float64 {
	k := a.k
	sum, curve := make([]float64, cells*k), make([]float64, cells*k)
	for i, c := range cell {
		if c < 0 {
			continue
		}
		for y := range k {
			sum[int(c)*k+y] += a.g[i*k+y]
			curve[int(c)*k+y] += a.h[i*k+y]
		}
	}
	for i := range sum {
		sum[i] = -a.shrink * sum[i] / (curve[i] + ridge/4)
	}
	return sum
}

// bounded returns step with no value beyond enterStep. The third derivative of a logistic loss is at most its second,
// so a step d of a margin with the sums of gradient g and curvature h changes the loss by at most
// g d + h (e^|d| - |d| - 1) (Bach, Electron. J. Stat. 4, 2010, proposition 1): with |d| <= |g|/h and |d| <= 1 it never
// rises. Without the bound a step is as long as 1/p where records of propensity p turn out positive. In a stream that
// moves such steps drove the fit of single features to infinity, and sets entered only to take them back.
func (a *additive) bounded(cell []int32, cells int, ridge float64) []float64 {
	value := a.step(cell, cells, ridge)
	for i, d := range value {
		value[i] = max(-enterStep, min(d, enterStep))
	}
	return value
}

// fit returns how the values of step come about.
func (a *additive) fit(cell []int32, cells int, ridge float64) EnteredFit {
	k := a.k
	f := EnteredFit{Unit: a.unit, Shrink: a.shrink, Cells: make([]float64, cells*k*3)}
	mass := make([]float64, cells)
	for i, c := range cell {
		if c < 0 {
			continue
		}
		mass[c] += a.weight[i]
		for y := range k {
			at := f.Cells[3*(int(c)*k+y):]
			at[1] += a.g[i*k+y]
			at[2] += a.h[i*k+y]
			if k == 1 && a.class[i] == 1 || k > 1 && int(a.class[i]) == y {
				at[1] += a.weight[i]
			}
		}
	}
	for j := range cells * k {
		at := f.Cells[3*j : 3*j+3]
		at[0] = at[2] + ridge/4
		if m := mass[j/k]; m > 0 {
			at[1], at[2] = at[1]/m, at[2]/m
		}
	}
	return f
}

// add moves the margins of all records by their cell's values.
func (a *additive) add(cell []int32, value []float64) {
	k := a.k
	for i, c := range cell {
		if c >= 0 {
			for y := range k {
				a.margin[i*k+y] += value[int(c)*k+y]
			}
		}
	}
	a.refresh()
}

// gain returns how much a set lowers the log-loss of each quarter of the records when it is fitted on the three others,
// in nats, to second order, and the standard error of that, with the ridge that suits it best.
func (a *additive) gain(cell []int32, cells int, work *enterWork) (gain, se, ridge float64) {
	k := a.k
	size := cells * k
	w := work.take((3*enterFolds + 2) * size)
	part := func(i int) []float64 { return w[i*size : (i+1)*size] }
	sum, curve := part(3*enterFolds), part(3*enterFolds+1)
	for f := range enterFolds {
		foldSum, foldCurve, square := part(3*f), part(3*f+1), part(3*f+2)
		for i := f * a.n / enterFolds; i < (f+1)*a.n/enterFolds; i++ {
			c := int(cell[i])
			if c < 0 {
				continue
			}
			for y := range k {
				g := a.g[i*k+y]
				foldSum[c*k+y] += g
				foldCurve[c*k+y] += a.h[i*k+y]
				square[c*k+y] += g * g
			}
		}
		for i := range sum {
			sum[i] += foldSum[i]
			curve[i] += foldCurve[i]
		}
	}
	best := math.Inf(-1)
	for _, r := range enterRidges {
		var v, variance float64
		for f := range enterFolds {
			foldSum, foldCurve, square := part(3*f), part(3*f+1), part(3*f+2)
			for i, g := range foldSum {
				d := -a.shrink * (sum[i] - g) / (curve[i] - foldCurve[i] + r/4)
				v -= g*d + foldCurve[i]*d*d/(2*a.shrink)
				variance += square[i] * d * d
			}
		}
		if k > 1 {
			variance *= 2 // the terms of the classes of a record go together
		}
		if u := math.Sqrt(variance); v-enterCertain*u > best {
			best, gain, se, ridge = v-enterCertain*u, v, u, r
		}
	}
	return gain, se, ridge
}

// expand turns values of margins into values of classes.
func (a *additive) expand(value []float64) []float64 {
	if a.k > 1 {
		return value
	}
	out := make([]float64, 2*len(value))
	for i, v := range value {
		out[2*i], out[2*i+1] = -v/2, v/2
	}
	return out
}

// enterWork is room that is used again.
type enterWork struct{ buf []float64 }

func (w *enterWork) take(n int) []float64 {
	if cap(w.buf) < n {
		w.buf = make([]float64, n)
	}
	w.buf = w.buf[:n]
	clear(w.buf)
	return w.buf
}

// entering chooses the sets that feed the scorecard.
type entering struct {
	*sample
	rows     []int32 // records looked at, oldest first
	stride   int     // every how many-th
	features []int32
	fine     [][]int32 // by position in features: cell of each of rows, missing ones too
	fineK    []int
	coarse   [][]int32 // -1 missing
	coarseK  []int
	cuts     [][]float64
	alone    [][]int32 // cells of a set of its own, nil for features with levels
	aloneCut [][]float64
	joint    []int32
	work     enterWork
}

// candidate is a set that may enter.
type candidate struct {
	at    []int // positions in features, ascending
	gain  float64
	se    float64
	ridge float64
}

// enter chooses the sets of up to three features that add most to a scorecard of single features, each quarter of the
// time judging what was fitted on the three others: greedily, each beside those before it, as long as its gain there is
// certain, at most MaxEntered. A set of one feature is that feature in finer cells. In later rounds a set is judged
// again only while what it gained before is more than the best gains now, and triples are those that extend a chosen
// pair.
func enter(ctx context.Context, s *sample) ([]*Entered, error) {
	e := entering{sample: s}
	e.stride = max((s.n+enterRecords-1)/enterRecords, 1)
	for r := s.n - 1; r >= 0; r -= e.stride {
		if s.weight[r] > 0 {
			e.rows = append(e.rows, int32(r))
		}
	}
	if len(e.rows) < enterLeast || len(s.fields) == 0 {
		return nil, nil
	}
	first := s.class[e.rows[0]]
	if !slices.ContainsFunc(e.rows, func(r int32) bool { return s.class[r] != first }) {
		return nil, nil
	}
	slices.Reverse(e.rows)
	if err := e.prepare(ctx); err != nil {
		return nil, err
	}
	a := newAdditive(s, e.rows)
	if err := e.singles(ctx, a); err != nil {
		return nil, err
	}
	open := e.candidates()
	var out []*Entered
	for len(out) < MaxEntered {
		slices.SortStableFunc(open, func(x, y candidate) int { return cmp.Compare(y.gain, x.gain) })
		best := -1
		for i := range open {
			if best >= 0 && open[i].gain <= open[best].gain {
				break
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			c := &open[i]
			cell, cells := e.cell(c.at)
			c.gain, c.se, c.ridge = a.gain(cell, cells, &e.work)
			if c.gain > max(enterCertain*c.se, enterGain) && (best < 0 || c.gain > open[best].gain) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		chosen := open[best]
		open = slices.Delete(open, best, best+1)
		open = slices.DeleteFunc(open, func(c candidate) bool { return c.gain < c.se })
		if x := e.take(a, chosen); x != nil {
			out = append(out, x)
		}
		open = e.extended(open, chosen)
	}
	return out, nil
}

// candidates returns all single features that may have finer cells, and all pairs.
func (e *entering) candidates() []candidate {
	var open []candidate
	for i := range e.features {
		if e.alone[i] != nil {
			open = append(open, candidate{at: []int{i}, gain: math.Inf(1)})
		}
		for j := i + 1; j < len(e.features); j++ {
			if e.coarseK[i]*e.coarseK[j] <= enterCells {
				open = append(open, candidate{at: []int{i, j}, gain: math.Inf(1)})
			}
		}
	}
	return open
}

// extended adds the triples that hold a chosen pair.
func (e *entering) extended(open []candidate, chosen candidate) []candidate {
	if len(chosen.at) != 2 {
		return open
	}
	cells := e.coarseK[chosen.at[0]] * e.coarseK[chosen.at[1]]
	for j := range e.features {
		if j == chosen.at[0] || j == chosen.at[1] || cells*e.coarseK[j] > enterCells {
			continue
		}
		at := append(slices.Clone(chosen.at), j)
		slices.Sort(at)
		if !slices.ContainsFunc(open, func(o candidate) bool { return slices.Equal(o.at, at) }) {
			open = append(open, candidate{at: at, gain: math.Inf(1)})
		}
	}
	return open
}

// take fits a chosen set beside what is fitted already; nil when there is no room for its cells.
func (e *entering) take(a *additive, c candidate) *Entered {
	var features []int32
	for _, at := range c.at {
		features = append(features, e.features[at])
	}
	slices.Sort(features)
	parts := partsOf(e.schema, features, Product)
	for i := range parts {
		at := slices.Index(e.features, parts[i].features[0])
		if parts[i].cuts = e.cuts[at]; len(features) == 1 {
			parts[i].cuts = e.aloneCut[at]
		}
	}
	t := newSet(e.schema, features, Product, parts)
	if t == nil {
		return nil
	}
	row := make([]float64, len(e.column))
	cell := make([]int32, len(e.rows))
	cells := 0
	for i, r := range e.rows {
		for _, f := range features {
			row[f] = e.column[f][r]
		}
		cell[i] = int32(t.Cell(row))
		cells = max(cells, int(cell[i])+1)
	}
	value, fit := a.step(cell, cells, c.ridge), a.fit(cell, cells, c.ridge)
	fit.Unit /= float64(e.stride)
	a.add(cell, value)
	return &Entered{t, a.expand(value), fit}
}

// prepare cuts the features, and keeps those of highest corrected eta.
func (e *entering) prepare(ctx context.Context) error {
	type ranked struct {
		feature int32
		eta     float64
	}
	var order []ranked
	fine, fineK := map[int32][]int32{}, map[int32]int{}
	cutsOf, aloneOf := map[int32][]float64{}, map[int32][]float64{}
	for _, f := range e.fields {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.schema.Directed(int(f)) { // what a set says may turn along its features
			continue
		}
		cell := make([]int32, len(e.rows))
		cells := 1
		if e.code[f] == nil {
			var values []weighted
			for _, r := range e.rows {
				if v := e.column[f][r]; finite(v) {
					values = append(values, weighted{v, e.weight[r]})
				}
			}
			coarse := quantileCuts(slices.Clone(values), enterCoarse)
			aloneOf[f] = atomCuts(slices.Clone(values), enterAlone)
			cuts := quantileCuts(values, enterFine)
			for i, r := range e.rows {
				if v := e.column[f][r]; v == v {
					cell[i] = 1 + cellOf(cuts, v)
				}
			}
			cells += len(cuts) + 1
			cutsOf[f] = coarse
		} else {
			for i, r := range e.rows {
				cell[i] = 1 + min(e.code[f][r], enterCells-2)
				cells = max(cells, int(cell[i])+1)
			}
		}
		t := Table{classes: e.classes}
		for i, r := range e.rows {
			t.add(int(cell[i]), int(e.class[r]), 1, e.weight[r])
		}
		eta := Summarise(t.n, e.classes, t.Effective()).EtaCorrected()
		if eta != eta {
			eta = 0
		}
		order = append(order, ranked{f, eta})
		fine[f], fineK[f] = cell, cells
	}
	slices.SortStableFunc(order, func(a, b ranked) int { return compareValues(a.eta, b.eta) })
	order = order[:min(len(order), enterFeatures)]
	for _, o := range order {
		f := o.feature
		e.features = append(e.features, f)
		e.fine, e.fineK = append(e.fine, fine[f]), append(e.fineK, fineK[f])
		e.cuts = append(e.cuts, cutsOf[f])
		coarse, k := make([]int32, len(e.rows)), 1
		for i, r := range e.rows {
			if e.code[f] != nil {
				coarse[i] = min(e.code[f][r], enterCells-1)
				k = max(k, int(coarse[i])+1)
			} else if v := e.column[f][r]; v == v {
				coarse[i] = cellOf(cutsOf[f], v)
			} else {
				coarse[i] = -1
			}
		}
		var alone []int32
		if e.code[f] == nil {
			k = len(cutsOf[f]) + 1
			alone = make([]int32, len(e.rows))
			for i, r := range e.rows {
				if v := e.column[f][r]; v == v {
					alone[i] = cellOf(aloneOf[f], v)
				} else {
					alone[i] = -1
				}
			}
		}
		e.alone, e.aloneCut = append(e.alone, alone), append(e.aloneCut, aloneOf[f])
		e.coarse, e.coarseK = append(e.coarse, coarse), append(e.coarseK, k)
	}
	return nil
}

// atomCuts returns cut points that give a cell to every value that holds more than 1/(2k) of the weight, and cut the
// rest into k cells of equal weight.
func atomCuts(values []weighted, k int) []float64 {
	slices.SortFunc(values, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	total := 0.0
	for _, v := range values {
		total += v.weight
	}
	var cuts []float64
	var rest []weighted
	for i := 0; i < len(values); {
		j, w := i, 0.0
		for j < len(values) && values[j].value == values[i].value {
			w += values[j].weight
			j++
		}
		if w > total/float64(2*k)*(1+1e-12) { // rounding must not decide
			if i > 0 {
				cuts = append(cuts, values[i-1].value)
			}
			cuts = append(cuts, values[i].value)
		} else {
			rest = append(rest, values[i:j]...)
		}
		i = j
	}
	cuts = append(cuts, quantileCuts(rest, k)...)
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	if n := len(cuts); n > 0 && cuts[n-1] >= values[len(values)-1].value {
		cuts = cuts[:n-1]
	}
	return cuts
}

// singles fits the cell weights of all features.
func (e *entering) singles(ctx context.Context, a *additive) error {
	for range enterPasses {
		for i, cell := range e.fine {
			if err := ctx.Err(); err != nil {
				return err
			}
			a.add(cell, a.bounded(cell, e.fineK[i], enterSingle))
		}
	}
	return nil
}

// cell returns the cell of each record by the features at the positions, valid until the next call, and the number of
// cells.
func (e *entering) cell(at []int) (cell []int32, cells int) {
	if len(at) == 1 {
		return e.alone[at[0]], len(e.aloneCut[at[0]]) + 1
	}
	if e.joint == nil {
		e.joint = make([]int32, len(e.rows))
	}
	copy(e.joint, e.coarse[at[0]])
	cells = e.coarseK[at[0]]
	for _, p := range at[1:] {
		k := int32(e.coarseK[p])
		for i, c := range e.coarse[p] {
			if v := e.joint[i]; v < 0 || c < 0 {
				e.joint[i] = -1
			} else {
				e.joint[i] = v*k + c
			}
		}
		cells *= e.coarseK[p]
	}
	return e.joint, cells
}
