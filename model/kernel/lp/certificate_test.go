package lp

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

var six = [][]float64{{0, 0}, {.3, 1}, {.6, .2}, {2, .1}, {2.4, .9}, {2.7, .4}}

// TestNoMultipliersProveABoundAboveTheOptimum, neither those above the weight of their row, nor negative ones, nor too
// large ones of cuts.
func TestNoMultipliersProveABoundAboveTheOptimum(t *testing.T) {
	// Each point is nearest to one of the other class.
	crossed := [][]float64{{0, 0}, {3, 3}, {2, 0}, {.1, .1}, {3.1, 3.1}, {2.1, .1}}
	for _, mode := range []Mode{Nonneg, Ridge, Literal} {
		for name, weight := range map[string]float64{"equal weights": 0, "unequal weights": 3, "crossed": 5} {
			points := six
			if name == "crossed" {
				points = crossed
			}
			p := weak(points, every([]int{0, 0, 0, 1, 1, 1}), []float64{1, .1}, .1, .06, mode)
			if weight > 0 {
				p.Weight = make([]float64, p.rows())
				for i := range p.Weight {
					p.Weight[i] = .1 + math.Mod(weight*float64(i), 7)
				}
			}
			r := solved(t, p, nil)
			prove := func(lambda []float64, cuts []Cut) {
				t.Helper()
				if b := p.Bound(lambda, cuts); !(b <= r.Upper*(1+1e-9)+1e-9) {
					t.Errorf("%v, %s: bound %v above the optimum %v", mode, name, b, r.Upper)
				}
			}
			scaled := func(by float64) []float64 {
				l := slices.Clone(r.Lambda)
				for i := range l {
					l[i] = by * (l[i] + .01)
				}
				return l
			}
			for _, by := range []float64{-1, 0, .5, 2, 1e6} {
				prove(scaled(by), r.Cuts)
				prove(scaled(by), nil)
			}
			for row := range r.Lambda {
				l := slices.Clone(r.Lambda)
				l[row] = 1e6
				prove(l, r.Cuts)
			}
			many := slices.Clone(r.Cuts)
			for i := range many {
				many[i].Multiplier = 100*many[i].Multiplier + 1
			}
			prove(r.Lambda, many)
		}
	}
}

// TestVerifyRefusesABoundAboveTheValue: in a programme that breaks its rules a dual point can prove too much. An answer
// whose bound lies above its value does not verify.
func TestVerifyRefusesABoundAboveTheValue(t *testing.T) {
	p := weak(six, every([]int{0, 0, 0, 1, 1, 1}), []float64{1, .1}, .1, .06, Ridge)
	r := solved(t, p, nil)
	for k := range p.Cost { // no longer the price of the diagonal
		p.Cost[k], r.Alpha[k] = -10, 5
	}
	for i := range r.Lambda {
		r.Lambda[i] = 1
	}
	r.Cuts, r.Rho = nil, max(0, p.Dominance(r.Alpha))
	r.Upper, r.Lower = p.Objective(r.Alpha, r.Rho), p.Bound(r.Lambda, r.Cuts)
	if r.Lower <= r.Upper {
		t.Fatalf("bound %v, value %v: the test would say nothing", r.Lower, r.Upper)
	}
	if err := p.Verify(r); !errors.Is(err, ErrCertificate) {
		t.Errorf("a bound of %v above the value %v passes: %v", r.Lower, r.Upper, err)
	}
}

// TestVerifyRefusesAMixtureWithoutDominance, in both modes that ask for it, though its value and its bound are right.
func TestVerifyRefusesAMixtureWithoutDominance(t *testing.T) {
	for _, mode := range []Mode{Ridge, Literal} {
		p := weak(six, every([]int{0, 0, 0, 1, 1, 1}), []float64{1, .1}, .1, .06, mode)
		r := solved(t, p, nil)
		for k := range r.Alpha {
			r.Alpha[k] = 1
		}
		r.Rho = 0
		if h := p.Dominance(r.Alpha); !(h > .1) {
			t.Fatalf("%v: dominance %v: the test would say nothing", mode, h)
		}
		clear(r.Lambda) // proves the bound 0
		r.Upper, r.Lower, r.Cuts = p.Objective(r.Alpha, 0), 0, nil
		if err := p.Verify(r); !errors.Is(err, ErrCertificate) || !strings.Contains(err.Error(), "dominance") {
			t.Errorf("%v: a mixture without dominance passes: %v", mode, err)
		}
	}
}
