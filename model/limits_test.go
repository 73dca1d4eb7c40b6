package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"liftstream/model/wire"
)

// TestWhenAColdPartitionFits has the clocks, and whether the record is the first of its class.
func TestWhenAColdPartitionFits(t *testing.T) {
	for _, c := range []struct {
		warmup          int
		clock           float64
		first           bool
		makes, refining bool
	}{
		{100, 99, true, false, false}, {100, 100, false, true, false}, {100, 101, false, false, false},
		{100, 101, true, true, false}, {100, 200, false, true, true}, {100, 400, false, true, true},
		{100, 300, false, true, false}, {100, 800, false, true, true}, {100, 1600, false, true, true},
		{100, 3200, false, true, false}, {100, 201, false, false, false},
		{0, 1, false, true, false}, {0, 2, false, true, false},
	} {
		s := coldStart{c.warmup}
		if got := s.makes(c.clock, c.first); got != c.makes {
			t.Errorf("warm-up %d, clock %v, first %v: it makes a model: %v", c.warmup, c.clock, c.first, got)
		}
		if got := s.refines(c.clock); got != c.refining {
			t.Errorf("warm-up %d, clock %v: it refines: %v", c.warmup, c.clock, got)
		}
	}
}

// TestSizesOfAFit: records of a comparison, steps of a fit, rows of a slice.
func TestSizesOfAFit(t *testing.T) {
	for refit, want := range map[int]int{0: 1, 4: 1, 5: 1, 10: 2, 4999: 999, 5000: 1000, 5005: 1000, 1 << 30: 1000} {
		if got := Compared(refit); got != want {
			t.Errorf("with a fit every %d records, %d are compared, want %d", refit, got, want)
		}
	}
	for _, c := range []struct {
		work  int64
		first bool
		want  int64
	}{{0, false, StageWork}, {0, true, FirstWork}, {7, false, 7}, {7, true, 7}, {2 * FirstWork, true, FirstWork},
		{2 * StageWork, false, 2 * StageWork}, {-1, false, StageWork}} {
		if got := (&Options{Work: c.work}).FitWork(c.first); got != c.want {
			t.Errorf("work %d, first %v: %d steps, want %d", c.work, c.first, got, c.want)
		}
	}
	for _, c := range []struct {
		limit int
		bytes int64
		want  int
	}{{10, 1 << 20, 10}, {1000, 3 * (8*2 + 56), 3}, {1000, 3*(8*2+56) - 1, 2}, {0, 1 << 20, 1}, {5, 0, 1}} {
		if got := newReservoir(2, c.limit, c.bytes).limit; got != c.want {
			t.Errorf("%d records and %d bytes: a reservoir of %d, want %d", c.limit, c.bytes, got, c.want)
		}
	}
	const per = 8*2 + 44
	for bytes, want := range map[int64]uint64{0: tailChunk, tailChunk * per: tailChunk, 2*tailChunk*per - 1: tailChunk,
		2 * tailChunk * per: 2 * tailChunk} {
		if got := newTail(2, bytes).capacity; got != want {
			t.Errorf("%d bytes: a tail of %d records, want %d", bytes, got, want)
		}
	}
}

// TestTheLastLevelWithACodeOfItsOwn: levels after MaxLevels have the code of their value, in every way in which a level
// comes, and a table that is full is read back.
func TestTheLastLevelWithACodeOfItsOwn(t *testing.T) {
	s := &Schema{Features: []Feature{{Name: "job", Kind: Nominal},
		{Name: "side", Kind: Nominal, Levels: []string{"l", "r"}}}}
	l := NewLevels(s)
	for i := range MaxLevels {
		if c := l.Code(0, fmt.Sprint("x", i)); c != uint32(i) {
			t.Fatalf("level %d has the code %d", i, c)
		}
	}
	for name, code := range map[string]func(text string) uint32{
		"a text":      func(text string) uint32 { return l.Code(0, text) },
		"a carried":   func(text string) uint32 { return l.exact(0, text) },
		"another one": func(text string) uint32 { return l.Merge(tableOf(s, text))[0][0] },
	} {
		c := code("new")
		if c <= MaxLevels || c > MaxLevels+MostFurther || l.Count(0) != MaxLevels || c == code("old") {
			t.Errorf("%s: the code %d of %d levels", name, c, l.Count(0))
		}
		if v := Cell(c); int(v) != MaxLevels || Further(v) != c-MaxLevels || l.Text(0, v) != "(other)" {
			t.Errorf("%s: code %d is the cell %v, the further level %d", name, c, v, Further(v))
		}
		if c != l.Code(0, "new") || code("1.0") != code("1") || code("true") != code("1") {
			t.Errorf("%s: the code %d of a value, and %d and %d of one in two texts", name, c, code("1.0"), code("1"))
		}
	}
	if l.Text(0, MaxLevels-1) != "x4095" || l.Text(0, MaxLevels) != "(other)" || l.Text(0, -1) != "(other)" ||
		l.Other(0) != MaxLevels || l.Other(1) != 2 || l.Code(1, "new") != 2 || l.exact(1, "new") != 2 || l.Count(1) != 2 {
		t.Errorf("the last texts are %q and %q", l.Text(0, MaxLevels-1), l.Text(0, MaxLevels))
	}
	back, err := DecodeLevels(s, wire.NewReader(l.AppendBinary(nil)))
	if err != nil || !slices.Equal(back.Names(0), l.Names(0)) {
		t.Errorf("a full table is not read: %v", err)
	}
	// A copy that learns leaves the original as it is.
	one := tableOf(s, "a")
	two := one.Clone()
	two.Code(0, "b")
	one.Code(0, "c")
	if one.Count(0) != 2 || two.Count(0) != 2 || one.Text(0, 1) != "c" || two.Text(0, 1) != "b" {
		t.Errorf("levels %q, of the copy %q", one.Names(0), two.Names(0))
	}
}

func tableOf(s *Schema, texts ...string) *Levels {
	l := NewLevels(s)
	for _, x := range texts {
		l.Code(0, x)
	}
	return l
}

// TestForeignSchemas names the difference between the schema of a model and that of the configuration.
func TestForeignSchemas(t *testing.T) {
	own := &Schema{Features: []Feature{{Name: "a"}, {Name: "b", Kind: Nominal}}, Classes: []string{"no", "yes"}}
	for want, change := range map[string]func(s *Schema){
		"": func(s *Schema) { s.Features[1].Levels, s.Positive = []string{"x"}, 1 },
		"1 features where the configuration has 2": func(s *Schema) { s.Features = s.Features[:1] },
		`feature 1 is "c" (continuous), the configuration has "a" (continuous)`: func(s *Schema) {
			s.Features[0].Name = "c"
		},
		`feature 2 is "b" (ordinal), the configuration has "b" (nominal)`: func(s *Schema) {
			s.Features[1].Kind = Ordinal
		},
		"3 classes where the configuration has 2": func(s *Schema) { s.Classes = append(s.Classes[:2:2], "x") },
	} {
		other := *own
		other.Features = slices.Clone(own.Features)
		change(&other)
		err := own.foreign(&other)
		if (err == nil) != (want == "") ||
			err != nil && (!errors.Is(err, ErrModelForeign) || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestScoresAreCopiedWhole: entries that are appended one by one are the same in every column, and are the caller's.
func TestScoresAreCopiedWhole(t *testing.T) {
	var from Scores
	from.Reset(3, 2)
	from.Terms = []string{"(x)"}
	for i := range 3 {
		f := float64(i + 1)
		from.Status[i], from.Reason[i] = Status(i), fmt.Sprint("r", i)
		from.Segment[i], from.Target[i] = int32(i), int32(i+5)
		from.P[2*i], from.P[2*i+1] = f/10, 1-f/10
		from.BaseRate[i], from.Lift[i], from.Percentile[i], from.ProfileLift[i] = f, 2*f, float32(3*f), 4*f
		from.Profile[i] = fmt.Sprint("p", i)
		for k := range i + 1 {
			from.Subspace, from.Relevance = append(from.Subspace, int32(10*i+k)), append(from.Relevance, float32(f))
			from.Why = append(from.Why, Reason{Feature: int32(k), Effect: f}, Reason{Feature: -1, N: f})
		}
		from.SubspaceEnd[i], from.WhyEnd[i] = int32(len(from.Subspace)), int32(len(from.Why))
	}
	to, some := Scores{Classes: 2}, Scores{Classes: 2}
	for i := range 3 {
		to.Append(&from, i)
	}
	some.Append(&from, 2)
	some.Append(&from, 0)
	if !reflect.DeepEqual(to, from) {
		t.Errorf("%+v, want %+v", to, from)
	}
	if some.N != 2 || some.Profile[0] != "p2" || len(some.WhyOf(0)) != 6 || len(some.WhyOf(1)) != 2 ||
		some.WhyOf(1)[0].Effect != 1 {
		t.Errorf("%+v", some)
	}
	if f, r := some.SubspaceOf(1); !slices.Equal(f, []int32{0}) || !slices.Equal(r, []float32{1}) {
		t.Errorf("subspace %v of relevance %v", f, r)
	}
	from.Reset(3, 2)
	if to.P[1] != .9 || to.Profile[2] != "p2" || len(from.Why)+len(from.Subspace)+len(from.Relevance) != 0 ||
		slices.ContainsFunc(from.P, func(v float64) bool { return v != 0 }) || from.Profile[1] != "" || from.WhyEnd[2] != 0 {
		t.Errorf("after a reset %+v, the copy %+v", from, to)
	}
}

// TestReasonsInConflict has the boundaries of an effect that matters and of a lift.
func TestReasonsInConflict(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		feature                    int32
		effect, lift               float64
		matters, counts, conflicts bool
	}{
		{0, .2, 2, true, true, false}, {0, .2, .5, true, true, true}, {0, -.2, 2, true, true, true},
		{0, -.2, .5, true, true, false}, {0, .2, 1, true, true, false}, {0, .1, .5, false, false, false},
		{0, -.1, 2, false, false, false}, {0, .2, nan, true, false, false}, {TermIntercept, .2, .5, false, false, false},
		{TermOf(0), .2, nan, false, false, false},
	} {
		r := Reason{Feature: c.feature, Effect: c.effect, Lift: c.lift}
		if r.Matters() != c.matters || r.Counts() != c.counts || r.Conflicts() != c.conflicts {
			t.Errorf("%+v: matters %v, counts %v, conflicts %v", c, r.Matters(), r.Counts(), r.Conflicts())
		}
	}
	s := Scores{Terms: []string{"(sets)", "(local)"}}
	schema := &Schema{Features: []Feature{{Name: "age"}, {Name: "job"}}}
	for f, want := range map[int32]string{0: "age", 1: "job", TermIntercept: "(intercept)",
		TermCalibration: "(calibration)", TermOf(0): "(sets)", TermOf(1): "(local)"} {
		if got := s.TermName(schema, f); got != want {
			t.Errorf("term %d is %q, want %q", f, got, want)
		}
	}
}

// TestNames: words that columns, metrics and configurations have, and the ways back.
func TestNames(t *testing.T) {
	for got, want := range map[fmt.Stringer]string{
		Continuous: "continuous", Ordinal: "ordinal", Nominal: "nominal", Kind(7): "Kind(7)",
		StatusOK: "ok", StatusUntrained: "untrained", StatusDegraded: "degraded",
		NothingToCompare: "nothing_to_compare", Better: "better", WithinGate: "within_gate", Worse: "worse",
		Inverted: "inverted", Failed: "failed",
	} {
		if got.String() != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, r := range VerdictReasons() {
		var back VerdictReason
		text, _ := r.MarshalText()
		if err := back.UnmarshalText(text); err != nil || back != r ||
			(&Verdict{Reason: r}).Accepted() != (r != Worse && r != Inverted && r != Failed) {
			t.Errorf("%s comes back as %s, %v", text, back, err)
		}
	}
	if err := new(VerdictReason).UnmarshalText([]byte("best")); err == nil || !strings.Contains(err.Error(), `"best"`) {
		t.Errorf("an unknown reason: %v", err)
	}
	s := &Schema{Features: []Feature{{Name: "a"}, {Name: "b"}}, Classes: []string{"no", "yes"}, Positive: 0}
	if s.Feature("b") != 1 || s.Feature("c") != -1 || s.Class("yes") != 1 || s.Class("b") != -1 {
		t.Error("features and classes are not found by their names")
	}
	for _, c := range []struct {
		kind     Kind
		monotone Direction
		positive int
		want     bool
	}{{Continuous, Up, 0, true}, {Ordinal, Down, 1, true}, {Continuous, Auto, 0, true}, {Continuous, Free, 0, false},
		{Nominal, Up, 0, false}, {Continuous, Up, -1, false}} {
		x := &Schema{Features: []Feature{{Kind: c.kind, Monotone: c.monotone}}, Positive: c.positive}
		if x.Directed(0) != c.want {
			t.Errorf("%+v: directed %v", c, x.Directed(0))
		}
	}
}

// TestUnitsOfEvidence: a record of weight 1 where all weigh 1, and of the mean weight by weight else.
func TestUnitsOfEvidence(t *testing.T) {
	for _, c := range []struct{ weight, square, want float64 }{
		{0, 0, 1}, {5, 5, 1}, {10, 20, 2}, {4, 10, 2.5}, {1, MaxWeight, MaxWeight}, {1, 2 * MaxWeight, 1}, {1, -1, 1},
		{1, math.Inf(1), 1}, {1, math.NaN(), 1},
	} {
		if got := Unit(c.weight, c.square); got != c.want {
			t.Errorf("weights %v, squares %v: %v, want %v", c.weight, c.square, got, c.want)
		}
	}
	n := newClassCounts(3)
	prob := make([]float64, 3)
	if best := n.rates(nil, prob); best != 0 || prob[0] != 1./3 {
		t.Errorf("of nothing: class %d, %v", best, prob)
	}
	for i, w := range []float64{2, 2, 5} {
		class := int32([]int{2, 2, 1}[i])
		if first := n.add(class, w); first != (i != 1) || n.seen() != []int{1, 1, 2}[i] {
			t.Errorf("record %d: first of its class %v, %d classes seen", i, first, n.seen())
		}
	}
	const unit = (4 + 4 + 25) / 9.
	best := n.rates(nil, prob)
	for y, w := range []float64{0, 5, 4} {
		if want := (w + unit) / (9 + 3*unit); math.Abs(prob[y]-want) > 1e-15 || best != 1 {
			t.Errorf("class %d has the rate %v, want %v; best %d", y, prob[y], want, best)
		}
	}
}

// TestWhichRecordsStandForOthers: those of a sampled reservoir, not its partition's newest, nor those of a whole one.
func TestWhichRecordsStandForOthers(t *testing.T) {
	e := &Evidence{Class: make([]int32, 5), Weight: []float64{4, 2, 1, 1, 1}, Partition: []int32{0, 1, 0, 1, 2}, Recent: 2,
		Sampled: map[int32]bool{0: true, 1: false}, States: HeldStates(map[int32][]byte{5: nil, 0: nil})}
	for i, want := range []bool{true, false, false, false, false} {
		if e.StandsFor(i) != want {
			t.Errorf("record %d stands for others: %v", i, !want)
		}
	}
	if got, want := e.RankError(nil, .1), math.Sqrt(math.Log(20)/2*16)/9; math.Abs(got-want) > 1e-15 {
		t.Errorf("rank error %v, want %v", got, want)
	}
	if got := e.RankError(func(i int) bool { return i > 0 }, .1); got != 0 {
		t.Errorf("rank error %v of records that are all there", got)
	}
	if got := e.RankError(func(i int) bool { return i == 0 }, 1e-9); got != 1 {
		t.Errorf("rank error %v, want at most 1", got)
	}
	if got := e.Parties(); !slices.Equal(got, []int32{0, 1, 2, 5}) {
		t.Errorf("parties %v", got)
	}
}

// TestTheStructureBefore: the part of the serving model, else the first state that a published model serves and that
// is not empty, else none; an error of either comes through with its place.
func TestTheStructureBefore(t *testing.T) {
	bad := errors.New("bad")
	read := func(kind string) func(b []byte) (string, error) {
		return func(b []byte) (string, error) {
			if string(b) == "bad" {
				return "", bad
			}
			return kind + string(b), nil
		}
	}
	states := func(texts ...string) *Evidence {
		held := map[int32][]byte{}
		for n, x := range texts {
			held[int32(n)] = []byte(x)
		}
		return &Evidence{States: HeldStates(held), Models: map[int32]int64{0: 0, 1: -1, 2: 3, 3: 3, 4: 1}}
	}
	for _, c := range []struct {
		ev       *Evidence
		previous []byte
		want     string
		text     string // in the error
	}{
		{states("a", "b", "c"), []byte("p"), "part p", ""},
		{states("a", "b", "c", "d"), nil, "state c", ""},
		{states("a", "b"), nil, "", ""},
		{states("a", "b", "", "d"), nil, "state d", ""},
		{states(), nil, "", ""},
		{states("bad", "b", "c"), nil, "state c", ""},
		{states("a", "b", "c"), []byte("bad"), "", "reading the previous part"},
		{states("a", "b", "bad", "d"), nil, "", "reading the state of partition 2"},
	} {
		got, err := Before(c.ev, c.previous, read("part "), read("state "))
		if got != c.want || (err == nil) != (c.text == "") ||
			err != nil && (!errors.Is(err, bad) || !strings.Contains(err.Error(), c.text)) {
			t.Errorf("%q, %v; want %q, %q", got, err, c.want, c.text)
		}
	}
}

// TestOnlyTheTailsOwnRecordIsRelabelled: clocks before the oldest and behind the newest are not in the ring.
func TestOnlyTheTailsOwnRecordIsRelabelled(t *testing.T) {
	r := newTail(1, 0)
	var out record
	if r.relabel(0, 1, 0) {
		t.Error("an empty tail holds a record")
	}
	const first, n = 10, tailChunk + 3
	for i := range n {
		r.push(&record{Example: Example{Row: Row{0}, Weight: 1, Clock: float64(first + i)}}, &out)
	}
	for clock, want := range map[float64]bool{first + 2: false, first + 3: true, first + n - 1: true, first + n: false} {
		version := r.version[0]
		if got := r.relabel(clock, 1, 0); got != want || (r.version[0] != version) != want {
			t.Errorf("clock %v: held %v, want %v", clock, got, want)
		}
	}
	var ones []float64
	r.since(0, nil, func(ex *Example) bool {
		if ex.Class == 1 {
			ones = append(ones, ex.Clock)
		}
		return true
	})
	if !slices.Equal(ones, []float64{first + 3, first + n - 1}) {
		t.Errorf("relabelled are the clocks %v", ones)
	}
	count := 0
	r.since(0, nil, func(*Example) bool { count++; return count < 5 })
	if count != 5 {
		t.Errorf("%d records were given after the answer to stop", count-5)
	}
}

// TestTimesThatAreRead has the forms of ParseTime, and the ends of the nanoseconds.
func TestTimesThatAreRead(t *testing.T) {
	const day = int64(86_400e9)
	for text, want := range map[string]int64{
		"1970-01-02": day, "1970/01/02": day, "1970-01-02T00:00": day, "1970-01-02 00:00": day, "1970/01/02 00:00": day,
		"1970-01-02T00:00:00": day, "1970-01-02 00:00:00.5": day + 5e8, "1970/01/02 00:00:00": day,
		"1970-01-02T00:00:00Z": day, "1970-01-02T02:00:00+02:00": day, "1970-01-02 02:00:00+02:00": day,
		"1970-01-02T02:00+02:00": day, "1970-01-02 02:00+02:00": day, "1970-01-02T00:00:00.000000001Z": day + 1,
		"1970-01-02 02:00:00+02": day, "1970-01-02 02:00:00.000000+0200": day, "1970-01-02T02:00+0200": day,
		"1970-01-01 16:30:00.5 -0730": day + 5e8, "1970-01-01 16:00-08": day, "1970-01-02 00:00:00 UTC": day,
		"1970-01-02T00:00:00.25UTC": day + 25e7, "1970-01-02 00:00 +00:00": day,
		"1678-01-01": -9214560000000000000, "2261-12-31": 9214560000000000000,
	} {
		if got, ok := ParseTime(text); !ok || got != want {
			t.Errorf("%s is %d, %v; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "1970-01", "19700102", "1677-12-31", "2262-01-01", "1970-13-01", "1970.01.02",
		"1970-01-02T00:00:00 CET", "1970-01-02T00:00:00.0000000000000000000000Z", "0001-01-01", "1970-01-02T00:00:00+",
		"1970-01-02T00:00:00+1", "1970-01-02T00:00:00+123", "1970-01-02T00:00:00+99", "1970-01-02T00:00:00  +00",
		"1970-01-02 UTC", "1970-01-02T00:00Z+00", "1970-01-02+00:00:00", "1970-01-02T00:00:0\x00-00"} {
		if got, ok := ParseTime(text); ok {
			t.Errorf("%s is the time %d", text, got)
		}
	}
}

// TestStrongestIsTheInformationOfItsCells compares the ranks with the mutual information counted anew: 16 cells of
// equal size of a number, 15 levels and the others, missing a cell, without the bias.
func TestStrongestIsTheInformationOfItsCells(t *testing.T) {
	s := &Schema{Features: []Feature{{Name: "number"}, {Name: "ties"}, {Name: "level", Kind: Nominal}, {Name: "gone"}},
		Classes: []string{"a", "b", "c"}}
	const n = 3000 // every second one is looked at, from the newest back
	e := newEvidence(s, NewLevels(s), 1)
	for i := range n {
		h := func(what uint64) float64 { return float64(Hash(5, uint64(i), what)>>11) / (1 << 53) }
		class := math.Floor(3 * h(1))
		number, ties, level := class+3*h(2)-2, math.Floor(class/2+4*h(3)), math.Floor(20*h(4)*h(5)+class)
		if h(6) < .2 {
			number = math.NaN()
		}
		for f, v := range []float64{number, ties, level, math.NaN()} {
			e.Columns[f] = append(e.Columns[f], v)
		}
		e.Class, e.Weight = append(e.Class, int32(class)), append(e.Weight, 1)
	}
	e.Weight[n-1] = 0 // it has no say
	var rows []int
	for i := n - 3; i >= 0; i -= 2 {
		rows = append(rows, i)
	}
	for f := range s.Features {
		below := func(v float64) (k int) {
			for _, i := range rows {
				if e.Columns[f][i] < v {
					k++
				}
			}
			return k
		}
		present := below(math.Inf(1))
		cells, joint := map[string]float64{}, map[string]float64{}
		for _, i := range rows {
			v := e.Columns[f][i]
			cell := "missing"
			if s.Features[f].Kind == Nominal {
				cell = fmt.Sprint(min(v, 15))
			} else if v == v {
				cell = fmt.Sprint(below(v) * 16 / present)
			}
			cells[cell]++
			cells[fmt.Sprint("class ", e.Class[i])]++
			joint[fmt.Sprint(cell, "|class ", e.Class[i])]++
		}
		want, all := 0., float64(len(rows))
		for key, v := range joint {
			cell, class, _ := strings.Cut(key, "|")
			want += v / all * math.Log(v*all/cells[cell]/cells[class])
		}
		want -= float64((len(cells)-3-1)*2) / (2 * all)
		if got := e.tells(f, rows, nil); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s tells %v, want %v", s.Features[f].Name, got, want)
		}
	}
	all := []int32{0, 1, 2, 3}
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b int32) int {
		if e.tells(int(a), rows, nil) > e.tells(int(b), rows, nil) {
			return -1
		}
		return 1
	})
	for k := 1; k <= 4; k++ {
		want := slices.Sorted(slices.Values(order[:k]))
		if got, err := e.Strongest(context.Background(), all, k); err != nil || !slices.Equal(got, want) {
			t.Errorf("the %d strongest are %v, want %v; %v", k, got, want, err)
		}
	}
}
