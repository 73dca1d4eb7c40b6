package model

import "math"

// fill computes the components' inputs of a row.
func (p *Partition) fill(row Row) {
	inputsOf(p.components, len(p.spec.Schema.Classes), row, p.inputs)
}

// score writes the score of p.row into entry i.
func (p *Partition) score(out *Scores, i int) {
	classes := len(p.spec.Schema.Classes)
	prob := out.P[i*classes : (i+1)*classes]
	defer func() {
		out.SubspaceEnd[i] = int32(len(out.Subspace))
		out.WhyEnd[i] = int32(len(out.Why))
	}()
	if !p.trained {
		var n float64
		for _, c := range p.counts {
			n += c
		}
		unit := Unit(n, p.square)
		best := int32(0)
		for c := range prob {
			prob[c] = (p.counts[c] + unit) / (n + unit*float64(classes))
			if prob[c] > prob[best] {
				best = int32(c)
			}
		}
		out.Status[i], out.Segment[i], out.Target[i] = StatusUntrained, best, best
		if p.spec.Schema.Positive >= 0 {
			out.Target[i] = int32(p.spec.Schema.Positive)
		}
		out.BaseRate[i], out.Lift[i], out.ProfileLift[i] = prob[out.Target[i]], 1, math.NaN()
		return
	}
	p.fill(p.row)
	p.scorecard.Score(p.row, p.inputs, p.pending, prob)
	segment, target, top := int32(0), int32(p.spec.Schema.Positive), math.Inf(-1)
	for c := range prob {
		if prob[c] > prob[segment] {
			segment = int32(c)
		}
		if p.spec.Schema.Positive < 0 {
			if l := prob[c] / p.scorecard.BaseRate(int32(c)); l > top {
				target, top = int32(c), l
			}
		}
	}
	out.Segment[i], out.Target[i] = segment, target
	out.BaseRate[i] = p.scorecard.BaseRate(target)
	out.Lift[i] = prob[target] / out.BaseRate[i]
	out.Percentile[i] = p.percent.rank(target, prob[target])
	out.ProfileLift[i] = math.NaN()
	if p.powers.profiler != nil {
		if text, lift := p.powers.profiler.Profile(p.row, target); text != "" {
			out.Profile[i], out.ProfileLift[i] = text, lift
		}
	}
	p.explain(out, target)
	if p.allMissing() {
		out.Status[i], out.Reason[i] = StatusDegraded, ReasonAllMissing
	} else if p.powers.reasoner != nil {
		if reason := p.powers.reasoner.Reason(p.row); reason != "" {
			out.Status[i], out.Reason[i] = StatusDegraded, reason
		}
	}
}

// minRelevance is the share of the largest contribution below which a feature is not part of the record's subspace
// where no component selects one.
const minRelevance = 0.2

// ReasonAllMissing is the reason of a degraded score of a record without a single value, before all other reasons.
// With the reasons of a Reasoner it is the closed set of reasons: those of the local part are its constants Reason....
const ReasonAllMissing = "all_missing"

func (p *Partition) allMissing() bool {
	for f, v := range p.row {
		if p.spec.Schema.Features[f].Use == UseScore && !math.IsNaN(v) {
			return false
		}
	}
	return true
}

// explain appends the record's reasons and its subspace: those of the Selector, which can be none. Where no
// component is one, as in evaluations without it, the subspace is the features whose contribution to the target reaches
// minRelevance of the largest one, and relevance that ratio.
func (p *Partition) explain(out *Scores, target int32) {
	p.reasons = p.scorecard.Explain(p.row, p.pending, target, p.reasons[:0])
	features := p.reasons
	for n := len(features); n > 0 && features[n-1].Feature < 0; n-- {
		features = features[:n-1]
	}
	terms := p.reasons[len(features):]
	// Insertion sort of a few dozen entries, no allocation, and equal effects stay in configuration order.
	p.order = p.order[:0]
	for i := range features {
		x := ranked{math.Abs(features[i].Effect), int32(i)}
		p.order = append(p.order, x)
		at := i
		for ; at > 0 && p.order[at-1].size < x.size; at-- {
			p.order[at] = p.order[at-1]
		}
		p.order[at] = x
	}
	if p.powers.selector != nil {
		out.Subspace, out.Relevance = p.powers.selector.Select(p.row, out.Subspace, out.Relevance)
	} else if len(features) > 0 && p.order[0].size > 0 {
		for _, x := range p.order {
			rel := x.size / p.order[0].size
			if rel < minRelevance {
				break
			}
			out.Subspace = append(out.Subspace, features[x.at].Feature)
			out.Relevance = append(out.Relevance, float32(rel))
		}
	}
	why := len(features)
	if w := p.spec.Options.Why; w >= 0 {
		why, terms = min(w, why), nil
	}
	for _, x := range p.order[:why] {
		out.Why = append(out.Why, features[x.at])
	}
	out.Why = append(out.Why, terms...)
}

// ranked is a reason's place by the size of its effect.
type ranked struct {
	size float64
	at   int32
}
