package model_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/lift"
	"liftstream/model/modeltest"
)

// erasure is an order to forget ids.
func erasure(number uint64, ids ...string) *model.Erasure {
	o := &model.Erasure{Number: number}
	for _, id := range ids {
		o.IDs = append(o.IDs, model.SumID(id))
	}
	return o
}

// TestLiftsOfAForgottenRecordAreThoseWithoutIt: the counts of the lifts, and their inputs, are bit for bit those of a
// partition that never learnt the records, and so are the counts of the classes. The base rates of the scorecard are so
// to 1e-12.
func TestLiftsOfAForgottenRecordAreThoseWithoutIt(t *testing.T) {
	modeltest.Computes(t)
	spec := carrySpec(wide)
	const trained, n = 1700, 1800 // the structure of a cold partition changes for the last time at 1,600 records
	knew, never := model.NewPartition(spec, 0), model.NewPartition(spec, 0)
	var ids []string
	for i := trained + 3; i < n; i += 7 {
		ids = append(ids, fmt.Sprint("c", i))
	}
	var out model.Scores
	for _, p := range []*model.Partition{knew, never} {
		take(t, p, wide, 0, trained)
		b := wideRows(wide, trained, n-trained, true)
		if p == never {
			b.Keep(func(i int) bool { return !slices.Contains(ids, b.ID[i]) })
		}
		p.Events(b, &out)
	}
	section := "model/" + lift.Name
	if bytes.Equal(knew.Snapshot()[section], never.Snapshot()[section]) {
		t.Fatal("the records have no count: the test would say nothing")
	}
	found, _ := model.Forget(knew, erasure(1, ids...))
	want := model.Forgotten{Waiting: len(ids), Tail: len(ids), Counts: len(ids)}
	if found.Prototypes = 0; found != want {
		t.Errorf("found %+v, want %+v", found, want)
	}
	if !bytes.Equal(knew.Snapshot()[section], never.Snapshot()[section]) {
		t.Error("the lifts count forgotten records")
	}
	rate := func(p *model.Partition) float64 {
		return p.Component(spec.Scorecard.Name()).(model.Scorecard).BaseRate(1)
	}
	if d := math.Abs(rate(knew) - rate(never)); d > 1e-12 {
		t.Errorf("the base rates are %v apart", d)
	}
	sum, square := model.ClassCounts(knew)
	if want, wanted := model.ClassCounts(never); !slices.Equal(sum, want) || square != wanted {
		t.Errorf("the classes count %v and squares of %v, want %v and %v", sum, square, want, wanted)
	}
	if again, _ := model.Forget(knew, erasure(1, "c5")); again.Any() || model.Obeyed(knew) != 1 {
		t.Errorf("an order is obeyed twice: %+v", again)
	}
}

// goneBy gives some records the id gone and the value, and takes the labels of some of these.
func goneBy(value float64) func(b *model.Batch) {
	return func(b *model.Batch) {
		for i := range b.ID {
			every := int32(97)
			if b.Row[i] < 2500 {
				every = 20
			}
			if b.Row[i]%every == 3 {
				b.ID[i], b.Columns[0].Float[i] = "gone", value
			}
			if b.Row[i]%(4*every) == 3 {
				b.Label[i] = model.Unlabelled
			}
		}
	}
}

// TestNothingOfAForgottenRecordIsLeft in the bytes of a state: neither its values nor the sum of its id. The state is
// restored to the same bytes, and a replay of the order gives them too. A record of no id, and one of another, stays.
func TestNothingOfAForgottenRecordIsLeft(t *testing.T) {
	modeltest.Computes(t)
	const odd = 33.123456789012345
	spec := newSpec(func(o *model.Options) {
		o.TailBytes, o.DedupWindow, o.DedupBytes = 1, 1<<50, 1<<20
		o.Control = model.Control{}
	})
	mark := goneBy(odd)
	p := model.NewPartition(spec, 0)
	for from := 0; from < 2500; from += 500 {
		feed(p, from, from+500, 500, mark)
	}
	for from := 2500; from < 8000; from += 500 { // the sieve leaves all but the first out
		feed(p, from, from+500, 500, func(b *model.Batch) {
			mark(b)
			p.Sieve.Sift(b)
		})
	}
	feed(p, 8000, 8500, 500, mark)
	value := binary.LittleEndian.AppendUint64(nil, math.Float64bits(odd))
	sum := model.SumID("gone")
	holds := func(p *model.Partition) (sections []string) {
		for name, b := range p.Snapshot() {
			for _, secret := range [][]byte{value, sum[:8], []byte("gone")} {
				if bytes.Contains(b, secret) && !slices.Contains(sections, name) {
					sections = append(sections, name)
				}
			}
		}
		slices.Sort(sections)
		return sections
	}
	before := holds(p)
	for _, section := range []string{"tail/0", "reservoir", "ids/reservoir", "sieve/0"} {
		if !slices.Contains(before, section) {
			t.Fatalf("%s holds nothing of the record, but %v: the test would say nothing", section, before)
		}
	}
	twin, err := model.RestorePartition(spec, p.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	if found, _ := model.Forget(p, erasure(1, "nobody")); found.Any() {
		t.Errorf("of an id that nobody has: %+v", found)
	}
	found, _ := model.Forget(p, erasure(2, "gone", "nobody"))
	if found.Tail == 0 || found.Reservoir == 0 || found.Waiting == 0 || found.Sieve != 1 || found.Counts == 0 {
		t.Errorf("found %+v", found)
	}
	if left := holds(p); len(left) > 0 {
		t.Errorf("left in %v", left)
	}
	model.Forget(twin, erasure(2, "gone", "nobody"))
	if !bytes.Equal(state(twin), state(p)) {
		t.Error("a restored state forgets to other bytes")
	}
	restored, err := model.RestorePartition(spec, p.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(state(restored), state(p)) || model.Obeyed(restored) != 2 {
		t.Error("restored to other bytes")
	}
	if again, _ := model.Forget(restored, erasure(3, "gone")); again.Any() {
		t.Errorf("found again: %+v", again)
	}
	model.Forget(p, erasure(3, "gone"))
	// Both go on alike, and the fits see no emptied record.
	feed(p, 7000, 7200, 100, nil)
	feed(restored, 7000, 7200, 100, nil)
	if !bytes.Equal(state(restored), state(p)) {
		a, b := p.Snapshot(), restored.Snapshot()
		for name := range a {
			if !bytes.Equal(a[name], b[name]) {
				t.Errorf("a restored state goes on otherwise: %s", name)
			}
		}
	}
	m, err := model.Fit(t.Context(), spec, model.Held{0: p.Snapshot()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Version = 1
	if err := p.Swap(m); err != nil {
		t.Error(err)
	}
	if bytes.Contains(m.AppendBinary(nil), value) {
		t.Error("the next model holds the record")
	}
}

// TestAFitSeesNoEmptiedRecord: a forgotten record of the tail is no record of weight 0 in the evidence.
func TestAFitSeesNoEmptiedRecord(t *testing.T) {
	spec, _ := spySpec(nil)
	p := model.NewPartition(spec, 0)
	feed(p, 0, 300, 100, nil)
	for order, want := range []string{"part of 300", "part of 299", "part of 297"} {
		if order > 0 {
			model.Forget(p, erasure(uint64(order), [][]string{{"c120"}, {"c7", "c299"}}[order-1]...))
		}
		m, err := model.Fit(t.Context(), spec, model.Held{0: p.Snapshot()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(m.Parts["spy"]); got != want {
			t.Errorf("after %d orders: %s, want %s", order, got, want)
		}
	}
}

// TestARecordOfAFileIsNotOneOfTheTopic: the places of records of files count anew, as do those of the events behind
// them. The record of an event stays where its place is that of a forgotten record of a file.
func TestARecordOfAFileIsNotOneOfTheTopic(t *testing.T) {
	of := func(who string) func(b *model.Batch) {
		return func(b *model.Batch) {
			for i := range b.ID {
				b.ID[i] = who + b.ID[i]
			}
		}
	}
	p := model.NewPartition(newSpec(func(o *model.Options) { o.WaitBytes = 1 << 24 }), 0)
	feed(p, 0, 300, 100, of("file "))
	feed(p, 0, 300, 100, of("event "))
	want := model.Forgotten{Waiting: 1, Tail: 1, Counts: 1}
	for n, id := range []string{"file c7", "event c7"} {
		if found, _ := model.Forget(p, erasure(uint64(n+1), id)); found != want {
			t.Errorf("%s: found %+v, want %+v", id, found, want)
		}
	}
}

// TestARecordOfABuildWithoutIDs is found while it waits for a correction, and taken out of the tail by its place.
func TestARecordOfABuildWithoutIDs(t *testing.T) {
	spec := newSpec(nil)
	p := model.NewPartition(spec, 0)
	feed(p, 0, 300, 50, nil)
	old := p.Snapshot()
	maps.DeleteFunc(old, func(name string, _ []byte) bool { return strings.HasPrefix(name, model.IDSections) })
	p, err := model.RestorePartition(spec, old)
	if err != nil {
		t.Fatal(err)
	}
	found, _ := model.Forget(p, erasure(1, "c20", "c30"))
	if want := (model.Forgotten{Waiting: 2, Tail: 2, Counts: 2}); found != want {
		t.Errorf("found %+v, want %+v", found, want)
	}
}

// TestPrototypesAreForgotten by the partition that has the record, and by another one by their keys.
func TestPrototypesAreForgotten(t *testing.T) {
	modeltest.Computes(t)
	spec := carrySpec(wide)
	own, other := model.NewPartition(spec, 0), model.NewPartition(spec, 1)
	take(t, own, wide, 0, 1700)
	take(t, other, wide, 5000, 5200)
	m, err := model.Fit(t.Context(), spec, model.Held{0: own.Snapshot(), 1: other.Snapshot()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Version = 1
	for _, p := range []*model.Partition{own, other} {
		if err := p.Swap(m); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for i := 1000; i < 1700; i++ {
		ids = append(ids, fmt.Sprint("c", i))
	}
	found, keys := model.Forget(own, erasure(1, ids...))
	if found.Prototypes == 0 || len(keys) != found.Prototypes {
		t.Fatalf("found %+v, %d keys", found, len(keys))
	}
	there, _ := model.Forget(other, &model.Erasure{Number: 1, Keys: keys})
	if there.Prototypes != found.Prototypes || there.Counts != 0 {
		t.Errorf("%d prototypes in the other partition, want %d", there.Prototypes, found.Prototypes)
	}
	for _, p := range []*model.Partition{own, other} {
		if again, _ := model.Forget(p, &model.Erasure{Number: 2, Keys: keys}); again.Any() {
			t.Errorf("found again: %+v", again)
		}
	}
	for _, p := range []*model.Partition{own, other} {
		r, err := model.RestorePartition(spec, p.Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		var a, b model.Scores
		batch := wideRows(wide, 9000, 50, false)
		p.Events(batch, &a)
		r.Events(batch, &b)
		if !same(a.P, b.P) {
			t.Error("a restored partition scores otherwise")
		}
	}
}

// goldenForgotten makes the partition of the golden file: 300 records with ids, ten of which are forgotten.
func goldenForgotten() *model.Partition {
	p := model.NewPartition(newSpec(nil), 0)
	feed(p, 0, 300, 50, nil)
	for n := range uint64(10) {
		model.Forget(p, erasure(n+1, fmt.Sprint("c", 20*n)))
	}
	return p
}

// TestGoldenForgotten reads the ids of a state and the number of its newest order to forget as an earlier build has
// written them. LIFTSTREAM_GOLDEN=write makes the file anew: right for a form that no build of main has written.
func TestGoldenForgotten(t *testing.T) {
	const file = "testdata/forgotten-1.gz"
	p := goldenForgotten()
	if os.Getenv("LIFTSTREAM_GOLDEN") == "write" {
		writeSections(t, file, p.Snapshot())
	}
	sections := readSections(t, file)
	for _, name := range []string{"ids/0", model.SectionForgot} {
		if !bytes.Equal(sections[name], p.Snapshot()[name]) || sections[name] == nil {
			t.Errorf("%s is written otherwise: that is another format", name)
		}
	}
	old, err := model.RestorePartition(newSpec(nil), sections)
	if err != nil {
		t.Fatal(err)
	}
	if found, _ := model.Forget(old, erasure(10, "c30")); found.Any() || model.Obeyed(old) != 10 {
		t.Errorf("%d orders are obeyed, found %+v", model.Obeyed(old), found)
	}
	found, _ := model.Forget(old, erasure(11, "c30", "c20"))
	if want := (model.Forgotten{Waiting: 1, Tail: 1, Counts: 1}); found != want {
		t.Errorf("found %+v, want %+v", found, want)
	}
}
