package describe

import (
	"fmt"
	"slices"
	"strings"

	"liftstream/model"
)

// settleMarks gathers the texts that mean missing. A few texts among numbers are taken for marks too, unless they are
// levels elsewhere: the list is one for all columns. unknown are the marks in the columns of outcomes.
func (d *Description) settleMarks(profiles []profile, unknown []marked) {
	add := func(text string) {
		if !slices.Contains(d.Missing, text) {
			d.Missing = append(d.Missing, text)
		}
	}
	for _, usual := range []string{"", "NA", "?"} {
		if !slices.Contains(d.quoted, usual) {
			add(usual)
		}
	}
	for c := range d.Columns {
		for _, m := range d.Columns[c].Marks {
			add(m)
		}
	}
	for _, m := range unknown {
		if !slices.Contains(d.quoted, m.text) {
			add(m.text)
		}
	}
	for c := range d.Columns {
		p, col := &profiles[c], &d.Columns[c]
		if col.Role == Label || col.Role == Goal || !p.nearlyNumbers() {
			continue
		}
		level := slices.ContainsFunc(d.Columns, func(o Column) bool {
			return o.Kind == model.Nominal && o.Name != col.Name && slices.ContainsFunc(o.Levels,
				func(l Count) bool { return slices.Contains(p.oddTexts(), l.Text) && !d.odd(profiles, o.Name, l.Text) })
		})
		if level {
			d.warn(col.Name, WarnMixed, "holds numbers, and in %s %s, which is a level of another column: it is read as nominal",
				said(p.odd), is(p.texts()))
			continue
		}
		p.oddIsMissing = true
		*col = p.column(col.Name)
		for _, m := range p.odd {
			add(m.text)
		}
	}
	for c := range d.Columns {
		col := &d.Columns[c]
		if col.Role == Label || col.Role == Goal {
			continue
		}
		named := slices.DeleteFunc(slices.Clone(profiles[c].marks), func(m marked) bool {
			return strings.TrimSpace(m.text) == ""
		})
		kind := WarnMarks
		if profiles[c].oddIsMissing {
			named, kind = append(named, profiles[c].odd...), WarnMixed
		}
		if len(named) > 0 {
			d.warn(col.Name, kind, "%s treated as missing", said(named))
		}
	}
	for _, text := range d.quoted {
		if slices.Contains(d.Missing, text) {
			d.warn("", WarnMarks, "%q stands in quotes, where it is text, and without, where it means missing: a configuration "+
				"reads both as missing; leave the cells without quotes empty, and %q out of missing", text, text)
		}
	}
}

// odd reports whether the text is one of the few among the numbers of that column.
func (d *Description) odd(profiles []profile, column, text string) bool {
	c := slices.IndexFunc(d.Columns, func(c Column) bool { return c.Name == column })
	return profiles[c].nearlyNumbers() && slices.Contains(profiles[c].oddTexts(), text)
}

// countMarks counts the cells that each text of Missing takes.
func (d *Description) countMarks(profiles []profile) {
	d.Marks = make([]Count, len(d.Missing))
	for i, text := range d.Missing {
		d.Marks[i].Text = text
		for c := range profiles {
			marks := profiles[c].marks
			if profiles[c].oddIsMissing {
				marks = append(slices.Clone(marks), profiles[c].odd...)
			}
			for _, m := range marks {
				if m.text == text {
					d.Marks[i].N += m.n
				}
			}
		}
	}
}

func is(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// roles decides the role of every column, but for leaks.
func (d *Description) roles(t Table, profiles []profile) {
	for c := range d.Columns {
		col, p := &d.Columns[c], &profiles[c]
		switch refused := t.format(c).Refused; {
		case col.Role == Label || col.Role == Goal:
		case col.Name == "": // not even the id or the time, whose names are empty while there is none
			col.Role, col.Why = Left, "it has no name"
			d.warn("", WarnName, "a column has no name: it is left out; many programs write row numbers so, without being asked")
		case col.Name == d.ID:
			col.Role = ID
			if why := p.noID(t.format(c)); why != "" {
				d.warn(col.Name, WarnID, "%s: `fit` and `score` refuse the file with this id", why)
			}
			if p.missing > 0 {
				d.warn(col.Name, WarnID, "%s %s without an id: `fit` and `score` refuse the file until they have one, and a stage "+
					"makes dead letters of them", count(p.missing), plural(p.missing, "record"))
			}
		case col.Name == d.Time:
			col.Role = Time
			if refused != "" {
				d.warn(col.Name, WarnTime, "%s: `fit` and `score` refuse the file with this time", refused)
				break
			}
			d.checkTime(col, p)
		case refused != "":
			col.Role, col.Why = Left, refused
			d.warn(col.Name, WarnType, "%s: it is left out", refused)
		case col.Distinct <= 1:
			col.Role, col.Why = Left, "it has one value"
			if col.Distinct == 0 {
				col.Why = "it is always missing"
			}
			d.warn(col.Name, WarnConstant, "%s: nothing can be learnt from it", col.Why)
		case p.isTime(col.Name):
			col.Role, col.Why = Left, aTime
		case p.nearlyTimes() > 0:
			col.Role, col.Why = Left, fmt.Sprintf("a time but for %s", count(p.nearlyTimes()))
			d.warn(col.Name, WarnTime, "holds times, but for %s %s, such as %q: `fit` reads no time from them",
				count(p.nearlyTimes()), plural(p.nearlyTimes(), "record"), p.noTime)
		case p.isDates():
			col.Role, col.Why = Left, "dates that are not read as times"
			d.warn(col.Name, WarnTime, "holds dates such as %q, which are not read as times: write the year first, as in "+
				"2026-02-24, and 'derive' makes features of them", p.noTime)
		case p.isID(col.Name, t.format(c)):
			col.Role, col.Why = Left, anID
		case t.format(c).Time && p.stamps < p.present() && p.distinctShare() > 0.5:
			col.Role, col.Why = Left, "times of which some cannot be read"
			d.warn(col.Name, WarnTime, "holds times outside 1678 to 2261, such as %q, in %s of %s records: `fit` reads no time "+
				"from them", p.noTime, count(p.present()-p.stamps), count(p.present()))
		case col.Kind == model.Nominal && p.distinctShare() > 0.5 && p.present() >= 100:
			col.Role, col.Why = Left, "free text"
			if t.format(c).Text && p.texts() == 0 {
				col.Why = "numbers that its type has as text"
				d.warn(col.Name, WarnFreeText, "holds numbers as text, of which `fit` reads none: write them as numbers")
				break
			}
			if !p.spaced && p.missing == 0 {
				col.Why = "hardly a value occurs twice"
				d.warn(col.Name, WarnFreeText, "hardly a value occurs twice: it cannot be a feature; --id names it, if it says "+
					"who a record is about")
				break
			}
			d.warn(col.Name, WarnFreeText, "hardly a value occurs twice: it cannot be a feature")
		}
	}
	d.chooseID(profiles)
	d.chooseTime(profiles)
}

const (
	aTime = "a time"
	anID  = "it looks like an id"
)

func (d *Description) chooseID(profiles []profile) {
	best := -1
	for c := range d.Columns {
		col := &d.Columns[c]
		if col.Why != anID {
			continue
		}
		d.warn(col.Name, WarnID, "looks like an id (%s): as a feature it would be learnt by heart",
			profiles[c].idWhy(col.Name))
		if col.Missing > 0 {
			if d.ID == "" {
				d.warn(col.Name, WarnID, "%s %s without it: it is not chosen as record.id, because each record needs one",
					count(col.Missing), plural(col.Missing, "record"))
			}
			continue
		}
		if best < 0 || idName.MatchString(col.Name) && !idName.MatchString(d.Columns[best].Name) {
			best = c
		}
	}
	if d.ID == "" && best >= 0 {
		d.ID, d.Columns[best].Role = d.Columns[best].Name, ID
	}
}

// chooseTime takes a column for the time of the records when it is always there and never falls, or is the only one
// that is always there. The stage must read it as the times that it holds.
func (d *Description) chooseTime(profiles []profile) {
	if d.Time != "" {
		return
	}
	var full []int
	for c := range d.Columns {
		if d.Columns[c].Role == Left && d.Columns[c].Why == aTime && d.Columns[c].Missing == 0 {
			full = append(full, c)
		}
	}
	for _, c := range full {
		if !profiles[c].falls || len(full) == 1 {
			if d.checkTime(&d.Columns[c], &profiles[c]) {
				d.Time, d.Columns[c].Role = d.Columns[c].Name, Time
			}
			return
		}
	}
}

// checkTime reports whether the stage reads the column as the times that it holds, and warns where it does not.
func (d *Description) checkTime(col *Column, p *profile) bool {
	n := p.present()
	switch unit := p.unitName(); {
	case p.stamps == n:
		return true
	case p.integers == n && unit != "" && unit != "ms" && d.units:
		d.TimeUnit = unit
		return true
	case p.integers == n && unit != "" && unit != "ms":
		d.warn(col.Name, WarnTime, "holds times in %s since 1970, and the stage reads numbers as milliseconds: write it in "+
			"milliseconds, or as RFC 3339, then name it as record.time", map[string]string{"s": "seconds", "us": "microseconds",
			"ns": "nanoseconds"}[unit])
		return false
	case p.integers == n:
		return true
	}
	d.warn(col.Name, WarnTime, "%s of %s values are no times that the stage reads: RFC 3339, a date with the year "+
		"first, or integer milliseconds", count(n-p.stamps-p.integers), count(n))
	return false
}
