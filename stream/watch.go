package stream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"liftstream/stream/scores"
	"liftstream/stream/topics"
)

// looks is the number of looks at a topic for which another stage that was seen there is shown: the newest record is
// now the one's, now the other's.
const looks = 6

// watch looks at the topics again and again while a stage works.
type watch struct {
	s    *Stage
	seen map[string]int // stages that write into the same topics, in words, and for how many looks each is still shown
	ends map[int]growth // of each partition, when its scores were read last
}

// growth is the end of a partition of scores, and how many offsets its task had taken then or before.
type growth struct {
	t          *task
	end, grown int64
}

// countAnswers counts the offsets that a transaction takes in the scores topic.
func (t *task) countAnswers(x *transaction) {
	n := int64(0)
	for i := range x.records {
		if x.records[i].Topic == t.s.o.Topics.Scores {
			n++
		}
	}
	if n > 0 {
		t.grown.Add(n + 1)
	}
}

// run works until ctx ends.
func (w *watch) run(ctx context.Context, fail context.CancelCauseFunc) {
	s := w.s
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.o.Patience / 30):
		}
		if err := w.partitions(ctx); err != nil {
			s.o.Metrics.Policies.WithLabelValues("partitions_added", "fail").Inc()
			fail(err)
			return
		}
		w.writers(ctx)
	}
}

// partitions returns an error when a topic that the stage reads has got more partitions: nobody would read them.
func (w *watch) partitions(ctx context.Context) error {
	s := w.s
	for _, topic := range []string{s.o.Topics.Events, s.o.Topics.Labels} {
		if topic == "" {
			continue
		}
		if n, err := s.o.Client.Partitions(ctx, topic); err == nil && n != s.partitions {
			return &topics.MismatchError{Problem: fmt.Sprintf("topic %s had %d partitions and has %d now: "+
				"give the topics of events, scores, labels and state as many, then start again",
				topic, s.partitions, n)}
		}
	}
	return nil
}

// writers notes the stages of other names that have begun to write into the topic of scores or models since this one
// started, as two stages that start at once on empty topics do. A start refuses it (policy.topic_shared); a stage that
// works goes on and is not ready: a wrong newcomer must not end it.
func (w *watch) writers(ctx context.Context) {
	s := w.s
	if s.o.TopicShared {
		return
	}
	for text := range w.seen {
		if w.seen[text]--; w.seen[text] <= 0 {
			delete(w.seen, text)
		}
	}
	note := func(where, other, topic string) {
		if other == "" {
			return
		}
		text := fmt.Sprintf("%s: the stage %s writes into the topic %s too: give each stage a topic of its own, or set "+
			"policy.topic_shared to accept", where, other, topic)
		if w.seen[text] == 0 {
			s.o.Log.Warn("another stage writes into the same topic", zap.String("topic", topic), zap.String("stage", other))
		}
		w.seen[text] = looks
	}
	s.mu.Lock()
	tasks := slices.Clone(s.tasks)
	s.mu.Unlock()
	for _, t := range tasks {
		name, err := w.strange(ctx, t)
		if err != nil {
			s.o.Log.Debug("looking for the scores of another stage", zap.Error(err))
			continue
		}
		if name != s.o.Name {
			note(fmt.Sprintf("partition %d", t.id), name, s.o.Topics.Scores)
		}
	}
	note("models", s.otherTrainer(), s.o.Topics.Model)
	s.mu.Lock()
	s.shared = slices.Sorted(maps.Keys(w.seen))
	s.mu.Unlock()
}

// strange returns the name in the newest scores of a partition where they have grown by more than its task has written,
// "" where not: scores are large, and are not read to no purpose. Aborted transactions make them grow, too.
func (w *watch) strange(ctx context.Context, t *task) (string, error) {
	client, topic := w.s.o.Client, w.s.o.Topics.Scores
	before := t.grown.Load()
	_, end, err := client.Bounds(ctx, topic, t.id)
	if err != nil {
		return "", fmt.Errorf("looking at the end of the scores: %w", err)
	}
	last, known := w.ends[t.id]
	if known && last.t == t && end-last.end <= t.grown.Load()-last.grown {
		return "", nil
	}
	w.ends[t.id] = growth{t, end, before}
	if !known || last.t != t {
		return "", nil
	}
	return scores.LastName(ctx, client, topic, t.id)
}

// otherTrainer returns the name of another stage that has written the newest model, "" where there is none, or the
// policy accepts it.
func (s *Stage) otherTrainer() string {
	if s.o.TopicShared {
		return ""
	}
	return scores.OtherPublisher(s.models.Headers(), s.o.Name)
}
