package local

import (
	"encoding/binary"
	"fmt"
	"math"

	"liftstream/model"
	"liftstream/model/gp"
	"liftstream/model/wire"
)

// partFormat and stateFormat are the versions of the binary forms, which FORMAT.md describes.
const (
	partFormat  = 4
	stateFormat = 4
)

// Bounds of the sizes in a part or a state.
const (
	maxPrototypes = 1 << 20
	maxPartitions = 1 << 16
	maxTrials     = 1 << 10
	maxNeighbours = 1 << 10
	maxCap        = 1 << 5
)

// Part is the local component's part of a Model.
type Part struct {
	structure *structure
	shares    []share
	pools     *pools // nil where no observations are kept
}

// CurveReport describes the curve or the level table of one feature.
type CurveReport struct {
	Feature int
	gp.Params
	Observations             int
	LogLikelihood            float64
	MeanBound, VarianceBound float64 // proved bounds of the error of the tabulated curve
	Neutral                  float64 // score of an uninformative feature
}

// Report describes a fit.
type Report struct {
	// Theta is the threshold of paper A's subspace, Useless the mean relevance of an uninformative feature.
	Theta, Useless float64
	Measure        Measure
	Neighbours     int
	Prototypes     int
	Curves         []CurveReport // of the features that can be selected; a level table has no Params
	Trials         []Trial
}

// Report describes the fit of the part.
func (p *Part) Report() Report {
	s := p.structure
	r := Report{Theta: s.theta, Useless: s.useless, Measure: s.measure, Neighbours: s.neighbours,
		Prototypes: len(s.prototypes.class), Trials: s.trials}
	for j := range s.features {
		f := &s.features[j]
		if !f.candidate() {
			continue
		}
		c := CurveReport{Feature: j, Observations: f.observations, LogLikelihood: f.likelihood, Neutral: f.neutral}
		if f.curve != nil {
			c.Params, c.MeanBound, c.VarianceBound = f.curve.Params, f.curve.MeanBound, f.curve.VarianceBound
		}
		r.Curves = append(r.Curves, c)
	}
	return r
}

func (p *Part) appendBinary(b []byte) []byte {
	if p.pools != nil {
		b = p.pools.appendBinary(b)
	}
	b = wire.AppendUvarint(b, p.structure.format())
	b = p.structure.appendBinary(b)
	b = wire.AppendUvarint(b, uint64(len(p.shares)))
	classes := len(p.structure.base)
	for i := range p.shares {
		b = wire.AppendVarint(b, int64(p.shares[i].partition))
		for _, g := range p.shares[i].counts {
			b = g.appendBinary(b, classes)
		}
	}
	return b
}

// DecodePart reads a part that Fit returned for the schema.
func DecodePart(s *model.Schema, b []byte) (*Part, error) {
	r := wire.NewReader(b)
	p := &Part{}
	format := r.Uvarint()
	if format == poolsFormat {
		p.pools = decodePools(r, s)
		format = r.Uvarint()
	}
	if r.Err() == nil && (format < 1 || format > partFormat) {
		return nil, fmt.Errorf("format %d, this build reads %d and before", format, partFormat)
	}
	p.structure = decodeStructure(r, s, format)
	for n := r.Int(maxPartitions); n > 0 && r.Err() == nil; n-- {
		v := r.Varint()
		if int64(int32(v)) != v || len(p.shares) > 0 && int32(v) <= p.shares[len(p.shares)-1].partition {
			r.Fail(fmt.Errorf("partition %d is out of order", v))
			break
		}
		p.shares = append(p.shares, share{int32(v), decodeHistograms(r, p.structure, format)})
	}
	if err := r.Done(); err != nil {
		return nil, err
	}
	p.structure.prepare()
	return p, nil
}

func decodeHistograms(r *wire.Reader, s *structure, format uint64) []*histogram {
	out := make([]*histogram, len(s.features))
	for j := range out {
		if r.Err() != nil {
			return out
		}
		out[j] = decodeHistogram(r, &s.features[j].axis, len(s.base), format)
	}
	return out
}

// AppendState appends the structure and this partition's counts: with them the component goes on without its Model.
func (c *Component) AppendState(b []byte) []byte {
	if c.structure == nil {
		return wire.AppendBool(wire.AppendUvarint(b, withoutNewest), false)
	}
	b = wire.AppendUvarint(b, c.structure.format())
	b = wire.AppendBool(b, true)
	b = c.structure.appendBinary(b)
	for _, g := range c.own {
		b = g.appendBinary(b, len(c.schema.Classes))
	}
	if c.structure.newest > 0 {
		b = c.newest.appendBinary(b, len(c.schema.Features))
	}
	return b
}

// LoadState replaces the state by one that AppendState wrote.
func (c *Component) LoadState(b []byte) error {
	if err := c.LoadToRebase(b); err != nil || c.structure == nil {
		return err
	}
	c.structure.prepare()
	c.install(c.structure, c.own)
	c.newest.rebase(c.structure, nil)
	return nil
}

// LoadToRebase is LoadState without the tables of the search for neighbours, of which neither a rebase nor a fit reads
// anything: making them takes longer than all else.
func (c *Component) LoadToRebase(b []byte) error {
	r := wire.NewReader(b)
	format := r.Uvarint()
	if r.Err() == nil && (format < 1 || format > stateFormat) {
		return fmt.Errorf("format %d, this build reads %d and before", format, stateFormat)
	}
	if !r.Bool() {
		c.structure, c.own, c.work, c.newest = nil, nil, nil, newest{}
		return r.Done()
	}
	s := decodeStructure(r, c.schema, format)
	own := decodeHistograms(r, s, format)
	var n newest
	if format > withoutNewest && r.Err() == nil {
		n = decodeNewest(r, c.schema, s)
	}
	if err := r.Done(); err != nil {
		return err
	}
	c.structure, c.own, c.work, c.newest = s, own, nil, n
	return nil
}

// Curves and tables are kept to single precision, far below their error.
func single(v []float64) []float64 {
	for i := range v {
		v[i] = float64(float32(v[i]))
	}
	return v
}

func appendSingles(b []byte, v []float64) []byte {
	b = wire.AppendUvarint(b, uint64(4*len(v)))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
	}
	return b
}

func singles(r *wire.Reader) []float64 {
	b := r.Bytes()
	if len(b)%4 != 0 {
		r.Fail(fmt.Errorf("%d bytes where numbers of four should be", len(b)))
		return nil
	}
	v := make([]float64, len(b)/4)
	for i := range v {
		v[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		if math.IsNaN(v[i]) || math.IsInf(v[i], 0) {
			r.Fail(fmt.Errorf("%v in a table", v[i]))
		}
	}
	return v
}

// finite reads a number that must be finite.
func finite(r *wire.Reader) float64 {
	v := r.Float()
	if math.IsNaN(v) || math.IsInf(v, 0) {
		r.Fail(fmt.Errorf("%v where a finite number should be", v))
		return 0
	}
	return v
}

func (s *structure) appendBinary(b []byte) []byte {
	b = wire.AppendUvarint(b, uint64(len(s.features)))
	for j := range s.features {
		b = s.features[j].appendBinary(b)
	}
	b = s.rho.appendBinary(b)
	for _, v := range []float64{s.theta, s.reference.mean, s.reference.sd, s.halfLife, s.useless, s.width, s.critical} {
		b = wire.AppendFloat(b, v)
	}
	b = s.measure.appendBinary(b)
	for _, v := range []int{s.neighbours, int(s.redundancy), int(s.divergence)} {
		b = wire.AppendUvarint(b, uint64(v))
	}
	b = wire.AppendFloats(b, s.base)
	b = wire.AppendUvarint(b, uint64(len(s.trials)))
	for _, t := range s.trials {
		b = t.Measure.appendBinary(b)
		b = wire.AppendUvarint(b, uint64(t.Records))
		b = wire.AppendFloat(b, t.Errors)
		b = wire.AppendFloat(b, t.LogLoss)
	}
	p := &s.prototypes
	b = wire.AppendInts(b, p.class)
	b = wire.AppendFloats(b, p.prior)
	for j := range p.columns {
		b = wire.AppendFloat(b, p.columns[j].mean)
		b = wire.AppendFloat(b, p.columns[j].sd)
		b = wire.AppendInts(b, p.columns[j].values())
	}
	b = wire.AppendFloats(b, p.clock)
	b = p.appendBeside(b)
	if s.newest > 0 {
		b = s.appendWeights(b)
	}
	return b
}

// withoutNewest is the format of structures that compare with no newest records.
const withoutNewest = 3

// format is the one in which the structure is written.
func (s *structure) format() uint64 {
	if s.newest > 0 {
		return partFormat
	}
	return withoutNewest
}

func decodeStructure(r *wire.Reader, schema *model.Schema, format uint64) *structure {
	s := &structure{}
	m, classes := len(schema.Features), len(schema.Classes)
	if n := r.Uvarint(); r.Err() == nil && n != uint64(m) {
		r.Fail(fmt.Errorf("%d features, the schema has %d", n, m))
	}
	for j := 0; j < m && r.Err() == nil; j++ {
		s.features = append(s.features, decodeFeature(r, &schema.Features[j], format))
	}
	if s.rho = decodeCorrelation(r, m, format); r.Err() != nil {
		return s
	}
	s.theta = finite(r)
	s.reference.mean, s.reference.sd = finite(r), finite(r)
	s.halfLife, s.useless = finite(r), finite(r)
	if format > 1 {
		s.width, s.critical = finite(r), r.Float()
	} else {
		s.critical = math.Inf(1)
	}
	s.measure = decodeMeasure(r)
	s.neighbours = r.Int(maxNeighbours)
	s.redundancy, s.divergence = Redundancy(r.Int(int(Max))), Divergence(r.Int(int(LowerBound)))
	s.base = make([]float64, classes)
	r.FloatsInto(s.base)
	for n := r.Int(maxTrials); n > 0 && r.Err() == nil; n-- {
		s.trials = append(s.trials, Trial{decodeMeasure(r), r.Int(math.MaxInt32), finite(r), finite(r)})
	}
	s.decodePrototypes(r, classes, format)
	if format > withoutNewest && r.Err() == nil {
		s.decodeWeights(r)
	}
	return s
}

// decodePrototypes reads the prototypes, and checks them and the limits that their use depends on.
func (s *structure) decodePrototypes(r *wire.Reader, classes int, format uint64) {
	m := len(s.features)
	p := &s.prototypes
	p.class = wire.Ints[int32](r)
	p.prior = make([]float64, classes)
	r.FloatsInto(p.prior)
	for y := range classes {
		if !(s.base[y] >= 0 && s.base[y] <= 2) || !(p.prior[y] >= 0 && p.prior[y] <= 2) {
			r.Fail(fmt.Errorf("class rates %v and %v", s.base[y], p.prior[y]))
		}
	}
	if !(s.critical > 0) || s.width < 0 {
		r.Fail(fmt.Errorf("a limit of %v, a width of %v", s.critical, s.width))
	}
	if len(p.class) > maxPrototypes || s.neighbours < 1 || !(s.reference.sd > 0) || s.halfLife < 0 {
		r.Fail(fmt.Errorf("%d prototypes, %d neighbours", len(p.class), s.neighbours))
	}
	for _, y := range p.class {
		if y < 0 || int(y) >= classes {
			r.Fail(fmt.Errorf("prototype of class %d", y))
		}
	}
	for j := 0; j < m && r.Err() == nil; j++ {
		c := column{nominal: s.features[j].nominal, mean: finite(r), sd: finite(r)}
		c.set(wire.Ints[int32](r))
		if len(c.at) != 0 && len(c.at) != len(p.class) {
			r.Fail(fmt.Errorf("%d values of %d prototypes", len(c.at), len(p.class)))
		}
		p.columns = append(p.columns, c)
	}
	if r.Err() != nil {
		return
	}
	p.beside = make([]float32, len(p.class)*m)
	if format > 1 {
		p.clock = r.Floats()
		if len(p.clock) != 0 && len(p.clock) != len(p.class) { // a part of the first format has none
			r.Fail(fmt.Errorf("%d clocks of %d prototypes", len(p.clock), len(p.class)))
		}
		p.decodeBeside(r)
	}
}

// appendBeside writes, feature by feature, the prototypes at which it has a relevance beside the others, and the
// relevance.
func (p *prototypes) appendBeside(b []byte) []byte {
	var at []int32
	var nats []float64
	m := len(p.columns)
	for j := range m {
		at, nats = at[:0], nats[:0]
		for k := range p.class {
			if v := p.beside[k*m+j]; v != 0 {
				at, nats = append(at, int32(k)), append(nats, float64(v))
			}
		}
		b = wire.AppendInts(b, at)
		b = appendSingles(b, nats)
	}
	return b
}

func (p *prototypes) decodeBeside(r *wire.Reader) {
	m := len(p.columns)
	for j := 0; j < m && r.Err() == nil; j++ {
		at, nats := wire.Ints[int32](r), singles(r)
		if len(at) != len(nats) {
			r.Fail(fmt.Errorf("%d prototypes with %d numbers", len(at), len(nats)))
			return
		}
		for i, k := range at {
			if k < 0 || int(k) >= len(p.class) || !(nats[i] > 0) {
				r.Fail(fmt.Errorf("feature %d tells %v at prototype %d", j, nats[i], k))
				return
			}
			p.beside[int(k)*m+j] = float32(nats[i])
		}
	}
}

func (m *Measure) appendBinary(b []byte) []byte {
	b = wire.AppendFloat(b, m.Theta)
	b = wire.AppendFloat(b, m.Cap)
	b = wire.AppendBool(b, m.Weighted)
	return wire.AppendBool(b, m.Close)
}

func decodeMeasure(r *wire.Reader) Measure {
	m := Measure{Theta: finite(r), Cap: finite(r), Weighted: r.Bool(), Close: r.Bool()}
	if m.Cap < 0 || m.Cap > maxCap {
		r.Fail(fmt.Errorf("distance capped at %v", m.Cap))
	}
	return m
}

func (f *feature) appendBinary(b []byte) []byte {
	b = wire.AppendBool(b, f.nominal)
	b = wire.AppendUvarint(b, uint64(f.bins))
	b = wire.AppendUvarint(b, uint64(f.levels))
	for _, v := range []float64{f.axis.low, f.axis.high, f.zero, f.scale, f.neutral, f.likelihood} {
		b = wire.AppendFloat(b, v)
	}
	b = wire.AppendUvarint(b, uint64(f.observations))
	b = appendSingles(b, f.relevance)
	b = appendSingles(b, f.mean)
	b = appendSingles(b, f.variance)
	b = appendSingles(b, f.tells)
	b = wire.AppendFloat(b, f.missing)
	b = wire.AppendBool(b, f.curve != nil)
	if f.curve == nil {
		return b
	}
	c := f.curve
	for _, v := range []float64{f.minimum, f.maximum, c.Params.Length, c.Params.Signal, c.Params.Noise, c.Prior, c.Low,
		c.High, c.Start, c.Step, c.MeanBound, c.VarianceBound} {
		b = wire.AppendFloat(b, v)
	}
	b = appendSingles(b, c.Mean)
	return appendSingles(b, c.Variance)
}

func decodeFeature(r *wire.Reader, s *model.Feature, format uint64) (f feature) {
	f.nominal = r.Bool()
	f.bins, f.levels = r.Int(max(maxBins, model.MaxLevels)), r.Int(model.MaxLevels)
	for _, v := range []*float64{&f.axis.low, &f.axis.high, &f.zero, &f.scale, &f.neutral, &f.likelihood} {
		*v = finite(r)
	}
	f.observations = r.Int(math.MaxInt32)
	f.relevance, f.mean, f.variance = singles(r), singles(r), singles(r)
	if format > 1 {
		f.tells, f.missing = singles(r), finite(r)
	}
	if !r.Bool() {
		f.check(r, s)
		return f
	}
	c := &gp.Curve{}
	for _, v := range []*float64{&f.minimum, &f.maximum, &c.Params.Length, &c.Params.Signal, &c.Params.Noise, &c.Prior,
		&c.Low, &c.High, &c.Start, &c.Step, &c.MeanBound, &c.VarianceBound} {
		*v = finite(r)
	}
	c.Mean, c.Variance = singles(r), singles(r)
	if r.Err() == nil && (len(c.Mean) < 2 || len(c.Mean) != len(c.Variance) || !(c.Step > 0) || f.nominal || f.bins < 2) {
		r.Fail(fmt.Errorf("a curve of %d means and %d variances", len(c.Mean), len(c.Variance)))
	}
	f.curve = c
	f.check(r, s)
	return f
}

// check refuses an axis that is not of the schema, or that has no place for every value.
func (f *feature) check(r *wire.Reader, s *model.Feature) {
	if r.Err() != nil {
		return
	}
	used := s.Use == model.UseScore
	switch {
	case f.nominal && !(used && s.Kind == model.Nominal),
		f.nominal && f.bins != 0,
		!used && f.bins != 0,
		f.levels != 0 && (s.Kind != model.Ordinal || f.levels != len(s.Levels)),
		f.bins > 1 && !(f.axis.high > f.axis.low && (f.axis.high-f.axis.low)*float64(f.bins) <= math.MaxFloat64),
		f.bins > 0 && !(f.scale > 0),
		len(f.mean) != len(f.variance),
		!f.nominal && len(f.relevance) != 0 && len(f.relevance) != f.bins,
		!f.nominal && len(f.tells) != 0 && len(f.tells) != f.bins,
		!f.nominal && len(f.mean) != 0:
		r.Fail(fmt.Errorf("an axis of %d bins from %v to %v", f.bins, f.axis.low, f.axis.high))
	}
}
