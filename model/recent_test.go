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

	"liftstream/model"
	"liftstream/model/propensity"
	"liftstream/model/recency"
	"liftstream/model/wire"
)

const second = int64(1e9)

// recentSchema has features of former records beside two columns.
var recentSchema = &model.Schema{Features: []model.Feature{
	{Name: "age", Kind: model.Continuous},
	{Name: "kind", Kind: model.Nominal},
	{Name: "since", Derived: "since_last()"},
	{Name: "minute", Derived: "count(1m)"},
	{Name: "visits", Derived: "count(1h, kind=visit)"},
	{Name: "visited", Derived: "since_last(kind=visit)"},
}, Classes: []string{"no", "yes"}, Positive: 1}

func recentSpec(bytes int64) *model.Spec {
	o := newSpec(nil).Options
	o.Recency = &model.RecencyOptions{Bytes: bytes, Features: []model.RecentFeature{
		{Feature: 2, Where: -1}, {Feature: 3, Where: -1, Window: 60 * second},
		{Feature: 4, Where: 1, Level: "visit", Window: 3600 * second}, {Feature: 5, Where: 1, Level: "visit"},
	}}
	return &model.Spec{Schema: recentSchema, Scorecard: propensity.New(propensity.Default(), recentSchema), Options: o}
}

// met is a record of an id at a time in seconds.
type met struct {
	id   string
	at   int64
	kind string
}

func batchOfMet(records ...met) *model.Batch {
	b := &model.Batch{N: len(records), Columns: make([]model.Column, len(recentSchema.Features))}
	b.Columns[1].Levels = []string{"visit", "buy"}
	for i, r := range records {
		var code uint32 = model.MissingCode
		if k := slices.Index(b.Columns[1].Levels, r.kind); k >= 0 {
			code = uint32(k)
		}
		b.Columns[1].Code = append(b.Columns[1].Code, code)
		for f := range b.Columns {
			if f != 1 {
				b.Columns[f].Float = append(b.Columns[f].Float, float64(i%7))
			}
		}
		b.ID, b.Time = append(b.ID, r.id), append(b.Time, r.at*second)
		b.Label, b.Row = append(b.Label, int32(i%2)), append(b.Row, int32(i))
	}
	return b
}

// texts are the values of the features of former records.
func recentTexts(b *model.Batch) (rows []string) {
	for i := range b.N {
		var row []string
		for f := 2; f < len(b.Columns); f++ {
			row = append(row, strings.Replace(fmt.Sprint(b.Columns[f].Float[i]), "NaN", "-", 1))
		}
		rows = append(rows, strings.Join(row, " "))
	}
	return rows
}

// TestFormerRecords by hand: seconds since the last one, number in the last minute, visits of the last hour, seconds
// since the last visit.
func TestFormerRecords(t *testing.T) {
	records := []met{
		{"a", 1000, "visit"}, {"b", 1000, "buy"}, {"a", 1010, "buy"}, {"a", 1010, ""}, {"a", 1065, "visit"},
		{"a", 1005, "visit"}, // late
		{"", 1066, "visit"}, {"a", 0, "visit"}, {"a", 4600, "buy"}, {"b", 4600, "visit"}, {"b", 1 << 33, "visit"},
		{"b", 4700, "visit"},
	}
	want := []string{"- 0 0 -", "- 0 0 -", "10 1 1 10", "0 2 1 10", "55 2 1 65", "5 1 1 5", "- - - -", "- - - -",
		"3535 0 2 3535", "3600 0 0 -", "8.589929992e+09 0 0 8.589929992e+09", "100 0 1 100"}
	p := model.NewPartition(recentSpec(1<<20), 0)
	b := batchOfMet(records...)
	peeked := batchOfMet(records[0])
	p.Recency.Fill(b)
	for i, got := range recentTexts(b) {
		if got != want[i] {
			t.Errorf("record %d, %v: %s, want %s", i, records[i], got, want[i])
		}
	}
	before := state(p)
	model.Peek(p, peeked, &model.Scores{}, nil)
	if got := recentTexts(peeked)[0]; got != "0 1 1 0" || !bytes.Equal(before, state(p)) {
		t.Errorf("peeked at %s", got)
	}
	var none *model.Recency
	none.Fill(b)
	if none.Kept() != (model.Kept{}) || p.Recency.Kept().IDs != 4 {
		t.Errorf("%+v are kept", p.Recency.Kept())
	}
	p = model.NewPartition(recentSpec(1<<20), 0)
	b = batchOfMet(records...)
	b.ID = nil
	p.Recency.Fill(b)
	if got := recentTexts(b); got[4] != "- - - -" {
		t.Errorf("without ids: %s", got[4])
	}
}

// TestFormerRecordsOfAsManyConditionsAsThereAre: each group takes a record once, and a state of the largest number of
// groups is read again. Those behind the 64th took it once for each feature, and their states were refused.
func TestFormerRecordsOfAsManyConditionsAsThereAre(t *testing.T) {
	schema := &model.Schema{Features: []model.Feature{{Name: "kind", Kind: model.Nominal}},
		Classes: []string{"no", "yes"}, Positive: 1}
	o := newSpec(nil).Options
	o.Recency = &model.RecencyOptions{Bytes: 1 << 22}
	kinds := make([]string, recency.MaxGroups)
	for g := range kinds {
		kinds[g] = fmt.Sprint("k", g)
		for _, window := range []int64{0, 60 * second} {
			f := model.RecentFeature{Feature: len(schema.Features), Where: 0, Level: kinds[g], Window: window}
			o.Recency.Features = append(o.Recency.Features, f)
			schema.Features = append(schema.Features, model.Feature{Name: fmt.Sprint(kinds[g], " ", window), Derived: "x"})
		}
	}
	spec := &model.Spec{Schema: schema, Scorecard: propensity.New(propensity.Default(), schema), Options: o}
	filled := func(p *model.Partition) *model.Batch {
		b := &model.Batch{N: len(kinds), Columns: make([]model.Column, len(schema.Features))}
		b.Columns[0].Levels = kinds
		for i := range kinds {
			b.Columns[0].Code = append(b.Columns[0].Code, uint32(i))
			b.ID, b.Time = append(b.ID, "a"), append(b.Time, 1000*second)
		}
		for f := range schema.Features[1:] {
			b.Columns[f+1].Float = make([]float64, len(kinds))
		}
		p.Recency.Fill(b)
		return b
	}
	p := model.NewPartition(spec, 0)
	filled(p)
	p, err := model.RestorePartition(spec, p.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	b := filled(p)
	for g := range kinds {
		if since, n := b.Columns[1+2*g].Float[0], b.Columns[2+2*g].Float[0]; since != 0 || n != 1 {
			t.Fatalf("%s: %v seconds since the last record, %v in the last minute, want 0 and 1", kinds[g], since, n)
		}
	}
}

// someMet are records of ids that come again, some of them late, more than a small store holds.
func someMet(from, to int) (out []met) {
	for i := from; i < to; i++ {
		h := model.Hash(uint64(i), 7)
		r := met{fmt.Sprint("c", h%97), 1_700_000_000 + int64(i)*20, []string{"visit", "buy", ""}[h>>8%3]}
		if h>>16%11 == 0 {
			r.at -= 50
		}
		out = append(out, r)
	}
	return out
}

// TestFormerRecordsByAnyCut: the features and the state do not depend on the cut into batches, nor on a restart between
// two of them, also where the store evicts.
func TestFormerRecordsByAnyCut(t *testing.T) {
	for _, room := range []int64{1 << 20, 1 << 13} {
		var want []string
		var bytesWanted []byte
		for _, size := range []int{600, 1, 7} {
			p := model.NewPartition(recentSpec(room), 0)
			var got []string
			for i := 0; i < 600; i += size {
				b := batchOfMet(someMet(i, min(i+size, 600))...)
				p.Recency.Fill(b)
				got = append(got, recentTexts(b)...)
				if size == 7 && i%70 == 0 {
					var err error
					if p, err = model.RestorePartition(recentSpec(room), p.Snapshot()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if kept := p.Recency.Kept(); (kept.Evicted > 0) != (room == 1<<13) || kept.Bytes > room {
				t.Errorf("%d bytes: %+v", room, kept)
			}
			if want == nil {
				want, bytesWanted = got, state(p)
			} else if !slices.Equal(got, want) || !bytes.Equal(state(p), bytesWanted) {
				t.Errorf("%d bytes: batches of %d: other values, or another state", room, size)
			}
		}
	}
}

// TestForgottenIDsAreUnknown: a record of a forgotten id is its first.
func TestForgottenIDsAreUnknown(t *testing.T) {
	p := model.NewPartition(recentSpec(1<<20), 0)
	p.Recency.Fill(batchOfMet(someMet(0, 300)...))
	known := recentTexts(peekAt(p, met{"c5", 1_700_010_000, ""}))[0]
	sum := model.SumID("c5")
	holds := func() (sections int) {
		for _, b := range p.Snapshot() {
			if bytes.Contains(b, sum[:]) {
				sections++
			}
		}
		return sections
	}
	if holds() == 0 {
		t.Fatal("no section of the state has the id: the test would say nothing")
	}
	found, _ := model.Forget(p, &model.Erasure{Number: 1, IDs: []model.IDSum{model.SumID("c5")}})
	got := recentTexts(peekAt(p, met{"c5", 1_700_010_000, ""}))[0]
	if got != "- 0 0 -" || got == known || found != (model.Forgotten{Recency: 1}) {
		t.Errorf("%s, before %s; %+v", got, known, found)
	}
	if n := holds(); n > 0 {
		t.Errorf("%d sections of the state still have the id", n)
	}
}

func peekAt(p *model.Partition, r met) *model.Batch {
	b := batchOfMet(r)
	model.Peek(p, b, &model.Scores{}, nil)
	return b
}

// TestFormerRecordsAreCarriedOver to a schema with other functions, by their conditions; a state without any begins.
func TestFormerRecordsAreCarriedOver(t *testing.T) {
	p := model.NewPartition(recentSpec(1<<20), 0)
	p.Recency.Fill(batchOfMet(someMet(0, 300)...))
	spec := recentSpec(1 << 19)
	spec.Options.Recency.Features = spec.Options.Recency.Features[2:]
	other := *recentSchema
	other.Features = slices.Clone(other.Features)
	other.Features[2].Derived, other.Features[3].Derived = "log(age)", "log(age)"
	spec.Schema, spec.Scorecard = &other, propensity.New(propensity.Default(), &other)
	records := someMet(0, 300)
	i := 299
	for records[i].kind != "visit" {
		i--
	}
	r := met{records[i].id, 1_700_006_000, ""}
	want := recentTexts(peekAt(p, r))[0]
	q, _, err := p.Carry(spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := recentTexts(peekAt(q, r))[0]; strings.Fields(got)[2] != strings.Fields(want)[2] ||
		strings.Fields(got)[3] != strings.Fields(want)[3] || strings.HasSuffix(want, "0 -") {
		t.Errorf("%s, before %s", got, want)
	}
	if got, want := q.Recency.Kept(), p.Recency.Kept(); got.IDs == 0 || got.IDs >= want.IDs {
		t.Errorf("%+v are kept of %+v", got, want)
	}
	if same, _, err := p.Carry(recentSpec(1 << 20)); err != nil {
		t.Error(err)
	} else {
		for _, name := range recencySections(p.Snapshot()) { // stream time is in the first of them
			if !bytes.Equal(same.Snapshot()[name], p.Snapshot()[name]) {
				t.Errorf("carried over to its own schema %s is another one", name)
			}
		}
	}
	if _, err := model.RestorePartition(recentSpec(1<<19), p.Snapshot()); err == nil {
		t.Error("a state of other settings was taken")
	}
	bare := *recentSpec(1 << 20)
	bare.Options.Recency = nil
	q, _, err = model.NewPartition(&bare, 0).Carry(recentSpec(1 << 20))
	if err != nil || recentTexts(peekAt(q, r))[0] != "- 0 0 -" {
		t.Errorf("a state that has none begins: %v", err)
	}
	for name := range model.NewPartition(&bare, 0).Snapshot() {
		if strings.HasPrefix(name, "recency") {
			t.Errorf("a state without such features has the section %s", name)
		}
	}
}

// recencySections are the names of the sections of a state, in order.
func recencySections(s map[string][]byte) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if strings.HasPrefix(name, "recency") {
			names = append(names, name)
		}
	}
	return names
}

// TestGoldenRecency: the bytes of a store stay, and it goes on from them.
func TestGoldenRecency(t *testing.T) {
	const file = "testdata/recency-1"
	p := model.NewPartition(recentSpec(1<<14), 0)
	p.Recency.Fill(batchOfMet(someMet(0, 400)...))
	var now []byte
	for _, name := range recencySections(p.Snapshot()) {
		now = wire.AppendBytes(wire.AppendString(now, name), p.Snapshot()[name])
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
		t.Error("the bytes of a store have changed")
	}
	sections := p.Snapshot()
	for r := wire.NewReader(golden); r.Rest() > 0; {
		name := r.String()
		sections[name] = r.Bytes()
	}
	q, err := model.RestorePartition(recentSpec(1<<14), sections)
	if err != nil {
		t.Fatal(err)
	}
	a, b := batchOfMet(someMet(400, 600)...), batchOfMet(someMet(400, 600)...)
	p.Recency.Fill(a)
	q.Recency.Fill(b)
	kept := q.Recency.Kept()
	if !slices.Equal(recentTexts(a), recentTexts(b)) || p.Recency.Kept() != kept || kept.Evicted == 0 {
		t.Error("a state of these bytes goes another way")
	}
}

// TestHostileRecencyNoPanic: changed, cut and missing sections give an error or a state that goes on.
func TestHostileRecencyNoPanic(t *testing.T) {
	spec := recentSpec(1 << 14)
	p := model.NewPartition(spec, 0)
	p.Recency.Fill(batchOfMet(someMet(0, 100)...))
	good, refused := p.Snapshot(), 0
	try := func(name string, b []byte) {
		s := maps.Clone(good)
		if s[name] = b; b == nil {
			delete(s, name)
		}
		q, err := model.RestorePartition(spec, s)
		if err != nil {
			refused++
			return
		}
		b2 := batchOfMet(someMet(100, 110)...)
		q.Recency.Fill(b2)
		for f := 2; f < len(b2.Columns); f++ {
			for _, v := range b2.Columns[f].Float {
				if v < 0 || math.IsInf(v, 0) {
					t.Fatalf("%s: value %v", name, v)
				}
			}
		}
	}
	for _, name := range recencySections(good) {
		before := refused
		if try(name, nil); refused == before {
			t.Errorf("a state without %s was taken", name)
		}
		for i := 0; i < len(good[name]); i += 3 {
			bad := slices.Clone(good[name])
			bad[i] ^= 0x81
			try(name, bad)
			try(name, good[name][:i:i])
		}
	}
	if refused < 100 {
		t.Errorf("%d were refused", refused)
	}
}
