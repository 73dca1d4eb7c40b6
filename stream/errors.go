package stream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"liftstream/stream/state"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// PolicyError is returned by Run where the topics do not match the state, and a policy of the configuration says to
// stop.
type PolicyError struct {
	Policy    string // the key of the configuration
	Partition int
	Problem   string
	Remedy    string // the advice; "" = set the policy to rebuild
}

func (e *PolicyError) Error() string {
	if e.Remedy != "" {
		return fmt.Sprintf("partition %d: %s; %s", e.Partition, e.Problem, e.Remedy)
	}
	return fmt.Sprintf("partition %d: %s; policy.%s is fail: set it to rebuild to go on with an empty state "+
		"from what is there", e.Partition, e.Problem, e.Policy)
}

// newerState returns the error that ends the stage where a newer build has written the state of a partition. The state
// is not lost, so no policy begins it anew.
func newerState(partition int, e *state.FormatError) error {
	return &topics.MismatchError{Problem: fmt.Sprintf("partition %d: a newer build has written the state: %v; "+
		"run a build that reads it, with --format %d before this one is to follow it", partition, e, e.Newest)}
}

// StopError is returned by a stage that was told to stop and could not bring everything to an end within Options.Grace.
// It loses nothing: the next owner goes on from the committed offsets. It hides its causes: the stage has cut them off
// itself, and the caller has cancelled nothing.
type StopError struct{ Left []string }

func (e *StopError) Error() string { return "stopped, but " + strings.Join(e.Left, "; ") }

// sick reports whether an error is the environment's, so that doing the same again may help.
func sick(err error) bool {
	return txn.KindOf(err) != 0 || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
