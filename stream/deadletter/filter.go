package deadletter

import (
	"slices"
	"time"

	"liftstream/codec"
)

// Place is where a letter lies in the dead-letter topic.
type Place struct {
	Partition int
	Offset    int64
}

// Filter picks dead letters. The zero value picks all; an empty field sets no bound.
type Filter struct {
	Reasons      []codec.Reason
	Stages       []string // Stage constants of codec
	Partitions   []int    // of the messages
	From, To     int64    // offsets of the messages, From <= offset < To; To 0 = no bound
	Since, Until time.Time
	Letters      []Place
}

// Match reports whether the filter picks a letter at a place. A letter that does not say when its message was first
// seen lies outside any bounds of time.
func (f *Filter) Match(at Place, x *Report) bool {
	return picks(f.Reasons, x.Reason) && picks(f.Stages, x.Stage) && picks(f.Partitions, x.Partition) &&
		picks(f.Letters, at) && x.Offset >= f.From && (f.To <= 0 || x.Offset < f.To) &&
		(f.Since.IsZero() || !x.FirstSeen.Before(f.Since)) &&
		(f.Until.IsZero() || !x.FirstSeen.IsZero() && x.FirstSeen.Before(f.Until))
}

func picks[T comparable](list []T, x T) bool { return len(list) == 0 || slices.Contains(list, x) }
