package portable

import (
	"math"
	"strconv"
)

// Effect is the effect of some values of a feature, in nats of the log-odds of Target as long as no curve bends. That
// of a number runs from Low, at the lower end of its piece, to High.
type Effect struct {
	Cell      string
	Records   float64
	Low, High float64
	// From and To are the ends of a piece, NaN where it has none, and for other values.
	From, To float64
}

// Effects are the effects of a feature by its values in ascending order, then of special codes and missing values. The
// levels stand in their order. Levels that no record had have the effect of unknown ones and are left out.
func (c *Card) Effects(f *Feature) (out []Effect) {
	nan := math.NaN()
	flat := func(cell string, records float64, effect []float64) {
		e := c.mixed(effect)
		out = append(out, Effect{Cell: cell, Records: records, Low: e, High: e, From: nan, To: nan})
	}
	for _, l := range f.Levels {
		if l.Records > 0 {
			flat(l.Level, l.Records, l.Effect)
		}
	}
	from := nan
	for j := range f.Pieces {
		p, to := &f.Pieces[j], nan
		if p.End != nil {
			to = *p.End
		}
		first, last := from, to
		if math.IsNaN(first) { // no effect changes there
			if first = p.Origin; to < first {
				first = to
			}
		}
		if math.IsNaN(last) {
			last = first
		}
		x := Effect{Records: p.Records, Low: c.mixed(p.at(first)), High: c.mixed(p.at(last)), From: from, To: to}
		switch {
		case math.IsNaN(to) && math.IsNaN(from):
			x.Cell = "any number"
		case math.IsNaN(to):
			x.Cell = "above " + short(from)
		case math.IsNaN(from):
			x.Cell = "up to " + short(to)
		case from == to:
			x.Cell = short(to)
		default:
			x.Cell = short(from) + " to " + short(to)
		}
		out = append(out, x)
		from = to
	}
	for _, s := range f.Special {
		flat(short(s.Code)+" (special)", s.Records, s.Effect)
	}
	flat("(missing)", nan, f.Missing)
	return out
}

// Of returns the points of an effect, without those of the intercept.
func (p *Points) Of(effect float64) float64 { return p.of("", effect) }

func short(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
