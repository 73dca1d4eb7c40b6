package config

import "errors"

// Record says which columns a record has and gives their meaning.
type Record struct {
	// ID is the column that identifies who the record is about. Default none. Labels by id and audiences need it.
	ID string `yaml:"id,omitempty"`
	// Time is the column of the event's time: its name or, where it holds numbers that are no milliseconds since 1970,
	// name and unit, as in {column: at, unit: s}. Default none: Kafka's timestamp of the message is taken.
	Time TimeColumn `yaml:"time,omitempty"`
	// Weight is the column of the record's weight, for example the inverse of its chance to be observed. Default none:
	// every record weighs 1. A weight below 0 or not finite makes the row a bad one.
	Weight string `yaml:"weight,omitempty"`
	// Label is the outcome to be predicted. Required. A list of labels is the first, with the others as Goals.
	Label Label `yaml:"label"`
	// Goals are further labels of two classes, which a record can have beside Label and beside each other; at most
	// MaxGoals. Default none. Local, kernel and trees, the gate and all columns of the scores but theirs speak of Label.
	Goals []Goal `yaml:"goals,omitempty"`
	// Missing lists the texts that mean "missing" in CSV files. Default "", NA and ?. Arrow, Parquet and JSON have
	// nulls of their own. An empty list means that no text does.
	Missing []string `yaml:"missing"`
	// Features lists the columns that are looked at, at least one of them with use: score; at most MaxFeatures. Their
	// order is that of reports and breaks ties.
	Features []Feature `yaml:"features"`
}

// Numbers names the conventions by which texts are numbers.
type Numbers struct {
	// Decimal parts the fraction: "." or ",". Default ".".
	Decimal string `yaml:"decimal,omitempty"`
	// Thousands parts groups of three digits: one of , . ' _ and a blank, other than decimal. Default none: there are no
	// groups.
	Thousands string `yaml:"thousands,omitempty"`
	// Percent reads "12 %" as 0.12; texts without the sign are not divided. Default false: such a text is no number.
	Percent bool `yaml:"percent,omitempty"`
	// Currency lists signs that may stand before or behind a number, such as € or EUR, each of at most 8 bytes. Default
	// none.
	Currency []string `yaml:"currency,omitempty"`
}

// TimeColumn is a column that holds times.
type TimeColumn struct {
	// Column is its name.
	Column string
	// Unit is that of its numbers, counted from the beginning of 1970. Default none: they are milliseconds, and numbers
	// that are seconds by their size are refused.
	Unit TimeUnit
}

// timeSection is the long form of a TimeColumn.
type timeSection struct {
	Column string   `yaml:"column"`
	Unit   TimeUnit `yaml:"unit"`
}

// String writes the column, and a unit other than milliseconds.
func (t TimeColumn) String() string {
	if t.Unit == "" || t.Unit == UnitMilliseconds {
		return t.Column
	}
	return t.Column + " in " + string(t.Unit)
}

func (t *TimeColumn) setText(column string) error {
	if column == "" {
		return errors.New("must be the name of a column, or {column: NAME, unit: s}")
	}
	t.Column = column
	return nil
}

// MaxFeatures bounds record.features.
const MaxFeatures = 10000

// MaxClasses bounds record.label.classes: the scores have one column for each.
const MaxClasses = 1000

// MaxLevels bounds the fixed levels of one feature.
const MaxLevels = 4096

// MaxSpecial bounds the special codes of one feature.
const MaxSpecial = 64

// MaxCuts bounds the cuts of one feature.
const MaxCuts = 254

// Bins shapes the cells that a fit chooses for a continuous feature.
type Bins struct {
	// Min is the least share of the numbers in a cell: cells with less join a neighbour. Values inside a cell are alike
	// then, as between cuts. Default .05; a share above a half leaves one cell.
	Min float64 `yaml:"min"`
	// Monotone chooses the cells of the largest information value whose rates of the positive class go one way: up, down,
	// or auto for the one that tells more. The scorecard has these cells; later its counts may go another way (see
	// propensity.monotone). It needs two classes or a positive one. Default none: cells of about equal weight.
	Monotone Direction `yaml:"monotone,omitempty"`
}

func (b *Bins) setDefaults() { b.Min = 0.05 }

// MaxText bounds a name, a class or a level, in bytes.
const MaxText = 256

// Label is the outcome.
type Label struct {
	// Column holds the class of a record. Required; it may be null or absent in the stream.
	Column string `yaml:"column"`
	// Classes lists the classes, 2 to MaxClasses, in the order of reports. Required. They are always texts: yes, 1 and
	// true need no quotes. A record of another class is scored and counted, never learnt.
	Classes []string `yaml:"classes"`
	// Positive is the class that marketers ask for: target, lift, profile and why of a score speak of it. Default
	// none: they speak of the class of the highest lift.
	Positive string `yaml:"positive,omitempty"`
}

// Feature is one column that is looked at.
type Feature struct {
	// Name is the column. Required; it must not be a column of the scores.
	Name string `yaml:"name"`
	// Kind says how its values relate to each other. Required.
	Kind Kind `yaml:"kind"`
	// Levels fixes the levels of a nominal feature and orders those of an ordinal one, for which it is required, with
	// at least two. Default none: the levels of a nominal feature are learnt, and beyond the first MaxLevels those
	// that come often or lately are told apart. A level that is not listed counts as "(other)".
	Levels []string `yaml:"levels,omitempty"`
	// Special lists the numbers of a continuous feature that are codes and no quantities, such as -999 for "no account",
	// at most MaxSpecial. Each is a cell of its own in the scorecard and the report, outside the order of the numbers,
	// curves, distances and monotone; to the searches, the kernel, the neighbours and the watch of drift it is a missing
	// value, and trees may split on it. Default none.
	Special []float64 `yaml:"special,omitempty"`
	// Cuts are the cells of a continuous feature in the scorecard and the report, such as those of a policy: [18, 25, 65]
	// makes the cells up to 18, above 18 up to 25, above 25 up to 65, and above 65. They ascend; at most MaxCuts. Values
	// inside a cell are alike to its counts and weights; propensity.linear goes on along them. Default none: a fit chooses
	// the cells.
	Cuts []float64 `yaml:"cuts,omitempty"`
	// Bins shapes the cells of a continuous feature that a fit chooses. Default none.
	Bins *Bins `yaml:"bins"`
	// Use says where the feature may appear. Default score.
	Use Use `yaml:"use"`
	// Nullable says which parts messages may lack. Default values: a null is a missing value, and a message without the
	// column is refused. With column, such a message is taken, and all its values of the feature are missing; with never,
	// a row without a value goes to the dead letters.
	Nullable Nullable `yaml:"nullable"`
}

func (f *Feature) setDefaults() { f.Use, f.Nullable = UseScore, NullableValues }
