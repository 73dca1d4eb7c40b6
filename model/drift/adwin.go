package drift

import "math"

// ADWINOptions say how an ADWIN works; DefaultADWIN returns the usual ones.
type ADWINOptions struct {
	// Delta bounds the chance of a false alarm of one comparison, between 0 and 1.
	Delta float64
	// Clock is the number of numbers between comparisons, at least 1.
	Clock int
	// Buckets is M of the paper, at least 1: of more than M buckets of one size the oldest two are merged.
	Buckets int
	// Least is the least length of each of two compared parts of the window, at least 1.
	Least int
	// Grace is the length up to which a window is not compared.
	Grace int
}

// DefaultADWIN returns the options of MOA and river: Delta .002, Clock 32, Buckets 5, Least 5, Grace 10.
func DefaultADWIN() ADWINOptions {
	return ADWINOptions{Delta: .002, Clock: 32, Buckets: 5, Least: 5, Grace: 10}
}

// bucket is 2^row consecutive numbers: their sum, and the sum of their squared deviations from their mean.
type bucket struct{ sum, squares float64 }

// ADWIN is the adaptive window of Bifet and Gavalda (SIAM International Conference on Data Mining 2007, algorithm
// ADWIN2): the newest numbers, as many as show no change of their mean. The window of n numbers is kept as an
// exponential histogram of O(M log(n / M)) buckets. It has changed where for some cut into an older part of n0 numbers
// and a newer one of n1, both at least Least,
//
//	|mean0 - mean1| > sqrt(2/m s2 d) + 2/3 d/m,  d = ln(2 ln(n) / Delta),  1/m = 1/(n0-Least+1) + 1/(n1-Least+1),
//
// with the variance s2 of the window. This is equation 3.1 of the paper for n the number of cuts, with the shorter
// parts that MOA and river count in 1/m. Then the oldest bucket goes, until no cut shows a change. The bound holds for
// numbers between 0 and 1; larger ones give more alarms by chance. The zero value is not usable: see NewADWIN.
type ADWIN struct {
	o       ADWINOptions
	rows    [][]bucket // rows[k] holds buckets of 2^k numbers, the oldest first
	n       int64
	sum     float64
	squares float64 // sum of squared deviations from the mean of the window
	ticks   int64
}

// NewADWIN returns an empty window. It panics on options out of their bounds.
func NewADWIN(o ADWINOptions) *ADWIN {
	if !(o.Delta > 0 && o.Delta < 1) || o.Clock < 1 || o.Buckets < 1 || o.Least < 1 || o.Grace < 0 {
		panic("drift: ADWINOptions out of bounds")
	}
	return &ADWIN{o: o, rows: make([][]bucket, 1)}
}

// Reset empties the window.
func (a *ADWIN) Reset() { *a = *NewADWIN(a.o) }

// Width is the number of numbers in the window.
func (a *ADWIN) Width() int64 { return a.n }

// Mean is the mean of the window, NaN of an empty one.
func (a *ADWIN) Mean() float64 { return a.sum / float64(a.n) }

// Variance is the variance of the window (divided by its length), NaN of an empty one.
func (a *ADWIN) Variance() float64 { return a.squares / float64(a.n) }

// Add takes the next number and reports whether the window was cut.
func (a *ADWIN) Add(x float64) bool {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return false
	}
	if a.n > 0 {
		a.squares += merged(1, float64(a.n), x, a.Mean())
	}
	a.n++
	a.sum += x
	a.rows[0] = append(a.rows[0], bucket{sum: x})
	a.compress()
	a.ticks++
	if a.ticks%int64(a.o.Clock) != 0 || a.n <= int64(a.o.Grace) {
		return false
	}
	changed := false
	for a.cut() {
		changed = true
		a.drop()
	}
	return changed
}

// merged is the sum of squared deviations that two parts have beyond their own: n0 n1 (mean0 - mean1)^2 / (n0 + n1).
func merged(n0, n1, mean0, mean1 float64) float64 {
	return n0 * n1 * (mean0 - mean1) * (mean0 - mean1) / (n0 + n1)
}

// compress merges the two oldest buckets of each row that holds more than M.
func (a *ADWIN) compress() {
	for k := 0; k < len(a.rows) && len(a.rows[k]) > a.o.Buckets; k++ {
		if k+1 == len(a.rows) {
			a.rows = append(a.rows, nil)
		}
		r, n := a.rows[k], math.Ldexp(1, k)
		a.rows[k+1] = append(a.rows[k+1], bucket{
			sum:     r[0].sum + r[1].sum,
			squares: r[0].squares + r[1].squares + merged(n, n, r[0].sum/n, r[1].sum/n),
		})
		a.rows[k] = append(r[:0], r[2:]...)
	}
}

// cut reports whether some cut between two buckets shows a change.
func (a *ADWIN) cut() bool {
	n, u := 0.0, 0.0
	all, least := float64(a.n), float64(a.o.Least)
	d := math.Log(2 * math.Log(all) / a.o.Delta)
	s2 := a.Variance()
	for k := len(a.rows) - 1; k >= 0; k-- {
		for _, b := range a.rows[k] {
			n, u = n+math.Ldexp(1, k), u+b.sum
			rest := all - n
			if rest < least {
				return false
			}
			if n < least {
				continue
			}
			m := 1/(n-least+1) + 1/(rest-least+1)
			if math.Abs(u/n-(a.sum-u)/rest) > math.Sqrt(2*m*s2*d)+2./3*d*m {
				return true
			}
		}
	}
	return false
}

// drop takes the oldest bucket out of the window.
func (a *ADWIN) drop() {
	k := len(a.rows) - 1
	b, n := a.rows[k][0], math.Ldexp(1, k)
	a.n -= int64(n)
	a.sum -= b.sum
	a.squares = max(0, a.squares-b.squares-merged(n, float64(a.n), b.sum/n, a.Mean()))
	a.rows[k] = append(a.rows[k][:0], a.rows[k][1:]...)
	for len(a.rows) > 1 && len(a.rows[len(a.rows)-1]) == 0 {
		a.rows = a.rows[:len(a.rows)-1]
	}
}
