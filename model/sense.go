package model

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// SenseRecords bounds the newest labelled records, over all partitions, that SenseOf looks at together. Of each
// partition by itself it looks at twice as many as its share, or 2 leastSense where that is more.
const SenseRecords = 2000

// InvertedFor is the number of labelled records, over all partitions, after which a stream is taken at its word: its
// labels have been inverted since the first model that was refused for them, and models are published again.
const InvertedFor = 20_000

const (
	// leastSense is the least number of newest records that SenseOf takes by themselves.
	leastSense = 250
	// senseBatches is the number of batches of the interval, and senseQuantile the 99.95 % quantile of Student's t with
	// one degree of freedom fewer.
	senseBatches  = 20
	senseQuantile = 3.883405852592082
	// mostLeft is the share of the loss beyond the base rates that may be left where the classes are exchanged.
	mostLeft = .2
	// leastCeased is the least number of records that a model expects of a class which has ceased: were it right by a
	// tenth alone, one in twenty times none would come.
	leastCeased = 30
)

// Sense tells whether the newest labels have the meaning of the time of a model's publication (MODEL.md 6): that of the
// serving model, or of the one before it. Its propensities are those of the model as it was published: the counts of
// the partitions follow labels of any sense within some records, and so do their scores. Log-losses are in nats a
// record, weighted; all are NaN where there is no record.
type Sense struct {
	Records   int     // newest labelled records since the model, of which the figures are
	Loss      float64 // log-loss of the model
	Rates     float64 // entropy of their classes: the log-loss of their own base rates
	Exchanged float64 // log-loss of the model where the classes are exchanged so that it is low
	Low       float64 // lower end of the 99.95 % interval of Loss - Exchanged, by batch means as in Verdict.decide
	Of        string  // part of the labels that the figures are of, to stand behind "records"; empty = all
	// Ceased is the class that no label names any more. Expected is how many of it the model as published expects; 0 =
	// none has ceased.
	Ceased   string
	Expected float64
}

// Inverted reports whether the labels look inverted, or one-sided. The model tells less about them than their base
// rates do. Of inverted ones it tells more once the classes are exchanged, beyond chance, and hardly any loss beyond
// the base rates is left then. A change of the base rates alone leaves more, and a change of the records' meaning short
// of an inversion does not make an exchange better. One-sided ones lack a class.
func (s *Sense) Inverted() bool {
	return s.Loss > s.Rates && (s.Expected > 0 || s.Low > 0 && s.Exchanged <= s.Rates+mostLeft*(s.Loss-s.Rates))
}

// Look is the finding in a word: one-sided are labels of which one class has ceased.
func (s *Sense) Look() string {
	if s.Expected > 0 {
		return "one-sided"
	}
	return "inverted"
}

// String tells people about it.
func (s *Sense) String() string {
	if s.Expected > 0 {
		return fmt.Sprintf("none of the newest %d labelled records%s is of the class %q, of which the model as published "+
			"expects %.0f", s.Records, s.Of, s.Ceased, s.Expected)
	}
	return fmt.Sprintf("log-loss of the model as published on the newest %d labelled records%s %.3f, with the classes "+
		"exchanged %.3f, of their base rates %.3f", s.Records, s.Of, s.Loss, s.Exchanged, s.Rates)
}

// Refuse makes a verdict one that refuses the model for labels that look inverted, where they do, and reports whether
// it did. A model that is refused as worse is so named, too, since that is why. since is the number of labelled
// records from the first model that was refused for inverted labels to now, 0 = this is the first: from InvertedFor on
// Refuse leaves verdicts as they are.
func (s *Sense) Refuse(v *Verdict, since float64) bool {
	if !s.Inverted() || since >= InvertedFor {
		return false
	}
	v.Reason = Inverted
	return true
}

// SenseOf returns the Sense of the labelled records that the partitions of the states have learnt since the model m: of
// the newest SenseRecords, shared out over the partitions in proportion to their records since m, or of a part of them
// that looks inverted where they together do not (turned). The same states give the same Sense. It reads one state at a
// time.
func SenseOf(ctx context.Context, spec *Spec, m *Model, states States) (Sense, error) {
	order := states.Partitions()
	since := make([]float64, len(order))
	var total float64
	for i, n := range order {
		h, err := readHeadOf(states, n)
		if err != nil {
			return senseOf(nil, 0), fmt.Errorf("reading the sense of labels: partition %d: %w", n, err)
		}
		since[i] = h.clock - m.until(n, h.clock)
		total += since[i]
	}
	var all []classLosses
	var parts []partLosses
	last := latest(nil, len(spec.Schema.Classes))
	for i, n := range order {
		if since[i] == 0 {
			continue
		}
		share := math.Ceil(min(since[i], SenseRecords/total*since[i]))
		x := partLosses{partition: n}
		err := x.read(ctx, spec, m, stored{states, n}, uint64(min(since[i], max(share, leastSense))), uint64(since[i]))
		if err != nil {
			return senseOf(nil, 0), fmt.Errorf("reading the sense of labels: partition %d: %w", n, err)
		}
		all = append(all, x.since[max(len(x.since)-int(share), 0):]...)
		parts = append(parts, x)
		for c, at := range x.last {
			last[c] = max(last[c], at)
		}
	}
	slices.SortStableFunc(all, func(a, b classLosses) int { return cmp.Compare(a.time, b.time) })
	if s, found := turned(all, spec.Schema.Classes, last); found {
		return s, nil
	}
	for i := range parts {
		if s, found := parts[i].turned(spec.Schema.Classes); found && len(parts) > 1 {
			return s, nil
		}
	}
	return senseOf(all, len(spec.Schema.Classes)), nil
}

// until is the clock up to which the model's counts have seen a partition whose clock is now.
func (m *Model) until(partition int32, now float64) float64 {
	marks := m.Shares
	if marks == nil {
		marks = m.Marks
	}
	if clock := marks[partition].Clock; clock <= now {
		return clock
	}
	return 0 // of another history
}

// classLosses is a labelled record with the losses that each class would have been for the model.
type classLosses struct {
	time   int64
	class  int32
	weight float64
	loss   []float64
}

// senseOf returns the Sense of records in the order of their times.
func senseOf(all []classLosses, classes int) Sense {
	nan := math.NaN()
	s := Sense{Records: len(all), Loss: nan, Rates: nan, Exchanged: nan, Low: nan}
	share := make([]float64, classes)
	var weight float64
	for i := range all {
		x := &all[i]
		weight += x.weight
		share[x.class] += x.weight
	}
	if !(weight > 0) {
		return s
	}
	cost := costs(all, classes)
	s.Loss, s.Rates, s.Exchanged = 0, 0, 0
	to := exchange(cost, classes)
	for y, w := range share {
		s.Loss += cost[y*classes+y] / weight
		s.Exchanged += cost[y*classes+to[y]] / weight
		if w > 0 {
			s.Rates -= w / weight * math.Log(w/weight)
		}
	}
	if n := len(all); n >= 2*senseBatches {
		var square float64
		for b := range senseBatches {
			var e float64
			for _, x := range all[b*n/senseBatches : (b+1)*n/senseBatches] {
				e += x.weight * (x.loss[x.class] - x.loss[to[x.class]] - (s.Loss - s.Exchanged))
			}
			square += e * e
		}
		s.Low = s.Loss - s.Exchanged - senseQuantile*math.Sqrt(senseBatches*square/(senseBatches-1))/weight
	}
	return s
}

// costs are the losses of the records labelled y, were they of class c: number y * classes + c.
func costs(all []classLosses, classes int) []float64 {
	cost := make([]float64, classes*classes)
	for i := range all {
		x := &all[i]
		for c, l := range x.loss {
			cost[int(x.class)*classes+c] += x.weight * l
		}
	}
	return cost
}

// mostExchanges bounds the passes of exchange.
const mostExchanges = 8

// exchange returns a permutation of the classes of low cost, cost[y*classes+c] being that of the records labelled y
// were they of class c. It begins with the labels as they are and exchanges the classes of two labels as long as that
// lowers the cost; of two classes it is exact.
func exchange(cost []float64, classes int) []int {
	to := make([]int, classes)
	for y := range to {
		to[y] = y
	}
	for range mostExchanges {
		better := false
		for a := range to {
			for b := range a {
				now := cost[a*classes+to[a]] + cost[b*classes+to[b]]
				if cost[a*classes+to[b]]+cost[b*classes+to[a]] < now {
					to[a], to[b], better = to[b], to[a], true
				}
			}
		}
		if !better {
			break
		}
	}
	return to
}
