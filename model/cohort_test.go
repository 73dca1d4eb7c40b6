package model_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/lift"
	"liftstream/model/local"
	"liftstream/model/modeltest"
)

// windows makes labels wait for the end of windows of so many seconds; a "no" never comes as a label.
func windows(window, correct int) func(o *model.Options) {
	return func(o *model.Options) {
		o.WaitWindow, o.CorrectFor, o.ExpireAs = int64(window)*int64(time.Second), int64(correct)*int64(time.Second), 0
	}
}

// withoutLabel takes all labels from a batch.
func withoutLabel(b *model.Batch) { withhold(b, 1) }

// yes is a "yes" for each of these records.
func yes(records ...int) *model.Labels {
	l := &model.Labels{N: len(records), Class: make([]int32, len(records))}
	for i, k := range records {
		l.Class[i], l.ID = 1, append(l.ID, fmt.Sprint("c", k))
	}
	return l
}

// TestNothingIsLearntBeforeTheWindowCloses: neither a label that comes early nor one that comes with its event. Then
// each record is learnt, in the order of their arrival, and as the same state whenever its label came.
func TestNothingIsLearntBeforeTheWindowCloses(t *testing.T) {
	spec := newSpec(windows(300, 300))
	var answered []int
	for i, y := range rows(0, 1000).Label {
		if y == 1 {
			answered = append(answered, i)
		}
	}
	var states [][]byte
	for name, due := range map[string]func(i, now int) bool{
		"with the event": nil,
		"at once":        func(i, now int) bool { return now == i },
		"scattered":      func(i, now int) bool { return now == i+int(model.Hash(3, uint64(i))%300) },
		"at the end":     func(i, now int) bool { return now == i+299 },
	} {
		p := model.NewPartition(spec, 0)
		var out model.Scores
		for now := range 1000 {
			b := rows(now, 1)
			b.Row[0], b.Offset = int32(now), 0
			if due != nil || b.Label[0] == 0 {
				withoutLabel(b)
			}
			p.Events(b, &out)
			want := 0.
			if now > 304 { // stream time begins with the fourth time, and the first record has none
				want = float64(now - 300)
			}
			if p.Labelled() != want {
				t.Fatalf("%s: at %d s %v records are learnt, want %v", name, now, p.Labelled(), want)
			}
			if now == 300 && (p.Trained() || out.Status[0] != model.StatusUntrained || out.P[1] != .5) {
				t.Fatalf("%s: before the first window has closed a score is %v, %v", name, out.Status[0], out.P)
			}
			for _, i := range answered {
				if due == nil || !due(i, now) {
					continue
				}
				if c := p.Labels(yes(i)); c.Waiting != 1 {
					t.Fatalf("%s: record %d: %+v", name, i, c)
				}
			}
		}
		model.Rewait(p) // leaves out the labels that wait on: those of the last 300 s differ
		states = append(states, state(p))
	}
	for _, s := range states[1:] {
		if !bytes.Equal(s, states[0]) {
			t.Error("the time at which a label comes within its window changes the state")
		}
	}
}

// TestAYesAfterItsWindowRetractsTheNo: the counts are those of a partition that had it in time. It is taken back for as
// long as CorrectFor says, and not a second longer.
func TestAYesAfterItsWindowRetractsTheNo(t *testing.T) {
	modeltest.Computes(t)
	spec := carrySpec(wide)
	windows(100, 150)(&spec.Options)
	const n = 1950 // the structure of a cold partition changes for the last time at 1,600 records
	var early, late, never *model.Partition
	var turned int
	for k, p := range []**model.Partition{&early, &late, &never} {
		*p = model.NewPartition(spec, 0)
		var out model.Scores
		for i := range n {
			b := wideRows(wide, i, 1, true)
			class := b.Label[0]
			b.Label[0] = model.Unlabelled
			(*p).Events(b, &out)
			if class == 1 && (i < 1700 || k == 0) {
				(*p).Labels(yes(i))
			}
		}
	}
	for i := 1700; i < n-101; i++ {
		if wideRows(wide, i, 1, true).Label[0] == 1 {
			if c := late.Labels(yes(i)); c.Corrected != 1 {
				t.Fatalf("record %d: %+v", i, c)
			}
			turned++
		}
	}
	for _, section := range []string{"model/" + lift.Name, "model/" + local.Name} {
		want, got, without := early.Snapshot()[section], late.Snapshot()[section], never.Snapshot()[section]
		if bytes.Equal(want, without) || turned < 20 {
			t.Fatalf("%s does not see %d labels: the test would say nothing", section, turned)
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s still counts records as no whose label came after their window", section)
		}
	}
	rate := func(p *model.Partition) float64 {
		return p.Component(spec.Scorecard.Name()).(model.Scorecard).BaseRate(1)
	}
	if math.Abs(rate(early)-rate(late)) > 1e-12 || math.Abs(rate(early)-rate(never)) < .01 {
		t.Errorf("base rates: %v in time, %v corrected, %v without", rate(early), rate(late), rate(never))
	}
}

// TestMeansAreTheRatesOfTheOutcome: "yes" comes after an exponential delay, "no" never. From the first model of closed
// windows on the mean propensity is within .01 of the rate of the "yes" that come within window and corrections, and
// before it no score is ok. The first corrections come two windows late, and means of single windows swing until they
// have: a second look begins after three windows.
func TestMeansAreTheRatesOfTheOutcome(t *testing.T) {
	modeltest.Computes(t)
	const window, n = 5000, 30_000
	for _, rate := range []float64{.02, .12, .4} {
		for _, mean := range []float64{.2, .6, 1} { // windows
			u := func(i, what int) float64 {
				return (float64(model.Hash(1, uint64(i), uint64(what))>>11) + .5) / (1 << 53)
			}
			due := make([][]int, n)
			for i := range n {
				if u(i, 100) >= rate {
					continue
				}
				if at := float64(i+1) - mean*window*math.Log(u(i, 101)); at < n {
					due[int(at)] = append(due[int(at)], i)
				}
			}
			spec := newSpec(windows(window, window))
			spec.Options.Warmup, spec.Options.WaitBytes, spec.Options.Why = 500, 1<<28, 0
			p := model.NewPartition(spec, 0)
			var s model.Scores
			var sum, settled float64
			for i := range n {
				b := rows(i, 1)
				b.Offset = int64(i)
				withoutLabel(b)
				p.Events(b, &s)
				if i < window && s.Status[0] == model.StatusOK {
					t.Fatalf("rate %v, mean delay %v: record %d is scored %v before a window has closed", rate, mean, i, s.P)
				}
				if i >= window+500 { // and the warm-up is over
					sum += s.P[1]
				}
				if i >= 3*window {
					settled += s.P[1]
				}
				for _, k := range due[i] {
					p.Labels(yes(k))
				}
			}
			want := rate * (1 - math.Exp(-2/mean))
			sum, settled = sum/(n-window-500), settled/(n-3*window)
			if math.Abs(sum-want) > .01 || math.Abs(settled-want) > .01 {
				t.Errorf("rate %v, mean delay %v windows: mean propensity %.4f, %.4f after three windows, want %.4f", rate,
					mean, sum, settled, want)
			}
		}
	}
}

// TestARestoredPartitionClosesOn: with labels that wait, ids that come again, and corrections on their way.
func TestARestoredPartitionClosesOn(t *testing.T) {
	for _, match := range []model.Match{model.MatchNewest, model.MatchFirst, model.MatchAll} {
		spec := newSpec(windows(100, 100))
		spec.Options.Match = match
		edit := func(b *model.Batch) {
			for i := range b.ID {
				b.ID[i] = fmt.Sprint("c", b.Row[i]%37)
			}
			withhold(b, 3)
		}
		labels := func(at int) *model.Labels {
			return &model.Labels{N: 2, Class: []int32{1, 0}, ID: []string{fmt.Sprint("c", at%37), fmt.Sprint("c", at%11)}}
		}
		p := model.NewPartition(spec, 0)
		step := func(p *model.Partition, from, to int) {
			for i := from; i < to; i += 10 {
				feed(p, i, i+10, 10, edit)
				p.Labels(labels(i))
			}
		}
		step(p, 0, 500)
		q, err := model.RestorePartition(spec, p.Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		step(p, 500, 1000)
		step(q, 500, 1000)
		if !bytes.Equal(state(p), state(q)) || p.Labelled() < 500 {
			t.Errorf("match %d: the restored state goes another way, %v records are learnt", match, p.Labelled())
		}
	}
}

// TestAnIDThatWaitsTooOften: a label means 64 records of an id at most, and the others leave without a class.
func TestAnIDThatWaitsTooOften(t *testing.T) {
	for match, named := range map[model.Match][2]int{ // the first and the last record that is learnt
		model.MatchAll: {37, 100}, model.MatchNewest: {100, 100}, model.MatchFirst: {1, 1},
	} {
		spec := newSpec(windows(200, 100))
		spec.Options.Match = match
		p := model.NewPartition(spec, 0)
		feed(p, 1, 101, 1, func(b *model.Batch) { withoutLabel(b); b.ID[0] = "robot" })
		if c := p.Labels(&model.Labels{N: 1, Class: []int32{1}, ID: []string{"robot"}}); c.Waiting != 1 {
			t.Fatalf("match %d: %+v", match, c)
		}
		feed(p, 101, 303, 1, withoutLabel)
		for i := range 101 {
			_, learnt := model.LearntClass(p, 0, int32(i))
			if want := i >= named[0] && i <= named[1]; learnt != want {
				t.Errorf("match %d: record %d of the id is learnt %v, want %v", match, i, learnt, want)
			}
		}
	}
}

// TestALabelAfterTheCorrectionsFindsNoRecord, and without corrections none after the window.
func TestALabelAfterTheCorrectionsFindsNoRecord(t *testing.T) {
	for _, c := range []struct {
		correct bool
		last    int // second at which a label still meets record 10
	}{{true, 260}, {false, 110}} {
		for _, late := range []int{0, 1} {
			spec := newSpec(windows(100, 150))
			spec.Options.Correct = c.correct
			p := model.NewPartition(spec, 0)
			feed(p, 0, c.last+late+1, 1, withoutLabel)
			want := model.LabelCounts{Unmatched: late, Waiting: 1 - late}
			if c.correct {
				want = model.LabelCounts{Unmatched: late, Corrected: 1 - late}
			}
			if got := p.Labels(yes(10)); got != want {
				t.Errorf("%+v, %d s late: %+v, want %+v", c, late, got, want)
			}
		}
	}
}

// TestARecordThatLeavesForWantOfRoomIsNotLearnt, with its label or without: its window has not closed.
func TestARecordThatLeavesForWantOfRoomIsNotLearnt(t *testing.T) {
	spec := newSpec(windows(3000, 3000))
	spec.Options.WaitBytes = 20_000
	p := model.NewPartition(spec, 0)
	feed(p, 0, 1000, 50, func(b *model.Batch) { withhold(b, 2) })
	if p.Labelled() != 0 || p.Losses().Evicted == 0 || p.Waiting() > 20_000 {
		t.Errorf("%v records are learnt, %d evicted, %d bytes", p.Labelled(), p.Losses().Evicted, p.Waiting())
	}
}

// TestLearningOffLosesWholeWindows: records whose windows close while learning is off are not learnt, with a label or
// without; records of later windows are, with the labels that came while it was off.
func TestLearningOffLosesWholeWindows(t *testing.T) {
	spec := newSpec(windows(100, 100))
	p := model.NewPartition(spec, 0)
	feed(p, 0, 200, 1, nil) // with labels; 99 windows have closed
	model.SetLearning(p, false)
	feed(p, 200, 300, 1, nil)
	var labels []int
	for i := range 300 {
		labels = append(labels, i)
	}
	if c := p.Labels(yes(labels[250:]...)); c.Waiting != 0 || c.Corrected+c.Repeated != 50 || p.Labelled() != 99 {
		t.Fatalf("%+v, %v learnt", c, p.Labelled())
	}
	if c := p.Labels(yes(0, 1, 99)); c.Unmatched != 3 {
		t.Errorf("labels of records that have left: %+v", c)
	}
	model.SetLearning(p, true)
	if feed(p, 300, 400, 1, nil); p.Labelled() != 99+100 {
		t.Errorf("on again %v records are learnt, want 199", p.Labelled())
	}
}

// twice is a stream in which the id x comes at these seconds, with these times; all other ids are those of rows.
func twice(p *model.Partition, to int, x map[int]int64) {
	feed(p, 0, to, 1, func(b *model.Batch) {
		withoutLabel(b)
		if at, ok := x[int(b.Row[0])]; ok {
			b.ID[0], b.Time[0] = "x", at*int64(time.Second)
		}
	})
}

// TestWhichRecordALabelMeans of one id, scored several times.
func TestWhichRecordALabelMeans(t *testing.T) {
	order := map[int]int64{20: 20, 30: 15, 40: 18}                                              // by time: 30, 40, 20
	late, early := map[int]int64{20: 20, 30: 20, 40: 18}, map[int]int64{20: 19, 30: 15, 40: 15} // by arrival where equal
	for _, c := range []struct {
		match    model.Match
		onExpiry int32
		order    map[int]int64
		yes, no  []int // records that are learnt so, of the three
	}{
		{model.MatchNewest, 0, order, []int{20}, nil},
		{model.MatchFirst, 0, order, []int{30}, nil},
		{model.MatchAll, 0, order, []int{20, 30, 40}, nil},
		{model.MatchNewest, model.Unlabelled, order, []int{20}, nil},
		{model.MatchFirst, model.Unlabelled, order, []int{30}, nil},
		{model.MatchAll, model.Unlabelled, order, []int{20, 30, 40}, nil},
		{model.MatchNewest, 0, late, []int{30}, nil},
		{model.MatchFirst, 0, early, []int{30}, nil},
		{model.MatchNewest, model.Unlabelled, late, []int{30}, nil},
		{model.MatchFirst, model.Unlabelled, early, []int{30}, nil},
	} {
		spec := newSpec(windows(100, 100))
		spec.Options.ExpireAs, spec.Options.Match = c.onExpiry, c.match
		p := model.NewPartition(spec, 0)
		twice(p, 50, c.order)
		q, err := model.RestorePartition(spec, p.Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range map[string]*model.Partition{"live": p, "restored": q} {
			counts := p.Labels(&model.Labels{N: 1, Class: []int32{1}, ID: []string{"x"}})
			if counts.Learnt+counts.Waiting != 1 || counts.Unmatched != 0 {
				t.Errorf("%s, match %d: one label counts as %+v", name, c.match, counts)
			}
			feed(p, 50, 145, 1, withoutLabel)
			var got, rest []int
			for _, i := range []int{20, 30, 40} {
				switch class, ok := model.LearntClass(p, int64(0), int32(i)); {
				case ok && class == 1:
					got = append(got, i)
				case ok:
					rest = append(rest, i)
				}
			}
			if !slices.Equal(got, c.yes) || !slices.Equal(rest, c.no) {
				t.Errorf("%s, match %d of %v, on expiry %d: %v are learnt as yes and %v as no, want %v and %v", name, c.match,
					c.order, c.onExpiry, got, rest, c.yes, c.no)
			}
		}
	}
}

// TestAWildTimeDrawsNoLabels of its id: the record that came last has them.
func TestAWildTimeDrawsNoLabels(t *testing.T) {
	for _, onExpiry := range []int32{model.Unlabelled, 0} {
		for _, at := range []int64{1000, -1000} { // hours
			spec := newSpec(windows(100, 100))
			spec.Options.ExpireAs = onExpiry
			p := model.NewPartition(spec, 0)
			twice(p, 50, map[int]int64{20: at * 3600, 30: 30})
			p.Labels(&model.Labels{N: 1, Class: []int32{1}, ID: []string{"x"}})
			feed(p, 50, 145, 1, withoutLabel)
			if class, ok := model.LearntClass(p, 0, 30); !ok || class != 1 {
				t.Errorf("on expiry %d, %d h: the record that came last is learnt %v, as %d", onExpiry, at, ok, class)
			}
		}
	}
}

// TestAWindowThatClosesTellsNoTimeAhead: a record of a wild clock is learnt as of stream time, with its label or as it
// expires.
func TestAWindowThatClosesTellsNoTimeAhead(t *testing.T) {
	for _, labelled := range []bool{false, true} {
		spec, s := spySpec(windows(100, 100))
		p := model.NewPartition(spec, 0)
		feed(p, 0, 600, 1, func(b *model.Batch) {
			timed(b)
			if i := b.Row[0]; i == 350 {
				b.Time[0] += int64(48 * time.Hour)
				b.Label[0] = model.Unlabelled
				if labelled {
					b.Label[0] = 1
				}
			} else if b.Label[0] == 0 {
				withoutLabel(b)
			}
		})
		last := int64(0)
		for _, ex := range s.learnt {
			if last = max(last, ex.Time); ex.Time > epoch+int64(600*time.Second) {
				t.Errorf("labelled %v: a record is learnt as of %v after the beginning", labelled, time.Duration(ex.Time-epoch))
			}
		}
		if last < epoch+int64(450*time.Second) {
			t.Errorf("labelled %v: the window of the record is not closed at %v", labelled, time.Duration(last-epoch))
		}
	}
}

// TestRecordsOfAnIDWithoutALabelExpire each for itself; and one that came after the label does, but where labels mean
// the first record: it can get none there.
func TestRecordsOfAnIDWithoutALabelExpire(t *testing.T) {
	for _, match := range []model.Match{model.MatchNewest, model.MatchFirst, model.MatchAll} {
		spec := newSpec(windows(100, 100))
		spec.Options.Match = match
		p := model.NewPartition(spec, 0)
		twice(p, 50, map[int]int64{20: 20, 30: 30})
		p.Labels(&model.Labels{N: 1, Class: []int32{1}, ID: []string{"x"}})
		feed(p, 50, 145, 1, func(b *model.Batch) {
			withoutLabel(b)
			if b.Row[0] == 60 {
				b.ID[0] = "x"
			}
		})
		feed(p, 145, 170, 1, withoutLabel)
		if class, ok := model.LearntClass(p, 0, 60); ok != (match != model.MatchFirst) || ok && class != 0 {
			t.Errorf("match %d: the record after the label is learnt %v, as %d", match, ok, class)
		}
		q := model.NewPartition(spec, 0)
		twice(q, 150, map[int]int64{20: 20, 30: 30})
		if q.Labelled() != 49 {
			t.Errorf("match %d: %v records expire as no, want 49", match, q.Labelled())
		}
	}
}

// TestARecordAfterTheFirstIsNoNo: with MatchFirst a label means the first record of an id. One that comes when that has
// its label can get none, and is not learnt as a "no". Of two with one time the first is the one that came first; one
// whose time is before that of the other is the first itself, and its window passes without a label.
func TestARecordAfterTheFirstIsNoNo(t *testing.T) {
	for _, c := range []struct {
		time   int64 // of the record that comes at 40 s, in seconds; the other has 20
		learnt float64
	}{{40, 198}, {21, 198}, {20, 198}, {19, 199}} {
		spec := newSpec(windows(100, 100))
		spec.Options.Match = model.MatchFirst
		p := model.NewPartition(spec, 0)
		twice(p, 30, map[int]int64{20: 20})
		if c := p.Labels(&model.Labels{N: 1, ID: []string{"x"}, Class: []int32{1}}); c.Waiting != 1 {
			t.Fatalf("%+v", c)
		}
		before := p.Labelled()
		feed(p, 30, 300, 1, func(b *model.Batch) {
			withoutLabel(b)
			if b.Row[0] == 40 {
				b.ID[0], b.Time[0] = "x", c.time*int64(time.Second)
			}
		})
		if n := p.Labelled() - before; n != c.learnt {
			t.Errorf("time %d s: %v records are learnt of 199 whose windows have closed, want %v", c.time, n, c.learnt)
		}
	}
}
