package local

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/wire"
)

// spare is the number of records that newest holds beyond the votes: after as many of the last are taken back, records
// before them vote again.
const spare = 64

// newest holds the records that a partition learnt last, by clock. It lets the oldest go where there are more than
// structure.newest and spare; those in front of first are gone already.
type newest struct {
	first int
	rows  []float64 // as learnt, record by record
	class []int32
	clock []float64
	// places are those of the rows in the columns of the prototypes, absent in features that are not compared.
	places []int32
}

// learn takes in the example at the place of its clock. One that is older than all of a full ring has left it already.
func (r *newest) learn(s *structure, ex *model.Example) {
	m, hold := len(s.features), s.newest+spare
	if r.first >= hold {
		r.drop(m)
	}
	at := len(r.class)
	for at > r.first && r.clock[at-1] > ex.Clock {
		at--
	}
	full := len(r.class)-r.first >= hold
	if full && at == r.first {
		return
	}
	r.rows = slices.Insert(r.rows, at*m, ex.Row...)
	r.class = slices.Insert(r.class, at, ex.Class)
	r.clock = slices.Insert(r.clock, at, ex.Clock)
	end := len(r.places)
	r.places = slices.Grow(r.places, m)[:end+m]
	copy(r.places[(at+1)*m:], r.places[at*m:end])
	s.placed(ex.Row, r.places[at*m:(at+1)*m])
	if full {
		r.first++
	}
}

// drop removes the records in front of first.
func (r *newest) drop(m int) {
	r.rows = slices.Delete(r.rows, 0, r.first*m)
	r.places = slices.Delete(r.places, 0, r.first*m)
	r.class = slices.Delete(r.class, 0, r.first)
	r.clock = slices.Delete(r.clock, 0, r.first)
	r.first = 0
}

// retract removes the last record of the example's values, class and clock, if there is one.
func (r *newest) retract(ex *model.Example) {
	m := len(ex.Row)
	for k := len(r.class) - 1; k >= r.first && r.clock[k] >= ex.Clock; k-- {
		if r.clock[k] == ex.Clock && r.class[k] == ex.Class && same(ex.Row, r.rows[k*m:k*m+m]) {
			r.rows = slices.Delete(r.rows, k*m, k*m+m)
			r.places = slices.Delete(r.places, k*m, k*m+m)
			r.class = slices.Delete(r.class, k, k+1)
			r.clock = slices.Delete(r.clock, k, k+1)
			return
		}
	}
}

// rebase brings the records to the structure, under which they hold the recoded levels.
func (r *newest) rebase(s *structure, rc model.Recode) {
	m := len(s.features)
	r.first = max(r.first, len(r.class)-s.newest-spare)
	r.drop(m)
	r.places = make([]int32, len(r.rows))
	for k := range r.class {
		row := r.rows[k*m : k*m+m]
		for j := range row {
			row[j] = rc.Value(j, row[j])
		}
		s.placed(row, r.places[k*m:k*m+m])
	}
}

// placed fills at with the places of a row in the columns of the prototypes.
func (s *structure) placed(row model.Row, at []int32) {
	for j := range s.prototypes.columns {
		c := &s.prototypes.columns[j]
		at[j] = absent
		if len(c.at) > 0 {
			at[j] = c.place(s.features[j].clean(row, int32(j)))
		}
	}
}

// axisTerm is one feature of a distance from a record to newest ones: min((a - q)^2, cap) times a weight, or expected.
type axisTerm struct {
	feature               int32
	q, cap, weight, other int64
}

// axisTerms lists the terms of the distance from the places, those of large weights first: they exceed a limit soonest.
func (s *structure) axisTerms(at []int32, terms []axisTerm) []axisTerm {
	for _, j := range s.heaviest {
		if w := s.weights[j]; at[j] != absent {
			terms = append(terms, axisTerm{j, int64(at[j]), s.plain.cap[j], w, s.plain.expected[j] * w})
		}
	}
	return terms
}

// nearest fills near with the records of the least distances, nearest first, of equal ones the newest first, and
// returns their number.
func (r *newest) nearest(m, serve int, terms []axisTerm, near []neighbour) int {
	if len(terms) == 0 {
		return 0
	}
	n, worst := 0, beyond
	for k := len(r.class) - 1; k >= max(r.first, len(r.class)-serve); k-- {
		at := r.places[k*m : k*m+m]
		d := int64(0)
		for i := range terms {
			t := &terms[i]
			if v := at[t.feature]; v != absent {
				x := int64(v) - t.q
				d += min(x*x, t.cap) * t.weight
			} else {
				d += t.other
			}
			if i%4 == 3 && d >= worst {
				break
			}
		}
		if d < worst {
			if n = place(near, n, d, int32(k)); n == len(near) {
				worst = near[n-1].distance
			}
		}
	}
	return n
}

// opinion writes the log-lifts of the classes among the neighbours, which vote by closeness (Measure.Close), with one
// pseudo-record of the base rates. A class without records has 0, and so has each class where there is no neighbour.
func opinion(near []neighbour, class []int32, base, dst []float64) {
	clear(dst)
	if len(near) == 0 {
		return
	}
	first, end := near[0].distance, near[len(near)-1].distance
	s, sum := float64(first)/5+float64(end)/50, 0.0
	for _, x := range near {
		v := 1.0
		if d := float64(x.distance - first); d > 0 {
			v = s / (d + s)
		}
		dst[class[x.index]] += v
		sum += v
	}
	k, all := float64(len(near)), 0.0
	for y, b := range base {
		if b > 0 {
			dst[y] = (float64(dst[y]/sum*k) + float64(pseudo*b)) / (k + pseudo)
			all += dst[y]
		}
	}
	for y, b := range base {
		if b > 0 {
			dst[y] = math.Log(dst[y] / all / b)
		} else {
			dst[y] = 0
		}
	}
}

// carry returns the records as those of another schema.
func (r *newest) carry(c *model.Change) (n newest) {
	m := len(c.From.Features)
	var row model.Row
	for k := r.first; k < len(r.class); k++ {
		row = c.Row(r.rows[k*m:k*m+m], row)
		n.rows = append(n.rows, row...)
	}
	n.class, n.clock = r.class[r.first:], r.clock[r.first:]
	return n
}

func (r *newest) appendBinary(b []byte, m int) []byte {
	b = wire.AppendFloats(b, r.rows[r.first*m:])
	b = wire.AppendInts(b, r.class[r.first:])
	return wire.AppendFloats(b, r.clock[r.first:])
}

// decodeNewest reads records that are later placed by rebase.
func decodeNewest(rd *wire.Reader, s *structure) (r newest) {
	r.rows, r.class, r.clock = rd.Floats(), wire.Ints[int32](rd), rd.Floats()
	n := len(r.class)
	if rd.Err() == nil && (n > s.newest+spare || len(r.rows) != n*len(s.features) || len(r.clock) != n) {
		rd.Fail(fmt.Errorf("%d newest records with %d values and %d clocks", n, len(r.rows), len(r.clock)))
	}
	for k, y := range r.class {
		if rd.Err() != nil {
			return r
		}
		if y < 0 || int(y) >= len(s.base) || math.IsNaN(r.clock[k]) || k > 0 && r.clock[k] < r.clock[k-1] {
			rd.Fail(fmt.Errorf("record of class %d at clock %v", y, r.clock[k]))
		}
	}
	return r
}
