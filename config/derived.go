package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// Derived returns the parsed expression of a derived feature of a configuration that was checked; ok is false where the
// feature is a column.
func (c *Config) Derived(feature string) (d Derivation, ok bool) {
	text, ok := c.Derive[feature]
	if !ok {
		return d, false
	}
	d, err := ParseDerivation(text)
	return d, err == nil
}

// Sources returns the columns that derived features are computed from, each once, in alphabetical order.
func (c *Config) Sources() (columns []string) {
	var walk func(d *Derivation)
	walk = func(d *Derivation) {
		if d.Column != "" {
			columns = append(columns, d.Column)
		}
		for i := range d.Of {
			walk(&d.Of[i])
		}
	}
	for name := range c.Derive {
		if d, ok := c.Derived(name); ok {
			walk(&d)
		}
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}

// derivations resolves the expressions of a configuration: each is parsed, with those of the derived features in it
// written out.
type derivations struct {
	c      *Config
	done   map[string]Derivation
	failed map[string]error
	open   []string // the features in whose expressions the reader is, from the outside in
}

// errDependent is the error of an expression whose only fault is that of a derived feature in it, which is reported
// there.
var errDependent = errors.New("a derived feature in it has a fault")

// resolve returns the expression of a derived feature.
func (x *derivations) resolve(name string) (Derivation, error) {
	if d, ok := x.done[name]; ok {
		return d, nil
	}
	if err, ok := x.failed[name]; ok {
		return Derivation{}, err
	}
	x.open = append(x.open, name)
	p := deriver{lexer: lexer{text: x.c.Derive[name], ends: ends}}
	p.column = func(at int, word string) (Derivation, error) { return x.column(&p, at, word) }
	d, err := p.parse()
	x.open = x.open[:len(x.open)-1]
	if n := len(d.String()); err == nil && n > maxExpression {
		err = p.fail(0, "", "with the derived features in it written out the expression has more than %d bytes",
			maxExpression)
	}
	if err == nil && d.depth() > maxNested {
		err = p.fail(0, "", "with the derived features in it written out more than %d functions lie inside of each other",
			maxNested)
	}
	if err != nil {
		x.failed[name] = err
		return Derivation{}, err
	}
	x.done[name] = d
	return d, nil
}

// depth is the number of functions inside of each other.
func (d *Derivation) depth() int {
	if d.Function == "" {
		return 0
	}
	most := 0
	for i := range d.Of {
		most = max(most, d.Of[i].depth())
	}
	return 1 + most
}

// column finds a column of the record or a derived feature.
func (x *derivations) column(p *deriver, at int, name string) (Derivation, error) {
	r := &x.c.Record
	if name == "" {
		return Derivation{}, p.fail(at, "", "the name of a column is missing")
	}
	if _, ok := x.c.Derive[name]; ok {
		if slices.Contains(x.open, name) {
			return Derivation{}, p.fail(at, "", "%s is derived from itself", quote(name))
		}
		d, err := x.resolve(name)
		if err != nil {
			return d, errDependent
		}
		return d, nil
	}
	switch name {
	case r.Time.Column:
		return Derivation{}, nil
	case r.Label.Column:
		return Derivation{}, p.fail(at, "", "%s is the label: a feature of it would tell the outcome", quote(name))
	case x.c.goal(name):
		return Derivation{}, p.fail(at, "", "%s is a goal: a feature of it would tell the outcome", quote(name))
	case x.c.treated():
		return Derivation{}, p.fail(at, "", "%s is the treatment: a score comes before it", quote(name))
	}
	names := []string{recordTime}
	for i := range r.Features {
		f := &r.Features[i]
		if f.Name == name {
			return Derivation{Column: name}, nil
		}
		names = append(names, f.Name)
	}
	if name == recordTime {
		return Derivation{}, nil
	}
	return Derivation{}, p.fail(at, Nearest(name, names), "%s is not one of record.features; a column that only derived "+
		"features need is listed there with use: never", quote(name))
}

// numeric finds a column that is read as a number and is none.
func (x *derivations) numeric(d *Derivation) (bad string) {
	for i := range d.Of {
		if bad == "" {
			bad = x.numeric(&d.Of[i])
		}
		column := d.Of[i].Column
		if bad != "" || column == "" || functions[d.Function].times > 0 {
			continue
		}
		for k := range x.c.Record.Features {
			if f := &x.c.Record.Features[k]; f.Name == column && f.Kind != KindContinuous && f.Kind != "" {
				bad = column
			}
		}
	}
	return bad
}

// deriveFeatures parses the derived features, writes each expression in its canonical form, and adds the features that
// record.features does not list, by name. It runs before all other checks, which look at them as at any feature.
func deriveFeatures(d checker, c *Config) {
	const path = "derive"
	if n := len(c.Derive); n > MaxDerived {
		d.report(path, "", "%s has %d features; at most %d are possible", path, n, MaxDerived)
		return
	}
	if d.unseen("record.") {
		return
	}
	x := &derivations{c: c, done: map[string]Derivation{}, failed: map[string]error{}}
	names := sortedKeys(reflect.ValueOf(c.Derive))
	for _, name := range names {
		at := join(path, name)
		if d.bad[at] || d.bad["record.features"] {
			continue
		}
		e, err := x.resolve(name)
		if err == nil {
			if e.Recent() {
				checkRecent(d, c, at, &e)
			}
			if column := x.numeric(&e); column != "" {
				d.report(at, "", "%s: %s is not continuous: %s takes numbers", at, quote(column), e.Function)
			}
			continue
		}
		if !errors.Is(err, errDependent) {
			reportExpression(d, at, "an expression such as hour(time)", err)
		}
	}
	for _, name := range names {
		e, ok := x.done[name]
		deriveFeature(d, c, name, e, ok)
		if ok {
			c.Derive[name] = e.String()
		}
	}
}

// deriveFeature makes a derived feature one of the features. Where record.features lists it, the entry gives its use,
// cuts and bins.
func deriveFeature(d checker, c *Config, name string, e Derivation, known bool) {
	r, line := &c.Record, d.line(join("derive", name))
	i := slices.IndexFunc(r.Features, func(f Feature) bool { return f.Name == name })
	if i < 0 {
		f := Feature{Name: name}
		f.setDefaults()
		i = len(r.Features)
		r.Features = append(r.Features, f)
		d.lines[elementPath("record.features", i)] = line
		d.lines[elementPath("record.features", i)+".name"] = line
	}
	f, path := &r.Features[i], elementPath("record.features", i)
	kind := KindContinuous
	if known {
		kind = e.Kind()
	}
	if levels := e.Levels(); known && d.given(path+".levels") && !slices.Equal(f.Levels, levels) {
		d.report(path+".levels", "", "%s.levels: the levels of a derived feature are those of %s", path, e.Function)
	}
	if known && d.given(path+".kind") && f.Kind != "" && f.Kind != kind {
		d.report(path+".kind", "", "%s.kind: %s is %s, as %s gives it, not %s", path, quote(name), kind, e.Function, f.Kind)
	}
	if f.Nullable != NullableValues && d.given(path+".nullable") {
		d.report(path+".nullable", "", "%s.nullable: %s is derived and no column: say nullable of the columns that it is "+
			"derived from", path, quote(name))
	}
	if f.Use == UseNever {
		d.report(path+".use", "", "%s.use: %s is derived: leave it out of derive instead", path, quote(name))
	}
	if f.Kind = kind; known && kind == KindOrdinal {
		f.Levels = e.Levels()
		d.lines[path+".levels"] = max(d.lines[path+".levels"], line)
	}
	for _, p := range []string{path + ".kind", path + ".name"} {
		d.lines[p] = max(d.lines[p], line)
	}
	if c.Record.Time.Column == "" && known && e.ofTime() {
		d.untimed = append(d.untimed, name)
	}
}

// ofTime reports whether the time of the record is asked for.
func (d *Derivation) ofTime() bool {
	if d.Function == FunctionAge || d.Recent() || d.Function == "" && d.Column == "" {
		return true
	}
	return slices.ContainsFunc(d.Of, func(x Derivation) bool { return x.ofTime() })
}

// warnUntimed warns of derived features that need a time which files do not have.
func warnUntimed(d checker, add func(path, message string)) {
	for _, name := range d.untimed {
		at := join("derive", name)
		add(at, fmt.Sprintf("%s needs the time of the record, and record.time names no column: messages have Kafka's "+
			"timestamp, files have none, so that the feature is missing there", at))
	}
}
