package stream

import (
	"context"
	"math"
	"strconv"
	"testing"
	"time"

	"liftstream/stream/scores"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestTimestampsThatTheScoresTopicRefuses: Kafka 4 refuses times of more than an hour ahead, unless the topic says
// otherwise. The events are scored all the same, the others have their own times, and a replay gives the same.
func TestTimestampsThatTheScoresTopicRefuses(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		for name, configs := range map[string]map[string]string{
			"the producer's time": {"message.timestamp.after.max.ms": strconv.FormatInt(math.MaxInt64, 10)},
			"the broker's time":   {"message.timestamp.type": "LogAppendTime"},
		} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, addr, 1)
				w.Topics.Events += "-timed"
				w.Topics.Scores += "-timed"
				specs := []txn.TopicSpec{{Name: w.Topics.Events, Partitions: 1, Replication: 1, Configs: configs},
					{Name: w.Topics.Scores, Partitions: 1, Replication: 1,
						Configs: map[string]string{"message.timestamp.after.max.ms": "3600000"}}}
				if _, err := w.Client.CreateTopics(context.Background(), specs...); err != nil {
					t.Fatal(err)
				}
				began := time.Now().Add(-time.Second).Truncate(time.Millisecond)
				ahead := began.Add(30 * 24 * time.Hour)
				w.Produce(20, 10, true)
				send := func(value []byte) {
					if err := w.Client.Produce(context.Background(), []txn.Record{{Topic: w.Topics.Events, Time: ahead,
						Value: value}}, txn.None); err != nil {
						t.Fatal(err)
					}
				}
				send(w.Message(0, 20, 10, true))
				send([]byte("no message"))
				w.Next[0] += 10
				w.Produce(10, 10, true)
				o := w.options(w.Client)
				r := w.run(o)
				w.caught(r)
				r.end(t)
				w.ExactlyOnce()
				for i, s := range w.Records(w.Topics.Scores, 0) {
					event := w.Records(w.Topics.Events, 0)
					of, _ := scores.EventOf(&s)
					if got := scores.TimeOf(&s); !got.Equal(event[of].Time) {
						t.Errorf("scores message %d: time %v, of its event %v", i, got, event[of].Time)
					}
					if s.Time.After(time.Now().Add(time.Hour)) || s.Time.After(began) != (name == "the broker's time" || i == 2) {
						t.Errorf("scores message %d: time %v", i, s.Time)
					}
				}
				if n := len(w.Records(w.Topics.Dead, 0)); n != 1 {
					t.Errorf("%d letters", n)
				}
				agrees(t, o)
			})
		}
	})
}
