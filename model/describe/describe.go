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
// until the next one is asked for; it is ranged over twice, once more for each goal, and must yield the same each time.
type Table struct {
	Columns []string
	Rows    iter.Seq2[[]string, error]
	// Formats has one for each column in formats whose columns have types; nil in others.
	Formats []Format
	// Text reports whether the cell of a column of the record that Rows yielded last is text by its format: in quotes in
	// CSV, a string in JSON. nil means that it is not known.
	Text func(column int) bool
}

// Options hold the facts that are known beforehand; all but Label may be empty.
type Options struct {
	Name     string // of the configuration
	Label    string // column of the outcome
	Positive string // class that is asked for
	ID       string
	Time     string
	Goals    []string // columns of further outcomes of two classes each, which a record may have several of at once
	// Units says that the configuration can name the unit of a time that is a number. Without it numbers are milliseconds.
	Units bool
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
	Goal // a further outcome
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
	Names   string   // why the numbers of a Nominal column are taken for names; "" = they are no numbers
	// Distinct counts the values that are not missing, up to maxDistinct, which means at least that many.
	Distinct int
	Levels   []Count // of Nominal, most frequent first, at most model.MaxLevels; nil when there were too many to count
	Min, Max float64 // of Continuous
	Rounded  int64   // of Continuous: whole numbers beyond 2^53 that are rounded
	// AUC and AUCBlocks say how well the feature alone ranks the classes, over all records, scored by the rates of their
	// cells, and inside blocks of 1,000, each scored by the lifts of its cell among earlier ones. NaN when not measured.
	AUC, AUCBlocks float64

	textMarks bool // some of its levels look like marks
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
	WarnSorted      WarningKind = "sorted"       // the records are sorted by the label
	WarnMarks       WarningKind = "marks"        // texts that are taken for missing, or not, though they look so
	WarnType        WarningKind = "type"         // a type that the stage does not read
	WarnTime        WarningKind = "time"         // times that the stage would not read as they are meant
)

// Description has the findings about a table.
type Description struct {
	Name     string
	Records  int64
	Marks    []Count // cells by the texts that mean missing, in the order of Missing
	Label    string
	Classes  []Count // two: the more frequent one first; several: numbers by value, else by name
	Positive string  // given, or the rarer of two classes
	Guessed  bool    // Positive was not given
	Goals    []GoalColumn
	ID, Time string
	TimeUnit string // of a time that is a number other than of milliseconds: s, us or ns
	Missing  []string
	Columns  []Column // in the order of the table, the label's among them
	Warnings []Warning

	quoted []string // marks that are texts in some column
	units  bool
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

// Describe reads the table twice, and once more for each goal. It holds, for each column, at most maxDistinct hashes,
// model.MaxLevels levels and one block of scores, at any length of the table. Errors are of the data or of the options.
func Describe(t Table, o Options) (*Description, error) {
	d := &Description{Name: o.Name, Label: o.Label, ID: o.ID, Time: o.Time, units: o.Units}
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
	if why := t.format(label).Refused; why != "" {
		return nil, fmt.Errorf("the label column %q holds no classes: %s", o.Label, why)
	}
	goals, err := goalColumns(t, o)
	if err != nil {
		return nil, err
	}
	first, err := d.look(t, label, goals)
	if err != nil {
		return nil, err
	}
	if d.Records == 0 {
		return nil, ErrNoRecords
	}
	if err := d.classes(first.classes, o.Positive); err != nil {
		return nil, err
	}
	if err := settleGoals(d, t, goals, first.goals); err != nil {
		return nil, err
	}
	d.sorted(first.changes)
	profiles := first.profiles
	for c := range profiles {
		if c == label {
			d.Columns = append(d.Columns, Column{Name: t.Columns[c], Role: Label, AUC: math.NaN(), AUCBlocks: math.NaN()})
			continue
		}
		if first.goals[c] != nil {
			d.Columns = append(d.Columns, goalColumn(t.Columns[c]))
			continue
		}
		for _, m := range profiles[c].quotedMarks(first.bare, t.typed()) {
			d.quoted = append(d.quoted, m.text)
			d.warn(t.Columns[c], WarnMarks, "%s %s in quotes: taken for text; add it to missing if it means that",
				said([]marked{m}), is(m.n))
		}
		profiles[c].settleNames(t.Columns[c], t.format(c), first.bare)
		d.Columns = append(d.Columns, profiles[c].column(t.Columns[c]))
	}
	d.settleMarks(profiles, first.unknown.marks)
	d.roles(t, profiles)
	d.countMarks(append(profiles, first.unknown))
	if err := d.leaks(t, label, profiles); err != nil {
		return nil, err
	}
	if err := goalLeaks(d, t, goals, profiles); err != nil {
		return nil, err
	}
	d.checkNames(o.Taken)
	if !slices.ContainsFunc(d.Columns, func(c Column) bool { return c.Role == Feature }) {
		d.warn("", WarnNoFeature, "no column is left to predict from")
	}
	return d, nil
}

// firstPass holds the findings of the first reading of a table.
type firstPass struct {
	profiles []profile
	classes  map[string]int64
	goals    map[int]map[string]int64 // by the column of the goal
	changes  int64                    // records of another class than the labelled one before
	bare     bool                     // some value is no text by its format: quotes are chosen, where there are any
	unknown  profile                  // of the outcomes that are not known
}

func (d *Description) look(t Table, label int, goals []int) (*firstPass, error) {
	f := &firstPass{profiles: make([]profile, len(t.Columns)), classes: map[string]int64{},
		goals: map[int]map[string]int64{}}
	for _, c := range goals {
		f.goals[c] = map[string]int64{}
	}
	last := ""
	for row, err := range t.cells("") {
		if err != nil {
			return nil, err
		}
		d.Records++
		for c, text := range row {
			isText := t.isText(c)
			f.bare = f.bare || !isText && !isMark(text)
			n, isGoal := f.goals[c]
			if c != label && !isGoal {
				f.profiles[c].add(text, isText)
				continue
			}
			if isMark(text) {
				f.unknown.mark(text, isText)
				continue
			}
			if isGoal {
				countGoal(n, text)
				continue
			}
			k, ok := f.classes[text]
			if !ok && len(f.classes) == MaxClasses {
				return nil, fmt.Errorf("the label column %q has more than %d distinct values by record %d: it holds no classes",
					d.Label, MaxClasses, d.Records)
			}
			if !ok {
				text = strings.Clone(text)
			}
			f.classes[text] = k + 1
			if text != last && last != "" {
				f.changes++
			}
			last = text
		}
	}
	return f, nil
}

// sorted warns of records that are sorted by the label: their class changes in less than one record of twenty in which
// it would in any order.
func (d *Description) sorted(changes int64) {
	n := float64(d.labelled())
	expected := n
	for _, c := range d.Classes {
		expected -= float64(c.N) * float64(c.N) / n
	}
	if expected >= 20 && float64(changes)*20 < expected {
		d.warn(d.Label, WarnSorted, "the file is sorted by it: the class changes %s %s from record to record, in any "+
			"order some %s; shuffle the rows, unless they came in this order", count(changes), plural(changes, "time"),
			count(int64(expected)))
	}
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
		return fmt.Errorf("the label column %q is empty in each record (%s)", d.Label, count(d.Records))
	}
	if u := d.Records - labelled; u > 0 {
		d.warn(d.Label, WarnUnlabelled, "%s of %s records have no class: they are scored, and learnt when their label comes",
			count(u), count(d.Records))
	}
	if positive != "" {
		names := make([]string, len(d.Classes))
		for i, c := range d.Classes {
			names[i] = c.Text
		}
		k := model.NewClassIndex(names).Class([]byte(positive))
		if k < 0 {
			return fmt.Errorf("the positive class %q does not occur in column %q: it has %s", positive, d.Label,
				strings.Join(names, ", "))
		}
		positive = names[k]
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

// checkNames takes out features whose names a configuration refuses.
func (d *Description) checkNames(taken func(classes []string) []string) {
	var fixed, all []string
	if taken != nil {
		classes := classNames(d)
		for i := range d.Goals { // the scores have a column of the propensity of each
			classes = append(classes, d.Goals[i].Name)
		}
		fixed, all = taken(nil), append(taken(classes), goalNames(d)...)
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
			d.warn(d.Label, WarnName, "class %q must be renamed: the scores have a column of that name, or it is no plain text",
				k.Text)
		}
	}
}
