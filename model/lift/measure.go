package lift

import (
	"math"
	"slices"
)

// Summary holds the sums of a count table from which every measure of METHOD.md 1 follows. It is computed when asked;
// the counting path knows nothing of it.
type Summary struct {
	Classes   int
	Count     []float64 // n_xy, cell by cell, classes innermost; aliases what Summarise was given
	N         float64
	Effective float64   // n_eff
	NX        []float64 // by cell
	NY        []float64 // by class
	// A and B are, by cell, a_x = sum_y n_xy ln(n_xy n/(n_x n_y)) and b_x = sum_y n_xy ln(n/n_y) (METHOD.md 1.1), in nats
	// times weight: eta of a window is the sum of its a over the sum of its b.
	A, B []float64
	// Occupied is the number of cells, Seen that of classes, with a positive count.
	Occupied, Seen int
	// gain is, by cell, what sets and windows are ranked by: A, or of leaveOneOut what a cell tells about records left
	// out.
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

// leftOutPriors are the pseudo-records of the base rates among which a set chooses for its cells, falling. With more of
// them than any cell has records a set tells nothing, and is worth 0.
var leftOutPriors = [...]float64{1024, 256, 64, 16, 4, 1}

// EtaLeaveOneOut is Eta on records that are left out of the counts: each record is predicted by the counts of the
// others in its cell, with m pseudo-records of the base rates,
//
//	q(y|x) = (n_xy - 1 + m h_y)/(n_x - 1 + m),  eta = max_m sum_xy n_xy ln(q(y|x)/h_y) / sum_xy n_xy ln(1/h_y)
//
// for the m of 1, 4, 16 to 1,024 that is best, and at least 0. A record weighs, and is left out, as n_eff/n of its
// weight. The cells of a set that tells nothing gain some nats in all by chance, however many they are, where Eta gains
// (K_x-1)(K_y-1)/2 (EtaCorrected takes that off, which is too little where most cells hold a few records). It is at
// most Eta. NaN as Eta.
func (s *Summary) EtaLeaveOneOut() float64 { return s.leaveOneOut().rank() }

// leaveOneOut returns the summary with the gains of EtaLeaveOneOut, whose sum is that of the best prior; all 0 where no
// prior has a positive one.
func (s *Summary) leaveOneOut() *Summary {
	out := *s
	out.gain = make([]float64, len(s.A))
	if s.Seen < 2 {
		return &out
	}
	scale := s.Effective / s.N
	try := make([]float64, len(s.A))
	best := 0.0
	for _, m := range leftOutPriors {
		sum := 0.0
		for x := range try {
			try[x] = 0
			if !(s.NX[x] > 0) {
				continue
			}
			for y, v := range s.Count[x*s.Classes : (x+1)*s.Classes] {
				if v > 0 {
					one := min(v*scale, 1)
					h := s.NY[y] / s.N
					try[x] += v * math.Log((v*scale-one+m*h)/((s.NX[x]*scale-one+m)*h))
				}
			}
			sum += try[x]
		}
		if sum > best {
			best = sum
			out.gain, try = try, out.gain
		} else if best > 0 {
			break // the sum has one top, nearly always
		}
	}
	if best == 0 {
		clear(out.gain)
	}
	return &out
}

// rank is the sum of the gains over that of b, which sets are ranked by: Eta, or EtaLeaveOneOut. NaN as Eta.
func (s *Summary) rank() float64 {
	var a, b float64
	for x, v := range s.gain {
		a += v
		b += s.B[x]
	}
	return s.ratio(a, b)
}

// cellRank is what windows of the one cell x are ranked by, windowRank that of several cells.
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
// off what the counts of given cells gain by chance, not what choosing the best cells gains: see WindowInterval.
func (s *Summary) WindowEtaCorrected(cells []int) float64 {
	var a, b float64
	for _, x := range cells {
		a += s.A[x] - s.N/s.Effective*float64(s.Seen-1)*(1-s.NX[x]/s.N)/2
		b += s.B[x]
	}
	return s.ratio(max(a, 0), b)
}

// WindowInterval is the 95 % interval of WindowEta for every window of as many feature sets at once, so that it holds
// of a window that was chosen as the best of all of them. The class rates p_x of the cells of one set lie, with
// probability of at least 1 - .05/sets, where
//
//	sum_x n_x KL(^p_x || p_x) <= r = sum_xy n_xy ln ^p(y|x) - ln mean_m prod_x DM(n_x; m h) + ln(sets/.05)
//
// with the observed rates ^p_x, and the Dirichlet-multinomial chance DM of the classes in a cell under m pseudo-records
// of the base rates (the m of EtaLeaveOneOut): by Markov's inequality, as the mean is the chance of the classes under
// some law, whatever the numbers of records in the cells. The ends are eta where the window's rates have gone as far as
// that allows, all in one proportion: at the low end towards the base rates, at the high end away from these, as ^p^t
// h^(1-t). The base rates and the shares of the cells are taken as known, and records as independent: on records whose
// rates drift the interval is too narrow. NaN as WindowEta.
func (s *Summary) WindowInterval(cells []int, sets int) (low, high float64) {
	if eta := s.WindowEta(cells); eta != eta {
		return math.NaN(), math.NaN()
	}
	scale := s.Effective / s.N
	h := make([]float64, s.Classes)
	for y, v := range s.NY {
		h[y] = v / s.N
	}
	gamma := func(v float64) float64 {
		g, _ := math.Lgamma(v)
		return g
	}
	var law [len(leftOutPriors)]float64 // log-chance under each of the priors
	plug := 0.0
	for x, nx := range s.NX {
		if !(nx > 0) {
			continue
		}
		for i, m := range leftOutPriors {
			law[i] += gamma(m) - gamma(m+nx*scale)
		}
		for y, v := range s.Count[x*s.Classes : (x+1)*s.Classes] {
			if v > 0 {
				plug += v * scale * math.Log(v/nx)
				for i, m := range leftOutPriors {
					law[i] += gamma(m*h[y]+v*scale) - gamma(m*h[y])
				}
			}
		}
	}
	top, sum := slices.Max(law[:]), 0.0
	for _, v := range law {
		sum += math.Exp(v - top)
	}
	budget := plug - top - math.Log(sum/float64(len(law))) + math.Log(float64(max(sets, 1))/.05)
	// at returns eta of the window with other rates, and how far these are from the observed ones.
	p := make([]float64, s.Classes)
	at := func(move func(v, h float64) float64) (eta, distance float64) {
		var a, b float64
		for _, x := range cells {
			total := 0.0
			count := s.Count[x*s.Classes : (x+1)*s.Classes]
			for y := range p {
				p[y] = 0
				if h[y] > 0 {
					p[y] = move(max(count[y], 0)/s.NX[x], h[y])
				}
				total += p[y]
			}
			for y, v := range count {
				if p[y] /= total; p[y] > 0 {
					a += s.NX[x] * p[y] * math.Log(p[y]/h[y])
					b -= s.NX[x] * p[y] * math.Log(h[y])
				}
				if v > 0 {
					distance += v * scale * math.Log(v/s.NX[x]/p[y])
				}
			}
		}
		return min(max(a, 0)/b, 1), distance
	}
	// furthest bisects for the eta of the furthest move that stays within the budget; move(0) is none.
	furthest := func(out float64, move func(t, v, h float64) float64) float64 {
		in, eta := 0., s.WindowEta(cells)
		for range 40 {
			mid := (in + out) / 2
			if e, d := at(func(v, h float64) float64 { return move(mid, v, h) }); d <= budget {
				in, eta = mid, e
			} else {
				out = mid
			}
		}
		return eta
	}
	if _, d := at(func(_, h float64) float64 { return h }); d > budget {
		low = furthest(1, func(t, v, h float64) float64 { return v + t*(h-v) })
	}
	high = furthest(16, func(t, v, h float64) float64 { return v * math.Pow(v/h, t) })
	return min(low, s.WindowEta(cells)), max(high, s.WindowEta(cells))
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
