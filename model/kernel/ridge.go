package kernel

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"liftstream/model"
)

// ridge is a least-squares fit with kernels over records, and its choice.
type ridge struct {
	n, margins int
	target     []float64 // by record: class less its share, margins innermost
	class      []int32
	share      []float64 // of each class
	members    [][]int32 // records of each block, which are left out together
}

// ridgeFit is a fit with one kernel.
type ridgeFit struct {
	loss    float64   // mean log-loss of the held-out records
	losses  []float64 // of each record
	weights []float64 // c by record, scaled to log-lifts
	held    []float64
}

// solve solves (G + noise) c = target for the symmetric G, and gives each record the prediction without its block
// (Rasmussen and Williams 2006, eq. 5.12 and 5.13, for blocks): held_B = target_B - ((G + noise)^-1_BB)^-1 c_B. nil
// where G + noise is not positive definite to the last bit.
func (r *ridge) solve(ctx context.Context, g *mat.SymDense, noise float64) *ridgeFit {
	n, M := r.n, r.margins
	a := mat.NewSymDense(n, nil)
	a.CopySym(g)
	for i := range n {
		a.SetSym(i, i, a.At(i, i)+noise)
	}
	var chol mat.Cholesky
	if ctx.Err() != nil || !chol.Factorize(a) {
		return nil
	}
	var inverse mat.SymDense
	if ctx.Err() != nil || chol.InverseTo(&inverse) != nil {
		return nil
	}
	var c mat.Dense
	c.Mul(&inverse, mat.NewDense(n, M, r.target))
	f := &ridgeFit{weights: make([]float64, n*M), held: make([]float64, n*M), losses: make([]float64, n)}
	for i := range n {
		for m := range M {
			f.weights[i*M+m] = c.At(i, m)
		}
	}
	for _, rows := range r.members {
		if len(rows) == 1 {
			i := int(rows[0])
			for m := range M {
				f.held[i*M+m] = r.target[i*M+m] - f.weights[i*M+m]/inverse.At(i, i)
			}
			continue
		}
		b, rhs := mat.NewSymDense(len(rows), nil), mat.NewDense(len(rows), M, nil)
		for x, i := range rows {
			for y := x; y < len(rows); y++ {
				b.SetSym(x, y, inverse.At(int(i), int(rows[y])))
			}
			for m := range M {
				rhs.Set(x, m, f.weights[int(i)*M+m])
			}
		}
		var own mat.Cholesky
		var off mat.Dense
		if !own.Factorize(b) || own.SolveTo(&off, rhs) != nil {
			return nil
		}
		for x, i := range rows {
			for m := range M {
				f.held[int(i)*M+m] = r.target[int(i)*M+m] - off.At(x, m)
			}
		}
	}
	r.scale(f)
	return f
}

// scale turns predictions into log-lifts: times the s of least log-loss of the held-out records, by Newton's method,
// with the pseudo-record of slope.
func (r *ridge) scale(f *ridgeFit) {
	M, K := r.margins, len(r.share)
	s := 0.
	p, v := make([]float64, K), make([]float64, K)
	top := 0.
	for _, x := range f.held {
		top = max(top, math.Abs(x))
	}
	if !(top > 0) {
		top = 1
	}
	for range 40 {
		gradient, curvature := -s*top*top/4, top*top/4
		for i, y := range r.class {
			r.lifts(f.held[i*M:(i+1)*M], v)
			posterior(v, s, r.share, p)
			mean, square := 0., 0.
			for k := range p {
				mean += p[k] * v[k]
				square += p[k] * v[k] * v[k]
			}
			gradient += v[y] - mean
			curvature += square - mean*mean
		}
		d := gradient / curvature
		if limit := 2 / top; math.Abs(d) > limit {
			d = math.Copysign(limit, d)
		}
		s = max(s+d, 0)
		if math.Abs(d)*top < 1e-8 {
			break
		}
	}
	for i, y := range r.class {
		r.lifts(f.held[i*M:(i+1)*M], v)
		posterior(v, s, r.share, p)
		f.losses[i] = -math.Log(max(p[y], 1e-300))
		f.loss += f.losses[i] / float64(r.n)
	}
	for i := range f.held {
		f.held[i] *= s
		f.weights[i] *= s
	}
}

func (r *ridge) lifts(f, dst []float64) {
	if r.margins == 1 {
		dst[0], dst[1] = -f[0], f[0]
		return
	}
	copy(dst, f)
}

// posterior writes share_y exp(s v_y), scaled to a sum of 1.
func posterior(v []float64, s float64, share, p []float64) {
	high, sum := math.Inf(-1), 0.
	for y := range p {
		if share[y] > 0 {
			high = max(high, s*v[y])
		}
	}
	for y := range p {
		p[y] = share[y] * math.Exp(s*v[y]-high)
		sum += p[y]
	}
	for y := range p {
		p[y] /= sum
	}
}

// newRidge lays out the records; nil where there are too few, or of one class.
func newRidge(ev *model.Evidence, rows []int32, key []uint64, classes int) *ridge {
	if len(rows) < fewest {
		return nil
	}
	r := &ridge{n: len(rows), margins: classes, share: make([]float64, classes)}
	count := make([]float64, classes)
	var folds folds
	if !ev.Exchangeable {
		folds = foldsOf(ev.Clock)
	}
	block := map[uint64]int{}
	for x, i := range rows {
		r.class = append(r.class, ev.Class[i])
		count[ev.Class[i]]++
		k := key[x]
		if folds != nil {
			k = uint64(folds.of(ev.Clock[i]))
		}
		at, ok := block[k]
		if !ok {
			at = len(r.members)
			block[k] = at
			r.members = append(r.members, nil)
		}
		r.members[at] = append(r.members[at], int32(x))
	}
	seen := 0
	for y, v := range count {
		if r.share[y] = v / float64(len(rows)); v > 0 {
			seen++
		}
	}
	if seen < 2 {
		return nil
	}
	if classes == 2 {
		r.margins = 1
	}
	for _, y := range r.class {
		for c := range r.margins {
			at := c
			if classes == 2 {
				at = 1
			}
			v := -r.share[at]
			if int(y) == at {
				v++
			}
			r.target = append(r.target, v)
		}
	}
	return r
}

// compare returns how much lower the mean held-out log-loss of b is than that of a, and the standard error of that: the
// larger of that of single records and that of blocks, of which the records share their luck.
func (r *ridge) compare(a, b *ridgeFit) (gain, se float64) {
	var square, blocks float64
	gain = a.loss - b.loss
	for _, rows := range r.members {
		own := 0.
		for _, i := range rows {
			d := a.losses[i] - b.losses[i] - gain
			own += d
			square += d * d
		}
		blocks += own * own
	}
	n := float64(len(r.members))
	return gain, math.Sqrt(max(square, blocks*n/max(n-1, 1))) / float64(r.n)
}

// folds are the clocks that divide the records of a stream into runs. By turns the runs make productFolds folds, which
// are left out together: a record to come has no neighbours of its own time.
type folds []float64

const (
	productRuns  = 10
	productFolds = 5
)

// foldsOf cuts the clocks into runs of equal length.
func foldsOf(clock []float64) folds {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range clock {
		lo, hi = min(lo, v), max(hi, v)
	}
	f := folds{}
	for k := 1; k < productRuns && hi > lo; k++ {
		f = append(f, lo+(hi-lo)*float64(k)/productRuns)
	}
	return f
}

// of returns the fold of a clock.
func (f folds) of(clock float64) uint8 {
	n := 0
	for n < len(f) && clock >= f[n] {
		n++
	}
	return uint8(n % productFolds)
}
