package portable

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"liftstream/cmd/liftstream/internal/cli"
)

// JSON writes every number of the card.
func (c *Card) JSON(w io.Writer) error { return cli.WriteJSON(w, c) }

// CSV writes the intercept, then one row for each value of a feature, each special code and piece of a number and each
// cell of a set, and the points of the calibration. effect_low and effect_high are the effects at both ends of a piece,
// nats of the mixture; where they differ the effect runs between them along a smooth curve, of which JSON has the
// formula.
func (c *Card) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := []string{"part", "feature", "level", "low", "high", "high_belongs", "records", "effect_low", "effect_high"}
	if c.Points != nil {
		head = append(head, "points_low", "points_high")
	}
	_ = out.Write(head)
	row := func(part, feature, level, low, high, belongs, records string, from, to float64) {
		r := []string{part, feature, level, low, high, belongs, records, number(from), number(to)}
		if c.Points != nil {
			r = append(r, number(c.Points.of(part, from)), number(c.Points.of(part, to)))
		}
		_ = out.Write(r)
	}
	flat := func(part, feature, level, records string, effect []float64) {
		e := c.mixed(effect)
		row(part, feature, level, "", "", "", records, e, e)
	}
	var intercept []float64
	for _, m := range c.Margins {
		intercept = append(intercept, m.Intercept)
	}
	flat("intercept", "", "", "", intercept)
	for i := range c.Features {
		f := &c.Features[i]
		flat("missing", f.Name, "", "", f.Missing)
		for _, l := range f.Levels {
			flat("level", f.Name, l.Level, count(l.Records), l.Effect)
		}
		if f.Kind != "continuous" {
			flat("unknown", f.Name, "", "", f.Unknown)
		}
		for _, s := range f.Special {
			flat("special", f.Name, number(s.Code), count(s.Records), s.Effect)
		}
		from := math.Inf(-1)
		for j := range f.Pieces {
			p, to := &f.Pieces[j], math.Inf(1)
			if p.End != nil {
				to = *p.End
			}
			first, last := from, to
			if math.IsInf(from, -1) { // no effect changes there
				first = min(to, p.Origin)
			}
			if math.IsInf(to, 1) {
				last = first
			}
			row("piece", f.Name, "", number(from), number(to), strconv.FormatBool(p.Closed), count(p.Records),
				c.mixed(p.at(first)), c.mixed(p.at(last)))
			from = to
		}
	}
	for i := range c.Sets {
		s := &c.Sets[i]
		for _, x := range s.Cells {
			e := c.mixed(s.Weight) * x.Value
			row("set", strings.Join(s.Features, " & "), s.label(x.Cell), "", "", "", "", e, e)
		}
	}
	for k, m := range c.Margins {
		for j, z := range m.Z {
			row("calibration", fmt.Sprintf("margin %d", k+1), "", number(z), number(z), "", "", m.Value[j], m.Value[j])
		}
	}
	out.Flush()
	return out.Error()
}

// mixed is the sum of effects over the margins by their shares: the effect as long as no curve bends.
func (c *Card) mixed(effect []float64) (sum float64) {
	for k, v := range effect {
		sum += c.Margins[k].Share * v
	}
	return sum
}

// at returns the effects on a value.
func (p *Piece) at(v float64) []float64 {
	out, u := make([]float64, len(p.Constant)), v-p.Origin
	for k := range out {
		out[k] = p.Constant[k]
		if p.Slope[k] != 0 {
			out[k] += p.Slope[k] * u
		}
	}
	for _, t := range p.Logs {
		x := math.Log((t.A + t.B*u) / (1 + t.C*u))
		for k := range out {
			out[k] += t.Weight[k] * x
		}
	}
	return out
}

// label names a cell of a set by the values in it.
func (s *Set) label(cell int) string {
	names := make([]string, len(s.Axes))
	for i := range s.Axes {
		a := &s.Axes[i]
		x := cell / a.Stride % a.size(s)
		switch {
		case a.Levels == nil:
			low, high := "-inf", "inf"
			if x > 0 {
				low = number(a.Cuts[x-1])
			}
			if x < len(a.Cuts) {
				high = number(a.Cuts[x])
			}
			names[i] = "(" + low + ", " + high + "]"
		case x < len(a.Levels):
			names[i] = a.Levels[x]
		default:
			names[i] = "(other)"
		}
	}
	return strings.Join(names, " & ")
}

// size is the number of indices of the axis: those until the stride of the next one.
func (a *Axis) size(s *Set) int {
	next := math.MaxInt
	for i := range s.Axes {
		if v := s.Axes[i].Stride; v > a.Stride {
			next = min(next, v)
		}
	}
	if next == math.MaxInt {
		return next
	}
	return next / a.Stride
}

func number(v float64) string {
	if math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func count(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }
