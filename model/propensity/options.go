package propensity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"liftstream/model"
)

// Calibration says how raw log-odds are turned into calibrated ones (METHOD.md 5).
type Calibration struct {
	Knots    int     // on the log-odds from -6 to 6, at least 2
	HalfLife float64 // in labelled records
	Prior    float64 // pseudo-records of the identity at each knot
}

// Block announces the inputs of one component. The blocks stand in the order of the Spec's components, in which their
// inputs arrive; Effects reports block b under the term model.TermOf(b).
type Block struct {
	Name   string // of the component: states and parts know a block by it
	Inputs int    // the largest number that it can ever offer
	Fitted bool   // see model.Contribution
}

// Options are the choices of a scorecard; they mirror the `propensity:` section of the configuration.
type Options struct {
	Cells       int              // quantile cells of one continuous feature, atoms apart; default 15
	HalfLives   []model.HalfLife // memories of the counts; default 3, 20, 200 and 2000 labelled records, and for ever
	Prior       float64          // pseudo-records of the base rate in a cell; default 5
	Step        float64          // AdaGrad step of the boldest card, the others follow; default 0.1
	Linear      bool             // continuous features are inputs as well, ordinal ones by rank; default true
	Follow      bool             // no feature's effect goes against its lift, see Scorecard.Effects; default false
	Alone       bool             // scores are the mixture's, without the last layer; default false
	Calibration Calibration      // default 25 knots, a half-life of 3000, 20 pseudo-records
	Blocks      []Block          // inputs of the components
	// Founding are the blocks of states and parts that do not name theirs; nil = Blocks. Under exactly these blocks
	// states and parts are written without names.
	Founding []Block
}

// Default returns the options with which TestThresholds was measured.
func Default() Options {
	return Options{
		Cells:       15,
		HalfLives:   []model.HalfLife{{Records: 3}, {Records: 20}, {Records: 200}, {Records: 2000}, {}},
		Prior:       5,
		Step:        .1,
		Linear:      true,
		Calibration: Calibration{Knots: 25, HalfLife: 3000, Prior: 20},
	}
}

// cards is the number of scorecards that are mixed; pair and the unrolled loops of the two-class path rely on it.
const cards = 4

// recipe is one of the mixed scorecards (METHOD.md 6): its starting weight, shared out over the
// horizons that it uses; its AdaGrad steps as multiples of Options.Step; how many of the longest horizons it uses, 0
// for all; and the starting weight of an entered set. The recipes stand in order of falling use of horizons, so that
// the users of a horizon are a prefix.
type recipe struct {
	start, step, cellStep float64
	horizons              int
	sets                  float64
}

// tuning holds the settings that were chosen by measuring. Nobody else chooses them.
type tuning struct {
	recipes    [cards]recipe
	rate       float64 // at which the mixture of experts learns from log-losses
	fixedShare float64 // of the mixture
	// rateFloor is the number of records of each class that never fade from a base rate: it keeps it inside (0, 1).
	rateFloor float64
	// perCell is the least number of records for one quantile cell; 0 = the rule of METHOD.md 3: all q cells from 51
	// records on, else one.
	perCell int
	// few is the number of features up to which the recipes hold as they are.
	few float64
	// zeroPrior puts the pseudo-record of the linear inputs' moments at 0 with variance 1, at any scale.
	zeroPrior bool
	// smoothing lets log-lifts run linearly between cells of features that are not mostly atoms.
	smoothing bool
	// late is the number of half-lives that labels may come late before the counts of a horizon say half as much of now as
	// they do without a lag; 0 = they always say all of it.
	late float64
	// blindStart learns from memories of the time before the first record was learnt, too.
	blindStart bool
	// corrects is set where the mixture is corrected by its own recent residuals.
	corrects bool
}

// standard are the settings that TestThresholds bounds; those of METHOD.md 6.1 did worse on bank marketing without
// duration. An entered set's values are shrunken log-odds that were fitted beside the single features, so 1 is their
// natural weight. They begin with it on the two cards of the longest memories, the models most like the one beside
// which they were fitted. A card that also has short memories follows a stream that moves, where the set of an earlier
// time misleads it, and begins with 0.
var standard = tuning{
	recipes:    [cards]recipe{{.3, 1.5, .5, 0, 0}, {.15, .2, .2, 0, 0}, {.05, .2, .2, 2, 1}, {.15, .2, 1, 1, 1}},
	rate:       .5,
	fixedShare: .003,
	rateFloor:  .1,
	perCell:    4,
	few:        20,
	smoothing:  true,
	late:       30,
	corrects:   true,
}

const (
	lagMemory = 1000.     // records over which the lag of labels is averaged
	maxLogit  = 12.       // log-odds are clipped here before they become a probability
	knotEdge  = 6.        // outermost knots of the calibration
	maxTable  = 1 << 15   // bound of levels times classes of one nominal feature; later levels share the cell "other"
	maxTables = 1 << 20   // the same of all features together: about 110 MB, and some of them in a fit
	experts   = 2 * cards // every card, raw and calibrated
)

// feature is one scored feature of the schema.
type feature struct {
	index  int // in Schema.Features
	kind   model.Kind
	want   model.Direction
	fixed  int // levels of a fixed list, 0 when they are learnt
	linear int // position among the linear inputs, -1 when it is none
	// special is the number of special codes; cuts, least and trend are those of model.Feature.
	special int
	cuts    []float64
	least   float64
	trend   model.Direction
}

// layout is the shape of every table but the cells. Schema and options fix it for ever.
type layout struct {
	features []feature
	classes  int
	// margins is the number of scores that a card computes: 1 for two classes (class 1 against class 0), else one a class.
	margins  int
	horizons int // half-lives that make inputs, shortest first
	// half holds the half-lives of the counts: the horizons, and "for ever" at the end when it is not among them.
	half    []model.HalfLife
	forever int // index in half
	linear  int // linear inputs
	extern  int // external input slots
	slots   int // shared inputs: features x horizons, horizons, external
	knots   int // of each table of the calibration
	levels  int // most levels of a nominal feature that get cells of their own
	further int // cells of the further levels of a nominal feature, see further
	// residuals is the number of half-lives over which residuals are remembered.
	residuals int
}

// plan holds everything that schema and options fix for ever.
type plan struct {
	layout
	tuning
	schema  *model.Schema
	opt     Options
	fitted  []bool           // of each external input slot: see Block
	using   []int            // cards that use each horizon, always a prefix of at least two
	masks   [][cards]uint64  // likewise, see maskOf
	between []float64        // of each pair of horizons, see there
	way     []float64        // likewise, see ways
	told    float64          // shownFrom the features
	start   [][cards]float64 // share of each horizon in the horizons that a card uses
}

func newPlan(opt Options, s *model.Schema) *plan { return newPlanOf(opt, s, standard) }

func newPlanOf(opt Options, s *model.Schema, t tuning) *plan {
	p := &plan{schema: s, opt: opt.withDefaults(), tuning: t}
	p.corrects = t.corrects && !p.opt.Alone
	p.classes, p.margins, p.knots = len(s.Classes), len(s.Classes), p.opt.Calibration.Knots
	if p.classes == 2 {
		p.margins = 1
	}
	if p.corrects {
		p.residuals = residualInputs
	}
	p.choose()
	p.levels = affordable(p.features, p.classes)
	p.further = furtherCells(p.features, p.classes)
	p.soften()
	p.sort()
	for _, b := range p.opt.Blocks {
		p.extern += b.Inputs
		p.fitted = append(p.fitted, slices.Repeat([]bool{b.Fitted}, b.Inputs)...)
	}
	p.slots = (len(p.features)+1)*p.horizons + p.extern
	p.divide()
	p.told = shownFrom(len(p.features))
	p.between = between(p.half[:p.horizons])
	p.way = ways(p.between, p.horizons, p.forever)
	return p
}

// mostLevels bounds the levels of a nominal feature that get cells of their own, other features apart.
func mostLevels(classes int) int { return min(model.MaxLevels, max(64, maxTable/classes)) }

// fewestLevels get cells of their own, however many features there are.
const fewestLevels = 8

// affordable is the largest number of levels with cells of their own, up to mostLevels, with which the tables of all
// features keep to maxTables.
func affordable(features []feature, classes int) int {
	cells := func(levels int) (n int) {
		for i := range features {
			if f := &features[i]; f.kind != model.Continuous && f.fixed > 0 {
				n += min(f.fixed, levels)
			} else if f.kind != model.Continuous {
				n += levels
			}
		}
		return n * classes
	}
	over := sort.Search(mostLevels(classes)-fewestLevels, func(k int) bool { return cells(fewestLevels+1+k) > maxTables })
	return fewestLevels + over
}

// withDefaults returns the options with defaults for values that are zero or out of range.
func (o Options) withDefaults() Options {
	d := Default()
	if o.Cells < 1 {
		o.Cells = d.Cells
	}
	if len(o.HalfLives) == 0 {
		o.HalfLives = d.HalfLives
	}
	if !(o.Prior > 0) {
		o.Prior = d.Prior
	}
	if !(o.Step > 0) {
		o.Step = d.Step
	}
	if o.Calibration.Knots < 2 {
		o.Calibration.Knots = d.Calibration.Knots
	}
	if !(o.Calibration.HalfLife > 0) {
		o.Calibration.HalfLife = d.Calibration.HalfLife
	}
	if !(o.Calibration.Prior > 0) {
		o.Calibration.Prior = d.Calibration.Prior
	}
	return o
}

// choose fills p.features with the features of the schema that are scored, and counts the linear inputs.
func (p *plan) choose() {
	for i, f := range p.schema.Features {
		if f.Use != model.UseScore {
			continue
		}
		x := feature{index: i, kind: f.Kind, want: f.Monotone, fixed: len(f.Levels), linear: -1,
			special: len(f.Special), cuts: f.Cuts, least: f.Least, trend: f.Trend}
		if f.Kind == model.Nominal || p.schema.Positive < 0 {
			x.want = model.Free
		}
		if f.Kind != model.Nominal && p.opt.Linear {
			x.linear = p.linear
			p.linear++
		}
		p.features = append(p.features, x)
	}
}

// soften makes starting weights and steps smaller where there are many features: the more features tell the same, the
// smaller the share of each at first, and the shorter must be the steps of a sum of so many weights.
func (p *plan) soften() {
	n, most := float64(len(p.features)), p.few
	if !(n > most) {
		return
	}
	for k := range p.recipes {
		p.recipes[k].start *= most / n
		p.recipes[k].step *= math.Sqrt(most / n)
		p.recipes[k].cellStep *= math.Sqrt(most / n)
	}
}

// sort fills p.half with the half-lives by length, "for ever" at the end.
func (p *plan) sort() {
	p.half = slices.Clone(p.opt.HalfLives)
	slices.SortStableFunc(p.half, func(a, b model.HalfLife) int { return cmp.Compare(span(a), span(b)) })
	p.horizons, p.forever = len(p.half), -1
	for i, h := range p.half {
		if h == (model.HalfLife{}) {
			p.forever = i
		}
	}
	if p.forever < 0 {
		p.forever = len(p.half)
		p.half = append(p.half, model.HalfLife{})
	}
}

// divide counts the cards that use each horizon, and shares the weight of a card out over its horizons.
func (p *plan) divide() {
	p.using, p.start = make([]int, p.horizons), make([][cards]float64, p.horizons)
	for h := range p.start {
		for k, r := range p.recipes {
			n := r.horizons
			if n == 0 || n > p.horizons {
				n = p.horizons
			}
			if h >= p.horizons-n {
				p.using[h]++
				p.start[h][k] = 1 / float64(n)
			}
		}
		p.masks = append(p.masks, maskOf(p.using[h]))
	}
}

// span orders half-lives: record counts, then durations, then for ever.
func span(h model.HalfLife) float64 {
	switch {
	case h.Records > 0:
		return h.Records
	case h.Duration > 0:
		return 1e12 + float64(h.Duration)
	}
	return math.Inf(1)
}

// prior returns the pair with which shared slot i starts.
func (p *plan) prior(i int) pair {
	v := pair{g: [cards]float64{1, 1, 1, 1}}
	n := len(p.features) * p.horizons
	switch {
	case i < n:
		v.w = p.start[i%p.horizons]
		for k, r := range p.recipes {
			v.w[k] *= r.start
		}
	case i < n+p.horizons:
		v.w = p.start[i-n]
	case p.fitted[i-n-p.horizons]:
		for k, r := range p.recipes {
			v.w[k] = r.sets
		}
	}
	return v
}

var fresh = pair{g: [cards]float64{1, 1, 1, 1}}

func (p *plan) check(s *model.Schema) error {
	if len(s.Classes) != p.classes || len(s.Features) != len(p.schema.Features) {
		return fmt.Errorf("evidence of %d features and %d classes, the scorecard has %d and %d",
			len(s.Features), len(s.Classes), len(p.schema.Features), p.classes)
	}
	return nil
}

// pair holds a weight of each card and its AdaGrad sum of squared gradients G, which starts at 1. In shares w holds the
// product of both, so that shares add up.
type pair struct{ w, g [cards]float64 }
