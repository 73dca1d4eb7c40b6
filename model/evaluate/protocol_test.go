package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/murmur2"
)

func testSchema() *model.Schema {
	return &model.Schema{
		Features: []model.Feature{{Name: "x"}, {Name: "job", Kind: model.Nominal}},
		Classes:  []string{"no", "yes"},
		Positive: 1,
	}
}

// stream is n records in batches of the given size: x and job tell something of the class, a tenth have no label, one
// in fifty a label that is not configured, weights are 1 to 3 where weighted.
func stream(n, size int, weighted, ids bool) Source {
	return func(yield func(*model.Batch, error) bool) {
		for a := 0; a < n; a += size {
			b := &model.Batch{N: min(size, n-a), Offset: int64(a / size), Columns: []model.Column{{}, {}}}
			for i := a; i < a+b.N; i++ {
				u := func(k int) float64 { return uniform(21, i, k) }
				y := int32(0)
				if u(1) < .3 {
					y = 1
				}
				b.Columns[0].Float = append(b.Columns[0].Float, u(2)+.7*float64(y))
				// The levels of a batch are its own, in an order that depends on the batch.
				job := fmt.Sprint("job ", int(u(3)*3)+int(y))
				code := -1
				for c, t := range b.Columns[1].Levels {
					if t == job {
						code = c
					}
				}
				if code < 0 {
					code = len(b.Columns[1].Levels)
					b.Columns[1].Levels = append(b.Columns[1].Levels, job)
				}
				if u(4) < .05 {
					b.Columns[1].Code = append(b.Columns[1].Code, model.MissingCode)
				} else {
					b.Columns[1].Code = append(b.Columns[1].Code, uint32(code))
				}
				switch {
				case u(5) < .1:
					y = model.Unlabelled
				case u(6) < .02:
					y = model.UnknownClass
				}
				b.Label = append(b.Label, y)
				b.Row = append(b.Row, int32(i-a))
				if weighted {
					b.Weight = append(b.Weight, 1+math.Floor(3*u(7)))
				}
				if ids {
					b.ID = append(b.ID, fmt.Sprint("customer ", i*7919%n))
				}
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

type seen struct {
	Index, Partition int64
	Class            int32
	Weight           float64
	P                float64
}

func collect(into *[]seen) Sink {
	return func(r *Record) error {
		*into = append(*into, seen{r.Index, int64(r.Partition), r.Class, r.Weight, r.Scores[0].P[2*r.Row+1]})
		return nil
	}
}

// TestPrequentialOrder: the base rate that scores a record counts exactly the labels that had arrived in its partition.
func TestPrequentialOrder(t *testing.T) {
	s := testSchema()
	const n = 3456
	for _, delay := range []int{0, 1, 10, 700, n + 5} {
		for _, partitions := range []int{1, 3} {
			var got []seen
			run, err := Prequential(t.Context(), s, stream(n, 100, true, false), []Method{Prior(s)},
				Options{Delay: delay, Partitions: partitions}, collect(&got))
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != n || run.Records != n || run.Delay != delay || run.Partitions != partitions || run.Lost != 0 {
				t.Fatalf("delay %d, partitions %d: %d records to the sink, run %+v", delay, partitions, len(got), run)
			}
			learnt, square := make([][2]float64, partitions), make([]float64, partitions)
			count := int64(0)
			for i, r := range got {
				// Delay 0 and delay 1 agree: a label that comes one record later is learnt before the next but one.
				if late := i - 1 - delay; late >= 0 {
					if l := got[late]; l.Class >= 0 {
						learnt[l.Partition][l.Class] += l.Weight
						square[l.Partition] += l.Weight * l.Weight
						count++
					}
				}
				c := learnt[i%partitions]
				u := model.Unit(c[0]+c[1], square[i%partitions])
				want := (c[1] + u) / (c[0] + c[1] + 2*u)
				if r.Index != int64(i) || r.Partition != int64(i%partitions) || math.Abs(r.P-want) > 1e-15 {
					t.Fatalf("delay %d, partitions %d: record %d: %+v, want a rate of %v", delay, partitions, i, r, want)
				}
			}
			if late := n - 1 - delay; late >= 0 && got[late].Class >= 0 {
				count++
			}
			if run.Learnt != count {
				t.Errorf("delay %d: %d learnt, want %d", delay, run.Learnt, count)
			}
		}
	}
}

func TestBatchesHaveNoEffect(t *testing.T) {
	s := testSchema()
	for _, opt := range []Options{{}, {Delay: 37}, {Partitions: 4}, {Partitions: 3, Delay: 5}} {
		var first []seen
		for _, size := range []int{1, 7, 1000, 1e6} {
			var got []seen
			src := stream(2500, size, true, true)
			if _, err := Prequential(t.Context(), s, src, []Method{Prior(s)}, opt, collect(&got)); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = got
			}
			if !reflect.DeepEqual(first, got) {
				t.Errorf("%+v: batches of %d records give other scores", opt, size)
			}
		}
	}
}

// TestMurmur2 has the values of the tests of Kafka's client for Java.
func TestMurmur2(t *testing.T) {
	for key, want := range map[string]int32{"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107} {
		if got := int32(murmur2.Sum(key)); got != want {
			t.Errorf("murmur2(%q) = %d, want %d", key, got, want)
		}
	}
}

// TestIDsChooseThePartition: records of one id meet in one partition.
func TestIDsChooseThePartition(t *testing.T) {
	s := testSchema()
	counts := map[int32]int{}
	_, err := Prequential(
		t.Context(),
		s,
		stream(2000, 64, false, true),
		[]Method{Prior(s)},
		Options{Partitions: 5},
		func(r *Record) error {
			counts[r.Partition]++
			if want := int32(murmur2.Partition(r.Batch.ID[r.Row], 5)); r.Partition != want {
				return fmt.Errorf("id %q in partition %d, want %d", r.Batch.ID[r.Row], r.Partition, want)
			}
			return nil
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	for p := range int32(5) {
		if counts[p] < 300 {
			t.Errorf("partition %d has %d of 2000 records", p, counts[p])
		}
	}
}

func TestErrorsEndTheRun(t *testing.T) {
	s := testSchema()
	broken := errors.New("broken")
	bad := func(yield func(*model.Batch, error) bool) {
		for b, err := range stream(300, 100, false, false) {
			if !yield(b, err) {
				return
			}
		}
		yield(nil, broken)
	}
	ignore := func(*Record) error { return nil }
	if _, err := Prequential(t.Context(), s, bad, []Method{Prior(s)}, Options{}, ignore); !errors.Is(err, broken) ||
		!strings.Contains(err.Error(), "record 300") {
		t.Errorf("source fails: %v", err)
	}
	whole, methods := stream(300, 100, false, false), []Method{Prior(s)}
	fail := func(*Record) error { return broken }
	if _, err := Prequential(t.Context(), s, whole, methods, Options{}, fail); !errors.Is(err, broken) {
		t.Errorf("sink fails: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Prequential(ctx, s, whole, methods, Options{}, ignore); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Folds(ctx, s, whole, methods, 3, StratifiedFolds(3, 1), ignore); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled folds: %v", err)
	}
}

func TestFolds(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	s := testSchema()
	const n, k = 2345, 5
	fold := StratifiedFolds(k, 3)
	of := make([]int, n)
	classes := make([]int32, n)
	counts := map[[2]int]int{}
	f, i := fold(), 0
	for b := range stream(n, 64, true, false) {
		for r := range b.N {
			of[i], classes[i] = f(int64(i), b.Label[r]), b.Label[r]
			counts[[2]int{of[i], int(classes[i])}]++
			i++
		}
	}
	for c := -2; c < 2; c++ {
		for a := range k {
			if d := counts[[2]int{a, c}] - counts[[2]int{0, c}]; d < -1 || d > 1 {
				t.Errorf("class %d: fold %d has %d records, fold 0 has %d", c, a, counts[[2]int{a, c}], counts[[2]int{0, c}])
			}
		}
	}
	var got []seen
	e := NewEvaluation(s, []Method{Prior(s)}, 0, 1)
	run, err := Folds(t.Context(), s, stream(n, 64, false, false), []Method{Prior(s)}, k, fold, func(r *Record) error {
		if err := collect(&got)(r); err != nil {
			return err
		}
		return e.Add(r)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != n || run.Records != n || run.Protocol != "folds" {
		t.Fatalf("%d scored, run %+v", len(got), run)
	}
	for _, r := range got {
		c := [2]float64{1, 1}
		for j, y := range classes {
			if y >= 0 && of[j] != of[r.Index] {
				c[y]++
			}
		}
		if r.Class != classes[r.Index] || math.Abs(r.P-c[1]/(c[0]+c[1])) > 1e-15 {
			t.Fatalf("record %d: %+v, want the rate of the other folds %v", r.Index, r, c[1]/(c[0]+c[1]))
		}
	}
	res, err := e.Result(run)
	if err != nil {
		t.Fatal(err)
	}
	if ix := e.Set("prior").Index; res.Scored != int64(len(ix)) || ix[0] > ix[1] || len(res.Drift) != 0 {
		t.Errorf("result of folds: scored %d, first records %v, drift %v", res.Scored, ix[:2], res.Drift)
	}
}

// TestResult: the JSON has the fields of the interface, and nothing that JSON cannot say.
func TestResult(t *testing.T) {
	s := testSchema()
	methods := []Method{{Name: "all", New: Prior(s).New}, Prior(s)}
	e := NewEvaluation(s, methods, 1000, 1)
	run, err := Prequential(t.Context(), s, stream(9000, 512, false, false), methods, Options{}, e.Add)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Result(run)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for _, k := range strings.Fields("protocol delay partitions records scored classes positive methods against " +
		"gains curve drift stability records_per_second") {
		if _, ok := m[k]; !ok {
			t.Errorf("no %q in %s", k, b)
		}
	}
	all := m["methods"].(map[string]any)["all"].(map[string]any)
	for _, k := range strings.Fields("log_loss auc auc_blocks average_precision brier accuracy ks calibration_error " +
		"calibration_slope calibration_intercept lift_at log_loss_interval mean_subspace") {
		if _, ok := all[k]; !ok {
			t.Errorf("no %q in %v", k, all)
		}
	}
	if d := r.Against["prior"]; d.LogLoss != 0 || d.Interval != (Interval{}) || r.Against["all"] != nil {
		t.Errorf("a method against itself: %+v", d)
	}
	if r.Records != 9000 || r.Scored < 6500 || r.Scored > 7200 || len(r.Gains) != 20 || len(r.Drift) != 4 {
		t.Errorf("records %d, scored %d, %d gains, %d drifts", r.Records, r.Scored, len(r.Gains), len(r.Drift))
	}
	near(t, "all records capture all positives", r.Gains[19].Capture, 1, 1e-12)
	near(t, "prior auc_blocks", r.Methods["all"].AUCBlocks, .5, .05)
}

// TestTreatmentsComeWithTheLabels: learners see each with its label, at once or later, and never before.
func TestTreatmentsComeWithTheLabels(t *testing.T) {
	s := &model.Schema{Features: []model.Feature{{Name: "x"}}, Classes: []string{"no", "yes"}, Positive: 1}
	const n = 30
	b := &model.Batch{N: n, Columns: make([]model.Column, 1)}
	for i := range n {
		b.Columns[0].Float, b.Label = append(b.Columns[0].Float, float64(i)), append(b.Label, int32(i&1))
		b.Treated = append(b.Treated, model.Treatment(i%3))
	}
	src := func(yield func(*model.Batch, error) bool) { yield(b, nil) }
	for _, delay := range []int{0, 4} {
		spy := &treatments{}
		methods := []Method{{Name: "spy", New: func(int32) Learner { return spy }}}
		sink := func(*Record) error { return nil }
		if _, err := Prequential(t.Context(), s, src, methods, Options{Delay: delay}, sink); err != nil {
			t.Fatal(err)
		}
		got := spy.events
		if delay > 0 {
			got = spy.labels
		}
		if len(got) != n-delay {
			t.Errorf("delay %d: %d treatments with labels", delay, len(got))
		}
		for i, x := range got {
			if x != b.Treated[i] {
				t.Errorf("delay %d: record %d has treatment %d", delay, i, x)
			}
		}
	}
}

// treatments is a learner that notes the treatments of labelled events and of labels.
type treatments struct{ events, labels []model.Treatment }

func (l *treatments) Events(b *model.Batch, out *model.Scores) {
	out.Reset(b.N, 2)
	for i := range b.N {
		out.P[2*i] = 1
		if b.Label[i] >= 0 {
			l.events = append(l.events, b.Treated[i])
		}
	}
}

func (l *treatments) Labels(x *model.Labels) (c model.LabelCounts) {
	l.labels = append(l.labels, x.Treated[:x.N]...)
	return c
}
