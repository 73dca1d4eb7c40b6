package describe

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"liftstream/model"
)

// maxDistinct bounds the distinct values that are told apart in a column.
const maxDistinct = 1 << 14

// fewNumbers is the number of distinct numbers up to which the texts of a column of numbers are counted as levels.
const fewNumbers = 64

// fewLevels is the number of distinct numbers that are taken for names, such as 0 and 1, rather than a quantity; whole
// ones up to fewWhole, such as a grade or a month, where each has fewRecords on average.
const (
	fewLevels  = 2
	fewWhole   = 12
	fewRecords = 20
)

// marks are the texts that mean missing wherever they stand; a text of white space does too.
var marks = []string{"", "NA", "N/A", "n/a", "na", "NaN", "nan", "?", "null", "NULL", "Null", "<NA>", "#N/A"}

func isMark(text string) bool { return slices.Contains(marks, text) || strings.TrimSpace(text) == "" }

// idName matches the usual names of ids: id, customer_id, customerID, uuid, account-key.
var idName = regexp.MustCompile(`(?i:^(id|uuid|guid|key)$|[_\-. ](id|uuid|guid|key)$)|[a-z](ID|Id|UUID)$`)

// codeName matches the usual names of codes that are numbers: zip, zip_code, postalCode, PLZ, product_code, fips.
var codeName = regexp.MustCompile(`(?i:^(zip|zipcode|postal|postcode|plz|pincode|fips|naics|sic|mcc|code)$|` +
	`[_\-. ](zip|zipcode|postal|postcode|plz|pincode|fips|naics|sic|mcc|code|cd)$|` +
	`^(zip|postal|post|pin)[_\-. ]?(code)?$)|[a-z](Code|Zip|PLZ)$`)

// placeholders are texts that stand for a missing value among numbers, in however many records.
var placeholders = []string{"-", "--", "---", ".", "..", "n.a.", "N.A.", "none", "None", "NONE", "unknown", "Unknown",
	"UNKNOWN", "missing", "Missing", "#VALUE!", "#DIV/0!", "#REF!", "#NUM!", "\\N", "nil", "(null)", "undefined",
	"inf", "-inf", "Inf", "-Inf", "Infinity", "-Infinity"}

// timeName matches the usual names of times: time, seen_at, signup_date, updatedAt, ts.
var timeName = regexp.MustCompile(`(?i:time|date|stamp|epoch|(^|[_\-. ])(ts|at)$)|[a-z](At|Ts)$`)

// yearLast matches dates whose year does not come first, with a time of day behind or without: 24.02.2026, 2/24/26.
var yearLast = regexp.MustCompile(`^[0-9]{1,2}([./-])[0-9]{1,2}([./-])([0-9]{4}|[0-9]{2})([ T,].*)?$`)

// number parses the values that a continuous column may hold: decimal numbers without NaN, infinities, hexadecimals and
// underscores.
func number(text string) (float64, bool) {
	if text == "" || strings.ContainsAny(text, "xXpP_") {
		return 0, false
	}
	if c := text[len(text)-1]; c != '.' && (c < '0' || c > '9') {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsInf(v, 0)
}

// epochUnit returns the nanoseconds in the unit of an integer that lies between 2000 and 2040 in seconds, milliseconds,
// microseconds or nanoseconds since 1970; 0 when it lies in none.
func epochUnit(v float64) int64 {
	const from, to = 946684800, 2208988800
	for unit, scale := int64(1e9), 1.0; unit > 0; unit, scale = unit/1000, scale*1000 {
		if v >= from*scale && v < to*scale {
			return unit
		}
	}
	return 0
}

// profile gathers one column in bounded memory.
type profile struct {
	rows, missing int64
	nulls         int64 // of missing: empty ones, nulls in a typed column
	marks         []marked
	numbers       int64
	integers      int64
	padded        int64 // integers with leading zeros
	quoted        int64 // integers that are text by their format
	rounded       int64 // integers that a number of the model does not hold
	powers        int64 // numbers with an exponent, which are quantities
	longest       int   // bytes of the longest text
	min, max      float64
	odd           []marked // texts among numbers, the first few
	oddMore       bool
	oddIsMissing  bool
	textMarks     bool   // some marks are texts
	names         string // why numbers are taken for names; "" = they are not

	distinct map[uint64]struct{}
	filled   int64 // present values when distinct was full; 0 = it is not
	levels   map[string]int64
	dropped  bool // levels are no longer counted

	spaced bool // some text has a blank
	stamps int64
	dates  int64  // texts that are dates to people, and no times to the stage
	noTime string // the first value that is no time in a text
	unit   int64  // of an epoch; -1 = no epoch
	last   float64
	whole  int64 // the last integer
	falls  bool  // some value is below the one before
	climbs bool  // every number is above the one before
}

// maxOdd bounds the texts among numbers that may be marks of missing values.
const maxOdd = 3

func (p *profile) add(text string, isText bool) {
	if p.rows == 0 {
		p.min, p.max, p.last, p.climbs = math.Inf(1), math.Inf(-1), math.Inf(-1), true
		p.distinct, p.levels = map[uint64]struct{}{}, map[string]int64{}
	}
	p.rows++
	p.longest = max(p.longest, len(text))
	if isMark(text) {
		p.missing++
		if text == "" {
			p.nulls++
		}
		p.mark(text, isText)
		return
	}
	if v, ok := number(text); ok {
		p.number(text, v, isText)
		p.notTime(text)
	} else {
		if t, ok := model.ParseTime(text); ok {
			p.stamps++
			p.order(float64(t), 0)
		} else {
			p.notTime(text)
			if c := text[0]; c >= '0' && c <= '9' && yearLast.MatchString(text) {
				p.dates++
			}
		}
		p.spaced = p.spaced || strings.Contains(text, " ")
		if k := slices.IndexFunc(p.odd, func(m marked) bool { return m.text == text }); k >= 0 {
			p.odd[k].n++
		} else if len(p.odd) < maxOdd {
			p.odd = append(p.odd, marked{text: strings.Clone(text), n: 1})
		} else {
			p.oddMore = true
		}
	}
	if p.filled == 0 {
		p.distinct[hash(text)] = struct{}{}
		if len(p.distinct) == maxDistinct {
			p.filled = p.present()
		}
	}
	if p.dropped {
		return
	}
	if n, ok := p.levels[text]; ok {
		p.levels[text] = n + 1
	} else if len(p.levels) == model.MaxLevels || len(p.levels) == fewNumbers && p.texts() == 0 && p.padded+p.quoted == 0 {
		p.levels, p.dropped = nil, true
	} else {
		p.levels[strings.Clone(text)] = 1
	}
}

func (p *profile) notTime(text string) {
	if p.noTime == "" {
		p.noTime = strings.Clone(text)
	}
}

func (p *profile) number(text string, v float64, isText bool) {
	p.numbers++
	if strings.ContainsAny(text, "eE") {
		p.powers++
	}
	p.min, p.max = min(p.min, v), max(p.max, v)
	unit, whole := int64(-1), int64(0)
	if v == math.Trunc(v) {
		p.integers++
		whole, _ = strconv.ParseInt(text, 10, 64)
		if u := epochUnit(v); u > 0 {
			unit = u
		}
		if d := strings.TrimPrefix(text, "-"); len(d) > 1 && d[0] == '0' && !strings.ContainsAny(d, ".eE") {
			p.padded++
		}
		if isText && !strings.ContainsAny(text, ".eE") {
			p.quoted++
		}
		if len(text) > 15 && math.Abs(v) >= 1<<53 && strconv.FormatFloat(v, 'f', 0, 64) != text {
			p.rounded++
		}
	}
	if p.unit == 0 {
		p.unit = unit
	} else if p.unit != unit {
		p.unit = -1
	}
	p.order(v, whole)
}

// order compares a number with the one before; whole is its exact value where it is an integer.
func (p *profile) order(at float64, whole int64) {
	p.falls = p.falls || at < p.last || at == p.last && whole < p.whole
	p.climbs = p.climbs && (at > p.last || at == p.last && whole > p.whole)
	p.last, p.whole = at, whole
}

func (p *profile) present() int64 { return p.rows - p.missing }

func (p *profile) texts() int64 { return p.present() - p.numbers }

// nearlyNumbers reports whether the column holds numbers but for a few texts: at most three in at most one record of
// twenty, or placeholders in at most half of the records.
func (p *profile) nearlyNumbers() bool {
	if p.texts() == 0 || p.oddMore || p.numbers == 0 || len(p.distinct) <= len(p.odd) {
		return false
	}
	held := !slices.ContainsFunc(p.odd, func(m marked) bool { return !slices.Contains(placeholders, m.text) })
	if held {
		return p.texts()*2 <= p.present()
	}
	return p.texts()*20 <= p.present() && len(p.distinct) > fewLevels+len(p.odd)
}

// oddTexts are the texts of odd.
func (p *profile) oddTexts() []string {
	out := make([]string, len(p.odd))
	for i, m := range p.odd {
		out[i] = m.text
	}
	return out
}

// settleNames decides whether the numbers of a column are names.
func (p *profile) settleNames(name string, f Format, selective bool) {
	n := p.numbers
	values := int64(len(p.distinct) - len(p.odd))
	if p.texts() == 0 {
		values = int64(len(p.distinct))
	}
	switch whole := n > 0 && p.integers == n; {
	case n == 0 || p.texts() > 0 && !p.nearlyNumbers():
	case f.Text:
		p.names = "numbers, text by their type"
	case whole && p.padded > 0:
		p.names = fmt.Sprintf("names: %s with leading zeros", count(p.padded))
	case whole && p.quoted == n && selective:
		p.names = "names: digits in quotes"
	case whole && codeName.MatchString(name):
		p.names = "codes by the name of the column"
	case whole && values <= fewWhole && n >= fewRecords*values && values > fewLevels:
		p.names = "few whole numbers"
	}
}

// distinctShare is the share of the values, as far as they are told apart, that are new.
func (p *profile) distinctShare() float64 {
	n := p.present()
	if p.filled > 0 {
		n = p.filled
	}
	if n == 0 {
		return 0
	}
	return float64(len(p.distinct)) / float64(n)
}

func (p *profile) isNumber() bool {
	if p.numbers == 0 || p.texts() > 0 && !p.oddIsMissing || p.names != "" {
		return false
	}
	values := len(p.distinct)
	if p.oddIsMissing {
		values -= len(p.odd)
	}
	return values > fewLevels
}

// isTime reports whether the column holds times: texts, or integers between 2000 and 2040 in one unit that are no
// counter and span a second at least.
func (p *profile) isTime(name string) bool {
	n := p.present()
	if n == 0 || len(p.distinct) < 3 {
		return false
	}
	if p.stamps == n {
		return true
	}
	return p.integers == n && p.unit > 0 && (!p.falls || timeName.MatchString(name)) &&
		(p.max-p.min)*float64(p.unit) >= 1e9 && (timeName.MatchString(name) || !p.climbs || p.max-p.min != float64(n-1))
}

// nearlyTimes is the number of values that are no times in a column that holds times else; 0 = it does not.
func (p *profile) nearlyTimes() int64 {
	n := p.present()
	if p.stamps < n && p.stamps*100 >= n*95 {
		return n - p.stamps
	}
	return 0
}

// isDates reports whether the column holds dates that the stage does not read as times.
func (p *profile) isDates() bool {
	n := p.present()
	return n > 0 && p.dates*100 >= n*95 && len(p.distinct) >= 3
}

// unitName is the unit of an epoch, "" where the column has none.
func (p *profile) unitName() string {
	return map[int64]string{1e9: "s", 1e6: "ms", 1e3: "us", 1: "ns"}[p.unit]
}

// nanos is the time that the text stands for in a column for which isTime holds, or which the options say is one.
func (p *profile) nanos(text string) (int64, bool) {
	if v, ok := number(text); ok && p.unit > 0 {
		return int64(v) * p.unit, true
	}
	return model.ParseTime(text)
}

// isID reports whether the values name the records, or who they are about: nearly all distinct and no quantity, and ids
// to a fit.
func (p *profile) isID(name string, f Format) bool { return p.noID(f) == "" && p.idWhy(name) != "" }

// maxID is the longest id, in bytes.
const maxID = 8 << 10

// noID says why a fit refuses values of the column as ids, missing ones aside; "" = it takes them.
func (p *profile) noID(f Format) string {
	switch {
	case f.Refused != "":
		return f.Refused
	case f.Time:
		return "times are no ids"
	case f.Exact > 0 && p.numbers > 0 && max(-p.min, p.max) >= f.Exact:
		return "floats as large as its largest stand for several whole numbers"
	case p.longest > maxID:
		return "an id has at most 8 KiB"
	}
	return ""
}

func (p *profile) idWhy(name string) string {
	n, share, named := p.present(), p.distinctShare(), idName.MatchString(name)
	whole := p.integers == n
	if n < 20 || p.numbers == n && (!whole || p.powers > 0) {
		return ""
	}
	switch {
	case p.numbers < n && share >= 0.95:
		return "nearly all values are distinct"
	case whole && p.climbs && p.max-p.min >= 19 && p.missing == 0:
		return "whole numbers that grow from record to record"
	case whole && share == 1 && n >= 1000 && p.missing == 0:
		return "whole numbers, all distinct"
	case named && share > 0.2:
		return "by its name, and most values are distinct"
	}
	return ""
}

func (p *profile) column(name string) Column {
	c := Column{Name: name, Kind: model.Nominal, Missing: p.missing, Distinct: len(p.distinct), Names: p.names,
		textMarks: p.textMarks, AUC: math.NaN(), AUCBlocks: math.NaN()}
	for _, m := range p.marks {
		c.Marks = append(c.Marks, m.text)
	}
	if p.oddIsMissing {
		c.Missing += p.texts()
		c.Marks = append(c.Marks, p.oddTexts()...)
		c.Distinct -= len(p.odd)
	}
	if p.isNumber() {
		c.Kind, c.Min, c.Max, c.Rounded = model.Continuous, p.min, p.max, p.rounded
		return c
	}
	for t, n := range p.levels {
		if p.oddIsMissing && slices.Contains(c.Marks, t) {
			continue
		}
		c.Levels = append(c.Levels, Count{t, n})
	}
	slices.SortFunc(c.Levels, func(a, b Count) int {
		if k := cmp.Compare(b.N, a.N); k != 0 {
			return k
		}
		return cmp.Compare(a.Text, b.Text)
	})
	return c
}

// hash is 64-bit FNV-1a with a finaliser.
func hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return model.Hash(0, h)
}

func plain(text string) bool {
	return text != "" && len(text) <= 256 && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// count writes a number of records with commas.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func percent(n, of int64) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of)) }
