// Package describe looks at a table of text and infers how a stage should read it: kinds, levels, marks of missing
// values, classes, ids and times, and which columns give the outcome away. The command init prints the result.
//
// Begin at Describe.
package describe

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"liftstream/model"
)

// MaxClasses bounds the distinct classes of the label column; more mean that it holds no classes.
const MaxClasses = 256

// Table is a data file as text. Rows yields the cells of one record after another, as many as there are Columns, valid
// until the next one is asked for; it is ranged over twice and must yield the same both times.
type Table struct {
	Columns []string
	Rows    iter.Seq2[[]string, error]
}

// Options hold the facts that are known beforehand; all but Label may be empty.
type Options struct {
	Name     string // of the configuration
	Label    string // column of the outcome
	Positive string // class that is asked for
	ID       string
	Time     string
	// Taken lists names that no feature may have, those of the columns of the scores for some classes; nil = none are
	// taken. No class may have one that is taken without classes.
	Taken func(classes []string) []string
}

// Role is the use of a column.
type Role uint8

const (
	Feature Role = iota
	Leak         // a feature that gives the outcome away: use: never
	ID
	Time
	Label
	Left // neither: Column.Why says why
)

// Column has the findings about one column.
type Column struct {
	Name    string
	Role    Role
	Why     string // of Leak and Left, of a guessed ID or Time, and of a Feature that does well alone
	Kind    model.Kind
	Missing int64
	Marks   []string // texts that mean missing here, in order of first appearance
	// Distinct counts the values that are not missing, up to maxDistinct, which means at least that many.
	Distinct int
	Levels   []Count // of Nominal, most frequent first, at most model.MaxLevels; nil when there were too many to count
	Min, Max float64 // of Continuous
	// AUC and AUCBlocks say how well the feature alone ranks the classes, over all records, scored by the rates of their
	// cells, and inside blocks of 1,000, each scored by the lifts of its cell among earlier ones. NaN when not measured.
	AUC, AUCBlocks float64
}

// Count is a text and the number of records that have it.
type Count struct {
	Text string
	N    int64
}

// Warning is something that the owner of the data must look at.
type Warning struct {
	Column string
	Kind   WarningKind
	Text   string
}

// WarningKind is the subject of a Warning.
type WarningKind string

const (
	WarnLeak        WarningKind = "leak"         // alone it tells the class
	WarnMissing     WarningKind = "missingness"  // whether it is missing tells the class
	WarnLater       WarningKind = "later"        // a time after the record's
	WarnID          WarningKind = "id"           // looks like an id
	WarnConstant    WarningKind = "constant"     // has one value
	WarnFreeText    WarningKind = "free text"    // hardly a value occurs twice
	WarnName        WarningKind = "name"         // a name that the configuration refuses
	WarnMixed       WarningKind = "mixed"        // numbers and texts
	WarnOneClass    WarningKind = "one class"    // there is nothing to predict
	WarnNoFeature   WarningKind = "no feature"   // nothing is left to predict from
	WarnUnlabelled  WarningKind = "unlabelled"   // records without a class
	WarnManyClasses WarningKind = "many classes" // of which no one was chosen as positive
)

// Description has the findings about a table.
type Description struct {
	Name     string
	Records  int64
	Label    string
	Classes  []Count // two: the more frequent one first; several: numbers by value, else by name
	Positive string  // given, or the rarer of two classes
	Guessed  bool    // Positive was not given
	ID, Time string
	Missing  []string
	Columns  []Column // in the order of the table, the label's among them
	Warnings []Warning
}

// labelled is the number of records that have a class.
func (d *Description) labelled() int64 {
	var n int64
	for _, c := range d.Classes {
		n += c.N
	}
	return n
}

// ErrNoRecords is returned when the table has a header and nothing else.
var ErrNoRecords = errors.New("no record")

// Describe reads the table twice. It holds, for each column, at most maxDistinct hashes, model.MaxLevels levels and one
// block of scores, at any length of the table. Errors are of the data or of the options.
func Describe(t Table, o Options) (*Description, error) {
	d := &Description{Name: o.Name, Label: o.Label, ID: o.ID, Time: o.Time}
	for _, x := range []struct{ what, column string }{{"label", o.Label}, {"id", o.ID}, {"time", o.Time}} {
		if x.column != "" && !slices.Contains(t.Columns, x.column) {
			return nil, fmt.Errorf("the %s column %q does not exist: the columns are %s", x.what, x.column,
				strings.Join(t.Columns, ", "))
		}
	}
	if o.Label == "" {
		return nil, errors.New("no label column is given")
	}
	seen := map[string]bool{}
	for _, c := range t.Columns {
		if seen[c] {
			return nil, fmt.Errorf("two columns have the name %q", c)
		}
		seen[c] = true
	}
	if o.ID == o.Label || o.Time == o.Label || o.ID != "" && o.ID == o.Time {
		return nil, errors.New("the label, the id and the time must be different columns")
	}
	label := slices.Index(t.Columns, o.Label)
	profiles := make([]profile, len(t.Columns))
	classes := map[string]int64{}
	for row, err := range t.Rows {
		if err != nil {
			return nil, fmt.Errorf("reading record %d: %w", d.Records+1, err)
		}
		if len(row) != len(t.Columns) {
			return nil, fmt.Errorf("reading record %d: %d cells, the header has %d", d.Records+1, len(row), len(t.Columns))
		}
		d.Records++
		for c, text := range row {
			if c != label {
				profiles[c].add(text)
			} else if !isMark(text) {
				if _, ok := classes[text]; !ok && len(classes) == MaxClasses {
					return nil, fmt.Errorf("the label column %q has more than %d distinct values by record %d: it holds no classes",
						o.Label, MaxClasses, d.Records)
				}
				classes[strings.Clone(text)]++
			}
		}
	}
	if d.Records == 0 {
		return nil, ErrNoRecords
	}
	if err := d.classes(classes, o.Positive); err != nil {
		return nil, err
	}
	for c := range profiles {
		col := profiles[c].column(t.Columns[c])
		if c == label {
			col = Column{Name: t.Columns[c], Role: Label, AUC: math.NaN(), AUCBlocks: math.NaN()}
		}
		d.Columns = append(d.Columns, col)
	}
	d.settleMarks(profiles)
	d.roles(profiles)
	if err := d.leaks(t, label, profiles); err != nil {
		return nil, err
	}
	d.checkNames(o.Taken)
	if !slices.ContainsFunc(d.Columns, func(c Column) bool { return c.Role == Feature }) {
		d.warn("", WarnNoFeature, "no column is left to predict from")
	}
	return d, nil
}

func (d *Description) warn(column string, kind WarningKind, format string, args ...any) {
	d.Warnings = append(d.Warnings, Warning{column, kind, fmt.Sprintf(format, args...)})
}

// classes orders the classes and settles on the positive one.
func (d *Description) classes(n map[string]int64, positive string) error {
	var labelled int64
	numbers := true
	for t, k := range n {
		d.Classes = append(d.Classes, Count{t, k})
		labelled += k
		_, ok := number(t)
		numbers = numbers && ok
	}
	slices.SortFunc(d.Classes, func(a, b Count) int {
		if numbers {
			x, _ := number(a.Text)
			y, _ := number(b.Text)
			if c := cmp.Compare(x, y); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.Text, b.Text)
	})
	if labelled == 0 {
		return fmt.Errorf("the label column %q is empty in all %d records", d.Label, d.Records)
	}
	if u := d.Records - labelled; u > 0 {
		d.warn(d.Label, WarnUnlabelled, "%s of %s records have no class: they are scored, and learnt when their label comes",
			count(u), count(d.Records))
	}
	if positive != "" && !slices.ContainsFunc(d.Classes, func(c Count) bool { return c.Text == positive }) {
		names := make([]string, len(d.Classes))
		for i, c := range d.Classes {
			names[i] = c.Text
		}
		return fmt.Errorf("the positive class %q does not occur in column %q: it has %s", positive, d.Label,
			strings.Join(names, ", "))
	}
	d.Positive = positive
	switch k := len(d.Classes); {
	case k == 1:
		d.warn(d.Label, WarnOneClass, "every record is of class %q: a configuration needs at least two classes",
			d.Classes[0].Text)
	case k == 2:
		if positive == "" {
			d.Guessed = true
			d.Positive = d.Classes[1].Text // of equals, the later one: no before yes, 0 before 1
			if d.Classes[0].N < d.Classes[1].N {
				d.Positive = d.Classes[0].Text
			}
		}
		if d.Classes[0].Text == d.Positive {
			d.Classes[0], d.Classes[1] = d.Classes[1], d.Classes[0]
		}
	case numbers && k > fewNumbers:
		d.warn(d.Label, WarnManyClasses,
			"its %d classes are numbers: it looks like a quantity, which must be cut into classes first", k)
	case positive == "":
		d.warn(d.Label, WarnManyClasses,
			"there are %d classes and no positive one is given: target is the class of the highest lift", k)
	}
	return nil
}

// settleMarks gathers the texts that mean missing. A few texts among numbers are taken for marks too, unless they are
// levels elsewhere: the list is one for all columns.
func (d *Description) settleMarks(profiles []profile) {
	d.Missing = []string{"", "NA", "?"}
	add := func(text string) {
		if !slices.Contains(d.Missing, text) {
			d.Missing = append(d.Missing, text)
		}
	}
	for c := range d.Columns {
		for _, m := range d.Columns[c].Marks {
			add(m)
		}
	}
	for c := range d.Columns {
		p, col := &profiles[c], &d.Columns[c]
		if col.Role == Label || !p.nearlyNumbers() {
			continue
		}
		level := slices.ContainsFunc(d.Columns, func(o Column) bool {
			return o.Kind == model.Nominal && o.Name != col.Name && slices.ContainsFunc(o.Levels,
				func(l Count) bool { return slices.Contains(p.odd, l.Text) })
		})
		if level {
			d.warn(col.Name, WarnMixed,
				"holds numbers, and in %s records %s, which is a level of another column: it is read as nominal",
				count(p.texts()), quoted(p.odd))
			continue
		}
		d.warn(col.Name, WarnMixed, "holds numbers, and in %s records %s, taken for missing", count(p.texts()), quoted(p.odd))
		p.oddIsMissing = true
		*col = p.column(col.Name)
		for _, m := range p.odd {
			add(m)
		}
	}
}

// roles decides the role of every column, but for leaks.
func (d *Description) roles(profiles []profile) {
	for c := range d.Columns {
		col, p := &d.Columns[c], &profiles[c]
		switch {
		case col.Role == Label:
		case col.Name == "": // not even the id or the time, whose names are empty while there is none
			col.Role, col.Why = Left, "it has no name"
			d.warn("", WarnName, "a column has no name: it is left out; many programs write row numbers so, without being asked")
		case col.Name == d.ID:
			col.Role = ID
		case col.Name == d.Time:
			col.Role = Time
		case col.Distinct <= 1:
			col.Role, col.Why = Left, "it has one value"
			if col.Distinct == 0 {
				col.Why = "it is always missing"
			}
			d.warn(col.Name, WarnConstant, "%s: nothing can be learnt from it", col.Why)
		case p.isTime(col.Name):
			col.Role, col.Why = Left, "a time"
		case p.isID(col.Name):
			col.Role, col.Why = Left, "it looks like an id"
		case col.Kind == model.Nominal && p.distinctShare() > 0.5 && p.present() >= 100:
			col.Role, col.Why = Left, "free text"
			d.warn(col.Name, WarnFreeText, "hardly a value occurs twice: it cannot be a feature")
		}
	}
	d.chooseID(profiles)
	d.chooseTime(profiles)
}

func (d *Description) chooseID(profiles []profile) {
	best := -1
	for c := range d.Columns {
		if d.Columns[c].Why != "it looks like an id" {
			continue
		}
		d.warn(d.Columns[c].Name, WarnID, "looks like an id (%s): as a feature it would be learnt by heart",
			profiles[c].idWhy(d.Columns[c].Name))
		if best < 0 || idName.MatchString(d.Columns[c].Name) && !idName.MatchString(d.Columns[best].Name) {
			best = c
		}
	}
	if d.ID == "" && best >= 0 {
		d.ID, d.Columns[best].Role = d.Columns[best].Name, ID
	}
}

// chooseTime takes a column for the time of the records when it is always there and never falls, or is the only one
// that is always there.
func (d *Description) chooseTime(profiles []profile) {
	if d.Time != "" {
		return
	}
	var full []int
	for c := range d.Columns {
		if d.Columns[c].Role == Left && d.Columns[c].Why == "a time" && d.Columns[c].Missing == 0 {
			full = append(full, c)
		}
	}
	for _, c := range full {
		if !profiles[c].falls || len(full) == 1 {
			d.Time, d.Columns[c].Role = d.Columns[c].Name, Time
			return
		}
	}
}

// checkNames takes out features whose names a configuration refuses.
func (d *Description) checkNames(taken func(classes []string) []string) {
	var fixed, all []string
	if taken != nil {
		classes := make([]string, len(d.Classes))
		for i, k := range d.Classes {
			classes[i] = k.Text
		}
		fixed, all = taken(nil), taken(classes)
	}
	for i := range d.Columns {
		c := &d.Columns[i]
		if c.Role != Feature && c.Role != Leak {
			continue
		}
		var why string
		switch {
		case slices.Contains(all, c.Name):
			why = "the scores have a column of that name"
		case strings.HasPrefix(c.Name, "(") && strings.HasSuffix(c.Name, ")"):
			why = "names in parentheses are those of terms of an explanation"
		case !plain(c.Name):
			why = "a name is 1 to 256 bytes of text without control characters"
		default:
			continue
		}
		c.Role, c.Why = Left, "rename it: "+why
		d.warn(c.Name, WarnName, "cannot be a feature under this name: %s", why)
	}
	for _, k := range d.Classes {
		if slices.Contains(fixed, k.Text) || !plain(k.Text) {
			d.warn(d.Label, WarnName, "class %q must be renamed: the scores have a column of that name, or it is no plain text", k.Text)
		}
	}
}
