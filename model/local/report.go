package local

import (
	"fmt"
	"math"

	"liftstream/model"
	"liftstream/model/report"
	"liftstream/model/report/text"
)

// gridPoints is the number of values at which a report gives a curve.
const gridPoints = 33

var (
	_ report.Reporter   = (*Factory)(nil)
	_ report.Summariser = (*Factory)(nil)
)

// Report writes the section of a part.
func (f *Factory) Report(part []byte, levels *model.Levels, r *report.Report) error {
	p, err := DecodePart(f.schema, part)
	if err != nil {
		return err
	}
	r.Local = p.Section(f.schema, levels)
	r.Local.HalfLifeSeconds = report.Number(f.options.HalfLife.Duration.Seconds())
	return nil
}

// Summary names the curves, the threshold and the neighbours of the fit in one line.
func (f *Factory) Summary(r *report.Report) []string {
	l := r.Local
	if l == nil {
		return nil
	}
	memory := "counts that never forget"
	if l.HalfLife > 0 {
		memory = fmt.Sprintf("counts of a half-life of %s records", text.Number(l.HalfLife))
	} else if l.HalfLifeSeconds > 0 {
		memory = fmt.Sprintf("counts of a half-life of %s seconds", text.Number(l.HalfLifeSeconds))
	}
	return []string{fmt.Sprintf("Local: %s from %s; theta %s (a useless feature has relevance %s); the %d nearest of %s",
		text.Count(len(l.Curves), "curve"), memory,
		text.Decimals(l.Theta, 2), text.Decimals(l.Useless, 2),
		l.Neighbours, text.Count(l.Prototypes, "prototype"))}
}

// Section is the part's section of a fit's report. Curves are given at equal steps of the observed range, and tables of
// levels at each level, whose code is its place on the grid. Theta and the distance are the chosen ones under auto.
// Useless is there for comparison with theta. Where HalfLife and HalfLifeSeconds are 0 the counts never forget.
func (p *Part) Section(s *model.Schema, levels *model.Levels) *report.Local {
	r := p.Report()
	out := &report.Local{
		Theta: report.Number(r.Theta), Useless: report.Number(r.Useless), HalfLife: report.Number(p.structure.halfLife),
		Prototypes: r.Prototypes, Neighbours: r.Neighbours, Distance: distanceOf(&r.Measure), Curves: []report.Curve{},
	}
	for i := range r.Curves {
		x := &r.Curves[i]
		f := &p.structure.features[x.Feature]
		c := report.Curve{
			Feature: s.Features[x.Feature].Name, Observations: x.Observations, Neutral: report.Number(x.Neutral),
			LengthScale: report.Number(x.Length), SignalSD: report.Number(x.Signal), NoiseSD: report.Number(x.Noise),
			LogMarginalLikelihood: report.Number(x.LogLikelihood),
			MeanBound:             report.Number(x.MeanBound), VarianceBound: report.Number(x.VarianceBound),
		}
		if p.pools != nil && p.pools.of[x.Feature] != nil {
			c.Pool = len(p.pools.of[x.Feature].Observations())
		}
		if f.nominal {
			// Levels have exact tables and no process.
			nan := report.Number(math.NaN())
			c.LengthScale, c.SignalSD, c.NoiseSD, c.LogMarginalLikelihood = nan, nan, nan, nan
			names := levels.Names(x.Feature)
			c.Levels = names[:min(len(names), len(f.mean))]
		}
		n := gridPoints
		if f.nominal {
			n = len(f.mean)
		}
		for k := range n {
			v := float64(k)
			if !f.nominal {
				v = min(f.maximum, f.minimum+(f.maximum-f.minimum)*float64(k)/(gridPoints-1))
			}
			mean, variance, ok := f.gaussian(v)
			if !ok {
				continue
			}
			c.Grid = append(c.Grid, report.Number(v))
			c.Mean = append(c.Mean, report.Number(mean))
			c.SD = append(c.SD, report.Number(math.Sqrt(variance)))
		}
		out.Curves = append(out.Curves, c)
	}
	for i := range r.Trials {
		t := &r.Trials[i]
		out.Trials = append(out.Trials, report.Trial{Distance: distanceOf(&t.Measure), Records: t.Records,
			Errors: report.Number(t.Errors), LogLoss: report.Number(t.LogLoss)})
	}
	return out
}

func distanceOf(m *Measure) report.Distance {
	return report.Distance{Theta: report.Number(m.Theta), Cap: report.Number(m.Cap), Weighted: m.Weighted, Close: m.Close}
}
