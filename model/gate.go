package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"liftstream/model/wire"
)

// ErrAnotherHistory is returned by Compare when the later state of a partition is not the earlier one continued: the
// state is gone or began anew.
var ErrAnotherHistory = errors.New("the state is not the earlier one continued")

// Compared is the number of labelled records, over all partitions, on which a new model is compared with the serving
// one, where verdicts are to be fitRecords labelled records apart: a fifth of them, between 1 and 1,000. The model is
// fitted that many records before its verdict, so that the comparison delays no model.
func Compared(fitRecords int) int { return min(max(fitRecords/5, 1), 1000) }

// VerdictReason says why the gate let a model pass or refused it.
type VerdictReason uint8

// The reasons. Worse, Inverted and Failed refuse the model, the others let it pass.
const (
	// NothingToCompare: no partition has a structure to compare with, or no label came in time.
	NothingToCompare VerdictReason = iota
	// Better: the whole interval of the difference lies below 0.
	Better
	// WithinGate: the difference is at most the gate.
	WithinGate
	// Worse: the difference is more than the gate.
	Worse
	// Inverted: the newest labels look inverted to the serving model (Sense). The difference does not matter then.
	Inverted
	// Failed: there is no model, or none that could be compared.
	Failed
)

func (r VerdictReason) String() string {
	return [...]string{"nothing_to_compare", "better", "within_gate", "worse", "inverted", "failed"}[r]
}

// MarshalText writes the reason as String has it.
func (r VerdictReason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (r *VerdictReason) UnmarshalText(b []byte) error {
	for _, x := range VerdictReasons() {
		if x.String() == string(b) {
			*r = x
			return nil
		}
	}
	return fmt.Errorf("no reason of a verdict: %q", b)
}

// VerdictReasons are all reasons.
func VerdictReasons() []VerdictReason {
	return []VerdictReason{NothingToCompare, Better, WithinGate, Worse, Inverted, Failed}
}

// Verdict is the comparison of a new model with the serving one, on labelled records that neither had learnt when it
// scored them.
type Verdict struct {
	Reason  VerdictReason
	Records int     // compared
	New     float64 // log-loss of the new model, nats a record, weighted; NaN = nothing to compare
	Old     float64 // log-loss of the serving one on the same records
	Gate    float64 // Options.Gate: how much worse the new model may be
	// Low and High are the 95 % interval of New - Old; NaN with fewer than 2 records a batch. See decide.
	Low, High float64
}

// Accepted reports whether the model may serve.
func (v *Verdict) Accepted() bool { return v.Reason < Worse }

// Difference is New - Old: negative where the new model is better.
func (v *Verdict) Difference() float64 { return v.New - v.Old }

// noVerdict is that of a model that was compared with nothing.
func noVerdict(gate float64) Verdict {
	nan := math.NaN()
	return Verdict{New: nan, Old: nan, Low: nan, High: nan, Gate: gate}
}

// AppendBinary appends the verdict.
func (v *Verdict) AppendBinary(b []byte) []byte {
	b = wire.AppendUvarint(b, uint64(v.Reason))
	b = wire.AppendUvarint(b, uint64(v.Records))
	for _, x := range []float64{v.New, v.Old, v.Gate, v.Low, v.High} {
		b = wire.AppendFloat(b, x)
	}
	return b
}

// DecodeVerdict is the inverse of AppendBinary.
func DecodeVerdict(r *wire.Reader) Verdict {
	v := Verdict{Reason: VerdictReason(r.Int(int(Failed))), Records: r.Int(math.MaxInt32)}
	for _, x := range []*float64{&v.New, &v.Old, &v.Gate, &v.Low, &v.High} {
		*x = r.Float()
	}
	return v
}

// Compare gives the verdict on model m, which Fit made of the states from, against the model that these partitions
// serve, on records that the states to, of the same partitions, have learnt since: at most limit of them, shared out
// over the partitions in proportion to their records. Compare restores each partition of from twice, moves
// one copy to m, and lets both score and learn the records in the order in which they were scored and learnt. Both
// copies score a record as of from if it was scored before from and has got its label since. Partitions without a
// structure in from, and partitions that are in to alone, are left out.
//
// It gives ErrModelTooOld where a tail of to no longer reaches back to from, ErrAnotherHistory where a partition of
// from is missing in to or is not the same one continued. The same states give the same verdict.
func Compare(
	ctx context.Context, spec *Spec, m *Model, from, to States, limit int,
) (Verdict, error) {
	v := noVerdict(spec.Options.Gate)
	order, later := from.Partitions(), to.Partitions()
	available := make([]float64, len(order))
	var total float64
	for i, n := range order {
		before, err := readHeadOf(from, n)
		if err != nil {
			return v, fmt.Errorf("comparing: partition %d: %w", n, err)
		}
		if _, ok := slices.BinarySearch(later, n); !ok {
			return v, fmt.Errorf("comparing: partition %d: %w", n, ErrAnotherHistory)
		}
		after, err := readHeadOf(to, n)
		if err != nil {
			return v, fmt.Errorf("comparing: partition %d: %w", n, err)
		}
		if after.clock < before.clock {
			return v, fmt.Errorf("comparing: partition %d: %w", n, ErrAnotherHistory)
		}
		available[i] = after.clock - before.clock
		total += available[i]
	}
	var all []comparison
	var passed float64
	for i, n := range order {
		share := func(x float64) int { return int(min(1, float64(limit)/total) * x) }
		take := share(passed+available[i]) - share(passed)
		passed += available[i]
		if total == 0 || math.IsNaN(total) || take == 0 {
			continue
		}
		x, err := comparePartition(ctx, spec, m, stored{from, n}, stored{to, n}, take)
		if err != nil {
			return v, fmt.Errorf("comparing: partition %d: %w", n, err)
		}
		all = append(all, x...)
	}
	slices.SortStableFunc(all, func(a, b comparison) int { return cmp.Compare(a.time, b.time) })
	v.decide(all)
	return v, nil
}

// Serving reports whether some partition of these states has a structure, so that there is something to compare with.
func Serving(states States) (bool, error) {
	for _, n := range states.Partitions() {
		h, err := readHeadOf(states, n)
		if err != nil {
			return false, fmt.Errorf("partition %d: %w", n, err)
		}
		if h.trained {
			return true, nil
		}
	}
	return false, nil
}

// comparison holds the losses of two models on one record.
type comparison struct {
	time             int64
	weight, new, old float64 // losses: -ln of the propensity of its class
}

// leastLoss bounds a propensity from below, so that one impossible record does not decide alone.
const leastLoss = 1e-12

// batches is the number of batches of the interval, and batchQuantile the 97.5 % quantile of Student's t with one
// degree of freedom fewer.
const (
	batches       = 20
	batchQuantile = 2.093024054408263
)

// decide fills the verdict from records in the order of their times.
//
// The interval is that of batch means (Schmeiser, Operations Research 30, 1982): consecutive records of a stream depend
// on each other, so their differences d_i are summed in 20 batches of as many consecutive records, and with
// e_b = sum_b w_i (d_i - d)
//
//	d +- t_19 sqrt(20/19 sum_b e_b^2) / sum_i w_i
func (v *Verdict) decide(all []comparison) {
	var weight, old, sum float64
	for i := range all {
		x := &all[i]
		weight += x.weight
		sum += x.weight * x.new
		old += x.weight * x.old
	}
	if !(weight > 0) {
		return
	}
	v.Records, v.New, v.Old = len(all), sum/weight, old/weight
	d := v.Difference()
	if n := len(all); n >= 2*batches {
		var square float64
		for b := range batches {
			var e float64
			for _, x := range all[b*n/batches : (b+1)*n/batches] {
				e += x.weight * (x.new - x.old - d)
			}
			square += e * e
		}
		half := batchQuantile * math.Sqrt(batches*square/(batches-1)) / weight
		v.Low, v.High = d-half, d+half
	}
	switch {
	case !(d <= v.Gate):
		v.Reason = Worse
	case v.High < 0:
		v.Reason = Better
	default:
		v.Reason = WithinGate
	}
}

// comparePartition replays the first take records of one partition. It holds one section at a time, beside the two
// partitions that it replays in.
func comparePartition(
	ctx context.Context, spec *Spec, m *Model, from, to stored, take int,
) ([]comparison, error) {
	if h, err := readHeadOf(from, from.partition); err != nil || !h.trained {
		return nil, err
	}
	serving, err := from.restore(spec)
	if err != nil {
		return nil, err
	}
	levels, later, err := to.sample(spec)
	if err != nil {
		return nil, err
	}
	records, err := later.tail.learntSince(serving.clock, serving.sample.tail, take)
	if err != nil {
		return nil, err
	}
	candidate, err := from.restore(spec)
	if err != nil {
		return nil, err
	}
	if err := candidate.Swap(m); err != nil {
		return nil, err
	}
	out := make([]comparison, len(records))
	sides := []*Partition{serving, candidate}
	recodes := []Recode{serving.levels.Merge(levels), candidate.levels.Merge(levels)}
	losses := []func(i int, l float64){
		func(i int, l float64) { out[i].old = l },
		func(i int, l float64) { out[i].new = l },
	}
	err = share(ctx, newWorkers(spec.Options.Workers), len(sides), true, func(ctx context.Context) func(k int) error {
		return func(k int) error { return replay(ctx, sides[k], records, recodes[k], losses[k]) }
	})
	if err != nil {
		return nil, err
	}
	for i := range records {
		out[i].time, out[i].weight = records[i].Time, records[i].Weight
	}
	return out, nil
}

// replay lets p score and learn records that follow its own, as a later state of the partition has learnt them. It
// calls loss with the loss of each record. rc recodes the records to the codes of p.
func replay(ctx context.Context, p *Partition, records []record, rc Recode, loss func(i int, l float64)) error {
	begin := p.clock
	order := make([]int, len(records))
	scored := make([]float64, len(records))
	for i := range records {
		order[i], scored[i] = i, max(begin+float64(i)-float64(records[i].lag), begin)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scored[a], scored[b]) })
	prob := make([]float64, len(p.counts.sum))
	pending := make([][]float64, len(records))
	row := make(Row, len(p.row))
	recode := func(i int) Row {
		for f, v := range records[i].Row {
			row[f] = rc.Value(f, v)
		}
		return row
	}
	for i := range records {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for len(order) > 0 && scored[order[0]] <= p.clock {
			k := order[0]
			order = order[1:]
			recode(k)
			p.scorer.propensities(row, prob)
			loss(k, -math.Log(max(prob[records[k].Class], leastLoss)))
			if scored[k] == begin && int(records[k].lag) > k {
				// It waited for its label already: the partition will learn with the memory of that score.
				at := place{records[k].offset, records[k].row}
				if w := p.store.find("", at, false); w != nil {
					if memory := p.scorer.usable(w); memory != nil {
						pending[k] = slices.Clone(memory)
						continue
					}
				}
			}
			pending[k] = slices.Clone(p.scorer.memory)
		}
		r := records[i]
		r.Row = recode(i)
		p.learn(&r, pending[i])
		pending[i] = nil
	}
	return nil
}
