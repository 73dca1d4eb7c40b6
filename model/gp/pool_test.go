package gp

import (
	"math"
	"slices"
	"testing"
)

// number is a fixed sequence of numbers in [0, 1).
func number(i, of int) float64 {
	return math.Mod(float64(i+1)*math.Sqrt(float64(2*of+3))*1e3, 1)
}

// dated returns observations at eleven places and ten clocks, some of them equal to others but for one number.
func dated(n int) []Dated {
	out := make([]Dated, n)
	for i := range out {
		out[i] = Dated{Observation{math.Floor(11*number(i, 0)) / 10, number(i, 1), .001 + .02*number(i, 2)},
			1 + 50*number(i, 3), 100 * math.Floor(10*number(i, 4))}
	}
	return append(out, out[n/2], out[n/3])
}

// TestAPoolIsItsObservations: append, merge and age in any order and in any pieces give the same observations as a pool
// that is made of them at once, as sorting, cutting and filtering by hand says.
func TestAPoolIsItsObservations(t *testing.T) {
	for _, c := range []struct {
		half float64
		most int
	}{{0, 1000}, {0, 37}, {150, 1000}, {150, 60}, {40, 1}, {40, 0}} {
		all := dated(200)
		const now = 950
		want := slices.Clone(all)
		slices.SortFunc(want, func(a, b Dated) int {
			switch {
			case a.Clock != b.Clock:
				return int(b.Clock - a.Clock)
			case a.Tau2 < b.Tau2:
				return -1
			case a.Tau2 > b.Tau2:
				return 1
			}
			return 0
		})
		want = want[:min(len(want), c.most)]
		want = slices.DeleteFunc(want, func(d Dated) bool {
			return c.half > 0 && d.Tau2*math.Pow(2, (now-d.Clock)/c.half) >= .25
		})
		for name, fill := range map[string]func() *Pool{
			"at once": func() *Pool {
				p := NewPool(c.half, c.most)
				if err := p.Append(all...); err != nil {
					t.Fatal(err)
				}
				return p
			},
			"one by one, from the end": func() *Pool {
				p := NewPool(c.half, c.most)
				for i := range all {
					if err := p.Append(all[len(all)-1-i]); err != nil {
						t.Fatal(err)
					}
				}
				return p
			},
			"five pools merged": func() *Pool {
				p := NewPool(c.half, c.most)
				for k := range 5 {
					o := NewPool(c.half, c.most)
					for i := (3 * k) % 5; i < len(all); i += 5 {
						if err := o.Append(all[i]); err != nil {
							t.Fatal(err)
						}
					}
					if err := p.Merge(o); err != nil {
						t.Fatal(err)
					}
				}
				return p
			},
		} {
			p := fill()
			p.Age(now)
			if !slices.Equal(p.Observations(), want) {
				t.Errorf("half-life %v, at most %d, %s: %d observations, want %d", c.half, c.most, name, len(p.Observations()),
					len(want))
			}
			q := fill()
			q.Age(now / 2)
			q.Age(now)
			if !slices.Equal(q.Observations(), want) {
				t.Errorf("half-life %v, at most %d, %s: aged in two steps it is another", c.half, c.most, name)
			}
		}
	}
}

// TestAgedObservationsOfAPlace: two observations of one place, the older at four times its variance, are the mean by
// precision: .8 of the variance, a fifth of the weight. One alone keeps its value. One that is too old says nothing.
func TestAgedObservationsOfAPlace(t *testing.T) {
	p := NewPool(100, 10)
	err := p.Append(Dated{Observation{.5, .6, .01}, 20, 300}, Dated{Observation{.5, .1, .01}, 20, 100},
		Dated{Observation{.2, .9, .02}, 4, 100}, Dated{Observation{.7, 1, .02}, 4, -800},
		Dated{Observation{.9, 1, .02}, 4, 300})
	if err != nil {
		t.Fatal(err)
	}
	got := p.At(300, func(x float64) float64 {
		if x > .8 {
			return math.NaN()
		}
		return x
	})
	want := []Observation{{.2, .9, .08}, {.5, .5, .008}}
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range want {
		if math.Abs(got[i].X-want[i].X)+math.Abs(got[i].Y-want[i].Y)+math.Abs(got[i].Tau2-want[i].Tau2) > 1e-15 {
			t.Errorf("%v, want %v", got[i], want[i])
		}
	}
	// An observation of the future is not better than it was.
	if got := p.At(0, func(x float64) float64 { return x }); got[0].Tau2 != .02 {
		t.Errorf("before it was made: %v", got[0])
	}
}

// TestNoBadObservationIsKept: observations of no finite numbers or of no record are refused, and change nothing.
func TestNoBadObservationIsKept(t *testing.T) {
	for _, d := range []Dated{{Observation{math.NaN(), 0, 0}, 1, 0}, {Observation{0, math.Inf(1), 0}, 1, 0},
		{Observation{0, 0, -1}, 1, 0}, {Observation{0, 0, 0}, 0, 0}, {Observation{0, 0, 0}, math.NaN(), 0},
		{Observation{0, 0, 0}, math.Inf(1), 0}, {Observation{0, 0, 0}, 1, math.NaN()},
		{Observation{0, 0, 0}, 1, math.Inf(-1)}} {
		p := NewPool(0, 9)
		if err := p.Append(Dated{Observation{0, 0, 0}, 1, 0}, d); err == nil || len(p.Observations()) > 0 {
			t.Errorf("%v: error %v, %d observations", d, err, len(p.Observations()))
		}
	}
}
