package evaluate

import "liftstream/model/report"

// Number is a figure of a result: null in JSON where it is not defined.
type Number = report.Number

// Interval is a two-sided 95 % interval.
type Interval [2]Number

// Result is the answer of the command eval.
type Result struct {
	Protocol   string                 `json:"protocol"`
	Delay      int                    `json:"delay"`
	Partitions int                    `json:"partitions"`
	Records    int64                  `json:"records"` // read
	Scored     int64                  `json:"scored"`  // labelled, and not among the skipped: the figures are over these
	Classes    []string               `json:"classes"`
	Positive   string                 `json:"positive,omitempty"`
	Methods    map[string]*Metrics    `json:"methods"`
	Against    map[string]*Difference `json:"against"`
	Gains      []Gain                 `json:"gains"`
	// Profit is there where a value is given, of the method of Gains.
	Profit    *Profit      `json:"profit,omitempty"`
	Curve     []CurvePoint `json:"curve"`
	Baselines *Baselines   `json:"baselines,omitempty"` // prequential
	Drift     []Drift      `json:"drift"`
	// DriftRecords is the length of the windows of Drift: DriftRecords, or ShortDriftRecords in a stream that has less
	// than two of those.
	DriftRecords int          `json:"drift_records,omitempty"`
	DriftPoints  []DriftPoint `json:"drift_points"`
	Alarms       []Alarm      `json:"alarms"` // the first thousand
	Stability    Stability    `json:"stability"`
	Fits         []Fit        `json:"fits"` // in the order of their verdicts
	// Uplift is there where the stage estimates the effect of a treatment, of the method of Gains.
	Uplift *Uplift `json:"uplift,omitempty"`
	// Groups is there where the stage has features of use: report or segments, and a class that Gains speak of.
	Groups *Groups `json:"groups,omitempty"`
	// Intervals is there where scores have intervals (output.interval), of the method of Gains.
	Intervals *Intervals `json:"intervals,omitempty"`
	// Goals are the goals beside the label, of the method of Gains.
	Goals []Goal `json:"goals,omitempty"`
	// Importance is of the features of the method of Gains, the most important first, where that method has them.
	Importance []Importance `json:"importance,omitempty"`
	// Challengers are other configurations on the same records, for the caller to fill in.
	Challengers []Challenger `json:"challengers,omitempty"`
	// RecordsPerSecond is for the caller to fill in: nothing here reads a clock.
	RecordsPerSecond Number `json:"records_per_second"`
}

// Metrics measures one method; Set.Metrics defines each figure.
type Metrics struct {
	LogLoss          Number `json:"log_loss"`
	AUC              Number `json:"auc"`
	AUCBlocks        Number `json:"auc_blocks"`
	AveragePrecision Number `json:"average_precision"`
	Brier            Number `json:"brier"`
	Accuracy         Number `json:"accuracy"`
	AccuracyError    Number `json:"accuracy_error"` // its standard error
	// Kappa is the accuracy beyond that of chance, KappaTemporal that beyond Baselines.NoChange, KappaMajority that
	// beyond Baselines.Majority; the latter two are null where there are no baselines.
	Kappa                Number            `json:"kappa"`
	KappaTemporal        Number            `json:"kappa_temporal"`
	KappaMajority        Number            `json:"kappa_majority"`
	KS                   Number            `json:"ks"`
	CalibrationError     Number            `json:"calibration_error"`
	CalibrationSlope     Number            `json:"calibration_slope"`
	CalibrationIntercept Number            `json:"calibration_intercept"`
	LiftAt               map[string]Number `json:"lift_at"` // by share
	LogLossInterval      Interval          `json:"log_loss_interval"`
	MeanSubspace         Number            `json:"mean_subspace"` // features selected for a record
	// Reasons is the number of features among the reasons of all records whose effect is more than .1 nats and that
	// have a lift, Conflicts that of those whose effect goes against their lift. Untold is the number of features
	// whose effect is more than .1 nats and whose lift cannot be told from 1, so that they have none.
	Reasons   int64 `json:"reasons"`
	Conflicts int64 `json:"reason_conflicts"`
	Untold    int64 `json:"reasons_without_lift"`
	// Gini is 2 AUC - 1: 0 is a ranking at random, 1 the best one.
	Gini         Number   `json:"gini"`
	GiniInterval Interval `json:"gini_interval"`
}

// Difference is the log-loss of the method all less that of another on the same records: negative where all is better.
type Difference struct {
	LogLoss  Number   `json:"log_loss_difference"`
	Interval Interval `json:"interval"`
}

// Fit is a model that was compared with the serving one, on records that neither had learnt (model.Compare).
type Fit struct {
	Method     string   `json:"method"`
	Learnt     int64    `json:"learnt"` // labelled records of the stream at the verdict
	Accepted   bool     `json:"accepted"`
	Reason     string   `json:"reason"` // nothing_to_compare, better, within_gate or worse
	Records    int      `json:"records"`
	LogLoss    Number   `json:"log_loss"`
	Serving    Number   `json:"log_loss_serving"`
	Difference Number   `json:"log_loss_difference"`
	Interval   Interval `json:"interval"`
	Gate       Number   `json:"gate"`
}

// NewFit is the verdict for people and programs.
func NewFit(v *FitVerdict) Fit {
	return Fit{
		Method:     v.Method,
		Learnt:     v.Learnt,
		Accepted:   v.Accepted(),
		Reason:     v.Reason.String(),
		Records:    v.Records,
		LogLoss:    Number(v.New),
		Serving:    Number(v.Old),
		Difference: Number(v.Difference()),
		Interval:   Interval{Number(v.Low), Number(v.High)},
		Gate:       Number(v.Gate),
	}
}

// Gain is a row of the gains table: a share of the records, those of the highest scores, and the labels among them.
type Gain struct {
	Share          float64 `json:"share"`
	N              Number  `json:"n"`
	Positives      Number  `json:"positives"`
	Capture        Number  `json:"capture"` // share of all positives
	Lift           Number  `json:"lift"`
	MeanPropensity Number  `json:"mean_propensity"`
	// 95 % intervals: that of a block bootstrap and that of Wilson together, which knows how few the positives are.
	LiftInterval    Interval `json:"lift_interval"`
	CaptureInterval Interval `json:"capture_interval"`
	// Profit and its interval are there where a value is given.
	Profit         *Number   `json:"profit,omitempty"`
	ProfitInterval *Interval `json:"profit_interval,omitempty"`
}

// CurvePoint is a point of the learning curve: the figures of the records since the point before.
type CurvePoint struct {
	Records int64  `json:"records"` // of the stream up to here, skipped ones included
	AUC     Number `json:"auc"`
	LogLoss Number `json:"log_loss"`
	// The quality that the propensities promised before any label (Expected). Parted says that the labels contradict it:
	// by chance, with calibrated propensities of independent records, in at most 5 % of streams in any point.
	ExpectedAUC     Number `json:"expected_auc"`
	ExpectedLogLoss Number `json:"expected_log_loss"`
	ExpectedError   Number `json:"expected_log_loss_error"` // standard deviation of the log-loss by chance
	Parted          bool   `json:"parted"`
}

// Stability measures how swaps change the scores of the same records, the last before each swap: the mean absolute
// change of the propensity of a class, and the share whose class of highest propensity changed. Null when no model was
// swapped.
type Stability struct {
	MeanChange     Number `json:"mean_change"`
	SegmentChanged Number `json:"segment_changed"`
}

func (c *change) stability() Stability {
	n := float64(c.records)
	return Stability{MeanChange: Number(c.sum / n), SegmentChanged: Number(float64(c.segments) / n)}
}
