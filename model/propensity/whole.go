package propensity

import (
	"context"
	"fmt"
	"math"

	"liftstream/model"
)

// How the weights of a model of exchangeable records are fitted.
const (
	wholeFolds  = 5       // of the records, by their number: weights fitted on the others are measured on one
	wholeSearch = 1 << 13 // records that a setting is measured on, at least, where there are as many
	wholeRounds = 12      // over all weights, gradients and curvatures new in each
	wholeBase   = .05     // ridge of the constant: next to none, so that the mean of the propensities is the rate
	wholeLevel  = 4       // rounds that bring the mean propensity to the rate
)

// setting says towards which weights those of log-lifts are drawn, as multiples of their start in a stream, and
// how strongly all weights are held, as multiples of the ridges of batch.
type setting struct{ toward, ridge float64 }

// strengths and starts are the parts of a setting that are tried, one after the other; the first of equals is taken.
var (
	strengths = [...]float64{1, .25, 4, 16, 64}
	starts    = [...]float64{2, 1, 5, 0}
)

// whole is the fit of one share to exchangeable records.
type whole struct {
	fitter
	axes   []axis
	ev     *evidence
	rows   []int // records that weights are fitted on
	inputs []float64
	ext    int // inputs of other components
}

// fitWhole returns the share of exchangeable records: counts that are the same over every half-life, and weights that
// are the same on every card, those of a penalised logistic regression of the class on the log-lifts of these counts,
// the cells, the constant, the linear inputs, and the inputs of other components as these are of a record that they
// have not seen (Evidence.Without). The strength of the penalty is the one whose log-loss on held-out folds is least.
// Calibration counts the margins of held-out records. At last the constant is moved until the mean propensity of the
// records is their rate. Nothing fades.
func (p fitter) fitWhole(ctx context.Context, axes []axis, ev *evidence) (contribution, error) {
	w := &whole{fitter: p, axes: axes, ev: ev}
	if ev.Without != nil {
		for _, n := range ev.Blocks {
			w.ext += n
		}
	}
	per := p.margins*(len(p.features)+1+p.extern) + w.ext*p.classes + len(p.features) + p.linear + 1
	most := max(min(batchRecords, batchNumbers/per), 1)
	stride := (ev.Len()-1)/most + 1
	row := make(model.Row, len(ev.Columns))
	for i := 0; i < ev.Len(); i += stride {
		if y := ev.Class[i]; !(ev.Weight[i] > 0) || y < 0 || int(y) >= p.classes {
			continue
		}
		w.rows = append(w.rows, i)
		if w.ext > 0 {
			if len(w.rows)%1024 == 0 && ctx.Err() != nil {
				return contribution{}, fmt.Errorf("fitting scorecard: %w", ctx.Err())
			}
			at := len(w.inputs)
			w.inputs = append(w.inputs, make([]float64, w.ext*p.classes)...)
			ev.Row(i, row)
			ev.Without(&model.Example{Row: row, Class: ev.Class[i], Weight: ev.Weight[i], Clock: ev.Clock[i]}, w.inputs[at:])
		}
	}
	s, err := w.counted(ctx, -1)
	if err != nil {
		return contribution{}, err
	}
	best, err := w.choose(ctx, s)
	if err != nil {
		return contribution{}, err
	}
	d := w.design(s, -1)
	b, err := w.solve(ctx, d, best)
	if err != nil {
		return contribution{}, err
	}
	w.install(s, d, b)
	if err := w.level(ctx, s); err != nil {
		return contribution{}, err
	}
	c := s.share(0)
	c.records = float64(ev.Len())
	return c, nil
}

// counted returns a scorecard that has counted the records outside of a fold, all of them for -1.
func (w *whole) counted(ctx context.Context, fold int) (*Scorecard, error) {
	s := newScorecard(w.plan)
	s.axes = w.axes
	w.startCells(s.cur, w.axes)
	s.derive()
	if w.ev.Without != nil {
		s.SetBlocks(w.ev.Blocks)
	}
	row := make(model.Row, len(w.ev.Columns))
	for i, y := range w.ev.Class {
		if i%w.pause() == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("fitting scorecard: %w", ctx.Err())
		}
		if !(w.ev.Weight[i] > 0) || y < 0 || int(y) >= w.classes {
			continue
		}
		w.ev.Row(i, row)
		s.locate(row)
		s.grow(row)
		if i%wholeFolds != fold {
			s.weigh(min(w.ev.Weight[i], model.MaxWeight), 1)
			s.addCounts(&model.Example{Row: row, Class: y, Weight: w.ev.Weight[i]}, 1)
		}
	}
	s.refresh()
	return s, nil
}

// design returns the inputs of the rows under the counts of s; those of the fold weigh nothing.
func (w *whole) design(s *Scorecard, fold int) *design {
	K, H, F := w.margins, w.horizons, len(w.features)
	d := w.emptyDesign(F + 1 + w.extern)
	d.base, d.axes = wholeBase, w.axes
	row, m := make(model.Row, len(w.ev.Columns)), s.tmp
	var sum, square float64
	for n, i := range w.rows {
		w.ev.Row(i, row)
		s.locate(row)
		inputs := w.inputs[n*w.ext*w.classes : (n+1)*w.ext*w.classes]
		inputsOf(s, row, inputs, m, s.prob)
		for j := range d.lift {
			at := j*H + H - 1
			if j > F {
				at = (F+1)*H + j - F - 1
			}
			d.lift[j] = append(d.lift[j], m.input(at, K)...)
		}
		for j := range d.own {
			d.own[j] = append(d.own[j], m.own[j])
		}
		for f, c := range s.cells {
			d.places[f] = append(d.places[f], place{int32(c), int32(s.sides[f]), s.parts[f]})
		}
		weight := w.ev.Weight[i]
		if i%wholeFolds == fold {
			weight = 0
		}
		d.class, d.weight = append(d.class, w.ev.Class[i]), append(d.weight, weight)
		sum, square = sum+weight, square+weight*weight
	}
	d.n = len(d.class)
	for i := range d.weight { // curvatures count records, not the records for which these stand
		if sum > 0 {
			d.weight[i] *= sum / square
		}
	}
	d.z = make([]float64, d.n*K)
	d.g, d.h = make([]float64, d.n*K), make([]float64, d.n*K)
	b := &batch{cell: make([][]point, F)}
	for f := range b.cell {
		b.cell[f] = make([]point, w.cellCount(&s.cur.feat[f])*K)
	}
	d.blank = b
	return d
}

// solve fits the weights of a design, whose margins z they then are.
func (w *whole) solve(ctx context.Context, d *design, x setting) (*batch, error) {
	F := len(w.features)
	b := &batch{lift: make([]point, len(d.lift)), own: make([]point, len(d.own)*w.margins), cell: make([][]point, F)}
	for f := range b.cell {
		b.cell[f] = make([]point, len(d.blank.cell[f]))
	}
	fresh := w.emptyDesign(len(d.lift))
	for j, v := range fresh.toward {
		if j < F {
			v = min(v*x.toward, 1)
		}
		d.toward[j], b.lift[j].w = v, v
	}
	d.lifts, d.cell, d.line = fresh.lifts*x.ridge, fresh.cell*x.ridge, fresh.line*x.ridge
	clear(d.z)
	d.start(b)
	for range wholeRounds {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("fitting scorecard: %w", err)
		}
		d.refresh()
		d.round(b)
	}
	return b, nil
}

// choose measures the settings on held-out folds, and counts the margins of held-out records under the best in the
// calibration of s.
func (w *whole) choose(ctx context.Context, s *Scorecard) (setting, error) {
	var held [wholeFolds]*design
	folds, measured := 0, 0
	for f := range held {
		t, err := w.counted(ctx, f)
		if err != nil {
			return setting{}, err
		}
		held[f] = w.design(t, f)
		if measured < wholeSearch {
			folds++
		}
		for _, i := range w.rows {
			if i%wholeFolds == f {
				measured++
			}
		}
	}
	best, least := setting{}, math.Inf(1)
	try := func(x setting) error {
		loss := 0.
		for f := range folds {
			if _, err := w.solve(ctx, held[f], x); err != nil {
				return err
			}
			loss += w.loss(held[f], f)
		}
		if loss < least {
			best, least = x, loss
		}
		return nil
	}
	for _, v := range strengths {
		if err := try(setting{starts[0], v}); err != nil {
			return setting{}, err
		}
	}
	for _, v := range starts[1:] {
		if err := try(setting{v, best.ridge}); err != nil {
			return setting{}, err
		}
	}
	z := make([]float64, w.margins)
	for f, d := range held {
		if _, err := w.solve(ctx, d, best); err != nil {
			return setting{}, err
		}
		for n, i := range w.rows {
			if i%wholeFolds == f {
				w.calibrateAll(s, d.z[n*w.margins:(n+1)*w.margins], z, int(w.ev.Class[i]), min(w.ev.Weight[i], model.MaxWeight))
			}
		}
	}
	if !w.ev.Foretells() {
		return best, nil
	}
	p := make([]float64, w.classes)
	for f, d := range held {
		for n, i := range w.rows {
			if i%wholeFolds == f {
				w.foretell(s, d.z[n*w.margins:(n+1)*w.margins], p)
				w.ev.Foretold(i, p)
			}
		}
	}
	return best, nil
}

// calibrateAll counts a margin of a record of class y in the calibration of every card.
func (w *whole) calibrateAll(s *Scorecard, z, odds []float64, y int, weight float64) {
	K := w.margins
	copy(odds, z)
	if K > 1 {
		restOdds(z, odds)
	}
	for k := range cards {
		for c, v := range odds {
			hit := y
			if K > 1 {
				hit = 0
				if c == y {
					hit = 1
				}
			}
			s.cal.learn(s.cal.table(s.cur.knot, k*K+c), v, hit, weight)
		}
	}
}

// foretell writes the propensities of a held-out record of margins z: the mean of the raw log-odds, of many classes the
// log-scores, and of those that the calibration of s makes of them, as all cards share it.
func (w *whole) foretell(s *Scorecard, z, p []float64) {
	K := w.margins
	if K == 1 {
		v := (z[0] + s.cal.calibrated(s.cal.table(s.cur.knot, 0), z[0], s.unit)) / 2
		p[1] = sigmoid(v)
		p[0] = 1 - p[1]
		return
	}
	raw, sum := make([]float64, K), 0.
	restOdds(z, p)
	copy(raw, z)
	softmax(raw)
	for c := range p {
		p[c] = sigmoid(s.cal.calibrated(s.cal.table(s.cur.knot, c), p[c], s.unit))
		sum += p[c]
	}
	for c := range p {
		p[c] = (math.Log(raw[c]) + math.Log(p[c]/sum)) / 2
	}
	softmax(p)
}

// loss is the log-loss of the records of a fold.
func (w *whole) loss(d *design, fold int) (sum float64) {
	K := w.margins
	p := make([]float64, K)
	for n, i := range w.rows {
		if i%wholeFolds != fold {
			continue
		}
		var like float64
		if K == 1 {
			if like = sigmoid(d.z[n]); d.class[n] == 0 {
				like = 1 - like
			}
		} else {
			copy(p, d.z[n*K:])
			softmax(p)
			like = p[d.class[n]]
		}
		sum -= w.ev.Weight[i] * math.Log(like)
	}
	return sum
}

// install gives the weights to every card of s: that of a log-lift shared out over the horizons that the card uses, as
// at the start of a stream. G is the sum of the squared gradients of all records at these weights.
func (w *whole) install(s *Scorecard, d *design, b *batch) {
	K, H, F := w.margins, w.horizons, len(w.features)
	d.refresh()
	for j, x := range b.lift {
		g := 1.
		for i := range d.n {
			by := 0.
			for c := range K {
				by += d.g[i*K+c] * d.lift[j][i*K+c]
			}
			g += by * by
		}
		if j > F {
			s.cur.in[(F+1)*H+j-F-1].set(x.w, g, nil)
			continue
		}
		for h := range H {
			s.cur.in[j*H+h].set(x.w, g, &w.start[h])
		}
	}
	for j := range d.own {
		for c := range K {
			g := 1.
			for i, u := range d.own[j] {
				g += d.g[i*K+c] * d.g[i*K+c] * u * u
			}
			s.cur.own[j*K+c].set(b.own[j*K+c].w, g, nil)
		}
	}
	for f := range b.cell {
		g := make([]float64, len(b.cell[f]))
		d.eachCell(f, func(i int, cell int32, share float64) {
			for c := range K {
				g[int(cell)*K+c] += d.g[i*K+c] * d.g[i*K+c] * share * share
			}
		})
		for c := range g {
			s.cur.feat[f].pair[c].set(b.cell[f][c].w, 1+g[c], nil)
		}
	}
	s.learnt++
	if s.bound {
		s.restoreOrder()
	}
}

// set makes the weight of every card w, times share where that is not nil.
func (v *pair) set(w, g float64, share *[cards]float64) {
	for k := range cards {
		v.w[k], v.g[k] = w, g
		if share != nil {
			v.w[k] *= share[k]
			if share[k] == 0 {
				v.g[k] = 1
			}
		}
	}
}

// level moves the constant until the mean propensity of each class over the rows is its rate.
func (w *whole) level(ctx context.Context, s *Scorecard) error {
	K := w.margins
	row, pending, prob := make(model.Row, len(w.ev.Columns)), make([]float64, w.memorySize()), make([]float64, w.classes)
	for range wholeLevel {
		mean, rate := make([]float64, w.classes), make([]float64, w.classes)
		for n, i := range w.rows {
			if n%w.pause() == 0 && ctx.Err() != nil {
				return fmt.Errorf("fitting scorecard: %w", ctx.Err())
			}
			w.ev.Row(i, row)
			s.Score(row, w.inputs[n*w.ext*w.classes:(n+1)*w.ext*w.classes], pending, prob)
			rate[w.ev.Class[i]] += w.ev.Weight[i]
			for c, v := range prob {
				mean[c] += w.ev.Weight[i] * v
			}
		}
		for c := range K {
			by := 0.
			switch {
			case K == 1 && rate[0] > 0 && rate[1] > 0:
				by = math.Log(rate[1]/mean[1]) - math.Log(rate[0]/mean[0])
			case K > 1 && rate[c] > 0:
				by = math.Log(rate[c] / mean[c])
			}
			for k := range cards {
				s.cur.own[c].w[k] += clip(by, 1)
			}
		}
		s.learnt++
	}
	return nil
}
