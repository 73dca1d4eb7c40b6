package lift

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"liftstream/model"
)

// show validates the found profiles and returns those of each class in the order of their rank.
func (m *miner) show(o *ProfileOptions, l *model.Levels) []*Profile {
	most := o.Top
	if o.Rank == ByValidated && m.n < m.sample.n {
		most *= candidatePool
	}
	var out []*Profile
	var p []float64
	for _, best := range m.best {
		for _, x := range m.fold(best, most) {
			f := m.profile(x.mined, l)
			f.Folded = x.folded
			out = append(out, f)
			p = append(p, f.Validation.fisher())
		}
	}
	if m.n == m.sample.n {
		return out
	}
	for i, q := range benjaminiHochberg(p) {
		out[i].Q, out[i].Among = q, len(out)
	}
	if o.Rank == ByValidated {
		out = byValidated(out, o.Top)
	}
	return out
}

const (
	// minValidation is the least number of records that are held back to validate.
	minValidation = 50
	// validationBlocks is the number of stretches of the held-back records that tell whether these are independent.
	validationBlocks = 10
)

// profile counts a found profile on all records and on the newer ones, and puts its tests into words.
func (m *miner) profile(x *mined, l *model.Levels) *Profile {
	p := &Profile{Class: x.class, Q: math.NaN()}
	var text []string
	var features []int32
	for i, at := range x.position {
		it := m.items[at][x.item[i]]
		p.Items = append(p.Items, it)
		features = append(features, it.Feature)
		text = append(text, it.text(m.schema, l))
	}
	p.Text = strings.Join(text, " & ")
	first, value := m.item[x.position[0]], x.item[0]
	var covered []int32
	for r, c := range first {
		if c == value && m.covers(x, r, 0) {
			covered = append(covered, int32(r))
		}
	}
	p.Refinements = m.refinements(x, covered)
	tally := func(t *Tally, from int) {
		t.N, t.NY = m.completeCases(features, int(x.class), from)
		square := 0.0
		at, _ := slices.BinarySearch(covered, int32(from))
		for _, r := range covered[at:] {
			w := m.weight[r]
			t.NX += w
			square += w * w
			if m.class[r] == x.class {
				t.NXY += w
			}
		}
		if square > 0 {
			t.Effective = t.NX * t.NX / square
		}
	}
	tally(&p.Tally, 0)
	if m.n < m.sample.n {
		tally(&p.Validation, m.n)
		p.Validation.Effective /= m.clustering(features, p)
	}
	_, all := m.completeCases(nil, int(x.class), 0)
	p.LiftAll = p.Tally.NXY / p.Tally.NX * m.total / all
	return p
}

// completeCases returns the weight of the records from a position on that have all features, and the weight of those of
// the class.
func (m *miner) completeCases(features []int32, class, from int) (n, ny float64) {
	var lacking []int32
	for _, f := range features {
		if m.missing[f] {
			lacking = append(lacking, f)
		}
	}
	key := fmt.Sprint(lacking, class, from)
	if v, ok := m.known[key]; ok {
		return v[0], v[1]
	}
	for r := from; r < m.sample.n; r++ {
		if m.complete(lacking, r) {
			n += m.weight[r]
			if int(m.class[r]) == class {
				ny += m.weight[r]
			}
		}
	}
	if m.known == nil {
		m.known = map[string][2]float64{}
	}
	m.known[key] = [2]float64{n, ny}
	return n, ny
}

// byValidated orders the profiles of each class by the falling lower end of the validated lift and keeps top of them.
func byValidated(profiles []*Profile, top int) []*Profile {
	low := make(map[*Profile]float64, len(profiles))
	for _, p := range profiles {
		low[p], _ = p.ValidatedInterval()
	}
	slices.SortStableFunc(profiles, func(a, b *Profile) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), compareValues(low[a], low[b]))
	})
	var out []*Profile
	n := 0
	for i, p := range profiles {
		if i == 0 || p.Class != profiles[i-1].Class {
			n = 0
		}
		if n++; n <= top {
			out = append(out, p)
		}
	}
	return out
}

// clustering returns the variance of the number of records of the class under a profile over that of independent
// records, at least 1. It is the variance of t_i = w_i (x_i - g)(h_y - h) summed over each of validationBlocks
// stretches of the held-back records, over that of the single terms, with x_i and h_y 1 for records under the profile
// and of the class, and g and h their means. It is above 1 where rates drift together with the profile, or records come
// in groups that are alike.
func (m *miner) clustering(features []int32, p *Profile) float64 {
	t := &p.Validation
	g, h := t.NX/t.N, t.NY/t.N
	var block [validationBlocks]float64
	var sum, square, n float64
	row := make(model.Row, len(m.column))
	for r := m.n; r < m.sample.n; r++ {
		if !m.complete(features, r) {
			continue
		}
		for _, f := range features {
			row[f] = m.column[f][r]
		}
		x, y := -g, -h
		if p.meets(row) {
			x++
		}
		if m.class[r] == p.Class {
			y++
		}
		v := m.weight[r] * x * y
		block[(r-m.n)*validationBlocks/(m.sample.n-m.n)] += v
		sum, square, n = sum+v, square+v*v, n+1
	}
	single := square - sum*sum/n
	blocks := 0.0
	for _, v := range block {
		blocks += (v - sum/validationBlocks) * (v - sum/validationBlocks)
	}
	if blocks *= validationBlocks / (validationBlocks - 1.); !(single > 0) || !(blocks > single) {
		return 1
	}
	return blocks / single
}

// fisher is the one-sided p-value of Fisher's exact test that the class is no more frequent among the covered records
// than among the rest; 1 without data. The counts are scaled to the effective number of covered records and rounded,
// the covered records of the class down.
func (t *Tally) fisher() float64 {
	if !(t.NX > 0) || !(t.NY > 0) {
		return 1
	}
	scale := t.Effective / t.NX
	n, nx, ny := math.Round(t.N*scale), math.Round(t.Effective), math.Round(t.NY*scale)
	xy := math.Floor(t.NXY * scale * (1 + 1e-9))
	logChoose := func(n, k float64) float64 {
		a, _ := math.Lgamma(n + 1)
		b, _ := math.Lgamma(k + 1)
		c, _ := math.Lgamma(n - k + 1)
		return a - b - c
	}
	all, sum := logChoose(n, nx), 0.0
	for k := max(xy, 0); k <= min(nx, ny); k++ {
		if nx-k > n-ny {
			continue
		}
		sum += math.Exp(logChoose(ny, k) + logChoose(n-ny, nx-k) - all)
	}
	return min(sum, 1)
}

// benjaminiHochberg turns p-values into false-discovery rates (Benjamini and Hochberg, JRSS B 57, 1995).
func benjaminiHochberg(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[b], p[a]) })
	q := make([]float64, len(p))
	least := 1.0
	for i, j := range order {
		least = min(least, p[j]*float64(len(p))/float64(len(p)-i))
		q[j] = least
	}
	return q
}
