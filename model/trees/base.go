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
	start   []float64 // of the additive model alone
	// constant holds the log-odds of the class shares, by margin.
	constant []float64
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
	e.rates()
	constant := column{bin: make([]uint8, n), coarse: []uint8{0}, cells: 1}
	for range baseRounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		e.gradients()
		e.step(&constant, 0)
		for k := range e.columns {
			e.step(&e.columns[k], baseRidge)
		}
	}
	e.start = append([]float64(nil), e.z[:n*M]...)
	return nil
}

// rates computes the log-odds of the class shares among the records of the fit, with half a record more of each class.
func (e *ensemble) rates() {
	share := make([]float64, e.classes)
	for y := range share {
		share[y] = .5
	}
	for _, i := range e.rows {
		share[e.class[i]] += e.weight[i]
	}
	e.constant = make([]float64, e.margins)
	if e.margins == 1 {
		e.constant[0] = math.Log(share[1] / share[0])
		return
	}
	for y, v := range share {
		e.constant[y] = math.Log(v)
	}
}

// step makes a Newton step of the cells of a column.
func (e *ensemble) step(c *column, ridge float64) {
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
