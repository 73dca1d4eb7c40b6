package stream

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"liftstream/stream/state"
	"liftstream/stream/streamtest"
)

// formats returns the formats of the live values of the state and model topics.
func (o outputs) formats() map[byte]int {
	out := map[byte]int{}
	last := map[string][]byte{}
	for p := range o.N {
		for _, r := range o.Records(o.Topics.State, p) {
			last[string(rune('0'+p))+string(r.Key)] = r.Value
		}
	}
	for _, r := range o.Records(o.Topics.Model, 0) {
		last["m"+string(r.Key)] = r.Value
	}
	for _, v := range last {
		if len(v) > 0 {
			out[v[0]]++
		}
	}
	return out
}

// snapshots returns the format of the newest snapshot of each partition, 0 = none.
func (o outputs) snapshots() (out []int) {
	for p := range o.N {
		l := state.NewLog()
		l.Newest = 255
		for _, r := range o.Records(o.Topics.State, p) {
			l.Apply(r.Key, r.Value)
		}
		if found, _ := l.Manifests(); len(found) > 0 {
			out = append(out, found[0].Format)
		} else {
			out = append(out, 0)
		}
	}
	return out
}

func (w *world) awaitSnapshots(t *testing.T, format int, rs ...*running) {
	t.Helper()
	streamtest.Eventually(t, 30*time.Second, fmt.Sprint("there are snapshots of other formats than ", format),
		func() bool {
			if !slices.ContainsFunc(w.snapshots(), func(f int) bool { return f != format }) {
				return true
			}
			w.Produce(40, 20, true)
			w.caught(rs...)
			return false
		}, func() any { return w.snapshots() })
}

// TestMembersWriteWhatAllOfThemRead: two builds in one group, one of which reads a later format as well. The later one
// differs in its number alone: the test is about who writes which, and that no snapshot is lost that all read.
func TestMembersWriteWhatAllOfThemRead(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := newWorld(t, addr, 2)
		w.Produce(2000, 20, true)
		build := func(reads, writes int, quiet bool) *running {
			o := w.options(w.Client)
			o.Format = writes
			if quiet {
				o.Log = zaptest.NewLogger(t, zaptest.Level(zap.ErrorLevel))
			}
			r := w.prepared(o)
			r.stage.newest, r.stage.hesitation = reads, 500*time.Millisecond
			r.start()
			return r
		}
		// An upgrade: the old build alone, both, the new one alone.
		before := build(1, 0, false)
		w.caught(before)
		w.awaitSnapshots(t, 1, before)
		after := build(2, 0, false)
		share(t, 1, before, after)
		time.Sleep(time.Second) // longer than the new one hesitates
		for range 5 {
			w.Produce(400, 20, true)
			w.caught(before, after)
			time.Sleep(200 * time.Millisecond)
		}
		if f := w.formats(); len(f) != 1 || f[1] == 0 {
			t.Errorf("with both in the group, values by format: %v", f)
		}
		before.end(t)
		w.caught(after)
		w.awaitSnapshots(t, 2, after)
		w.ExactlyOnce()

		// The old one does not destroy a state that it cannot read.
		late := build(1, 0, true)
		if err := late.fails(t, 40*time.Second); err == nil ||
			!strings.Contains(err.Error(), "a newer build has written the state: format 2, this build reads up to 1") {
			t.Fatalf("got %v", err)
		}
		w.Produce(400, 20, true)
		w.caught(after)
		after.end(t)

		// A step back: first the new build writes the format that the old one reads.
		after = build(2, 1, false)
		w.caught(after)
		after.end(t)
		o := w.options(w.Client)
		r := w.run(o)
		w.caught(r)
		if n := counted(o.Metrics.Restores.WithLabelValues("snapshot")); n != 2 {
			t.Errorf("%v states were restored from snapshots, want 2", n)
		}
		w.published(r, r.stage.Status().Model+1) // the old build, behind a model of the new one
		r.end(t)
		w.ExactlyOnce()
	})
}

func TestAgreement(t *testing.T) {
	now := time.Unix(1000, 0)
	s := &Stage{newest: 3, hesitation: time.Minute, agreement: agreement{1, 1, time.Time{}}}
	s.o.Now = func() time.Time { return now }
	step := func(what string, d time.Duration, want int) {
		t.Helper()
		now = now.Add(d)
		if got := s.format(); got != want {
			t.Errorf("%s: format %d, want %d", what, got, want)
		}
	}
	step("alone", 0, 1)
	s.agree(3)
	step("at once", 0, 1)
	s.found(2)
	step("the state is of 2 already", 0, 2)
	step("soon", 59*time.Second, 2)
	s.agree(3)
	step("a generation more", 2*time.Second, 3)
	s.agree(2)
	step("somebody reads less", 0, 2)
	s.found(3)
	step("a state that not all read", 0, 2)
	s.agree(9)
	step("later than this build", time.Minute, 3)
	s.o.Format = 1
	s.agree(3)
	step("told to write less", time.Hour, 1)
	s.o.Format = 0
	s.agree(0)
	step("nothing known", time.Hour, 1)
}
