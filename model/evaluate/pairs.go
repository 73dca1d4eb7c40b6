package evaluate

import "fmt"

// Challenger is another configuration, measured on the same records.
type Challenger struct {
	Config string  `json:"config"`
	Result *Result `json:"result"`
	// Against compares, for each method that both have, the first configuration with this one.
	Against map[string]*Pair `json:"against"`
}

// Pair is the figures of one Set less those of another on the same records, each with its paired block bootstrap
// interval: a negative log-loss or Brier score and a positive accuracy where the first is better.
type Pair struct {
	LogLoss          Number   `json:"log_loss_difference"`
	LogLossInterval  Interval `json:"log_loss_interval"`
	Brier            Number   `json:"brier_difference"`
	BrierInterval    Interval `json:"brier_interval"`
	Accuracy         Number   `json:"accuracy_difference"`
	AccuracyInterval Interval `json:"accuracy_interval"`
}

// square is the Brier score of record i, as in Brier.
func (s *Set) square(i int) float64 {
	var e float64
	for c, p := range s.P[i*s.Classes : (i+1)*s.Classes] {
		if c == int(s.Class[i]) {
			p--
		}
		e += p * p
	}
	if s.Classes == 2 {
		e /= 2
	}
	return e
}

// right is 1 where the likeliest class of record i is the true one, else 0.
func (s *Set) right(i int) float64 {
	if segment(s.P[i*s.Classes:(i+1)*s.Classes]) == int(s.Class[i]) {
		return 1
	}
	return 0
}

// Pair compares s with other on the same records; both are in stream order. It fails where the records or the classes
// differ. NaN without weight.
func (s *Set) Pair(other *Set, seed uint64) (*Pair, error) {
	d, err := s.Compare(other, seed)
	if err != nil {
		return nil, err
	}
	p := &Pair{LogLoss: d.LogLoss, LogLossInterval: d.Interval, Brier: Number(s.Brier() - other.Brier())}
	a, _ := s.Accuracy()
	b, _ := other.Accuracy()
	p.Accuracy = Number(a - b)
	p.BrierInterval = interval(s.blocks(func(i int) float64 { return s.square(i) - other.square(i) }), seed)
	p.AccuracyInterval = interval(s.blocks(func(i int) float64 { return s.right(i) - other.right(i) }), seed)
	return p, nil
}

// Against compares the methods of e with those of the same names of a challenger, after the Result of both.
func (e *Evaluation) Against(challenger *Evaluation) (map[string]*Pair, error) {
	pairs := map[string]*Pair{}
	for m, name := range e.methods {
		other := challenger.Set(name)
		if other == nil {
			continue
		}
		p, err := e.sets[m].Pair(other, e.seed)
		if err != nil {
			return nil, fmt.Errorf("method %s: %w", name, err)
		}
		pairs[name] = p
	}
	return pairs, nil
}
