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
		name, err := scores.LastName(ctx, s.o.Client, s.o.Topics.Scores, t.id)
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

// otherTrainer returns the name of another stage that has written the newest model, "" where there is none, or the
// policy accepts it.
func (s *Stage) otherTrainer() string {
	if s.o.TopicShared {
		return ""
	}
	return scores.OtherPublisher(s.models.Headers(), s.o.Name)
}
