package stream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/stream/embedded"
	"liftstream/stream/internal/sample"
	"liftstream/stream/replay"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// asking is record i of a partition as a request has it: without a label, and with a level that nobody sends.
func asking(partition, i int, level string) *model.Batch {
	b := sample.Records(partition*1_000_000+i, 1)
	b.Partition, b.Offset, b.ID, b.Label[0] = int32(partition), -1, []string{streamtest.RecordID(partition, i)},
		model.Unlabelled
	if level != "" {
		b.Columns[1].Levels[b.Columns[1].Code[0]] = level
	}
	return b
}

// TestAskingDisturbsNoScore: a stage that is asked all the time writes the scores and the states of a replay without
// questions. When it is idle, an answer is the score, to the last bit, of the same record a moment later.
func TestAskingDisturbsNoScore(t *testing.T) {
	b, err := embedded.Start(embedded.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w := newWorld(t, b.Addr(), 2)
	o := w.options(w.Client)
	o.FitEvery = time.Hour // one model at the first chance
	w.Produce(2000, 100, true)
	r := w.run(o)
	ctx, stop := context.WithCancel(t.Context())
	var askers sync.WaitGroup
	var answered atomic.Int64
	for k := range 3 {
		askers.Go(func() {
			for i := k; ctx.Err() == nil; i += 3 {
				err := Ask(ctx, r.stage, i%2, asking(i%2, i, fmt.Sprint("asked ", i)), func(s *model.Scores, _ *model.Levels) {
					if p := s.P[0] + s.P[1]; math.Abs(p-1) > 1e-9 {
						t.Errorf("propensities of %v", s.P)
					}
				})
				if err == nil {
					answered.Add(1)
				}
			}
		})
	}
	w.published(r, 1)
	w.SendLabels(0, 40) // once more
	w.Produce(600, 30, true)
	w.caught(r)
	r.await(t, "nobody was answered", func(Status) bool { return answered.Load() > 20 })
	stop()
	askers.Wait()
	compared := 0
	for i := range 10 {
		var answer []float64
		var serves string
		next := w.Next[1]
		if err := Ask(t.Context(), r.stage, 1, asking(1, next, ""), func(s *model.Scores, _ *model.Levels) {
			answer, serves = slices.Clone(s.P), fmt.Sprint(s.Model)
		}); err != nil {
			t.Fatal(err)
		}
		w.Produce(1, 1, true)
		w.caught(r)
		sent, _, models := w.propensities(1, next)
		if len(sent) == 1 && models[0] != serves {
			continue // another model has come in between
		}
		if compared++; len(sent) != 1 || sent[0] != answer[1] {
			t.Errorf("record %d is answered by model %s with %v, and scored %v", i, serves, answer, sent)
		}
	}
	if compared == 0 {
		t.Error("no answer and score are of the same model")
	}
	r.end(t)
	w.ExactlyOnce()
	clean(t, w.options(w.Client))
	if held, of := Partitions(r.stage); len(held) != 0 || of != 2 {
		t.Errorf("after the end it holds %v of %d", held, of)
	}
}

// TestWhoCannotAnswerSaysSo: another owner, a task in each of its phases, and one at which too many wait already.
func TestWhoCannotAnswerSaysSo(t *testing.T) {
	s := &Stage{o: Options{Now: time.Now}, generation: 3, partitions: 4}
	var tasks []*task
	for _, id := range []int{1, 2} {
		x := &task{s: s, id: id, questions: make(chan *question, 1)}
		x.board.o = &s.o
		x.board.phase(Running, "")
		tasks = append(tasks, x)
	}
	s.tasks = tasks
	ask := func(ctx context.Context, partition int) error {
		return Ask(ctx, s, partition, &model.Batch{}, func(*model.Scores, *model.Levels) { t.Error("it answers") })
	}
	var other *NotHeldError
	if err := ask(t.Context(), 0); !errors.As(err, &other) || other.Partition != 0 ||
		!slices.Equal(other.Held, []int{1, 2}) {
		t.Errorf("partition 0: %v", err)
	}
	if held, of := Partitions(s); !slices.Equal(held, []int{1, 2}) || of != 4 {
		t.Errorf("it holds %v of %d", held, of)
	}
	var busy *BusyError
	for p := range Ended {
		tasks[0].board.phase(p, "")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := ask(ctx, 1)
		if waits := len(tasks[0].questions) == 1; !errors.As(err, &busy) || busy.Doing != p.String() ||
			waits != (p == Running || p == Paused || p == Draining) {
			t.Errorf("%v: %v", p, err)
		}
		if p.answers() {
			if err := ask(ctx, 1); !errors.As(err, &busy) || !busy.Full {
				t.Errorf("%v, full: %v", p, err)
			}
			answerAsked(tasks[0]) // whose askers have gone
		}
	}
	tasks[0].board.phase(Ended, "")
	if err := ask(t.Context(), 1); !errors.As(err, &other) || !slices.Equal(other.Held, []int{2}) {
		t.Errorf("ended: %v", err)
	}
	// A panic is the error of its request alone.
	done := make(chan error)
	go func() { done <- ask(t.Context(), 2) }()
	(<-tasks[1].questions).answer(tasks[1]) // it has no state
	if err := <-done; !errors.Is(err, errAsked) {
		t.Errorf("a panic is %v", err)
	}
}

// TestAnsweringMakesWayForTheStream: a task answers until the records that it answered for are enough, and then goes on
// with its messages until it has taken in as many; small questions are answered together.
func TestAnsweringMakesWayForTheStream(t *testing.T) {
	for _, c := range []struct{ rows, left, until int }{{AskRows, 4, AskRows - answeredRows + 1}, {answeredRows, 4, 1},
		{answeredRows / 2, 3, 1}, {1, 0, 0}} {
		x := &task{questions: make(chan *question, 5), answerable: answeredRows}
		for range cap(x.questions) {
			q := &question{batch: &model.Batch{N: c.rows}, done: make(chan struct{})}
			q.taken.Store(true) // its asker has gone
			x.questions <- q
		}
		if answerAsked(x); len(x.questions) != c.left {
			t.Errorf("of 5 questions of %d records %d are left, want %d", c.rows, len(x.questions), c.left)
		}
		records := 0
		for ; len(x.questions) == c.left && c.left > 0; records++ {
			answerAsked(x)
		}
		if records != c.until {
			t.Errorf("after questions of %d records the next one is answered %d records later, want %d", c.rows, records,
				c.until)
		}
		for range 3 * answeredRows {
			answerAsked(x)
		}
		if x.answerable > answeredRows {
			t.Errorf("it may answer %d records at once", x.answerable)
		}
	}
}

// TestQuestionsAreAnsweredBeforeEachRow: one that comes within a message waits for no more than the row in hand, while
// the end of the stage is looked for once a slice.
func TestQuestionsAreAnsweredBeforeEachRow(t *testing.T) {
	for features, want := range map[int]int{0: sliceWork, 1: sliceWork / 2, sliceWork - 1: 1, 2 * sliceWork: 1} {
		if got := slice(&model.Schema{Features: make([]model.Feature, features)}); got != want {
			t.Errorf("%d features: slices of %d rows, want %d", features, got, want)
		}
	}
	s := &Stage{o: Options{Now: time.Now, Spec: &model.Spec{Schema: &model.Schema{Features: make([]model.Feature, 15)}}}}
	x := &task{s: s, questions: make(chan *question, 1)}
	x.m, x.course = &replay.Machine{}, working
	x.board.o = &s.o
	ctx, end := context.WithCancel(t.Context())
	x.during(ctx, "events", &txn.Record{}, 0, func(more func(row int) bool) {
		for row := range 300 {
			q := &question{batch: &model.Batch{N: 1}, done: make(chan struct{})}
			q.taken.Store(true)
			x.questions <- q
			if !more(row) || len(x.questions) > 0 {
				t.Fatalf("row %d: %d questions wait", row, len(x.questions))
			}
			if shown, slice := x.board.message.row, row/256*256; shown != slice {
				t.Fatalf("row %d: row %d is shown, want %d", row, shown, slice)
			}
		}
		if end(); !more(511) {
			t.Error("it looks for the end within a slice")
		}
		if more(512) {
			t.Error("it does not look for the end after a slice")
		}
	})
}

// TestAnAskerRunsBeforeTheNextRow: on a single processor one who was answered goes on at once, and not when the task
// has done its message. The scheduler passes a few over, for fairness.
func TestAnAskerRunsBeforeTheNextRow(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := &Stage{o: Options{Now: time.Now, Spec: &model.Spec{Schema: &model.Schema{}}}}
	x := &task{s: s, course: working, questions: make(chan *question, 1)}
	x.m = &replay.Machine{}
	x.board.o = &s.o
	const rows = 200
	var done atomic.Int64
	atOnce := 0
	var askers sync.WaitGroup
	x.during(t.Context(), "events", &txn.Record{}, 0, func(more func(row int) bool) {
		for row := range rows {
			var on atomic.Bool
			askers.Go(func() {
				q := &question{batch: &model.Batch{N: 1}, done: make(chan struct{})}
				x.questions <- q
				<-q.done // there is no state: the answer is an error
				on.Store(true)
				done.Add(1)
			})
			for len(x.questions) == 0 {
				runtime.Gosched()
			}
			more(row)
			if on.Load() {
				atOnce++
			}
		}
	})
	askers.Wait()
	if done.Load() != rows || atOnce < rows*3/4 {
		t.Errorf("of %d askers, of whom %d were answered, %d went on before the next row", rows, done.Load(), atOnce)
	}
}
