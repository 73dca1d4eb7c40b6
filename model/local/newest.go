package local

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/local/scan"
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
	// places are those of the rows in the columns of structure.heaviest, padded to structure.stride; gap tells where one
	// is absent.
	places []int32
	gap    []bool
	codes  []coarse   // of the places; none where package scan has
	lanes  scan.Codes // the cells of the places
}

// learn takes in the example at the place of its clock. One that is older than all of a full ring has left it already.
func (r *newest) learn(s *structure, ex *model.Example) {
	m, hold := len(s.features), s.newest+spare
	if r.first >= hold {
		r.cut(s, 0, r.first)
		r.first = 0
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
	wide, end := s.stride, len(r.places)
	r.places = slices.Grow(r.places, wide)[:end+wide]
	copy(r.places[(at+1)*wide:], r.places[at*wide:end])
	places := r.places[at*wide : (at+1)*wide]
	r.gap = slices.Insert(r.gap, at, s.placed(ex.Row, places))
	if s.prototypes.scanned {
		r.insertLanes(s, at, places)
	} else {
		r.codes = slices.Insert(r.codes, at, s.coarsely(places))
	}
	if full {
		r.first++
	}
}

// cut removes the records from first to end.
func (r *newest) cut(s *structure, first, end int) {
	if first == end {
		return
	}
	if s.prototypes.scanned {
		r.cutLanes(s, first, end)
	} else {
		r.codes = slices.Delete(r.codes, first, end)
	}
	m, wide := len(r.rows)/len(r.class), len(r.places)/len(r.class)
	r.rows = slices.Delete(r.rows, first*m, end*m)
	r.places = slices.Delete(r.places, first*wide, end*wide)
	r.class = slices.Delete(r.class, first, end)
	r.clock = slices.Delete(r.clock, first, end)
	r.gap = slices.Delete(r.gap, first, end)
}

// retract removes the last record of the example's values, class and clock, if there is one.
func (r *newest) retract(s *structure, ex *model.Example) {
	m := len(ex.Row)
	for k := len(r.class) - 1; k >= r.first && r.clock[k] >= ex.Clock; k-- {
		if r.clock[k] == ex.Clock && r.class[k] == ex.Class && same(ex.Row, r.rows[k*m:k*m+m]) {
			r.cut(s, k, k+1)
			return
		}
	}
}

// rebase brings the records to the structure, under which they hold the recoded levels.
func (r *newest) rebase(s *structure, rc model.Recode) {
	m, wide := len(s.features), s.stride
	first := max(r.first, len(r.class)-s.newest-spare)
	r.rows, r.class, r.clock = r.rows[first*m:], r.class[first:], r.clock[first:]
	r.first, r.places, r.gap = 0, make([]int32, len(r.class)*wide), make([]bool, len(r.class))
	r.codes, r.lanes = nil, nil
	if s.prototypes.scanned {
		r.lanes = make(scan.Codes, scan.Size(len(r.class), len(s.heaviest)))
	} else {
		r.codes = make([]coarse, len(r.class))
	}
	for k := range r.class {
		row := r.rows[k*m : k*m+m]
		for j := range row {
			row[j] = rc.Value(j, row[j])
		}
		r.gap[k] = s.placed(row, r.places[k*wide:k*wide+wide])
		if s.prototypes.scanned {
			r.enlane(s, k, r.places[k*wide:k*wide+wide])
		} else {
			r.codes[k] = s.coarsely(r.places[k*wide : k*wide+wide])
		}
	}
}

// placed fills at with the places of a row in the columns of heaviest, and reports whether one is absent.
func (s *structure) placed(row model.Row, at []int32) (gap bool) {
	for i, j := range s.heaviest {
		at[i] = s.prototypes.columns[j].place(s.features[j].clean(row, j))
		gap = gap || at[i] == absent
	}
	return gap
}

// axisTerm is one feature of a distance from a record to newest ones: min((a - q)^2, cap) weight, or expected where the
// other one has no value.
type axisTerm struct{ q, cap, weight, expected int64 }

// axisTerms lists the terms of the distance from the places, in the order of heaviest; ok = false where no feature that
// counts has a value.
func (s *structure) axisTerms(at []int32, terms []axisTerm) (out []axisTerm, ok bool) {
	for i, j := range s.heaviest {
		t := axisTerm{}
		if at[i] != absent {
			w := s.weights[j]
			t, ok = axisTerm{int64(at[i]), s.plain.cap[j], w, s.plain.expected[j] * w}, true
		}
		terms = append(terms, t)
	}
	return terms, ok
}

// to is the distance to places of which none is absent. It stops once the distance reaches limit.
func to(terms []axisTerm, at []int32, limit int64) (d int64) {
	for len(terms) >= 4 && len(at) >= 4 {
		t, v := (*[4]axisTerm)(terms), (*[4]int32)(at)
		w, x, y, z := int64(v[0])-t[0].q, int64(v[1])-t[1].q, int64(v[2])-t[2].q, int64(v[3])-t[3].q
		d += min(w*w, t[0].cap)*t[0].weight + min(x*x, t[1].cap)*t[1].weight +
			(min(y*y, t[2].cap)*t[2].weight + min(z*z, t[3].cap)*t[3].weight)
		if d >= limit {
			return d
		}
		terms, at = terms[4:], at[4:]
	}
	for i, v := range at {
		t := &terms[i]
		x := int64(v) - t.q
		d += min(x*x, t.cap) * t.weight
	}
	return d
}

// across is to where some places are absent.
func across(terms []axisTerm, at []int32, limit int64) (d int64) {
	for i, v := range at {
		t := &terms[i]
		if v == absent {
			d += t.expected
		} else {
			x := int64(v) - t.q
			d += min(x*x, t.cap) * t.weight
		}
		if i%4 == 3 && d >= limit {
			break
		}
	}
	return d
}

// nearest fills near with the records of the least distances among that many of the last, nearest first, of equal ones
// the newest first, and returns their number. It measures those alone whose bound by t is below the farthest of near.
func (r *newest) nearest(serve int, terms []axisTerm, t *coarseTables, near []neighbour) int {
	n, worst, wide := 0, beyond, padded(len(terms))
	first := max(r.first, len(r.class)-serve)
	var left [coarseStretch]int32
	stretch := min(max(len(near), 1), coarseStretch) // the first are measured anyway
	for end := len(r.class); end > first; {
		begin := max(first, end-stretch)
		for _, k := range left[:t.below(r.codes[begin:end], worst, &left)] {
			i := begin + int(k)
			at := r.places[i*wide : i*wide+len(terms)]
			var d int64
			if r.gap[i] {
				d = across(terms, at, worst)
			} else {
				d = to(terms, at, worst)
			}
			if d < worst {
				if n = place(near, n, d, int32(i)); n == len(near) {
					worst = near[n-1].distance
				}
			}
		}
		end, stretch = begin, min(2*stretch, coarseStretch)
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
func decodeNewest(rd *wire.Reader, schema *model.Schema, s *structure) (r newest) {
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
	for i := 0; i < len(r.rows) && rd.Err() == nil; i++ {
		// A rebase looks levels up by their codes.
		v, f := r.rows[i], &schema.Features[i%len(s.features)]
		if f.Kind != model.Continuous && v == v && !(v >= 0 && v < model.MaxLevels+1) {
			rd.Fail(fmt.Errorf("feature %q of a newest record is level %v", f.Name, v))
		}
	}
	return r
}
