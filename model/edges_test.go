package model_test

import (
	"testing"
	"time"

	"liftstream/model"
)

// cold returns a partition that waits for labels and has no structure.
func cold(change func(o *model.Options)) *model.Partition {
	return model.NewPartition(newSpec(func(o *model.Options) {
		o.Warmup = 1 << 30
		change(o)
	}), 0)
}

// unlabelled gives n records from a position on, whose labels come late, and returns those labels.
func unlabelled(p *model.Partition, from, n int) *model.Labels {
	b := rows(from, n)
	l := &model.Labels{N: n, Class: b.Label, ID: b.ID}
	b.Label = make([]int32, n)
	for i := range b.Label {
		b.Label[i] = model.Unlabelled
	}
	var s model.Scores
	p.Events(b, &s)
	return l
}

// TestAnIDBelongsToItsNewestRecord: a label by place takes an older record of the id away, and a label by id still
// finds the newer one.
func TestAnIDBelongsToItsNewestRecord(t *testing.T) {
	p := cold(func(o *model.Options) { o.Correct = false })
	l := unlabelled(p, 0, 1)
	b := rows(0, 1)
	b.Offset, b.Label[0] = 1, model.Unlabelled
	var s model.Scores
	p.Events(b, &s)
	old := &model.Labels{N: 1, Class: []int32{0}, Partition: []int32{0}, Offset: []int64{0}, Row: []int32{0}}
	if c := p.Labels(old); c.Learnt != 1 {
		t.Fatalf("%+v", c)
	}
	if c := p.Labels(l); c.Learnt != 1 {
		t.Errorf("a label by the id of the newer record: %+v", c)
	}
	if n := p.Waiting(); n != 0 {
		t.Errorf("%d bytes wait, and nothing does", n)
	}
}

// TestALearntRecordTakesNoMoreBytesThanAWaitingOne: it stays to be corrected, and is counted once.
func TestALearntRecordTakesNoMoreBytesThanAWaitingOne(t *testing.T) {
	const n = 200
	p := cold(func(o *model.Options) { o.WaitBytes = 60_000 })
	l := unlabelled(p, 0, n)
	before := p.Waiting()
	if before > 60_000 || 2*before <= 60_000 {
		t.Fatalf("%d bytes wait: the test would say nothing", before)
	}
	if c := p.Labels(l); c.Learnt != n {
		t.Fatalf("%+v", c)
	}
	if after := p.Waiting(); after > before {
		t.Errorf("%d bytes wait, before they were learnt it were %d", after, before)
	}
	for i := range l.Class {
		l.Class[i] = 1 - l.Class[i]
	}
	if c := p.Labels(l); c.Corrected != n {
		t.Errorf("%+v", c)
	}
}

// TestTimesOfLabelsMoveTheWindow: a record whose window has passed leaves when a label tells the time, though no event
// follows, and not before.
func TestTimesOfLabelsMoveTheWindow(t *testing.T) {
	p := cold(func(o *model.Options) { o.WaitWindow = int64(time.Hour) })
	unlabelled(p, 0, 5) // stream time has begun: it is 4 s
	label := func(at time.Duration) {
		p.Labels(&model.Labels{N: 1, Class: []int32{1}, ID: []string{"nobody"}, Time: []int64{int64(at)}})
	}
	for at := time.Duration(0); at < time.Hour; at += 4 * time.Minute {
		label(at)
	}
	for _, c := range []struct {
		at      time.Duration
		expired uint64
	}{{time.Hour + 4*time.Second, 0}, {time.Hour + 4*time.Second + 1, 5}} {
		label(c.at)
		if got := p.Losses().Expired; got != c.expired {
			t.Errorf("at %v: %d expired, want %d", c.at, got, c.expired)
		}
	}
}

// TestNoStateGoesOverToAnotherPositiveClass, in either order of the two.
func TestNoStateGoesOverToAnotherPositiveClass(t *testing.T) {
	for from := -1; from < 2; from++ {
		for to := -1; to < 2; to++ {
			a, b := *schema, *schema
			a.Positive, b.Positive = from, to
			if _, err := model.Relate(&a, &b); (err == nil) != (from == to) {
				t.Errorf("from %d to %d: %v", from, to, err)
			}
		}
	}
}
