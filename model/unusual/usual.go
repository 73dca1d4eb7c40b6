package unusual

import (
	"math"
	"slices"
	"sort"

	"liftstream/model"
)

// usual is the learnt values of a feature that are not called unusual. The zero value calls none: says is false.
type usual struct {
	says    bool
	missing bool // a missing value is usual
	// low and high are the ends of the numbers of a continuous feature, themselves usual; low is above high where every
	// number is unusual, for nearly all records have none.
	low, high float64
	codes     uint64    // of a continuous feature: bit k is special code k
	cells     []float64 // of another one: its usual cells of a Row, ascending
}

// learn takes the values of a feature in the learnt records, and the share of ordinary records that it may call
// unusual. With c(v) the number of learnt records whose value is v, or of a number the lesser of those with no greater
// and no lesser number, a value is unusual where 1 + c(v) <= T, and T is the largest number with
//
//	#{i: c(v_i) <= T} + 1 <= share (n + 1)
//
// (METHOD.md 1). Of too few records for the share nothing is said. It sorts numbers.
func learn(f *model.Feature, values []float64, share float64) usual {
	counts := map[uint64]int{} // by bits, of all values but numbers
	var numbers []float64
	for _, v := range values {
		switch code := model.SpecialOf(v); {
		case v != v && code < 0:
			counts[missingBits]++
		case v != v || f.Kind != model.Continuous:
			counts[math.Float64bits(v)]++
		default:
			numbers = append(numbers, v+0) // -0 is 0
		}
	}
	slices.Sort(numbers)
	most := threshold(counts, numbers, int(share*float64(len(values)+1))-1)
	if most == 0 {
		return usual{}
	}
	u := usual{says: true, low: math.Inf(1), high: math.Inf(-1)}
	if n := len(numbers); n >= most {
		u.low, u.high = numbers[most-1], numbers[n-most]
	}
	for bits, n := range counts {
		v := math.Float64frombits(bits)
		switch code := model.SpecialOf(v); {
		case n < most:
		case bits == missingBits:
			u.missing = true
		case code >= 0:
			u.codes |= 1 << code
		default:
			u.cells = append(u.cells, v)
		}
	}
	slices.Sort(u.cells)
	return u
}

var missingBits = math.Float64bits(math.NaN())

// threshold is the largest T for which at most room of the learnt values have c(v) <= T, 0 where there is none.
func threshold(counts map[uint64]int, numbers []float64, room int) int {
	if room < 0 {
		return 0
	}
	type place struct{ c, records int }
	var places []place
	for _, n := range counts {
		places = append(places, place{n, n})
	}
	for i := 0; i < len(numbers); {
		j := i
		for j < len(numbers) && numbers[j] == numbers[i] {
			j++
		}
		places = append(places, place{min(j, len(numbers)-i), j - i})
		i = j
	}
	sort.Slice(places, func(a, b int) bool { return places[a].c < places[b].c })
	sum := 0
	for i := 0; i < len(places); {
		c := places[i].c
		for ; i < len(places) && places[i].c == c; i++ {
			sum += places[i].records
		}
		if sum > room {
			return c - 1
		}
	}
	return 0 // every value is within the room: there is none, or the share is all
}

// outside says how far a value lies outside, 0 where it is usual: of a number how many widths of the usual numbers it
// lies beyond their end, and 1 of anything else.
func (u *usual) outside(f *model.Feature, v float64) float64 {
	if !u.says {
		return 0
	}
	is := false
	switch code := model.SpecialOf(v); {
	case v != v && code < 0:
		is = u.missing
	case v != v:
		is = u.codes>>code&1 == 1
	case f.Kind != model.Continuous:
		_, is = slices.BinarySearch(u.cells, v)
	case u.low > u.high:
	default:
		beyond := max(u.low-v, v-u.high)
		if beyond <= 0 {
			return 0
		}
		return max(min(beyond/(u.high-u.low), math.MaxFloat64), math.SmallestNonzeroFloat64)
	}
	if is {
		return 0
	}
	return 1
}
