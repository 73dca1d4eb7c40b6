package stream

import (
	"strconv"

	"liftstream/stream/txn"
)

// TopicSpecs are the topics of a stage as they must be: events, scores, labels and state with the same number of
// partitions, state and model compacted, messages up to maxMessage bytes. The names that are "" are left out.
func TopicSpecs(t Topics, partitions, replication int, maxMessage int64) []txn.TopicSpec {
	size := map[string]string{"max.message.bytes": strconv.FormatInt(maxMessage, 10)}
	compact := map[string]string{"cleanup.policy": "compact", "max.message.bytes": strconv.FormatInt(maxMessage, 10)}
	all := []txn.TopicSpec{
		{Name: t.Events, Partitions: partitions, Replication: replication, Configs: size},
		{Name: t.Scores, Partitions: partitions, Replication: replication, Configs: size},
		{Name: t.Labels, Partitions: partitions, Replication: replication, Configs: size},
		{Name: t.State, Partitions: partitions, Replication: replication, Configs: compact},
		{Name: t.Model, Partitions: 1, Replication: replication, Configs: compact},
		{Name: t.Dead, Partitions: partitions, Replication: replication, Configs: size},
	}
	out := all[:0]
	for _, s := range all {
		if s.Name != "" {
			out = append(out, s)
		}
	}
	return out
}
