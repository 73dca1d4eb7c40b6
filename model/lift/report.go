package lift

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/report"
)

// Report writes the sections of a part: sets, windows, profiles and search.
func (f *Factory) Report(part []byte, levels *model.Levels, r *report.Report) error {
	p, err := DecodePart(f.schema, part)
	if err != nil {
		return err
	}
	p.Report(f.schema, levels, r)
	return nil
}

var _ report.Reporter = (*Factory)(nil)

// Report fills the sections of a report that are this package's: base rates aside, everything about sets, windows and
// profiles. levels is that of the Model.
func (p *Part) Report(s *model.Schema, levels *model.Levels, r *report.Report) {
	r.Sets = ReportSets(s, levels, p.counted(len(s.Classes)), p.Rank)
	r.Windows = make([]report.Window, 0, len(p.Windows))
	for _, w := range p.Windows {
		x := report.Window{Features: report.Names(s, w.Set.features), Levels: []string{}, Eta: report.Number(w.Eta),
			EtaCorrected: report.Number(w.Corrected), EtaLow: report.Number(w.Low), EtaHigh: report.Number(w.High),
			N: report.Number(w.N), Mass: report.Number(w.Mass), Folded: w.Folded}
		for _, c := range w.Cells {
			x.Levels = append(x.Levels, w.Set.Label(levels, c))
		}
		r.Windows = append(r.Windows, x)
	}
	r.Profiles = make([]report.Profile, 0, len(p.Profiles))
	for _, f := range p.Profiles {
		r.Profiles = append(r.Profiles, f.report(s, levels))
	}
	r.Search = &report.SearchLog{Sets: p.Tried, Exhaustive: p.Exhausted, ProfileFeatures: p.Depth,
		InexactWindows: p.Inexact}
	for _, e := range p.Entered {
		r.Search.Entered = append(r.Search.Entered, report.Names(s, e.Set.features))
	}
	r.Search.Notes = p.notes(r)
}

// notes tell the reader of the report for how many figures its intervals hold, and which records its counts are of.
func (p *Part) notes(r *report.Report) []string {
	cells := 0
	for _, x := range r.Sets {
		cells += len(x.Levels)
	}
	notes := []string{
		fmt.Sprintf("sets: an interval of a lift is at 95 %% for one cell and class by itself; "+
			"this report holds those of %d cells, after a search through %d sets", cells, p.Tried),
		"sets: counts never forget; they are of all records learnt since the set is counted",
	}
	if len(p.Windows) > 0 {
		notes = append(notes, fmt.Sprintf("windows: eta_low and eta_high hold at 95 %% "+
			"for the windows of all %d sets tried at once", p.Tried))
	}
	if len(p.Profiles) > 0 {
		among := p.Profiles[0].Among
		text := "profiles: no records were held back, so that no lift is validated; " +
			"they were searched for the highest lift, and chance is part of it"
		if among > 0 {
			text = fmt.Sprintf("profiles: validated intervals hold at 95 %% for all %d profiles at once, "+
				"on records held back, which the search did not see", among)
		}
		notes = append(notes, text)
	}
	return notes
}

func (p *Part) counted(classes int) []Counted {
	out := make([]Counted, len(p.Sets))
	for i := range p.Sets {
		out[i] = Counted{p.Sets[i].Set, p.Sets[i].Total(classes), p.Sets[i].Estimated(), p.Sets[i].RankError}
	}
	return out
}

// ReportSets measures counted sets and ranks them. Cells without a record are left out.
func ReportSets(s *model.Schema, levels *model.Levels, sets []Counted, by Rank) []report.Set {
	type ranked struct {
		*found
		*Summary
		estimated bool
		rankError float64
	}
	order := make([]ranked, len(sets))
	for i, c := range sets {
		f, m := newFound(c.Set, c.Table, len(s.Classes), ByLeaveOneOut)
		if by == ByEta {
			f.rank = f.eta
		}
		order[i] = ranked{f, m, c.Estimated, c.RankError}
	}
	slices.SortStableFunc(order, func(a, b ranked) int { return compareFound(a.found, b.found) })
	out := make([]report.Set, 0, len(sets))
	for _, o := range order {
		x := report.Set{Features: report.Names(s, o.set.features), Eta: report.Number(o.eta),
			EtaCorrected: report.Number(o.corrected), EtaLeaveOneOut: report.Number(o.leftOut), N: report.Number(o.n),
			Estimated: o.estimated, RankError: report.Number(o.rankError), Levels: []string{},
			Cuts: report.Numbers(o.set.Cuts())}
		for c := range o.NX {
			if !(o.NX[c] > 0) {
				continue
			}
			k := len(s.Classes)
			lift, low, high := make([]report.Number, k), make([]report.Number, k), make([]report.Number, k)
			for y := range s.Classes {
				a, b := o.LiftInterval(c, y)
				lift[y], low[y], high[y] = report.Number(o.Lift(c, y)), report.Number(a), report.Number(b)
			}
			x.Levels = append(x.Levels, o.set.Label(levels, c))
			x.Counts = append(x.Counts, report.Numbers(o.Count[c*k:(c+1)*k]))
			x.Lift, x.LiftLow, x.LiftHigh = append(x.Lift, lift), append(x.LiftLow, low), append(x.LiftHigh, high)
			x.CellEta = append(x.CellEta, report.Number(o.CellEta(c)))
		}
		out = append(out, x)
	}
	return out
}

func (p *Profile) report(s *model.Schema, levels *model.Levels) report.Profile {
	low, high := p.Tally.Interval()
	nan := math.NaN()
	lift, vlow, vhigh := nan, nan, nan
	if p.Validation.N > 0 {
		lift = p.Validation.Lift()
		vlow, vhigh = p.ValidatedInterval()
	}
	x := report.Profile{Class: s.Classes[p.Class], Text: p.Text, Lift: report.Number(p.Tally.Lift()),
		LiftLow: report.Number(low), LiftHigh: report.Number(high), LiftAll: report.Number(p.LiftAll),
		N: report.Number(p.Tally.N), NX: report.Number(p.Tally.NX),
		NXY: report.Number(p.Tally.NXY), NY: report.Number(p.Tally.NY),
		ValidatedLift: report.Number(lift), ValidatedLow: report.Number(vlow), ValidatedHigh: report.Number(vhigh),
		ValidatedAmong: p.Among, QValue: report.Number(p.Q), Confirmed: p.Confirmed(),
		Refinements: p.Refinements, Folded: p.Folded}
	for i := range p.Items {
		t := &p.Items[i]
		cell := t.interval()
		if t.Level >= 0 {
			cell = levels.Text(int(t.Feature), float64(t.Level))
		}
		x.Profile = append(x.Profile, report.Test{Feature: s.Features[t.Feature].Name, Cell: cell})
	}
	return x
}
