package model

import "fmt"

// PartMisfit is the name of the part of a Model of files that holds the misfit of its scorecard, in the form of the
// section of a state. It is there where Options.Interval asks for it.
const PartMisfit = "misfit"

// misfitRows is the number of records whose contributions are looked at, evenly spread.
const misfitRows = 1 << 11

// foretold holds the propensities of the records of a fit that are not learnt from their own labels.
type foretold struct {
	classes int
	records []int
	p       []float64 // classes to a record
}

func newForetold(classes int) foretold { return foretold{classes: classes} }

// take is called by Evidence.Foretold.
func (h *foretold) take(i int, p []float64) {
	h.records = append(h.records, i)
	h.p = append(h.p, p...)
}

// misfitPart returns the part of the misfit of a model of the evidence, whose held-out propensities are given. Records
// of an order without meaning count alike.
func misfitPart(spec *Spec, m *Model, ev *Evidence, held *foretold) ([]byte, error) {
	p, err := newPartition(spec, nobody)
	if err != nil {
		return nil, err
	}
	if err := p.Swap(m); err != nil {
		return nil, fmt.Errorf("looking at the errors of the model: %w", err)
	}
	d := newMisfit(spec.Schema)
	d.whole = ev.Exchangeable
	row := make(Row, len(ev.Columns))
	for i := 0; i < ev.Len() && !d.ready(); i++ {
		ev.Row(i, row)
		d.meet(row, nil)
	}
	if !d.ready() && len(d.of) > 0 {
		d.cut()
	}
	for k, i := range held.records {
		ev.Row(i, row)
		prob := held.p[k*held.classes:][:held.classes]
		_, target := p.scorer.best(prob)
		y := 0.
		if ev.Class[i] == target {
			y = 1
		}
		d.learn(row, p.levels, y, prob[target], min(ev.Weight[i], MaxWeight))
	}
	d.look()
	for i := 0; i < ev.Len(); i += ev.Len()/misfitRows + 1 {
		ev.Row(i, row)
		_, target := p.scorer.best(rescore(p, row))
		p.scorer.contributions(row, target)
		d.meet(row, p.scorer.reasons)
	}
	return d.append(nil), nil
}

// adopt returns the misfit with which a partition goes on that begins to serve m: that of the model where it has learnt
// no record since it has a misfit.
func (d *misfit) adopt(m *Model, clock float64) (*misfit, error) {
	b, ok := m.Parts[PartMisfit]
	if d == nil || !ok || clock > 0 && d.n > 0 {
		return d, nil
	}
	of := newMisfit(d.schema)
	if err := of.read(b); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", PartMisfit, err)
	}
	return of, nil
}
