package model

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Kind says how the values of a feature relate to each other.
type Kind uint8

const (
	Continuous Kind = iota // numbers on a line
	Ordinal                // named levels in a fixed order
	Nominal                // named levels without order
)

func (k Kind) String() string {
	switch k {
	case Continuous:
		return "continuous"
	case Ordinal:
		return "ordinal"
	case Nominal:
		return "nominal"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Use says where a feature may appear. Features that must never be looked at are not part of a Schema at all.
type Use uint8

const (
	UseScore  Use = iota // in tables, searches and scores
	UseReport            // in tables by group; never in a score
)

// Direction is the constraint on how the propensity of the positive class may move with a feature.
type Direction uint8

const (
	Free Direction = iota
	Up             // never falls as the feature grows
	Down           // never rises as the feature grows
	Auto           // up or down, as the evidence says at a fit
)

// Feature is one configured column of a record.
type Feature struct {
	Name     string
	Kind     Kind
	Use      Use
	Levels   []string // the fixed levels, in order for Ordinal; nil means learnt from the stream (Nominal only)
	Monotone Direction
	// Special lists the numbers of a continuous feature that are codes, such as -999, ascending, at most MaxSpecial. Each
	// is a level of its own beside the numbers and the missing values: see SpecialCell.
	Special []float64
	// Cuts are the cells of a continuous feature in the scorecard and in reports, ascending, at most MaxCuts: each holds
	// the values above the cut before and up to its own. nil = they are chosen by a fit.
	Cuts []float64
	// Least is the least share of the numbers in a cell of a continuous feature that a fit chooses, for the scorecard and
	// for reports; 0 = none is asked for.
	Least float64
	// Trend says that the rate of the positive class (the second of two where none is configured) moves one way from cell
	// to cell of a continuous feature that a fit chooses: see OptimalCuts. It needs a Least; Free asks for nothing.
	Trend Direction
	// Derived is the expression by which a derived feature is computed from columns of the record, in its canonical form;
	// "" for a column. Two features of different expressions are different, though all else is the same.
	Derived string
}

// OfClock reports whether the feature moves as the clock does: it is a part of the record's own date, or tells of the
// former records of the id, of which a stream knows more the longer it lasts.
func (f *Feature) OfClock() bool {
	if strings.HasPrefix(f.Derived, "since_last(") || strings.HasPrefix(f.Derived, "count(") {
		return true
	}
	for _, part := range [...]string{"hour(time", "day(time", "month(time"} { // weekday ends in day
		if strings.Contains(f.Derived, part+",") || strings.Contains(f.Derived, part+")") {
			return true
		}
	}
	return false
}

// Schema describes the records to the models. It is immutable after construction and may be shared.
type Schema struct {
	Features []Feature // in configuration order, which is also the order of Batch.Columns and of a Row
	Classes  []string
	Positive int // index of the class that marketers ask for; -1 when none is configured
}

// Feature returns the index of the feature with that name, or -1.
func (s *Schema) Feature(name string) int {
	for i := range s.Features {
		if s.Features[i].Name == name {
			return i
		}
	}
	return -1
}

// Class returns the index of the class with that name, or -1.
func (s *Schema) Class(name string) int {
	for i, c := range s.Classes {
		if c == name {
			return i
		}
	}
	return -1
}

// ClassIndex finds the classes that texts of labels mean.
type ClassIndex struct{ own, same map[string]int32 }

// NewClassIndex returns the index of the classes.
func NewClassIndex(classes []string) *ClassIndex {
	x := &ClassIndex{own: map[string]int32{}, same: map[string]int32{}}
	for i, c := range classes {
		x.own[c] = int32(i)
		value := SameValue(c)
		if _, ok := x.same[value]; ok {
			x.same[value] = UnknownClass
			continue
		}
		x.same[value] = int32(i)
	}
	return x
}

// Class returns the index of the class that a label's text means, or UnknownClass: the class of that text, else of its
// canonical text, else the one class that is the same value, so that true finds a class named 1.
func (x *ClassIndex) Class(text []byte) int32 {
	if c, ok := x.own[string(text)]; ok {
		return c
	}
	if c, ok := x.own[string(CanonicalText(nil, text))]; ok {
		return c
	}
	if c, ok := x.same[SameValue(string(text))]; ok {
		return c
	}
	return UnknownClass
}

// Row is one coded record: for each feature of the Schema its number, or the Cell of its level's code in Levels;
// NaN means missing, or is the SpecialCell of a special code. Codes are exact: they stay far below 2^53.
type Row []float64

// Missing reports whether the value of a Row cell is missing.
func Missing(v float64) bool { return math.IsNaN(v) }

// Unlabelled marks a record whose class is not known (yet).
const Unlabelled int32 = -1

// UnknownClass marks a record whose label is a text that the configuration does not list: it is scored, counted, and
// never learnt.
const UnknownClass int32 = -2

// Example is a labelled coded record as the components learn it.
type Example struct {
	Row   Row
	Class int32
	// Weight is the record's own weight (1 unless configured), at least 0. Zero changes nothing; a weight above MaxWeight
	// counts as MaxWeight.
	Weight float64
	// Clock is the number of labelled records that the partition had learnt before this one. Decay by growing weights
	// (MODEL.md 3) is 2^(Clock/half-life), so a retraction or a replay with the same Clock is exact.
	Clock float64
	// Time is the record's time in Unix nanoseconds, for half-lives that are durations: 2^(Time/half-life).
	Time int64
	// Outcomes are the classes of the goals. A record of which a goal alone is known has Class Unlabelled.
	Outcomes Outcomes
}

// Directed reports whether the propensity of the positive class must move one way with feature f.
func (s *Schema) Directed(f int) bool {
	return s.Positive >= 0 && s.Features[f].Kind != Nominal && s.Features[f].Monotone != Free
}

// Unit is the weight of one record's worth of evidence among records of the given sums of weights and of their squares,
//
//	u = sum w^2 / sum w
//
// 1 where every record weighs 1, and where there is none. Weights are inverse probabilities: rates count a record of
// weight 2 as two, but the records know no more than n_eff = (sum w)^2 / sum w^2 = sum w / u records do (Kish 1965), so
// that a pseudo-record weighs u beside them. Multiplying all weights by a number multiplies u by it.
func Unit(weight, square float64) float64 {
	if u := square / weight; u > 0 && u <= MaxWeight {
		return u
	}
	return 1
}

// MaxWeight bounds the weight of a record, so that no sum of weights or of their squares overflows.
const MaxWeight = 1e9

// HalfLife is the memory of a count: a number of labelled records of the partition, or a duration; both zero = for
// ever.
type HalfLife struct {
	Records  float64
	Duration time.Duration
}
