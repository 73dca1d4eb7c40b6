// Package compare answers which of two stages scores the same events better, by the scores in their topics.
//
// Begin at Run.
package compare

import (
	"context"
	"math"
	"time"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/cmd/liftstream/internal/cluster"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/paired"
	"liftstream/stream/pairs"
)

// Two is a figure of each stage.
type Two struct {
	First  evaluate.Number `json:"first"`
	Second evaluate.Number `json:"second"`
}

// Tenth is a tenth of the records by the propensity of a stage for Result.Class.
type Tenth struct {
	Records    int             `json:"records"`
	Propensity evaluate.Number `json:"propensity"` // mean
	Share      evaluate.Number `json:"share"`      // of the class
}

// Top compares the tenths of the records with the highest propensities for Result.Class.
type Top struct {
	Records int             `json:"records"` // in each
	Both    int             `json:"both"`    // in both
	Share   evaluate.Number `json:"share"`
	Lift    Two             `json:"lift"`
}

// Result is the answer of the command compare.
type Result struct {
	First      string            `json:"first"`
	Second     string            `json:"second"`
	Counts     pairs.Counts      `json:"counts"`
	Counted    int64             `json:"counted"` // labelled, with a weight: the losses are over these
	LogLoss    Two               `json:"log_loss"`
	Difference evaluate.Number   `json:"difference"` // of the first less the second
	Interval   evaluate.Interval `json:"interval"`   // of the difference, at all looks
	Alpha      float64           `json:"alpha"`
	Verdict    string            `json:"verdict"` // first, second or none yet
	// Class is the one of which the figures below speak, "" where there is none: then they are absent.
	Class       string     `json:"class,omitempty"`
	Sampled     int        `json:"sampled,omitempty"` // records of which they are
	Calibration [2][]Tenth `json:"calibration,omitempty"`
	Top         *Top       `json:"top,omitempty"`
}

// Options bound a comparison.
type Options struct {
	From, To time.Time // of the events; zero = no bound
	Alpha    float64   // share of comparisons that may give a false verdict
}

// waitBytes and window are those of a stage without a section labels whose labels come with the events.
const (
	waitBytes = 256 << 20
	window    = 7 * 24 * time.Hour
)

// joining are the options by which the scores of two stages are joined.
func joining(k *cluster.Cluster, a, b *assemble.Stage, o Options) pairs.Options {
	stage := func(c *config.Config) pairs.Stage { return pairs.Stage{Name: c.Name, Scores: c.Topics.Scores} }
	m := &a.Spec.Options
	j := pairs.Options{Client: k.Client, First: stage(a.Config), Second: stage(b.Config), Events: a.Config.Topics.Events,
		Labels: a.Config.Topics.Labels, Codec: a.Codec, Window: window, Expired: model.Unlabelled, WaitBytes: waitBytes,
		From: o.From, To: o.To}
	if a.Config.Labels != nil {
		j.Window, j.Expired, j.WaitBytes = time.Duration(m.WaitWindow), m.ExpireAs, m.WaitBytes
	}
	return j
}

// Run compares a with b, which cluster.Beside accepts. Labels are those of a. It reads the topics up to their present
// ends.
func Run(ctx context.Context, k *cluster.Cluster, a, b *assemble.Stage, o Options) (*Result, error) {
	schema := a.Spec.Schema
	class := schema.Positive
	if class < 0 && len(schema.Classes) == 2 {
		class = 1
	}
	c, s := paired.New(len(schema.Classes)), paired.NewSample(0)
	counts, err := pairs.Join(ctx, joining(k, a, b, o), func(r *pairs.Record) error {
		if class >= 0 {
			s.Add(paired.Pair{First: r.First[class], Second: r.Second[class], Known: r.Class >= 0,
				Is: int(r.Class) == class, Weight: r.Weight}, uint64(r.Partition), uint64(r.Offset), uint64(r.Row))
		}
		if r.Class < 0 {
			return nil
		}
		return c.Add(r.First, r.Second, int(r.Class), r.Weight)
	})
	if err != nil {
		return nil, err
	}
	r := &Result{First: a.Config.Name, Second: b.Config.Name, Counts: counts, Counted: c.Records(), Alpha: o.Alpha,
		Difference: evaluate.Number(c.Difference()), Verdict: c.Verdict(o.Alpha).String()}
	first, second := c.LogLoss()
	r.LogLoss = Two{evaluate.Number(first), evaluate.Number(second)}
	low, high := c.Interval(o.Alpha)
	if math.IsInf(low, 0) {
		low, high = math.NaN(), math.NaN()
	}
	r.Interval = evaluate.Interval{evaluate.Number(low), evaluate.Number(high)}
	if class >= 0 {
		r.Class, r.Sampled = schema.Classes[class], s.Len()
		r.Calibration = [2][]Tenth{tenths(s.Calibration(false)), tenths(s.Calibration(true))}
		top := s.Top()
		r.Top = &Top{Records: top.Records, Both: top.Both, Share: evaluate.Number(top.Share),
			Lift: Two{evaluate.Number(top.Lift.First), evaluate.Number(top.Lift.Second)}}
	}
	return r, nil
}

func tenths(in []paired.Tenth) (out []Tenth) {
	for _, t := range in {
		out = append(out, Tenth{t.Records, evaluate.Number(t.Mean), evaluate.Number(t.Share)})
	}
	return out
}
