package trees

import (
	"cmp"
	"fmt"
	"slices"

	"liftstream/model"
	"liftstream/model/report"
	"liftstream/model/report/text"
)

var (
	_ report.Reporter   = (*Factory)(nil)
	_ report.Summariser = (*Factory)(nil)
	_ model.Remarker    = (*Factory)(nil)
	_ model.Contributor = (*Factory)(nil)
)

// Report writes the part's section of the fit's report.
func (f *Factory) Report(part []byte, _ *model.Levels, r *report.Report) error {
	p, err := DecodePart(f.schema, part)
	if err != nil {
		return err
	}
	t := &report.Trees{Trees: len(p.trees), Rounds: p.info.rounds, Records: p.info.records,
		Before: report.Number(p.info.before), Gain: report.Number(p.info.gain), StdErr: report.Number(p.info.stderr),
		Features: []report.TreeFeature{}}
	for i := range p.trees {
		t.Leaves += (len(p.trees[i].nodes) + 1) / 2
	}
	if len(p.trees) == 0 {
		t.Rounds = 0
	}
	used := p.importance(len(f.schema.Features))
	for _, i := range ranked(used) {
		t.Features = append(t.Features, report.TreeFeature{Feature: f.schema.Features[i].Name,
			Share: report.Number(used[i])})
	}
	r.Trees = t
	return nil
}

// importance is the share of each feature in the squared changes of value from node to node, each halved once for
// every split above it: how far the trees go by the feature.
func (s *structure) importance(features int) []float64 {
	out, sum := make([]float64, features), 0.
	for i := range s.trees {
		t := &s.trees[i]
		var walk func(k int32, weight float64)
		walk = func(k int32, weight float64) {
			n := &t.nodes[k]
			if n.feature < 0 {
				return
			}
			for _, c := range []int32{k + 1, n.right} {
				d := t.nodes[c].value - n.value
				out[n.feature] += weight * d * d
				sum += weight * d * d
				walk(c, weight/2)
			}
		}
		walk(0, 1)
	}
	for f := range out {
		if sum > 0 {
			out[f] /= sum
		}
	}
	return out
}

// ranked lists the features with a share, the largest first.
func ranked(share []float64) []int {
	var out []int
	for f, v := range share {
		if v > 0 {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(share[b], share[a]) })
	return out
}

// listed is the number of features that Summary names.
const listed = 5

// Summary says how much the trees help, and by which features; nothing where there are none.
func (f *Factory) Summary(r *report.Report) []string {
	if r.Trees == nil || r.Trees.Trees == 0 {
		return nil
	}
	var names []string
	for _, x := range r.Trees.Features {
		names = append(names, x.Feature)
	}
	return []string{fmt.Sprintf("Trees: %d of %d leaves lower the log-loss of an additive model by %.4f +- %.4f on "+
		"records that neither has seen, most by %s", r.Trees.Trees, r.Trees.Leaves, float64(r.Trees.Gain),
		float64(r.Trees.StdErr), text.Some(names, listed))}
}

// Remark tells whether trees are kept.
func (f *Factory) Remark(part []byte) (model.Remark, error) {
	p, err := DecodePart(f.schema, part)
	if err != nil {
		return model.Remark{}, err
	}
	if len(p.trees) == 0 {
		return model.Remark{Outcome: "none",
			Text: "no trees: an additive model scores records that it has not seen as well without them"}, nil
	}
	return model.Remark{Outcome: "kept", Text: fmt.Sprintf("%d trees lower the log-loss of an additive model by "+
		"%.4f +- %.4f on records that neither has seen", len(p.trees), p.info.gain, p.info.stderr)}, nil
}
