package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/evaluate"
)

// slowBoard keeps every record and counts anew at each look.
type slowBoard struct {
	schema *model.Schema
	skip   int
	parts  map[int32][]slowRecord
	model  map[int32]int64
}

type slowRecord struct {
	place  string
	who    string
	order  int // of its message, row by row
	time   time.Time
	status model.Status
	rank   float64
	p      []float64
	class  int32
	weight float64
}

func (b *slowBoard) take(batch *model.Batch, s *model.Scores) {
	b.model[batch.Partition] = max(b.model[batch.Partition], s.Model)
	for i := range batch.N {
		r := slowRecord{place: fmt.Sprintf("%d/%d/%d", batch.Partition, batch.Offset, batch.Row[i]), who: batch.ID[i],
			time: time.Unix(0, batch.Time[i]), status: s.Status[i], rank: s.Lift[i],
			p: slices.Clone(s.P[i*s.Classes : (i+1)*s.Classes]), class: batch.Label[i], weight: batch.Weight[i]}
		if b.schema.Positive >= 0 {
			r.rank = r.p[b.schema.Positive]
		}
		b.parts[batch.Partition] = append(b.parts[batch.Partition], r)
	}
}

// last are the places of the newest records.
func (b *slowBoard) last() (places []string) {
	var all []slowRecord
	for _, records := range b.parts {
		all = append(all, records...)
	}
	slices.SortFunc(all, func(x, y slowRecord) int { return y.time.Compare(x.time) })
	for _, r := range all[:min(Kept, len(all))] {
		places = append(places, r.place)
	}
	return places
}

// calls are the places of the call list: the best of each block, of each id the newest.
func (b *slowBoard) calls() (places []string) {
	var all []slowRecord
	for _, records := range b.parts {
		for i := range records {
			records[i].order = i
		}
		for block := max(0, len(records)/callsRecords-callsBlocks+1); block*callsRecords < len(records); block++ {
			best := slices.Clone(records[block*callsRecords : min(len(records), (block+1)*callsRecords)])
			best = slices.DeleteFunc(best, func(r slowRecord) bool { return r.status != model.StatusOK })
			slices.SortFunc(best, func(x, y slowRecord) int { return cmp.Compare(y.rank, x.rank) })
			all = append(all, best[:min(callsKept, len(best))]...)
		}
	}
	slices.SortFunc(all, func(x, y slowRecord) int { return cmp.Compare(y.rank, x.rank) })
	for _, r := range all {
		older := slices.ContainsFunc(all, func(x slowRecord) bool { return x.who == r.who && x.order > r.order })
		if !older && len(places) < callsKept {
			places = append(places, r.place)
		}
	}
	return places
}

// quality is that of the evaluation on all counted records, with the blocks of each partition.
func (b *slowBoard) quality(t *testing.T) (q Quality, want *evaluate.Metrics) {
	t.Helper()
	all := evaluate.NewSet(len(b.schema.Classes))
	byClass, weight := make([]float64, len(b.schema.Classes)), 0.0
	var blocks [][]float64
	sum, defined, longest := 0.0, 0.0, 0
	for _, part := range slices.Sorted(func(yield func(int32) bool) {
		for p := range b.parts {
			if !yield(p) {
				return
			}
		}
	}) {
		block, course := evaluate.NewSet(len(b.schema.Classes)), []float64(nil)
		for i, r := range b.parts[part] {
			if i < b.skip || r.class < 0 || r.status == model.StatusUntrained {
				continue
			}
			if r.weight > 0 {
				q.Records++
			}
			weight += r.weight
			byClass[r.class] += r.weight
			for _, set := range []*evaluate.Set{all, block} {
				if err := set.Add(int64(set.Len()), r.p, r.class, r.weight); err != nil {
					t.Fatal(err)
				}
			}
			if block.Len() == evaluate.BlockRecords {
				course = append(course, block.AUC())
				sum, defined = sum+block.AUC(), defined+1
				block = evaluate.NewSet(len(b.schema.Classes))
			}
		}
		blocks, longest = append(blocks, course), max(longest, len(course))
	}
	for back := longest; back > 0; back-- {
		m, k := 0.0, 0.0
		for _, course := range blocks {
			if len(course) >= back {
				m, k = m+course[len(course)-back], k+1
			}
		}
		q.Course = append(q.Course, evaluate.Number(m/k))
	}
	base := 0.0
	for _, w := range byClass {
		base -= w / weight * math.Log(w/weight)
	}
	q.BaseLoss, q.AUCBlocks = evaluate.Number(base), evaluate.Number(sum/defined)
	if b.schema.Positive >= 0 {
		q.BaseRate = evaluate.Number(byClass[b.schema.Positive] / weight)
	}
	return q, all.Metrics(b.schema.Positive, 1)
}

func places(records []Record) (out []string) {
	for _, r := range records {
		out = append(out, fmt.Sprintf("%d/%d/%d", r.Partition, r.Offset, r.Row))
	}
	return out
}

// TestBoardAgainstOneThatKeepsEverything: partitions of different pace, messages in parts, messages that come again,
// records of every status, with weights, without label, ids that come back.
func TestBoardAgainstOneThatKeepsEverything(t *testing.T) {
	for _, positive := range []int{1, -1} {
		s := schema(positive, "no", "yes", "maybe")
		board := NewBoard(s, 40)
		slow := &slowBoard{schema: s, skip: 40, parts: map[int32][]slowRecord{}, model: map[int32]int64{}}
		offsets, clock := map[int32]int64{}, int64(0)
		for step := range 260 {
			h := model.Hash(11, uint64(step))
			part := []int32{0, 0, 0, 0, 1, 1, 2}[h%7]
			offset := offsets[part]
			offsets[part]++
			whole, out, l := scored(s, part, offset, 20+int(h>>8%60))
			vary(whole, out, int64(step)/20, &clock)
			cut := int(h >> 16 % uint64(whole.N+1)) // none, a part, or all
			for _, at := range [][2]int{{0, cut}, {cut, whole.N}} {
				if at[0] == at[1] {
					continue
				}
				b, scores := cutOut(whole, out, at[0], at[1])
				board.Scores(part, b, scores, l)
				slow.take(b, scores)
				if h>>24%5 == 0 { // an aborted transaction shows it again, with those before
					board.Scores(part, b, scores, l)
				}
			}
			if h>>32%5 == 0 {
				b, scores := cutOut(whole, out, 0, whole.N)
				b.Offset = max(0, offset-1)
				board.Scores(part, b, scores, l)
			}
			if step%20 != 19 {
				continue
			}
			compare(t, fmt.Sprintf("positive %d, step %d", positive, step), slow, board.View(), step == 259)
		}
	}
}

// vary makes no two records of a batch alike.
func vary(b *model.Batch, out *model.Scores, version int64, clock *int64) {
	out.Model = version
	b.Weight = make([]float64, b.N)
	for i := range b.N {
		h := model.Hash(12, uint64(b.Partition), uint64(b.Offset), uint64(i))
		*clock += 1_000_000
		b.Time[i], b.Row[i], b.Weight[i] = *clock, int32(2*i+1), float64(h%4)
		b.ID[i] = fmt.Sprint("customer ", h>>8%3000, " of ", b.Partition)
		out.Lift[i] = 3 * float64(h>>20%1_000_003) / 1_000_003
		switch h >> 40 % 9 {
		case 0:
			out.Status[i] = model.StatusUntrained
		case 1, 2:
			out.Status[i] = model.StatusDegraded
		case 3:
			b.Label[i] = model.Unlabelled
		}
	}
}

// cutOut is a part of a batch, as a long message is shown.
func cutOut(b *model.Batch, s *model.Scores, from, to int) (*model.Batch, *model.Scores) {
	part := &model.Batch{N: to - from, Partition: b.Partition, Offset: b.Offset, Label: b.Label[from:to],
		Row: b.Row[from:to], ID: b.ID[from:to], Time: b.Time[from:to], Weight: b.Weight[from:to]}
	out := &model.Scores{}
	out.Reset(to-from, s.Classes)
	out.Model = s.Model
	for i := range to - from {
		at := from + i
		copy(out.P[i*s.Classes:], s.P[at*s.Classes:(at+1)*s.Classes])
		out.Status[i], out.Target[i], out.Segment[i] = s.Status[at], s.Target[at], s.Segment[at]
		out.Lift[i], out.BaseRate[i] = s.Lift[at], s.BaseRate[at]
	}
	return part, out
}

func compare(t *testing.T, at string, slow *slowBoard, v View, close bool) {
	t.Helper()
	var n, untrained, degraded uint64
	version := int64(0)
	for part, records := range slow.parts {
		version = max(version, slow.model[part])
		for _, r := range records {
			n++
			switch r.status {
			case model.StatusUntrained:
				untrained++
			case model.StatusDegraded:
				degraded++
			}
		}
	}
	if v.Scored != n || v.Untrained != untrained || v.Degraded != degraded || v.Model != version {
		t.Fatalf("%s: %d scored, %d untrained, %d degraded, model %d; want %d, %d, %d, model %d", at, v.Scored, v.Untrained,
			v.Degraded, v.Model, n, untrained, degraded, version)
	}
	if got, want := places(v.Last), slow.last(); !slices.Equal(got, want) {
		t.Errorf("%s: the newest are %q, want %q", at, got, want)
	}
	if got, want := places(v.Calls), slow.calls(); !slices.Equal(got, want) {
		t.Errorf("%s: to be called are %q, want %q", at, got, want)
	}
	if !close {
		return
	}
	q, all := slow.quality(t)
	if v.Quality.Records != q.Records || len(v.Quality.Course) != len(q.Course) || len(q.Course) < 4 {
		t.Fatalf("%s: %d counted in %d blocks, want %d in %d", at, v.Quality.Records, len(v.Quality.Course), q.Records,
			len(q.Course))
	}
	type figure struct {
		name      string
		got, want evaluate.Number
		tolerance float64
	}
	figures := []figure{{"log-loss", v.Quality.LogLoss, all.LogLoss, 1e-12}, {"AUC", v.Quality.AUC, all.AUC, 1e-3},
		{"AUC of blocks", v.Quality.AUCBlocks, q.AUCBlocks, 1e-12}, {"base loss", v.Quality.BaseLoss, q.BaseLoss, 1e-12}}
	for i, x := range q.Course {
		figures = append(figures, figure{fmt.Sprint("block ", i), v.Quality.Course[i], x, 1e-12})
	}
	if slow.schema.Positive >= 0 {
		figures = append(figures, figure{"base rate", v.Quality.BaseRate, q.BaseRate, 1e-12},
			figure{"lift of the best tenth", v.Quality.Lift, all.LiftAt["0.1"], .03},
			figure{"share of the best tenth", v.Quality.Capture, all.LiftAt["0.1"] / 10, .003})
	}
	for _, x := range figures {
		if !(math.Abs(float64(x.got-x.want)) <= x.tolerance) {
			t.Errorf("%s: %s is %v, want %v", at, x.name, x.got, x.want)
		}
	}
}

// TestCourseIsBounded, and its newest blocks stay.
func TestCourseIsBounded(t *testing.T) {
	r := newRunning(2, 1)
	set, want := evaluate.NewSet(2), []float64(nil)
	for i := range (maxBlocks + 3) * evaluate.BlockRecords {
		h := model.Hash(5, uint64(i))
		p, class := float64(h%100+1)/102, int32(0)
		if float64(h>>10%100)/100 < p {
			class = 1
		}
		r.add([]float64{1 - p, p}, class, 1)
		if err := set.Add(int64(i), []float64{1 - p, p}, class, 1); err != nil {
			t.Fatal(err)
		}
		if set.Len() == evaluate.BlockRecords {
			want, set = append(want, set.AUC()), evaluate.NewSet(2)
		}
	}
	if !slices.Equal(r.course, want[3:]) {
		t.Errorf("%d blocks are kept, want the newest %d", len(r.course), maxBlocks)
	}
	if before := r.snapshot(); len(before.course) > 0 {
		r.add([]float64{.1, .9}, 1, 5)
		r.course[0] = -1
		if before.course[0] == -1 || before.classes[1] == r.classes[1] || *before.ranked[0] == *r.ranked[0] {
			t.Error("a snapshot changes with its measure")
		}
	}
}

// TestAUCIsThatOfTheEvaluation: with and without a positive class, up to the bound of classes; the best tenth is that
// of the positive class.
func TestAUCIsThatOfTheEvaluation(t *testing.T) {
	for _, c := range []struct{ classes, positive int }{{2, -1}, {2, 0}, {3, 2}, {3, -1}, {maxRanked, -1},
		{maxRanked, 4}, {maxRanked + 1, -1}, {maxRanked + 1, 4}} {
		names := make([]string, c.classes)
		for i := range names {
			names[i] = fmt.Sprint("class ", i)
		}
		s := schema(c.positive, names...)
		board, set := NewBoard(s, 0), evaluate.NewSet(c.classes)
		b, out, l := scored(s, 0, 0, 1500)
		board.Scores(0, b, out, l)
		for i := range b.N {
			if err := set.Add(int64(i), out.P[i*c.classes:(i+1)*c.classes], b.Label[i], 1); err != nil {
				t.Fatal(err)
			}
		}
		q, want := board.View().Quality, set.Metrics(c.positive, 1)
		if c.classes > maxRanked {
			want.AUC, want.AUCBlocks = evaluate.Number(math.NaN()), evaluate.Number(math.NaN())
		}
		tenth := want.LiftAt["0.1"]
		if c.classes > 2 && c.positive < 0 {
			tenth = evaluate.Number(math.NaN()) // the page has none
		}
		for _, x := range []struct {
			name      string
			got, want evaluate.Number
			tolerance float64
		}{{"AUC", q.AUC, want.AUC, 2e-3}, {"AUC of blocks", q.AUCBlocks, want.AUCBlocks, 1e-12},
			{"lift of the best tenth", q.Lift, tenth, .03 * float64(tenth)}} {
			got, ok := float64(x.got), math.IsNaN(float64(x.got)) && math.IsNaN(float64(x.want))
			if !ok && !(math.Abs(got-float64(x.want)) <= x.tolerance) {
				t.Errorf("%d classes, positive %d: %s is %v, want %v", c.classes, c.positive, x.name, x.got, x.want)
			}
		}
	}
}

// TestRestoredMessagesAreNotCountedAgain: the stage shows the messages behind the restored ones alone.
func TestRestoredMessagesAreNotCountedAgain(t *testing.T) {
	s := schema(1, "no", "yes")
	board := NewBoard(s, 0)
	b, out, l := scored(s, 0, 5, 3)
	for i := range b.N {
		board.Restore(Past{Offset: 5, Class: b.Label[i], P: out.P[2*i : 2*i+2], Trained: i > 0, Rank: math.NaN()})
	}
	board.Restore(Past{Offset: 4, Class: 1, P: []float64{.5, .5}, Trained: true, Rank: math.NaN()})
	for _, offset := range []int64{4, 5, 6} {
		b.Offset = offset
		board.Scores(0, b, out, l)
	}
	if v := board.View(); v.Scored != 7 || v.Untrained != 1 || v.Quality.Records != 6 || len(v.Calls) != 3 ||
		v.Calls[0].Offset != 6 {
		t.Errorf("%d scored, %d untrained, %d counted, to be called %q", v.Scored, v.Untrained, v.Quality.Records,
			places(v.Calls))
	}
}
