package model_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"liftstream/model"
)

// books are the counts of a partition without a structure, kept without any of its means: all records in a list.
type books struct {
	o       *model.Options
	now     int64
	times   int
	entries []*entry // that wait, oldest first
	byID    map[string]*entry
	byPlace map[[2]int64]*entry
	sum     [2]float64
	square  float64
	clock   float64
	seen    uint64
	lost    model.Losses
}

type entry struct {
	id     string
	at     [2]int64
	class  int32
	weight float64
	learnt bool
	passed bool // a label of its id was for another record
	since  int64
}

// closes reports whether labels wait for the end of the windows of their records.
func (x *books) closes() bool { return x.o.ExpireAs >= 0 && x.o.WaitWindow > 0 && x.o.WaitBytes > 0 }

// rates are the propensities of a record that comes now.
func (x *books) rates() [2]float64 {
	n := x.sum[0] + x.sum[1]
	unit := 1.
	if n > 0 {
		unit = x.square / n
	}
	return [2]float64{(x.sum[0] + unit) / (n + 2*unit), (x.sum[1] + unit) / (n + 2*unit)}
}

func (x *books) learn(class int32, weight float64) {
	if weight > 0 {
		x.sum[class] += weight
		x.square += weight * weight
		x.clock++
	}
}

// tell takes times that never go back, each another one; 0 = there is none.
func (x *books) tell(at int64) {
	if at == 0 {
		return
	}
	if x.times++; x.times < 4 {
		return
	}
	if x.now == 0 {
		for _, e := range x.entries {
			e.since = at
		}
	}
	x.now = at
}

func (x *books) bytes() (n int64) {
	for _, e := range x.entries {
		n += 8*3 + 200 + 2*int64(len(e.id))
		if x.closes() && e.id != "" && x.byID[e.id] != e {
			n += 40
		}
	}
	return n
}

func (x *books) leave(e *entry) {
	x.entries = slices.DeleteFunc(x.entries, func(o *entry) bool { return o == e })
	maps.DeleteFunc(x.byID, func(_ string, o *entry) bool { return o == e })
	maps.DeleteFunc(x.byPlace, func(_ [2]int64, o *entry) bool { return o == e })
	for _, o := range x.entries {
		if x.closes() && o.id == e.id && o.id != "" {
			x.byID[o.id] = o
		}
	}
}

// close learns the records whose windows have closed.
func (x *books) close() {
	for _, e := range slices.Clone(x.entries) {
		if e.learnt || !x.closes() {
			continue
		}
		if x.now-e.since <= x.o.WaitWindow {
			return
		}
		if e.class < 0 {
			e.class = x.o.ExpireAs
			x.lost.Expired++
		}
		if e.passed {
			x.leave(e)
			continue
		}
		x.learn(e.class, e.weight)
		if e.learnt = true; !x.o.Correct {
			x.leave(e)
		}
	}
}

func (x *books) expire() {
	x.close()
	window := x.o.WaitWindow
	if x.closes() && x.o.Correct {
		window += x.o.CorrectFor
	}
	for len(x.entries) > 0 {
		e := x.entries[0]
		if window <= 0 || x.now-e.since <= window {
			break
		}
		if x.leave(e); !e.learnt {
			x.lost.Expired++
		}
	}
	for x.bytes() > x.o.WaitBytes {
		if !x.entries[0].learnt {
			x.lost.Evicted++
		}
		x.leave(x.entries[0])
	}
}

// answered passes over the other records of the id of e that have no label.
func (x *books) answered(e *entry) {
	for _, o := range x.entries {
		if x.closes() && o != e && o.id == e.id && e.id != "" && o.class < 0 {
			o.passed = true
		}
	}
}

// find is the record that a label by an id means, nil where it is passed over.
func (x *books) find(id string) *entry {
	if e := x.byID[id]; e != nil && !e.passed {
		return e
	}
	return nil
}

func (x *books) event(b *model.Batch) {
	x.seen++
	x.tell(b.Time[0])
	e := &entry{id: b.ID[0], at: [2]int64{b.Offset, int64(b.Row[0])}, class: b.Label[0],
		weight: min(b.Weight[0], model.MaxWeight), since: x.now}
	if e.class >= 0 && !x.closes() {
		x.learn(e.class, e.weight)
		e.learnt = true
	}
	if e.class == model.UnknownClass {
		x.lost.UnknownClass++
	}
	if e.class == model.UnknownClass || x.o.WaitBytes == 0 || e.learnt && !x.o.Correct {
		return
	}
	x.entries = append(x.entries, e)
	if e.id != "" {
		x.byID[e.id] = e
	}
	x.byPlace[e.at] = e
	if e.class >= 0 {
		x.answered(e)
	}
	x.expire()
}

func (x *books) label(e *entry, class int32, c *model.LabelCounts) {
	switch {
	case class == model.UnknownClass:
		c.Unknown++
	case class < 0:
	case e == nil:
		c.Unmatched++
	case !e.learnt && x.closes():
		x.answered(e)
		if e.passed = false; e.class < 0 {
			e.class = class
			c.Waiting++
		} else if e.class != class && x.o.Correct {
			e.class = class
			c.Corrected++
		} else {
			c.Repeated++
		}
	case !e.learnt:
		x.learn(class, e.weight)
		c.Learnt++
		if e.learnt, e.class = true, class; !x.o.Correct {
			x.leave(e)
		}
	case e.class == class || !x.o.Correct:
		x.answered(e)
		c.Repeated++
	default:
		x.answered(e)
		x.sum[e.class] -= e.weight
		x.sum[class] += e.weight
		e.class = class
		c.Corrected++
	}
}

// TestThePartitionKeepsItsBooks drives partitions and books over events and labels of all kinds, and compares each
// figure after each: rates, clock, bytes that wait, losses, and the fate of labels.
func TestThePartitionKeepsItsBooks(t *testing.T) {
	for k, change := range []func(o *model.Options){
		func(o *model.Options) { o.WaitWindow, o.WaitBytes = 0, 1<<20 },
		func(o *model.Options) { o.WaitWindow, o.WaitBytes, o.Correct = 0, 1<<20, false },
		func(o *model.Options) { o.WaitWindow = int64(10 * time.Minute) },
		func(o *model.Options) { o.WaitWindow, o.ExpireAs = int64(10*time.Minute), 1 },
		func(o *model.Options) {
			o.WaitWindow, o.ExpireAs, o.CorrectFor = int64(5*time.Minute), 0, int64(4*time.Minute)
		},
		func(o *model.Options) { o.WaitWindow, o.ExpireAs, o.Correct = int64(10*time.Minute), 1, false },
		func(o *model.Options) { o.WaitBytes = 3000 },
		func(o *model.Options) { o.WaitBytes, o.ExpireAs, o.Correct = 3000, 0, false },
		func(o *model.Options) { o.WaitBytes = 0 },
	} {
		drive(t, k, newSpec(func(o *model.Options) {
			o.Warmup = 1 << 30
			change(o)
		}))
	}
}

func drive(t *testing.T, k int, spec *model.Spec) {
	x := &books{o: &spec.Options, byID: map[string]*entry{}, byPlace: map[[2]int64]*entry{}}
	p := model.NewPartition(spec, 4)
	var out model.Scores
	var fates [7]int
	for i := range 1500 {
		u := func(what, n uint64) int { return int(model.Hash(uint64(k), uint64(i), what) % n) }
		if u(1, 3) > 0 {
			b := rows(i, 1)
			b.Row[0], b.ID[0] = int32(u(2, 2)), fmt.Sprint("c", u(3, 40))
			if u(4, 9) == 0 {
				b.ID[0] = ""
			}
			b.Offset = int64(i / 4) // places come twice
			b.Label[0] = int32(u(6, 6)) - 2
			if b.Label[0] > 1 {
				b.Label[0] = model.Unlabelled
			}
			b.Weight = []float64{[]float64{1, 0, 2.5, 1e300, 1, 3}[u(7, 6)]}
			want := x.rates()
			p.Events(b, &out)
			if math.Abs(out.P[0]-want[0])+math.Abs(out.P[1]-want[1]) > 1e-12 || out.BaseRate[0] != out.P[1] ||
				out.Target[0] != 1 || out.Lift[0] != 1 || out.Status[0] != model.StatusUntrained ||
				out.P[out.Segment[0]] < out.P[1-out.Segment[0]] || !math.IsNaN(out.ProfileLift[0]) {
				t.Fatalf("%d, step %d: propensities %v, want %v; %+v", k, i, out.P, want, out)
			}
			x.event(b)
		} else {
			class := int32(u(2, 5)) - 2
			if class > 1 {
				class = 1
			}
			l := &model.Labels{N: 1, Class: []int32{class}, Time: []int64{int64(i) * int64(time.Second)}}
			want := model.LabelCounts{}
			if u(3, 2) == 0 {
				l.ID = []string{fmt.Sprint("c", u(4, 45))}
				x.label(x.find(l.ID[0]), class, &want)
			} else {
				l.Partition, l.Offset, l.Row = []int32{4}, []int64{int64(i/4 - u(4, 6))}, []int32{int32(u(5, 3))}
				if u(6, 9) == 0 && class >= 0 {
					l.Partition[0], want.Misrouted = 5, 1
				} else {
					x.label(x.byPlace[[2]int64{l.Offset[0], int64(l.Row[0])}], class, &want)
				}
			}
			if got := p.Labels(l); got != want {
				t.Fatalf("%d, step %d: labels %+v, want %+v", k, i, got, want)
			}
			for j, n := range []int{want.Learnt, want.Corrected, want.Repeated, want.Unmatched, want.Misrouted, want.Unknown,
				want.Waiting} {
				fates[j] += n
			}
			x.tell(l.Time[0])
			x.expire()
		}
		if p.Labelled() != x.clock || p.Seen() != x.seen || p.Losses() != x.lost || p.Waiting() != x.bytes() {
			t.Fatalf("%d, step %d: clock %v, want %v; seen %d, want %d; lost %+v, want %+v; %d bytes wait, want %d", k, i,
				p.Labelled(), x.clock, p.Seen(), x.seen, p.Losses(), x.lost, p.Waiting(), x.bytes())
		}
	}
	for j, name := range []string{"learnt", "corrected", "repeated", "unmatched", "misrouted", "unknown", "waiting"} {
		never := map[int]bool{
			0: x.o.WaitBytes == 0 || x.closes(), 1: x.o.WaitBytes == 0 || !x.o.Correct, 6: !x.closes(),
			2: x.o.WaitBytes == 0 || !x.o.Correct && !x.closes()}
		if (fates[j] == 0) != never[j] {
			t.Errorf("%d: %d labels were %s: the test would say nothing", k, fates[j], name)
		}
	}
}
