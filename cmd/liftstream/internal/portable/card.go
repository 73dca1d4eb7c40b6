// Package portable writes a scorecard in forms that other programs read: tables, SQL, PMML and ONNX. PORTABLE.md
// defines the exported score.
//
// Begin at New.
package portable

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/model"
	"liftstream/model/lift"
	"liftstream/model/propensity"
)

// Card is a scorecard of two classes that stands by itself: PORTABLE.md has the formula. Effects are in nats of the
// log-odds of Target, one a margin.
type Card struct {
	Name    string  `json:"name"`
	Model   int64   `json:"model"`
	Records int     `json:"records"`
	Label   string  `json:"label"` // the column of the classes
	Target  string  `json:"target"`
	Other   string  `json:"other"`
	Base    float64 `json:"base_rate"`
	ID      string  `json:"id,omitempty"`
	// Missing are the texts that stand for a missing value.
	Missing  []string  `json:"missing"`
	LeftOut  []string  `json:"left_out"`
	Clip     float64   `json:"clip"` // the log-odds are held within it
	Margins  []Margin  `json:"margins"`
	Features []Feature `json:"features"`
	Sets     []Set     `json:"sets"`
	Points   *Points   `json:"points,omitempty"`
}

// Margin is a sum of effects and the curve along which it adds to the log-odds.
type Margin struct {
	Intercept float64   `json:"intercept"`
	Share     float64   `json:"share"` // the slope beyond the curve
	Z         []float64 `json:"z"`
	Value     []float64 `json:"value"`
}

// Feature is the effects of one feature.
type Feature struct {
	Name    string    `json:"name"`
	Kind    string    `json:"kind"`
	Derived string    `json:"derived,omitempty"` // the expression of a derived feature
	Missing []float64 `json:"missing"`
	Unknown []float64 `json:"unknown,omitempty"` // of levels that are not listed
	Levels  []Level   `json:"levels,omitempty"`
	// Special are the numbers that are codes: no piece has them, and sets take them as missing.
	Special []Code  `json:"special,omitempty"`
	Pieces  []Piece `json:"pieces,omitempty"`
}

// Code is the effect of a number that is a code.
type Code struct {
	Code    float64   `json:"code"`
	Records float64   `json:"records"`
	Effect  []float64 `json:"effect"`
}

// Level is the effect of a level.
type Level struct {
	Level   string    `json:"level"`
	Records float64   `json:"records"`
	Effect  []float64 `json:"effect"`
}

// Piece is the effect of the numbers up to End, or below it unless Closed, from the end of the piece before.
type Piece struct {
	End      *float64  `json:"end"` // null = none
	Closed   bool      `json:"closed"`
	Records  float64   `json:"records"`
	Origin   float64   `json:"origin"`
	Constant []float64 `json:"constant"`
	Slope    []float64 `json:"slope"`
	Logs     []Log     `json:"logs,omitempty"`
}

// Log is a logarithmic term of a piece.
type Log struct {
	A      float64   `json:"a"`
	B      float64   `json:"b"`
	C      float64   `json:"c"`
	Weight []float64 `json:"weight"`
}

// Set is the effects of some features together, beyond those of each.
type Set struct {
	Features []string  `json:"features"`
	Weight   []float64 `json:"weight"`
	Axes     []Axis    `json:"axes"`
	Cells    []Cell    `json:"cells"` // the others have the value 0
}

// Axis gives a value its index in a set: the number of cuts below it, or the place among the levels.
type Axis struct {
	Feature string    `json:"feature"`
	Cuts    []float64 `json:"cuts,omitempty"`
	Levels  []string  `json:"levels,omitempty"`
	Unknown *int      `json:"unknown"` // index of levels that are not listed; null = the set says nothing of them
	Stride  int       `json:"stride"`
}

// Cell is the value of a cell of a set, in log-odds before its weight.
type Cell struct {
	Cell  int     `json:"cell"`
	Value float64 `json:"value"`
}

// Points says how effects become points: odds of Odds to 1 have Base points, and PDO more points double the odds.
type Points struct {
	Base float64 `json:"base"`
	Odds float64 `json:"odds"`
	PDO  float64 `json:"pdo"`
}

// of returns the points of an effect of a part; those of the intercept hold the base, so that all parts add up.
func (p *Points) of(part string, effect float64) float64 {
	by := p.PDO / math.Ln2
	if part == "intercept" {
		return p.Base + by*(effect-math.Log(p.Odds))
	}
	return by * effect
}

const (
	mostOdds = 12. // log-odds beyond it are held there
	mostSet  = 50. // the same of the value of a set
)

// New returns the card of a model that the stage can serve. It fails where the score is no sum of effects: more than
// two classes, or effects that are bent to their lifts.
func New(stage *assemble.Stage, m *model.Model) (*Card, error) {
	p := model.NewPartition(stage.Base(), 0)
	if err := p.Swap(m); err != nil {
		return nil, err
	}
	a, err := assemble.Additive(p)
	if err != nil {
		return nil, fmt.Errorf("exporting the scorecard: %w", err)
	}
	s, levels := stage.Spec.Schema, p.Levels()
	record := &stage.Config.Record
	c := &Card{Name: stage.Config.Name, Model: m.Version, Records: m.Info.Records, Label: record.Label.Column,
		Target: s.Classes[1], Other: s.Classes[0], Base: a.Class[1], ID: record.ID, Missing: stage.Codec.Missing,
		Clip: mostOdds, LeftOut: leftOut(stage, m, a), Sets: []Set{}}
	if p := stage.Config.Points; p != nil {
		c.Points = &Points{Base: p.Base, Odds: p.Odds, PDO: p.PDO}
	}
	for _, x := range a.Margins {
		c.Margins = append(c.Margins, Margin(x))
	}
	if len(a.Features) == 0 {
		return nil, fmt.Errorf("exporting the scorecard: no feature is scored")
	}
	for i := range a.Features {
		c.Features = append(c.Features, feature(s, levels, &a.Features[i]))
	}
	if entered, ok := p.Component(lift.Name).(*lift.Component); ok {
		if err := c.addSets(stage.Spec, levels, entered.Entered(), a); err != nil {
			return nil, err
		}
	}
	if s.Positive == 0 {
		c.turn()
	}
	return c, nil
}

func feature(s *model.Schema, levels *model.Levels, x *propensity.AdditiveFeature) Feature {
	f := Feature{Name: s.Features[x.Feature].Name, Kind: s.Features[x.Feature].Kind.String(),
		Derived: s.Features[x.Feature].Derived, Missing: x.Missing}
	if s.Features[x.Feature].Kind != model.Continuous {
		f.Unknown = x.Other
		for code, text := range levels.Names(x.Feature) {
			l := Level{Level: text, Effect: x.Other}
			if code < len(x.Levels) {
				l.Effect, l.Records = x.Levels[code], x.Records[code]
			}
			f.Levels = append(f.Levels, l)
		}
		return f
	}
	for k, effect := range x.Special {
		f.Special = append(f.Special, Code{s.Features[x.Feature].Special[k], x.Coded[k], effect})
	}
	for i, p := range x.Pieces {
		y := Piece{Closed: p.Closed, Records: x.Records[i], Origin: p.Origin, Constant: p.Constant, Slope: p.Slope}
		if !math.IsInf(p.End, 1) {
			y.End = &x.Pieces[i].End
		}
		for _, t := range p.Logs {
			y.Logs = append(y.Logs, Log(t))
		}
		f.Pieces = append(f.Pieces, y)
	}
	return f
}

// addSets adds the entered sets with their weights.
func (c *Card) addSets(spec *model.Spec, levels *model.Levels, entered []*lift.Entered, a *propensity.Additive) error {
	at := slices.IndexFunc(spec.Components, func(f model.Factory) bool { return f.Name() == lift.Name })
	if at >= len(a.Inputs) || len(a.Inputs[at]) != len(entered) {
		return fmt.Errorf("exporting the scorecard: its sets have no weights")
	}
	for i, e := range entered {
		axes, ok := e.Set.Axes()
		if !ok {
			return fmt.Errorf("exporting the scorecard: a set is cut by a distance")
		}
		set := Set{Weight: a.Inputs[at][i], Cells: []Cell{}}
		for _, x := range axes {
			y := Axis{Feature: spec.Schema.Features[x.Feature].Name, Cuts: x.Cuts, Stride: int(x.Stride)}
			if last := int(x.Cap) - 1; last >= 0 {
				y.Levels = levels.Names(int(x.Feature))
				if len(y.Levels) >= last {
					y.Levels, y.Unknown = y.Levels[:last], &last
				}
			}
			set.Features, set.Axes = append(set.Features, y.Feature), append(set.Axes, y)
		}
		for x := range len(e.Value) / 2 {
			if v := e.Value[2*x+1] - e.Value[2*x]; v != 0 {
				set.Cells = append(set.Cells, Cell{x, max(-mostSet, min(v, mostSet))})
			}
		}
		c.Sets = append(c.Sets, set)
	}
	return nil
}

// turn makes the card speak of the other class.
func (c *Card) turn() {
	c.Target, c.Other, c.Base = c.Other, c.Target, 1-c.Base
	negate := func(v []float64) {
		for i := range v {
			v[i] = -v[i]
		}
	}
	for i := range c.Margins {
		m := &c.Margins[i]
		m.Intercept = -m.Intercept
		negate(m.Z)
		negate(m.Value)
		slices.Reverse(m.Z)
		slices.Reverse(m.Value)
	}
	for i := range c.Features {
		f := &c.Features[i]
		negate(f.Missing)
		shared := len(f.Unknown) > 0
		negate(f.Unknown)
		for j := range f.Levels {
			if shared && &f.Levels[j].Effect[0] == &f.Unknown[0] {
				continue
			}
			negate(f.Levels[j].Effect)
		}
		for j := range f.Special {
			negate(f.Special[j].Effect)
		}
		for j := range f.Pieces {
			negate(f.Pieces[j].Constant)
			negate(f.Pieces[j].Slope)
			for t := range f.Pieces[j].Logs {
				negate(f.Pieces[j].Logs[t].Weight)
			}
		}
	}
	for i := range c.Sets {
		negate(c.Sets[i].Weight)
	}
}

// about describes the card and the parts that it leaves out, for a file that holds it.
func (c *Card) about() string {
	return fmt.Sprintf("The scorecard of %s, model %d: log-odds and propensity of %q against %q. Left out: %s. The cost "+
		"of it: liftstream eval -c FILE DATA --method lift --method all", c.Name, c.Model, c.Target, c.Other,
		strings.Join(c.LeftOut, "; "))
}

// leftOut tells which parts of the score are not in the card.
func leftOut(stage *assemble.Stage, m *model.Model, a *propensity.Additive) (out []string) {
	base := stage.Base()
	for i, f := range stage.Spec.Components {
		_, offers := f.(model.Contributor)
		if _, has := m.Parts[f.Name()]; has && offers && base.Components[i] != f {
			out = append(out, f.Name()+": its inputs count as 0, while the weights of the features were fitted beside them")
		}
	}
	for _, f := range stage.Spec.Schema.Features {
		if f.Derived != "" && f.Use == model.UseScore {
			out = append(out, fmt.Sprintf("the computation of %s, which is %s: it is an input like a column", f.Name, f.Derived))
		}
	}
	if goals := stage.GoalNames(); len(goals) > 0 {
		out = append(out, "the scorecards of the goals "+strings.Join(goals, ", ")+": this is that of the label")
	}
	if a.Further > 0 {
		out = append(out, fmt.Sprintf("%d levels that are known by a hash alone: they count as unknown", a.Further))
	}
	if stage.Config.Propensity.Residuals != "off" {
		out = append(out, "the memory of recent errors of a running stage (propensity.residuals); 'score' has none either")
	}
	return append(out, "learning: the card stays as it is")
}
