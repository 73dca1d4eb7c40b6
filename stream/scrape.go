package stream

import (
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"liftstream/stream/state"
)

// ages are the times and sizes of a partition of which a scrape makes gauges: an age grows while nothing happens, so no
// task could set it. They lie under the mutex of the board.
type ages struct {
	oldest   time.Time // of the oldest event that was read and is not committed, by its message; zero = none
	learnt   time.Time // when a label was learnt last
	labelled float64   // records that the state has learnt; below 0 = nobody knows yet
	events   int64     // messages that a takeover has still to replay
	labels   int64
	state    int64 // packed bytes of the newest complete snapshot
}

// waits shows the oldest message that is read and not committed.
func (b *board) waits(oldest time.Time) {
	b.mu.Lock()
	b.ages.oldest = oldest
	b.mu.Unlock()
}

// restores shows how many messages of a topic a takeover has still to replay.
func (b *board) restores(topic string, messages int64) {
	b.mu.Lock()
	if topic == b.o.Topics.Labels {
		b.ages.labels = messages
	} else {
		b.ages.events = messages
	}
	b.mu.Unlock()
}

// restored shows that a takeover has replayed everything.
func (b *board) restored() {
	b.mu.Lock()
	b.ages.events, b.ages.labels, b.ages.oldest = 0, 0, time.Time{}
	b.mu.Unlock()
}

// ageing brings the ages up to the last committed transaction. It must hold the mutex of the board.
func (b *board) ageing(t *task, labelled float64) {
	a := &b.ages
	if a.labelled >= 0 && labelled > a.labelled {
		a.learnt = b.o.Now()
	}
	a.labelled = labelled
	if last := t.snap.Last; last != nil {
		a.state = 0
		for _, s := range last.Sections {
			a.state += int64(s.Packed)
		}
	}
}

// oldest is the time of the first message that is read and not committed, zero where there is none.
func (p *pipeline) oldest() time.Time {
	for _, x := range []*transaction{p.committing, p.filling} {
		if x != nil && len(x.answers) > 0 {
			return x.answers[0]
		}
	}
	if len(p.current.Records) > 0 {
		return p.current.Records[0].Time
	}
	return time.Time{}
}

// observe counts the time from each event of a committed transaction to its score.
func (m *Metrics) observe(answers []time.Time, now time.Time) {
	for _, at := range answers {
		if !at.IsZero() {
			m.Latency.Observe(max(now.Sub(at), 0).Seconds())
		}
	}
}

// distance is the number of offsets from the next message to the last stable offset and to the high watermark, and the
// time for which an open transaction has held the messages between those two back. ok is false before the first answer
// of the broker.
func (h *horizon) distance(now time.Time) (stable, high int64, held time.Duration, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.since.IsZero() {
		held = now.Sub(h.since)
	}
	return max(h.stable-h.next, 0), h.lag(), held, h.heard
}

// figures are the gauges of a stage that are made when they are asked for.
type figures struct {
	s *Stage

	partitions, running, restore, stable, seconds, stableSeconds *prometheus.Desc
	labelsLag, labelsHeld, labelled, learnt, state               *prometheus.Desc
	published, verdict                                           *prometheus.Desc
}

// Collector returns the gauges of a stage that a scrape makes: lags, ages, sizes. Metrics has the others. It may be
// asked at any time, also before Stage.Run, and tells of the partitions that the process owns then.
func Collector(s *Stage) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("liftstream_"+name, help, labels, nil)
	}
	return &figures{
		s: s,
		partitions: desc("topic_partitions", "Partitions of the events topic; absent until the stage has asked. Each has "+
			"a liftstream_partition_running in one process of the stage."),
		running: desc("partition_running", "1 while an owned partition scores; 0 while it is taken over, waits, is paused "+
			"or drains.", "partition"),
		restore: desc("restore_remaining_messages", "Messages that the takeover of a partition has still to replay; 0 = it "+
			"has ended.", "partition", "topic"),
		stable: desc("lag_stable_messages", "Messages between the next event and the last stable offset of the events "+
			"topic: those that can be read. lag_messages counts the others, too.", "partition"),
		seconds: desc("lag_seconds", "Age of the oldest event that is in the topic and has no committed score, by the "+
			"timestamp of its message; of events behind an open transaction, the time for which it has held them.",
			"partition"),
		stableSeconds: desc("lag_stable_seconds", "Age of the oldest event that can be read and has no committed score, by "+
			"the timestamp of its message; 0 = there is none.", "partition"),
		labelsLag: desc("labels_lag_messages", "Messages between the next label to be learnt and the high watermark of the "+
			"labels topic. A label waits until its events are processed.", "partition"),
		labelsHeld: desc("labels_held_seconds", "How long an open transaction of another program has held labels back, at "+
			"its last stable offset; 0 = there is none.", "partition"),
		labelled: desc("labelled_records", "Labelled records that the state of a partition has learnt.", "partition"),
		learnt: desc("last_label_timestamp_seconds", "When this process has learnt the last label of a partition, in Unix "+
			"time; absent before the first.", "partition"),
		state: desc("state_bytes", "Packed bytes of the newest complete snapshot of a partition.", "partition"),
		published: desc("model_timestamp_seconds", "When the serving model was published, in Unix time; absent before the "+
			"first."),
		verdict: desc("verdict_timestamp_seconds", "When the gate gave its last verdict, on a model of any process, in Unix "+
			"time; absent before the first."),
	}
}

// Describe is that of a prometheus.Collector.
func (f *figures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{f.partitions, f.running, f.restore, f.stable, f.seconds, f.stableSeconds,
		f.labelsLag, f.labelsHeld, f.labelled, f.learnt, f.state, f.published, f.verdict} {
		ch <- d
	}
}

// Collect is that of a prometheus.Collector.
func (f *figures) Collect(ch chan<- prometheus.Metric) {
	s := f.s
	s.mu.Lock()
	tasks, partitions := slices.Clone(s.tasks), s.shownPartitions
	s.mu.Unlock()
	send := func(d *prometheus.Desc, x float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, x, labels...)
	}
	if partitions > 0 {
		send(f.partitions, float64(partitions))
	}
	for _, t := range tasks {
		f.partition(send, t)
	}
	if at := state.PublishedAt(s.models, s.models.Serves().Version); !at.IsZero() {
		send(f.published, unix(at))
	}
	if v := s.models.Verdict(); v != nil && !v.Time.IsZero() {
		send(f.verdict, unix(v.Time))
	}
}

// partition sends the gauges of one partition.
func (f *figures) partition(send func(*prometheus.Desc, float64, ...string), t *task) {
	id, now := strconv.Itoa(t.id), f.s.o.Now()
	t.board.mu.Lock()
	a, phase := t.board.ages, t.board.status.Phase
	t.board.mu.Unlock()
	running := 0.
	if phase == Running {
		running = 1
	}
	send(f.running, running, id)
	send(f.restore, float64(a.events), id, "events")
	if stable, _, held, ok := t.horizon.distance(now); ok {
		var age time.Duration
		if !a.oldest.IsZero() {
			age = max(now.Sub(a.oldest), 0)
		}
		send(f.stable, float64(stable), id)
		send(f.stableSeconds, age.Seconds(), id)
		send(f.seconds, max(age, held).Seconds(), id)
	}
	if f.s.o.Topics.Labels != "" {
		send(f.restore, float64(a.labels), id, "labels")
		if _, high, held, ok := t.labelsHorizon.distance(now); ok {
			send(f.labelsLag, float64(high), id)
			send(f.labelsHeld, held.Seconds(), id)
		}
	}
	if a.labelled >= 0 {
		send(f.labelled, a.labelled, id)
		send(f.state, float64(a.state), id)
	}
	if !a.learnt.IsZero() {
		send(f.learnt, unix(a.learnt), id)
	}
}

// unix is a time in seconds since 1970.
func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
