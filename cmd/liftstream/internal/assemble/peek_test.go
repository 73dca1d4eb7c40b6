package assemble

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"testing"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/modeltest"
)

const peekText = `
name: x
record:
  id: who
  label: {column: y, classes: [a, b, c], positive: c}
  features: [{name: visits, kind: continuous}, {name: age, kind: continuous}, {name: plan, kind: nominal},
    {name: city, kind: nominal}]
control: {share: 0.3, treated: called, uplift: on}
output: {interval: 90%}
fit: {warmup: 50}
kernel: {triples: 500}
trees: {rounds: 20}
`

// peekRecords is drawn with a city of many, and with new ones until the end.
func peekRecords(from, to int) *model.Batch {
	b := drawn(0, from, to)
	city := model.Column{}
	for i := from; i < to; i++ {
		city.Code = append(city.Code, uint32(len(city.Levels)))
		city.Levels = append(city.Levels, fmt.Sprint("city ", model.Hash(5, uint64(i))%uint64(30+i/4)))
		b.ID = append(b.ID, fmt.Sprint("id ", i))
		b.Treated = append(b.Treated, model.Untreated)
		if model.Hash(6, uint64(i))%2 == 0 {
			b.Treated[i-from] = model.Treated
		}
		if i%5 == 0 {
			b.Columns[0].Float[i-from] = math.NaN()
		}
	}
	b.Columns = append(b.Columns, city)
	return b
}

// TestAPeekIsTheScoreAndMovesNothing: at every moment of a stream a record is peeked at and then sent. Both scores are
// the same rows of JSON, to the last bit and with the text of a level that nobody has seen before, and at the end the
// state is that of a partition at which nobody looked.
func TestAPeekIsTheScoreAndMovesNothing(t *testing.T) {
	modeltest.Computes(t)
	a := stage(t, peekText)
	looked, alone := model.NewPartition(a.Spec, 0), model.NewPartition(a.Spec, 0)
	encode := func(b *model.Batch, s *model.Scores, l *model.Levels) string {
		o := a.Codec
		o.Format = codec.FormatJSONL
		e, err := codec.NewScoreEncoder(o)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := e.Encode(nil, b, s, l, nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(rows)
	}
	var out, own model.Scores
	compare := func(i int) {
		b := peekRecords(i, i+1)
		var peeked, sent string
		model.Peek(looked, b, &own, func(l *model.Levels) { peeked = encode(b, &own, l) })
		looked.Events(b, &out)
		if sent = encode(b, &out, looked.Levels()); peeked != sent {
			t.Fatalf("record %d:\n%s\nand sent\n%s", i, peeked, sent)
		}
		if !reflect.DeepEqual(own.P, out.P) {
			t.Fatalf("record %d: %v and sent %v", i, own.P, out.P)
		}
		alone.Events(b, &out)
	}
	statuses := map[model.Status]int{}
	for i := range 420 {
		compare(i)
		statuses[own.Status[0]]++
	}
	if statuses[model.StatusUntrained] == 0 || statuses[model.StatusUntrained] == 420 {
		t.Errorf("statuses %v", statuses)
	}
	feed := func(from, to int) {
		b := peekRecords(from, to)
		model.EventsWhile(looked, b, &out, func(row int) bool { // between two records of a message
			model.Peek(looked, peekRecords(from+row+2000, from+row+2020), &own, nil)
			return true
		})
		alone.Events(b, &out)
	}
	feed(420, 1200)
	m, err := model.Fit(t.Context(), a.Spec, model.Held{0: looked.Snapshot()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*model.Partition{looked, alone} {
		if err := p.Swap(m); err != nil {
			t.Fatal(err)
		}
	}
	for i := 1200; i < 1400; i++ {
		compare(i)
	}
	feed(1400, 1800)
	for _, p := range []*model.Partition{looked, alone} { // a second message of labels, by ids that wait
		p.Labels(&model.Labels{N: 1, ID: []string{"id 1"}, Class: []int32{2}, Time: []int64{3000}})
	}
	one, other := looked.Snapshot(), alone.Snapshot()
	for name := range other {
		if !bytes.Equal(one[name], other[name]) {
			t.Errorf("peeks have changed %s", name)
		}
	}
	if len(one) != len(other) {
		t.Errorf("%d and %d sections", len(one), len(other))
	}
}
