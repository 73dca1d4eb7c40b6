package model

import "math"

// Interval holds the bounds between which the true propensity of the target lies, in Options.Interval of the records.
// Both are NaN where nothing is known.
type Interval struct{ Low, High float64 }

// misfitWeight multiplies the misfit in the variance of an interval: its cells see a part of it. It was
// chosen on planted truths, see MODEL.md 9.
const misfitWeight = 3.5

// misfitRise bounds the factor by which the misfit counts more where a propensity is extreme.
const misfitRise = 4

// intervalOf is that of the propensity of the target of the score in entry i, see misfit:
//
//	1/(1 + exp(-z -+ u sqrt(max((1 + max(b, 0))^2 variance, misfitWeight g misfit) + b^2 (z - c)^2)))
//
// with z = ln(p/(1-p)), the two-sided normal quantile u of Options.Interval, the slope b and the center c of lean, and
// g = (1 + h(1-h)/(p(1-p)))/2, at most misfitRise, h being the base rate: the misfit is a mean by p(1-p), and errors of
// the log-odds are larger where that is small. Where the log-odds ought to be steeper, so ought the contributions of
// which the variance is made. The larger of variance and misfit counts, not their sum: the misfit has the errors in it
// that come of the number of the records. It takes note of the score.
func intervalOf(p *Partition, out *Scores, i int) Interval {
	varied, able := p.scorer.scorecard.(Varied)
	if !p.trained || !able {
		p.misfit.meet(p.row, nil)
		return Interval{math.NaN(), math.NaN()}
	}
	p.misfit.meet(p.row, p.scorer.reasons)
	q := out.P[i*out.Classes+int(out.Target[i])]
	target := out.Target[i]
	h := p.scorer.scorecard.BaseRate(target)
	rise := min((1+h*(1-h)/(q*(1-q)))/2, misfitRise)
	d, odds := p.misfit, q/(1-q)
	steeper, off := 1+max(d.slope, 0), d.slope*(math.Log(odds)-d.center)
	variance := max(steeper*steeper*varied.Variance(target, q, d.effect), misfitWeight*rise*d.square) + off*off
	by := math.Exp(math.Sqrt2 * math.Erfinv(p.spec.Options.Interval) * math.Sqrt(variance))
	return Interval{odds / (odds + by), 1 - 1/(1+odds*by)}
}

// learnMisfit takes a labelled record that is about to be learnt into the misfit. Its propensity is that of now,
// without the record. It overwrites the memory of the last score, with the same numbers where the record is the last
// one.
func learnMisfit(p *Partition, rec *record) {
	prob := rescore(p, rec.Row)
	_, target := p.scorer.best(prob)
	y := 0.
	if rec.Class == target {
		y = 1
	}
	p.misfit.learn(rec.Row, p.levels, y, prob[target], min(rec.Weight, MaxWeight))
}

// appendEffects appends the contributions of all features of the last score, 0 where a model is missing.
func appendEffects(p *Partition, out *Scores) {
	from := len(out.Effects)
	for range p.spec.Schema.Features {
		out.Effects = append(out.Effects, 0)
	}
	if !p.trained {
		return
	}
	for i := range p.scorer.reasons {
		if r := &p.scorer.reasons[i]; r.Feature >= 0 {
			out.Effects[from+int(r.Feature)] = r.Effect
		}
	}
}
