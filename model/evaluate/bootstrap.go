package evaluate

import (
	"errors"
	"math"
	"math/bits"
	"slices"
)

// Replicates is the number of resamples of a bootstrap interval.
const Replicates = 2000

// errUnpaired is returned when two sets are not over the same records.
var errUnpaired = errors.New("comparing methods: they scored different records")

// blockLength is the length of the bootstrap's blocks: a fiftieth of the records, at least 1 and at most BlockRecords.
// Consecutive records share their time, so whole blocks are drawn; fewer than fifty blocks would say little.
func blockLength(n int) int { return max(1, min(BlockRecords, n/50)) }

// sums are the weighted loss and the weight of a block.
type sums struct{ loss, weight float64 }

// interval is the 95 % percentile interval of sum loss / sum weight when as many blocks as there are are drawn with
// replacement, Replicates times. The draws are hashes of (seed, replicate, draw), so equal seeds pair the resamples of
// different methods. NaN for fewer than two blocks.
func interval(blocks []sums, seed uint64) Interval {
	nan := Number(math.NaN())
	if len(blocks) < 2 {
		return Interval{nan, nan}
	}
	means := make([]float64, 0, Replicates)
	for rep := range uint64(Replicates) {
		var t sums
		base := mix(seed + mix(rep))
		for k := range uint64(len(blocks)) {
			j, _ := bits.Mul64(mix(base+k), uint64(len(blocks)))
			t.loss += blocks[j].loss
			t.weight += blocks[j].weight
		}
		if t.weight > 0 {
			means = append(means, t.loss/t.weight)
		}
	}
	slices.Sort(means)
	return Interval{Number(quantile(means, 0.025)), Number(quantile(means, 0.975))}
}

// quantile interpolates linearly between the order statistics of sorted; NaN when it is empty.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	k := min(int(at), len(sorted)-1)
	next := min(k+1, len(sorted)-1)
	return sorted[k] + (at-float64(k))*(sorted[next]-sorted[k])
}

// mix is the finaliser of splitmix64 (Steele, Lea and Flood 2014) after one step of its counter.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (s *Set) blocks(loss func(i int) float64) []sums {
	n := blockLength(s.Len())
	var blocks []sums
	for i := range s.Class {
		if i%n == 0 {
			// A remainder shorter than half a block joins the last one.
			if len(blocks) == 0 || s.Len()-i >= (n+1)/2 {
				blocks = append(blocks, sums{})
			}
		}
		b := &blocks[len(blocks)-1]
		b.loss += s.Weight[i] * loss(i)
		b.weight += s.Weight[i]
	}
	return blocks
}

func (s *Set) logLossInterval(seed uint64) Interval { return interval(s.blocks(s.loss), seed) }

// Compare is the log-loss of s less that of other on the same records, with its paired block bootstrap interval.
func (s *Set) Compare(other *Set, seed uint64) (*Difference, error) {
	if s.Classes != other.Classes || !slices.Equal(s.Index, other.Index) || !slices.Equal(s.Class, other.Class) {
		return nil, errUnpaired
	}
	return &Difference{
		LogLoss:  Number(s.LogLoss() - other.LogLoss()),
		Interval: interval(s.blocks(func(i int) float64 { return s.loss(i) - other.loss(i) }), seed),
	}, nil
}
