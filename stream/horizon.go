package stream

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"liftstream/stream/txn"
)

// heldLoud is how long an open transaction of another program may hold events back before the log says so.
const heldLoud = time.Minute

// horizon is the end of the events of a partition, as the last answer of the broker told it. The reader writes it, and
// the pipeline says how far it is.
type horizon struct {
	mu     sync.Mutex
	high   int64     // one past the last event of all
	stable int64     // one past the last event that can be read: an open transaction lies there where it is below high
	next   int64     // event to be processed next
	since  time.Time // since when stable stands where it is, below high; zero = it is not below
	loud   bool      // the log has told
	heard  bool      // there was an answer
}

// Held says that an open transaction of another program keeps events from being read.
type Held struct {
	LastStable    int64 // first event that cannot be read
	HighWatermark int64 // one past the last one
	Since         time.Time
	Seconds       float64
}

// see takes note of an answer of the broker.
func (h *horizon) see(high, stable int64, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case stable >= high:
		h.since = time.Time{}
	case h.since.IsZero() || stable != h.stable:
		h.since = now
	}
	h.high, h.stable, h.heard = high, stable, true
}

// reach says which event is to be processed next.
func (h *horizon) reach(next int64) {
	h.mu.Lock()
	h.next = next
	h.mu.Unlock()
}

// forget begins anew with the position of a task that has taken its partition over.
func (h *horizon) forget(next int64) {
	h.mu.Lock()
	h.high, h.stable, h.next, h.since, h.heard = next, next, next, time.Time{}, false
	h.mu.Unlock()
}

// lag is the number of offsets between the next event and the high watermark.
func (h *horizon) lag() int64 { return max(h.high-h.next, 0) }

// held returns since when the events behind the next one are held back, nil where they are not.
func (h *horizon) held(now time.Time) *Held {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return nil
	}
	return &Held{h.stable, h.high, h.since, now.Sub(h.since).Seconds()}
}

// over reports whether all events that can be read are processed and the others have been held back for so long.
func (h *horizon) over(now time.Time, longest time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.since.IsZero() && h.next >= h.stable && now.Sub(h.since) >= longest
}

// String is the sentence about held events.
func (h *Held) String() string { return h.of("events") }

func (h *Held) of(stage string) string {
	return fmt.Sprintf("an open transaction of another program has held back the %s from offset %d to %d for %v",
		stage, h.LastStable, h.HighWatermark-1, time.Duration(h.Seconds*float64(time.Second)).Round(time.Second))
}

// seeEvents takes note of an answer about events, and of an open transaction that holds some back.
func (t *task) seeEvents(_ context.Context, f *fetched) {
	t.heard.events.Store(true)
	t.horizon.see(f.HighWatermark, f.LastStable, t.s.o.Now())
	t.horizon.show(t)
}

// seeLabels notes how far the events topic goes, after the labels were read: the records of these labels that are in it
// lie below. While its leader is away, the labels wait.
func (t *task) seeLabels(ctx context.Context, f *fetched) {
	t.heard.labels.Store(true)
	t.labelsHorizon.see(f.HighWatermark, f.LastStable, t.s.o.Now())
	if len(f.Records) == 0 {
		return
	}
	for {
		high, err := t.s.o.Client.ListOffsets(ctx, t.s.o.Topics.Events, []int{t.id}, txn.HighWatermark)
		if err == nil {
			f.events = high[t.id]
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// show brings the board of the task and its log up to date.
func (h *horizon) show(t *task) {
	now := t.s.o.Now()
	held := h.held(now)
	h.mu.Lock()
	lag, end, loud := h.lag(), h.high, h.loud
	h.loud = held != nil && (loud || held.Seconds >= heldLoud.Seconds())
	told := h.loud
	h.mu.Unlock()
	t.board.reaches(end, lag, held)
	switch {
	case told && !loud:
		t.log.Warn("an open transaction of another program holds events back; 'kafka-transactions.sh find-hanging' names "+
			"one that nobody will end", zap.Int64("last_stable_offset", held.LastStable),
			zap.Int64("high_watermark", held.HighWatermark), zap.Duration("for", now.Sub(held.Since)))
	case loud && !told:
		t.log.Info("events are held back no longer", zap.Int64("offset", end))
	}
}
