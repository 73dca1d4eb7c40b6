package stream

import (
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"liftstream/codec"
	"liftstream/model"
)

// board shows where a partition stands, as status and as metrics. Its task alone writes it; everybody may read it.
type board struct {
	o   *Options
	id  string // label of the metrics
	log *zap.Logger

	mu      sync.Mutex
	status  PartitionStatus
	message message

	told   model.Losses // of the state, as far as the metric has them
	closed uint64       // model.ExpiryLearnt, likewise
	sifted model.Sifted // likewise
	gone   uint64       // model.Kept.Evicted, likewise
	warned bool         // of a label that is no class
	full   bool         // warned of records that were evicted
	watch  watched
	ages   ages // under mu
}

// begin shows a partition that nobody has taken over yet.
func (b *board) begin(o *Options, partition int, log *zap.Logger) {
	b.o, b.id, b.log = o, strconv.Itoa(partition), log
	b.status = PartitionStatus{Partition: int32(partition), Offset: -1}
	b.ages.labelled = -1
	b.phase(TakingOver, "")
}

// read returns the status.
func (b *board) read() PartitionStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.status
	p.Message = b.message.long(b.o.Now())
	return p
}

// phase shows where the task is in its work.
func (b *board) phase(p Phase, detail string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.status.Phase, b.status.Doing = p, p.String(); detail != "" {
		b.status.Doing += ": " + detail
	}
}

// works shows the message that is worked on.
func (b *board) works(m message) {
	b.mu.Lock()
	b.message = m
	b.mu.Unlock()
}

// row shows the next row of that message.
func (b *board) row(n int) {
	b.mu.Lock()
	b.message.row = n
	b.mu.Unlock()
}

// scored counts scores.
func (b *board) scored(c *tally) {
	m := b.o.Metrics
	for s, n := range c.by {
		if n > 0 {
			m.Records.WithLabelValues(model.Status(s).String()).Add(float64(n))
		}
	}
	m.Reasons.WithLabelValues("follows").Add(float64(c.all - c.against))
	m.Reasons.WithLabelValues("conflicts").Add(float64(c.against))
	b.mu.Lock()
	b.status.Scored += uint64(c.rows)
	b.mu.Unlock()
}

// changed counts changed values.
func (b *board) changed(c codec.Changes) {
	c.Each(func(kind string, n int) {
		if n > 0 {
			b.o.Metrics.Changed.WithLabelValues(kind).Add(float64(n))
		}
	})
}

// learnt counts the labels of a message.
func (b *board) learnt(c model.LabelCounts) {
	for outcome, n := range map[string]int{
		"learnt": c.Learnt, "waiting": c.Waiting, "corrected": c.Corrected, "repeated": c.Repeated, "unmatched": c.Unmatched,
		"misrouted": c.Misrouted, "unknown": c.Unknown, "learning_off": c.Still,
	} {
		if n > 0 {
			b.o.Metrics.Labels.WithLabelValues(outcome).Add(float64(n))
		}
	}
}

// died counts a dead letter.
func (b *board) died(reason codec.Reason) {
	b.o.Metrics.Dead.WithLabelValues(string(reason)).Inc()
	b.mu.Lock()
	b.status.Dead++
	b.mu.Unlock()
}

// reaches shows how far the events topic goes and how far the task is behind.
func (b *board) reaches(end, lag int64, held *Held) {
	m := b.o.Metrics
	m.Lag.WithLabelValues(b.id).Set(float64(lag))
	var seconds, messages float64
	if held != nil {
		seconds, messages = held.Seconds, float64(held.HighWatermark-held.LastStable)
	}
	m.HeldSeconds.WithLabelValues(b.id).Set(seconds)
	m.HeldMessages.WithLabelValues(b.id).Set(messages)
	b.mu.Lock()
	b.status.End, b.status.Held = end, held
	b.mu.Unlock()
}

// inherit takes the losses and alarms of a restored state for told: a former owner has counted them.
func (b *board) inherit(p *model.Partition) {
	b.told, b.sifted, b.closed = p.Losses(), p.Sieve.Sifted(), model.ExpiryLearnt(p)
	b.gone = p.Recency.Kept().Evicted
	b.watch.inherit(p)
}

// report brings metrics and status up to the last committed transaction, at whose end the state stood so.
func (b *board) report(t *task, now *standing) {
	m, lost := b.o.Metrics, now.losses
	m.Losses.WithLabelValues("unknown_class").Add(float64(lost.UnknownClass - b.told.UnknownClass))
	m.Losses.WithLabelValues("expired").Add(float64(lost.Expired - b.told.Expired))
	m.Losses.WithLabelValues("evicted").Add(float64(lost.Evicted - b.told.Evicted))
	m.Thinned.Add(float64(lost.Thinned - b.told.Thinned))
	if lost.Evicted > b.told.Evicted && !b.full {
		b.full = true
		b.log.Warn("records leave unlearnt before labels.window is over, because labels.max_bytes is full "+
			"(losses_total, evicted)", zap.Uint64("evicted", lost.Evicted))
	}
	if lost.UnknownClass > b.told.UnknownClass && !b.warned {
		b.warned = true
		b.log.Warn("a label is no class of the configuration; such records are scored and not learnt (losses_total)",
			zap.String("label", now.unknown), zap.Strings("classes", b.o.Spec.Schema.Classes))
	}
	m.ExpiryLearnt.Add(float64(now.closed - b.closed))
	b.told, b.closed = lost, now.closed
	m.Duplicates.WithLabelValues("left_out").Add(float64(now.sifted.Duplicates - b.sifted.Duplicates))
	m.Duplicates.WithLabelValues("forgotten").Add(float64(now.sifted.Forgotten - b.sifted.Forgotten))
	b.sifted = now.sifted
	if t.m.Part.Recency != nil {
		b.remembers(now.recency)
	}
	m.Waiting.WithLabelValues(b.id).Set(float64(now.waits.Bytes))
	m.WaitRecords.WithLabelValues(b.id).Set(float64(now.waits.Records))
	m.WaitOldest.WithLabelValues(b.id).Set(time.Duration(now.waits.Oldest).Seconds())
	t.windows.publish(t)
	b.alarmed(now)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status.Offset, b.status.Model = t.committed.Events, t.committed.Model
	b.status.UnknownClass, b.status.Expired = lost.UnknownClass, lost.Expired
	b.status.Labelled, b.status.Trained = now.labelled, now.trained
	b.ageing(t, now.labelled)
}

// remembers shows the ids that are remembered for former records.
func (b *board) remembers(kept model.Kept) {
	b.o.Metrics.RecencyIDs.WithLabelValues(b.id).Set(float64(kept.IDs))
	b.o.Metrics.RecencyBytes.WithLabelValues(b.id).Set(float64(kept.Bytes))
	b.o.Metrics.Evicted.Add(float64(kept.Evicted - b.gone))
	if b.gone == 0 && kept.Evicted > 0 {
		b.log.Warn("ids are forgotten because memory.recency is full: they are new when they come again "+
			"(recency_evicted_total)", zap.Uint64("evicted", kept.Evicted), zap.Int("ids", kept.IDs))
	}
	b.gone = kept.Evicted
	b.mu.Lock()
	b.status.Recency = &kept
	b.mu.Unlock()
}
