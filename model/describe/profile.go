package describe

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"liftstream/model"
)

// maxDistinct bounds the distinct values that are told apart in a column.
const maxDistinct = 1 << 14

// fewNumbers is the number of distinct numbers up to which the texts of a column of numbers are counted as levels.
const fewNumbers = 64

// fewLevels is the number of distinct numbers that are taken for names, such as 0 and 1, rather than a quantity.
const fewLevels = 2

// marks are the texts that mean missing wherever they stand; a text of white space does too.
var marks = []string{"", "NA", "N/A", "n/a", "na", "NaN", "nan", "?", "null", "NULL", "Null", "<NA>", "#N/A"}

func isMark(text string) bool { return slices.Contains(marks, text) || strings.TrimSpace(text) == "" }

// idName matches the usual names of ids: id, customer_id, customerID, uuid, account-key.
var idName = regexp.MustCompile(`(?i:^(id|uuid|guid|key)$|[_\-. ](id|uuid|guid|key)$)|[a-z](ID|Id|UUID)$`)

// timeName matches the usual names of times: time, seen_at, signup_date, updatedAt, ts.
var timeName = regexp.MustCompile(`(?i:time|date|stamp|epoch|(^|[_\-. ])(ts|at)$)|[a-z](At|Ts)$`)

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

var layouts = []string{time.RFC3339Nano, "2006-01-02", "2006-01-02 15:04:05", "2006-01-02T15:04:05",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04", "2006-01-02T15:04", "2006/01/02", "2006/01/02 15:04:05"}

// timestamp parses a text such as 2024-05-06 07:08:09 or RFC 3339, in Unix nanoseconds.
func timestamp(text string) (int64, bool) {
	if len(text) < 10 || text[4] != '-' && text[4] != '/' {
		return 0, false
	}
	for _, l := range layouts {
		if t, err := time.Parse(l, text); err == nil {
			return t.UnixNano(), true
		}
	}
	return 0, false
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
	marks         []string
	numbers       int64
	integers      int64
	min, max      float64
	odd           []string // texts among numbers, the first few
	oddMore       bool
	oddIsMissing  bool

	distinct map[uint64]struct{}
	filled   int64 // present values when distinct was full; 0 = it is not
	levels   map[string]int64
	dropped  bool // levels are no longer counted

	stamps int64
	unit   int64 // of an epoch; -1 = no epoch
	last   float64
	falls  bool // some value is below the one before
	climbs bool // every number is above the one before
}

// maxOdd bounds the texts among numbers that may be marks of missing values.
const maxOdd = 3

func (p *profile) add(text string) {
	if p.rows == 0 {
		p.min, p.max, p.last, p.climbs = math.Inf(1), math.Inf(-1), math.Inf(-1), true
		p.distinct, p.levels = map[uint64]struct{}{}, map[string]int64{}
	}
	p.rows++
	if isMark(text) {
		p.missing++
		if !slices.Contains(p.marks, text) && len(p.marks) < 8 {
			p.marks = append(p.marks, strings.Clone(text))
		}
		return
	}
	at := math.NaN()
	if v, ok := number(text); ok {
		p.numbers++
		at = v
		p.min, p.max = min(p.min, v), max(p.max, v)
		unit := int64(-1)
		if v == math.Trunc(v) {
			p.integers++
			if u := epochUnit(v); u > 0 {
				unit = u
			}
		}
		if p.unit == 0 {
			p.unit = unit
		} else if p.unit != unit {
			p.unit = -1
		}
	} else {
		if t, ok := timestamp(text); ok {
			p.stamps++
			at = float64(t)
		}
		if len(p.odd) < maxOdd && !slices.Contains(p.odd, text) {
			p.odd = append(p.odd, strings.Clone(text))
		} else if !slices.Contains(p.odd, text) {
			p.oddMore = true
		}
	}
	if !math.IsNaN(at) {
		p.falls = p.falls || at < p.last
		p.climbs = p.climbs && at > p.last
		p.last = at
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
	} else if len(p.levels) == model.MaxLevels || len(p.levels) == fewNumbers && p.texts() == 0 {
		p.levels, p.dropped = nil, true
	} else {
		p.levels[strings.Clone(text)] = 1
	}
}

func (p *profile) present() int64 { return p.rows - p.missing }

func (p *profile) texts() int64 { return p.present() - p.numbers }

// nearlyNumbers reports whether the column holds numbers but for a few texts in at most one record of a hundred.
func (p *profile) nearlyNumbers() bool {
	return p.texts() > 0 && !p.oddMore && p.numbers > 0 && p.texts()*100 <= p.present() &&
		len(p.distinct) > fewLevels+len(p.odd)
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
	return p.numbers > 0 && (p.texts() == 0 || p.oddIsMissing) && len(p.distinct) > fewLevels
}

func (p *profile) isTime(name string) bool {
	n := p.present()
	if n == 0 || len(p.distinct) < 3 {
		return false
	}
	return p.stamps == n || p.integers == n && p.unit > 0 && (!p.falls || timeName.MatchString(name))
}

// nanos is the time that the text stands for in a column for which isTime holds, or which the options say is one.
func (p *profile) nanos(text string) (int64, bool) {
	if v, ok := number(text); ok && p.unit > 0 {
		return int64(v) * p.unit, true
	}
	return timestamp(text)
}

// isID reports whether the values name the records, or who they are about: nearly all distinct and no quantity.
func (p *profile) isID(name string) bool { return p.idWhy(name) != "" }

func (p *profile) idWhy(name string) string {
	n, share, named := p.present(), p.distinctShare(), idName.MatchString(name)
	whole := p.integers == n
	if n < 20 || p.numbers == n && !whole {
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
	c := Column{Name: name, Kind: model.Nominal, Missing: p.missing, Marks: p.marks, Distinct: len(p.distinct),
		AUC: math.NaN(), AUCBlocks: math.NaN()}
	if p.isNumber() {
		c.Kind, c.Min, c.Max = model.Continuous, p.min, p.max
		if p.oddIsMissing {
			c.Missing += p.texts()
			c.Marks = append(slices.Clone(p.marks), p.odd...)
			c.Distinct -= len(p.odd)
		}
		return c
	}
	for t, n := range p.levels {
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

func quoted(texts []string) string {
	q := make([]string, len(texts))
	for i, t := range texts {
		q[i] = strconv.Quote(t)
	}
	return strings.Join(q, ", ")
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
