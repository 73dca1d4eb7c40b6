package model_test

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/modeltest"
	"liftstream/model/propensity"
	"liftstream/model/wire"
)

// epoch is the time of the first record of these tests: records of a backlog.
const epoch = int64(1_600_000_000) * int64(time.Second)

// wild are times that no clock should tell, beside a stream that stands at now.
var wild = []struct {
	name string
	at   func(now int64) int64
}{
	{"two days ahead", func(now int64) int64 { return now + int64(48*time.Hour) }},
	{"30 days ahead", func(now int64) int64 { return now + int64(720*time.Hour) }},
	{"1970", func(int64) int64 { return int64(time.Hour) }},
	{"1938", func(int64) int64 { return -int64(32 * 8766 * time.Hour) }},
	{"the largest", func(int64) int64 { return math.MaxInt64 }},
	{"the smallest", func(int64) int64 { return math.MinInt64 }},
	{"microseconds as milliseconds", func(now int64) int64 { return now * 5 }},
	{"none", func(int64) int64 { return 0 }},
}

// timed gives records their times, a second apart.
func timed(b *model.Batch) {
	for i := range b.Time {
		b.Time[i] += epoch
	}
}

// TestARecordOfAWildTimeDisturbsNoOther: of 10,000 records whose labels come 600 records later, one is of a wild time,
// on the event or on its label. All labels are learnt, whether one record has a wild time or several, at the beginning
// or later.
func TestARecordOfAWildTimeDisturbsNoOther(t *testing.T) {
	modeltest.Computes(t)
	const n, late, size = 10_000, 600, 50
	spec := newSpec(func(o *model.Options) { o.WaitWindow, o.WaitBytes = int64(time.Hour), 1<<26 })
	for _, onLabel := range []bool{false, true} {
		for _, at := range []int{0, 1, 3, 5000} {
			for k := range wild {
				p := model.NewPartition(spec, 0)
				learnt := 0
				for i := 0; i < n+late; i += size {
					if i < n {
						feed(p, i, i+size, size, func(b *model.Batch) {
							timed(b)
							withhold(b, 1)
							if !onLabel && i <= at && at < i+size {
								b.Time[at-i] = wild[k].at(b.Time[at-i])
							}
						})
					}
					if i < late {
						continue
					}
					b := rows(i-late, size)
					timed(b)
					l := &model.Labels{N: size, Class: b.Label, ID: b.ID, Time: b.Time}
					for j := range l.Time {
						l.Time[j] += int64(late * time.Second)
					}
					if onLabel && i-late <= at && at < i-late+size {
						l.Time[at-i+late] = wild[k].at(l.Time[at-i+late])
					}
					learnt += p.Labels(l).Learnt
				}
				if learnt != n || p.Losses().Expired != 0 {
					t.Errorf("%s, on a label %v, record %d: %d labels learnt of %d, %d records expired", wild[k].name, onLabel,
						at, learnt, n, p.Losses().Expired)
				}
			}
		}
	}
}

// TestRecordsBehindAWildOneExpire: a record of a wild time at the head of the queue holds back none behind it.
func TestRecordsBehindAWildOneExpire(t *testing.T) {
	spec := newSpec(func(o *model.Options) { o.WaitWindow = int64(100 * time.Second) })
	for k := range wild {
		p := model.NewPartition(spec, 0)
		feed(p, 0, 1000, 50, func(b *model.Batch) {
			timed(b)
			withhold(b, 1)
			for i := range b.Time {
				if b.ID[i] == "c10" {
					b.Time[i] = wild[k].at(b.Time[i])
				}
			}
		})
		if got := p.Losses().Expired; got != 899 {
			t.Errorf("%s: %d records expired, want 899", wild[k].name, got)
		}
	}
}

// TestRecordsBehindAGapWait: stream time follows a gap, and the first records behind it keep their window.
func TestRecordsBehindAGapWait(t *testing.T) {
	p := model.NewPartition(newSpec(func(o *model.Options) { o.WaitWindow = int64(time.Hour) }), 0)
	feed(p, 0, 100, 50, func(b *model.Batch) { timed(b); withhold(b, 1) })
	feed(p, 100, 110, 1, func(b *model.Batch) { timed(b); b.Time[0] += int64(720 * time.Hour); withhold(b, 1) })
	b := rows(100, 10)
	if c := p.Labels(&model.Labels{N: 10, Class: b.Label, ID: b.ID}); c.Learnt != 10 {
		t.Errorf("labels of the records behind the gap: %+v", c)
	}
	if got := p.Losses().Expired; got < 99 || got > 100 { // the last one before the gap waits with those behind it
		t.Errorf("%d records before the gap expired, want 99 or 100", got)
	}
}

// TestWindowsCloseWhereEachRecordComesAfterAGap: records that are farther apart than stream time follows at once wait
// for their window and no longer. Stream time is seven records behind.
func TestWindowsCloseWhereEachRecordComesAfterAGap(t *testing.T) {
	const window, apart = 24 * time.Hour, 10 * time.Minute
	for name, cohorts := range map[string]bool{"closed": true, "expired": false} {
		p := model.NewPartition(newSpec(func(o *model.Options) {
			if o.WaitWindow = int64(window); cohorts {
				o.ExpireAs = 0
			}
		}), 0)
		feed(p, 0, 500, 1, func(b *model.Batch) { b.Time[0] = epoch + int64(b.Row[0])*int64(apart); withhold(b, 1) })
		if got, want := p.Losses().Expired, uint64(500-window/apart-1-7); got < want-1 || got > want+1 {
			t.Errorf("%s: %d records, want %d", name, got, want)
		}
	}
}

// TestAWildTimeLeavesHalfLivesOfDurations: the log-loss of the records behind one of a wild time stays as it is without
// it. The rate of the class drifts, so that the half-lives matter.
func TestAWildTimeLeavesHalfLivesOfDurations(t *testing.T) {
	modeltest.Computes(t)
	o := propensity.Default()
	o.HalfLives = []model.HalfLife{{Duration: time.Hour}, {Duration: 24 * time.Hour}, {}}
	spec := newSpec(nil)
	spec.Scorecard = propensity.New(o, schema)
	loss := func(at int, w func(int64) int64) float64 {
		p, sum, n := model.NewPartition(spec, 0), 0., 0
		var s model.Scores
		for i := range 6000 {
			b := rows(i, 1)
			b.Offset, b.Time[0] = int64(i), epoch+int64(i)*int64(time.Minute)
			if i/600%2 == 1 && i%3 != 0 {
				b.Label[0] = 1 - b.Label[0]
			}
			if i == at && w != nil {
				b.Time[0] = w(b.Time[0])
			}
			p.Events(b, &s)
			if i > 1000 {
				sum -= math.Log(max(s.P[b.Label[0]], 1e-12))
				n++
			}
		}
		return sum / float64(n)
	}
	for _, at := range []int{0, 1000} {
		want := loss(at, nil)
		for k := range wild {
			if got := loss(at, wild[k].at); math.Abs(got-want) > 0.0005 {
				t.Errorf("%s at record %d: log-loss %.4f, without it %.4f", wild[k].name, at, got, want)
			}
		}
	}
}

// TestARestoredStateGoesOnWithinAGap: with witnesses of a gap on their way, and before stream time has begun.
func TestARestoredStateGoesOnWithinAGap(t *testing.T) {
	spec := newSpec(func(o *model.Options) { o.WaitWindow = int64(time.Minute) })
	for _, cut := range []int{2, 205} {
		far := func(b *model.Batch) {
			timed(b)
			for i := range b.Time {
				if b.Row[i]%2 == 0 {
					b.Label[i] = model.Unlabelled
				}
				if b.Row[i] >= 200 {
					b.Time[i] += int64(48 * time.Hour)
				}
			}
		}
		p := model.NewPartition(spec, 0)
		feed(p, 0, cut, 1, far)
		q, err := model.RestorePartition(spec, p.Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		feed(p, cut, 400, 1, far)
		feed(q, cut, 400, 7, far)
		if !bytes.Equal(state(p), state(q)) {
			t.Errorf("cut at %d: another state", cut)
		}
	}
}

// TestAStateThatAWildTimeHasMovedHeals: a state of format 3, whose time is the largest that any record has told, and
// whose half-lives are durations, learns again once it is read.
func TestAStateThatAWildTimeHasMovedHeals(t *testing.T) {
	o := propensity.Default()
	o.HalfLives = []model.HalfLife{{Duration: time.Hour}, {}}
	spec := newSpec(func(o *model.Options) { o.Correct = false })
	spec.Scorecard = propensity.New(o, schema)
	p := model.NewPartition(spec, 0)
	far := epoch + int64(720*time.Hour)
	feed(p, 0, 1200, 1, func(b *model.Batch) {
		timed(b)
		if i := b.Row[0]; i >= 1000 && i < 1020 {
			b.Time[0] = far + int64(i) // enough of them to move stream time
		}
	})
	sections := p.Snapshot()
	last := epoch + int64(1199*time.Second)
	end := wire.AppendInts(wire.AppendVarint(wire.AppendVarint(nil, far+1019), last), []int64(nil))
	core, ok := bytes.CutSuffix(sections["core"], end)
	if !ok || core[0] != 4 {
		t.Fatalf("the section core of format %d does not end as this test thinks", core[0])
	}
	sections["core"] = append([]byte{3}, wire.AppendVarint(core[1:len(core):len(core)], far+1019)...)
	q, err := model.RestorePartition(spec, sections)
	if err != nil {
		t.Fatal(err)
	}
	feed(q, 1200, 1300, 1, func(b *model.Batch) { timed(b); withhold(b, 1) })
	q.Labels(&model.Labels{N: 1, Class: []int32{0}, ID: []string{"nobody"}, Time: []int64{last + int64(2*time.Minute)}})
	if lost := q.Losses().Expired; lost != 0 {
		t.Errorf("%d records expired before their labels could come", lost)
	}
	before := sections["model/propensity"]
	if after := q.Snapshot()["model/propensity"]; bytes.Equal(before, after) {
		t.Error("the clock of the scorecard is where the wild record has put it")
	}
}

// TestTheTimesOfOneMessageAreOneWitness: records without times of their own take the timestamp of their message. A
// message of many records with a wild one moves stream time no further than a single record does.
func TestTheTimesOfOneMessageAreOneWitness(t *testing.T) {
	spec := newSpec(func(o *model.Options) { o.WaitWindow = int64(time.Hour) })
	for k := range wild {
		p := model.NewPartition(spec, 0)
		feed(p, 0, 1000, 50, func(b *model.Batch) { timed(b); withhold(b, 1) })
		feed(p, 1000, 1100, 100, func(b *model.Batch) {
			timed(b)
			withhold(b, 1)
			at := wild[k].at(b.Time[0])
			for i := range b.Time {
				b.Time[i] = at
			}
		})
		feed(p, 1100, 1200, 50, func(b *model.Batch) { timed(b); withhold(b, 1) })
		b := rows(0, 1200)
		if c := p.Labels(&model.Labels{N: b.N, Class: b.Label, ID: b.ID}); c.Learnt != b.N || p.Losses().Expired != 0 {
			t.Errorf("%s: %d labels learnt of %d, %d records expired", wild[k].name, c.Learnt, b.N, p.Losses().Expired)
		}
	}
}

// TestACarriedRecordWaitsOn for its label from its own arrival, no shorter and no longer.
func TestACarriedRecordWaitsOn(t *testing.T) {
	modeltest.Computes(t)
	next := &model.Schema{Features: slices.Concat(wide.Features, []model.Feature{{Name: "extra", Kind: model.Continuous}}),
		Classes: wide.Classes, Positive: 1}
	var out model.Scores
	begin := func() *model.Partition {
		p := model.NewPartition(carrySpec(wide), 0)
		b := wideRows(wide, 0, 300, false)
		timed(b)
		p.Events(b, &out)
		q, _, err := p.Carry(carrySpec(next))
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	// The number of the next records, which come a second apart, and the labels that meet a record.
	for _, c := range []struct{ at, learnt int }{
		{300, 400}, {3000, 400},
		{3700, 201}, // the window is 3,600 s: records 0 to 198 are overdue at 3799
		{4000, 101}, // the last one before a gap waits with those behind it
	} {
		q := begin()
		b := wideRows(next, c.at, 100, false)
		timed(b)
		q.Events(b, &out)
		old := wideRows(wide, 0, 300, true)
		l := &model.Labels{N: 400, Class: append(old.Label, make([]int32, 100)...), ID: append(old.ID, b.ID...)}
		if got := q.Labels(l).Learnt; got != c.learnt {
			t.Errorf("records from %d on: %d of 400 labels learnt, want %d; %d records expired", c.at, got, c.learnt,
				q.Losses().Expired)
		}
	}
}
