package stream

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/committed"
	"liftstream/stream/deadletter"
	"liftstream/stream/internal/sample"
	"liftstream/stream/replay"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// idleTask is a task with an empty state, at a stage that does not run. Nothing of it reaches a broker.
func idleTask(t *testing.T, change func(o *Options)) *task {
	t.Helper()
	o := Options{Name: "s", Spec: sample.Spec(), Metrics: NewMetrics(prometheus.NewRegistry()), Log: zap.NewNop(),
		Now: func() time.Time { return time.Unix(1000, 0) }, FitEvery: time.Minute, FitRecords: 1000,
		Topics: topics.Names{Events: "e", Scores: "sc", Labels: "l", State: "st", Model: "m", Dead: "d"}}
	if change != nil {
		change(&o)
	}
	s := New(o)
	s.partitions = 1
	x := newTask(s, &txn.Generation{ID: 4}, 0)
	x.m, x.snap = &replay.Machine{Part: model.NewPartition(o.Spec, 0)}, state.NewSnapshotter()
	return x
}

// labels reads a metric of any labels: their values, joined by a slash, without the counters that are 0.
func labels(c prometheus.Collector) map[string]float64 {
	out, metrics := map[string]float64{}, make(chan prometheus.Metric, 100)
	c.Collect(metrics)
	close(metrics)
	for x := range metrics {
		var m dto.Metric
		if x.Write(&m) != nil || idle(&m) {
			continue
		}
		var names []string
		for _, l := range m.GetLabel() {
			names = append(names, l.GetValue())
		}
		out[strings.Join(names, "/")] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return out
}

// TestTheBoardCountsEachOutcomeByItsName.
func TestTheBoardCountsEachOutcomeByItsName(t *testing.T) {
	x := idleTask(t, nil)
	b, m := &x.board, x.s.o.Metrics
	for range 2 {
		b.learnt(model.LabelCounts{Learnt: 1, Corrected: 2, Repeated: 3, Unmatched: 4, Misrouted: 5, Unknown: 6,
			Still: 7, Waiting: 8})
		b.scored(&tally{rows: 10, by: [3]int{1, 2, 7}, all: 9, against: 4})
		b.changed(codec.Changes{})
		b.died(codec.ReasonDamaged)
	}
	b.died(codec.ReasonSkipped)
	for _, c := range []struct {
		name   string
		metric prometheus.Collector
		want   map[string]float64
	}{
		{"labels", m.Labels, map[string]float64{"learnt": 2, "corrected": 4, "repeated": 6, "unmatched": 8, "misrouted": 10,
			"unknown": 12, "learning_off": 14, "waiting": 16}},
		{"records", m.Records, map[string]float64{"ok": 2, "untrained": 4, "degraded": 14}},
		{"reasons", m.Reasons, map[string]float64{"follows": 10, "conflicts": 8}},
		{"changed values", m.Changed, map[string]float64{}},
		{"dead letters", m.Dead, map[string]float64{string(codec.ReasonDamaged): 2, string(codec.ReasonSkipped): 1}},
	} {
		if got := labels(c.metric); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if p := b.read(); p.Scored != 20 || p.Dead != 3 {
		t.Errorf("%d scored, %d dead", p.Scored, p.Dead)
	}
	for _, c := range []struct {
		end, lag          int64
		held              *Held
		seconds, messages float64
	}{{100, 7, &Held{LastStable: 60, HighWatermark: 100, Seconds: 3}, 3, 40}, {120, 0, nil, 0, 0}} {
		b.reaches(c.end, c.lag, c.held)
		p := b.read()
		got := []float64{labels(m.Lag)["0"], labels(m.HeldSeconds)["0"], labels(m.HeldMessages)["0"], float64(p.End)}
		if want := []float64{float64(c.lag), c.seconds, c.messages, float64(c.end)}; !slices.Equal(got, want) ||
			p.Held != c.held {
			t.Errorf("lag, seconds, messages and end %v, want %v; held %v", got, want, p.Held)
		}
	}
}

// lossy are the options of a stage that has little room.
func lossy(o *Options) {
	spec := *o.Spec
	spec.Options.WaitBytes = 20_000
	spec.Options.DedupWindow, spec.Options.DedupBytes = int64(time.Hour), 2000
	o.Spec = &spec
}

// lose gives a partition records that it loses in each way.
func lose(p *model.Partition, from int) {
	b := sample.Records(from, 600)
	for i := range b.Label {
		b.ID, b.Row = append(b.ID, streamtest.RecordID(0, from+i/2)), append(b.Row, int32(i)) // each id twice
		if b.Label[i] = model.Unlabelled; i%3 == 0 {
			b.Label[i] = model.UnknownClass
		}
	}
	p.Sieve.Sift(b)
	var s model.Scores
	p.Events(b, &s)
}

// lossesTold are the losses that the metrics have, and lossesOf those of a partition.
func lossesTold(m *Metrics) []float64 {
	return []float64{labels(m.Losses)["unknown_class"], labels(m.Losses)["evicted"], labels(m.Duplicates)["left_out"],
		labels(m.Duplicates)["forgotten"]}
}

func lossesOf(p *model.Partition) []float64 {
	a, b := p.Losses(), p.Sieve.Sifted()
	return []float64{float64(a.UnknownClass), float64(a.Evicted), float64(b.Duplicates), float64(b.Forgotten)}
}

// TestLossesOfAStateAreToldOnce: by the owner under which they came; the status tells all of the state.
func TestLossesOfAStateAreToldOnce(t *testing.T) {
	x := idleTask(t, lossy)
	m := x.s.o.Metrics
	for from := range 2 {
		lose(x.m.Part, 1000*from)
		for range 2 {
			shown(x)
		}
		if got, want := lossesTold(m), lossesOf(x.m.Part); !slices.Equal(got, want) || slices.Contains(got, 0) {
			t.Errorf("unknown, evicted, left out and forgotten: %v told, want %v", got, want)
		}
		if w := labels(m.Waiting)["0"]; w != float64(x.m.Part.Waiting()) || w == 0 {
			t.Errorf("%v bytes wait, want %d", w, x.m.Part.Waiting())
		}
		waits := model.WaitsOf(x.m.Part)
		if n := labels(m.WaitRecords)["0"]; n != float64(waits.Records) || n == 0 {
			t.Errorf("%v records wait, want %d", n, waits.Records)
		}
		if s := labels(m.WaitOldest)["0"]; s != time.Duration(waits.Oldest).Seconds() {
			t.Errorf("the oldest waits for %v s, want %v", s, time.Duration(waits.Oldest))
		}
	}
	p, lost := x.board.read(), x.m.Part.Losses()
	if p.UnknownClass != lost.UnknownClass || p.Expired != lost.Expired {
		t.Errorf("the status says %d of an unknown class and %d expired, want %+v", p.UnknownClass, p.Expired, lost)
	}
	next := idleTask(t, lossy)
	next.m.Part = x.m.Part
	m = next.s.o.Metrics
	next.board.inherit(next.m.Part)
	shown(next)
	if got := lossesTold(m); !slices.Equal(got, []float64{0, 0, 0, 0}) {
		t.Errorf("the next owner tells %v again", got)
	}
}

// shown shows the state of a task as it stands.
func shown(t *task) {
	now := t.board.stand(t)
	t.board.report(t, &now)
}

// TestTheStatusShowsTheCommittedPosition, not that of the messages under way.
func TestTheStatusShowsTheCommittedPosition(t *testing.T) {
	x := idleTask(t, nil)
	x.committed, x.m.At = state.Position{Events: 5, Model: 2}, state.Position{Events: 9, Model: 3}
	var s model.Scores
	x.m.Part.Events(sample.Records(0, 70), &s)
	r := x.board.stand(x)
	x.m.Part.Events(sample.Records(70, 30), &s)
	x.board.report(x, &r)
	if p := x.board.read(); p.Offset != 5 || p.Model != 2 || p.Labelled != 70 || p.Trained != x.m.Part.Trained() ||
		x.board.ages.labelled != 70 {
		t.Errorf("%+v", p)
	}
}

// TestLossesOfAnAbortedTransactionAreToldOnce: when one transaction is committed the state holds messages of the next
// one. Where that is aborted, the state begins anew without them, and they are read and lost again.
func TestLossesOfAnAbortedTransactionAreToldOnce(t *testing.T) {
	x := idleTask(t, lossy)
	m := x.s.o.Metrics
	p := newPipeline(x)
	x.producer, x.s.deadPartitions = &txn.Producer{}, 1
	x.s.o.Snapshot, p.lastSnap = time.Hour, x.s.o.Now()
	lose(x.m.Part, 0)
	saved := x.m.Part.Snapshot()
	p.committing = p.filling
	x.m.At.Events++
	p.complete(t.Context(), p.committing)
	lose(x.m.Part, 1000)
	p.outcome <- nil
	if err := p.await(); err != nil {
		t.Fatal(err)
	}
	part, err := model.RestorePartition(x.s.o.Spec, saved)
	if err != nil {
		t.Fatal(err)
	}
	x.m.Part = part
	x.board.inherit(part)
	lose(part, 1000)
	shown(x)
	if got, want := lossesTold(m), lossesOf(part); !slices.Equal(got, want) || slices.Contains(got, 0) {
		t.Errorf("unknown, evicted, left out and forgotten: %v told, want %v", got, want)
	}
}

// TestPoliciesAreCountedByTheirActions, and losses apart from rebuilt states.
func TestPoliciesAreCountedByTheirActions(t *testing.T) {
	for _, c := range []struct {
		name string
		plan committed.Plan
		want map[string]float64
	}{
		{"a snapshot", committed.Plan{Origin: committed.Snapshot}, map[string]float64{}},
		{"an empty state", committed.Plan{}, map[string]float64{}},
		{"lost messages", committed.Plan{Origin: committed.Snapshot,
			Lost: []committed.Cause{committed.InputLost, committed.TopicRecreated}},
			map[string]float64{"rebuild/input_lost": 1, "rebuild/topic_recreated": 1}},
		{"a carried-over state", committed.Plan{Origin: committed.CarryOver},
			map[string]float64{"carried/schema_changed": 1}},
		{"a damaged state", committed.Plan{Cause: committed.Damaged}, map[string]float64{"rebuild/damaged": 1}},
		{"a moved offset", committed.Plan{Origin: committed.Snapshot, Moved: committed.Moved{Events: committed.Move{Own: 3,
			Group: 5}}}, map[string]float64{"skip/offset_moved": 1}},
		{"one moved back, for which the state begins anew", committed.Plan{Cause: committed.OffsetMoved,
			Moved: committed.Moved{Labels: committed.Move{Own: 5, Group: 3}}}, map[string]float64{"skip/offset_moved": 1}},
		{"another topic", committed.Plan{Cause: committed.TopicRecreated, Lost: []committed.Cause{committed.TopicRecreated}},
			map[string]float64{"rebuild/topic_recreated": 2}},
	} {
		x := idleTask(t, func(o *Options) { o.OffsetMoved = committed.OffsetSkip })
		(&findings{t: x, plan: c.plan}).count()
		if got := labels(x.s.o.Metrics.Policies); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestEndsOfAStageNameThePolicyAndTheRemedy.
func TestEndsOfAStageNameThePolicyAndTheRemedy(t *testing.T) {
	for _, c := range []struct {
		name string
		plan committed.Plan
		want []string // words of the error; none = it goes on
	}{
		{"nothing", committed.Plan{}, nil},
		{"a newer build", committed.Plan{Newer: &state.FormatError{Format: 3, Newest: 2}},
			[]string{"partition 0", "format 3", "--format 2"}},
		{"another stage", committed.Plan{Foreign: "it is theirs"}, []string{"partition 0: it is theirs"}},
		{"lost input", committed.Plan{Stop: &committed.Problem{Cause: committed.InputLost, Text: "gone"}},
			[]string{"partition 0: gone", "policy.input_lost is fail", "rebuild"}},
		{"a changed schema", committed.Plan{Stop: &committed.Problem{Cause: committed.SchemaChanged, Text: "other"}},
			[]string{"partition 0: other", "policy.schema_changed is fail", "keep the parts that mention no changed feature"}},
		{"a moved offset", committed.Plan{Stop: &committed.Problem{Cause: committed.OffsetMoved, Text: "moved"}},
			[]string{"partition 0: moved", "policy.offset_moved is fail", "skip takes the later", "rescore takes the earlier"}},
		{"a lost model", committed.Plan{Stop: &committed.Problem{Cause: committed.ModelLost, Text: "no model"}},
			[]string{"partition 0: no model", "policy.model_lost is fail"}},
		{"a shared topic", committed.Plan{Stop: &committed.Problem{Cause: committed.TopicShared, Text: "two"}},
			[]string{"partition 0: two", "policy.topic_shared is fail", "topics.scores"}},
	} {
		x := idleTask(t, nil)
		err := (&findings{t: x, plan: c.plan}).stop()
		if (err != nil) != (c.want != nil) {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, word := range c.want {
			if err != nil && !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q lacks %q", c.name, err, word)
			}
		}
		want := map[string]float64{}
		if c.plan.Stop != nil {
			want["fail/"+c.plan.Stop.Cause.String()] = 1
		}
		if got := labels(x.s.o.Metrics.Policies); !maps.Equal(got, want) {
			t.Errorf("%s: counted %v, want %v", c.name, got, want)
		}
		var p *PolicyError
		if errors.As(err, &p) != (c.plan.Stop != nil) || p != nil && p.Policy != c.plan.Stop.Cause.String() {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

// TestDamageOfSeveralKindsAddsUp: each refused snapshot stays refused when the next one is, else a takeover would try
// both in turn for ever.
func TestDamageOfSeveralKindsAddsUp(t *testing.T) {
	x := idleTask(t, nil)
	f := &findings{t: x, facts: &committed.Facts{}}
	for _, n := range []uint64{5, 4} {
		f.refuse(&state.Manifest{Number: n}, errors.New("damaged"))
	}
	if !maps.Equal(f.facts.Refused, map[uint64]bool{5: true, 4: true}) || f.facts.Newer != nil {
		t.Errorf("%+v", f.facts)
	}
	if f.lost(errors.New("another error")) || f.facts.ModelLost != "" {
		t.Error("an error of another kind is taken for a lost model")
	}
	if !f.lost(&state.ModelError{Version: 7, Err: errors.New("gone")}) ||
		!strings.Contains(f.facts.ModelLost, "model 7") || !strings.Contains(f.facts.ModelLost, "of m that") {
		t.Errorf("%q", f.facts.ModelLost)
	}
	f.refuse(&state.Manifest{Number: 3}, &state.FormatError{Format: 2, Newest: 1})
	if f.facts.Newer == nil || f.facts.Newer.Format != 2 {
		t.Errorf("%+v", f.facts.Newer)
	}
}

// TestSkipsLeaveWithTheirMessages, by the first offsets of their own topics.
func TestSkipsLeaveWithTheirMessages(t *testing.T) {
	f := &findings{log: state.NewLog(), plan: committed.Plan{First: state.Position{Events: 10, Labels: 4}}}
	for stage, offsets := range map[string][]int64{codec.StageEvents: {3, 9, 10, 11}, codec.StageLabels: {3, 4, 9}} {
		for _, n := range offsets {
			s := state.Skip{Stage: stage, Offset: n, Why: "why"}
			f.log.Apply([]byte(s.Key()), s.Encode(1))
		}
	}
	got := f.pastSkips()
	slices.Sort(got)
	if want := []string{"skip/events/3", "skip/events/9", "skip/labels/3"}; !slices.Equal(got, want) {
		t.Errorf("%q leave, want %q", got, want)
	}
}

// TestAFormerStateIsGivenUpWhole: its records leave behind one that says with which transaction the next state begins.
func TestAFormerStateIsGivenUpWhole(t *testing.T) {
	x := idleTask(t, nil)
	x.last.Number = 7
	tx := &transaction{}
	if giveUp(x, tx, nil); len(tx.records) > 0 {
		t.Errorf("%d records where there was no state", len(tx.records))
	}
	giveUp(x, tx, []string{"journal/3", "manifest/1"})
	var keys []string
	for _, r := range tx.records {
		keys = append(keys, string(r.Key))
		if r.Topic != "st" || (len(r.Value) == 0) == (string(r.Key) == state.BeginKey) {
			t.Errorf("%s of %s: %d bytes", r.Key, r.Topic, len(r.Value))
		}
	}
	if want := []string{state.BeginKey, "journal/3", "manifest/1"}; !slices.Equal(keys, want) ||
		string(tx.records[0].Value) != string(state.EncodeBegin(8)) {
		t.Errorf("%q, want %q", keys, want)
	}
}

// TestLettersGoToThePartitionOfTheirMessage, modulo the partitions of their topic.
func TestLettersGoToThePartitionOfTheirMessage(t *testing.T) {
	s := &Stage{deadPartitions: 3}
	for partition, want := range []int{0, 1, 2, 0, 1} {
		if got := s.deadPartition(partition); got != want {
			t.Errorf("letters of partition %d go to %d, want %d", partition, got, want)
		}
	}
	x := idleTask(t, nil)
	for stage, topic := range map[string]string{codec.StageEvents: "e", codec.StageLabels: "l"} {
		if got, want := originOf(x, stage), (deadletter.Origin{Name: "s", Topic: topic, Stage: stage}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestLinesOfEachKindOfDeadLetterAreCountedApart: by reason and by topic. A kind that has been quiet for five minutes
// begins anew with lines of its own.
func TestLinesOfEachKindOfDeadLetterAreCountedApart(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	n, now := notices{log: zap.New(core)}, time.Unix(0, 0)
	lines := func(stage string) int {
		return logs.FilterMessage("dead letter").FilterField(zap.String("stage", stage)).Len()
	}
	for i := range 4 {
		n.add(now, codec.StageEvents, codec.ReasonDamaged, deadletter.ID{Topic: "e", Offset: int64(i), Row: -1})
		n.add(now, codec.StageLabels, codec.ReasonDamaged, deadletter.ID{Topic: "l", Offset: int64(i), Row: -1})
	}
	if lines(codec.StageEvents) != noticeFirst || lines(codec.StageLabels) != noticeFirst {
		t.Errorf("%d lines of events, %d of labels", lines(codec.StageEvents), lines(codec.StageLabels))
	}
	n.tick(now.Add(noticeShortest-1), false)
	held := func() int { return logs.FilterMessageSnippet("more dead letters").Len() }
	if held() != 0 {
		t.Error("the count comes too early")
	}
	n.tick(now.Add(noticeShortest), false)
	if held() != 2 {
		t.Errorf("%d counts, want one of each kind", held())
	}
	n.add(now.Add(noticeLongest-1), codec.StageEvents, codec.ReasonDamaged, deadletter.ID{Topic: "e"})
	if lines(codec.StageEvents) != noticeFirst {
		t.Error("a kind that was quiet for less than five minutes begins anew")
	}
	n.tick(now.Add(noticeLongest), false)
	n.add(now.Add(2*noticeLongest), codec.StageEvents, codec.ReasonDamaged, deadletter.ID{Topic: "e"})
	if lines(codec.StageEvents) != noticeFirst+1 {
		t.Error("a kind that was quiet for five minutes does not begin anew")
	}
	// The counts come ever later, up to five minutes.
	last, waits := now.Add(2*noticeLongest), []time.Duration(nil)
	for at := last; len(waits) < 8; at = at.Add(time.Second) {
		before := held()
		n.add(at, codec.StageEvents, codec.ReasonDamaged, deadletter.ID{Topic: "e"})
		if held() > before {
			last, waits = at, append(waits, at.Sub(last))
		}
	}
	if waits[3] != 2*waits[2] || waits[7] != noticeLongest {
		t.Errorf("counts come after %v", waits)
	}
}
