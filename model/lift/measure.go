package lift

import "math"

// Summary holds the sums of a count table from which every measure of METHOD.md 1 follows. It is computed on demand;
// the counting path does not use it.
type Summary struct {
	Classes   int
	Count     []float64 // n_xy, cell by cell, classes innermost; aliases the argument of Summarise
	N         float64
	Effective float64   // n_eff
	NX        []float64 // by cell
	NY        []float64 // by class
	// A and B are, by cell, a_x = sum_y n_xy ln(n_xy n/(n_x n_y)) and b_x = sum_y n_xy ln(n/n_y) (METHOD.md 1.1), in nats
	// times weight: eta of a window is the sum of its a over the sum of its b.
	A, B []float64
	// Occupied is the number of cells, Seen that of classes, with a positive count.
	Occupied, Seen int
	// gain orders sets and windows. It is, by cell, A or, in the summary of leaveOneOut, the gain on records left out.
	gain []float64
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
	s.gain = s.A
	return s
}

// rank is the sum of the gains over the sum of B, by which sets are ranked: Eta, or EtaLeaveOneOut. NaN as Eta.
func (s *Summary) rank() float64 {
	var a, b float64
	for x, v := range s.gain {
		a += v
		b += s.B[x]
	}
	return s.ratio(a, b)
}

// cellRank is the figure that ranks the window of the one cell x, windowRank that of several cells.
func (s *Summary) cellRank(x int) float64 { return s.ratio(s.gain[x], s.B[x]) }

func (s *Summary) windowRank(cells []int) float64 {
	var a, b float64
	for _, x := range cells {
		a += s.gain[x]
		b += s.B[x]
	}
	return s.ratio(a, b)
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
// occupied cells K_x and seen classes K_y (METHOD.md 1.2), at least 0. NaN as Eta.
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

// WindowEta is eta(Y|W), equation (3), of the window of the given cells: how much of the surprise about the class
// inside W the cell explains, with the class rates of the whole table. NaN when W is empty or fewer than two classes
// were seen.
func (s *Summary) WindowEta(cells []int) float64 {
	var a, b float64
	for _, x := range cells {
		a += s.A[x]
		b += s.B[x]
	}
	return s.ratio(a, b)
}

// WindowEtaCorrected is WindowEta less the bias of its numerator where the cells tell nothing, (C-1)(1-g_x)/2 nats of
// n_eff/n of the weight for each cell (METHOD.md 1.2) with the C seen classes, at least 0. NaN as WindowEta. It takes
// off the gain of given cells by chance, but not the gain of choosing the best cells: see WindowInterval.
func (s *Summary) WindowEtaCorrected(cells []int) float64 {
	var a, b float64
	for _, x := range cells {
		a += s.A[x] - s.N/s.Effective*float64(s.Seen-1)*(1-s.NX[x]/s.N)/2
		b += s.B[x]
	}
	return s.ratio(max(a, 0), b)
}

func (s *Summary) ratio(a, b float64) float64 {
	if s.Seen < 2 || !(b > 0) {
		return math.NaN()
	}
	return min(a/b, 1)
}

// Lift is L(x,y) = f(y|x)/h(y): how many times as frequent class y is in cell x as in the whole table. NaN when the
// cell is empty, the class was not seen, or fewer than two classes were seen.
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
