package lift

import (
	"math"
	"slices"

	"liftstream/model"
)

// additive stands in for the scorecard while sets are chosen: a softmax over the cells of features (of two classes the
// logistic function of the second), fitted by Newton steps cell by cell. Gradients and curvatures are those of the
// weighted log-loss, in units of evidence (model.Unit).
type additive struct {
	classes int
	k       int // margins of a record: one a class, 1 of two classes
	n       int // records
	class   []int32
	weight  []float64
	margin  []float64 // records x k
	g, h    []float64 // gradient p_y - [y] and curvature p_y (1 - p_y), times the weight
	shrink  float64   // of a step, as classes move against each other: (K-1)/K, 1 for two
	unit    float64   // factor of the weights, so that their mean is 1
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
// g d + h (e^|d| - |d| - 1) (Bach, Electron. J. Stat. 4, 2010, proposition 1): of two classes with |d| <= |g|/h and
// |d| <= 1 it never rises. Of more classes all margins move at once, less by the factor shrink, which is no such proof:
// there are cells of few records whose loss rises. Without the bound a step is as long as 1/p where records of
// propensity p turn out positive. In a stream that moves such steps drove the fit of single features to infinity, and
// sets entered only to take them back.
func (a *additive) bounded(cell []int32, cells int, ridge float64) []float64 {
	value := a.step(cell, cells, ridge)
	for i, d := range value {
		value[i] = max(-enterStep, min(d, enterStep))
	}
	return value
}

// fit returns the EnteredFit of the values of step.
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

// gain measures by how much a set lowers the log-loss of each quarter of the records when it is fitted on the three
// other quarters. It returns the sum over the quarters in nats, to second order, its standard error, and the ridge: of
// enterRidges the one under which the gain less enterCertain errors is greatest.
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

// enterWork is the memory that the gains use again from set to set.
type enterWork struct{ buf []float64 }

func (w *enterWork) take(n int) []float64 {
	if cap(w.buf) < n {
		w.buf = make([]float64, n)
	}
	w.buf = w.buf[:n]
	clear(w.buf)
	return w.buf
}
