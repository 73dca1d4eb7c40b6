package evaluate

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model"
)

// Evaluation gathers the scored records of a run and computes its Result. It keeps 8 bytes a class and 20 more of every
// scored record and method, and 24 of each skipped one.
type Evaluation struct {
	// Value has the gains tell the profit; the zero value = none is computed.
	Value Value

	schema    *model.Schema
	methods   []string
	skip      int64
	seed      uint64
	sets      []*Set
	lead      int
	drift     *DriftMeter
	short     *DriftMeter // nil once the stream is long enough for drift
	skipped   []knownLabel
	watch     *watch
	uplift    upliftMeter
	groups    *groupMeter // nil where there are none
	intervals intervalMeter
	effects   *importanceMeter
	goals     []goalSet
}

// NewEvaluation evaluates methods, in the order in which they are driven. The first skip records of the stream are not
// counted. seed is that of the bootstrap.
func NewEvaluation(s *model.Schema, methods []Method, skip int64, seed uint64) *Evaluation {
	e := &Evaluation{schema: s, skip: skip, seed: seed, lead: Lead(methods), drift: NewDriftMeter(s, skip, DriftRecords),
		short: NewDriftMeter(s, skip, ShortDriftRecords), watch: newWatch(s),
		uplift: upliftMeter{positive: s.Positive}, intervals: intervalMeter{positive: s.Positive},
		effects: newImportanceMeter(s)}
	for _, m := range methods {
		e.methods = append(e.methods, m.Name)
		e.sets = append(e.sets, NewSet(len(s.Classes)))
	}
	return e
}

// Group has the figures taken by group too: of the values of the features of use: report, and of the segments. It comes
// before the first record.
func (e *Evaluation) Group(o GroupOptions) {
	if len(e.sets) > 0 {
		e.groups = newGroupMeter(e.schema, e.sets[e.lead].target(e.schema.Positive), o)
	}
}

// Set returns the scored records of a method, nil when there is none of that name.
func (e *Evaluation) Set(method string) *Set {
	if i := slices.Index(e.methods, method); i >= 0 {
		return e.sets[i]
	}
	return nil
}

// Add is the Sink of a run.
func (e *Evaluation) Add(r *Record) error {
	if err := e.addGoals(r); err != nil {
		return err
	}
	if r.Index < e.skip {
		if r.Class >= 0 {
			e.skipped = append(e.skipped, knownLabel{r.Index, r.Class, r.Weight})
		}
		return nil
	}
	class, k := "", len(e.schema.Classes)
	if r.Class >= 0 {
		class = e.schema.Classes[r.Class]
	}
	p := r.Scores[e.lead].P[r.Row*k : (r.Row+1)*k]
	target := e.sets[e.lead].target(e.schema.Positive)
	if target < 0 {
		target = segment(p)
	}
	e.drift.Add(r.Batch, r.Row, class, p[target])
	if e.short != nil {
		if e.short.Add(r.Batch, r.Row, class, p[target]); e.short.seen > 2*DriftRecords {
			e.short = nil
		}
	}
	e.effects.add(r, r.Scores[e.lead])
	e.watch.add(r, r.Scores[e.lead].Model, p)
	if r.Class < 0 {
		return nil
	}
	e.uplift.add(r, r.Scores[e.lead])
	e.groups.add(r, r.Scores[e.lead])
	e.intervals.add(r, r.Scores[e.lead])
	for m, s := range e.sets {
		out := r.Scores[m]
		if err := s.Add(r.Index, out.P[r.Row*k:(r.Row+1)*k], r.Class, r.Weight); err != nil {
			return fmt.Errorf("method %s: %w", e.methods[m], err)
		}
		features, _ := out.SubspaceOf(r.Row)
		s.Selected += float64(len(features))
		why := out.WhyOf(r.Row)
		for k := range why {
			if why[k].Counts() {
				s.Reasons++
			} else if why[k].Matters() {
				s.Untold++
			}
			if why[k].Conflicts() {
				s.Conflicts++
			}
		}
	}
	return nil
}

// Result computes the figures. Gains and curve are those of the method all, else of the first one. Folds hands records
// over fold by fold, where drift and the baselines mean nothing and are left out.
func (e *Evaluation) Result(run Run) (*Result, error) {
	r := &Result{
		Protocol:         run.Protocol,
		Delay:            run.Delay,
		Partitions:       run.Partitions,
		Records:          run.Records,
		Classes:          e.schema.Classes,
		Methods:          map[string]*Metrics{},
		Against:          map[string]*Difference{},
		Gains:            []Gain{},
		Curve:            []CurvePoint{},
		Drift:            []Drift{},
		DriftPoints:      []DriftPoint{},
		Alarms:           []Alarm{},
		Stability:        run.Stability,
		Fits:             []Fit{},
		RecordsPerSecond: Number(math.NaN()),
	}
	for i := range run.Verdicts {
		r.Fits = append(r.Fits, NewFit(&run.Verdicts[i]))
	}
	if e.schema.Positive >= 0 {
		r.Positive = e.schema.Classes[e.schema.Positive]
	}
	r.Uplift, r.Groups = e.uplift.result(), e.groups.result(e.seed)
	r.Intervals, r.Importance = e.intervals.result(), e.effects.result()
	r.Goals = e.goalFigures()
	for _, s := range e.sets {
		s.Sort()
	}
	var gini Interval // of the lead
	if len(e.sets) > 0 {
		main := e.sets[e.lead]
		r.Scored = int64(main.Len())
		r.Gains, r.Curve = main.Gains(e.schema.Positive), main.Curve()
		if len(r.Gains) > 0 {
			r.Profit, gini = gainsIntervals(main, r.Gains, main.target(e.schema.Positive), e.Value, e.seed)
		}
		if run.Protocol == "prequential" {
			r.Drift, r.DriftRecords = e.drift.Report(), DriftRecords
			if len(r.Drift) == 0 && e.short != nil {
				r.Drift, r.DriftRecords = e.short.Report(), ShortDriftRecords
			}
			r.DriftPoints, r.Alarms = driftPoints(main), e.watch.alarms
			b := main.baselines(e.skipped, run.Delay)
			r.Baselines = &b
		}
	}
	for m, s := range e.sets {
		of := figures(s, e.schema.Positive, e.seed)
		if of.GiniInterval = gini; m != e.lead || len(r.Gains) == 0 || s.Classes > 2 {
			of.GiniInterval = giniInterval(s, e.schema.Positive, e.seed)
		}
		if b := r.Baselines; b != nil {
			of.KappaTemporal = Number(beyond(float64(of.Accuracy), float64(b.NoChange)))
			of.KappaMajority = Number(beyond(float64(of.Accuracy), float64(b.Majority)))
		}
		r.Methods[e.methods[m]] = of
		if all := e.Set(MethodAll); all != nil && all != s {
			d, err := all.Compare(s, e.seed)
			if err != nil {
				return nil, fmt.Errorf("comparing %s: %w", e.methods[m], err)
			}
			r.Against[e.methods[m]] = d
		}
	}
	return r, nil
}
