// Package assemble turns a configuration into a stage: the schema, the components, their options, and the contract of
// the columns. Every command and the stage use it, so that they agree.
//
// Begin at New; components.go has the one table of components.
package assemble

import (
	"fmt"
	"math"
	"slices"

	"liftstream/codec"
	"liftstream/codec/number"
	"liftstream/codec/registry"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/groups"
	"liftstream/model/kernel"
	"liftstream/model/kernel/lp"
	"liftstream/model/lift"
	"liftstream/model/local"
	"liftstream/model/propensity"
	"liftstream/model/trees"
)

// Stage holds the records and the models of a configuration.
type Stage struct {
	Config *config.Config
	Spec   *model.Spec
	Codec  codec.Options
	// Segments are the named segments of the configuration, by name.
	Segments []groups.Segment
	// Registry is the schema registry of the configuration, nil = it has none.
	Registry *registry.Registry

	parts     []part
	scorecard propensity.Options // without the blocks
}

// New returns the stage of a configuration that config.Load accepted. It fails where this build cannot do as the
// configuration asks.
func New(c *config.Config) (*Stage, error) {
	schema := Schema(c)
	scorecard, err := scorecardOptions(c)
	if err != nil {
		return nil, err
	}
	scorecard.Founding = founding(c, schema)
	s := &Stage{Config: c, Codec: columns(c, schema), parts: parts(c, schema), scorecard: scorecard}
	if s.Segments, err = segments(c, schema); err != nil {
		return nil, err
	}
	if s.Codec.Derived, err = derivations(c, schema); err != nil {
		return nil, err
	}
	if s.Registry, err = newRegistry(c.Registry); err != nil {
		return nil, err
	}
	if s.Registry != nil {
		s.Codec.Schemas = s.Registry
	}
	if err := s.frame(); err != nil {
		return nil, err
	}
	s.Spec = s.spec(schema, s.parts)
	s.Codec.Recency = s.Spec.Options.Recency
	if err := s.Spec.Check(); err != nil {
		return nil, err
	}
	return s, nil
}

// Load is New of the configuration in a file, which load reads. The stage keeps the configuration.
func Load(load func(file string) (*config.Config, error), file string) (*Stage, error) {
	c, err := load(file)
	if err != nil {
		return nil, err
	}
	s, err := New(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

func (s *Stage) spec(schema *model.Schema, parts []part) *model.Spec {
	spec, o := &model.Spec{Schema: schema, Options: options(s.Config, schema)}, s.scorecard
	for _, x := range parts {
		spec.Components = append(spec.Components, x.factory)
	}
	o.Blocks = propensity.BlocksOf(spec)
	spec.Scorecard = propensity.New(o, schema)
	return spec
}

// Under returns the Spec and the contract of columns of the same configuration with another schema: those under which a
// state of that fingerprint was made, if all else was the same.
func (s *Stage) Under(schema *model.Schema, fingerprint uint64) (*model.Spec, codec.Options, error) {
	spec := s.spec(schema, parts(s.Config, schema))
	spec.Options.Fingerprint = fingerprint
	o := columns(s.Config, schema)
	var err error
	if o.Derived, err = derivations(s.Config, schema); err != nil {
		return nil, o, err
	}
	o.Recency = spec.Options.Recency
	o.Budget, o.Schemas, o.Frame = s.Codec.Budget, s.Codec.Schemas, s.Codec.Frame
	return spec, o, nil
}

// Scoring returns the Spec with the components of these names alone, all of them if none is named, and without the
// figures that are only reported: with all of them its scores are the same bits but for the profiles, and its fits do
// not search those. Its models do not fit Spec.
func (s *Stage) Scoring(names ...string) *model.Spec {
	spec, o := *s.Spec, s.scorecard
	spec.Components, spec.Options.FalseAlarms, o.Founding = nil, 0, nil
	for _, x := range s.parts {
		if len(names) == 0 || x.beside || slices.Contains(names, x.factory.Name()) {
			spec.Components = append(spec.Components, x.scoring)
		}
	}
	o.Blocks = propensity.BlocksOf(&spec)
	spec.Scorecard = propensity.New(o, spec.Schema)
	return &spec
}

// Neighbours is the name under which Alone returns plain nearest neighbours.
const Neighbours = "knn"

// Alone returns the Spec of the component of that name, local, kernel or Neighbours, under a scorecard that adds
// nothing of its own to its log-lifts but the base rates: how good the component is by itself.
func (s *Stage) Alone(name string) *model.Spec {
	if name == Neighbours {
		spec, o := *s.Spec, localOptions(s.Config)
		o.Plain = true
		spec.Components = []model.Factory{local.New(o, spec.Schema)}
		spec.Scorecard = evaluate.Alone(spec.Schema)
		return &spec
	}
	spec := *s.Spec
	spec.Components, spec.Scorecard = nil, evaluate.Alone(spec.Schema)
	for _, x := range s.parts {
		if x.factory.Name() == name {
			spec.Components = append(spec.Components, x.alone)
		}
	}
	return &spec
}

// Kernel returns the options of the kernel.
func (s *Stage) Kernel() kernel.Options { return kernelOptions(s.Config) }

func localOptions(c *config.Config) local.Options {
	l := &c.Local
	o := local.Options{
		Theta: l.Theta.Value, Neighbours: l.Neighbours, Prototypes: l.Prototypes, Newest: l.Newest,
		Width: l.Width, Observations: l.Observations, ReferenceSD: l.ReferenceSD,
		Pool:     local.Pool{Bytes: int(l.Pool.Bytes), HalfLife: model.HalfLife(l.Pool.HalfLife)},
		HalfLife: model.HalfLife(l.HalfLife),
	}
	if l.Theta.Auto {
		o.Theta = local.Auto
	}
	if l.Observation == config.ObservationRecord {
		o.Observation = local.PerRecord
	}
	if l.Score == config.ScoreBalanced {
		o.Score = local.Balanced
	}
	if l.Redundancy == config.RedundancyMax {
		o.Redundancy = local.Max
	}
	switch l.Divergence {
	case config.DivergenceTo:
		o.Divergence = local.ToReference
	case config.DivergenceLower:
		o.Divergence = local.LowerBound
	}
	return o
}

func kernelOptions(c *config.Config) kernel.Options {
	k := &c.Kernel
	o := kernel.Options{Widths: k.Widths, Gamma1: math.NaN(), Gamma2: math.NaN(), Triples: k.Triples}
	if !k.Gamma1.Auto {
		o.Gamma1 = k.Gamma1.Value
	}
	if !k.Gamma2.Auto {
		o.Gamma2 = k.Gamma2.Value
	}
	switch k.Mode {
	case config.KernelRidge:
		o.Mode = lp.Ridge
	case config.KernelLiteral:
		o.Mode = lp.Literal
	}
	o.Full = k.Shape.Full()
	switch k.Shape {
	case config.KernelTriangular:
		o.Shape = kernel.Triangular
	case config.KernelFullPolynomial:
		o.Shape = kernel.Polynomial
	case config.KernelFullLinear:
		o.Shape = kernel.Linear
	}
	o.Single = k.Groups == config.KernelSingle
	switch k.Input {
	case config.KernelSum:
		o.Input = kernel.Sum
	case config.KernelProduct:
		o.Input = kernel.Product
	}
	return o
}

func treesOptions(c *config.Config) trees.Options {
	t := &c.Trees
	return trees.Options{Rounds: t.Rounds, Leaves: t.Leaves, Rate: t.Rate, Gate: t.Gate, HalfLife: t.HalfLife}
}

// Schema returns the features that are looked at, in configuration order: those with use: never are not among them.
func Schema(c *config.Config) *model.Schema {
	s := &model.Schema{Classes: c.Record.Label.Classes, Positive: -1}
	if c.Record.Label.Positive != "" {
		s.Positive = s.Class(c.Record.Label.Positive)
	}
	for _, f := range c.Record.Features {
		if f.Use == config.UseNever {
			continue
		}
		x := model.Feature{Name: f.Name, Levels: f.Levels, Derived: c.Derive[f.Name]}
		switch f.Kind {
		case config.KindContinuous:
			x.Kind = model.Continuous
			x.Special, x.Cuts = special(f.Special), special(f.Cuts)
			if f.Bins != nil {
				x.Least, x.Trend = f.Bins.Min, direction(f.Bins.Monotone)
			}
		case config.KindOrdinal:
			x.Kind = model.Ordinal
		case config.KindNominal:
			x.Kind = model.Nominal
		}
		if f.Use == config.UseReport {
			x.Use = model.UseReport
		}
		x.Monotone = direction(c.Propensity.Monotone[f.Name])
		s.Features = append(s.Features, x)
	}
	return s
}

func direction(d config.Direction) model.Direction {
	switch d {
	case config.DirectionUp:
		return model.Up
	case config.DirectionDown:
		return model.Down
	case config.DirectionAuto:
		return model.Auto
	}
	return model.Free
}

// special is codes or cuts in ascending order, nil where there are none; negative zero is 0.
func special(codes []float64) []float64 {
	var out []float64
	for _, v := range codes {
		out = append(out, v+0)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func options(c *config.Config, s *model.Schema) model.Options {
	o := model.Options{
		Fingerprint:      c.Fingerprint(),
		Frame:            c.Frame(),
		Warmup:           c.Fit.Warmup,
		TailBytes:        int64(c.Memory.Tail),
		FitBytes:         int64(c.Memory.Fit),
		ReservoirRecords: c.Fit.Reservoir.Records,
		ReservoirBytes:   int64(c.Fit.Reservoir.Bytes),
		ExpireAs:         model.Unlabelled,
		Why:              c.Output.Why,
		GoalReasons:      c.Output.Goals == config.GoalsWhy,
		MinCount:         c.MinCount,
		Interval:         float64(c.Output.Interval),
		Gate:             c.Fit.Gate,
		Seed:             uint64(c.Fit.Seed),
	}
	o.BaseRates, o.Recency = baseRates(&c.Propensity, s), recent(c, s)
	if !c.Drift.Off {
		o.FalseAlarms = c.Drift.FalseAlarms
	}
	if d := c.Dedup; d != nil {
		o.DedupWindow, o.DedupBytes = int64(d.Window), int64(d.MaxBytes)
	}
	if x := c.Control; x != nil {
		o.Control = model.Control{Share: x.Share, ByRecord: x.By == config.ControlByRecord, Seed: uint64(x.Seed),
			Uplift: x.Uplift == config.ControlUpliftOn}
		switch x.Learn {
		case config.ControlLearnControl:
			o.Control.Learn = model.LearnControl
		case config.ControlLearnUntreated:
			o.Control.Learn = model.LearnUntreated
		}
	}
	if l := c.Labels; l != nil {
		o.WaitBytes = int64(l.MaxBytes)
		o.WaitWindow = int64(l.Window)
		o.Correct = l.Late == config.LateCorrect
		if l.OnExpiry != config.OnExpiryDrop {
			o.ExpireAs = int32(s.Class(l.OnExpiry))
		}
		if o.CorrectFor = int64(l.Correct); o.CorrectFor == 0 {
			o.CorrectFor = o.WaitWindow
		}
		switch l.Match {
		case config.MatchFirst:
			o.Match = model.MatchFirst
		case config.MatchAll:
			o.Match = model.MatchAll
		}
	}
	return o
}

// baseRates are the configured base rates as pseudo-records, propensity.prior of them; nil where none are configured.
func baseRates(p *config.Propensity, s *model.Schema) []float64 {
	if len(p.BaseRates) == 0 {
		return nil
	}
	var sum float64
	for _, class := range s.Classes {
		sum += p.BaseRates[class]
	}
	out := make([]float64, len(s.Classes))
	for i, class := range s.Classes {
		out[i] = p.Prior * p.BaseRates[class] / sum
	}
	return out
}

func liftOptions(c *config.Config, s *model.Schema) lift.Options {
	l := &c.Lift
	o := lift.Options{
		Quantiles: l.Quantiles,
		Enter:     true,
		Sets:      lift.SetOptions{Min: l.Sets.Min, Max: l.Sets.Max, Top: l.Sets.Top},
		Windows: lift.WindowOptions{Top: l.Windows.Top, MinMass: l.Windows.MinMass, Contiguous: l.Windows.Contiguous,
			Fold: l.Windows.Overlapping == config.RedundantDrop},
		Profiles: lift.ProfileOptions{
			Top:           l.Profiles.Top,
			MinSupport:    l.Profiles.MinSupport,
			MaxFeatures:   l.Profiles.MaxFeatures,
			KeepRedundant: l.Profiles.Redundant == config.RedundantKeep,
			Validate:      l.Profiles.Validate,
			MinCount:      c.MinCount,
		},
	}
	if l.Sets.Rank == config.SetRankLeaveOneOut {
		o.Sets.Rank = lift.ByLeaveOneOut
	}
	switch l.Profiles.Rank {
	case config.ProfileRankLower:
		o.Profiles.Rank = lift.ByLower
	case config.ProfileRankValidated:
		o.Profiles.Rank = lift.ByValidated
	}
	if l.Joint == config.JointProduct {
		o.Joint = lift.Product
	}
	switch l.Sets.Search {
	case config.SearchExhaustive:
		o.Sets.Search = lift.Exhaustive
	case config.SearchBeam:
		o.Sets.Search = lift.Beam
	}
	for _, class := range l.Profiles.Of {
		o.Profiles.Of = append(o.Profiles.Of, int32(s.Class(class)))
	}
	return o
}

func scorecardOptions(c *config.Config) (propensity.Options, error) {
	p := &c.Propensity
	if p.Calibration.HalfLife.Duration != 0 {
		return propensity.Options{}, fmt.Errorf("propensity.calibration.half_life: %s: a calibration forgets by labelled "+
			"records here; give their number", p.Calibration.HalfLife)
	}
	o := propensity.Options{
		Cells:  p.Cells,
		Prior:  p.Prior,
		Step:   p.Step,
		Linear: p.Linear,
		Follow: p.Sign == config.SignFollow,
		Alone:  p.Residuals == config.ResidualsOff,
		Calibration: propensity.Calibration{
			Knots:    p.Calibration.Knots,
			HalfLife: p.Calibration.HalfLife.Records,
			Prior:    p.Calibration.Prior,
		},
	}
	if p.Calibration.HalfLife.Forever() {
		o.Calibration.HalfLife = math.Inf(1)
	}
	for _, h := range p.HalfLives {
		o.HalfLives = append(o.HalfLives, model.HalfLife{Records: h.Records, Duration: h.Duration})
	}
	return o, nil
}

// columns is the contract between the columns of a record and the schema.
func columns(c *config.Config, s *model.Schema) codec.Options {
	o := codec.Options{
		Schema:   s,
		ID:       c.Record.ID,
		Time:     c.Record.Time.Column,
		TimeUnit: c.Record.Time.Unit.Std(),
		Weight:   c.Record.Weight,
		Label:    c.Record.Label.Column,
		Goals:    goalColumns(c), GoalReasons: c.Output.Goals == config.GoalsWhy,
		Missing: c.Record.Missing,
		Numbers: number.Format{Decimal: c.Format.Decimal, Thousands: c.Format.Thousands, Percent: c.Format.Percent,
			Currency: c.Format.Currency},
		MaxMessage: int64(c.Memory.Message),
		Budget:     codec.NewBudget(int64(c.Memory.Decoded)),
		Nullable:   map[string]bool{},
		Future:     c.Policy.Future.Std(),
		Past:       c.Policy.Past.Std(),
	}
	for _, f := range c.Record.Features {
		switch f.Nullable {
		case config.NullableColumn:
			o.Nullable[f.Name] = true
		case config.NullableNever:
			o.Nullable[f.Name] = false
		}
	}
	o.Dedup, o.Control, o.Interval = c.Dedup != nil, c.Control != nil, c.Output.Interval > 0
	o.Unusual = c.Output.Unusual > 0
	if c.Control != nil {
		o.Treated, o.Uplift = c.Control.Treated, c.Control.Uplift == config.ControlUpliftOn
	}
	switch c.Output.Features {
	case config.FeaturesSelected:
		o.Features = codec.FeaturesSelected
	case config.FeaturesAll:
		o.Features = codec.FeaturesAll
	}
	o.Input, o.Nested = inputs[c.Input.Format], c.Input.Nested == config.NestedOn
	o.Attributes = c.Input.CloudEvents == config.SwitchedOn
	o.Format = outputs[c.Output.Format]
	return o
}
