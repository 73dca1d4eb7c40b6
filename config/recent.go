package config

import (
	"slices"
	"strings"
	"time"
)

// The functions of the former records of an id stand alone: they are known when the record is scored, behind all
// functions of its own columns.

// maxRecent is the longest window of a count.
const maxRecent = 10 * 365 * day

// recent reports whether the function tells of former records of the id.
func (f Function) recent() bool { return functions[f].ids }

// Recent reports whether the feature tells of the former records of the id of a record.
func (d *Derivation) Recent() bool { return d.Function.recent() }

// recent reads the arguments of a function of former records behind its parenthesis.
func (p *deriver) recent(d *Derivation, f form, at int) error {
	for p.blank(); !p.sign(')'); {
		if err := p.recentArgument(d, f); err != nil {
			return err
		}
		if p.sign(',') {
			continue
		}
		if p.blank(); p.at >= len(p.text) || p.text[p.at] != ')' {
			return p.fail(p.at, "", "a comma or a closing parenthesis is expected")
		}
	}
	if f.window && d.Window == 0 {
		return p.fail(at, "", "%s needs more arguments, as in %s", d.Function, f.usage)
	}
	return nil
}

// recentArgument reads a window, or a condition column=value.
func (p *deriver) recentArgument(d *Derivation, f form) error {
	name, quoted, at, err := p.word("an argument of " + string(d.Function))
	if err != nil {
		return err
	}
	if p.sign('=') {
		level, _, _, err := p.word("the value of " + name)
		if err != nil {
			return err
		}
		if level == "" {
			return p.fail(at, "", "the condition of %s asks for no value: a missing one has no level", d.Function)
		}
		if d.Where != "" {
			return p.fail(at, "", "%s has one condition at most", d.Function)
		}
		x, err := p.column(at, name)
		if err != nil {
			return err
		}
		if x.Column == "" {
			return p.fail(at, "", "a condition of %s asks for a value of a column, and %s is none", d.Function, quote(name))
		}
		d.Where, d.Level = x.Column, level
		return nil
	}
	if quoted || !f.window || d.Window != 0 {
		return p.fail(at, "", "%s takes no further argument %s: write %s", d.Function, quote(name), f.usage)
	}
	v, err := parseDuration(name)
	switch {
	case err != nil:
		return p.fail(at, "", "%s is no window of time, such as 30d", quote(name))
	case v < time.Second || v > maxRecent:
		return p.fail(at, "", "a window is between 1s and %v long, not %s", Duration(maxRecent), name)
	}
	d.Window = v
	return nil
}

// recentParts are the arguments in their canonical form.
func (d *Derivation) recentParts() (parts []string) {
	if d.Window > 0 {
		parts = append(parts, Duration(d.Window).String())
	}
	if d.Where != "" {
		parts = append(parts, named(d.Where)+"="+named(d.Level))
	}
	return parts
}

// checkRecent reports the faults of a function of former records that its text does not show.
func checkRecent(d checker, c *Config, at string, e *Derivation) {
	if c.Record.ID == "" && !d.bad["record.id"] {
		d.report(at, "", "%s: %s needs record.id, the column by which an id is known again", at, e.Function)
		return
	}
	if e.Where == "" {
		return
	}
	i := slices.IndexFunc(c.Record.Features, func(f Feature) bool { return f.Name == e.Where })
	if i < 0 {
		return
	}
	switch f := &c.Record.Features[i]; {
	case f.Use == UseNever:
		d.report(at, "", "%s: %s has use: never, and %s asks for its value: say use: report to keep it out of the scores",
			at, quote(e.Where), e.Function)
	case f.Kind == KindContinuous:
		d.report(at, "", "%s: %s is continuous, and %s asks for a level", at, quote(e.Where), e.Function)
	case len(f.Levels) > 0 && !slices.Contains(f.Levels, e.Level):
		d.report(at, Nearest(e.Level, f.Levels), "%s: %s is not one of the levels of %s: %s", at, quote(e.Level),
			quote(e.Where), strings.Join(f.Levels, ", "))
	}
}
