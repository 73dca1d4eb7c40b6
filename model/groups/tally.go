package groups

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"

	"liftstream/model"
	"liftstream/model/drift"
	"liftstream/model/report"
)

const (
	most        = 20  // groups of a column
	cells       = 5   // of a column of numbers,
	firstValues = 500 // cut at the quantiles of its first values
	longest     = 128 // bytes of the name of a group
	shown       = 10  // newest changes
)

// Names of groups that no value has.
const (
	Other   = "(other)"
	Missing = "(missing)"
)

// Tally counts scored records by group as they come, in bounded memory: of each feature of UseReport the first twenty
// levels, or fifths of its first 500 numbers; of each segment its records. Each record counts once, of any weight. A
// label counts if it comes with its record. Its methods may be called from several goroutines.
type Tally struct {
	schema *model.Schema
	target int
	least  int64

	mu       sync.Mutex
	all      count
	columns  []*column
	segments []*watched
	changes  []Change
}

// count has the sums of a group.
type count struct {
	name                string
	records, labelled   int64
	positives           int64
	propensity, promise float64 // of all, and of the labelled
}

// one is a record as it counts.
type one struct {
	p                  float64
	labelled, positive bool
}

func (c *count) add(x one) {
	c.records++
	c.propensity += x.p
	if x.labelled {
		c.labelled++
		c.promise += x.p
		if x.positive {
			c.positives++
		}
	}
}

func (c *count) merge(o *count) {
	c.records += o.records
	c.labelled += o.labelled
	c.positives += o.positives
	c.propensity += o.propensity
	c.promise += o.promise
}

type column struct {
	feature int
	groups  []count
	place   map[string]int
	codes   []count // of special codes
	missing count
	other   count
	// Numbers wait for the cuts.
	cuts   []float64
	first  []float64
	waits  []one
	ranged bool
}

// watched is a segment; its detectors have the membership of all records, and the outcomes of its own.
type watched struct {
	Segment
	count
	share, rate detector
}

// detector finds changes of the mean of yes and no.
type detector struct {
	*drift.ADWIN
	n, alarm int64 // numbers so far, and up to the first alarm of the newest change
}

// Change is a change of the share of a segment, or of the rate in it, found by ADWIN (model/drift).
type Change struct {
	Segment string        `json:"segment"`
	What    string        `json:"what"`   // share or rate
	Record  int64         `json:"record"` // of this process, at which it was found
	Before  report.Number `json:"before"` // mean of the window before
	After   report.Number `json:"after"`  // mean of the newer part, which is kept
}

// Figures tell of a group. Share and Rate have Wilson's intervals; Error is the mean propensity of the labelled records
// less Rate, with the interval of Rate. Figures that are not defined are null.
type Figures struct {
	Group     string        `json:"group"`
	Records   int64         `json:"records"`
	Share     report.Number `json:"share"`
	ShareLow  report.Number `json:"share_low"`
	ShareHigh report.Number `json:"share_high"`
	Mean      report.Number `json:"mean_propensity"`
	Labelled  int64         `json:"labelled"`
	Rate      report.Number `json:"rate"`
	RateLow   report.Number `json:"rate_low"`
	RateHigh  report.Number `json:"rate_high"`
	Lift      report.Number `json:"lift"` // Rate over that of all
	Error     report.Number `json:"mean_error"`
	ErrorLow  report.Number `json:"mean_error_low"`
	ErrorHigh report.Number `json:"mean_error_high"`
}

// Column has the groups of a feature.
type Column struct {
	Column string    `json:"column"`
	Groups []Figures `json:"groups"`
}

// View has the figures of a Tally.
type View struct {
	All      Figures   `json:"all"`
	Columns  []Column  `json:"columns"`
	Segments []Figures `json:"segments"` // those of enough records
	Changes  []Change  `json:"changes"`  // the newest first
}

// NewTally returns an empty tally that shows no group of fewer than least records; nil where the schema has neither
// features of UseReport nor segments, or no class to speak of: the positive one, or the second of two.
func NewTally(s *model.Schema, segments []Segment, least int) *Tally {
	t := &Tally{schema: s, target: s.Positive, least: int64(max(1, least))}
	if t.target < 0 && len(s.Classes) == 2 {
		t.target = 1
	}
	for f := range s.Features {
		if s.Features[f].Use == model.UseReport {
			c := &column{feature: f, place: map[string]int{}, missing: count{name: Missing}, other: count{name: Other}}
			for _, name := range CodeNames(&s.Features[f]) {
				c.codes = append(c.codes, count{name: name})
			}
			t.columns = append(t.columns, c)
		}
	}
	o := drift.DefaultADWIN()
	o.Delta /= float64(max(1, 2*len(segments)))
	for _, s := range segments {
		t.segments = append(t.segments, &watched{Segment: s, count: count{name: s.Name},
			share: detector{ADWIN: drift.NewADWIN(o)}, rate: detector{ADWIN: drift.NewADWIN(o)}})
	}
	if t.target < 0 || len(t.columns)+len(t.segments) == 0 {
		return nil
	}
	return t
}

// Add takes the records of a batch with their scores. Untrained scores do not count: they are base rates. A nil tally
// takes none.
func (t *Tally) Add(b *model.Batch, s *model.Scores) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range s.N {
		if s.Status[i] == model.StatusUntrained {
			continue
		}
		class := b.Label[i]
		x := one{s.P[i*s.Classes+t.target], class >= 0, int(class) == t.target}
		t.all.add(x)
		for _, c := range t.columns {
			c.add(&t.schema.Features[c.feature], &b.Columns[c.feature], i, x)
		}
		for _, g := range t.segments {
			t.watch(g, x, g.Holds(b, i))
		}
	}
}

// watch counts a record into a segment, and tells its detectors.
func (t *Tally) watch(g *watched, x one, in bool) {
	t.found(g.name, "share", &g.share, in)
	if in {
		g.count.add(x)
		if x.labelled {
			t.found(g.name, "rate", &g.rate, x.positive)
		}
	}
}

// found gives a detector its next number. Alarms while its window still holds numbers of before the first one are one
// change, of which the last tells the mean after it.
func (t *Tally) found(segment, what string, a *detector, yes bool) {
	before, v := a.Mean(), 0.
	a.n++
	if yes {
		v = 1
	}
	if !a.Add(v) {
		return
	}
	if a.n-a.Width() < a.alarm {
		for k := len(t.changes) - 1; k >= 0; k-- {
			if c := &t.changes[k]; c.Segment == segment && c.What == what {
				c.After = report.Number(a.Mean())
				return
			}
		}
		return // it is no longer among the newest
	}
	a.alarm = a.n
	t.changes = append(t.changes, Change{segment, what, t.all.records, report.Number(before), report.Number(a.Mean())})
	t.changes = t.changes[max(0, len(t.changes)-shown):]
}

func (c *column) add(f *model.Feature, v *model.Column, i int, x one) {
	if v.Float == nil {
		if v.Code[i] == model.MissingCode {
			c.missing.add(x)
			return
		}
		c.level(v.Levels[v.Code[i]], x)
		return
	}
	n := f.Value(v.Float[i])
	code := model.SpecialOf(n)
	switch {
	case code >= 0:
		c.codes[code].add(x)
	case math.IsNaN(n):
		c.missing.add(x)
	case c.ranged:
		c.number(n, x)
	default:
		c.first, c.waits = append(c.first, n), append(c.waits, x)
		if len(c.first) == firstValues {
			c.cut()
		}
	}
}

func (c *column) level(text string, x one) {
	k, ok := c.place[text]
	if !ok {
		name := strings.ToValidUTF8(text[:min(len(text), longest)], "\uFFFD")
		// Each name stands for one group.
		taken := name == Other || name == Missing ||
			slices.ContainsFunc(c.groups, func(g count) bool { return g.name == name })
		if len(c.groups) == most || taken {
			c.other.add(x)
			return
		}
		k = len(c.groups)
		c.place[strings.Clone(text)] = k
		c.groups = append(c.groups, count{name: strings.Clone(name)})
	}
	c.groups[k].add(x)
}

func (c *column) number(v float64, x one) {
	k, _ := slices.BinarySearch(c.cuts, v)
	c.groups[k].add(x)
}

// cut makes cells of the first numbers.
func (c *column) cut() {
	c.cuts = Cuts(c.first, cells)
	for _, name := range CellNames(c.cuts) {
		c.groups = append(c.groups, count{name: name})
	}
	c.ranged = true
	for k, v := range c.first {
		c.number(v, c.waits[k])
	}
	c.first, c.waits = nil, nil
}

// View returns the figures up to now. Groups of fewer than the least number of records are in Other, which the smallest
// of the rest join until it has as many, so that none follows from the others. So it is with figures of labels, which
// are left out (labelsTold). Of a segment so small nothing is told.
func (t *Tally) View() *View {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	v := &View{Columns: []Column{}, Segments: []Figures{}, Changes: slices.Clone(t.changes)}
	slices.Reverse(v.Changes)
	v.All = t.figures(&t.all)
	v.All.Group = "(all)"
	for _, c := range t.columns {
		x := Column{Column: t.schema.Features[c.feature].Name, Groups: []Figures{}}
		shown := c.shown(t.least)
		told := labelsTold(shown, t.least)
		for k := range shown {
			if x.Groups = append(x.Groups, t.figures(&shown[k])); !told[k] {
				x.Groups[k].withhold()
			}
		}
		v.Columns = append(v.Columns, x)
	}
	told := map[string]bool{}
	for _, g := range t.segments {
		if told[g.name] = g.records >= t.least; told[g.name] {
			v.Segments = append(v.Segments, t.figures(&g.count))
		}
	}
	v.Changes = slices.DeleteFunc(v.Changes, func(c Change) bool { return !told[c.Segment] })
	return v
}

// shown lists the groups that have enough records, and Other.
func (c *column) shown(least int64) []count {
	other := c.other
	for _, x := range c.waits { // no cells yet
		other.add(x)
	}
	all := append(slices.Concat(c.groups, c.codes), c.missing)
	bySize := slices.Clone(all)
	slices.SortStableFunc(bySize, func(a, b count) int { return cmp.Compare(a.records, b.records) })
	joins := map[string]bool{}
	for _, g := range bySize {
		if g.records > 0 && (g.records < least || other.records > 0 && other.records < least) {
			joins[g.name] = true
			other.merge(&g)
		}
	}
	all = slices.DeleteFunc(all, func(g count) bool { return g.records == 0 || joins[g.name] })
	if !c.ranged { // levels
		slices.SortStableFunc(all, func(a, b count) int { return cmp.Compare(b.records, a.records) })
	}
	if other.records >= least {
		all = append(all, other)
	}
	return all
}

func (t *Tally) figures(c *count) Figures {
	n, labelled := float64(c.records), float64(c.labelled)
	share, rate, promise := n/float64(t.all.records), float64(c.positives)/labelled, c.promise/labelled
	shareLow, shareHigh := report.Wilson(share, float64(t.all.records))
	low, high := report.Wilson(rate, labelled)
	x := Figures{Group: c.name, Records: c.records, Share: report.Number(share), ShareLow: report.Number(shareLow),
		ShareHigh: report.Number(shareHigh), Mean: report.Number(c.propensity / n), Labelled: c.labelled,
		Rate: report.Number(rate), RateLow: report.Number(low), RateHigh: report.Number(high),
		Lift:  report.Number(rate / (float64(t.all.positives) / float64(t.all.labelled))),
		Error: report.Number(promise - rate), ErrorLow: report.Number(promise - high),
		ErrorHigh: report.Number(promise - low)}
	if c.labelled < t.least {
		x.withhold()
	}
	return x
}

// withhold leaves out the figures of labels.
func (x *Figures) withhold() {
	nan := report.Number(math.NaN())
	x.Labelled, x.Rate, x.RateLow, x.RateHigh, x.Lift = 0, nan, nan, nan, nan
	x.Error, x.ErrorLow, x.ErrorHigh = nan, nan, nan
}

// labelsTold reports of each group of a column whether it tells figures of labels: not where it has fewer than the
// least number of them. Where such groups have fewer in all, the difference of the others to the figures of all records
// would tell theirs, so the smallest of the others join them.
func labelsTold(shown []count, least int64) []bool {
	told := make([]bool, len(shown))
	bySize := make([]int, len(shown))
	for k := range bySize {
		bySize[k] = k
	}
	slices.SortStableFunc(bySize, func(a, b int) int { return cmp.Compare(shown[a].labelled, shown[b].labelled) })
	var others int64
	for _, k := range bySize {
		if n := shown[k].labelled; n < least || others > 0 && others < least {
			others += n
		} else {
			told[k] = true
		}
	}
	return told
}
