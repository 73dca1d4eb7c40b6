package evaluate

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"liftstream/model"
	"liftstream/model/groups"
)

const (
	mostGroups   = 20      // groups of a column; further ones are "(other)"
	groupCells   = 5       // quantile cells of a column of numbers
	groupLevels  = 1 << 12 // texts of a column that are told apart at once, and "(other)"; see groupValues.code
	groupReasons = 3       // most frequent reasons of a group
	otherGroup   = groups.Other
	missingGroup = groups.Missing
)

// topShare is the share of the records of the highest propensity, of which Group.Top speaks.
const topShare = .1

// GroupOptions say of which groups an Evaluation takes figures.
type GroupOptions struct {
	Segments []groups.Segment
	// Least is the least number of records of which figures are shown, at least 1.
	Least int
}

// Groups are figures by group, of the records and the class of Gains, by the method of it.
type Groups struct {
	MinCount int           `json:"min_count"` // fewer records show no figures
	All      Group         `json:"all"`
	Columns  []GroupColumn `json:"columns"` // those of use: report
	Segments []GroupCurve  `json:"segments"`
	// Changes are the places where the share or the rate of a segment changed, in the order of the stream.
	Changes []GroupChange `json:"changes"`
}

// GroupColumn has the groups of a column, which are disjoint and hold all records: levels by their number of records,
// ordered ones in their order, numbers in fifths; then those without a value and "(other)", which has the levels
// beyond the twenty largest and groups of fewer than MinCount records. Where those are fewer than MinCount in all, the
// smallest other groups join them, so that no figure of them is the difference of two others. In a column of more than
// 4,095 levels "(other)" may have some of the first records of a level too, at most 1/2048 of all records.
type GroupColumn struct {
	Column string  `json:"column"`
	Groups []Group `json:"groups"`
}

// Group has the figures of some records. Shares and rates go by weight. The intervals are at 95 %. Those of shares,
// rates and means are percentiles of the block bootstrap of the log-loss's interval, over the same blocks, and hold
// Wilson's interval of as many independent records, which is wider where records are few or alike. That of the AUC is
// the normal one of its log-odds, with the variance of sums over the blocks (Obuchowski 1997, section 2, whose clusters
// they are). Figures that are not defined, and all of fewer than MinCount records, are null.
type Group struct {
	Group         string   `json:"group"`
	Records       Number   `json:"records"`
	Share         Number   `json:"share"` // of all records
	ShareInterval Interval `json:"share_interval"`
	Rate          Number   `json:"rate"` // of the class
	RateInterval  Interval `json:"rate_interval"`
	Lift          Number   `json:"lift"` // Rate over that of all records
	LiftInterval  Interval `json:"lift_interval"`
	Mean          Number   `json:"mean_propensity"`
	MeanInterval  Interval `json:"mean_propensity_interval"`
	// Error is Mean less Rate: above 0 the propensities promise too much.
	Error         Number   `json:"mean_error"`
	ErrorInterval Interval `json:"mean_error_interval"`
	Slope         Number   `json:"calibration_slope"` // as in Metrics
	Intercept     Number   `json:"calibration_intercept"`
	AUC           Number   `json:"auc"`
	AUCInterval   Interval `json:"auc_interval"`
	// Top is the share of the group's records that are in the tenth of all records of the highest propensity. Its interval
	// takes the edge of that tenth as given, and the records above it as a tenth of each resample.
	Top         Number        `json:"top_tenth"`
	TopInterval Interval      `json:"top_tenth_interval"`
	Reasons     []GroupReason `json:"reasons"` // the most frequent first
}

// GroupReason is a feature that is the strongest reason of records: the first of their reasons, of more than .1 nats.
type GroupReason struct {
	Feature  string   `json:"feature"`
	Share    Number   `json:"share"` // of the group's records
	Interval Interval `json:"interval"`
}

// groupRecord is a record that counts.
type groupRecord struct {
	index     int64
	p, weight float64
	top       float64 // 1 in the top tenth, a share at its edge
	reason    int32   // feature, -1 = none
	positive  bool
}

// groupValues are the values of the records in one column.
type groupValues struct {
	feature int
	numbers []float64
	codes   []int32               // -1 = missing, 0 = "(other)", else that of a text
	last    int32                 // code that a text got
	known   map[string]*knownText // that are told apart; records of other codes are in "(other)"
}

// knownText is a text that is told apart: mass is the number of its records less the mass that thin took off.
type knownText struct{ code, mass int32 }

// groupMeter gathers records and tells their groups. It keeps 40 bytes of each, 4 or 8 more a column and 1 a segment.
type groupMeter struct {
	schema   *model.Schema
	o        GroupOptions
	target   int
	records  []groupRecord
	columns  []groupValues
	segments [][]bool
	names    []string // of the features
}

// newGroupMeter returns nil where there are neither columns of use: report nor segments, or no class to speak of.
func newGroupMeter(s *model.Schema, target int, o GroupOptions) *groupMeter {
	m := &groupMeter{schema: s, o: o, target: target, segments: make([][]bool, len(o.Segments))}
	for f := range s.Features {
		m.names = append(m.names, s.Features[f].Name)
		if s.Features[f].Use == model.UseReport {
			m.columns = append(m.columns, groupValues{feature: f, known: map[string]*knownText{}})
		}
	}
	if target < 0 || len(m.columns)+len(m.segments) == 0 {
		return nil
	}
	return m
}

// add takes a labelled record.
func (m *groupMeter) add(r *Record, s *model.Scores) {
	if m == nil {
		return
	}
	x := groupRecord{index: r.Index, p: s.P[r.Row*s.Classes+m.target], weight: r.Weight, reason: -1,
		positive: int(r.Class) == m.target}
	for _, w := range s.WhyOf(r.Row) {
		if w.Matters() {
			x.reason = w.Feature
			break
		}
	}
	m.records = append(m.records, x)
	for k := range m.columns {
		f := m.columns[k].feature
		m.columns[k].add(&m.schema.Features[f], &r.Batch.Columns[f], r.Row)
	}
	for k := range m.segments {
		m.segments[k] = append(m.segments[k], m.o.Segments[k].Holds(r.Batch, r.Row))
	}
}

func (v *groupValues) add(f *model.Feature, c *model.Column, i int) {
	if c.Float != nil {
		v.numbers = append(v.numbers, f.Value(c.Float[i]))
		return
	}
	code := int32(-1)
	if c.Code[i] != model.MissingCode {
		code = v.code(c.Levels[c.Code[i]])
	}
	v.codes = append(v.codes, code)
}

// code returns the code of a text. Where no further text can be told apart, the rare ones leave: this is the algorithm
// Frequent (Misra and Gries 1982) as Anderson et al. 2017 take the median off. A text of more than 1/2048 of the
// records is told apart at their end, however late it came.
func (v *groupValues) code(text string) int32 {
	x := v.known[text]
	switch {
	case x != nil:
		x.mass++
		return x.code
	case text == otherGroup || text == missingGroup: // each name stands for one group
		return 0
	case len(v.known) == groupLevels-1:
		v.thin()
	}
	v.last++
	v.known[strings.Clone(text)] = &knownText{v.last, 1}
	return v.last
}

// thin takes the median mass off all texts. Those without any mass left, at least half of them, are known no longer.
func (v *groupValues) thin() {
	all := make([]int32, 0, len(v.known))
	for _, x := range v.known {
		all = append(all, x.mass)
	}
	slices.Sort(all)
	median := all[len(all)/2]
	for text, x := range v.known {
		if x.mass -= median; x.mass <= 0 {
			delete(v.known, text)
		}
	}
}

// levels tells the groups of the texts that are known at the end; the other records are in "(other)".
func (v *groupValues) levels() split {
	s := split{names: []string{otherGroup}, of: make([]int32, len(v.codes))}
	place := map[int32]int32{-1: -1}
	for _, text := range slices.SortedFunc(maps.Keys(v.known), func(a, b string) int {
		return cmp.Compare(v.known[a].code, v.known[b].code)
	}) {
		place[v.known[text].code] = int32(len(s.names))
		s.names = append(s.names, text)
	}
	for i, code := range v.codes {
		s.of[i] = place[code]
	}
	return s
}

// sort brings the records into stream order.
func (m *groupMeter) sort() {
	byIndex := func(a, b groupRecord) int { return cmp.Compare(a.index, b.index) }
	if slices.IsSortedFunc(m.records, byIndex) {
		return
	}
	order := make([]int, len(m.records))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return byIndex(m.records[a], m.records[b]) })
	m.records = permuted(m.records, order)
	for k := range m.columns {
		if v := &m.columns[k]; v.numbers != nil {
			v.numbers = permuted(v.numbers, order)
		} else {
			v.codes = permuted(v.codes, order)
		}
	}
	for k := range m.segments {
		m.segments[k] = permuted(m.segments[k], order)
	}
}

func permuted[T any](v []T, order []int) []T {
	out := make([]T, len(order))
	for i, k := range order {
		out[i] = v[k]
	}
	return out
}

// markTop fills in groupRecord.top. Records that tie at the edge share the rest of the tenth.
func (m *groupMeter) markTop() {
	order, total := make([]int, len(m.records)), 0.
	for i := range order {
		order[i] = i
		total += m.records[i].weight
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(m.records[b].p, m.records[a].p) })
	left := topShare * total
	for a := 0; a < len(order) && left > 0; {
		b, tied := a, 0.
		for ; b < len(order) && m.records[order[b]].p == m.records[order[a]].p; b++ {
			tied += m.records[order[b]].weight
		}
		for _, i := range order[a:b] {
			m.records[i].top = min(1, left/tied)
		}
		left -= tied
		a = b
	}
}

// names and members of the groups of a column: of[i] is the group of record i.
type split struct {
	names []string
	of    []int32
}

// split tells the groups of the column as GroupColumn has them.
func (v *groupValues) split(f *model.Feature, least int) split {
	var s split
	if f.Kind == model.Continuous {
		s = fifths(f, v.numbers)
	} else {
		s = v.levels()
	}
	counts := make([]int, len(s.names)+1) // the last of records without a value
	missing := int32(len(s.names))
	for i, g := range s.of {
		if g < 0 {
			s.of[i] = missing
		}
		counts[s.of[i]]++
	}
	s.names = append(slices.Clone(s.names), missingGroup)
	// Group 0 is "(other)"; the others join it from the smallest on.
	bySize := make([]int32, 0, len(counts))
	for g := range counts[1:] {
		if counts[g+1] > 0 {
			bySize = append(bySize, int32(g+1))
		}
	}
	slices.SortFunc(bySize, func(a, b int32) int {
		return cmp.Or(cmp.Compare(counts[a], counts[b]), cmp.Compare(s.names[b], s.names[a]))
	})
	joins, other := map[int32]bool{}, counts[0]
	for k, g := range bySize {
		if len(bySize)-k <= mostGroups && counts[g] >= least && (other == 0 || other >= least) {
			break
		}
		joins[g] = true
		other += counts[g]
	}
	order := v.order(f, s.names, counts)
	names, place := []string{}, make([]int32, len(counts))
	for _, g := range order {
		if counts[g] > 0 && !joins[g] && g != 0 {
			place[g] = int32(len(names))
			names = append(names, s.names[g])
		}
	}
	for g := range place {
		if g == 0 || joins[int32(g)] {
			place[g] = int32(len(names))
		}
	}
	if other > 0 {
		names = append(names, otherGroup)
	}
	for i, g := range s.of {
		s.of[i] = place[g]
	}
	s.names = names
	return s
}

// order lists the groups but "(other)" in the order of a table.
func (v *groupValues) order(f *model.Feature, names []string, counts []int) []int32 {
	var order []int32
	for g := 1; g < len(counts)-1; g++ {
		order = append(order, int32(g))
	}
	switch f.Kind {
	case model.Nominal:
		slices.SortFunc(order, func(a, b int32) int {
			return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(names[a], names[b]))
		})
	case model.Ordinal:
		rank := map[string]int{}
		for k, l := range f.Levels {
			rank[string(model.CanonicalText(nil, []byte(l)))] = k - len(f.Levels) // before unlisted ones, which have 0
		}
		slices.SortFunc(order, func(a, b int32) int {
			return cmp.Or(cmp.Compare(rank[names[a]], rank[names[b]]), cmp.Compare(names[a], names[b]))
		})
	}
	return append(order, int32(len(counts)-1))
}

// fifths cuts numbers at their quantiles; equal numbers stay together, and each special code is a group.
func fifths(f *model.Feature, numbers []float64) split {
	s := split{names: []string{otherGroup}, of: make([]int32, len(numbers))}
	present := make([]float64, 0, len(numbers))
	for _, v := range numbers {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			present = append(present, v)
		}
	}
	cuts := groups.Cuts(present, groupCells)
	s.names = append(s.names, groups.CellNames(cuts)...)
	codes := len(s.names)
	s.names = append(s.names, groups.CodeNames(f)...)
	for i, v := range numbers {
		s.of[i] = -1
		if k := model.SpecialOf(v); k >= 0 {
			s.of[i] = int32(codes + k)
		} else if !math.IsNaN(v) && !math.IsInf(v, 0) {
			k, _ := slices.BinarySearch(cuts, v)
			s.of[i] = int32(k + 1)
		}
	}
	return s
}
