package lift

import (
	"math"
	"strconv"

	"liftstream/model"
)

// Profile is a conjunction of tests with the lift of one class under it (Algorithm 3).
type Profile struct {
	Class int32
	Items []Item // by ascending feature
	// Tally counts all the evidence, Validation the newer part, which the search did not see. The effective number of
	// Validation is smaller where the class comes in runs there; see clustering.
	Tally, Validation Tally
	// Among is the number of profiles, of all classes, that ValidatedInterval and Q account for: the profiles shown or,
	// ByValidated, the candidates from which these were chosen. 0 without validation.
	Among int
	// LiftAll is n_xy/n_x over the rate of the class among all labelled records, complete or not: the lift without the
	// effect of missing values on the base rate (METHOD.md 5.3).
	LiftAll float64
	// Q is the Benjamini-Hochberg value of a one-sided Fisher test on the newer part, over the Among profiles. The search
	// did not see these records, so that its size does not count. Q accounts neither for repeated fits nor for a drift
	// that begins after the newer part. NaN without validation.
	Q float64
	// Refinements is the number of profiles that add tests to this one and cover the same of the searched records. Folded
	// is the number of other ranked profiles of the class that cover nearly the same of them and rank below it.
	Refinements, Folded int
	Text                string
}

// MaxQ is the q-value up to which a profile is confirmed: of fits to noise at most one in twenty confirms any.
const MaxQ = .05

// Confirmed reports whether the held-back records bear the profile out. Only a confirmed profile is in a score.
func (p *Profile) Confirmed() bool { return p.Q <= MaxQ }

// ValidatedInterval is the interval of the validated lift. It holds at 95 % for all of Among profiles at once
// (Bonferroni), so that it stays true of a profile that was picked out of the list for its figures; see
// jointLiftInterval. NaN without validation.
func (p *Profile) ValidatedInterval() (low, high float64) {
	t := &p.Validation
	if p.Among == 0 {
		return math.NaN(), math.NaN()
	}
	scale := 1.0
	if t.NX > 0 {
		scale = t.Effective / t.NX
	}
	return jointLiftInterval(t.NXY, t.NX, t.NY, t.N, scale, p.Among)
}

func (p *Profile) meets(row model.Row) bool {
	for i := range p.Items {
		if !p.Items[i].meets(row) {
			return false
		}
	}
	return true
}

// Item is one test of a profile: a feature has the level, or lies in (Low, High].
type Item struct {
	Feature   int32
	Level     int32 // code; -1 for a continuous feature
	Low, High float64
}

func (t *Item) meets(row model.Row) bool {
	v := row[t.Feature]
	if t.Level < 0 {
		return v > t.Low && v <= t.High
	}
	return v == float64(t.Level)
}

// text is "job=student" or "age in (30, 35]".
func (t *Item) text(s *model.Schema, l *model.Levels) string {
	name := s.Features[t.Feature].Name
	if t.Level >= 0 {
		return name + "=" + l.Text(int(t.Feature), float64(t.Level))
	}
	return name + " in " + t.interval()
}

func (t *Item) interval() string {
	close := "]"
	if math.IsInf(t.High, 1) {
		close = ")"
	}
	return "(" + number(t.Low) + ", " + number(t.High) + close
}

// number prints a bound: all of a short number, else seven digits.
func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	if s := strconv.FormatFloat(v, 'f', -1, 64); len(s) <= 9 {
		return s
	}
	return strconv.FormatFloat(v, 'g', 7, 64)
}

// Tally counts the records of a run that have all features of a profile: N all of them, NX the covered ones, NY and NXY
// those of the class among each. The counts are sums of weights.
type Tally struct {
	N, NX, NXY, NY float64
	// Effective is the effective number of the covered records.
	Effective float64
}

// Lift is (n_xy/n_x)/(n_y/n); NaN when nothing is covered or the class is absent.
func (t *Tally) Lift() float64 { return t.NXY / t.NX * t.N / t.NY }

// Interval is the 95 % interval of Lift; see liftInterval. It holds for one profile that nobody searched for. For a
// profile found among the same records it is too high, and of the intervals of many profiles some miss.
func (t *Tally) Interval() (low, high float64) {
	scale := 1.0
	if t.NX > 0 {
		scale = t.Effective / t.NX
	}
	return liftInterval(t.NXY, t.NX, t.NY, t.N, scale)
}

// ProfileRank is the figure by which the profiles of a class are ranked.
type ProfileRank uint8

const (
	// ByLift ranks by the lift on the searched records, as the paper does.
	ByLift ProfileRank = iota
	// ByLower ranks by the lower end of the lift on the searched records: that of Wilson's 95 % interval of the rate of
	// the class under the profile, over the base rate. It prefers profiles of more records.
	ByLower
	// ByValidated takes the candidates, candidatePool times as many as are shown, by lift, and ranks them by the lower end
	// of the validated lift. The intervals hold for all candidates at once, and are wider for it.
	ByValidated
)
