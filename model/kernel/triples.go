package kernel

import (
	"fmt"
	"math"
	"sort"

	"liftstream/model"
)

// recency is the weight of the newest record beside the oldest when triples are drawn from records in order.
const recency = 4

// growth is the weight of the last record of the evidence beside the first.
func growth(ev *model.Evidence) float64 {
	if ev.Exchangeable {
		return 1
	}
	return recency
}

// sampler draws records of a class by weight.
type sampler struct {
	rows  []int32
	until []float64 // cumulative weights
}

func (s *sampler) total() float64 {
	if len(s.until) == 0 {
		return 0
	}
	return s.until[len(s.until)-1]
}

// at returns the record at the share u of the weight.
func (s *sampler) at(u float64) int32 {
	x := u * s.total()
	return s.rows[min(sort.Search(len(s.until), func(i int) bool { return s.until[i] > x }), len(s.rows)-1)]
}

// draw draws triples (i, j, k) from the rows, oldest first: i and j of one class and k of another. Every class with two
// records is the anchor of equally many. The anchors of a class are spread evenly over its weight, so that each stretch
// of the evidence has its share; j and k are drawn by weight. The weight of a record is its own weight, growing
// growth-fold from the oldest to the newest. Choices are hashes of seed and number. There are no triples when no two
// classes can be compared.
func draw(class []int32, weight []float64, rows []int32, classes, count int, seed uint64, growth float64) [][3]int32 {
	by := make([]sampler, classes)
	var total float64
	for x, i := range rows {
		c := class[i]
		w := weight[i] * math.Pow(growth, float64(x)/float64(max(len(rows)-1, 1)))
		if c < 0 || int(c) >= classes || !(w > 0) || math.IsInf(w, 0) {
			continue
		}
		by[c].rows = append(by[c].rows, i)
		by[c].until = append(by[c].until, by[c].total()+w)
		total += w
	}
	var anchors []int
	for c := range by {
		if len(by[c].rows) > 1 && by[c].total() < total {
			anchors = append(anchors, c)
		}
	}
	if len(anchors) == 0 {
		return nil
	}
	out := make([][3]int32, 0, count)
	for t := range count {
		c := anchors[t%len(anchors)]
		own := &by[c]
		strata := float64((count-1-t%len(anchors))/len(anchors) + 1)
		i := own.at((float64(t/len(anchors)) + unit(seed, t, 0)) / strata)
		j := i
		for try := 1; j == i && try < 20; try++ {
			j = own.at(unit(seed, t, try))
		}
		// The other classes lie beside each other on one line.
		x := unit(seed, t, 20) * (total - own.total())
		k := int32(-1)
		for o := range by {
			if o == c || len(by[o].rows) == 0 {
				continue
			}
			k = by[o].at(min(x/by[o].total(), 1))
			if x < by[o].total() {
				break
			}
			x -= by[o].total()
		}
		if j != i && k >= 0 {
			out = append(out, [3]int32{i, j, k})
		}
	}
	return out
}

func unit(seed uint64, t, what int) float64 {
	return float64(model.Hash(seed, uint64(t), uint64(what))>>11) / (1 << 53)
}

// half is the half of the records, 0 or 1, in which record i lies when the gammas are chosen.
func half(i int32, seed uint64) uint64 { return model.Hash(seed, uint64(i), 77) & 1 }

// halve divides rows.
func halve(rows []int32, seed uint64) (parts [2][]int32) {
	for _, i := range rows {
		h := half(i, seed)
		parts[h] = append(parts[h], i)
	}
	return parts
}

// anchored returns the triples whose first record lies in the half.
func anchored(triples [][3]int32, seed, h uint64) (out [][3]int32) {
	for _, c := range triples {
		if half(c[0], seed) == h {
			out = append(out, c)
		}
	}
	return out
}

// inside checks that the triples name records 0 to n-1, three different ones each.
func inside(what string, n int, triples [][3]int32) error {
	for t, c := range triples {
		for _, i := range c {
			if i < 0 || int(i) >= n {
				return fmt.Errorf("reading %s %d: record %d of %d", what, t, i, n)
			}
		}
		if c[0] == c[1] || c[0] == c[2] || c[1] == c[2] {
			return fmt.Errorf("reading %s %d: %v are not three records", what, t, c)
		}
	}
	return nil
}

// mirrored appends (j, i, k) for every (i, j, k): both points of the pair are asked.
func mirrored(triples [][3]int32) [][3]int32 {
	out := make([][3]int32, 0, 2*len(triples))
	for _, c := range triples {
		out = append(out, c, [3]int32{c[1], c[0], c[2]})
	}
	return out
}

// Accuracy is the share of triples (i, j, k) that the similarity respects. Both asks K(i,j) > K(i,k) and K(i,j) >
// K(j,k), so that guessing gives 1/3; Single asks the first only. A difference within 1e-12 times the sum of the
// weights is a tie and counts as wrong (METHOD.md 2).
type Accuracy struct {
	Both, Single float64
}

func accuracy(dictionary []Base, alpha []float64, p *points, triples [][3]int32) Accuracy {
	size := 0.0
	for _, v := range alpha {
		size += math.Abs(v)
	}
	return respected(triples, 1e-12*size, func(i, j int32) (s float64) {
		for k, v := range alpha {
			if v != 0 {
				s += v * dictionary[k].value(p, int(i), int(j))
			}
		}
		return s
	})
}

// respected is the Accuracy of a similarity; NaN without triples.
func respected(triples [][3]int32, tie float64, similarity func(i, j int32) float64) (a Accuracy) {
	if len(triples) == 0 {
		return Accuracy{math.NaN(), math.NaN()}
	}
	for _, c := range triples {
		ij := similarity(c[0], c[1]) - tie
		if ij > similarity(c[0], c[2]) {
			a.Single++
			if ij > similarity(c[1], c[2]) {
				a.Both++
			}
		}
	}
	n := float64(len(triples))
	return Accuracy{a.Both / n, a.Single / n}
}
