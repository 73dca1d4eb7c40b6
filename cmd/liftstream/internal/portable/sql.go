package portable

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"liftstream/model"
)

// Records is the name of the table from which the SQL reads.
const Records = "records"

// SQL writes one query that scores every row of the table Records. Columns have the names of the features; a number is
// missing where it is NULL, NaN or infinite, a text where it is NULL or one of the missing texts, without the spaces
// around it.
func (c *Card) SQL(w io.Writer) error {
	q := &query{Writer: bufio.NewWriter(w), c: c}
	q.line("-- %s", comment(fmt.Sprintf("The scorecard of %s, model %d: log-odds and propensity of %q against %q.", c.Name,
		c.Model, c.Target, c.Other)))
	q.line("-- It reads the table %s; put the name of yours there. Text columns hold texts, the others numbers.",
		identifier(Records))
	for _, s := range c.LeftOut {
		q.line("-- Left out: %s", comment(s))
	}
	q.line("-- The cost of leaving parts out: liftstream eval -c FILE DATA --method lift --method all")
	keep := c.keep()
	q.line("SELECT %s ls_log_odds AS log_odds,", keep)
	q.line("  1E0 / (1E0 + EXP(-CASE WHEN ls_log_odds > %s THEN %[1]s", float(c.Clip))
	q.line("    WHEN ls_log_odds < %s THEN %[1]s ELSE ls_log_odds END))", float(-c.Clip))
	q.line("    AS %s", identifier("propensity_"+c.Target))
	q.line("FROM (SELECT %s", keep)
	for k := range c.Margins {
		q.curve(k)
	}
	q.line("    AS ls_log_odds")
	q.line("FROM (SELECT %s", keep)
	for k := range c.Margins {
		q.margin(k)
	}
	q.line("FROM (SELECT ls_values.*,")
	for i := range c.Sets {
		q.set(i)
	}
	for i := range c.Features {
		q.feature(i)
	}
	q.line("FROM (SELECT %s", keep)
	for i := range c.Features {
		q.value(i)
	}
	q.line("FROM %s) AS ls_values) AS ls_effects) AS ls_margins) AS ls_scores", identifier(Records))
	return q.Flush()
}

type query struct {
	*bufio.Writer
	c *Card
}

func (q *query) line(format string, args ...any) { fmt.Fprintf(q, format+"\n", args...) }

// keep are the columns that the query hands on: the id or, without one, all features.
func (c *Card) keep() string {
	if c.ID != "" {
		return identifier(c.ID) + ","
	}
	names := ""
	for i := range c.Features {
		names += identifier(c.Features[i].Name) + ", "
	}
	return strings.TrimSpace(names)
}

// value writes the value of feature i: NULL where it is missing or a special code, which it writes by its number.
func (q *query) value(i int) {
	f, end := &q.c.Features[i], ","
	if i == len(q.c.Features)-1 {
		end = ""
	}
	name := identifier(f.Name)
	if f.Levels == nil && f.Pieces != nil {
		number := "CAST(" + name + " AS DOUBLE PRECISION)"
		codes, when, but := []string{}, "", ""
		for k, s := range f.Special {
			codes = append(codes, float(s.Code))
			when += fmt.Sprintf(" WHEN %s THEN %d", codes[k], k)
		}
		if len(codes) > 0 {
			q.line("  CASE %s%s END AS ls_c%d,", number, when, i)
			but = " AND " + number + " NOT IN (" + strings.Join(codes, ", ") + ")"
		}
		q.line("  CASE WHEN %s BETWEEN %s AND %s%s THEN %[1]s END AS ls_v%[5]d%[6]s", number, float(-math.MaxFloat64),
			float(math.MaxFloat64), but, i, end)
		return
	}
	var missing []string
	for _, m := range append([]string{""}, q.c.Missing...) {
		if s := text(strings.TrimSpace(m)); !slices.Contains(missing, s) {
			missing = append(missing, s)
		}
	}
	// One character more than a level may have: a longer text, which some databases cut, is none.
	level := fmt.Sprintf("TRIM(CAST(%s AS VARCHAR(%d)))", name, model.MaxLevelBytes+1)
	q.line("  CASE WHEN %s NOT IN (%s) THEN %[1]s END AS ls_v%[3]d%[4]s", level, strings.Join(missing, ", "), i, end)
}

// feature writes the effects of feature i, one a margin.
func (q *query) feature(i int) {
	f := &q.c.Features[i]
	for k := range q.c.Margins {
		q.line("  -- %s", comment(f.Name))
		q.line("  CASE")
		for j, s := range f.Special {
			q.line("    WHEN ls_c%d = %d THEN %s", i, j, float(s.Effect[k]))
		}
		q.line("    WHEN ls_v%d IS NULL THEN %s", i, float(f.Missing[k]))
		last := float(0)
		if f.Pieces == nil {
			last = float(f.Unknown[k])
			for _, l := range f.Levels {
				q.line("    WHEN ls_v%d = %s THEN %s", i, text(l.Level), float(l.Effect[k]))
			}
		}
		for j := range f.Pieces {
			p := &f.Pieces[j]
			effect := p.formula(k, fmt.Sprintf("ls_v%d", i))
			if p.End == nil {
				last = effect
				continue
			}
			than := "<"
			if p.Closed {
				than = "<="
			}
			q.line("    WHEN ls_v%d %s %s THEN %s", i, than, float(*p.End), effect)
		}
		end := ","
		if i == len(q.c.Features)-1 && k == len(q.c.Margins)-1 {
			end = ""
		}
		q.line("    ELSE %s END AS ls_e%d_%d%s", last, i, k, end)
	}
}

// formula is the effect of a piece on margin k.
func (p *Piece) formula(k int, v string) string {
	u := fmt.Sprintf("(%s - %s)", v, float(p.Origin))
	out := float(p.Constant[k])
	if p.Slope[k] != 0 {
		out += fmt.Sprintf(" + %s * %s", float(p.Slope[k]), u)
	}
	for _, t := range p.Logs {
		if t.Weight[k] != 0 {
			out += fmt.Sprintf(" + %s * LN((%s + %s * %s) / (1E0 + %s * %[4]s))", float(t.Weight[k]), float(t.A), float(t.B), u,
				float(t.C))
		}
	}
	return out
}

// set writes the value of set i, 0 where it has none.
func (q *query) set(i int) {
	s := &q.c.Sets[i]
	q.line("  -- %s", comment(strings.Join(s.Features, " & ")))
	q.line("  CASE")
	for j := range s.Axes {
		if j > 0 {
			q.line("    +")
		} else {
			q.line("    (")
		}
		a := &s.Axes[j]
		f := slices.IndexFunc(q.c.Features, func(f Feature) bool { return f.Name == a.Feature })
		q.line("    CASE WHEN ls_v%d IS NULL THEN NULL", f)
		if a.Levels != nil {
			for x, l := range a.Levels {
				q.line("      WHEN ls_v%d = %s THEN %d", f, text(l), x*a.Stride)
			}
			last := "NULL"
			if a.Unknown != nil {
				last = strconv.Itoa(*a.Unknown * a.Stride)
			}
			q.line("      ELSE %s END", last)
			continue
		}
		for x, cut := range a.Cuts {
			q.line("      WHEN ls_v%d <= %s THEN %d", f, float(cut), x*a.Stride)
		}
		q.line("      ELSE %d END", len(a.Cuts)*a.Stride)
	}
	q.line("    )")
	for _, x := range s.Cells {
		q.line("    WHEN %d THEN %s", x.Cell, float(x.Value))
	}
	if len(s.Cells) == 0 {
		q.line("    WHEN 0 THEN 0E0")
	}
	q.line("    ELSE 0E0 END AS ls_s%d,", i)
}

// margin writes margin k.
func (q *query) margin(k int) {
	q.line("  %s", float(q.c.Margins[k].Intercept))
	for i := range q.c.Features {
		q.line("    + ls_e%d_%d", i, k)
	}
	for i := range q.c.Sets {
		q.line("    + %s * ls_s%d", float(q.c.Sets[i].Weight[k]), i)
	}
	end := ","
	if k == len(q.c.Margins)-1 {
		end = ""
	}
	q.line("    AS ls_z%d%s", k, end)
}

// curve writes the contribution of margin k to the log-odds.
func (q *query) curve(k int) {
	m := &q.c.Margins[k]
	z, n := fmt.Sprintf("ls_z%d", k), len(m.Z)
	if k > 0 {
		q.line("  +")
	}
	line := func(j int, slope float64) string {
		return fmt.Sprintf("%s + %s * (%s - %s)", float(m.Value[j]), float(slope), z, float(m.Z[j]))
	}
	q.line("  CASE WHEN %s <= %s THEN %s", z, float(m.Z[0]), line(0, m.Share))
	for j := 1; j < n; j++ {
		q.line("    WHEN %s <= %s THEN %s", z, float(m.Z[j]), line(j-1, (m.Value[j]-m.Value[j-1])/(m.Z[j]-m.Z[j-1])))
	}
	q.line("    ELSE %s END", line(n-1, m.Share))
}

// float is a literal of double precision: with an exponent, for a decimal without one is of exact arithmetic.
func float(v float64) string {
	s := strconv.FormatFloat(v, 'E', -1, 64)
	if v < 0 {
		return "(" + s + ")"
	}
	return s
}

// identifier quotes a name, text a text.
func identifier(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
func text(s string) string       { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// comment makes one line of a text.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}
