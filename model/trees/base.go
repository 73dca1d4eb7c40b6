package trees

import (
	"context"
	"math"
)

// How the additive model is fitted: rounds of Newton steps over all cells, a ridge in units of curvature (a record of
// even odds has 1/4), and the largest step.
const (
	baseRounds = 8
	baseRidge  = 4.
	baseStep   = 1.
)

// unit is the grid on which gradients and curvatures are added up: sums of whole numbers do not depend on the order of
// the records (METHOD.md 3).
const unit = 1 << 40

// ensemble is an additive model and the trees on it, fitted on the records outside of one fold.
type ensemble struct {
	*records
	without int       // the fold, -1 = none
	rows    []int32   // records that it is fitted on
	held    []int32   // the others
	z       []float64 // records x margins, now
	// constant holds the log-odds of the class shares, by margin, and parts those of the additive model beyond: of the
	// constant and then of each column, cells x margins.
	constant []float64
	parts    [][]float64
	trees    []*grown
	g, h     []int64 // of margin after margin x records
}

func newEnsemble(r *records, without int) *ensemble {
	e := &ensemble{records: r, without: without, z: make([]float64, r.len()*r.margins),
		g: make([]int64, r.len()*r.margins), h: make([]int64, r.len()*r.margins)}
	for i, f := range r.fold {
		if int(f) == without {
			e.held = append(e.held, int32(i))
		} else {
			e.rows = append(e.rows, int32(i))
		}
	}
	return e
}

// gradients computes gradients and curvatures of the log-loss at z, for the records of the fit: p - y and p (1 - p) by
// margin; of more than two classes the curvature is K/(K-1) p (1 - p), since they move against each other.
func (e *ensemble) gradients() {
	n, M := e.len(), e.margins
	if M == 1 {
		for _, i := range e.rows {
			p := sigmoid(e.z[i])
			e.g[i] = int64(math.Round(e.weight[i] * (p - float64(e.class[i])) * unit))
			e.h[i] = int64(math.Round(e.weight[i] * p * (1 - p) * unit))
		}
		return
	}
	p := make([]float64, M)
	factor := float64(M) / float64(M-1)
	for _, i := range e.rows {
		copy(p, e.z[int(i)*M:])
		softmax(p)
		for c, v := range p {
			y := 0.
			if c == int(e.class[i]) {
				y = 1
			}
			e.g[c*n+int(i)] = int64(math.Round(e.weight[i] * (v - y) * unit))
			e.h[c*n+int(i)] = int64(math.Round(e.weight[i] * factor * v * (1 - v) * unit))
		}
	}
}

// additive fits the additive model: a constant and one number a cell and margin, by Newton steps feature after feature.
// Gradients move with the steps by their curvature and are computed anew in each round (METHOD.md 2).
func (e *ensemble) additive(ctx context.Context) error {
	n, M := e.len(), e.margins
	e.constant = e.rates(e.rows)
	constant := column{bin: make([]uint8, n), coarse: []uint8{0}, cells: 1}
	e.parts = [][]float64{make([]float64, M)}
	for k := range e.columns {
		e.parts = append(e.parts, make([]float64, e.columns[k].cells*M))
	}
	for range baseRounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		e.gradients()
		e.step(&constant, 0, e.parts[0])
		for k := range e.columns {
			e.step(&e.columns[k], baseRidge, e.parts[k+1])
		}
	}
	e.centre()
	return nil
}

// centre moves the mean of each column's part to the constant, of which the class shares are taken off.
func (e *ensemble) centre() {
	M := e.margins
	for k := range e.columns {
		c, total := &e.columns[k], 0.
		mass := make([]float64, c.cells)
		for _, i := range e.rows {
			mass[c.coarse[c.bin[i]]] += e.weight[i]
			total += e.weight[i]
		}
		for m := range M {
			mean := 0.
			for cell, w := range mass {
				mean += w * e.parts[k+1][cell*M+m] / max(total, 1)
			}
			for cell := range mass {
				e.parts[k+1][cell*M+m] -= mean
			}
			e.parts[0][m] += mean
		}
	}
	for m, v := range e.constant {
		e.parts[0][m] -= v
	}
}

// part is that of the constant (0) or of a column (from 1 on) for a record, by margin.
func (e *ensemble) part(k int, i int32) []float64 {
	if k == 0 {
		return e.parts[0]
	}
	c := &e.columns[k-1]
	at := int(c.coarse[c.bin[i]]) * e.margins
	return e.parts[k][at : at+e.margins]
}

// rates returns the log-odds of the class shares among the records, with half a record more of each class.
func (r *records) rates(rows []int32) []float64 {
	share := make([]float64, r.classes)
	for y := range share {
		share[y] = .5
	}
	for _, i := range rows {
		share[r.class[i]] += r.weight[i]
	}
	if r.margins == 1 {
		return []float64{math.Log(share[1] / share[0])}
	}
	for y, v := range share {
		share[y] = math.Log(v)
	}
	return share
}

// step makes a Newton step of the cells of a column and adds it to their part.
func (e *ensemble) step(c *column, ridge float64, part []float64) {
	n, M := e.len(), e.margins
	var sums [256][2]int64
	var by [256]float64
	for m := range M {
		g, h := e.g[m*n:(m+1)*n], e.h[m*n:(m+1)*n]
		clear(sums[:])
		for _, i := range e.rows {
			s := &sums[c.coarse[c.bin[i]]]
			s[0] += g[i]
			s[1] += h[i]
		}
		for k := range c.cells {
			by[k] = 0
			if h := float64(sums[k][1])/unit + ridge; h > 0 {
				by[k] = min(max(-float64(sums[k][0])/unit/h, -baseStep), baseStep)
			}
			part[k*M+m] += by[k]
		}
		for _, i := range e.rows {
			d := by[c.coarse[c.bin[i]]]
			e.z[int(i)*M+m] += d
			g[i] += int64(math.Round(float64(h[i]) * d))
		}
		for _, i := range e.held {
			e.z[int(i)*M+m] += by[c.coarse[c.bin[i]]]
		}
	}
}

func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// softmax turns log-scores into shares.
func softmax(z []float64) {
	top, sum := math.Inf(-1), 0.
	for _, v := range z {
		top = max(top, v)
	}
	for c, v := range z {
		z[c] = math.Exp(v - top)
		sum += z[c]
	}
	for c := range z {
		z[c] /= sum
	}
}

// loss is the log-loss of a record of the class at z.
func loss(z []float64, class int32) float64 {
	if len(z) == 1 {
		v := z[0]
		if class == 1 {
			v = -v
		}
		return max(v, 0) + math.Log1p(math.Exp(-math.Abs(v)))
	}
	top, sum := math.Inf(-1), 0.
	for _, v := range z {
		top = max(top, v)
	}
	for _, v := range z {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum) - z[class]
}
