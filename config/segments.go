package config

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// MaxSegments bounds the named segments: each is looked at for each record, and has metrics of its own.
const MaxSegments = 50

const (
	maxCondition = 1024 // bytes of a condition
	maxDepth     = 16   // parentheses inside of each other
	maxTerms     = 64   // comparisons of a condition
)

// Condition is a parsed condition of a segment: of Any one holds, of All each, or else Feature is compared with Value.
type Condition struct {
	Any, All []Condition
	Feature  string
	Operator string // one of operators
	Value    string
	// Missing says that Value is one of record.missing: the comparison asks whether there is a value.
	Missing bool
	// Number is the value of a continuous feature.
	Number float64
}

// operators of comparisons, the longer ones first.
var operators = []string{"<=", ">=", "!=", "=", "<", ">"}

// Condition returns the parsed condition of a segment of a configuration that was checked.
func (c *Config) Condition(segment string) (Condition, error) {
	p := conditionParser{lexer: lexer{text: c.Segments[segment], ends: " \t\n()&|=<>!\"'"}, config: c}
	return p.parse()
}

// conditionParser reads
//
//	condition = all { "|" all }
//	all       = part { "&" part }
//	part      = "(" condition ")" | feature operator value
//
// Features and values are words, or texts in single or double quotes.
type conditionParser struct {
	lexer
	depth, terms int
	config       *Config
}

func (p *conditionParser) parse() (Condition, error) {
	if len(p.text) > maxCondition {
		return Condition{}, p.fail(0, "", "the condition is at most %d bytes long, not %d", maxCondition, len(p.text))
	}
	c, err := p.any()
	if err != nil {
		return Condition{}, err
	}
	if p.blank(); p.at < len(p.text) {
		return Condition{}, p.fail(p.at, "", "& or | is expected, or the end, not %s", quote(p.text[p.at:]))
	}
	return c, nil
}

func (p *conditionParser) any() (Condition, error) {
	return p.list('|', p.all, func(c []Condition) Condition { return Condition{Any: c} })
}

func (p *conditionParser) all() (Condition, error) {
	return p.list('&', p.part, func(c []Condition) Condition { return Condition{All: c} })
}

// list reads parts with a sign between them.
func (p *conditionParser) list(sign byte, part func() (Condition, error), join func([]Condition) Condition,
) (Condition, error) {
	var parts []Condition
	for {
		c, err := part()
		if err != nil {
			return Condition{}, err
		}
		parts = append(parts, c)
		if !p.sign(sign) {
			break
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return join(parts), nil
}

func (p *conditionParser) part() (Condition, error) {
	if !p.sign('(') {
		return p.comparison()
	}
	if p.depth++; p.depth > maxDepth {
		return Condition{}, p.fail(p.at-1, "", "parentheses lie at most %d inside of each other", maxDepth)
	}
	c, err := p.any()
	if err != nil {
		return Condition{}, err
	}
	if !p.sign(')') {
		return Condition{}, p.fail(p.at, "", "a closing parenthesis is missing")
	}
	p.depth--
	return c, nil
}

func (p *conditionParser) comparison() (Condition, error) {
	var c Condition
	var err error
	if p.terms++; p.terms > maxTerms {
		return c, p.fail(p.at, "", "a condition has at most %d comparisons", maxTerms)
	}
	var at int
	if c.Feature, _, at, err = p.word("a feature"); err != nil {
		return c, err
	}
	f, err := p.feature(at, c.Feature)
	if err != nil {
		return c, err
	}
	p.blank()
	sign := p.at
	for _, o := range operators {
		if strings.HasPrefix(p.text[p.at:], o) {
			c.Operator = o
			break
		}
	}
	if c.Operator == "" {
		return c, p.fail(p.at, "", "%s needs one of = != < <= > >= behind it", quote(c.Feature))
	}
	p.at += len(c.Operator)
	if c.Value, _, at, err = p.word("a value"); err != nil {
		return c, err
	}
	return c, p.fits(&c, f, sign, at)
}

// feature finds a feature that records have.
func (p *conditionParser) feature(at int, name string) (*Feature, error) {
	var names []string
	for i := range p.config.Record.Features {
		f := &p.config.Record.Features[i]
		if f.Name == name && f.Use == UseNever {
			return nil, p.fail(at, "", "%s has use: never and is not looked at; use: report keeps it out of the scores",
				quote(name))
		}
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return nil, p.fail(at, Nearest(name, names), "%s is not one of record.features", quote(name))
}

// fits holds a comparison against the kind of its feature. sign and at are the places of operator and value.
func (p *conditionParser) fits(c *Condition, f *Feature, sign, at int) error {
	same := c.Operator == "=" || c.Operator == "!="
	if c.Missing = slices.Contains(p.config.Record.Missing, c.Value); c.Missing {
		if !same {
			return p.fail(at, "", "%s is a missing value: it is neither above nor below another", quote(c.Value))
		}
		return nil
	}
	switch {
	case f.Kind == KindContinuous:
		v, err := strconv.ParseFloat(c.Value, 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			return p.fail(at, "", "%s is continuous: it is compared with a number, not %s", quote(c.Feature),
				quote(c.Value))
		}
		c.Number = v
	case f.Kind == KindNominal && !same:
		return p.fail(sign, "", "%s is nominal: its levels have no order, so that = and != alone compare them",
			quote(c.Feature))
	case len(f.Levels) > 0 && !slices.Contains(f.Levels, c.Value):
		return p.fail(at, Nearest(c.Value, f.Levels), "%s is not one of the levels of %s", quote(c.Value),
			quote(c.Feature))
	}
	return nil
}

// checkSegments parses each condition.
func checkSegments(d checker, c *Config) {
	const path = "segments"
	if n := len(c.Segments); n > MaxSegments {
		d.report(path, "", "%s has %d of them; at most %d are possible", path, n, MaxSegments)
		return
	}
	if d.bad["record.features"] || d.unseen("record.") || d.unseen("derive.") {
		return
	}
	for _, name := range sortedKeys(reflect.ValueOf(c.Segments)) {
		at := join(path, name)
		if d.plainText(at, name, "the name of a segment"); d.bad[at] {
			continue
		}
		if strings.HasPrefix(name, "(") {
			d.report(at, "", "%s: names that begin with ( are those of the program", at)
			continue
		}
		if _, err := c.Condition(name); err != nil {
			reportExpression(d, at, "a condition such as plan=plus & visits>10", err)
		}
	}
}
