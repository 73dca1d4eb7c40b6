package stream

import (
	"context"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"liftstream/stream/deadletter"
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
				w.Topics.Dead += "-timed"
				stamped := name == "the broker's time" && strings.Contains(t.Name(), "/real/")
				specs := []txn.TopicSpec{{Name: w.Topics.Events, Partitions: 1, Replication: 1, Configs: configs},
					{Name: w.Topics.Scores, Partitions: 1, Replication: 1,
						Configs: map[string]string{"message.timestamp.after.max.ms": "3600000"}},
					{Name: w.Topics.Dead, Partitions: 1, Replication: 1, Configs: map[string]string{
						"message.timestamp.after.max.ms": "3600000", "message.timestamp.before.max.ms": "3600000"}}}
				if _, err := w.Client.CreateTopics(context.Background(), specs...); err != nil {
					t.Fatal(err)
				}
				began := time.Now().Add(-time.Second).Truncate(time.Millisecond)
				ahead := began.Add(30 * 24 * time.Hour)
				w.Produce(20, 10, true)
				send := func(value []byte, at time.Time) {
					if err := w.Client.Produce(context.Background(), []txn.Record{{Topic: w.Topics.Events, Time: at,
						Value: value}}, txn.None); err != nil {
						t.Fatal(err)
					}
				}
				send(w.Message(0, 20, 10, true), ahead)
				send([]byte("no message"), ahead)
				send([]byte("no message"), time.UnixMilli(1_700_000_000_000))
				w.Next[0] += 10
				w.Produce(10, 10, true)
				o := w.options(w.Client)
				r := w.run(o)
				w.caught(r)
				r.end(t)
				w.ExactlyOnce()
				events, now := w.Records(w.Topics.Events, 0), time.Now()
				for i, s := range w.Records(w.Topics.Scores, 0) {
					of, _ := scores.EventOf(&s)
					at := events[of].Time
					if got := scores.TimeOf(&s); !got.Equal(at) {
						t.Errorf("scores message %d: time %v, of its event %v", i, got, at)
					}
					if refused := at.Sub(now) > time.Hour; !refused && !s.Time.Equal(at) ||
						refused && (s.Time.Before(began) || s.Time.After(now)) {
						t.Errorf("scores message %d: time %v, of its event %v", i, s.Time, at)
					}
					// The embedded broker stamps nothing.
					if stamped && (at.Before(began) || at.After(now)) {
						t.Errorf("event %d: time %v", of, at)
					}
				}
				letters := w.Records(w.Topics.Dead, 0)
				if len(letters) != 2 {
					t.Errorf("%d letters", len(letters))
				}
				for _, l := range letters {
					x, ok := deadletter.ReadReport(&l)
					if !ok || !x.Timed || !x.Time.Equal(events[x.Offset].Time) || l.Time.Before(began) || l.Time.After(now) {
						t.Errorf("a letter of time %v says %v, its message has %v", l.Time, x.Time, events[x.Offset].Time)
					}
				}
				agrees(t, o)
			})
		}
	})
}
