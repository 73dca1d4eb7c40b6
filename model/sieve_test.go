package model_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/modeltest"
	"liftstream/model/wire"
)

// sieving is a Spec that leaves duplicates out: window an hour, at most that many ids.
func sieving(ids int64) *model.Spec {
	return newSpec(func(o *model.Options) { o.DedupWindow, o.DedupBytes = int64(time.Hour), 96*ids })
}

// one is a batch of one record.
func one(id string, at int64, class int32) *model.Batch {
	b := rows(0, 1)
	b.ID, b.Time, b.Label, b.Row = []string{id}, []int64{at}, []int32{class}, []int32{0}
	return b
}

func TestDuplicates(t *testing.T) {
	const minute, none = int64(time.Minute), model.Unlabelled
	type record struct {
		id    string
		at    int64
		class int32
		again bool
	}
	for name, records := range map[string][]record{
		"within the window, to its end": {{"a", 0, 0, false}, {"a", minute, 0, true}, {"a", 60 * minute, 0, true},
			{"a", 60*minute + 1, 0, false}, {"a", 120 * minute, 0, true}},
		"a duplicate does not lengthen the window": {{"a", 0, 0, false}, {"a", 50 * minute, 0, true},
			{"a", 70 * minute, 0, false}},
		"earlier than the first": {{"a", 90 * minute, 0, false}, {"a", 30 * minute, 0, true},
			{"a", 29 * minute, 0, false}},
		"another id": {{"a", 0, 0, false}, {"b", 0, 0, false}},
		"sent again with its label": {{"a", 0, none, false}, {"a", 1, none, true}, {"a", 2, 1, false},
			{"a", 3, 1, true}},
		"sent again without its label": {{"a", 0, 1, false}, {"a", 1, none, true}},
		"a label that is no class":     {{"a", 0, model.UnknownClass, false}, {"a", 1, 1, true}},
		"times at the ends of the range": {{"a", math.MinInt64, 0, false}, {"a", math.MaxInt64, 0, false},
			{"a", math.MaxInt64, 0, true}},
	} {
		p := model.NewPartition(sieving(1000), 0)
		again := uint64(0)
		for i, r := range records {
			b := one(r.id, r.at, r.class)
			if r.again {
				again++
			}
			if dropped := p.Sieve.Sift(b); (len(dropped) == 1) != r.again || b.N+len(dropped) != 1 {
				t.Errorf("%s: record %d: left out %v", name, i, dropped)
			}
			p.Events(b, &model.Scores{})
		}
		if p.Sieve.Sifted().Duplicates != again {
			t.Errorf("%s: counted %+v", name, p.Sieve.Sifted())
		}
	}
}

func TestDuplicatesWithinABatch(t *testing.T) {
	p := model.NewPartition(sieving(1000), 0)
	b := rows(0, 6)
	b.ID = []string{"a", "b", "a", "c", "b", "d"}
	b.Row = []int32{0, 1, 3, 4, 5, 9} // others were bad
	b.Weight = []float64{1, 2, 3, 4, 5, 6}
	b.Time = make([]int64, 6)
	age := slices.Clone(b.Columns[0].Float)
	if got := p.Sieve.Sift(b); !slices.Equal(got, []int32{3, 5}) {
		t.Errorf("left out %v", got)
	}
	if b.N != 4 || !slices.Equal(b.ID, []string{"a", "b", "c", "d"}) || !slices.Equal(b.Weight, []float64{1, 2, 4, 6}) ||
		!slices.Equal(b.Row, []int32{0, 1, 4, 9}) || len(b.Columns[0].Float) != 4 ||
		math.Float64bits(b.Columns[0].Float[3]) != math.Float64bits(age[5]) || len(b.Columns[1].Code) != 4 {
		t.Errorf("the batch is %+v", b)
	}
	if p := model.NewPartition(newSpec(nil), 0); p.Sieve.Sift(b) != nil || b.N != 4 {
		t.Error("sifted though nobody asked for it")
	}
}

// The oldest ids are forgotten at the bound, and counted as far as they lay within the window. The ids outside it leave
// by themselves. Wild times keep neither from it.
// TestSieveIsThatOfTheSlowOne compares the sieve with its definition, over a list of all records that it remembers: ids
// that come again with their label and after the window, with room for few of them.
func TestSieveIsThatOfTheSlowOne(t *testing.T) {
	type entry struct {
		id       string
		at       int64
		labelled bool
	}
	const room, window, newest = 12, int64(time.Hour), 64
	p := model.NewPartition(sieving(room), 0)
	var list []entry
	var times []int64
	forgotten, again := uint64(0), uint64(0)
	for i := range uint64(5000) {
		h := func(word, n uint64) uint64 { return model.Hash(5, i, word) % n }
		e := entry{fmt.Sprint(h(0, 25)), int64(i)*int64(time.Minute) + int64(h(1, 90))*int64(time.Minute), h(2, 3) == 0}
		class := model.Unlabelled
		if e.labelled {
			class = 0
		}
		times = append(times, e.at)
		clock := int64(math.MinInt64)
		if len(times) >= newest {
			clock = slices.Min(times[len(times)-newest:])
		}
		expired := func(x entry) bool { return x.at < clock && clock-x.at > window }
		want := false
		for _, x := range slices.Backward(list) {
			if x.id == e.id {
				want = max(e.at-x.at, x.at-e.at) <= window && (x.labelled || !e.labelled)
				break
			}
		}
		if got := len(p.Sieve.Sift(one(e.id, e.at, class))) == 1; got != want {
			t.Fatalf("record %d, %+v: a duplicate %v, want %v; remembered %+v", i, e, got, want, list)
		}
		if want {
			again++
		} else {
			list = append(list, e)
		}
		for len(list) > room {
			if !expired(list[0]) && !slices.ContainsFunc(list[1:], func(x entry) bool { return x.id == list[0].id }) {
				forgotten++
			}
			list = list[1:]
		}
		for len(list) > 0 && expired(list[0]) {
			list = list[1:]
		}
	}
	want := model.Sifted{Duplicates: again, Forgotten: forgotten}
	if got := p.Sieve.Sifted(); got != want || again < 100 || forgotten < 100 {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

func TestIDsAreForgotten(t *testing.T) {
	const second = int64(time.Second)
	p := model.NewPartition(sieving(5000), 0)
	size := func() (n int) {
		for name, b := range p.Snapshot() {
			if strings.HasPrefix(name, "sieve/") {
				n += len(b)
			}
		}
		return n / 24 // bytes of an entry, about
	}
	for i := range 20_000 { // an hour is 3,600 of them
		at := int64(i) * second
		switch i {
		case 7000:
			at += 30 * 24 * 3600 * second
		case 9000:
			at = 0
		case 11_000:
			at = math.MaxInt64
		}
		b := one(fmt.Sprint(i), at, 0)
		if len(p.Sieve.Sift(b)) > 0 {
			t.Fatalf("record %d is a duplicate", i)
		}
		if i == 6999 && (size() < 3600 || size() > 4200) {
			t.Errorf("%d ids are remembered before the wild times", size())
		}
	}
	if n := size(); n > 5600 {
		t.Errorf("%d ids are remembered, at most 5,000 may be", n)
	}
	if len(p.Sieve.Sift(one("19000", 19_000*second, 0))) != 1 || len(p.Sieve.Sift(one("1", second, 0))) != 0 {
		t.Error("the wrong ones are forgotten")
	}
	small := model.NewPartition(sieving(100), 0)
	for i := range 1000 {
		small.Sieve.Sift(one(fmt.Sprint(i), int64(i), 0))
	}
	if s := small.Sieve.Sifted(); s.Forgotten != 900 || s.Duplicates != 0 {
		t.Errorf("counted %+v", s)
	}
	if len(small.Sieve.Sift(one("899", 0, 0))) != 0 || len(small.Sieve.Sift(one("950", 0, 0))) != 1 {
		t.Error("the wrong ones are forgotten")
	}
}

// sifted feeds records [from, to), every third of them sent before, and returns the rows left out.
func sifted(p *model.Partition, from, to int) (out []int32) {
	for i := from; i < to; i += 10 {
		b := rows(i, 10)
		b.ID = make([]string, 10)
		for k := range b.ID {
			n := i + k
			if n%3 == 0 {
				n -= 40
			}
			b.ID[k], b.Row[k], b.Time[k] = fmt.Sprint(n), int32(i+k), int64(i+k)*int64(time.Second)
		}
		out = append(out, p.Sieve.Sift(b)...)
		p.Events(b, &model.Scores{})
	}
	return out
}

func TestRestoredSieveGoesOnAsTheOriginal(t *testing.T) {
	modeltest.Computes(t)
	for _, at := range []int{0, 10, 640, 4000, 12_000} {
		p := model.NewPartition(sieving(6000), 0)
		sifted(p, 0, at)
		q, err := model.RestorePartition(sieving(6000), p.Snapshot())
		if err != nil {
			t.Fatalf("after %d records: %v", at, err)
		}
		if !bytes.Equal(state(p), state(q)) {
			t.Fatalf("after %d records: the restored state has other bytes", at)
		}
		a, b := sifted(p, at, at+9000), sifted(q, at, at+9000)
		if len(a) < 1000 || !slices.Equal(a, b) || p.Sieve.Sifted() != q.Sieve.Sifted() || !bytes.Equal(state(p), state(q)) {
			t.Errorf("after %d records: the restored sieve goes another way: %d and %d duplicates", at, len(a), len(b))
		}
	}
}

// A state keeps the settings under which it was made until it is carried over to others.
func TestSieveIsSwitchedOnAndOff(t *testing.T) {
	p := model.NewPartition(newSpec(nil), 0)
	sifted(p, 0, 100)
	old, err := model.RestorePartition(sieving(100), p.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	if old.Sieve.Sift(one("7", 0, 0)); len(old.Sieve.Sift(one("7", 0, 0))) != 0 {
		t.Error("a state without a sieve has one once restored")
	}
	on, _, err := old.Carry(sieving(100))
	if err != nil {
		t.Fatal(err)
	}
	if on.Sieve.Sift(one("7", 0, 0)); len(on.Sieve.Sift(one("7", 0, 0))) != 1 || on.Labelled() != p.Labelled() {
		t.Error("a state carried over to a sieve has none, or has lost its records")
	}
	smaller, _, err := on.Carry(sieving(1))
	if err != nil || len(smaller.Sieve.Sift(one("7", 0, 0))) != 1 {
		t.Errorf("the ids are not carried over: %v", err)
	}
	off, _, err := smaller.Carry(newSpec(nil))
	if err != nil || len(off.Sieve.Sift(one("7", 0, 0))) != 0 || off.Sieve.Sifted() != (model.Sifted{}) {
		t.Errorf("it is not switched off: %v", err)
	}
}

func TestHostileSieveNoPanic(t *testing.T) {
	modeltest.Computes(t)
	spec := sieving(6000)
	p := model.NewPartition(spec, 0)
	sifted(p, 0, 5000)
	good := p.Snapshot()
	for name := range good {
		if !strings.HasPrefix(name, "sieve") {
			continue
		}
		step := max(len(good[name])/97, 1)
		for i := 0; i < len(good[name]); i += step {
			for _, change := range []func(b []byte) []byte{
				func(b []byte) []byte { b[i] ^= 0xff; return b }, func(b []byte) []byte { return b[:i] },
			} {
				bad := maps.Clone(good)
				bad[name] = change(slices.Clone(good[name]))
				if q, err := model.RestorePartition(spec, bad); err == nil {
					sifted(q, 5000, 5100)
				}
			}
		}
	}
	bad := maps.Clone(good)
	delete(bad, "sieve/0")
	if _, err := model.RestorePartition(spec, bad); err == nil {
		t.Error("restored without a part of the sieve")
	}
	bad["sieve"] = wire.AppendUvarint(nil, 2)
	if _, err := model.RestorePartition(spec, bad); err == nil || !strings.Contains(err.Error(), "this build reads 1") {
		t.Errorf("a later format: %v", err)
	}
}

// The golden file holds the sections of a sieve of format 1.
func TestGoldenSieve(t *testing.T) {
	const file = "testdata/sieve-1"
	p := model.NewPartition(sieving(50), 0)
	sifted(p, 0, 200)
	var now []byte
	for _, name := range []string{"sieve", "sieve/0"} {
		now = wire.AppendBytes(now, p.Snapshot()[name])
	}
	if os.Getenv("LIFTSTREAM_GOLDEN") == "write" {
		if err := os.WriteFile(file, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(golden, now) {
		t.Error("the bytes of a sieve have changed")
	}
	r := wire.NewReader(golden)
	sections := p.Snapshot()
	sections["sieve"], sections["sieve/0"] = r.Bytes(), r.Bytes()
	q, err := model.RestorePartition(sieving(50), sections)
	if err != nil || r.Done() != nil {
		t.Fatal(err)
	}
	if a, b := sifted(p, 200, 400), sifted(q, 200, 400); len(a) == 0 || !slices.Equal(a, b) {
		t.Errorf("left out %v and %v", a, b)
	}
}

// FuzzSieve: the sections of a sieve are read, and restored ones sift on, or there is an error. A sieve that was read
// comes back from its own bytes.
func FuzzSieve(f *testing.F) {
	golden, err := os.ReadFile("testdata/sieve-1")
	if err != nil {
		f.Fatal(err)
	}
	r := wire.NewReader(golden)
	f.Add(r.Bytes(), r.Bytes())
	for _, n := range []int{0, 10, 640} {
		p := model.NewPartition(sieving(50), 0)
		sifted(p, 0, n)
		s := p.Snapshot()
		f.Add(s["sieve"], s["sieve/0"])
	}
	spec := sieving(50)
	good := model.NewPartition(spec, 0).Snapshot()
	f.Fuzz(func(t *testing.T, head, chunk []byte) {
		s := maps.Clone(good)
		s["sieve"], s["sieve/0"] = head, chunk
		p, err := model.RestorePartition(spec, s)
		if err != nil {
			return
		}
		was := p.Snapshot()
		q, err := model.RestorePartition(spec, was)
		if err != nil {
			t.Fatalf("its own bytes are refused: %v", err)
		}
		if !bytes.Equal(state(p), state(q)) {
			t.Error("it comes back as another one")
		}
		if a, b := sifted(p, 0, 20), sifted(q, 0, 20); !slices.Equal(a, b) || p.Sieve.Sifted() != q.Sieve.Sifted() {
			t.Errorf("left out %v and %v", a, b)
		}
	})
}

func TestSiftAllocatesNothingForARecord(t *testing.T) {
	p := model.NewPartition(sieving(100), 0)
	b := one("an id of the usual length", 0, 0)
	n := 0
	ids := make([]string, 5000)
	for i := range ids {
		ids[i] = fmt.Sprint("an id of the usual length ", i)
	}
	for range 1000 {
		b.ID[0], b.N = ids[n%5000], 1
		p.Sieve.Sift(b)
		n++
	}
	got := testing.AllocsPerRun(4000, func() {
		b.ID, b.N, b.Time, b.Label, b.Row = b.ID[:1], 1, b.Time[:1], b.Label[:1], b.Row[:1]
		b.ID[0] = ids[n%5000]
		p.Sieve.Sift(b)
		n++
	})
	if got > .1 {
		t.Errorf("%v allocations for a record", got)
	}
}
