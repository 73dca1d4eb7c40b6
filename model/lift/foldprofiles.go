package lift

import (
	"math"
	"slices"
)

// fold returns the best of the found profiles of a class, no more than most. A profile that covers nearly the same
// records as a better one is folded into it; a miner that keeps redundant profiles folds none.
func (m *miner) fold(found []*mined, most int) []folded {
	var out []folded
	var masks [][]uint64
	for _, x := range found {
		if m.keep {
			if len(out) < most {
				out = append(out, folded{x, 0})
			}
			continue
		}
		mask := m.mask(x)
		at := slices.IndexFunc(masks, func(o []uint64) bool { return overlap(o, mask) > profileOverlap })
		switch {
		case at >= 0:
			out[at].folded++
		case len(out) < most:
			out, masks = append(out, folded{x, 0}), append(masks, mask)
		}
	}
	return out
}

// foldPool times as many profiles of a class are found as are wanted. A profile is folded into a better one when the
// two share more than profileOverlap of the searched records in either. ByValidated validates candidatePool times as
// many profiles as are wanted.
const (
	foldPool       = 16
	profileOverlap = 0.5
	candidatePool  = 4
)

// folded is a found profile with the number of profiles that were folded into it.
type folded struct {
	*mined
	folded int
}

// mask returns the searched records that a profile covers, one bit each in an order of their own.
func (m *miner) mask(x *mined) []uint64 {
	if m.bits != nil {
		return m.bits.maskOf(x)
	}
	return slices.Clone(m.meeting(x, -1))
}

// refinements counts the profiles of up to depth features that add tests to x and cover the same of the searched
// records: one for each non-empty subset of the further tests that all of these records meet. covered are the records
// that x covers, ascending.
func (m *miner) refinements(x *mined, covered []int32) int {
	end, _ := slices.BinarySearch(covered, int32(m.n))
	covered = covered[:end]
	shared := 0
	for p, item := range m.item {
		if len(covered) == 0 || slices.Contains(x.position, int32(p)) {
			continue
		}
		value := item[covered[0]]
		if value < 0 || int(value) >= len(m.items[p]) {
			continue
		}
		if !slices.ContainsFunc(covered, func(r int32) bool { return item[r] != value }) {
			shared++
		}
	}
	n := 0.0
	for k := 1; k <= m.depth-len(x.position); k++ {
		n += binomial(shared, k)
	}
	return int(min(n, math.MaxInt32))
}
