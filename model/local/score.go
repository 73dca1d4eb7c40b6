package local

import (
	"fmt"
	"math"
)

// Score is the form of the discriminativity score (eq. 3).
type Score uint8

const (
	Hit      Score = iota // share of the own class around the value; neutral: sum p_c^2 on average
	Balanced              // hits against misses at equal class sizes, as in ReliefF; neutral: 1/2
)

// Observation is the kind of score that a curve is fitted to.
type Observation uint8

const (
	// Averaged is sum_c P_c S_c, a function of the location, with nothing left out (METHOD.md 1.1).
	Averaged Observation = iota
	// PerRecord is the paper's: the mean of the scores of the records at a value, each without itself.
	PerRecord
)

func total(mass []float64) (gamma float64) {
	for _, m := range mass {
		gamma += m
	}
	return gamma
}

// Neutral is the score of an uninformative feature: sum p_c^2 of the hit form, 1/2 of the balanced one. counts are the
// n_c.
func (s Score) Neutral(counts []float64) float64 {
	if s == Balanced {
		return .5
	}
	n, sum := total(counts), 0.0
	if n == 0 {
		return 1 / float64(max(1, len(counts)))
	}
	for _, c := range counts {
		sum += c / n * c / n
	}
	return sum
}

// Record is the score of a record of class own, from the masses and class counts that leave it out of mass and keep it
// in counts: M_own / Gamma, or H / (H + Ms) with H = M_own / (n_own - 1) and Ms the mean kernel of the other classes.
// Where nothing is near, or a balanced class has one member, it is neutral: p_own, and 1/2 (METHOD.md 1.2, 1.3).
func (s Score) Record(mass, counts []float64, own int32) float64 {
	return s.record(mass, counts, own, 1)
}

// record is Record where the record weighs itself.
func (s Score) record(mass, counts []float64, own int32, itself float64) float64 {
	gamma := total(mass)
	if s == Hit {
		if gamma > 0 {
			return mass[own] / gamma
		}
		return counts[own] / total(counts)
	}
	if counts[own] <= itself {
		return .5
	}
	return balanced(mass[own]/(counts[own]-itself), gamma-mass[own], total(counts)-counts[own])
}

func balanced(hits, misses, others float64) float64 {
	if others > 0 {
		misses = max(0, misses) / others
	}
	if hits+misses > 0 {
		return hits / (hits + misses)
	}
	return .5
}

// Location is the class-averaged score sum_c P_c S_c at a location, of all records: sum P_c^2 in the hit form. Where
// nothing is near it is neutral.
func (s Score) Location(mass, counts []float64) float64 {
	gamma := total(mass)
	if !(gamma > 0) {
		return s.Neutral(counts)
	}
	sum := 0.0
	n := total(counts)
	for c, m := range mass {
		p := m / gamma
		if s == Hit {
			sum += p * p
		} else if m > 0 {
			sum += p * balanced(m/counts[c], gamma-m, n-counts[c])
		}
	}
	return sum
}

// minVariance is the least variance of an observation (METHOD.md 1.4).
const minVariance = 1e-6

// leastEffective is the least effective number of records; below it the variance would overflow.
const leastEffective = 1e-12

// locationVariance is the variance of a class-averaged score by the delta method, 4 (sum P^3 - (sum P^2)^2) / n_eff
// with n_eff = Gamma^2 / sum kappa^2 (METHOD.md 1.4). The shares are drawn towards the base rates by one pseudo-record,
// so that a score of few records that happen to agree is not certain.
func locationVariance(mass, counts []float64, squares float64) float64 {
	gamma, n := total(mass), total(counts)
	if !(gamma > 0) || !(squares > 0) {
		return 1
	}
	eff := max(gamma*gamma/squares, leastEffective)
	var two, three float64
	for c, m := range mass {
		p := (eff*m/gamma + counts[c]/n) / (eff + 1)
		two += p * p
		three += p * p * p
	}
	return max(minVariance, 4*(three-two*two)/eff)
}

// recordVariance is S (1 - S) / n_eff of a per-record score, with the same pseudo-record towards neutral.
func recordVariance(score, neutral, gamma, squares float64) float64 {
	if !(gamma > 0) || !(squares > 0) {
		return 1
	}
	eff := max(gamma*gamma/squares, leastEffective)
	s := (eff*score + neutral) / (eff + 1)
	return max(minVariance, s*(1-s)/eff)
}

// relevanceOf is sum_c P_c ln(P_c / p_c) of smoothed shares, in nats: 0 where the shares are the base rates.
func relevanceOf(mass, counts []float64, squares float64) float64 {
	gamma, n := total(mass), total(counts)
	if !(gamma > 0) || !(squares > 0) {
		return 0
	}
	eff := gamma * gamma / squares
	sum := 0.0
	for c, m := range mass {
		p := counts[c] / n
		if q := (eff*m/gamma + p) / (eff + 1); q > 0 && p > 0 {
			sum += q * math.Log(q/p)
		}
	}
	return max(0, sum)
}

func (s Score) String() string {
	switch s {
	case Hit:
		return "hit"
	case Balanced:
		return "balanced"
	}
	return fmt.Sprintf("Score(%d)", uint8(s))
}

func (o Observation) String() string {
	switch o {
	case Averaged:
		return "averaged"
	case PerRecord:
		return "record"
	}
	return fmt.Sprintf("Observation(%d)", uint8(o))
}
