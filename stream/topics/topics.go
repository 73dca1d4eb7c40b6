package stream

import (
	"maps"
	"strconv"

	"liftstream/stream/txn"
)

// letterRoom is more than a dead letter has beside what it repeats of its message.
const letterRoom = 1 << 20

// TopicSpecs are the topics of a stage as they must be: events, scores, labels and state with the same number of
// partitions, state and model compacted, messages up to maxMessage bytes, dead letters with room for their headers
// beside the largest message. The names that are "" are left out.
//
// Each transaction writes to the state topic, and a restart reads what compaction has not reached: so its segments are
// small, and the markers of transactions leave after a minute instead of a day.
func TopicSpecs(t Topics, partitions, replication int, maxMessage int64) []txn.TopicSpec {
	size := map[string]string{"max.message.bytes": strconv.FormatInt(maxMessage, 10)}
	dead := map[string]string{"max.message.bytes": strconv.FormatInt(maxMessage+letterRoom, 10)}
	compact := map[string]string{"cleanup.policy": "compact", "max.message.bytes": strconv.FormatInt(maxMessage, 10)}
	state := maps.Clone(compact)
	state["segment.bytes"], state["delete.retention.ms"] = strconv.Itoa(8<<20), "60000" // the largest record is a manifest of 4 MiB
	all := []txn.TopicSpec{
		{Name: t.Events, Partitions: partitions, Replication: replication, Configs: size},
		{Name: t.Scores, Partitions: partitions, Replication: replication, Configs: size},
		{Name: t.Labels, Partitions: partitions, Replication: replication, Configs: size},
		{Name: t.State, Partitions: partitions, Replication: replication, Configs: state},
		{Name: t.Model, Partitions: 1, Replication: replication, Configs: compact},
		{Name: t.Dead, Partitions: partitions, Replication: replication, Configs: dead},
	}
	out := all[:0]
	for _, s := range all {
		if s.Name != "" {
			out = append(out, s)
		}
	}
	return out
}
