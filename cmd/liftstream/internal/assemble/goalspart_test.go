package assemble

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"strings"
	"testing"

	"liftstream/model"
)

// ofOneClass is a model of a file in which the first goal has both classes and the second one alone.
func ofOneClass(t *testing.T, s *Stage, from, to int) *model.Model {
	t.Helper()
	x := model.NewBuilder(s.Spec)
	b, y, c, _ := goalRecords(from, to)
	b.Label, b.Outcomes = y, make([]model.Outcomes, b.N)
	for i := range b.N {
		b.Outcomes[i] = goalOutcomes(c[i], 0)
	}
	x.Add(b)
	m, err := x.Fit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// oneClassed lets a partition learn records whose second goal has one class.
func oneClassed(p *model.Partition, from, to int, class int32) {
	b, y, c, _ := goalRecords(from, to)
	b.Label, b.Outcomes = y, make([]model.Outcomes, b.N)
	for i := range b.N {
		b.Outcomes[i] = goalOutcomes(c[i], class)
	}
	p.Events(b, &model.Scores{})
}

// secondGoal is the propensity of the second goal that the partition gives a record without a label.
func secondGoal(p *model.Partition) float64 {
	b, _, _, _ := goalRecords(5000, 5001)
	b.Label = []int32{model.Unlabelled}
	var out model.Scores
	p.Events(b, &out)
	return out.Goals[1]
}

// rateOf is the base rate of no hits among n records.
func rateOf(n int) float64 { return 1 / float64(n+2) }

// TestAGoalOfOneClassHasItsBaseRate: a goal without a structure scores the rate over the records of the file,
// of all partitions in a model of a stream, and over the records that the partition learns on top, each counted once.
func TestAGoalOfOneClassHasItsBaseRate(t *testing.T) {
	s := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	s.Time()
	file, ctx := ofOneClass(t, s, 0, 200), context.Background()
	var p [2]*model.Partition
	is := func(when string, want [2]int) {
		t.Helper()
		for n, x := range p {
			if got := secondGoal(x); math.Abs(got-rateOf(want[n])) > 1e-12 {
				t.Errorf("%s: partition %d has the propensity %v, want that of %d records", when, n, got, want[n])
			}
			again, err := model.RestorePartition(s.Spec, x.Snapshot())
			if err != nil {
				t.Fatal(err)
			}
			if !maps.EqualFunc(x.Snapshot(), again.Snapshot(), bytes.Equal) {
				t.Errorf("%s: the state of partition %d differs after a restart", when, n)
			}
			if got := secondGoal(again); math.Abs(got-rateOf(want[n])) > 1e-12 {
				t.Errorf("%s: partition %d has the propensity %v after a restart", when, n, got)
			}
		}
	}
	swap := func(m *model.Model) {
		t.Helper()
		for _, x := range p {
			if err := x.Swap(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	states := func() model.Held { return model.Held{0: p[0].Snapshot(), 1: p[1].Snapshot()} }
	for n := range p {
		p[n] = model.NewPartition(s.Spec, int32(n))
	}
	swap(file)
	is("a file", [2]int{200, 200})
	for n := range p {
		p[n] = model.NewPartition(s.Spec, int32(n))
		oneClassed(p[n], 200+100*n, 220+110*n, 0)
	}
	is("own records", [2]int{20, 30})
	swap(file)
	is("a file on top of own records", [2]int{220, 230})
	m, err := model.Fit(ctx, s.Spec, states(), file)
	if err != nil {
		t.Fatal(err)
	}
	oneClassed(p[0], 400, 405, 0)
	is("records after the states", [2]int{225, 230})
	swap(m)
	is("both partitions", [2]int{220 + 30 + 5, 220 + 30})
	if m, err = model.Renew(ctx, s.Spec, m, states()); err != nil {
		t.Fatal(err)
	}
	swap(m)
	is("counts of now", [2]int{220 + 30 + 5, 220 + 30 + 5})
	oneClassed(p[1], 410, 417, 0)
	for _, x := range p {
		if err := model.Return(x, m, 1); err != nil {
			t.Fatal(err)
		}
	}
	is("a return", [2]int{220 + 30 + 5, 220 + 30 + 5})
	oneClassed(p[1], 420, 520, 1)
	if m, err = model.Fit(ctx, s.Spec, states(), m); err != nil {
		t.Fatal(err)
	}
	swap(m)
	if got := secondGoal(p[0]); got == rateOf(255) || got > .9 || got < .1 {
		t.Errorf("a goal that has both classes by now has the propensity %v", got)
	}
}

// TestRecordsOfAModelCountOnce: a model that knows no record of a partition, since that has learnt none or since the
// model is of a file, takes the place of the counts that a model before it has brought.
func TestRecordsOfAModelCountOnce(t *testing.T) {
	s := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	s.Time()
	file, ctx := ofOneClass(t, s, 0, 200), context.Background()
	empty, busy := model.NewPartition(s.Spec, 0), model.NewPartition(s.Spec, 1)
	swap := func(p *model.Partition, m *model.Model) {
		t.Helper()
		if err := p.Swap(m); err != nil {
			t.Fatal(err)
		}
	}
	is := func(when string, p *model.Partition, want int) {
		t.Helper()
		if got := secondGoal(p); math.Abs(got-rateOf(want)) > 1e-12 {
			t.Errorf("%s: the propensity %v, want that of %d records", when, got, want)
		}
	}
	oneClassed(busy, 300, 330, 0)
	m := file
	for n := range 4 {
		swap(empty, m)
		swap(busy, m)
		is(fmt.Sprint("a partition that learns nothing, model ", n), empty, 200+30*min(n, 1))
		is(fmt.Sprint("the other one, model ", n), busy, 230)
		var err error
		if m, err = model.Fit(ctx, s.Spec, model.Held{0: empty.Snapshot(), 1: busy.Snapshot()}, m); err != nil {
			t.Fatal(err)
		}
	}
	young := model.NewPartition(s.Spec, 0)
	oneClassed(young, 400, 420, 0)
	swap(young, file)
	oneClassed(young, 420, 425, 0)
	is("a file", young, 225)
	swap(young, ofOneClass(t, s, 0, 300))
	is("another file", young, 325)
}

// TestASampledGoalKeepsItsCounts: model 0, whose records are a sample of those learnt, leaves the counts of a goal
// without a structure as they are.
func TestASampledGoalKeepsItsCounts(t *testing.T) {
	s := stage(t, strings.Replace(fmt.Sprintf(goalsText, "["+bought+", "+clicked+", "+left+"]", "correct"),
		"records: 500", "records: 100", 1))
	p := model.NewPartition(s.Spec, 0)
	b, y, c, _ := goalRecords(0, 900)
	b.Label, b.Outcomes = y, make([]model.Outcomes, b.N)
	for i := range b.N {
		if b.Outcomes[i] = goalOutcomes(c[i], 0); i < 800 {
			b.Label[i] = model.Unlabelled
		}
	}
	p.Events(b, &model.Scores{})
	if !p.Trained() {
		t.Fatal("no model 0")
	}
	if got := secondGoal(p); math.Abs(got-rateOf(900)) > 1e-12 {
		t.Errorf("propensity %v after 900 records, want %v", got, rateOf(900))
	}
}

func unpacked(t *testing.T, name string) []byte {
	t.Helper()
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func pack(t *testing.T, name string, b []byte) {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(b)
	z.Close()
	if err := os.WriteFile(name, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// goldenGoals and goldenGoalsPart are a state and a part of the newest format, by the numbers those of both formats.
const (
	goldenGoals     = "testdata/goals-%d.gz"
	goldenGoalsPart = "testdata/goals-part-%d.gz"
	newestGoals     = 2
)

// TestGoldenGoals: the states of formats 1 and 2 of the goals are read as they were written. Format 2 is written again
// the same, and format 1 as one of format 2 in which other partitions have counted nothing.
func TestGoldenGoals(t *testing.T) {
	s := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	f := s.Spec.Components[len(s.Spec.Components)-1]
	if os.Getenv("LIFTSTREAM_GOLDEN") == "write" {
		s.Time()
		file := ofOneClass(t, s, 0, 200)
		p := model.NewPartition(s.Spec, 3)
		if err := p.Swap(file); err != nil {
			t.Fatal(err)
		}
		oneClassed(p, 200, 240, 0)
		pack(t, fmt.Sprintf(goldenGoals, newestGoals), p.Component(model.GoalsName).AppendState(nil))
		pack(t, fmt.Sprintf(goldenGoalsPart, newestGoals), file.Parts[model.GoalsName])
	}
	load := func(state []byte) (model.GoalScorer, error) {
		c := f.New(model.NewLevels(s.Spec.Schema)).(model.GoalScorer)
		return c, c.LoadState(state)
	}
	for format, want := range map[int]float64{1: 1. / 7, newestGoals: 1. / 242} {
		state := unpacked(t, fmt.Sprintf(goldenGoals, format))
		c, err := load(state)
		if err != nil {
			t.Fatal(err)
		}
		written := c.AppendState(nil)
		if format == newestGoals && !bytes.Equal(written, state) {
			t.Error("the state is written otherwise than it was read")
		}
		if format == 1 && len(written) != len(state)+2*2*8 {
			t.Errorf("%d bytes of format 1 are written as %d", len(state), len(written))
		}
		again, err := load(written)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []model.GoalScorer{c, again} {
			p, memory := make([]float64, 2), make([]float64, x.MemoryLen())
			x.ScoreGoals(model.Row{3, .5, 0}, memory, p)
			if !(p[0] > 0 && p[0] < 1) || p[0] == .5 || math.Abs(p[1]-want) > 1e-12 {
				t.Errorf("format %d: propensities %v, want the second one %v", format, p, want)
			}
		}
		for n := range state {
			if n%97 == 0 {
				_, _ = load(state[:n])
				bad := bytes.Clone(state)
				bad[n] ^= 0x55
				_, _ = load(bad)
			}
		}
		for name, bad := range map[string][]byte{"another format": append([]byte{9}, state[1:]...),
			"another number of goals": append([]byte{byte(format), 3}, state[2:]...),
			"more":                    append(bytes.Clone(state), 0)} {
			if _, err := load(bad); err == nil {
				t.Errorf("a state of %s is read", name)
			}
		}
	}
	if one := goalsStage(t, "["+bought+", "+clicked+"]", "correct"); one.Config.Fingerprint() == s.Config.Fingerprint() ||
		strings.Join(one.GoalNames(), " ") != "clicked" {
		t.Errorf("goals %v", one.GoalNames())
	}
}

// TestGoldenGoalsPart: a part of format 1, which has no counts of a goal without a structure, leaves it with those of
// the partition; a part of format 2 brings them.
func TestGoldenGoalsPart(t *testing.T) {
	s := goalsStage(t, "["+bought+", "+clicked+", "+left+"]", "correct")
	s.Time()
	m := ofOneClass(t, s, 0, 200)
	written := m.Parts[model.GoalsName]
	for format, want := range map[int]int{1: 40, newestGoals: 240} {
		part := unpacked(t, fmt.Sprintf(goldenGoalsPart, format))
		if format == newestGoals && !bytes.Equal(written, part) {
			t.Error("the part is written otherwise than before")
		}
		m.Parts[model.GoalsName] = part
		p := model.NewPartition(s.Spec, 3)
		oneClassed(p, 200, 240, 0)
		if err := p.Swap(m); err != nil {
			t.Fatal(err)
		}
		if got := secondGoal(p); math.Abs(got-rateOf(want)) > 1e-12 {
			t.Errorf("format %d: propensity %v, want that of %d records", format, got, want)
		}
		for n := 0; n < len(part); n += 41 {
			m.Parts[model.GoalsName] = part[:n]
			if err := p.Swap(m); err == nil {
				t.Fatalf("format %d: a part of %d of %d bytes is taken", format, n, len(part))
			}
			bad := bytes.Clone(part)
			bad[n] ^= 0x55
			m.Parts[model.GoalsName] = bad
			_ = model.NewPartition(s.Spec, 3).Swap(m)
		}
	}
}
