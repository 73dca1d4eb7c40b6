package drift

import "math"

// Direction says which changes of the mean a PageHinkley looks for.
type Direction int

// Directions of a change.
const (
	Both Direction = iota
	Up
	Down
)

// PageHinkleyOptions say how a PageHinkley works; DefaultPageHinkley returns the usual ones.
type PageHinkleyOptions struct {
	// Least is the number of numbers before the first alarm.
	Least int
	// Delta is the tolerated change of the mean, in the unit of the numbers, at least 0.
	Delta float64
	// Threshold is lambda of the papers: a larger one gives fewer false alarms and later ones, above 0.
	Threshold float64
	// Alpha is the weight of the sums at the next number, above 0 and at most 1: 1 = nothing is forgotten.
	Alpha     float64
	Direction Direction
}

// DefaultPageHinkley returns the options of river: Least 30, Delta .005, Threshold 50, Alpha .9999, Both.
func DefaultPageHinkley() PageHinkleyOptions {
	return PageHinkleyOptions{Least: 30, Delta: .005, Threshold: 50, Alpha: .9999, Direction: Both}
}

// PageHinkley is the test of Page (Biometrika 41, 1954) for a change of a mean that is not known, in the form of
// Mouss, Mouss, Mouss and Sefouhi (Asian Control Conference 2004): with the mean x_t of the numbers so far
//
//	up_t = Alpha up_{t-1} + x - x_t - Delta,  down_t = Alpha down_{t-1} + x - x_t + Delta,
//
// it gives alarm where up_t - min up > Threshold, or max down - down_t > Threshold. After an alarm it begins anew with
// the next number. The zero value is not usable: see NewPageHinkley.
type PageHinkley struct {
	o        PageHinkleyOptions
	n        int64
	mean     float64
	up, down float64
	low      float64 // least of up
	high     float64 // largest of down
}

// NewPageHinkley returns a test that has seen nothing. It panics on options out of their bounds.
func NewPageHinkley(o PageHinkleyOptions) *PageHinkley {
	if o.Least < 0 || !(o.Delta >= 0) || !(o.Threshold > 0) || !(o.Alpha > 0 && o.Alpha <= 1) || o.Direction < Both ||
		o.Direction > Down {
		panic("drift: PageHinkleyOptions out of bounds")
	}
	return &PageHinkley{o: o, low: math.Inf(1), high: math.Inf(-1)}
}

// Reset forgets all numbers.
func (p *PageHinkley) Reset() { *p = *NewPageHinkley(p.o) }

// Add takes the next number and reports an alarm.
func (p *PageHinkley) Add(x float64) bool {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return false
	}
	p.n++
	p.mean += (x - p.mean) / float64(p.n)
	deviation := x - p.mean
	p.up = p.o.Alpha*p.up + deviation - p.o.Delta
	p.down = p.o.Alpha*p.down + deviation + p.o.Delta
	p.low, p.high = min(p.low, p.up), max(p.high, p.down)
	if p.n < int64(p.o.Least) {
		return false
	}
	alarm := p.o.Direction != Down && p.up-p.low > p.o.Threshold ||
		p.o.Direction != Up && p.high-p.down > p.o.Threshold
	if alarm {
		p.Reset()
	}
	return alarm
}
