package local

import (
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/gp"
	"liftstream/model/local/scan"
)

// Options choose how curves are learnt and neighbours are sought.
type Options struct {
	// Theta is the threshold of paper A's subspace, in which neighbours are sought. Negative = auto: each fit chooses the
	// threshold and the distance by leaving out one prototype after the other. The published subspace has no threshold.
	Theta float64
	// Plain learns no curves and seeks the neighbours by the Euclidean distance over all features, with one vote each: the
	// baseline of the subspaces.
	Plain bool
	// Neighbours is K; 0 = 8.
	Neighbours int
	// Prototypes bounds the number of prototypes, of all classes together; 0 = 1,024.
	Prototypes int
	// Newest is the number of records learnt last, of each partition by itself, among which neighbours are sought as well;
	// 0 = none.
	Newest int
	// Width is the kernel width h of the scores, in units of a feature's range; 0 = 0.05.
	Width       float64
	Observation Observation
	Score       Score
	Redundancy  Redundancy
	Divergence  Divergence
	// Observations bounds the pool of one curve; 0 = 64.
	Observations int
	// HalfLife of the class histograms in labelled records of a partition, or in stream time; zero = never forget.
	HalfLife model.HalfLife
	// Pool keeps observations from fit to fit.
	Pool Pool
	// ReferenceSD is the deviation of F_ref, whose mean is 0; 0 = 0.05.
	ReferenceSD float64
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		v  *int
		to int
	}{{&o.Neighbours, 8}, {&o.Prototypes, 1024}, {&o.Observations, 64}} {
		if *d.v <= 0 {
			*d.v = d.to
		}
	}
	if !(o.Width > 0) {
		o.Width = .05
	}
	if !(o.ReferenceSD > 0) {
		o.ReferenceSD = .05
	}
	return o
}

// Auto is the Options.Theta that lets each fit choose.
const Auto = -1.0

// feature is the part of the structure about one feature.
type feature struct {
	axis
	// minimum and maximum are the least and the largest observed value; a record outside has no local Gaussian there
	// (METHOD.md 2.3). For levels there is one at each level that has a table entry.
	minimum, maximum float64
	curve            *gp.Curve // in units of the range; nil for levels and for features that are never selected
	mean, variance   []float64 // of each level of a nominal feature
	relevance        []float64 // sum_c P_c ln(P_c / p_c) at each bin or level
	tells            []float64 // relevance of each bin or level alone, in nats; 0 where not beyond chance
	missing          float64   // the same of a missing value
	neutral          float64   // the score of an uninformative feature
	likelihood       float64
	observations     int
}

// candidate reports whether the feature can be selected.
func (f *feature) candidate() bool { return f.curve != nil || len(f.mean) > 0 }

// gaussian returns the local Gaussian at a cell, ok = false where there is none.
func (f *feature) gaussian(v float64) (mean, variance float64, ok bool) {
	if f.nominal {
		if !(v >= 0) || int(v) >= len(f.mean) {
			return 0, 0, false
		}
		return f.mean[int(v)], f.variance[int(v)], true
	}
	x, there := f.value(v)
	if !there || f.curve == nil || v < f.minimum || v > f.maximum {
		return 0, 0, false
	}
	mean, variance = f.curve.At((x - f.zero) / f.scale)
	return mean, variance, true
}

// weight is the relevance at a cell, in steps of weightUnit.
func (f *feature) weight(v float64) int64 {
	var r float64
	if f.nominal {
		if !(v >= 0) || int(v) >= len(f.relevance) {
			return 0
		}
		r = f.relevance[int(v)]
	} else {
		x, ok := f.value(v)
		if !ok || len(f.relevance) == 0 {
			return 0
		}
		bin, above := f.split(x)
		r = f.relevance[bin]
		if above > 0 {
			r += above * (f.relevance[bin+1] - r)
		}
	}
	return quantise(r)
}

// quantise rounds a relevance to steps of weightUnit.
func quantise(r float64) int64 { return int64(math.Round(min(r, 64) * weightUnit)) }

// structure is the result of a Fit: everything that scoring reads. It is immutable.
type structure struct {
	features   []feature
	rho        *correlation
	theta      float64 // of paper A's subspace
	measure    Measure // of the neighbours
	neighbours int
	redundancy Redundancy
	divergence Divergence
	reference  reference
	width      float64 // of the kernel, in units of a feature's range
	critical   float64 // threshold of twice the log-likelihood ratio of a cell
	halfLife   float64
	base       []float64 // base rates of the classes
	prototypes prototypes
	trials     []Trial
	newest     int     // number of newest records among which neighbours are sought, 0 = none
	weights    []int64 // of the features in the distance to newest records, 0 where not compared
	useless    float64 // relevance of an uninformative feature, on average over the prototypes

	limits   limits       // under the measure
	plain    limits       // under the Euclidean one
	heaviest []int32      // features of positive weights, by falling weight
	grids    []grid       // of these
	ranges   []scan.Range // of these, where package scan has the newest records
	stride   int          // of the places of a newest record
	packOf   []int        // the code in which each of these has a part, -1 = none
	agree    []float64    // agreement of every feature

	way way // of seeking neighbours
}

// prepare computes the look-up tables from the other fields.
func (s *structure) prepare() {
	s.prototypes.prepare(s.scans())
	s.limits = s.prototypes.limits(s.measure)
	s.agree = make([]float64, len(s.features))
	for j := range s.agree {
		s.agree[j] = s.agreement(j)
	}
	s.prepareNewest()
}

// scratch is the working memory of one goroutine.
type scratch struct {
	divergence, penalty []float64
	placed              []float64 // divergences of the features that have a place in the distance
	rel                 []float64
	features            []int32
	scores              []float32
	all                 []queryTerm // by feature
	terms               []queryTerm // with a weight
	tables              []table
	codes               [][]uint8
	prototypes          int
	places              []int32 // of the prototypes
	stride              int     // of these
	search              search
	at                  []int32 // of a record, by feature
	sum                 []int64 // by prototype, padded with beyond to whole blocks
	low                 []int64 // by block
	left                []int32
	near                []neighbour
	axes                []axisTerm
	newest              []neighbour // among the newest records
	bounds              coarseTables
	ties                []int32   // the prototypes outside of near at the distance of its last
	asked               model.Row // the row of the neighbours in near, valid while nearby
	found               int
	nearby              bool
	votes, far          []float64
	weights             []int64 // of the features at the row; nil: by the tables
	row                 model.Row
	known               bool // divergence is that of row
}

func newScratch(s *structure) *scratch {
	m, n, packs := len(s.features), len(s.prototypes.class), len(s.prototypes.packs)
	w := &scratch{
		divergence: make([]float64, m), penalty: make([]float64, m), rel: make([]float64, m), placed: make([]float64, m),
		features: make([]int32, 0, m), scores: make([]float32, 0, m),
		all: make([]queryTerm, m), terms: make([]queryTerm, 0, m),
		tables: make([]table, 0, packs), codes: make([][]uint8, 0, packs),
		prototypes: n, places: s.prototypes.places, stride: s.prototypes.stride, ties: make([]int32, 0, n),
		row: make(model.Row, m), asked: make(model.Row, m), at: make([]int32, m),
		low: make([]int64, (n+block-1)/block), left: make([]int32, 0, n), near: make([]neighbour, s.neighbours),
		newest: make([]neighbour, s.neighbours), axes: make([]axisTerm, 0, m),
		votes: make([]float64, len(s.base)), far: make([]float64, len(s.base)),
	}
	w.sum = make([]int64, len(w.low)*block)
	for k := n; k < len(w.sum); k++ {
		w.sum[k] = beyond
	}
	if s.prototypes.scanned {
		w.search = newSearch(m, max(n, s.newest+scan.Group))
	}
	return w
}

// best is the class of most votes, the lowest of equals.
func (w *scratch) best() int {
	best := 0
	for y, v := range w.votes {
		if v > w.votes[best] {
			best = y
		}
	}
	return best
}

// diverge fills w.divergence with those of the row's local Gaussians, NaN where there is none. It keeps those of the
// last row.
func (s *structure) diverge(row model.Row, w *scratch) {
	if w.known = w.known && same(row, w.row); w.known {
		return
	}
	copy(w.row, row)
	w.known = true
	for j := range s.features {
		mean, v, ok := s.features[j].gaussian(row[j])
		if !ok {
			w.divergence[j] = math.NaN()
			continue
		}
		w.divergence[j] = s.divergence.of(mean, v, s.reference)
	}
}

// same compares bit by bit.
func same(a, b model.Row) bool {
	for i, v := range a {
		if math.Float64bits(v) != math.Float64bits(b[i]) {
			return false
		}
	}
	return true
}

// subspace appends the features that paper A selects for the row at theta, best first, and their scores.
func (s *structure) subspace(row model.Row, theta float64, w *scratch, features []int32,
	scores []float32) ([]int32, []float32) {
	s.diverge(row, w)
	return greedy(w.divergence, s.rho, theta, s.redundancy, w.penalty, w.rel, features, scores)
}

// itself returns the prototype that is the example: the first of equal values, class and clock; -1 if there is none.
// Prototypes of a part of the first format have no clock: the first of equal values and class is taken.
func (s *structure) itself(ex *model.Example, w *scratch) int {
	p := &s.prototypes
	for j := range p.columns {
		c := &p.columns[j]
		w.at[j] = absent
		if len(c.at) > 0 {
			w.at[j] = c.place(s.features[j].clean(ex.Row, int32(j)))
		}
	}
	for k, y := range p.class {
		if y == ex.Class && (len(p.clock) == 0 || p.clock[k] == ex.Clock) &&
			slices.Equal(w.at, p.places[k*p.stride:][:len(w.at)]) {
			return k
		}
	}
	return -1
}

// choose fills w.features with those of the distance from the row; none stands for all.
func (w *scratch) choose(s *structure, row model.Row, m Measure) {
	if w.features = w.features[:0]; !(m.Theta > 0) {
		return
	}
	s.diverge(row, w)
	for j, d := range w.divergence {
		// A feature outside of the distance does not compete with the others.
		if w.placed[j] = d; len(s.prototypes.columns[j].at) == 0 {
			w.placed[j] = math.NaN()
		}
	}
	w.features, w.scores = greedy(w.placed, s.rho, m.Theta, s.redundancy, w.penalty, w.rel, w.features, w.scores[:0])
}

// query lists the terms of the distance from the row and makes their tables. exact reports that the sums of the tables
// are the distances.
func (s *structure) query(row model.Row, m Measure, l *limits, w *scratch) (exact bool) {
	w.terms, w.tables, w.codes = w.terms[:0], w.tables[:0], w.codes[:0]
	w.choose(s, row, m)
	for j := range w.all {
		w.all[j].weight = 0
	}
	exact = true
	add := func(j int32) {
		c := &s.prototypes.columns[j]
		q := c.place(s.features[j].clean(row, j))
		if q == absent || len(c.at) == 0 {
			return
		}
		t := queryTerm{feature: j, at: c.at, missing: c.missing, nominal: c.nominal, q: float64(q), cap: l.cap[j], weight: 1,
			expected: l.expected[j]}
		if m.Weighted {
			if w.weights != nil {
				t.weight = w.weights[j]
			} else {
				t.weight = s.features[j].weight(row[j])
			}
			if t.weight == 0 {
				return
			}
		}
		w.all[j] = t
		w.terms = append(w.terms, t)
		exact = exact && s.prototypes.exact[j]
	}
	if len(w.features) == 0 {
		for j := range s.features {
			add(int32(j))
		}
	} else {
		for _, j := range w.features {
			add(j)
		}
	}
	for i := range s.prototypes.packs {
		k := &s.prototypes.packs[i]
		n := len(w.tables)
		w.tables = w.tables[:n+1]
		if k.fill(w.all, &w.tables[n]) {
			w.codes = append(w.codes, k.code)
		} else {
			w.tables = w.tables[:n]
		}
	}
	return exact
}

// nearby finds the nearest prototypes of the row and counts their votes into w.votes. It keeps those of the last row.
func (s *structure) nearby(row model.Row, w *scratch) int {
	if w.nearby && same(row, w.asked) {
		return w.found
	}
	n := s.neighbourhood(row, s.measure, &s.limits, -1, w)
	copy(w.asked, row)
	w.found, w.nearby = n, true
	return n
}

// neighbourhood finds the nearest prototypes of the row, leaving out skip, and counts their votes into w.votes. It
// returns their number: 0 when there is no prototype, or no value to compare.
func (s *structure) neighbourhood(row model.Row, m Measure, l *limits, skip int, w *scratch) int {
	w.nearby = false
	n, done := 0, false
	if s.prototypes.scanned {
		n, done = w.scan(s, row, m, l, skip)
	}
	if !done {
		if exact := s.query(row, m, l, w); len(w.terms) > 0 && w.prototypes > 0 {
			n = w.find(exact, skip)
		}
	}
	if n == 0 {
		clear(w.votes)
		return 0
	}
	vote(w.near[:n], w.ties, s.prototypes.class, m.Close, w.votes, w.far)
	return n
}
