package describe

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"liftstream/model"
)

// YAML is the commented configuration that the description suggests. It holds the settings that cannot be left to
// defaults, and for every column of the table a line or the reason why there is none.
func (d *Description) YAML() []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# From %s records. Every other key has a default; look at the comments, then run `liftstream lint`.",
		count(d.Records))
	line("name: %s", scalar(topicName(d.Name)))
	line("record:")
	for _, x := range []struct{ key, column, role string }{{"id", d.ID, "late labels and audiences need one"},
		{"time", d.Time, "without it the message's timestamp is taken"}} {
		switch {
		case x.column == "":
			line("  # %s: COLUMN  # none found; %s", x.key, x.role)
		case x.key == "time" && d.TimeUnit != "":
			line("  time: {column: %s, unit: %s}", scalar(x.column), d.TimeUnit)
		default:
			line("  %s: %s", x.key, scalar(x.column))
		}
	}
	line("  label:")
	line("    column: %s", scalar(d.Label))
	classes, shares := make([]string, len(d.Classes)), make([]string, len(d.Classes))
	labelled := d.labelled()
	for i, c := range d.Classes {
		classes[i] = scalar(c.Text)
		shares[i] = percent(c.N, labelled)
	}
	line("    classes: [%s]  # %s of %s labelled records", strings.Join(classes, ", "), strings.Join(shares, ", "),
		count(labelled))
	switch {
	case d.Positive == "":
		line("    # positive: CLASS  # the class that scores speak of; without it that of the highest lift")
	case d.Guessed:
		line("    positive: %s  # the rarer one: change it if you ask for the other", scalar(d.Positive))
	default:
		line("    positive: %s", scalar(d.Positive))
	}
	goalLines(d, line)
	missing := make([]string, len(d.Missing))
	for i, m := range d.Missing {
		missing[i] = quote(m)
	}
	line("  missing: [%s]%s", strings.Join(missing, ", "), d.swallowed())
	line("  features:")
	wide := 0
	for i := range d.Columns {
		if c := &d.Columns[i]; c.Role == Feature || c.Role == Leak || c.Role == Left {
			wide = max(wide, min(70, utf8.RuneCountInString(c.entry())+2))
		}
	}
	features := 0
	for i := range d.Columns {
		c := &d.Columns[i]
		e := c.entry()
		switch c.Role {
		case Feature, Leak:
			features++
			if c.Why != "" {
				line("    # %s %s", comment(c.Name), comment(c.Why))
			}
			line("    - %s%s# %s", e, pad(wide-utf8.RuneCountInString(e)), c.facts(d.Records))
		case Left:
			why := c.Why
			if why == aTime {
				why += fmt.Sprintf("; listed with 'use: never' it serves derive, as in age(%q, d)", c.Name)
			}
			line("    # - %s%s# left out: %s", comment(e), pad(wide-utf8.RuneCountInString(e)-2), comment(why))
		}
	}
	if features == 0 {
		line("    []")
	}
	if len(d.Goals) > 0 {
		line("output: {goals: why}  # scores have the lift and the reasons of each goal too; without it the propensity alone")
	}
	if n := warmup(labelled); n < defaultWarmup {
		line("fit: {warmup: %d}  # labelled records before the first scores that are more than base rates; 2 %% of these", n)
	}
	return []byte(b.String())
}

// swallowed is the comment on the cells that the texts of missing take.
func (d *Description) swallowed() string {
	var parts []string
	var all int64
	for _, m := range d.Marks {
		if m.N > 0 {
			all += m.N
			parts = append(parts, count(m.N)+" "+quote(m.Text))
		}
	}
	if all == 0 {
		return "  # no cell of this file"
	}
	return comment(fmt.Sprintf("  # %s %s of this file: %s", count(all), plural(all, "cell"), strings.Join(parts, ", ")))
}

// pad is n spaces, at least two.
func pad(n int) string { return strings.Repeat(" ", max(2, n)) }

// entry is the feature in flow style.
func (c *Column) entry() string {
	use := ""
	if c.Role == Leak {
		use = ", use: never"
	}
	return fmt.Sprintf("{name: %s, kind: %s%s}", scalar(c.Name), c.Kind, use)
}

// facts is the text of the comment on a feature.
func (c *Column) facts(records int64) string {
	var f []string
	many := ""
	if c.Distinct == maxDistinct {
		many = "at least "
	}
	if c.Kind == model.Continuous {
		f = append(f, fmt.Sprintf("%v to %v, %s%s values", c.Min, c.Max, many, count(int64(c.Distinct))))
	} else {
		const shown, longest = 5, 24
		text, separator := fmt.Sprintf("%s%s levels", many, count(int64(c.Distinct))), ": "
		for i, l := range c.Levels {
			if i == shown {
				text += ", ..."
				break
			}
			name := l.Text
			if r := []rune(name); len(r) > longest {
				name = string(r[:longest]) + "..."
			}
			text += separator + name + " " + count(l.N)
			separator = ", "
		}
		if c.Distinct > model.MaxLevels {
			text += fmt.Sprintf("; beyond the first %s those that come often or lately are told apart", count(model.MaxLevels))
		}
		f = append(f, text)
	}
	if c.Names != "" {
		f = append(f, c.Names)
	}
	if c.Rounded > 0 {
		f = append(f, count(c.Rounded)+" rounded beyond 2^53")
	}
	if c.Missing > 0 {
		f = append(f, percent(c.Missing, records)+" missing")
	}
	return comment(strings.Join(f, "; "))
}

// comment makes a text fit for the rest of a comment line.
func comment(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == '\ufeff' || r == '\ufffd' ||
			r >= 0xfff0 && r <= 0xffff {
			return '.'
		}
		return r
	}, text)
}

var (
	bareText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)
	// reserved are the words that some reader of YAML takes for something else than text.
	reserved = regexp.MustCompile(`(?i)^(y|n|yes|no|true|false|on|off|null|nan|inf|.*e[0-9]+)$`)
)

// scalar writes a text so that YAML reads it as that text, in a list or a mapping too: bare when that is safe, else in
// double quotes. "${" is doubled, because a configuration replaces ${NAME} inside values.
func scalar(text string) string {
	if bareText.MatchString(text) && !reserved.MatchString(text) {
		return text
	}
	return quote(text)
}

func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '$' && strings.HasPrefix(text[i:], "${"):
			b.WriteString("$$")
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == 0xfffd || comment(string(r)) != string(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

var notTopic = regexp.MustCompile(`[^a-zA-Z0-9._-]+`)

// topicName makes a name of which Kafka's topics can be made.
func topicName(name string) string {
	name = strings.Trim(notTopic.ReplaceAllString(name, "-"), "-.")
	if name == "" {
		return "stage"
	}
	return name[:min(len(name), 200)]
}

// defaultWarmup is that of the configuration, right from 25,000 labelled records on.
const defaultWarmup = 500

// warmup is 2 % of the labelled records, at least 50: in a small set, waiting for more would cost more than the coarser
// first cells do, which the stage refines as it goes on.
func warmup(labelled int64) int64 { return max(labelled/50, 50) }
