package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxDerived bounds the derived features: each is computed for each record.
const MaxDerived = 256

const (
	maxExpression = 1024 // bytes of an expression, those of the derived features in it written out
	maxNested     = 8    // functions inside of each other
)

// Function is a function of derived features.
type Function string

const (
	FunctionHour    Function = "hour"    // hour of the day of a time, 0 to 23
	FunctionWeekday Function = "weekday" // Monday to Sunday
	FunctionDay     Function = "day"     // day of the month, 1 to 31
	FunctionMonth   Function = "month"   // January to December
	FunctionAge     Function = "age"     // the time of the record minus another one, in a unit
	FunctionRatio   Function = "ratio"   // a / b
	FunctionLog     Function = "log"     // natural logarithm
	FunctionBucket  Function = "bucket"  // the cell between cuts

	FunctionSinceLast Function = "since_last" // seconds since the last record of the id
	FunctionCount     Function = "count"      // records of the id in a window before the record
)

// form is the form of the arguments of a function.
type form struct {
	times, numbers int // arguments: times come before numbers
	unit           bool
	cuts           bool
	ids, window    bool // of the former records of the id, of those in a window
	options        []string
	usage          string
}

var functions = map[Function]form{
	FunctionHour:    {times: 1, options: []string{"zone", "unit"}, usage: "hour(time) or hour(time, zone=Europe/Berlin)"},
	FunctionWeekday: {times: 1, options: []string{"zone", "unit"}, usage: "weekday(time)"},
	FunctionDay:     {times: 1, options: []string{"zone", "unit"}, usage: "day(time)"},
	FunctionMonth:   {times: 1, options: []string{"zone", "unit"}, usage: "month(time)"},
	FunctionAge:     {times: 1, unit: true, options: []string{"unit"}, usage: "age(opened, d)"},
	FunctionRatio:   {numbers: 2, usage: "ratio(balance, income)"},
	FunctionLog:     {numbers: 1, usage: "log(income)"},
	FunctionBucket:  {numbers: 1, cuts: true, usage: "bucket(age, 18, 25, 65)"},

	FunctionSinceLast: {ids: true, usage: "since_last() or since_last(kind=visit)"},
	FunctionCount:     {ids: true, window: true, usage: "count(30d) or count(30d, kind=visit)"},
}

// spans are the units of an age.
var spans = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": day, "w": week}

// Derivation is a parsed expression: a column, the time of the record, or a function of others.
type Derivation struct {
	// Function is "" for a column and for the time of the record.
	Function Function
	// Column is "" for a function and for the time of the record.
	Column string
	// Of are the arguments that are columns, times or functions.
	Of []Derivation
	// Span is the unit of an age, "" for other functions.
	Span string
	// Unit is that of numbers in a column of times. Default "": whole milliseconds, as where TimeColumn.Unit is not given.
	Unit TimeUnit
	// Zone is the time zone of a part of a date, UTC where none was given, nil for other functions.
	Zone *time.Location
	// Cuts are those of a bucket, ascending.
	Cuts []float64
	// Window is that of a count, 0 for other functions.
	Window time.Duration
	// Where is the column in which the former records that count have Level; "" = all count.
	Where, Level string
}

// Per is the length of the unit of an age, 0 for other functions.
func (d *Derivation) Per() time.Duration { return spans[d.Span] }

// Kind is the kind of the derived feature.
func (d *Derivation) Kind() Kind {
	switch d.Function {
	case FunctionWeekday, FunctionMonth, FunctionBucket:
		return KindOrdinal
	}
	return KindContinuous
}

// Levels are the levels of an ordinal derived feature, in order, nil for a continuous one. Those of a bucket are named
// as the cells of a report: each holds the values above the cut before and up to its own.
func (d *Derivation) Levels() (levels []string) {
	switch d.Function {
	case FunctionWeekday:
		for k := range 7 {
			levels = append(levels, time.Weekday((k+1)%7).String())
		}
	case FunctionMonth:
		for m := time.January; m <= time.December; m++ {
			levels = append(levels, m.String())
		}
	case FunctionBucket:
		levels = append(levels, "up to "+formatFloat(d.Cuts[0]))
		for k := 1; k < len(d.Cuts); k++ {
			levels = append(levels, "("+formatFloat(d.Cuts[k-1])+", "+formatFloat(d.Cuts[k])+"]")
		}
		levels = append(levels, "above "+formatFloat(d.Cuts[len(d.Cuts)-1]))
	}
	return levels
}

// String writes the expression in its one canonical form, which ParseDerivation reads again.
func (d *Derivation) String() string {
	switch {
	case d.Function == "" && d.Column == "":
		return recordTime
	case d.Function == "":
		return named(d.Column)
	}
	var parts []string
	for i := range d.Of {
		parts = append(parts, d.Of[i].String())
	}
	if d.Span != "" {
		parts = append(parts, d.Span)
	}
	for _, c := range d.Cuts {
		parts = append(parts, formatFloat(c))
	}
	if d.Zone != nil && d.Zone != time.UTC {
		parts = append(parts, "zone="+d.Zone.String())
	}
	if d.Unit != "" {
		parts = append(parts, "unit="+string(d.Unit))
	}
	parts = append(parts, d.recentParts()...)
	return string(d.Function) + "(" + strings.Join(parts, ", ") + ")"
}

// recordTime is the word for the time of the record.
const recordTime = "time"

// ends are the characters that end a word.
const ends = " \t\n(),=\"'"

// named writes the name of a column, in quotes where it is no word or has another meaning.
func named(column string) string {
	if column == recordTime || column == "" || strings.ContainsAny(column, ends) {
		if strings.Contains(column, `"`) {
			return "'" + column + "'"
		}
		return `"` + column + `"`
	}
	return column
}

// ParseDerivation reads an expression whose words are the columns of a record, as Derivation.String writes it. The
// error is of the form "at character N: ...".
func ParseDerivation(text string) (Derivation, error) {
	p := deriver{lexer: lexer{text: text, ends: ends},
		column: func(_ int, name string) (Derivation, error) { return Derivation{Column: name}, nil }}
	return p.parse()
}

// deriver reads
//
//	expression = function "(" argument { "," argument } ")"
//	argument   = expression | column | "time" | number | unit | option "=" word
//
// Columns are words, or texts in single or double quotes.
type deriver struct {
	lexer
	depth int
	// column finds the column, or the derived feature, that a word names; at is its place. The derivation has neither
	// Function nor Column where the word names the time of the record.
	column func(at int, name string) (Derivation, error)
}

func (p *deriver) parse() (Derivation, error) {
	if len(p.text) > maxExpression {
		return Derivation{}, p.fail(0, "", "the expression is at most %d bytes long, not %d", maxExpression, len(p.text))
	}
	name, quoted, at, err := p.word("a function such as hour(time)")
	if err != nil {
		return Derivation{}, err
	}
	if quoted || !p.sign('(') {
		return Derivation{}, p.fail(at, nearestFunction(name), "%s is no function: an expression is one of %s", quote(name),
			strings.Join(functionNames(), ", "))
	}
	d, err := p.call(at, name)
	if err != nil {
		return Derivation{}, err
	}
	if p.blank(); p.at < len(p.text) {
		return Derivation{}, p.fail(p.at, "", "the end is expected, not %s", quote(p.text[p.at:]))
	}
	return d, nil
}

func functionNames() (names []string) {
	for f := range functions {
		names = append(names, string(f))
	}
	slices.Sort(names)
	return names
}

func nearestFunction(name string) string { return Nearest(name, functionNames()) }

// call reads the arguments of a function behind its parenthesis; at is the place of its name.
func (p *deriver) call(at int, name string) (Derivation, error) {
	d := Derivation{Function: Function(name)}
	f, ok := functions[d.Function]
	if !ok {
		return d, p.fail(at, nearestFunction(name), "there is no function %s: an expression is one of %s", quote(name),
			strings.Join(functionNames(), ", "))
	}
	if p.depth++; p.depth > maxNested {
		return d, p.fail(at, "", "functions lie at most %d inside of each other", maxNested)
	}
	if f.ids {
		p.depth--
		return d, p.recent(&d, f, at)
	}
	spanAt := p.at
	for n := 0; ; n++ {
		var err error
		switch {
		case n < f.times+f.numbers:
			err = p.source(&d, n < f.times)
		case n == f.times+f.numbers && f.unit:
			spanAt, err = p.span(&d)
		default:
			err = p.rest(&d, f)
		}
		if err != nil {
			return d, err
		}
		if p.sign(',') {
			continue
		}
		if !p.sign(')') {
			return d, p.fail(p.at, "", "a comma or a closing parenthesis is expected")
		}
		break
	}
	p.depth--
	switch {
	case len(d.Of) < f.times+f.numbers, f.unit && d.Span == "", f.cuts && len(d.Cuts) == 0:
		return d, p.fail(at, "", "%s needs more arguments, as in %s", d.Function, f.usage)
	case f.unit && spans[d.Span] == 0:
		return d, p.fail(spanAt, "", "%s is no unit of an age: it is one of s, m, h, d and w", quote(d.Span))
	}
	if slices.Contains(f.options, "zone") && d.Zone == nil {
		d.Zone = time.UTC
	}
	return d, nil
}

// source reads an argument that is a time or a number.
func (p *deriver) source(d *Derivation, isTime bool) error {
	name, quoted, at, err := p.word(fmt.Sprintf("an argument of %s, as in %s,", d.Function, functions[d.Function].usage))
	if err != nil {
		return err
	}
	var x Derivation
	switch {
	case !quoted && p.sign('('):
		x, err = p.call(at, name)
	case !quoted && isTime && name == recordTime:
	default:
		x, err = p.column(at, name)
	}
	if err != nil {
		return err
	}
	switch {
	case x.Recent():
		return p.fail(at, "", "%s takes no %s, which is known behind all other functions: give the feature cuts under "+
			"record.features instead", d.Function, x.Function)
	case x.Function != "" && isTime:
		return p.fail(at, "", "%s takes a time and no other function: time, or a column of times", d.Function)
	case x.Function != "" && x.Kind() != KindContinuous:
		return p.fail(at, "", "%s takes a number, and %s gives levels", d.Function, x.Function)
	case x.Function == "" && x.Column == "" && !isTime:
		return p.fail(at, "", "%s takes a number and no time: write age(column, d) for a span of time", d.Function)
	case x.Function == "" && x.Column == "" && d.Function == FunctionAge:
		return p.fail(at, "", "the age of the time of the record is always 0: name another column of times")
	}
	d.Of = append(d.Of, x)
	return nil
}

// span reads the unit of an age, and returns its place.
func (p *deriver) span(d *Derivation) (at int, err error) {
	d.Span, _, at, err = p.word("the unit of an age, one of s, m, h, d and w,")
	return at, err
}

// rest reads an argument behind the required ones: a cut or an option.
func (p *deriver) rest(d *Derivation, f form) error {
	name, quoted, at, err := p.word("an argument behind the comma")
	if err != nil {
		return err
	}
	if !quoted && p.sign('=') {
		return p.option(d, f, at, name)
	}
	if !f.cuts {
		return p.fail(at, "", "%s takes no further argument %s: write %s", d.Function, quote(name), f.usage)
	}
	v, err := strconv.ParseFloat(name, 64)
	switch last := len(d.Cuts) - 1; {
	case err != nil || v-v != 0 || quoted:
		return p.fail(at, "", "a cut is a number, not %s", quote(name))
	case last >= 0 && v <= d.Cuts[last]:
		return p.fail(at, "", "the cuts of a bucket ascend: %s is not above %s", name, formatFloat(d.Cuts[last]))
	case len(d.Cuts) == MaxCuts:
		return p.fail(at, "", "a bucket has at most %d cuts", MaxCuts)
	}
	d.Cuts = append(d.Cuts, v+0)
	return nil
}

// option reads the value of an option.
func (p *deriver) option(d *Derivation, f form, at int, name string) error {
	if !slices.Contains(f.options, name) {
		return p.fail(at, Nearest(name, f.options), "%s has no option %s: write %s", d.Function, quote(name), f.usage)
	}
	value, _, place, err := p.word("the value of " + name)
	if err != nil {
		return err
	}
	switch {
	case name == "zone" && d.Zone != nil, name == "unit" && d.Unit != "":
		return p.fail(at, "", "%s is given twice", name)
	case name == "zone":
		if d.Zone, err = zone(value); err != nil {
			hint := ""
			var h *hinted
			if errors.As(err, &h) {
				hint = h.hint
			}
			return p.fail(place, hint, "%v", err)
		}
	case d.Of[0].Function == "" && d.Of[0].Column == "":
		return p.fail(at, "", "the unit of the time of the record stands under record.time")
	case !slices.Contains(TimeUnit("").choices(), value):
		return p.fail(place, "", "unit is one of s, ms, us and ns, not %s", quote(value))
	default:
		d.Unit = TimeUnit(value)
	}
	return nil
}
