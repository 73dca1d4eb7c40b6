package stream

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/stream/internal/sample"
	"liftstream/stream/orders"
	"liftstream/stream/state"
	"liftstream/stream/streamtest"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// keeping is a factory whose component keeps records.
type keeping struct{ model.Factory }

func (keeping) New(*model.Levels) model.Component { return keeper{} }

type keeper struct{ model.Component }

func (keeper) Keys(*model.Example) []uint64 { return nil }
func (keeper) Forget([]uint64) int          { return 0 }

// TestModelsOfBeforeAnOrderAreDeleted: once the snapshots have obeyed an order to forget, the versions that were
// published before it leave the topic, all keys of them. The newest one, the one that a snapshot needs and the one that
// serves by an order stay until they need not. Without an order all stay, and where no component keeps records those do
// that were made without another one.
func TestModelsOfBeforeAnOrderAreDeleted(t *testing.T) {
	c := streamtest.NewTopic(t, "models")
	s := &Stage{o: Options{Client: c, Topics: topics.Names{Model: "models"}, Now: time.Now, Log: zap.NewNop(),
		Metrics: NewMetrics(prometheus.NewRegistry()), Spec: &model.Spec{Schema: sample.Schema}},
		models: state.NewModels(c, "models", sample.Schema)}
	log := state.NewLog()
	tr := &trainer{s: s, packer: state.NewPacker(), logs: []*state.Log{log}}
	var err error
	if tr.producer, err = c.NewProducer(t.Context(), "trainer", time.Minute); err != nil {
		t.Fatal(err)
	}
	follow := func() {
		t.Helper()
		for end := false; !end; {
			if end, err = s.models.Advance(t.Context(), time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}
	say := func(records ...txn.Record) {
		t.Helper()
		if err := c.Produce(t.Context(), records, txn.None); err != nil {
			t.Fatal(err)
		}
		follow()
	}
	publish := func(v int64) {
		t.Helper()
		m := &model.Model{Version: v, Levels: model.NewLevels(sample.Schema), Parts: map[string][]byte{}}
		if m.Parts[model.PartPercentile] = nil; v == 3 {
			m.Parts["neighbours"] = nil // of a component that is off by now
		}
		records, err := s.models.Publication(tr.packer, m, nil, time.Unix(v, 0), state.OldestFormat)
		if err != nil {
			t.Fatal(err)
		}
		say(records...)
	}
	held := func(want ...int64) {
		t.Helper()
		if err := purgeModels(t.Context(), tr); err != nil {
			t.Fatal(err)
		}
		follow()
		var got []int64
		for v := range s.models.Versions() {
			got = append(got, v)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("versions %v are held, want %v", got, want)
		}
	}
	serves := func(v int64) {
		entry := state.JournalEntry{Format: 1, Position: state.Position{Model: v}}
		log.Apply([]byte(state.JournalKey(0)), entry.Encode())
	}
	for v := range int64(4) {
		publish(v + 1)
	}
	s.o.Spec.Components = []model.Factory{keeping{}}
	held(1, 2, 3, 4)
	o := &state.Erasure{Erasure: model.Erasure{Number: 1}, Time: time.Unix(9, 0)}
	say(o.Record("models"))
	s.o.Spec.Components = nil
	may := func(want bool) {
		t.Helper()
		f := &orders.Forgetting{Options: orders.Options{Client: c, Topic: "models"}}
		if _, err := f.Begin(t.Context(), 0); err != nil || f.MayHoldRecords(s.o.Spec) != want {
			t.Errorf("a model may hold records: %v, %v", !want, err)
		}
	}
	may(true)
	held(1, 2, 4)
	may(false)
	s.o.Spec.Components = []model.Factory{keeping{}}
	serves(2)
	held(2, 4)
	say(o.Empty().Record("models"))
	held(2, 4)
	publish(5)
	serves(5)
	held(5)
	publish(6)
	held(5, 6)
}

// TestAFrozenStageDeletesModelsToo: a trainer that fits nothing deletes the models of before an order all the same.
func TestAFrozenStageDeletesModelsToo(t *testing.T) {
	c := streamtest.NewTopic(t, "models")
	if _, err := c.CreateTopics(t.Context(), txn.TopicSpec{Name: "states", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	s := &Stage{o: Options{Client: c, Topics: topics.Names{Model: "models", State: "states"}, Now: time.Now,
		Log: zap.NewNop(), Metrics: NewMetrics(prometheus.NewRegistry()), LearningOff: true,
		Spec: &model.Spec{Schema: sample.Schema, Components: []model.Factory{keeping{}}}},
		models: state.NewModels(c, "models", sample.Schema)}
	tr := &trainer{s: s, packer: state.NewPacker(), logs: []*state.Log{state.NewLog()}}
	var err error
	if tr.producer, err = c.NewProducer(t.Context(), "trainer", time.Minute); err != nil {
		t.Fatal(err)
	}
	follow := func() {
		t.Helper()
		for end := false; !end; {
			if end, err = s.models.Advance(t.Context(), time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}
	for v := range int64(3) {
		m := &model.Model{Version: v + 1, Levels: model.NewLevels(sample.Schema), Parts: map[string][]byte{}}
		records, err := s.models.Publication(tr.packer, m, nil, time.Unix(v, 0), state.OldestFormat)
		if err == nil {
			err = c.Produce(t.Context(), records, txn.None)
		}
		if err != nil {
			t.Fatal(err)
		}
		follow()
	}
	for _, want := range []int{3, 1} {
		if err := tr.step(t.Context()); !errors.Is(err, errNotYet) {
			t.Fatal(err)
		}
		if follow(); len(s.models.Versions()) != want {
			t.Errorf("%d versions are held, want %d", len(s.models.Versions()), want)
		}
		o := &state.Erasure{Erasure: model.Erasure{Number: 1}, Time: time.Unix(9, 0)}
		if err := c.Produce(t.Context(), []txn.Record{o.Record("models")}, txn.None); err != nil {
			t.Fatal(err)
		}
		follow()
	}
}
