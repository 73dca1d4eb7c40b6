package lift

import "math"

// z95 is the two-sided 95 % point of the normal distribution.
const z95 = 1.959963984540054

// Summary holds the sums of a count table from which every measure of SPEC B.1 follows. It is computed when asked; the
// counting path knows nothing of it.
type Summary struct {
	Classes   int
	Count     []float64 // n_xy, cell by cell, classes innermost; aliases what Summarise was given
	N         float64
	Effective float64   // n_eff
	NX        []float64 // by cell
	NY        []float64 // by class
	// A and B are, by cell, a_x = sum_y n_xy ln(n_xy n/(n_x n_y)) and b_x = sum_y n_xy ln(n/n_y) (SPEC B.3 i), in nats
	// times weight: eta of a window is the sum of its a over the sum of its b.
	A, B []float64
	// Occupied is the number of cells, Seen that of classes, with a positive count.
	Occupied, Seen int
}

// Summarise computes the sums of the counts n_xy, laid out cell by cell with the classes innermost. effective is the
// effective number of records, 0 for the total of the counts. Counts that rounding left below zero count as zero.
func Summarise(count []float64, classes int, effective float64) *Summary {
	s := &Summary{Classes: classes, Count: count}
	cells := len(count) / classes
	buf := make([]float64, 3*cells+classes)
	s.NX, s.A, s.B, s.NY = buf[:cells:cells], buf[cells:2*cells:2*cells], buf[2*cells:3*cells:3*cells], buf[3*cells:]
	for x := 0; x < cells; x++ {
		for y, v := range count[x*classes : (x+1)*classes] {
			if v > 0 {
				s.NX[x] += v
				s.NY[y] += v
			}
		}
		if s.NX[x] > 0 {
			s.Occupied++
			s.N += s.NX[x]
		}
	}
	if s.Effective = effective; !(effective > 0) {
		s.Effective = s.N
	}
	logH := make([]float64, classes)
	for y, v := range s.NY {
		if v > 0 {
			s.Seen++
			logH[y] = math.Log(s.N / v)
		}
	}
	for x := 0; x < cells; x++ {
		for y, v := range count[x*classes : (x+1)*classes] {
			if v > 0 {
				s.A[x] += v * (math.Log(v/s.NX[x]) + logH[y])
				s.B[x] += v * logH[y]
			}
		}
		s.A[x] = max(s.A[x], 0)
	}
	return s
}

// Eta is eta(Y|R), equation (2): the mutual information of cell and class over the entropy of the class, 0 to 1. NaN
// until two classes were seen.
func (s *Summary) Eta() float64 {
	var a, b float64
	for x := range s.A {
		a += s.A[x]
		b += s.B[x]
	}
	return s.ratio(a, b)
}

// EtaCorrected is Eta less the Miller-Madow bias of the mutual information, (K_x-1)(K_y-1)/(2 n_eff) nats with the
// occupied cells K_x and seen classes K_y (SPEC B.3 iii), at least 0. NaN as Eta.
func (s *Summary) EtaCorrected() float64 {
	var a, b float64
	for x := range s.A {
		a += s.A[x]
		b += s.B[x]
	}
	a -= s.N / s.Effective * float64(s.Occupied-1) * float64(s.Seen-1) / 2
	return s.ratio(max(a, 0), b)
}

// CellEta is eta of the window of the one cell x. NaN when the cell is empty or fewer than two classes were seen.
func (s *Summary) CellEta(x int) float64 { return s.ratio(s.A[x], s.B[x]) }

// WindowEta is eta(Y|W), equation (3), of the window of the given cells: how much of the surprise about the class inside
// W the cell explains, with the class rates of the whole table. NaN when W is empty or fewer than two classes were seen.
func (s *Summary) WindowEta(cells []int) float64 {
	var a, b float64
	for _, x := range cells {
		a += s.A[x]
		b += s.B[x]
	}
	return s.ratio(a, b)
}

func (s *Summary) ratio(a, b float64) float64 {
	if s.Seen < 2 || !(b > 0) {
		return math.NaN()
	}
	return min(a/b, 1)
}

// Lift is L(x,y) = f(y|x)/h(y): how many times as frequent class y is in cell x as in the whole table. NaN when the cell
// is empty, the class was not seen, or fewer than two classes were seen.
func (s *Summary) Lift(x, y int) float64 {
	if s.Seen < 2 {
		return math.NaN()
	}
	return s.rate(x, y) * s.N / s.NY[y]
}

// LiftInterval is the 95 % interval of Lift(x, y); see liftInterval. NaN when the class was not seen or fewer than two
// classes were.
func (s *Summary) LiftInterval(x, y int) (low, high float64) {
	if s.Seen < 2 || !(s.NY[y] > 0) {
		return math.NaN(), math.NaN()
	}
	return liftInterval(max(s.Count[x*s.Classes+y], 0), s.NX[x], s.NY[y], s.N, s.Effective/s.N)
}

func (s *Summary) rate(x, y int) float64 {
	return max(s.Count[x*s.Classes+y], 0) / s.NX[x]
}

// liftInterval is the 95 % interval of the lift (n_xy/n_x)/(n_y/n) of a class under a condition, on counts times scale as
// effective numbers of records. With p the rate of the class under the condition, r that among the rest, and g = n_x/n,
// the lift is 1/(g + (1-g) r/p): the interval is that of the ratio of two independent rates by the score test (Koopman,
// Biometrics 40, 1984), so that the base rate is not taken as known. It exists at counts of zero: without a covered
// record it is [0, n/n_y], without a record of the rest [1, 1]. NaN when the class was not seen.
func liftInterval(nxy, nx, ny, n, scale float64) (low, high float64) {
	switch {
	case !(ny > 0):
		return math.NaN(), math.NaN()
	case !(nx > 0):
		return 0, n / ny
	case n-nx <= n*tieTolerance:
		return 1, 1
	}
	nxy, ny = min(nxy, nx), max(ny, nxy)
	rest := n - nx
	of := min(max(ny-nxy, 0), rest)
	lift := nxy / nx * n / ny
	g := nx / n
	at := func(ratio float64) float64 { return 1 / (g + (1-g)*ratio) } // the lift when the rest's rate is ratio times p
	x1, n1, x2, n2 := of*scale, rest*scale, nxy*scale, nx*scale
	// bisect returns where the score passes its 95 % point between a ratio at which it is below and one at which not.
	bisect := func(in, out float64) float64 {
		for range 60 {
			mid := math.Sqrt(in * out)
			if ratioScore(x1, n1, x2, n2, mid) <= z95*z95 {
				in = mid
			} else {
				out = mid
			}
		}
		return in
	}
	const least, most = 1e-9, 1e9
	best := min(max(of/rest*nx/nxy, least), most)
	if nxy == 0 {
		best = most
	}
	low, high = 0, max(1/g, lift)
	if nxy > 0 {
		low = min(at(bisect(best, most)), lift)
	}
	if of > 0 {
		high = max(at(bisect(best, least)), lift)
	}
	return low, high
}

// ratioScore is the score statistic, chi-square of one degree of freedom, for the ratio of the rates x1/n1 and x2/n2 being
// t.
func ratioScore(x1, n1, x2, n2, t float64) float64 {
	a := (n1 + n2) * t
	b := t*n1 + x1 + n2 + t*x2
	p2 := 2 * (x1 + x2) / (b + math.Sqrt(max(b*b-4*a*(x1+x2), 0))) // the smaller root, without cancellation
	p1 := min(p2*t, 1)
	p2 = min(p2, 1)
	d := x1/n1 - t*x2/n2
	v := p1*(1-p1)/n1 + t*t*p2*(1-p2)/n2
	if !(v > 0) {
		if math.Abs(d) < 1e-12 {
			return 0
		}
		return math.Inf(1)
	}
	return d * d / v
}

// tieTolerance is the relative difference below which two values of a ranking are the same (SPEC G.26).
const tieTolerance = 1e-12

// compareValues orders values of a ranking, higher first, equal within the tolerance, NaN last.
func compareValues(a, b float64) int {
	switch an, bn := math.IsNaN(a), math.IsNaN(b); {
	case an && bn:
		return 0
	case an:
		return 1
	case bn:
		return -1
	}
	if math.Abs(a-b) <= tieTolerance*max(math.Abs(a), math.Abs(b)) {
		return 0
	}
	if a > b {
		return -1
	}
	return 1
}
