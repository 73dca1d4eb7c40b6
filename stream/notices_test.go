package stream

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"liftstream/codec"
	"liftstream/stream/deadletter"
	"liftstream/stream/streamtest"
)

// counts returns the letters that the lines of a log speak of, and the number of lines.
func letterLines(logs *observer.ObservedLogs) (letters, lines int) {
	for _, e := range logs.All() {
		switch e.Message {
		case "dead letter":
			letters++
		case "more dead letters, without a line for each":
			letters += int(e.ContextMap()["held_back"].(int64))
		}
	}
	return letters, logs.Len()
}

func TestLogOfDeadLettersIsShortAndCountsAll(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	n := notices{log: zap.New(core)}
	now := time.Unix(0, 0)
	// An hour of 100 a second, then quiet, then one of another reason and one of the first again.
	for i := range 360_000 {
		n.add(now, codec.StageEvents, codec.ReasonDamaged, deadletter.ID{Topic: "e", Offset: int64(i), Row: -1})
		if now = now.Add(10 * time.Millisecond); i%10 == 0 {
			n.tick(now, false)
		}
	}
	if letters, lines := letterLines(logs); letters > 360_000 || letters < 320_000 || lines > 3+6+12 {
		t.Errorf("%d lines speak of %d letters", lines, letters)
	}
	n.add(now, codec.StageLabels, codec.ReasonDamaged, deadletter.ID{Topic: "l"})
	n.tick(now.Add(10*time.Minute), false)
	if letters, _ := letterLines(logs); letters != 360_001 {
		t.Errorf("after a while the lines speak of %d letters", letters)
	}
	before := logs.Len()
	now = now.Add(time.Hour)
	for range 5 {
		n.add(now, codec.StageEvents, codec.ReasonDamaged, deadletter.ID{})
	}
	n.tick(now, true)
	if letters, lines := letterLines(logs); letters != 360_006 || lines != before+noticeFirst+1 {
		t.Errorf("at the end %d lines speak of %d letters", lines-before, letters)
	}
}

// Ten thousand identical messages that cannot be read are as many dead letters, in the topic and in the metric, and a
// handful of lines.
func TestPoison(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 1)
		o := w.options(w.Client)
		core, logs := observer.New(zapcore.InfoLevel)
		o.Log = zap.New(core)
		r := w.run(o)
		w.garbage(10_000)
		began := time.Now()
		w.caught(r)
		took := time.Since(began)
		r.end(t)
		metric := counted(o.Metrics.Dead.WithLabelValues(string(codec.ReasonNotArrow)))
		letters, lines := letterLines(logs)
		if n := len(w.Records(w.Topics.Dead, 0)); n != 10_000 || metric != 10_000 || letters != 10_000 || lines > 12 {
			t.Errorf("%d dead letters, metric %v, %d lines speak of %d", n, metric, lines, letters)
		}
		t.Logf("10,000 dead letters in %v; %d lines in all", took, lines)
	})
}
