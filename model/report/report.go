// Package report holds the data of a fit's report (REPORT.md) as plain structs: each component fills its own section;
// pages and pictures are drawn from it.
//
// Begin at Report. A component adds its section by the interfaces Reporter and Summariser.
package report

import (
	"encoding/json"
	"math"

	"liftstream/model"
)

// Report is everything that a fit has to say.
type Report struct {
	Name      string    `json:"name"`
	Records   int       `json:"records"`
	Labelled  int       `json:"labelled"`
	Classes   []string  `json:"classes"`
	BaseRates []Number  `json:"base_rates"`
	Sets      []Set     `json:"sets"`
	Windows   []Window  `json:"windows"`
	Profiles  []Profile `json:"profiles"`
	Features  []Feature `json:"features"`
	// Importance is of the scored features, the most important first; absent where nobody has scored records.
	Importance []Importance `json:"importance,omitempty"`
	Local      *Local       `json:"local,omitempty"`
	Kernel     *Kernel      `json:"kernel,omitempty"`
	Trees      *Trees       `json:"trees,omitempty"`
	// Goals are the goals beside the label, in the order of the configuration.
	Goals   []Goal     `json:"goals,omitempty"`
	Seconds Seconds    `json:"seconds,omitempty"`
	Search  *SearchLog `json:"search,omitempty"`
	// Other holds the sections of components that have no field of their own, by the component's name.
	Other map[string]any `json:"other,omitempty"`
}

// Set is a feature set with its class counts by cell. Counts, lifts and intervals are by level (cell), then by class.
// The counts never forget: they are of all records that were learnt since the set is counted. An interval of a lift is
// at 95 % for one cell and class by itself: a report holds thousands, after a search for sets, so that some miss.
type Set struct {
	Features     []string `json:"features"`
	Eta          Number   `json:"eta"`
	EtaCorrected Number   `json:"eta_corrected"`
	// EtaLeaveOneOut is eta on records left out of the counts, which does not grow with the number of cells of a set that
	// tells nothing. Sets are in its order, or in that of Eta where lift.sets.rank says so.
	EtaLeaveOneOut Number   `json:"eta_leave_one_out"`
	N              Number   `json:"n"`                   // weight of the records that have all features
	Estimated      bool     `json:"estimated,omitempty"` // part of the counts were extrapolated from a sample
	Levels         []string `json:"levels"`
	Cuts           []Number `json:"cuts"` // of the continuous features, one part after the other
	// RankError bounds, with probability .999, how far the share of records below a cut is from the quantile that it
	// stands for; absent where the cuts are quantiles of every record.
	RankError Number     `json:"rank_error,omitempty"`
	Counts    [][]Number `json:"counts"`
	Lift      [][]Number `json:"lift"`
	LiftLow   [][]Number `json:"lift_low"`
	LiftHigh  [][]Number `json:"lift_high"`
	CellEta   []Number   `json:"cell_eta"`
}

// Window is a set of cells of one feature set. Eta is that of the records among which the window was searched, so that
// it is high by chance too; EtaCorrected is less the gain of given cells by chance; EtaLow and EtaHigh hold at 95 % for
// the windows of all sets that were tried at once.
type Window struct {
	Features     []string `json:"features"`
	Levels       []string `json:"levels"`
	Eta          Number   `json:"eta"`
	EtaCorrected Number   `json:"eta_corrected"`
	EtaLow       Number   `json:"eta_low"`
	EtaHigh      Number   `json:"eta_high"`
	N            Number   `json:"n"`
	Mass         Number   `json:"mass"`
	// Folded is the number of windows that were found besides, share most of their records with this one and rank between
	// it and the last one of the report.
	Folded int `json:"folded"`
}

// Profile is a conjunction of tests with the lift of a class under it. Lift, its interval and the counts are of all
// records, those included among which the profile was searched: they are high by chance too. The validated figures and
// the q-value are of newer records than the search saw, null where none were held back. The q-value and the validated
// interval account for all of ValidatedAmong profiles, and neither for other reports made before or after.
type Profile struct {
	Class         string `json:"class"`
	Profile       Tests  `json:"profile"`
	Text          string `json:"-"` // the profile in one line, such as "contact=cellular & poutcome=success"
	Lift          Number `json:"lift"`
	LiftLow       Number `json:"lift_low"`
	LiftHigh      Number `json:"lift_high"`
	LiftAll       Number `json:"lift_all"`
	ValidatedLift Number `json:"validated_lift"`
	ValidatedLow  Number `json:"validated_low"`
	ValidatedHigh Number `json:"validated_high"`
	// ValidatedAmong is the number of profiles for all of which the validated intervals hold at once at 95 %.
	ValidatedAmong int    `json:"validated_among"`
	N              Number `json:"n"`
	NX             Number `json:"n_x"`
	NXY            Number `json:"n_xy"`
	NY             Number `json:"n_y"`
	QValue         Number `json:"q_value"`
	// Confirmed says that the q-value is at most .05: scores carry this profile.
	Confirmed   bool `json:"confirmed"`
	Refinements int  `json:"refinements"`
	// Folded is the number of profiles that cover nearly the same records and rank lower; they are not shown.
	Folded int `json:"folded"`
}

// IntervalNote explains the validated interval of a confirmed profile that begins below 1.
const IntervalNote = "the interval of a confirmed profile can begin below 1: it holds for all profiles at once, " +
	"which asks for more than a q-value of .05"

// Test is one feature of a profile with its level or its interval.
type Test struct{ Feature, Cell string }

// Tests is a JSON object from feature to cell that keeps the order of its entries.
type Tests []Test

// MarshalJSON writes the object in the order of the tests.
func (t Tests) MarshalJSON() ([]byte, error) {
	return object(len(t), func(i int) (string, any) { return t[i].Feature, t[i].Cell })
}

// Feature has the figures of one feature: credit scoring's weight of evidence, and warnings.
type Feature struct {
	Name             string `json:"name"`
	InformationValue Number `json:"information_value"`
	// InformationValueRaw is the sum over the cells with both sides, without smoothing: see WOE.Raw.
	InformationValueRaw Number   `json:"information_value_raw"`
	WOE                 []WOE    `json:"woe"`
	AUC                 Number   `json:"auc"`
	Warnings            []string `json:"warnings"`
}

// WOE is the weight of evidence of one cell, ln of the share of the positive class there over that of the others.
type WOE struct {
	Cell string `json:"cell"`
	N    Number `json:"n"`
	WOE  Number `json:"woe"`
	// Raw is the same without smoothing, as scorecard tools have it (optbinning with the opposite sign); null in a cell
	// without a record of one side.
	Raw Number `json:"woe_raw"`
}

// Local is the report of the local subspaces.
type Local struct {
	// Theta is the threshold at which paper A selects features: that of the neighbours' distance where this is one in a
	// subspace. The subspaces of scores have none.
	Theta  Number  `json:"theta"`
	Curves []Curve `json:"curves"`
	// HalfLife is the memory of the class counts from which curves and subspaces are learnt, in labelled records of a
	// partition; 0 = they forget by time or never, unlike the horizons of the scorecard.
	HalfLife Number `json:"half_life"`
	// HalfLifeSeconds is the same memory in seconds of stream time, where it is configured so; absent elsewhere.
	HalfLifeSeconds Number `json:"half_life_seconds,omitempty"`
	// Useless is the mean relevance of a feature that says nothing by paper A: theta is at least that where it is chosen
	// by auto.
	Useless    Number   `json:"useless"`
	Prototypes int      `json:"prototypes"`
	Neighbours int      `json:"neighbours"`
	Distance   Distance `json:"distance"`
	// Trials are the distances that were compared, by leaving out one prototype at a time; absent where none was.
	Trials []Trial `json:"trials,omitempty"`
}

// Distance says how neighbours are found: in the features that are selected at theta.
type Distance struct {
	Theta    Number `json:"theta"`
	Cap      Number `json:"cap"`      // of the difference in one feature, 0 = none
	Weighted bool   `json:"weighted"` // by relevance
	Close    bool   `json:"close"`    // nearer neighbours weigh more
}

// Trial is a distance that was tried, with its errors and its log-loss on so many records. The figures compare
// distances with each other: those of the chosen one are the least of many and better than the figures of eval on other
// records.
type Trial struct {
	Distance
	Records int    `json:"records"`
	Errors  Number `json:"errors"`
	LogLoss Number `json:"log_loss"`
}

// Curve is the Gaussian process of one feature.
type Curve struct {
	Feature      string `json:"feature"`
	LengthScale  Number `json:"length_scale"`
	SignalSD     Number `json:"signal_sd"`
	NoiseSD      Number `json:"noise_sd"`
	Observations int    `json:"observations"`
	// Pool is the number of observations that are kept for later fits; absent where none is.
	Pool                  int    `json:"pool,omitempty"`
	LogMarginalLikelihood Number `json:"log_marginal_likelihood"`
	// Proved bounds of the error of the tabulated mean and variance.
	MeanBound     Number `json:"mean_bound"`
	VarianceBound Number `json:"variance_bound"`
	Neutral       Number `json:"neutral"` // score of a feature that says nothing
	// Levels are those of a nominal feature, in the order of Grid, which then counts them; they have no process.
	Levels []string `json:"levels,omitempty"`
	// Grid is where the mean and the standard deviation of the process are given.
	Grid []Number `json:"grid"`
	Mean []Number `json:"mean"`
	SD   []Number `json:"sd"`
}

// Kernel is the report of the kernel's linear programme.
type Kernel struct {
	Mode      string         `json:"mode"`
	Status    string         `json:"status"`
	Objective Number         `json:"objective"`
	Bound     Number         `json:"bound"`
	Features  []string       `json:"features"`
	Weights   []KernelWeight `json:"weights"`
}

// KernelWeight is the weight of one feature's kernel of one width.
type KernelWeight struct {
	Feature string `json:"feature"`
	Width   Number `json:"width"`
	Alpha   Number `json:"alpha"`
}

// Trees is the report of the boosted trees.
type Trees struct {
	Trees   int `json:"trees"` // kept, 0 where they do not help
	Leaves  int `json:"leaves"`
	Rounds  int `json:"rounds"`
	Records int `json:"records"` // the newest, on which they were fitted
	// Before is the log-loss of the additive model on records that it has not seen, Gain how much the trees lower it, and
	// StdErr the standard error of the gain.
	Before Number `json:"before"`
	Gain   Number `json:"gain"`
	StdErr Number `json:"stderr"`
	// Features are those of the splits, the one that moves the trees most first.
	Features []TreeFeature `json:"features"`
}

// TreeFeature is the share of one feature in the movement of the trees.
type TreeFeature struct {
	Feature string `json:"feature"`
	Share   Number `json:"share"`
}

// Seconds is how long the steps of the fit took, in their order: a JSON object from step to seconds.
type Seconds []Second

// Second is one step: the reading, or the fit of a component by its name.
type Second struct {
	Step    string
	Seconds float64
}

// MarshalJSON writes the object in the order of the steps.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return object(len(s), func(i int) (string, any) { return s[i].Step, s[i].Seconds })
}

// object writes a JSON object of n members in their order.
func object(n int, member func(i int) (key string, value any)) ([]byte, error) {
	b := []byte{'{'}
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		key, value := member(i)
		for j, x := range []any{key, value} {
			q, err := json.Marshal(x)
			if err != nil {
				return nil, err
			}
			if j == 1 {
				b = append(b, ':')
			}
			b = append(b, q...)
		}
	}
	return append(b, '}'), nil
}

// SearchLog says how far the search for feature sets and profiles went.
type SearchLog struct {
	Sets            int `json:"sets"`             // feature sets tried
	Exhaustive      int `json:"exhaustive"`       // size up to which every feature set was tried
	ProfileFeatures int `json:"profile_features"` // largest number of features of a profile
	// InexactWindows is the number of sets whose windows of a minimum mass were not searched to the end.
	InexactWindows int `json:"inexact_windows,omitempty"`
	// Entered are the feature sets that feed the scorecard, in the order in which they entered.
	Entered [][]string `json:"entered,omitempty"`
	// Notes explain the intervals and counts of the report.
	Notes []string `json:"notes,omitempty"`
}

// Number is a float64 whose JSON form of an undefined or infinite value is null.
type Number float64

// MarshalJSON writes the shortest number that reads back the same, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	v := float64(n)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(v)
}

// Numbers converts.
func Numbers(v []float64) []Number {
	out := make([]Number, len(v))
	for i, x := range v {
		out[i] = Number(x)
	}
	return out
}

// Names returns the names of features.
func Names(s *model.Schema, features []int32) []string {
	out := make([]string, len(features))
	for i, f := range features {
		out[i] = s.Features[f].Name
	}
	return out
}
