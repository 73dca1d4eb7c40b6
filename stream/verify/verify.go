// Package verify replays the topics of a stage and compares: every scores message byte for byte, and the state at every
// snapshot that can still be read.
//
// Begin at Verify.
package verify

import (
	"context"
	"fmt"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/state"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// Verdict holds the findings in one partition.
type Verdict struct {
	Partition int
	From, To  int64  // event offsets that were replayed
	Start     string // where the replay began: "the beginning", or a snapshot
	Messages  int    // scores messages compared, byte for byte
	Records   int    // records in them
	Swaps     int    // changes of the model that were replayed
	Labels    int64  // label offsets replayed
	States    int    // snapshots compared with the replayed state, section by section
	Unread    int    // snapshots that compaction has taken parts of, so that they could not be compared
	// Because names a difference of an earlier build, as an explanation of Problems; "" = nothing tells of one.
	Because  string
	Problems []string
	More     int // problems beyond those listed
}

const maxProblems = 20

func (v *Verdict) problem(format string, args ...any) {
	if len(v.Problems) == maxProblems {
		v.More++
		return
	}
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}

// Options say which stage to verify. They are those of the stage.
type Options struct {
	Name   string
	Spec   *model.Spec
	Codec  codec.Options
	Client *txn.Client
	Topics topics.Names
	// Scores of events outside [From, To], by Kafka's timestamps, are replayed but not compared; a zero time sets no
	// bound.
	From, To time.Time
}

// Verify replays events, labels and models in the order that the journal gives, with the code that scored them, and
// compares. It replays a partition up to the committed offset: from the beginning of its state, if the topics still
// hold that, else from the oldest usable snapshot. Scores made with a former state, which a policy has given up, are
// not compared. It writes nothing, and may run beside a stage.
func Verify(ctx context.Context, o Options) ([]Verdict, error) {
	partitions, _, err := topics.Check(ctx, o.Client, o.Topics)
	if err != nil {
		return nil, err
	}
	models := state.NewModels(o.Client, o.Topics.Model, o.Spec.Schema)
	models.KeepAll = true
	out := make([]Verdict, partitions)
	for p := range out {
		out[p].Partition = p
		v := &verifier{o: &o, models: models, partition: p, verdict: &out[p]}
		if err := v.run(ctx); err != nil {
			return out, fmt.Errorf("verifying partition %d: %w", p, err)
		}
	}
	return out, nil
}
