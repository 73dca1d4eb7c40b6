package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"liftstream/model/evaluate"
	"liftstream/stream"
	"liftstream/stream/state"
)

const (
	shownPartitions = 24 // the ones with the most messages to go
	shownVerdicts   = 8  // the newest
)

// Flow tells how the messages pass.
type Flow struct {
	Delay *Delay    `json:"delay,omitempty"` // nil = no score was committed yet
	Dead  []Counted `json:"dead"`            // dead letters of this process by reason, the most first
	// Waiting has the records that wait for their labels, by partition; empty where labels come with the events.
	Waiting map[int32]Waiting `json:"waiting,omitempty"`
}

// Delay is the time from the timestamp of an event to the commit of its score, in seconds, over the newest ones.
type Delay struct {
	Half     evaluate.Number `json:"half"`    // half of the messages take at most that
	Most     evaluate.Number `json:"most"`    // 99 of 100 take at most that
	Over     float64         `json:"seconds"` // for which these are counted
	Messages uint64          `json:"messages"`
}

// Counted is a number by a name.
type Counted struct {
	Name string  `json:"name"`
	N    float64 `json:"n"`
}

// Waiting are the records of a partition that wait for their labels.
type Waiting struct {
	Records float64 `json:"records"`
	Bytes   float64 `json:"bytes"`
	Oldest  float64 `json:"oldest_seconds"` // of stream time
}

// Remembered are the ids that the partitions of this process remember for derived features, such as count(30d).
type Remembered struct {
	IDs     int     `json:"ids"` // those of each condition counted by themselves
	Bytes   float64 `json:"bytes"`
	Evicted uint64  `json:"evicted"` // they are new when they come again, since memory.recency was full
}

// rememberedOf adds up the partitions, nil where none remembers ids.
func rememberedOf(all []stream.PartitionStatus) (out *Remembered) {
	for i := range all {
		kept := all[i].Recency
		if kept == nil {
			continue
		}
		if out == nil {
			out = &Remembered{}
		}
		out.IDs, out.Bytes, out.Evicted = out.IDs+kept.IDs, out.Bytes+float64(kept.Bytes), out.Evicted+kept.Evicted
	}
	return out
}

// Partition is the place of a partition in its work.
type Partition struct {
	Partition int32    `json:"partition"`
	Doing     string   `json:"doing"`
	Offset    int64    `json:"offset"`
	Behind    int64    `json:"behind"` // messages
	Scored    uint64   `json:"scored"`
	Learnt    float64  `json:"labels_learnt"`
	Model     int64    `json:"model"`
	Waiting   *Waiting `json:"waiting,omitempty"`
}

// partitionsOf are the shown ones in their order, and the number of all.
func partitionsOf(all []stream.PartitionStatus, waiting map[int32]Waiting) (out []Partition, of int) {
	out = make([]Partition, 0, len(all))
	for i := range all {
		p := &all[i]
		x := Partition{Partition: p.Partition, Doing: cmp.Or(p.Doing, p.Phase.String()), Offset: p.Offset,
			Behind: max(p.End-p.Offset, 0), Scored: p.Scored, Learnt: p.Labelled, Model: p.Model}
		if w, ok := waiting[p.Partition]; ok {
			x.Waiting = &w
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b Partition) int { return cmp.Compare(b.Behind, a.Behind) })
	out = out[:min(len(out), shownPartitions)]
	slices.SortFunc(out, func(a, b Partition) int { return cmp.Compare(a.Partition, b.Partition) })
	return out, len(all)
}

// verdictsOf are the newest ones, the last first.
func verdictsOf(all []*state.GateVerdict) []Gate {
	out := []Gate{}
	for i := len(all) - 1; i >= 0 && len(out) < shownVerdicts; i-- {
		out = append(out, *gateOf(all[i]))
	}
	return out
}

// duration writes seconds in the unit that suits them, such as 12 ms or 3.5 h.
func duration[F ~float64](seconds F) string {
	s := float64(seconds)
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return "–"
	case s < 1:
		return fmt.Sprintf("%.0f ms", 1000*s)
	case s < 120:
		return fmt.Sprintf("%.3g s", s)
	case s < 7200:
		return fmt.Sprintf("%.0f min", s/60)
	case s < 172800:
		return fmt.Sprintf("%.1f h", s/3600)
	}
	return fmt.Sprintf("%.0f days", s/86400)
}

// size writes bytes in the unit that suits them.
func size(bytes float64) string {
	unit := 0
	for bytes >= 1024 && unit < 4 {
		bytes, unit = bytes/1024, unit+1
	}
	return fmt.Sprintf("%.3g %s", bytes, []string{"B", "KiB", "MiB", "GiB", "TiB"}[unit])
}
