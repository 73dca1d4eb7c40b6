package propensity

import (
	"math"

	"liftstream/model/wire"
)

// mixture holds the shares of the experts, each card raw and calibrated in turn (METHOD.md 6).
type mixture struct {
	own  [experts]float64 // by this partition's own records
	away []float64        // the mean log-shares of other partitions, nil when there are none
	// q and part follow from them.
	q    [experts]float64 // own, the others' opinion included
	part [cards]float64   // of each card, raw and calibrated together
}

// evenly returns equal shares of all experts.
func evenly() (q [experts]float64) {
	for e := range q {
		q[e] = 1. / experts
	}
	return q
}

// derive computes q and part anew.
func (m *mixture) derive() {
	m.q = m.own
	if m.away != nil {
		m.opine()
	}
	for k := range m.part {
		m.part[k] = m.q[2*k] + m.q[2*k+1]
	}
}

// opine multiplies the shares by those of the others: q_e = own_e exp(away_e)/sum.
func (m *mixture) opine() {
	top, sum := math.Inf(-1), 0.
	for _, v := range m.away {
		top = max(top, v)
	}
	for e := range m.q {
		m.q[e] *= math.Exp(m.away[e] - top)
		sum += m.q[e]
	}
	for e := range m.q {
		m.q[e] /= sum
	}
}

// learn multiplies the own shares by the experts' likelihoods of a record, each to the given power, and gives the share
// fixed to all alike again.
func (m *mixture) learn(like *[experts]float64, power, fixed float64) {
	q := &m.own
	var sum float64
	switch power {
	case 1:
		for e := range q {
			q[e] *= like[e]
			sum += q[e]
		}
	case .5:
		for e := range q {
			q[e] *= math.Sqrt(like[e])
			sum += q[e]
		}
	default:
		top := math.Inf(-1)
		for e := range q {
			q[e] = ln(q[e]) + power*ln(like[e])
			top = max(top, q[e])
		}
		for e := range q {
			q[e] = math.Exp(q[e] - top)
			sum += q[e]
		}
	}
	v := (1 - fixed) / sum
	for e := range q {
		q[e] = q[e]*v + fixed/experts
	}
	m.derive()
}

// append appends the own shares and the others'.
func (m *mixture) append(b []byte) []byte {
	b = wire.AppendFloats(b, m.own[:])
	b = wire.AppendBool(b, m.away != nil)
	if m.away != nil {
		b = wire.AppendFloats(b, m.away)
	}
	return b
}

// readMixture reads the form of append; derive must follow.
func readMixture(r *wire.Reader) (m mixture) {
	readShares(r, &m.own)
	if r.Bool() {
		m.away = make([]float64, experts)
		readFinite(r, m.away)
	}
	return m
}

// readShares reads shares of the experts: positive numbers up to 1.
func readShares(r *wire.Reader, q *[experts]float64) {
	readFinite(r, q[:])
	for _, v := range q {
		if !(v > 1e-9 && v <= 1) {
			r.Fail(errNumber)
		}
	}
}
